"""Topic at a time: an assessor who has a topic in mind judges several of its documents before another topic comes.

Which topic that is follows from the assessor's own answers, so that it is the same after a restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

BATCH = 10  # documents of a topic before another one comes
PATIENCE = 5  # answers in a row that are not relevant, after which a topic is taken to yield nothing


def topic_to_stay_on(answers: Sequence[tuple[str, bool]], batch: int = BATCH, patience: int = PATIENCE) -> str | None:
    """The topic that an assessor stays on, None if another one may come.

    `answers` are the assessor's, in order: the topic of each, and whether the document was relevant. A stay ends after
    `batch` documents, or after `patience` in a row that were not relevant; then the count starts again.

    >>> topic_to_stay_on([("1", True), ("2", False), ("2", True)], batch=3)
    '2'
    >>> topic_to_stay_on([("2", False), ("2", True), ("2", True)], batch=3) is None
    True
    """
    if not answers:
        return None
    topic = answers[-1][0]
    last = list(takewhile(lambda answer: answer[0] == topic, reversed(answers)))
    here = [relevant for _, relevant in reversed(last)]
    count = in_vain = 0  # of the present stay: one that ended may be followed by another on the same topic
    for relevant in here:
        count += 1
        in_vain = 0 if relevant else in_vain + 1
        if count >= batch or in_vain >= patience:
            count = in_vain = 0
    return topic if count else None
