"""What assessors are told: the names of the grades, and guidelines in plain text or simple Markdown.

Markdown becomes blocks of marked words and never HTML, so that a page can build them from text nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from fathoms.base.errors import InputError
from fathoms.base.files import read_bytes
from fathoms.judging.texts import printable

LONGEST_NAME = 60
LONGEST = 100_000  # characters of guidelines
MOST_GRADES = 20

EXPECTED = "expected a grade and its name, such as `0 = not relevant` or `0<TAB>not relevant<TAB>what it means`"


class GradeName(NamedTuple):
    """A grade, what it is called, and what it means."""

    grade: int
    name: str
    description: str = ""


def read_grades(path: str) -> list[GradeName]:
    """The grades of a file, from 0 on without a gap: lines, or JSON."""
    text = _text(path)
    grades: dict[int, GradeName] = {}
    for line, entry in _json_grades(text, path) if text.lstrip()[:1] in ("{", "[") else _lines(text, path):
        if not 0 < len(entry.name) <= LONGEST_NAME:
            raise InputError(f"expected a name of 1 to {LONGEST_NAME} characters, found {entry.name!r:.80}", path, line)
        if entry.grade in grades:
            raise InputError(f"grade {entry.grade} has two names", path, line)
        grades[entry.grade] = entry
    if len(grades) < 2 or sorted(grades) != list(range(len(grades))):
        raise InputError(
            f"expected names for the grades 0, 1 and so on, without a gap, found {sorted(grades) or 'none'}", path
        )
    if len(grades) > MOST_GRADES:
        raise InputError(f"expected at most {MOST_GRADES} grades, found {len(grades)}", path)
    return [grades[grade] for grade in sorted(grades)]


def _lines(text: str, path: str) -> Iterator[tuple[int | None, GradeName]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        yield number, grade_of_line(line, path, number)


def grade_of_line(line: str, path: str = "", number: int | None = None) -> GradeName:
    """One line of a file of grades.

    >>> grade_of_line("1 = related: on the subject, but no answer")
    GradeName(grade=1, name='related', description='on the subject, but no answer')
    """
    match = re.fullmatch(r"\s*(\d{1,2})(?:\s*[=:.)]\s*|\s+)(\S.*)", line)
    if match is None:
        raise InputError(f"{EXPECTED}, found {line.strip()!r:.60}", path, number)
    name, _, description = match[2].partition("\t")
    if not description:
        name, _, description = name.partition(": ")
    return _grade_name(match[1], name, description)


def _json_grades(text: str, path: str) -> Iterator[tuple[int | None, GradeName]]:
    try:
        content = json.loads(text)
        rows = content if isinstance(content, list) else [_row(grade, value) for grade, value in content.items()]
        for row in rows:
            yield None, _grade_name(row["grade"], row["name"], row.get("description", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            'expected JSON such as {"0": "not relevant", "1": {"name": "relevant", "description": "..."}}', path
        ) from None


def _row(grade: str, value: Any) -> dict[str, Any]:
    return {"grade": grade, **({"name": value} if isinstance(value, str) else value)}


def _grade_name(grade: Any, name: str, description: str) -> GradeName:
    return GradeName(int(grade), printable(" ".join(name.split())), printable(" ".join(description.split())))


def read_guidelines(path: str) -> str:
    text = _text(path)
    if len(text) > LONGEST:
        raise InputError(f"expected guidelines of at most {LONGEST:,} characters, found {len(text):,}", path)
    return text


def _text(path: str) -> str:
    text = read_bytes(path).decode(errors="replace").removeprefix("\N{BYTE ORDER MARK}")
    if not text.strip():
        raise InputError("the file is empty", path)
    return text


# -- simple Markdown ----------------------------------------------------------------------------------------------

Words = list[tuple[str, str]]  # each with what it is: "", "strong", "em" or "code"

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_ITEM = re.compile(r"\s*([-*+]|\d{1,3}[.)])\s+(.*)")
_INLINE = re.compile(r"`([^`]+)`|\*\*(?=\S)(.+?)(?<=\S)\*\*|(?<![\w*])[*_](?=\S)([^*_]+?)(?<=\S)[*_](?![\w*])")
_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]*)[^)]*\)")


def blocks(text: str) -> list[dict[str, Any]]:
    """Headings, paragraphs and lists of a text: `kind`, then `words`, or `items` of a list. HTML is but text.

    >>> blocks("# Grades\\nBe *fair*.\\n- one\\n- two")[1]["words"]
    [('Be ', ''), ('fair', 'em'), ('.', '')]
    """
    parts: list[dict[str, Any]] = []
    goes_on = False  # whether the next line belongs to the last block
    for line in printable(text.replace("\r\n", "\n").replace("\r", "\n")).splitlines():
        heading, item = _HEADING.fullmatch(line.strip()), _ITEM.fullmatch(line)
        if not line.strip():
            goes_on = False
        elif heading is not None:
            parts.append({"kind": "heading", "level": len(heading[1]), "text": [heading[2]]})
            goes_on = False
        elif item is not None:
            kind = "ordered" if item[1][0].isdigit() else "list"
            if not parts or parts[-1]["kind"] != kind:
                parts.append({"kind": kind, "text": []})
            parts[-1]["text"].append(item[2])
            goes_on = True
        elif goes_on:
            parts[-1]["text"][-1] += f" {line.strip()}"
        else:
            parts.append({"kind": "paragraph", "text": [line.strip()]})
            goes_on = True
    return [_finished(block) for block in parts]


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    lines = [_words(text) for text in block.pop("text")]
    return block | ({"items": lines} if block["kind"] in ("list", "ordered") else {"words": lines[0]})


def _words(text: str) -> Words:
    """Words in pieces. An address is shown, not made a link."""
    text = _LINK.sub(lambda link: f"{link[1]} ({link[2]})" if link[1] and link[2] else link[1] or link[2], text)
    words: Words = []
    end = 0
    for match in _INLINE.finditer(text):
        words.append((text[end : match.start()], ""))
        kind = ("code", "strong", "em")[[match[1], match[2], match[3]].index(match[match.lastindex or 1])]
        words.append((match[match.lastindex or 1], kind))
        end = match.end()
    words.append((text[end:], ""))
    return [word for word in words if word[0]]
