"""What breaks ties besides the document's id: another score, a length, a date.

Lines `topic document value`, or `document value` if it is the same for all topics; the greatest value, or the latest
date, comes first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import InputError
from fathoms.base.files import read_bytes
from fathoms.data.runs import Run


@dataclass(frozen=True)
class TieKey:
    """Values of documents, by topic or for all of them."""

    values: dict[tuple[bytes, bytes] | bytes, float]
    by_topic: bool
    source: str

    def ranks(self, run: Run) -> NDArray[np.float64]:
        """A number for each row of the run, less for what comes first; documents without a value come last."""
        topics = [topic.encode(errors="surrogateescape") for topic in run.topics]
        documents = run.documents.tolist()
        if self.by_topic:
            values = [
                self.values.get((topics[topic], document))
                for topic, document in zip(run.topic.tolist(), documents, strict=True)
            ]
        else:
            values = [self.values.get(document) for document in documents]
        return np.array([np.inf if value is None else -value for value in values])


def read_tie_key(path: str | os.PathLike[str]) -> TieKey:
    source = os.fspath(path)
    values: dict[tuple[bytes, bytes] | bytes, float] = {}
    width = 0
    for number, line in enumerate(read_bytes(source).removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        words = line.split()
        if not words or line.startswith(b"#"):
            continue
        width = width or len(words)
        if len(words) != width or width not in (2, 3):
            raise InputError(
                f"line {number}: expected `topic document value` or `document value` on every line, found {len(words)} "
                "words",
                source,
            )
        key = words[0] if width == 2 else (words[0], words[1])
        values.setdefault(key, _number_or_time(words[-1], number, source))
    if not values:
        raise InputError("has no line; expected `topic document value` or `document value`", source)
    return TieKey(values, width == 3, source)


def _number_or_time(word: bytes, line: int, source: str) -> float:
    """A number, or a date as its time."""
    try:
        number = float(word)
    except ValueError:
        try:
            date = datetime.fromisoformat(word.decode())
            number = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except ValueError:
            raise InputError(
                f"line {line}: expected a number or a date such as 2020-03-01, found {word.decode(errors='replace')!r}",
                source,
            ) from None
    if number != number:
        raise InputError(f"line {line}: nan orders nothing", source)
    return number
