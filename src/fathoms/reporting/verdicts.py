"""What the report takes from the verdicts of `compare`: who is ahead, what can be claimed, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fathoms.inference.names import CLAIMED, Verdict
from fathoms.measures.base import Measure
from fathoms.questions.compare.result import Pair

if TYPE_CHECKING:
    from fathoms.reporting.report import Report

LIKELY = 0.8  # probability from which on the model is said to expect a run ahead
OBSTACLES = ("topics", "judging", "ties", "equal means")
# What each verdict means; the probability is HOLDS of `compare`.
MEANINGS: dict[Verdict, str] = {
    "certain": "significant, with a probability of 95% or more still significant in the same direction once judged, "
    "and no judging of the two runs' documents and no tie order reverses the sign",
    "supported": "significant, and with a probability of 95% or more still significant in the same direction once "
    "judged",
    "fragile": "significant as judged, but judging or ties may well undo it",
    "open": "not significant, no claim",
    "tie": "the means are equal",
}
TOP_PLACES = 10
FAR_LESS = 0.8  # of the judged share of the best run


def ahead(pair: Pair) -> tuple[str, str]:
    """The better run of a pair by its mean, and the other."""
    return (pair.run_a, pair.run_b) if pair.diff >= 0 else (pair.run_b, pair.run_a)


def ahead_by_estimate(pair: Pair) -> str:
    """The better run of a pair by its estimate; where that is the score, draws may favour the other one."""
    return pair.run_a if (pair.estimate or 0.0) >= 0 else pair.run_b


def other_run(pair: Pair, run: str) -> str:
    return pair.run_b if pair.run_a == run else pair.run_a


def chance_of_other(pair: Pair, run: str) -> float:
    """The probability that the other run is ahead once judged; 0 where there is no estimate."""
    if pair.p_better is None:
        return 0.0
    return pair.p_better if pair.run_b == run else 1 - pair.p_better


def obstacle(pair: Pair) -> str:
    """What keeps a pair from being claimed, one of OBSTACLES; nothing where it can be."""
    if pair.verdict in CLAIMED:
        return ""
    return "equal means" if pair.verdict == "tie" else pair.lacks


def obstacles(pairs: Iterable[Pair]) -> dict[str, int]:
    """How many of the pairs that cannot be claimed lack what; each counts once."""
    counts = Counter(map(obstacle, pairs))
    return {name: counts[name] for name in OBSTACLES if counts[name]}


def of_run(report: Report, measure: Measure, run: str) -> list[Pair]:
    return [pair for pair in report.pairs(measure) if run in (pair.run_a, pair.run_b)]


def rivals(report: Report, measure: Measure) -> list[tuple[str, Pair]]:
    """The runs that the first one cannot be claimed to be better than, in order of score."""
    ranked = [run.run for run in report.ranked(measure)]
    pairs = ((other_run(pair, ranked[0]), pair) for pair in of_run(report, measure, ranked[0]))
    open_pairs = [(name, pair) for name, pair in pairs if pair.verdict not in CLAIMED]
    return sorted(open_pairs, key=lambda rival: ranked.index(rival[0]))


def leaders(report: Report, measure: Measure) -> list[str]:
    """The first run, and those whose mean is the same."""
    best = report.ranked(measure)[0].run
    return [best, *(name for name, pair in rivals(report, measure) if pair.verdict == "tie")]


def judged_between(report: Report, measure: Measure, most: int) -> list[str]:
    """The first run and those whose difference judging could reverse, as far as is known: first those for which
    judging is what is missing, or which the model expects ahead. Empty where there is no such run."""
    best = report.ranked(measure)[0].run
    open_rivals = [(name, pair) for name, pair in rivals(report, measure) if pair.reversible != "no"]
    open_rivals.sort(key=lambda rival: obstacle(rival[1]) != "judging" and chance_of_other(rival[1], best) < LIKELY)
    return [best, *(name for name, _ in open_rivals[: most - 1])] if open_rivals else []


def expected_ahead(report: Report, measure: Measure) -> list[tuple[str, float]]:
    """Runs that the estimates put ahead of the first one, with the probability, the most probable first."""
    best = report.ranked(measure)[0].run
    chances = [
        (other_run(pair, best), chance_of_other(pair, best))
        for pair in of_run(report, measure, best)
        if chance_of_other(pair, best) >= LIKELY and ahead_by_estimate(pair) != best
    ]
    return sorted(chances, key=lambda run_chance: -run_chance[1])


def judged_shares(report: Report) -> dict[str, float]:
    """The judged share of each run's first documents, as far as it is known."""
    known = {} if report.audit is None else {run: shares[TOP_PLACES] for run, shares in report.audit.shares.items()}
    return {run: share for run, share in known.items() if share is not None}
