"""A judging session from an experiment: a new one, or one that goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fathoms import choices
from fathoms.comparison.compare import chosen_baseline
from fathoms.data.qrels import Qrels
from fathoms.errors import FathomsError, InputError
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.evidence.order import default_precision
from fathoms.experiment.base import BaseExperiment
from fathoms.judging.log import JudgingSettings, Log, check_new
from fathoms.judging.session import Session

FLAGS = {"precision": "score-precision", "until": "confidence", "double": "judge-twice"}  # not called as the setting is


def open_session(
    experiment: BaseExperiment,
    path: Path,
    asked: Mapping[str, Any],
    *,
    resume: bool = False,
    oracle: Qrels | None = None,
    first: Callable[[Candidates], None] = lambda found: None,
) -> Session:
    """The session in a file. `asked` are settings of `JudgingSettings`; on resuming they must be those it was begun
    with, but for the confidence. `oracle` knows all grades, and so the greatest one. `first` is called with the
    documents before there is a file, and may refuse them.
    """
    runs = experiment.runs
    if len(runs) < 2:
        raise FathomsError("judging is for telling systems apart, so it takes two runs or more; found one")
    asked = {name: value for name, value in asked.items() if value is not None}
    if "baseline" in asked:
        asked["baseline"] = chosen_baseline(asked["baseline"], list(runs))
    if not resume:
        choices.an_order(asked.get("ties", "trec"), "judge")
        check_new(path)
        qrels = experiment.qrels if experiment.has_qrels else None
        asked.setdefault("precision", default_precision(asked.get("ties", "trec")))
        greatest = max((known.max_grade for known in (qrels, oracle) if known is not None), default=1)
        asked.setdefault("max_grade", int(greatest))
        settings = JudgingSettings(**asked)
        found = _candidates(experiment, settings)
        first(found)
        return Session.begin(path, settings, found, qrels)
    log = Log.open(path)
    try:
        qrels = experiment.qrels if experiment.has_qrels else None
        settings = _as_begun(log.settings(), asked, path)
        found = _candidates(experiment, settings)
        first(found)
        return Session.resume(log, settings, found, qrels)
    except BaseException:
        log.close()
        raise


def _candidates(experiment: BaseExperiment, settings: JudgingSettings) -> Candidates:
    runs = {name: experiment.run(name) for name in experiment.runs}
    return candidates(runs, settings.depth, settings.ties, settings.precision)


def _as_begun(stored: JudgingSettings, asked: Mapping[str, Any], path: Path) -> JudgingSettings:
    """The settings a session was begun with; another one asked for is an error, but for the confidence."""
    for name, value in asked.items():
        then = getattr(stored, name)
        if name != "until" and value != then:
            flag = FLAGS.get(name, name.replace("_", "-"))
            raise InputError(
                f"was begun with --{flag} {then}, found {value}; leave the flag out, or begin another session with "
                "--session FILE",
                str(path),
            )
    return replace(stored, until=asked.get("until", stored.until))
