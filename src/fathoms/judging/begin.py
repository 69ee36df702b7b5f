"""A session by the arguments of `Experiment.judge`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.judging.opening import open_session

if TYPE_CHECKING:
    from fathoms.experiment.base import BaseExperiment
    from fathoms.judging.session import Session

HOW_OPENED = ("resume", "first", "labels", "sample", "design", "per_topic")
SETTINGS = {"confidence": "until"}  # arguments that the settings call by another name


def begin_or_resume(experiment: BaseExperiment, path: Path, *, measures: Any, **given: Any) -> Session:
    """Arguments left out are as in the session when resuming, and otherwise as `JudgingSettings` has them."""
    how, settings = opened_and_settings(given)
    if measures is not None:
        settings["measures"] = tuple(measure.name for measure in experiment.measures(measures))
    if not how["resume"]:
        options = experiment.options
        settings |= {"ties": options.ties, "precision": options.precision, "seed": options.seed}
    return open_session(experiment, path, settings, **how)


def opened_and_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments that say how to open a session, and those that it begins with."""
    how = {name: value for name, value in given.items() if name in HOW_OPENED}
    return how, {SETTINGS.get(name, name): value for name, value in given.items() if name not in HOW_OPENED}
