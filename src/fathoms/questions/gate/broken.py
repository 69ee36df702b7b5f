"""Is the candidate a run of this collection at all?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fathoms.base.errors import InputError
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.id_checks import TWICE, check_documents, misspelled

LOOKED_AT = 10  # ranks in which a sound candidate has judged documents


HARDLY_ANY = 0.02  # of the baseline's share


FEW_JUDGED = 10  # with fewer judged documents of the baseline, having none of the candidate's says little


class _Judged(NamedTuple):
    """The documents in a run's first ranks, and how many of them are judged."""

    judged: int
    documents: int

    @property
    def share(self) -> float:
        return self.judged / max(self.documents, 1)


def refuse_broken(experiment: BaseExperiment, baseline: str, candidate: str) -> None:
    """An error if hardly any document of the candidate is judged and many of the baseline's are, or if its ids would
    match the judged ones when written the same way: such a run is not a worse system but a run of another collection,
    and judging it would be pointless."""
    counts, unjudged = {}, {}
    for name in (baseline, candidate):
        ranked = experiment.ranked(name)
        first, judged = ranked.rank <= LOOKED_AT, ranked.judgment >= 0
        counts[name] = _Judged(int((first & judged).sum()), int(first.sum()))
        unjudged[name] = np.bincount(ranked.topic[first & ~judged], minlength=len(experiment.qrels.topics))
    own, usual = counts[candidate], counts[baseline]
    ranked = experiment.ranked(candidate)
    run = ranked.run
    if own.share <= usual.share / TWICE:
        finding = next(check_documents(run, experiment.qrels, ranked, run.source), None)
        if finding is not None:
            raise InputError(f"the candidate is broken: {finding.message}", run.source)
    worse = np.flatnonzero(unjudged[candidate] > unjudged[baseline])
    match = misspelled(ranked, experiment.qrels, worse, LOOKED_AT)
    if match is not None and match.after >= FEW_JUDGED:
        (in_run, in_qrels), missing = match.example, int(unjudged[candidate][worse].sum())
        raise InputError(
            f"the candidate is broken: of its {missing:,} unjudged documents in the first {LOOKED_AT} ranks of "
            f"{len(worse):,} topics, {match.after:,} match judged ones {match.rule.words}; the run has {in_run!r}, the "
            f"judgments {in_qrels!r}",
            run.source,
        )
    if usual.judged >= FEW_JUDGED and own.share <= usual.share * HARDLY_ANY:
        what = "none" if not own.judged else f"{own.judged:,}"
        raise InputError(
            f"the candidate is broken, or a run of other documents: {what} of its {own.documents:,} documents in the "
            f"first {LOOKED_AT} ranks {'is' if own.judged <= 1 else 'are'} judged, where {usual.judged:,} of "
            f"{usual.documents:,} of the baseline's are. If its documents are right but new, judge some of them first "
            "(fathoms judge), or give labels of them (--labels)",
            run.source,
        )
