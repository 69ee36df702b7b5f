"""Words of topics and documents, from whatever they come in: TSV, JSON lines, TREC's SGML, or a folder of files.

A file is read once for the places of the ids that are wanted, and a text only when somebody looks at it, so that a
collection of gigabytes costs little memory. (A compressed file is held in memory.)
"""

from __future__ import annotations

import html
import json
import mmap
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fathoms.base.errors import InputError
from fathoms.base.files import decompress, is_packed, opened, read_bytes

IDS = ("id", "_id", "docno", "doc_id", "docid", "did", "topic", "topic_id", "qid", "query_id", "number", "num")
TITLES = ("title", "headline", "query")
BODIES = (
    "desc",
    "description",
    "question",
    "narr",
    "narrative",
    "abstract",
    "text",
    "body",
    "content",
    "contents",
)
BOM = b"\xef\xbb\xbf"
SNIFFED = 1 << 16  # bytes at the start of a file that identify it
LONGEST = 4 << 20  # bytes of a text that are looked at

Bytes = bytes | mmap.mmap


@dataclass(frozen=True)
class Entry:
    """What a topic or a document says; any part may be empty."""

    title: str
    body: tuple[str, ...]  # paragraphs


class Texts(Protocol):
    """Texts by id."""

    def get(self, name: str) -> Entry | None: ...

    def __len__(self) -> int:
        """How many of the wanted ids have a text."""
        ...


@dataclass(frozen=True)
class TextSources:
    """Where the texts are, if they are anywhere."""

    topics: Texts | None
    documents: Texts | None


def open_texts(path: str | os.PathLike[str], wanted: Collection[str]) -> Texts:
    """The texts of the wanted ids in a file or a folder; an id that is not there has none."""
    name = os.fspath(path)
    if os.path.isdir(name):
        return FolderTexts(Path(name), wanted)
    content = _content(name)
    start = len(BOM) if content[: len(BOM)] == BOM else 0
    head = content[start : start + SNIFFED]
    if not head.strip():
        raise InputError("the file is empty; expected texts as TSV, JSON lines or SGML", name)
    first = head.lstrip()[:1]
    if first == b"{":
        return FileTexts(content, _places(_json_lines(content, start, name), wanted), _json_entry)
    if first == b"<":
        if re.search(rb"<DOC\b", head, re.IGNORECASE):
            return FileTexts(content, _places(_sgml_documents(content, name), wanted), _sgml_document)
        if re.search(rb"<(top|topic)\b", head, re.IGNORECASE):
            return FileTexts(content, _places(_sgml_topics(content, name), wanted), _sgml_topic)
        raise InputError("starts like SGML, but has neither <DOC> nor <top> nor <topic> elements", name)
    return FileTexts(content, _places(_tsv_lines(content, start, name), wanted), _tsv_entry)


class FileTexts:
    """Texts of one file: where each stands, and how to read it."""

    def __init__(self, content: Bytes, places: dict[str, tuple[int, int]], read: Callable[[bytes], Entry]) -> None:
        self._content, self._places, self._read = content, places, read

    def get(self, name: str) -> Entry | None:
        place = self._places.get(name)
        return None if place is None else self._read(self._content[place[0] : min(place[1], place[0] + LONGEST)])

    def __len__(self) -> int:
        return len(self._places)


class FolderTexts:
    """One file a document, named by its id, with any endings.

    Ids are looked up in the listing of the folder and never made into paths, so that no id leads anywhere else.
    """

    def __init__(self, folder: Path, wanted: Collection[str]) -> None:
        self._paths: dict[str, Path] = {}
        try:
            files = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", str(folder)) from None
        # Whole names first: `a.1` is the document a.1, if there is one, before it is a form of a.
        names = [(name, name) for name in files]
        while names:
            for name, file in names:
                if name in wanted:
                    self._paths.setdefault(name, folder / file)
            names = [(Path(name).stem, file) for name, file in names if Path(name).suffix]

    def get(self, name: str) -> Entry | None:
        path = self._paths.get(name)
        if path is None:
            return None
        raw = _start(path)
        if raw.lstrip()[:1] == b"<":
            return _sgml_document(raw)
        return Entry("", _paragraphs(_decode(raw)))

    def __len__(self) -> int:
        return len(self._paths)


def _start(path: Path) -> bytes:
    """The first bytes of a file, however large it is, or would be once decompressed."""
    try:
        with opened(str(path), _open_regular) as file:
            raw: bytes = file.read(LONGEST)
            return raw
    except InputError:
        raise
    except Exception as error:  # each codec has exceptions of its own
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", str(path)) from None


