"""What `fathoms ties` says in words, first about the files and then about each measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathoms.base.text import pluralise, up_to
from fathoms.base.tolerances import ROUNDING
from fathoms.experiment.topics import some
from fathoms.measures.base import Measure
from fathoms.questions.ties.anomalies import Affected, affected

if TYPE_CHECKING:
    from fathoms.questions.ties.effects import TieReport


def answers(report: TieReport) -> list[str]:
    """By each measure: does it depend on the tie-breaking rule which run is ahead? Measures with the same answer share
    a sentence."""
    by_measure: dict[str, list[str]] = {}
    for measure in report.measures:
        by_measure.setdefault(_depends(report, measure), []).append(measure.name)
    return [f"{_and(names)}: {text}" for text, names in by_measure.items()]


def remarks(report: TieReport) -> list[str]:
    """What is odd about the files, then how far scores and ranks could move by each measure."""
    moved = [measure for measure in report.measures if _moves(report, measure)]
    return [*of_files(report), *(of_measure(report, measure, agreement=False) for measure in moved)]


def _depends(report: TieReport, measure: Measure) -> str:
    means = report.means[measure]
    changes, could = means.verdicts()
    if changes.any():
        pairs = f"{changes.sum():,} of {pluralise(len(changes), 'pair')}"
        return f"the tie-breaking rule decides which run is ahead in {pairs}."
    if could.any():
        return (
            "all rules agree on which run is ahead; breaking each run's ties independently could reverse "
            f"{could.sum():,} of {pluralise(len(could), 'pair')}."
        )
    if not _moves(report, measure):
        return "no score depends on the tie-breaking rule."
    if not len(changes):
        return "the score depends on the tie-breaking rule."
    return "scores depend on the tie-breaking rule, but which of two runs is ahead does not."


def _moves(report: TieReport, measure: Measure) -> bool:
    """Whether the order of tied documents changes a score, or the rules differ on a pair."""
    means = report.means[measure]
    width = means.columns["optimistic"] - means.columns["pessimistic"]
    return bool((width > ROUNDING).any() or means.verdicts()[0].any())


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def of_files(report: TieReport) -> list[str]:
    of_runs, k = report.by_run, report.depth
    tied, wrong, _ = affected(of_runs)

    def shares(kind: Affected) -> str:
        systems, system_topics, _ = kind.percent
        return (
            f"in {kind.system_topics:,} of {pluralise(kind.of[1], 'ranking')} ({system_topics:.1f}%) and "
            f"{kind.systems} of {pluralise(kind.of[0], 'run')} ({systems:.1f}%)"
        )

    total = {
        name: sum(getattr(of_run, name) for of_run in of_runs) for name in ("tied_float32", "tied_above", "across")
    }
    lines = [
        f"Ties: {tied.documents:,} of {tied.of[2]:,} documents ({tied.percent[2]:.1f}%) have the same score as the one "
        f"ranked just before, {shares(tied)}. {total['tied_above']:,} of them are among the first {k}; "
        f"{pluralise(total['across'], 'ranking')} {'has' if total['across'] == 1 else 'have'} a tie across rank {k}. "
        f"Read as trec_eval reads scores (float32), {total['tied_float32']:,} are tied."
        if total["tied_float32"]
        else f"Ties: none among {pluralise(tied.of[2], 'document')}."
    ]
    if wrong.documents:
        upside_down = [of_run.run for of_run in of_runs if of_run.upside_down]
        also = f" Probably upside down: {some(upside_down)}." if upside_down else ""
        lines.append(
            f"Contradictions: the ranks of {pluralise(wrong.documents, 'document')} ({wrong.percent[2]:.1f}%) "
            f"contradict their scores, {shares(wrong)}.{also}"
        )
    rising = [of_run for of_run in of_runs if of_run.risen]
    if rising:
        exponents = sum(of_run.exponents or 0 for of_run in rising)
        also = f"; {exponents:,} documents are where their score without its exponent would belong" if exponents else ""
        times = sum(of_run.risen for of_run in rising)
        lines.append(
            f"File order: scores rise from one line to the next {pluralise(times, 'time')} in "
            f"{some([of_run.run for of_run in rising])}{also}. In file order such a run may score outside the range "
            "over orders of its tied documents."
        )
    same_ranks = [of_run.run for of_run in of_runs if of_run.rank_ties]
    if same_ranks:
        lines.append(f"Rank ties: documents of one topic share a rank in {some(same_ranks)}.")
    return lines


def of_measure(report: TieReport, measure: Measure, *, agreement: bool = True) -> str:
    """What the order of tied documents changes by one measure."""
    return f"{measure.name}: {effects_of_order(report, measure, agreement=agreement)}"


def effects_of_order(report: TieReport, measure: Measure, *, agreement: bool = True) -> str:
    """What the order of tied documents changes, and with `agreement` also that it changes no order of runs."""
    means = report.means[measure]
    width = means.columns["optimistic"] - means.columns["pessimistic"]
    moved = int((width > ROUNDING).sum())
    if not _moves(report, measure):
        return "no score depends on the tie-breaking rule."
    widest = int(np.argmax(width))
    lines = [
        f"the order of tied documents changes {moved} of {pluralise(len(width), 'score')}, "
        f"{up_to(width[widest])} ({report.names[widest]})."
    ]
    changes, could = means.verdicts()
    if changes.any() or could.any():
        lines.append(
            f"Which run is ahead depends on the tie-breaking rule for {changes.sum():,} of "
            f"{pluralise(len(changes), 'pair')}; breaking each run's ties independently could reverse {could.sum():,} "
            "more."
        )
    elif len(changes) and agreement:
        lines.append("Which of two runs is ahead does not depend on the tie-breaking rule.")
    best, worst = means.extreme_places()
    taken = np.stack([places for places in means.places_by_rule() if places is not None])
    differ, movable = int((np.ptp(taken, axis=0) > 0).sum()), int((worst > best).sum())
    if differ or movable:
        far = int(np.argmax(worst - best))
        lines.append(
            f"Among {pluralise(len(best), 'run')} the rule changes the rank of {differ or 'none'}, and breaking each "
            f"run's ties independently could change that of {movable}: {report.names[far]} could rank as high as "
            f"{best[far]} and as low as {worst[far]}."
        )
    return " ".join(lines)
