"""What tuning says: does anything beat the plain score, and does tuning beat the published constants?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.estimate.predictors import PUBLISHED
from fathoms.questions.predict.tuning import SAME_ERROR, root_mean_square, sure_difference

if TYPE_CHECKING:
    from fathoms.estimate.known_cases import Step
    from fathoms.questions.predict.tune import TunedConstants, TunedMethod


def answers(result: TunedConstants) -> list[str]:
    """What does best by each measure."""
    by_measure: dict[str, list[TunedMethod]] = {}
    for method in result.methods:
        by_measure.setdefault(method.measure, []).append(method)
    return [_verdict(result.best(name), methods, result.step) for name, methods in by_measure.items()]


def _verdict(best: TunedMethod, several: Sequence[TunedMethod], step: Step | None) -> str:
    """Does anything beat the plain score, and does tuning beat the published constants, on topics not tuned on?"""
    held_out, plain = best.tuned.held_out, root_mean_square(best.plain)
    rival = min(several, key=lambda method: root_mean_square(method.published))
    rival_error, constants = root_mean_square(rival.published), PUBLISHED[rival.method]
    C = "" if rival.method == "background" else f"C = {constants.C:g}, "
    named = f"the published constants (at best {rival_error:.4f}: {rival.method} with {C}E = {constants.E:g})"
    on_topics = f"RMSE {held_out:.4f} on topics it was not tuned on"
    if held_out > plain - SAME_ERROR:
        return (
            f"{best.measure}: nothing beats the plain score (RMSE {plain:.4f}), neither {best.label} ({on_topics}) nor "
            f"{named}."
        )
    verdict = f"{best.measure}: {best.label} does best, {on_topics}"
    if sure_difference(best.tuned.by_topic, best.plain) < 0:
        verdict += f", against {plain:.4f} of the plain score."
    else:
        verdict += f"; that it beats the plain score ({plain:.4f}) is not sure."
    sure = sure_difference(best.tuned.by_topic, rival.published)
    if sure:
        verdict += f" Tuning {'beats' if sure < 0 else 'does worse than'} {named}."
    else:
        verdict += (
            f" That tuning beats {named} is not sure." if held_out < rival_error else f" Tuning does not beat {named}."
        )
    return verdict + (_carried_over(best, step) if step else "")


def _carried_over(best: TunedMethod, step: Step) -> str:
    """Whether what holds for shallower pools holds one step further down."""
    if best.carried is None or best.carried_plain is None:
        return ""
    carried, plain = root_mean_square(best.carried), root_mean_square(best.carried_plain)
    if plain < SAME_ERROR:
        return f" From depth {step.depth} to {step.to} nothing was left to estimate."
    sure = sure_difference(best.carried, best.carried_plain)
    unsure = "is not sure to beat" if carried < plain - SAME_ERROR else "does not beat"
    return (
        f" Tuned as if judging had ended at depth {step.depth} and tried from there to {step.to}, it "
        f"{ {-1: 'beats', 0: unsure, 1: 'loses to'}[sure] } the plain score ({carried:.4f} against {plain:.4f})."
    )
