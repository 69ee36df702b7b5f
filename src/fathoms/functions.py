"""Functions for a single call: each says what its judgments and runs are; the rest is the question's own.

`docs/stubs.py` writes their whole signatures to `functions.pyi`, for editors and type checkers.
"""

from __future__ import annotations

import os
from typing import Any

from fathoms.api import Experiment, Sources, single_call, two_runs
from fathoms.inference.names import GATE_RUNS


@single_call(Experiment.evaluate, frame=True, without=("scores_only", "resume"), memory_mb=0)
def evaluate(qrels: Any, runs: Any) -> Sources:
    """Score runs against judgments, each value with the range it could have.

    Returns a polars frame with columns run, topic, measure, score, low, high, tie_low, tie_high, tie_expected, ci_low,
    ci_high; the row of topic `all` is the mean over topics, ci_low and ci_high its interval over topics. `options` are
    those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}}
    >>> run = {"1": {"a": 3.0, "x": 2.0, "c": 1.0}}
    >>> fm.evaluate(qrels, run, ["P@2"]).row(0)
    ('run', 'all', 'P@2', 0.5, 0.5, 1.0, 0.5, 0.5, 0.5, None, None)
    """
    return qrels, runs


@single_call(Experiment.evaluate_depths, frame=True, memory_mb=0)
def evaluate_depths(qrels: Any, runs: Any) -> Sources:
    """Scores of one measure, given without cut-off, at many depths: columns run, topic, measure, depth, score.

    >>> import fathoms as fm
    >>> fm.evaluate_depths({"1": {"a": 1}}, {"1": {"x": 2.0, "a": 1.0}}, "RR", [1, 2])["score"].to_list()
    [0.0, 0.5]
    """
    return qrels, runs


@single_call(Experiment.compare, frame=True)
def compare(qrels: Any, runs: Any) -> Sources:
    """Compare all pairs of runs, or all with a baseline: one row per pair and measure.

    The columns are run_a, run_b, measure; diff (of the means), diff_low and diff_high (over every way of judging the
    documents of the two runs); ci_low, ci_high, p, p_corrected, effect (mean over standard deviation); estimate,
    likely_low, likely_high, p_better, p_holds (from `draws` of the unjudged documents, with `labels`, `to_depth` and
    `level` as in `fm.predict`); fragility_low, fragility_high (how many documents bring the difference to 0; with
    `explain`); reversible; verdict (`certain`, `supported`, `fragile`, `open` or `tie`) and reason. Ranges that take
    long to make are left out unless `ranges="all"`. `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    >>> runs = {"good": {"1": {"a": 2.0}, "2": {"c": 2.0}}, "bad": {"1": {"b": 2.0}, "2": {"d": 2.0}}}
    >>> fm.compare(qrels, runs, "P@1").select("diff", "reversible", "verdict").row(0)
    (1.0, 'no', 'open')
    """
    return qrels, runs


@single_call(Experiment.doubt)
def doubt(qrels: Any, runs: Any) -> Sources:
    """How sure is a run's score, or the difference of two, and what would make it surer? As `Experiment.doubt`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}, "3": {"a": 1, "b": 0}}
    >>> run = {"1": {"a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}, "3": {"b": 2.0}}
    >>> fm.doubt(qrels, run, "RR").budgets[0].shares[0].name
    'topics'
    """
    return qrels, runs


@single_call(Experiment.gate)
def gate(qrels: Any, baseline: Any, candidate: Any) -> Sources:
    """May the candidate replace the baseline? As `Experiment.gate`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
    >>> run = {"1": {"a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}}
    >>> fm.gate(qrels, run, run).outcome
    'passes'
    """
    return qrels, two_runs(baseline, candidate, GATE_RUNS)


@single_call(Experiment.diff, without=("a", "b"))
def diff(a: Any, b: Any, qrels: Any = None) -> Sources:
    """What changed from run `a` to run `b`? Judgments are not needed.

    `a` and `b` are files, frames, dicts or runs; the other arguments are those of `Experiment.diff`, `options` those of
    `Experiment`. The result has polars frames (`frame`, `scores`, `documents`), sentences and a chart.

    >>> import fathoms as fm
    >>> old, new = {"1": {"x": 3.0, "y": 2.0, "z": 1.0}}, {"1": {"y": 3.0, "z": 2.0, "w": 1.0}}
    >>> diff = fm.diff(old, new, depth=2)
    >>> diff.frame.select("topic", "overlap", "gained", "lost").row(0)
    ('1', 0.5, 1, 1)
    """
    return qrels, two_runs(a, b, "AB")


