"""What the numbers of an evaluation depend on, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathoms.experiment.evaluate import Evaluation


def remarks(result: Evaluation) -> list[str]:
    """What the numbers depend on: unjudged documents, ties, ranks that contradict scores, missing topics."""
    lines = []
    means = [(run.run, measure.name, run.mean(measure)) for run in result.runs for measure in result.measures]
    unjudged, read = sum(run.unjudged for run in result.runs), sum(run.read for run in result.runs)
    if unjudged:
        widest = _widest(means, "low", "high")
        detail = f"; the widest range is {widest[0]:.4f}, {widest[2]} of {widest[1]}" if widest else ""
        lines.append(f"Unjudged: {unjudged / read:.1%} of the documents read ({unjudged:,} of {read:,}){detail}.")
    moved = [mean for mean in means if _width(mean[2], "tie_low", "tie_high") > 1e-12]
    most = _widest(moved, "tie_low", "tie_high")
    if most:
        lines.append(
            f"Ties: another order of tied documents changes {len(moved)} of {len(means)} scores, by up to "
            f"{most[0]:.4f} ({most[2]} of {most[1]}); see `fathoms ties`."
        )
    contradicted = [run.run for run in result.runs if run.rank_order_differs]
    if contradicted:
        shown = ", ".join(contradicted[:3]) + (f" and {len(contradicted) - 3} more" if len(contradicted) > 3 else "")
        lines.append(
            f"Ranks: the rank column contradicts the scores, and following it would change scores, in {shown}; "
            "see `fathoms ties`."
        )
    errors = [
        (float(scores.tie_error.max(initial=0)), measure.name)
        for run in result.runs
        for measure, scores in run.scores.items()
        if scores.tie_error is not None
    ]
    if errors and max(errors)[0] > 0:
        lines.append(
            f"Simulated: tie_expected of {max(errors)[1]} is a mean over seeded shuffles; the standard error of a "
            f"topic's is at most {max(errors)[0]:.4f}."
        )
    missing = sum(bool(run.missing) for run in result.runs)
    if missing:
        lines.append(f"Topics: {missing} of {len(result.runs)} runs lack topics of the qrels.")
    return lines


Mean = tuple[str, str, dict[str, float | None]]


def _width(values: dict[str, float | None], low: str, high: str) -> float:
    least, most = values[low], values[high]
    return 0.0 if least is None or most is None else most - least


def _widest(means: list[Mean], low: str, high: str) -> tuple[float, str, str] | None:
    widths = [(_width(values, low, high), run, measure) for run, measure, values in means]
    return max(widths, default=None)
