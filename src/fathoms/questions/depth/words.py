"""What depths of evaluation do to the order of the runs, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.base.text import capitalised, pluralise
from fathoms.evidence.evidence import Floats
from fathoms.inference.correlation import Correlation
from fathoms.questions.depth.stability import STABLE, is_short, stable_from

if TYPE_CHECKING:
    from fathoms.questions.depth.analysis import DepthAnalysis


def answers(result: DepthAnalysis) -> list[str]:
    """By each measure: from which depth on the order of the runs is stable."""
    depths, kind = result.scored.depths, result.correlation
    return [stability(measure, result.correlations(measure), depths, kind) for measure in result.measures]


def remarks(result: DepthAnalysis) -> list[str]:
    scored = result.scored
    lines = [f"{capitalised(scored.pool)}. Other depths are compared with depth {result.reference}."]
    pairs = pluralise(len(scored.runs) * (len(scored.runs) - 1) // 2, "pair")
    for measure in result.measures:
        reordered = result.reordered(measure)
        if reordered:
            better, worse = reordered[0]
            change = "changes" if len(reordered) == 1 else "change"
            lines.append(
                f"{measure}: {len(reordered):,} of {pairs} of runs {change} order between depth {result.reference} and "
                f"depth {scored.depths[-1]}, such as {better} and {worse}."
            )
    lines.append("All this is about the cut-off alone: unjudged documents count as not relevant at every depth.")
    return lines


def stability(measure: str, matrix: Floats, depths: Sequence[int], kind: Correlation) -> str:
    """From which depth on the order of the runs is stable, by the correlations of every two depths."""
    if kind == "rmse":
        shallow, deep = sorted(divmod(int(matrix.argmax()), len(depths)))
        return (
            f"{measure}: the means of the runs differ most between depth {depths[shallow]} and depth {depths[deep]}, "
            f"with an RMSE of {matrix.max():.4f}."
        )
    start, last = stable_from(matrix, depths), depths[-1]
    if start is None:
        return (
            f"{measure}: the order of the runs is not stable at any depth up to {last} "
            f"({kind} between the two deepest is not {STABLE:g} or more)."
        )
    if is_short(start, last):
        return (
            f"{measure}: the order of the runs agrees from depth {start} to {last}, the deepest looked at ({kind} of "
            f"at least {STABLE:g}), which is too short a stretch to call it stable."
        )
    measured = f"{kind} between any two depths there is at least {STABLE:g}"
    return (
        f"{measure}: the order of the runs is stable from depth {start} to {last}, the deepest looked at ({measured})."
    )
