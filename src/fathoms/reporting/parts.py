"""Small parts of the report's page: safe text, tables, figures, sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fathoms.base import charts
from fathoms.base.parallel.local import Aside

if TYPE_CHECKING:
    from fathoms.reporting.report import Report


def text(value: object) -> str:
    """Safe inside HTML, whatever files hold; bytes that are no UTF-8 become question marks."""
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def number(value: float | None, form: str = ".4f") -> str:
    return "" if value is None or not isfinite(value) else format(value, form)


def paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{text(sentence)}</p>" for sentence in sentences)


def table(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, words: int = 1, note: str = "") -> str:
    """A table that the script sorts, searches and saves. A cell is text, or (HTML, value to sort by). A note may have
    several lines, each a paragraph."""
    head = "".join(
        f'<th scope="col"{"" if i < words else " class=n"}><button>{text(title)}</button></th>'
        for i, title in enumerate(header)
    )
    body = []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            shown, value = cell if isinstance(cell, tuple) else (text(cell), None)
            key = "" if value is None else f' data-v="{text(value)}"'
            cells.append(f"<td{'' if i < words else ' class=n'}{key}>{shown}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    lines = "".join(f'<p class="note">{text(line)}</p>' for line in note.splitlines())
    under = f'<details class="about"><summary>About this table</summary>{lines}</details>' if lines else ""
    return (
        f'<div class="box"><div class="scroll"><table id="{name}" class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div></div>{under}"
    )


class Pictures:
    """The charts of a page, drawn aside while it is written: text has a mark where each will be."""

    def __init__(self, *, aside: bool) -> None:
        self.marks = list[str]()
        self.aside = Aside(_picture, fork=aside and charts.available())

    def mark(self, chart: Any, name: str) -> str:
        self.aside.give((charts.for_a_page(chart), name))
        self.marks.append(f"<!-- {name} -->")
        return self.marks[-1]

    def put_into(self, text: str) -> str:
        pictures = dict(zip(self.marks, self.aside.results(), strict=True))
        if not pictures:
            return text
        return re.sub("|".join(map(re.escape, pictures)), lambda mark: pictures[mark[0]], text)


def _picture(spec_and_name: tuple[dict[str, Any], str]) -> str:
    return charts.svg(*spec_and_name)


_pictures: Pictures | None = None  # of the page that is being written


@contextmanager
def drawing(*, aside: bool) -> Iterator[Pictures]:
    """In the block figures have marks for pictures."""
    global _pictures
    before, _pictures = _pictures, Pictures(aside=aside)
    try:
        yield _pictures
    finally:
        _pictures.aside.end()
        _pictures = before


def figure(chart: Any, name: str, title: str, note: str = "", kind: str = "") -> str:
    """A chart under the sentence that says what to see in it; nothing where charts cannot be made."""
    if chart is None:
        return ""
    under = f'<p class="note">{text(note)}</p>' if note else ""
    picture = _picture((charts.for_a_page(chart), name)) if _pictures is None else _pictures.mark(chart, name)
    return (
        f'<figure class="chart {kind}" id="{name}"><figcaption>{text(title)}</figcaption>'
        f'<div class="box"><div class="scroll">{picture}</div></div>{under}</figure>'
    )


def drawn(make: Any, *args: Any, **options: Any) -> Any:
    return make(*args, **options) if charts.available() else None


def by_measure(report: Report, part: Any) -> str:
    """One block a measure, of which the page shows the one chosen."""
    return "".join(
        f'<div class="of-measure" data-measure="{i}"{" hidden" if i else ""}>{part(report, i, measure)}</div>'
        for i, measure in enumerate(report.measures)
    )


def section(name: str, title: str, lead: str, body: str, *, closed: bool = False) -> str:
    """With its body one click down, if it is `closed`."""
    below = f'<p class="lead">{text(lead)}</p>{body}'
    if closed:
        below = f'<details class="closed"><summary>{text(lead)}</summary>{body}</details>'
    return f'<section id="{name}"><h2>{text(title)}</h2>{below}</section>'


def details(title: str, body: str) -> str:
    return f"<details><summary>{text(title)}</summary>{body}</details>"


def topic_link(topic: str) -> str:
    return f"#topic/{quote(topic.encode('utf-8', 'replace'), safe='')}"
