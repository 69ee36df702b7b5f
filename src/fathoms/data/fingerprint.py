"""The content of a run or a file of judgments as a short text: the same in whatever order, format and compression.

Each line is hashed by its topic, document and grade or score, and the hashes are added up; so parts of a run that are
read one by one add up too. Iterations, ranks and tags do not count. It tells apart files that differ by accident or by
a correction, not by somebody's design.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.data.keys import Keys, document_keys, scrambled
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Run

ODD = np.uint64(0xD1342543DE82EF95)  # so that a number and an id do not cancel each other
BITS = (1 << 64) - 1


class Content(NamedTuple):
    """How many lines, and the sum of their hashes modulo 2^64."""

    lines: int = 0
    hashes: int = 0

    def plus(self, other: Content) -> Content:
        return Content(*((one + more) & BITS for one, more in zip(self, other, strict=True)))

    @property
    def fingerprint(self) -> str:
        return blake2b(repr(tuple(self)).encode(), digest_size=8).hexdigest()


def content_of_run(run: Run) -> Content:
    return _content(run.topics, run.topic, run.keys, run.scores)


def content_of_qrels(qrels: Qrels) -> Content:
    keys = document_keys(qrels.documents)
    content = _content(qrels.topics, qrels.topic, keys, qrels.grades)
    if qrels.by_subtopic is not None:
        for number, grades in enumerate(qrels.by_subtopic.T, 1):
            of_subtopic = _content(qrels.topics, qrels.topic, keys, grades)
            content = Content(content.lines, (content.hashes + (2 * number + 1) * of_subtopic.hashes) & BITS)
    return content


def _content(topics: list[str], topic: NDArray[np.int32], documents: Keys, numbers: NDArray[np.float64]) -> Content:
    names = [blake2b(name.encode(errors="surrogateescape"), digest_size=8).digest() for name in topics]
    of_topic = np.frombuffer(b"".join(names), dtype="<u8").astype(np.uint64)
    hashes = (numbers + 0.0).view(np.uint64)  # -0.0 is 0.0
    hashes *= ODD
    hashes ^= documents
    hashes ^= of_topic[topic]
    return Content(len(topic), int(scrambled(hashes).sum()))