@single_call(Experiment.rank, frame=True)
def rank(qrels: Any, runs: Any) -> Sources:
    """The leaderboard: one row per run and measure, best first, with the ranks that each run could have.

    The columns are run, measure, score, rank (1 + the number of better runs); rank_low, rank_high (what the ranges of
    `fm.compare`, pair by pair, leave over judging and ties, with `ranges` as there); estimate, likely_rank,
    likely_rank_low, likely_rank_high (from `draws` of the unjudged documents, with `labels`, `to_depth` and `level` as
    in `fm.predict`); rank_ci_low, rank_ci_high (confidence sets over topics that hold for all runs at once, at
    `alpha`); group (runs that topics do not tell apart share a letter); own_rank_low, own_rank_high (the confidence set
    of each run alone). `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    >>> runs = {"good": {"1": {"a": 2.0}, "2": {"c": 2.0}}, "bad": {"1": {"b": 2.0}, "2": {"x": 2.0}}}
    >>> fm.rank(qrels, runs, "P@1", draws=0).select("run", "rank", "rank_low", "rank_high").rows()
    [('good', 1, 1, 1), ('bad', 2, 2, 2)]
    """
    return qrels, runs


@single_call(Experiment.predict, frame=True)
def predict(qrels: Any, runs: Any) -> Sources:
    """Estimate what scores will be once the unjudged documents are judged: one row per run, measure and method.

    The default, `calibrated`, has intervals in likely_low and likely_high: at `level`, for all documents of the runs
    judged down to rank `to_depth`. Other methods are points: one of RM's predictors (simplistic, background,
    interpolated, smoothed; `constants` sets their C and E), one of LMC-gain's models (static, constant, linear, zipf,
    weibull, hybrid; fitted at `depth`), a model of each document's probability of relevance (experts: RTC's; fusion:
    ours), or `all`. The models and the default take `labels` and `to_depth`. `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> frame = fm.predict({"1": {"a": 1, "b": 0}}, {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, "P@3", "background")
    >>> round(frame["estimate"][0], 4)
    0.3433
    """
    return qrels, runs


@single_call(Experiment.probabilities, frame=True)
def probabilities(qrels: Any, runs: Any) -> Sources:
    """How likely is each document of the runs to be relevant? One row per topic and document.

    Columns: topic, document, probability (0 or 1 where judged), judged (0 or 1). `method` is `fusion` (our model) or
    `experts` (Carterette 2007, "Robust test collections"); `labels` are further files, frames or dicts of numbers
    for documents, such as labels of a language model. With `to_depth` unjudged documents below that rank in every run
    have probability 0: nobody is going to judge them. `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> runs = {"x": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, "y": {"1": {"c": 3.0, "a": 2.0, "d": 1.0}}}
    >>> fm.probabilities({"1": {"a": 1, "b": 0}}, runs)["judged"].to_list()
    [1.0, 1.0, 0.0, 0.0]
    """
    return qrels, runs


@single_call(Experiment.confidence, frame=True)
def confidence(qrels: Any, runs: Any) -> Sources:
    """How sure is it, for each pair of runs, that A is better than B once everything is judged?

    Columns: run_a, run_b, measure, diff (expected difference of the means over topics), sd, p_better (probability that
    A is better) and mc_error (standard error of p_better from the number of draws). `labels` and `to_depth` are those
    of `fm.predict`, `options` those of `Experiment`. The methods experts and fusion know only their own uncertainty.

    >>> import fathoms as fm
    >>> runs = {"x": {"1": {"a": 3.0, "b": 2.0}}, "y": {"1": {"b": 3.0, "a": 2.0}}}
    >>> fm.confidence({"1": {"a": 1, "b": 0}}, runs, "P@1")["p_better"].to_list()
    [1.0]
    """
    return qrels, runs


@single_call(Experiment.ties)
def ties(qrels: Any, runs: Any) -> Sources:
    """Which runs have ties and contradictions, and what they could change.

    The report has four polars frames: `anomalies` of each run, `scores` under each rule and at the limits, `pairs` of
    runs and whether the rule decides who is ahead, and the `places` each run takes and could take. `options` are those
    of `Experiment`.

    >>> import fathoms as fm
    >>> report = fm.ties({"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 1.0}}, "RR")
    >>> report.scores.select("trec", "expected", "pessimistic", "optimistic").row(0)
    (0.5, 0.75, 0.5, 1.0)
    """
    return qrels, runs


