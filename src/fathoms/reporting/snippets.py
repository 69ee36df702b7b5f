"""The part of a document's text that is shown of it: where the topic's words begin."""

from __future__ import annotations

from fathoms.data.texts import Entry
from fathoms.judging.texts import marked

LENGTH = 220  # characters
LEAD = 60  # characters before the first word of the topic


def words_of(entry: Entry | None) -> str:
    """Title and text in one line; nothing where there is no text."""
    return "" if entry is None else " ".join(part for part in (entry.title, *entry.body) if part)


def snippet(entry: Entry | None, wanted: set[str]) -> list[str]:
    """In pieces, every second of which is a word of the topic, to be marked; nothing where there is no text."""
    words = words_of(entry)
    if not words:
        return []
    pieces = marked(words, wanted)
    start = max(0, len(pieces[0]) - LEAD) if len(pieces) > 1 and len(words) > LENGTH else 0
    start = words.rfind(" ", 0, start + 1) + 1 if start else 0
    part = marked(words[start : start + LENGTH], wanted)
    part[0] = ("... " if start else "") + part[0]
    part[-1] += "..." if start + LENGTH < len(words) else ""
    return part
