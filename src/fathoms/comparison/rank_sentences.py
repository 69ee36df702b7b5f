"""What a ranking says in words: who is first, who else might be, and how far ranks could move. Each sentence names its
doubt: judging, ties or topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fathoms.comparison.rank_sets import topics_needed
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.comparison.rank import Ranking, Standing

NAMED = 5  # runs that a sentence names


def answers(result: Ranking) -> list[str]:
    """Who is first by each measure, and who else might be over topics."""
    found = {measure.name: result.of(measure.name) for measure in result.measures}
    return [f"{name}: {_first(of, result.topics)} {_over_topics(of, result)}" for name, of in found.items()]


def outlook(result: Ranking, measure: str) -> list[str]:
    """What judging and ties could make of the first rank, and how many ranks are open to a run."""
    found = result.of(measure)
    said = [_likely(found, result, measure)] if found[0].likely_rank_low is not None else []
    said += [_possible(found, result)] if found[0].rank_low is not None else []
    return [*said, _widths(found)]


def _first(found: Sequence[Standing], topics: int) -> str:
    first = [one.run for one in found if one.rank == 1]
    where = f"as judged, on these {pluralise(topics, 'topic')}" if topics > 1 else "as judged, on this topic"
    if len(first) == 1:
        return f"{first[0]} is first with {found[0].score:.4f} ({where})."
    return f"{_named(first)} share the first rank with {found[0].score:.4f} ({where})."


def _over_topics(found: Sequence[Standing], result: Ranking) -> str:
    best = [one.run for one in found if one.rank_ci_low == 1]
    level = f"{100 * (1 - result.alpha):g}% confidence"
    needed = topics_needed(len(found), result.alpha)
    if result.topics < needed:
        return (
            f"{pluralise(result.topics, 'topic')} cannot tell any of {len(found)} runs apart; it takes at least "
            f"{needed} ({level})."
        )
    if len(best) == 1:
        return f"Over topics, no other run might be the best ({level})."
    if len(best) == len(found):
        return f"Over topics, no run can be excluded as the best ({level})."
    return f"Over topics, {len(best)} of {len(found)} runs might be the best: {_named(best)} ({level})."


def _likely(found: Sequence[Standing], result: Ranking, measure: str) -> str:
    likely = [one.run for one in found if one.likely_rank_low == 1]
    depth = result.to_depth[measure]
    then = f"Once judged down to rank {depth:,}, on these topics, "
    level = f"{100 * result.level:g}% intervals"
    if len(likely) == 1:
        return f"{then}only {likely[0]} is likely to be first ({level})."
    if len(likely) == len(found):
        return f"{then}any run may well be first ({level})."
    return f"{then}likely to be first: {_named(likely)}, {len(likely)} of {len(found)} runs ({level})."


def _possible(found: Sequence[Standing], result: Ranking) -> str:
    left = [one.run for one in found if one.rank_low == 1]
    means = "judging and tie-breaking" if result.tied else "judging"
    always = [one.run for one in found if one.rank_high == 1]
    whatever = f"Whatever {means} {'bring' if result.tied else 'brings'}, on these topics"
    if len(left) == len(always):
        return f"{whatever} {_named(always)} {_be(always)} first."
    if len(left) == len(found):
        return f"Over {means}, on these topics, no run is ruled out as the first."
    return f"{whatever} the first is one of {pluralise(len(left), 'run')}: {_named(left)}."


def _be(runs: Sequence[str]) -> str:
    return "is" if len(runs) == 1 else "are"


def _widths(found: Sequence[Standing]) -> str:
    """How many ranks an average run could have, by each doubt."""
    spans = [f"{_width(found, 'rank_ci_low', 'rank_ci_high'):.1f} over topics"]
    if found[0].likely_rank_low is not None:
        spans.append(f"{_width(found, 'likely_rank_low', 'likely_rank_high'):.1f} likely over judging")
    if found[0].rank_low is not None:
        spans.append(f"{_width(found, 'rank_low', 'rank_high'):.1f} possible over judging and ties")
    return f"Ranks that a run could have, on average, out of {len(found)}: {', '.join(spans)}."


def _width(found: Sequence[Standing], low: str, high: str) -> float:
    return float(np.mean([getattr(one, high) - getattr(one, low) + 1 for one in found]))


def _named(runs: Sequence[str]) -> str:
    """All names where they are few, else the first of them."""
    if len(runs) > NAMED + 1:
        return f"{', '.join(runs[:NAMED])} and {len(runs) - NAMED} more"
    return " and ".join(filter(None, [", ".join(runs[:-1]), runs[-1]]))


def remarks(result: Ranking) -> list[str]:
    """What possible ranks are over, what judging and ties could change, and how the estimates were checked."""
    several = len(result.measures) > 1
    said = [
        f"{measure.name}: {one[0].lower()}{one[1:]}" if several else one
        for measure in result.measures
        for one in outlook(result, measure.name)
    ]
    return [*_possible_over(result), *said, _sets(result), *result.about_estimates]


def about(result: Ranking) -> list[str]:
    """What ranks are over, by any measure, and how the estimates were checked."""
    return [*ranks_over(result), *result.about_estimates]


def ranks_over(result: Ranking) -> list[str]:
    """What possible ranks are over, if there are any, and what those over topics mean."""
    return [*_possible_over(result), _sets(result)]


def _sets(result: Ranking) -> str:
    return (
        f"Over topics: with {100 * (1 - result.alpha):g}% confidence, the sets hold the ranks that all topics of this "
        "kind would give, for all runs at once; scores as judged."
    )


def _possible_over(result: Ranking) -> list[str]:
    return [_universe(result)] if any(one.rank_low is not None for one in result.standings) else []


def _universe(result: Ranking) -> str:
    kind, depth = result.universe.kind, result.universe.depth
    where = "" if depth is None else f" in the first {depth:,} ranks of some run"
    unseen = "" if isinstance(kind, str) else " and any number of" if kind == float("inf") else f" and {kind:,.0f}"
    unseen += " unseen ones per topic" if unseen else ""
    if not result.unjudged and not unseen:
        return (
            f"Possible ranks: every order of tied documents; nothing that these {len(result.runs)} runs have{where} is "
            "unjudged. Bounds proved pair by pair: not every rank between them may be reachable."
        )
    return (
        f"Possible ranks: every way of judging the {pluralise(result.unjudged, 'unjudged document')} of these "
        f"{len(result.runs)} runs{where}{unseen}, and every order of tied documents. Bounds proved pair by pair: "
        "not every rank between them may be reachable."
    )


def described(one: Standing) -> str:
    """A run's ranks in a line."""
    parts = [
        f"{one.run}: rank {one.rank} with {one.score:.4f}",
        f"over topics {span(one.rank_ci_low, one.rank_ci_high)}",
    ]
    if one.likely_rank_low is not None:
        parts.append(f"likely {span(one.likely_rank_low, one.likely_rank_high)}")
    if one.rank_low is not None:
        parts.append(f"possible {span(one.rank_low, one.rank_high)}")
    return "; ".join(parts)


def span(low: int | None, high: int | None) -> str:
    """`3-7`, or `3` where both ends are that; nothing where there are none."""
    if low is None or high is None:
        return ""
    return f"{low}" if low == high else f"{low}-{high}"
