"""Written by docs/stubs.py."""

import os
from collections.abc import Sequence
from typing import Any, Unpack

import polars as pl

from fathoms.base.choices import Correlation, Design, PrefixOrder, Ranges
from fathoms.experiment.reading import ReadingOptions
from fathoms.inference.names import Correction, Interval, Test
from fathoms.questions.audit.result import Audit
from fathoms.questions.check.analysis import Check
from fathoms.questions.diff.result import Diff
from fathoms.questions.doubt.result import Doubt
from fathoms.questions.gate.result import Gate
from fathoms.questions.labels.result import LabelAudit
from fathoms.questions.plan.result import Plan
from fathoms.questions.ties.effects import TieReport
from fathoms.reporting.report import Report

def audit(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = None,
    *,
    depth: int | None = None,
    new_runs: bool = False,
    **options: Unpack[ReadingOptions],
) -> Audit: ...
def check(
    qrels: Any,
    runs: Any,
    *,
    corpus_ids: str | os.PathLike[str] | None = None,
    train_qrels: Any = None,
    topic_texts: Any = None,
    **options: Unpack[ReadingOptions],
) -> Check: ...
def compare(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = "AP",
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    draws: int | None = None,
    labels: Any = (),
    to_depth: int | None = None,
    level: float = 0.95,
    explain: bool = False,
    ranges: Ranges = "auto",
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def confidence(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = ("P@10", "RBP(p=0.8)", "AP"),
    method: str = "calibrated",
    *,
    draws: int = 1000,
    labels: Any = (),
    to_depth: int | None = None,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def depth(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = ("nDCG",),
    depths: Any = range(1, 51),
    *,
    correlation: Correlation = "tau",
    reference: int | None = None,
    alpha: float = 0.05,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def diff(
    a: Any,
    b: Any,
    qrels: Any = None,
    measures: Sequence[Any] | Any = None,
    *,
    depth: int = 10,
    p: float = 0.9,
    **options: Unpack[ReadingOptions],
) -> Diff: ...
def doubt(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = ("nDCG@10",),
    *,
    of: Sequence[str] = (),
    draws: int | None = None,
    labels: Any = (),
    to_depth: int | None = None,
    level: float = 0.95,
    cost_topic: float | None = None,
    cost_judgment: float = 1.0,
    **options: Unpack[ReadingOptions],
) -> Doubt: ...
def evaluate(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR"),
    *,
    by_topic: bool = False,
    interval: Interval = "t",
    level: float = 0.95,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def evaluate_depths(
    qrels: Any,
    runs: Any,
    measure: Any,
    depths: Any,
    *,
    by_topic: bool = False,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def gate(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measures: Sequence[Any] | Any = ("nDCG@10",),
    *,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    draws: int | None = None,
    sequence: str | os.PathLike[str] | None = None,
    looks: int = 52,
    labels: Any = (),
    to_depth: int | None = None,
    **options: Unpack[ReadingOptions],
) -> Gate: ...
def labels(
    qrels: Any,
    labels: Any,
    runs: Any = None,
    measures: Sequence[Any] | Any = ("nDCG@10", "AP"),
    *,
    rel: float = 1.0,
    label_rel: float | None = None,
    sampled: Any = None,
    docs: str | os.PathLike[str] | None = None,
    min_kappa: float | None = None,
    min_labels: int | None = None,
    max_bias: float | None = None,
    max_circularity: float | None = None,
    **options: Unpack[ReadingOptions],
) -> LabelAudit: ...
def plan(
    qrels: Any = None,
    runs: Any = None,
    measures: Sequence[Any] | Any = None,
    *,
    min_difference: float = 0.05,
    power: float = 0.8,
    alpha: float = 0.05,
    systems: int | None = None,
    n_topics: int | None = None,
    variance: float | None = None,
    system_variance: float | None = None,
    from_scores: Any = None,
    interval_width: float | None = None,
    epsilon: float = 0.05,
    depth: int | None = None,
    likely: bool = False,
    level: float = 0.95,
    confidence: float = 0.95,
    **options: Unpack[ReadingOptions],
) -> Plan: ...
def pool(
    runs: Any,
    qrels: Any = None,
    *,
    depth: int | None = None,
    budget: int | None = None,
    per_topic: bool = False,
    prefix_order: PrefixOrder = "file",
    missing: bool = False,
    sample: int | None = None,
    design: Design | None = None,
    labels: Any = (),
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def predict(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = ("P@10", "RBP(p=0.8)", "AP"),
    method: str | Sequence[str] = "calibrated",
    *,
    by_topic: bool = False,
    depth: int | None = None,
    constants: Sequence[Any] | None = None,
    labels: Any = (),
    to_depth: int | None = None,
    draws: int = 200,
    level: float = 0.95,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def probabilities(
    qrels: Any,
    runs: Any,
    method: str = "fusion",
    *,
    labels: Any = (),
    to_depth: int | None = None,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def rank(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = "AP",
    *,
    alpha: float = 0.05,
    draws: int | None = None,
    labels: Any = (),
    to_depth: int | None = None,
    level: float = 0.95,
    ranges: Ranges = "auto",
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame: ...
def report(
    qrels: Any,
    runs: Any,
    path: str | os.PathLike[str],
    measures: Sequence[Any] | Any = ("AP", "nDCG@10", "RBP(p=0.8)"),
    *,
    alpha: float = 0.05,
    labels: Any = (),
    to_depth: int | None = None,
    level: float = 0.95,
    diff: Sequence[str] | None = None,
    docs: str | os.PathLike[str] | None = None,
    topic_texts: str | os.PathLike[str] | None = None,
    **options: Unpack[ReadingOptions],
) -> Report: ...
def ties(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR"),
    *,
    depth: int | None = None,
    **options: Unpack[ReadingOptions],
) -> TieReport: ...
