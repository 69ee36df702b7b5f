"""What may be shown of the texts of topics and documents, and what is highlighted in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fathoms.data.texts import Entry

COMMON = {  # words of questions that say nothing about a document
    "and",
    "are",
    "but",
    "can",
    "did",
    "does",
    "for",
    "from",
    "has",
    "have",
    "how",
    "its",
    "not",
    "one",
    "that",
    "the",
    "this",
    "was",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "will",
    "with",
}


def printable(text: str) -> str:
    """What may be shown: nothing that moves a cursor, changes colours or turns the text around.

    >>> printable("a\\x1b[2Jb\\u202ec")
    'a�[2Jb�c'
    """
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


# Control characters but for tab and line feed, signs that set the direction of writing, line separators, and
# surrogates, which stand for bytes that are no UTF-8.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def terms(topic: Entry | None) -> set[str]:
    """Words of a topic that a document may also have."""
    if topic is None:
        return set()
    words = re.findall(r"\w+", topic.title or " ".join(topic.body))
    return {_bare(word) for word in words if len(word) > 2 and word.lower() not in COMMON}


def _bare(word: str) -> str:
    """Singular and plural count as the same."""
    word = word.casefold()
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def marked(text: str, wanted: set[str]) -> list[str]:
    """The text in pieces, every second of which is to be highlighted.

    >>> marked("A dam, Dams and more", {"dam"})
    ['A ', 'dam', ', ', 'Dams', ' and more']
    """
    text = printable(text)
    pieces, end = [], 0
    for match in re.finditer(r"\w+", text):
        if _bare(match[0]) in wanted:
            pieces += [text[end : match.start()], match[0]]
            end = match.end()
    return [*pieces, text[end:]]


LONG = 3_000  # characters above which a document has passages at all
PASSAGE = 320  # characters of a passage, at most
PASSAGES = 4


class Passage(NamedTuple):
    """A part of a paragraph: from where to where it goes."""

    paragraph: int
    start: int
    end: int


def passages(body: Sequence[str], wanted: set[str]) -> list[Passage]:
    """The parts of a long text that have most of the wanted words, in the order of the text."""
    if sum(map(len, body)) <= LONG:
        return []
    windows = [window for number, paragraph in enumerate(body) for window in _windows(number, paragraph, wanted)]
    windows.sort(key=lambda window: (-window[0], -window[1], window[2]))
    chosen: list[Passage] = []
    for *_, passage in windows:
        if len(chosen) < PASSAGES and not any(_overlap(passage, other) for other in chosen):
            chosen.append(passage)
    return sorted(chosen)


def _overlap(first: Passage, second: Passage) -> bool:
    return first.paragraph == second.paragraph and first.start < second.end and second.start < first.end


def _windows(number: int, paragraph: str, wanted: set[str]) -> Iterator[tuple[int, int, Passage]]:
    """From each sentence with a wanted word on, as far as a passage goes; how many different ones it has, and how many
    in all."""
    sentences = list(_sentences(paragraph))
    hits = [
        [word for match in re.finditer(r"\w+", paragraph[start:end]) if (word := _bare(match[0])) in wanted]
        for start, end in sentences
    ]
    inside: Counter[str] = Counter()  # words of the sentences from i to before j, which both go on to the end once
    j = 0
    for i, (start, end) in enumerate(sentences):
        while j < len(sentences) and (j <= i or sentences[j][1] - start <= PASSAGE):
            inside.update(hits[j])
            j += 1
        if hits[i]:
            yield len(inside), inside.total(), Passage(number, start, max(end, sentences[j - 1][1]))
        inside.subtract(hits[i])
        for word in hits[i]:
            if not inside[word]:
                del inside[word]


def _sentences(paragraph: str) -> Iterator[tuple[int, int]]:
    """Where they start and end; one that is longer than a passage is cut at blanks."""
    for sentence in re.finditer(r"\S.*?(?:[.!?][\"')\]]*(?=\s)|$)", paragraph, re.DOTALL):
        yield from _cut(paragraph, sentence.start(), sentence.start() + len(sentence[0].rstrip()))


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > PASSAGE:
        blank = text.rfind(" ", start + 1, start + PASSAGE)
        stop = blank if blank > 0 else start + PASSAGE
        yield start, stop
        start = stop + (blank > 0)
    yield start, end
