"""A collection that grows, as section 6 of Carterette (2007) suggests for changing corpora.

Our reading: documents up to the median date were there first. Two systems are judged on rankings of those alone; then
the later documents come, and what was judged has to do for the whole rankings of all systems. Judged documents that
have left the top of the whole rankings are not used: the model learns from documents of these rankings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.data import widths
from fathoms.data.qrels import Qrels
from fathoms.data.tie_keys import read_tie_key
from fathoms.evidence.align import Ranked
from fathoms.evidence.candidates import Candidates, document_table
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.papers.rtc_experts import Texts, read_texts, score_chances, scores_by_rank


@dataclass(frozen=True, eq=False)
class Earlier:
    """The documents of a collection as it was, and where each is now."""

    candidates: Candidates
    relevant: Bools
    now: Ints  # the candidate of the whole rankings, -1 for one that is in nobody's top any more
    undated: int  # documents of the rankings without a date, taken as earlier
    share: float  # of the documents of the rankings
    chances: Floats | None  # as in `World`
    texts: Texts | None


def earlier_documents(
    ranked: Sequence[Ranked],
    whole: Candidates,
    qrels: Qrels,
    dates: str,
    depth: int,
    from_scores: bool,
    docs: str | None,
) -> Earlier:
    """The rankings without later documents, read to the same depth."""
    key = read_tie_key(dates)
    if key.by_topic:
        raise FathomsError(f"{dates}: expected lines `document date`")
    every = np.unique(widths.joined([run.run.documents[run.rows] for run in ranked]))
    when = [key.values.get(document) for document in every.tolist()]
    known = [date for date in when if date is not None]
    if not known:
        raise FathomsError(f"{dates}: has a date of no document of the runs")
    cut = float(np.median(known))
    is_early = np.array([date is None or date <= cut for date in when])
    if is_early.all():
        raise FathomsError(f"{dates}: half of the documents or more have the latest date")
    less = [_only(run, is_early[np.searchsorted(every, run.run.documents[run.rows])]) for run in ranked]
    early = document_table(whole.names, less, whole.topics, depth)
    now = whole.find_all(early.topic, early.documents).astype(np.int64)
    return Earlier(
        early,
        early.judged_by(qrels)[1],
        now,
        when.count(None),
        float(is_early.mean()),
        score_chances(scores_by_rank(less, early.place)) if from_scores else None,
        None if docs is None else read_texts(docs, early),
    )


def _only(ranked: Ranked, kept: Bools) -> Ranked:
    lengths = np.bincount(ranked.topic[kept], minlength=ranked.n_topics)
    names = ("rows", "tied", "keys", "judgment", "codes")
    return replace(ranked, lengths=lengths, **{name: getattr(ranked, name)[kept] for name in names})
