"""For test suites of search systems: a change that makes results worse fails a test."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from fathoms.api import two_runs
from fathoms.base import choices
from fathoms.base.choices import checked
from fathoms.experiment.reading import ReadingOptions
from fathoms.inference.names import GATE_MEASURES, GATE_RUNS

if TYPE_CHECKING:
    from fathoms.questions.gate.result import Gate

UNSURE = ("fail", "warn", "pass")


def assert_no_regression(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measures: Sequence[Any] | Any = GATE_MEASURES,
    *,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    unsure: str = "fail",
    **options: Unpack[ReadingOptions],
) -> Gate:
    """Fail a test unless the candidate passes the gate, as `fathoms gate` does.

    `unsure` says what becomes of a gate that cannot tell: it fails the test, warns, or passes. Judgments and runs are
    files, frames or dicts; `options` are those of `Experiment`, such as `topic_groups`.

    >>> from fathoms.testing import assert_no_regression
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 1}}
    >>> run = {"1": {"a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}}
    >>> assert_no_regression(qrels, run, run).outcome
    'passes'
    """
    from fathoms.api import Experiment

    checked("unsure", choices.one_of, UNSURE, unsure)
    experiment = Experiment(qrels, two_runs(baseline, candidate, GATE_RUNS), **options)
    gate = experiment.gate(measures, max_drop=max_drop, alpha=alpha)
    findings = "\n".join(gate.findings)
    if gate.outcome == "fails" or (gate.outcome == "cannot tell" and unsure == "fail"):
        hint = "" if gate.outcome == "fails" else "\n(unsure='warn' lets a gate that cannot tell pass, with a warning)"
        raise AssertionError(f"{findings}{hint}")
    if gate.outcome == "cannot tell" and unsure == "warn":
        warnings.warn(findings, stacklevel=2)
    return gate
