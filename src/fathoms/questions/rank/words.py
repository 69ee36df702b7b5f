"""What a ranking says in words: who is first, who else might be, and how far ranks could move. Each sentence names its
doubt: judging, ties or topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fathoms.base.text import pluralise
from fathoms.inference.rank_sets import topics_needed

if TYPE_CHECKING:
    from fathoms.questions.rank.analysis import Ranking, Standing

AS_JUDGED = "Unjudged documents count as not relevant here."
NAMED = 5  # runs that a sentence names


def answers(result: Ranking) -> list[str]:
    """Who is first by each measure, and who else might be over topics."""
    return [f"{measure.name}: {leaders(result, measure.name)}" for measure in result.measures]


def leaders(result: Ranking, measure: str) -> str:
    """Who is first by one measure, and who else might be over topics."""
    standings = result.of(measure)
    return f"{_first(standings, result.topics)} {_over_topics(standings, result)}"


def outlook(result: Ranking, measure: str) -> list[str]:
    """What judging and ties could make of the first rank, and how many ranks are open to a run."""
    standings = result.of(measure)
    sentences = [_likely(standings, result, measure)] if standings[0].likely_rank_low is not None else []
    sentences += [_possible(standings, result)] if standings[0].rank_low is not None else []
    return [*sentences, _widths(standings)]


def _first(standings: Sequence[Standing], topics: int) -> str:
    first = [standing.run for standing in standings if standing.rank == 1]
    where = f"as judged, on these {pluralise(topics, 'topic')}" if topics > 1 else "as judged, on this topic"
    if len(first) == 1:
        return f"{first[0]} is first with {standings[0].score:.4f} ({where})."
    return f"{_named(first)} share the first rank with {standings[0].score:.4f} ({where})."


def _over_topics(standings: Sequence[Standing], result: Ranking) -> str:
    best = [standing.run for standing in standings if standing.rank_ci_low == 1]
    level = _confidence(result)
    needed = topics_needed(len(standings), result.alpha)
    if (result.topics if result.clusters is None else result.clusters) < needed:
        return f"{_drawn(result)} cannot tell any of {len(standings)} runs apart; it takes at least {needed} ({level})."
    if len(best) == 1:
        return f"Over topics, no other run might be the best ({level})."
    if len(best) == len(standings):
        return f"Over topics, no run can be excluded as the best ({level})."
    return f"Over topics, {len(best)} of {len(standings)} runs might be the best: {_named(best)} ({level})."


def _likely(standings: Sequence[Standing], result: Ranking, measure: str) -> str:
    likely = [standing.run for standing in standings if standing.likely_rank_low == 1]
    depth = result.to_depth[measure]
    then = f"Once judged down to rank {depth:,}, on these topics, "
    level = f"{100 * result.level:g}% intervals"
    if len(likely) == 1:
        return f"{then}only {likely[0]} is likely to be first ({level})."
    if len(likely) == len(standings):
        return f"{then}any run may well be first ({level})."
    return f"{then}likely to be first: {_named(likely)}, {len(likely)} of {len(standings)} runs ({level})."


def _possible(standings: Sequence[Standing], result: Ranking) -> str:
    left = [standing.run for standing in standings if standing.rank_low == 1]
    always = [standing.run for standing in standings if standing.rank_high == 1]
    means = "judging and tie-breaking" if result.tied else "judging"
    if len(left) == len(standings) > len(always):
        return f"Over {means}, on these topics, no run is ruled out as the first."
    whose = "of the two runs compared" if result.universe.kind == "pair" else "of all runs"
    ties = ", and however ties are broken" if result.tied else ""
    whatever = f"Whatever the unjudged documents {whose} turn out to be{ties}, on these topics"
    if len(left) == len(always):
        return f"{whatever} {_named(always)} {_be(always)} first."
    return f"{whatever} the first is one of {pluralise(len(left), 'run')}: {_named(left)}."


def _be(runs: Sequence[str]) -> str:
    return "is" if len(runs) == 1 else "are"


def _widths(standings: Sequence[Standing]) -> str:
    """How many ranks an average run could have, by each doubt."""
    own, at_once = _width(standings, "own_rank_low", "own_rank_high"), _width(standings, "rank_ci_low", "rank_ci_high")
    sentences = [
        f"On other topics of this kind, an average run could have {own:.1f} of the {len(standings)} ranks, or "
        f"{at_once:.1f} if the sets of all runs are to hold at once."
    ]
    if standings[0].likely_rank_low is not None:
        likely = _width(standings, "likely_rank_low", "likely_rank_high")
        sentences.append(f"Once judged, it is likely to have one of {likely:.1f}.")
    if standings[0].rank_low is not None:
        possible = _width(standings, "rank_low", "rank_high")
        sentences.append(f"By any judging and any order of ties, {possible:.1f} are possible.")
    return " ".join(sentences)


def _width(standings: Sequence[Standing], low: str, high: str) -> float:
    return float(np.mean([getattr(standing, high) - getattr(standing, low) + 1 for standing in standings]))


def _named(runs: Sequence[str]) -> str:
    """All names where they are few, else the first of them."""
    if len(runs) > NAMED + 1:
        return f"{', '.join(runs[:NAMED])} and {len(runs) - NAMED} more"
    return " and ".join(filter(None, [", ".join(runs[:-1]), runs[-1]]))


def remarks(result: Ranking) -> list[str]:
    """What possible ranks are over, what judging and ties could change, and how the estimates were checked."""
    several = len(result.measures) > 1
    sentences = [
        f"{measure.name}: {sentence[0].lower()}{sentence[1:]}" if several else sentence
        for measure in result.measures
        for sentence in outlook(result, measure.name)
    ]
    return [*_possible_over(result), *sentences, _sets(result), *result.about_estimates]


def about(result: Ranking) -> list[str]:
    """What ranks are over, by any measure, and how the estimates were checked."""
    return [*_possible_over(result), _sets(result), *result.about_estimates]


def ranks_over(result: Ranking) -> list[str]:
    """What possible ranks are over, if there are any, and what those over topics mean when they hold all at once."""
    sets = (
        f"Ranks over topics: with {_confidence(result)}, every run's rank over all topics of this kind lies in its "
        "interval."
    )
    return [*_possible_over(result), f"{sets} {AS_JUDGED}"]


def _sets(result: Ranking) -> str:
    return (
        f"Ranks over topics: with {_confidence(result)}, a run's rank over all topics of this kind lies in its own "
        f"interval; the ranks of all runs together lie in wider ones (at once) with the same confidence. {AS_JUDGED}"
        + ("" if result.clusters is None else f" What is drawn at random are {_drawn(result)}.")
        + _repeated(result)
    )


def _repeated(result: Ranking) -> str:
    if not result.repeated:
        return ""
    return (
        f" The {result.repeated:,} runs are of {len(result.runs)} systems, each ranked by the mean of its runs, and "
        "other repetitions count as other topics do."
    )


def _drawn(result: Ranking) -> str:
    """What counts as drawn at random."""
    if result.clusters is None:
        return pluralise(result.topics, "topic")
    return f"{pluralise(result.clusters, 'cluster')} of topics"


def _confidence(result: Ranking) -> str:
    return f"{100 * (1 - result.alpha):g}% confidence"


def _possible_over(result: Ranking) -> list[str]:
    return [_universe(result)] if any(standing.rank_low is not None for standing in result.standings) else []


def _universe(result: Ranking) -> str:
    kind, depth = result.universe.kind, result.universe.depth
    where = "" if depth is None else f" in the first {depth:,} ranks of some run"
    unseen = "" if isinstance(kind, str) else " and any number of" if kind == float("inf") else f" and {kind:,.0f}"
    unseen += " unseen ones per topic" if unseen else ""
    proved = "A run is behind all runs that are proved to be ahead of it, each by the range of that pair."
    if not result.unjudged and not unseen:
        return (
            f"Possible ranks: every order of tied documents; nothing that these {len(result.runs)} runs have{where} is "
            f"unjudged. {proved}"
        )
    of = f"of these {len(result.runs)} runs{where}{unseen}"
    taken = ", for each pair those of its two runs" if kind == "pair" and len(result.runs) > 2 else ""
    return (
        f"Possible ranks: every way of judging the {pluralise(result.unjudged, 'unjudged document')} {of}{taken}, and "
        f"every order of tied documents. {proved}"
    )


def described(standing: Standing) -> str:
    """A run's ranks in a line."""
    parts = [
        f"{standing.run}: rank {standing.rank} with {standing.score:.4f}",
        f"over topics {span(standing.own_rank_low, standing.own_rank_high)}, all runs at once "
        f"{span(standing.rank_ci_low, standing.rank_ci_high)}",
    ]
    if standing.likely_rank_low is not None:
        parts.append(f"likely {span(standing.likely_rank_low, standing.likely_rank_high)}")
    if standing.rank_low is not None:
        parts.append(f"possible {span(standing.rank_low, standing.rank_high)}")
    return "; ".join(parts)


def span(low: int | None, high: int | None) -> str:
    """`3-7`, or `3` where both ends are that; nothing where there are none."""
    if low is None or high is None:
        return ""
    return f"{low}" if low == high else f"{low}-{high}"
