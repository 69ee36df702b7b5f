"""Where a study goes: table<N>.tsv and .tex, fig<N>.tsv, .svg, .pdf and .png, all of them on index.md and index.html,
and tables.tex, which sets all tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from fathoms.base.files import check_folder, whole_folder
from fathoms.base.parallel import may_fork, parallel_map
from fathoms.papers import printing
from fathoms.papers.conventions import conventions_of
from fathoms.papers.exhibits import Drawing, Exhibit, InPaper, Panes, Study

FORMATS = ("svg", "pdf", "png")  # of figures


def write_study(study: Study, folder: Path, workers: int = 1) -> list[str]:
    """Write all exhibits; their files appear in the folder together. Returns what could not be drawn."""
    check_folder(folder)
    tables = [exhibit for exhibit in study.exhibits if exhibit.is_table]
    figures = [exhibit for exhibit in study.exhibits if not exhibit.is_table]
    pictures = _draw({figure.name: figure.chart for figure in figures if figure.chart is not None}, workers)
    drawn = {name: of_figure["svg"].decode() for name, of_figure in pictures.items()}
    with whole_folder(folder) as put:
        for exhibit in [*study.exhibits, *study.data]:
            put(f"{exhibit.name}.tsv", _encoded(_tsv(exhibit)))
        for table in tables:
            label = f"tab:{study.short or 'study'}-{table.name.removeprefix('table')}"
            put(f"{table.name}.tex", _encoded(printing.latex(table.printed(), _capital(table.title), label)))
        if tables:
            names = [table.name for table in tables]
            put("tables.tex", _encoded(printing.latex_document(names, study.paper)))
        for name, of_figure in pictures.items():
            for format, picture in of_figure.items():
                put(f"{name}.{format}", picture)
        put("index.md", _encoded(_index(study)))
        put("index.html", _encoded(_page(study, drawn)))
    return [exhibit.name for exhibit in figures if exhibit.chart is None]


@dataclass(frozen=True)
class Part:
    """One of several studies on an overview: its folder, empty where there is none, its title and what to say of it."""

    folder: str
    title: str
    words: str


def write_overview(folder: Path, title: str, words: str, parts: Sequence[Part]) -> None:
    """index.md and index.html over several studies in folders of their own."""
    lines = [f"# {title}", "", words, ""]
    body = [f"<h1>{_text(title)}</h1><p>{_text(words)}</p><ul>"]
    for part in parts:
        linked = f"[{part.title}]({part.folder}/index.md)" if part.folder else part.title
        lines.append(f"- {linked}: {part.words}")
        shown = _text(part.title)
        linked = f'<a href="{part.folder}/index.html">{shown}</a>' if part.folder else shown
        body.append(f"<li>{linked}: {_text(part.words)}</li>")
    with whole_folder(folder) as put:
        put("index.md", _encoded("\n".join([*lines, ""])))
        put("index.html", _encoded(_document(title, "".join([*body, "</ul>"]))))


# -- figures ----------------------------------------------------------------------------------------------------------


def _draw(drawings: dict[str, Drawing | Panes], workers: int) -> dict[str, dict[str, bytes]]:
    """Figures in all formats."""
    # On forks or one by one: altair keeps settings for all threads together.
    drawn = parallel_map(_drawn, drawings.values(), workers=workers if may_fork() else 1)
    gradients = 0
    for pictures in drawn:
        svg, gradients = number_gradients(pictures["svg"].decode(), gradients)
        pictures["svg"] = svg.encode()
    return dict(zip(drawings, drawn, strict=True))


def _drawn(drawing: Drawing | Panes) -> dict[str, bytes]:
    import vl_convert

    from fathoms.papers import charts

    spec = charts.to_print(drawing.chart())
    return {
        "svg": vl_convert.vegalite_to_svg(spec).encode(),
        "pdf": vl_convert.vegalite_to_pdf(spec),
        "png": vl_convert.vegalite_to_png(spec, scale=2),
    }


def number_gradients(svg: str, start: int) -> tuple[str, int]:
    """A figure whose gradients are numbered from `start`, and the next number: each has an id of its own among all
    figures, in which process it may have been drawn."""
    old = list(dict.fromkeys(re.findall(r'id="gradient_(\d+)"', svg)))
    new = {number: start + place for place, number in enumerate(old)}
    return re.sub(r"(?<=gradient_)\d+", lambda match: str(new.get(match[0], match[0])), svg), start + len(old)


# -- data and pages ---------------------------------------------------------------------------------------------------


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _tsv(exhibit: Exhibit) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow(exhibit.columns)
    writer.writerows(exhibit.rows)
    return buffer.getvalue()


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _heading(exhibit: Exhibit) -> str:
    """`table5a` is Table 5a."""
    kind, number = re.fullmatch(r"(table|fig)(.*)", exhibit.name).groups()  # type: ignore[union-attr]
    return f"{'Table' if kind == 'table' else 'Figure'} {number}: {exhibit.title}"


def _whose(paper: InPaper) -> str:
    which = {True: " (the same collection)", False: " (another collection)", None: ""}[paper.same_collection]
    return f"In the paper, for {paper.collection}{which}:"


def _index(study: Study) -> str:
    lines = [f"# {study.paper}", "", f"On {study.collection}.", ""]
    lines += [line for warning in study.warnings for line in (f"**Warning**: {warning}", "")]
    lines += [*(f"- {note}" for note in study.notes), ""] if study.notes else []
    for exhibit in study.exhibits:
        lines += [f"## {_heading(exhibit)}", ""]
        lines += [exhibit.note, ""] if exhibit.note else []
        if exhibit.chart is not None:
            lines += [f"![{exhibit.title}]({exhibit.name}.svg)", ""]
        if exhibit.is_table:
            lines.append(printing.markdown(exhibit.printed()))
        if exhibit.in_paper is not None:
            lines += [_whose(exhibit.in_paper), "", printing.markdown(exhibit.in_paper.printed())]
        lines += [f"Files: {', '.join(f'[{name}]({name})' for name in _files(exhibit))}", ""]
    conventions = conventions_of(study.short)
    if conventions:
        lines += ["## Conventions", "", *(f"- **{aspect}**: {how}" for aspect, how in conventions), ""]
    return "\n".join(lines)


def _files(exhibit: Exhibit) -> list[str]:
    endings = ["tsv", *(["tex"] if exhibit.is_table else FORMATS if exhibit.chart is not None else [])]
    return [f"{exhibit.name}.{ending}" for ending in endings]


def _page(study: Study, drawn: dict[str, str]) -> str:
    """The same as one HTML file, figures included."""
    text = _text
    parts = [f"<h1>{text(study.paper)}</h1><p>On {text(study.collection)}.</p>"]
    parts += [f"<p><b>Warning</b>: {text(warning)}</p>" for warning in study.warnings]
    if study.notes:
        parts.append(f"<ul>{''.join(f'<li>{text(note)}</li>' for note in study.notes)}</ul>")
    for exhibit in study.exhibits:
        parts.append(f'<section id="{exhibit.name}"><h2>{text(_heading(exhibit))}</h2>')
        parts += [f"<p>{text(exhibit.note)}</p>"] if exhibit.note else []
        parts += [f'<figure class="scroll">{drawn[exhibit.name]}</figure>'] if exhibit.name in drawn else []
        parts += [printing.html(exhibit.printed())] if exhibit.is_table else []
        if exhibit.in_paper is not None:
            parts.append(
                f'<p class="theirs">{text(_whose(exhibit.in_paper))}</p>{printing.html(exhibit.in_paper.printed())}'
            )
        links = ", ".join(f'<a href="{name}">{name}</a>' for name in _files(exhibit))
        parts.append(f'<p class="files">{links}</p></section>')
    conventions = conventions_of(study.short)
    if conventions:
        rows = "".join(f"<li><b>{text(aspect)}</b>: {text(how)}</li>" for aspect, how in conventions)
        parts.append(f'<section id="conventions"><h2>Conventions</h2><ul>{rows}</ul></section>')
    return _document(study.paper, "".join(parts))


def _text(value: str) -> str:
    return escape(value.encode("utf-8", "replace").decode())


def _document(title: str, body: str) -> str:
    style = (files("fathoms.papers") / "study.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{style}</style></head><body><main>{body}</main></body></html>\n"
    )