def _open_regular(path: str, flags: int) -> int:
    """Refuse what may never have anything to read, such as a pipe, without waiting to find out."""
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # which Windows lacks
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise InputError("is not a regular file", path)
    return number


def _content(name: str) -> Bytes:
    """The bytes of a file: mapped if it is a plain one, else read and decompressed."""
    if not os.path.isfile(name):
        return read_bytes(name)
    try:
        with open(name, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return b""
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", name) from None
    if is_packed(content[:8]):
        return decompress(content[:], name)
    return content


Located = Iterator[tuple[str, int, int]]  # id, and from where to where its text stands


def _places(documents: Located, wanted: Collection[str]) -> dict[str, tuple[int, int]]:
    """Places of the wanted ids; the first, if there are several."""
    places: dict[str, tuple[int, int]] = {}
    for name, start, end in documents:
        if name in wanted:
            places.setdefault(name, (start, end))
    return places


def _lines(content: Bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of each line that is not blank."""
    number = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        number += 1
        if content[start:end].strip():
            yield number, start, end
        start = end + 1


def _decode(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _id(raw: bytes) -> str:
    """Ids are bytes to runs and judgments."""
    return raw.strip().decode(errors="surrogateescape")


def _paragraphs(text: str) -> tuple[str, ...]:
    """Lines that stand together are a paragraph."""
    return tuple(" ".join(part.split()) for part in re.split(r"\r?\n\s*\n", text) if part.strip())


# -- TSV ----------------------------------------------------------------------------------------------------------


def _tsv_lines(content: Bytes, start: int, source: str) -> Located:
    for number, begin, end in _lines(content, start):
        line = content[begin:end]
        name, tab, _ = line.partition(b"\t")
        if not tab or not name.strip():
            shown = _decode(line[:60]).strip()
            raise InputError(f"expected `id<TAB>text`, found {shown!r}", source, number)
        yield _id(name), begin, end


def _tsv_entry(raw: bytes) -> Entry:
    """id, text; or id, title, text and more."""
    _, *cells = _decode(raw).strip("\r\n").split("\t")
    title = cells.pop(0).strip() if len(cells) > 1 else ""
    return Entry(title, tuple(cell.strip() for cell in cells if cell.strip()))


# -- JSON lines ---------------------------------------------------------------------------------------------------

# A line that starts with its id, as nearly all do, need not be read to the end to find it.
_STARTS_WITH_ID = re.compile(rb'\s*\{\s*"(?:%s)"\s*:\s*"([^"\\]+)"\s*[,}]' % "|".join(IDS).encode())


def _json_lines(content: Bytes, start: int, source: str) -> Located:
    for number, begin, end in _lines(content, start):
        line = content[begin:end]
        quick = _STARTS_WITH_ID.match(line)
        if quick:
            yield _id(quick[1]), begin, end
            continue
        record = _record(line)
        if record is None:
            raise InputError(f"expected a JSON object, found {_decode(line[:60]).strip()!r}", source, number)
        name = next((record[field] for field in record if field in IDS), None)
        if not isinstance(name, str | int):
            raise InputError(f"expected a field with the id ({', '.join(IDS)}), found {list(record)}", source, number)
        yield str(name).strip(), begin, end


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # the latter where it is nested a thousand times
        return None
    return record if isinstance(record, dict) else None


def _json_entry(raw: bytes) -> Entry:
    record = _record(raw)
    if record is None:  # it started well, or it would not have been found
        return Entry("", _paragraphs(_decode(raw)))
    titles = [words for field in TITLES for words in _words(record.get(field))]
    bodies = [words for field in BODIES for words in _words(record.get(field))]
    return Entry(" ".join(titles), tuple(bodies))


def _words(value: Any) -> tuple[str, ...]:
    """The paragraphs of a text, or of texts in lists, however these are nested."""
    paragraphs: list[str] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, str):
            paragraphs += _paragraphs(part)
    return tuple(paragraphs)


# -- SGML, as TREC has it: tags that may lack their end, entities, no declaration ---------------------------------

# Texts may be hostile, so no pattern looks further than the next `<` for the end of a tag, and elements are found from
# lists of their tags: a search for the end of each would take a time that grows with the square of the length.

_DOCUMENT = re.compile(rb"<DOC\b[^<>]*>.*?(?:</DOC>|\Z)", re.IGNORECASE | re.DOTALL)
_DOCNO = re.compile(rb"<(DOCNO|DOCID|ID)\b[^<>]*>([^<]*)</\1>", re.IGNORECASE)
_HEADLINES = frozenset(("title", "headline", "head", "hl", "ti", "ttl"))
_TEXTS = frozenset(("text", "body"))
_COMMENT = "<!--"
_UNSEEN = frozenset(("docno", "docid", "dochdr", "script", "style", _COMMENT))
_MARKUP = re.compile(r"<!--|-->|<(/?)([A-Za-z][A-Za-z0-9]*)\b[^<>]*>")
_BREAK = re.compile(r"</?(P|BR|DIV|H[1-6]|LI|TR|TABLE)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")

_TOPIC = re.compile(rb"<(top|topic)\b([^<>]*)>(.*?)(?:</\1>|(?=<\1\b)|\Z)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(rb"<num(?:ber)?>\s*(?:number\s*:\s*)?([^\s<]+)", re.IGNORECASE)
_NUMBER_WITHIN = re.compile(rb"\b(?:number|id)\s*=\s*(?:[\"']\s*)?([^\s\"'>]+)", re.IGNORECASE)
_FIELD = re.compile(
    r"<(title|query|desc|description|question|narr|narrative)>\s*(?:(?:topic|description|narrative)\s*:)?(.*?)"
    r"(?=</?[a-z]+\b[^<>]*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)


class Element(NamedTuple):
    """Where an element is in a text, its tags included, and where its content is."""

    start: int
    inner_start: int
    inner_end: int
    end: int


def _elements(text: str, names: frozenset[str]) -> list[Element]:
    """The elements of these names that have an end, one after another: what is inside one is not looked at."""
    opened: list[tuple[int, int, str]] = []
    closed: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    for mark in _MARKUP.finditer(text):
        if mark[0] == "-->":
            closed.get(_COMMENT, []).append(mark.span())
            continue
        name = _COMMENT if mark[0] == _COMMENT else mark[2].lower()
        if name in names and mark[1]:
            closed[name].append(mark.span())
        elif name in names:
            opened.append((*mark.span(), name))
    elements: list[Element] = []
    at = 0
    for start, inner, name in opened:
        if start < at:
            continue
        ends = closed[name]
        place = bisect_left(ends, (inner, 0))
        if place < len(ends):
            at = ends[place][1]
            elements.append(Element(start, inner, *ends[place]))
    return elements


def _without(text: str, elements: Sequence[Element]) -> str:
    """The text with a blank in the place of each element."""
    kept, at = [], 0
    for element in elements:
        kept.append(text[at : element.start])
        at = element.end
    return " ".join([*kept, text[at:]])


def _sgml_documents(content: Bytes, source: str) -> Located:
    for document in _DOCUMENT.finditer(content):
        number = _DOCNO.search(content, document.start(), document.end())
        if number is None:
            line = content[: document.start()].count(b"\n") + 1
            raise InputError("this <DOC> has no <DOCNO>", source, line)
        yield _id(number[2]), document.start(), document.end()


def _sgml_document(raw: bytes) -> Entry:
    text = _decode(raw)
    text = _without(text, _elements(text, _UNSEEN))
    headlines = _elements(text, _HEADLINES)[:1]
    inside = [text[part.inner_start : part.inner_end] for part in _elements(text, _TEXTS)]
    title = " ".join(
        words for headline in headlines for words in _plain(text[headline.inner_start : headline.inner_end])
    )
    return Entry(title, tuple(words for part in inside or [_without(text, headlines)] for words in _plain(part)))


def _plain(text: str) -> tuple[str, ...]:
    """Without tags, paragraph by paragraph."""
    return _paragraphs(_unescaped(_TAG.sub(" ", _BREAK.sub("\n\n", text))))


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # the number of a character has thousands of digits, which Python refuses to read
        return text


def _sgml_topics(content: Bytes, source: str) -> Located:
    for topic in _TOPIC.finditer(content):
        number = _NUMBER_WITHIN.search(topic[2]) or _NUMBER.search(topic[3])
        if number is None:
            line = content[: topic.start()].count(b"\n") + 1
            raise InputError("this topic has no number, neither <num> nor number=", source, line)
        name = _id(number[1])
        yield name, topic.start(), topic.end()
        yield name.lstrip("0"), topic.start(), topic.end()  # topic 051 is 51 in judgments and runs


def _sgml_topic(raw: bytes) -> Entry:
    fields = {match[1].lower(): _plain(match[2]) for match in _FIELD.finditer(_decode(raw))}
    titles = [words for field in TITLES for words in fields.get(field, ())]
    bodies = [words for field in BODIES for words in fields.get(field, ())]
    return Entry(" ".join(titles), tuple(bodies))