@single_call(Experiment.audit)
def audit(qrels: Any, runs: Any) -> Sources:
    """Can this collection be trusted, and reused for systems that did not contribute to its pool?

    `pooled` names the contributing runs (default: all), `groups` gives runs their teams, `depth` is that of the pool
    (default: measured). Measures default to AP(variant=b), nDCG, RBP(p=0.8) and RBP(p=0.95) at that depth. `options`
    are those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 1, "c": 0}}
    >>> runs = {"A": {"1": {"a": 2.0, "b": 1.0}}, "B": {"1": {"a": 2.0, "c": 1.0}}}
    >>> audit = fm.audit(qrels, runs, ["P@2"], pooled=["A", "B"], depth=2)
    >>> [(left_out.run, left_out.full, left_out.without) for left_out in audit.run_out]
    [('A', 1.0, 0.5), ('B', 0.5, 0.5)]
    """
    return qrels, runs


@single_call(Experiment.labels)
def labels(qrels: Any, labels: Any, runs: Any = None) -> Sources:
    """Can labels of language models, classifiers or other people stand in for human judgments?

    `labels`, `rel` and `label_rel` are those of `Experiment.labels`. The result has a polars frame of all figures,
    `sources` with them as attributes, sentences and charts. `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> human = {"1": {"a": 1, "b": 0, "c": 1, "d": 0}, "2": {"a": 1, "b": 0, "c": 0}}
    >>> model = {"1": {"a": 1, "b": 0, "c": 0, "d": 0}, "2": {"a": 1, "b": 1, "c": 0}}
    >>> figures = fm.labels(human, {"model": model}).source("model").figures
    >>> round(figures["kappa"].value, 4), round(figures["sensitivity"].value, 4)
    (0.4167, 0.6667)
    """
    return qrels, runs


@single_call(Experiment.plan)
def plan(qrels: Any = None, runs: Any = None) -> Sources:
    """How many topics and judgments will an experiment need? The arguments are those of `Experiment.plan`.

    The result has a polars frame of all figures, `topics` and `depths` with them as attributes, sentences and charts.
    `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> fm.plan(variance=0.03, min_difference=0.05).topics[0].answer("t").topics
    97
    >>> fm.plan(measures="RBP(p=0.8)", epsilon=0.05).depths[0].enough.depth
    14
    """
    return qrels, runs


@single_call(Experiment.check)
def check(qrels: Any, runs: Any) -> Sources:
    """Is every file sound? Findings by file: errors, warnings and notes. `corpus_ids` and `train_qrels` are those of
    `Experiment.check`, `options` those of `Experiment`.

    >>> import fathoms as fm
    >>> check = fm.check({"1": {"a": 1}}, {"x": {"1": {"a": 2.0, "b": 1.0}}})
    >>> [finding.level for finding in check.findings]
    ['note', 'note']
    """
    return qrels, runs


@single_call(Experiment.pool, frame=True)
def pool(runs: Any, qrels: Any = None) -> Sources:
    """The documents to judge for a pool: columns topic, document, depth; or for a `sample` of so many documents all of
    the pool with topic, document, stratum, probability, sampled.

    >>> import fathoms as fm
    >>> fm.pool({"x": {"1": {"a": 2.0, "b": 1.0}}, "y": {"1": {"b": 2.0, "c": 1.0}}}, depth=1)["document"].to_list()
    ['a', 'b']
    """
    return qrels, runs


@single_call(Experiment.depth, frame=True)
def depth(qrels: Any, runs: Any) -> Sources:
    """How much depends on the depth of evaluation? One row per measure and depth.

    Columns: measure, depth, discrimination, median_p, coverage, inversion, tau, pearson. Measures are given without
    cut-off. `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "c": 1}}
    >>> runs = {
    ...     "x": {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "c": 1.0}},
    ...     "y": {"1": {"b": 2.0, "a": 1.0}, "2": {"b": 2.0, "c": 1.0}},
    ... }
    >>> fm.depth(qrels, runs, "P", [1, 2]).select("depth", "tau").rows()
    [(1, 1.0), (2, 1.0)]
    """
    return qrels, runs


@single_call(Experiment.report, without=("command",))
def report(qrels: Any, runs: Any, path: str | os.PathLike[str]) -> Sources:
    """All analyses on one HTML page, written to `path`. `options` are those of `Experiment`, the other arguments those
    of `Experiment.report`."""
    return qrels, runs
