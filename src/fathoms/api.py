"""The nouns and verbs that users meet: `Experiment` with its methods, `Evaluator`, and functions for a single call.

This module is above all packages but `cli`: a method here calls one function of the package that does the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from fathoms import choices
from fathoms.choices import check_flags, checked
from fathoms.comparison.names import GATE_MEASURES, GATE_RUNS, LABEL_MEASURES
from fathoms.errors import FathomsError, warn
from fathoms.estimate.names import DEFAULT, DRAWS, LEVEL
from fathoms.estimate.names import MEASURES as PREDICTED
from fathoms.experiment.base import BaseExperiment, ReadingOptions
from fathoms.experiment.evaluate import DEFAULT_MEASURES, Evaluation, run_evaluation
from fathoms.experiment.result import Result

if TYPE_CHECKING:
    import polars as pl

    from fathoms.comparison.audit_result import Audit
    from fathoms.comparison.compare import Comparison
    from fathoms.comparison.correlation import Correlation
    from fathoms.comparison.depth import DepthAnalysis
    from fathoms.comparison.diff import Diff
    from fathoms.comparison.gate_result import Gate
    from fathoms.comparison.label_result import LabelAudit
    from fathoms.comparison.plan_result import Plan
    from fathoms.comparison.rank import Ranking
    from fathoms.comparison.significance import Correction, Test
    from fathoms.comparison.tie_effects import TieReport
    from fathoms.estimate.confidence import Confidence
    from fathoms.estimate.drawing import SampledDocuments
    from fathoms.estimate.predict import Prediction
    from fathoms.estimate.probabilities import RelevanceProbabilities
    from fathoms.estimate.sampled_prediction import SampledPrediction
    from fathoms.estimate.tune import TunedConstants
    from fathoms.evidence.pool import PrefixOrder
    from fathoms.experiment.check import Check
    from fathoms.experiment.depths import DepthTable
    from fathoms.experiment.pooling import PooledDocuments
    from fathoms.judging.session import Session
    from fathoms.reporting.report import Report

Found = TypeVar("Found", bound=Result)
Progress = Callable[[str], None]


def nothing(done: str) -> None:
    """Progress that nobody watches."""


class Experiment(BaseExperiment):
    """Judgments, runs and how to read them, said once; every analysis is a method.

    Each run is read and ranked once for all of them, but for `check`, which looks at the files themselves. Results
    have `.frame` (polars), `.to_pandas()`, `.sentences`, `.chart()` (altair), `.notes`, and a view of their own in
    notebooks.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}}
    >>> runs = {"x": {"1": {"a": 3.0, "u": 2.0, "c": 1.0}}, "y": {"1": {"b": 3.0, "a": 2.0, "v": 1.0}}}
    >>> exp = fm.Experiment(qrels, runs)
    >>> exp.evaluate("P@2").frame["score"].to_list()
    [0.5, 0.5]
    """

    warn = True  # whether notes are raised as warnings; the command line prints them itself

    def evaluate(
        self,
        measures: Sequence[Any] | Any = DEFAULT_MEASURES,
        *,
        by_topic: bool = False,
        scores_only: bool = False,
        resume: str | os.PathLike[str] | None = None,
        progress: Progress = nothing,
    ) -> Evaluation:
        """Score all runs, each value with the range it could have."""
        check_flags(by_topic=by_topic, scores_only=scores_only)
        return self._noted(
            run_evaluation(
                self,
                self.measures(measures),
                by_topic=by_topic,
                scores_only=scores_only,
                resume=None if resume is None else Path(resume),
                progress=progress,
            )
        )

    def evaluate_depths(self, measure: Any, depths: Any, *, by_topic: bool = False) -> DepthTable:
        """Scores of one measure, given without cut-off, at many depths."""
        from fathoms.experiment.depths import run_depth_table

        check_flags(by_topic=by_topic)
        return self._noted(run_depth_table(self, measure, depths, by_topic=by_topic))

    def compare(
        self,
        measures: Sequence[Any] | Any = "AP",
        *,
        test: Test = "t",
        correction: Correction = "holm",
        alpha: float = 0.05,
        baseline: str | None = None,
        draws: int | None = None,
        labels: Any = (),
        to_depth: int | None = None,
        level: float = LEVEL,
        explain: bool = False,
        progress: Progress = nothing,
    ) -> Comparison:
        """Is A better than B? All pairs of runs, or each run against the baseline.

        `draws` is how often the unjudged documents are drawn for the estimates (0: no estimates), which `labels`,
        `to_depth` and `level` are for, as in `predict`; `explain` adds fragility, and in `explained` the topics and
        documents that decide.
        """
        from fathoms.comparison.compare import run_comparison

        check_flags(explain=explain)
        return self._noted(
            run_comparison(
                self,
                self.measures(measures, of_pairs=True),
                test=test,
                correction=correction,
                alpha=alpha,
                baseline=baseline,
                draws=draws,
                labels=each_source(labels),
                to_depth=to_depth,
                level=level,
                explain=explain,
                progress=progress,
            )
        )

    def gate(
        self,
        measures: Sequence[Any] | Any = GATE_MEASURES,
        *,
        max_drop: float = 0.01,
        alpha: float = 0.05,
        draws: int | None = None,
        labels: Any = (),
        to_depth: int | None = None,
        progress: Progress = nothing,
    ) -> Gate:
        """May the second run, the candidate, replace the first, the baseline? Passes, fails or cannot tell.

        It passes if with confidence 1 - `alpha` no measure drops by more than `max_drop`, and fails if a drop is
        significant; topics and unjudged documents both count as doubt. `draws`, `labels` and `to_depth` are those of
        `compare`, for the estimates. The result has `.outcome`, `.exit_code`, `.to_judge`, `.markdown()` and
        `.junit()`.
        """
        from fathoms.comparison.gate import run_gate

        return self._noted(
            run_gate(
                self,
                self.measures(measures, of_pairs=True),
                max_drop=max_drop,
                alpha=alpha,
                draws=draws,
                labels=each_source(labels),
                to_depth=to_depth,
                progress=progress,
            )
        )

    def diff(
        self,
        a: str | None = None,
        b: str | None = None,
        measures: Sequence[Any] | Any = None,
        *,
        depth: int = 10,
        p: float = 0.9,
    ) -> Diff:
        """What changed from run `a` to run `b`? Judgments are not needed, and neither are names where there are two
        runs.

        `depth` is how many first places are compared, `p` the persistence of RBO. With judgments the result's
        `.scores` say what the change did by each measure (nDCG and P at `depth` unless given), B minus A;
        `.documents` and `.topic_frame(topic)` have the documents side by side.
        """
        from fathoms.comparison.diff import run_diff

        return self._noted(run_diff(self, a, b, measures, depth=depth, p=p))

    def rank(
        self,
        measures: Sequence[Any] | Any = "AP",
        *,
        alpha: float = 0.05,
        draws: int | None = None,
        labels: Any = (),
        to_depth: int | None = None,
        level: float = LEVEL,
        progress: Progress = nothing,
    ) -> Ranking:
        """The leaderboard: each run's rank, and the ranks it could have over judging, ties and topics.

        `alpha` is for the confidence sets over topics; `draws` is how often the unjudged documents are drawn for the
        likely ranks (0: none), which `labels`, `to_depth` and `level` are for, as in `predict`. The result's `better`
        says for each measure which runs topics show to be better than which.
        """
        from fathoms.comparison.rank import ranked_measures, run_ranking

        return self._noted(
            run_ranking(
                self,
                ranked_measures(self, measures),
                alpha=alpha,
                draws=draws,
                labels=each_source(labels),
                to_depth=to_depth,
                level=level,
                progress=progress,
            )
        )

    def predict(
        self,
        measures: Sequence[Any] | Any = PREDICTED,
        method: str | Sequence[str] = DEFAULT,
        *,
        by_topic: bool = False,
        depth: int | None = None,
        constants: Sequence[Any] | None = None,
        labels: Any = (),
        to_depth: int | None = None,
        draws: int = DRAWS,
        level: float = LEVEL,
        progress: Progress = nothing,
    ) -> Prediction:
        """Estimate what scores will be once the unjudged documents are judged, down to rank `to_depth` of every run.

        The default method has intervals (`likely_low`, `likely_high`) at `level`, from `draws` of the grades of the
        unjudged documents, which `.draws(measure)` gives, and `.at_most(x)` the probability of a score up to x.
        """
        from fathoms.estimate.predict import chosen_methods, run_prediction
        from fathoms.estimate.predictors import given_constants

        check_flags(by_topic=by_topic)
        return self._noted(
            run_prediction(
                self,
                self.measures(measures),
                chosen_methods(method),
                by_topic=by_topic,
                depth=depth,
                constants=given_constants(constants),
                labels=each_source(labels),
                to_depth=to_depth,
                draws=draws,
                level=level,
                check_methods=method == "all",
                progress=progress,
            )
        )

    def predict_sampled(
        self,
        measures: Sequence[Any] | Any = PREDICTED,
        design: Any = "uniform",
        *,
        depth: int | None = None,
        labels: Any = (),
        by_topic: bool = False,
        level: float = LEVEL,
        progress: Progress = nothing,
    ) -> SampledPrediction:
        """Estimates from judgments that are a random sample, right whatever any model says.

        `design` says how they were drawn: `uniform` (all documents of the runs, down to rank `depth`, had the same
        chance in their topic), or a file with each document's probability or stratum, as `pool(sample=...)` writes it
        and `sample_eval` has it. The method `sampled` is the sample's own estimate, `assisted` uses predictions and
        `labels` as helpers.
        """
        from fathoms.estimate.sampled_prediction import sampled_prediction

        check_flags(by_topic=by_topic)
        return self._noted(
            sampled_prediction(
                self,
                self.measures(measures),
                design,
                depth=depth,
                assist=True,
                labels=each_source(labels),
                by_topic=by_topic,
                level=level,
                progress=progress,
            )
        )

    def tune(
        self,
        measures: Sequence[Any] | Any = PREDICTED,
        methods: str | Sequence[str] = "all",
        *,
        levels: Sequence[int] | str | None = None,
        left_out: bool = False,
        progress: Progress = nothing,
    ) -> TunedConstants:
        """Tune the constants of background, interpolated and smoothed: which do best on the contributing runs?

        Their scores are predicted from pools of shallower depths (`levels`; the pool's own halved again and again
        unless given) and compared with those under all judgments; `left_out` takes each run for one that did not
        contribute. The result's `best(measure).constants` are for `predict`.
        """
        from fathoms.estimate.tune import tune_predictors

        check_flags(left_out=left_out)
        return self._noted(
            tune_predictors(self, self.measures(measures), methods, levels=levels, left_out=left_out, progress=progress)
        )

    def probabilities(
        self, method: str = "fusion", *, labels: Any = (), to_depth: int | None = None
    ) -> RelevanceProbabilities:
        """How likely is each document of the runs to be relevant?"""
        from fathoms.estimate.probabilities import relevance_probabilities

        return self._noted(relevance_probabilities(self, method, each_source(labels), to_depth))

    def confidence(
        self,
        measures: Sequence[Any] | Any = PREDICTED,
        method: str = DEFAULT,
        *,
        draws: int = 1000,
        labels: Any = (),
        to_depth: int | None = None,
    ) -> Confidence:
        """How sure is it, for each pair of runs, that A is better than B once everything is judged?"""
        from fathoms.estimate.confidence import run_confidence

        return self._noted(
            run_confidence(
                self, self.measures(measures), method, draws=draws, labels=each_source(labels), to_depth=to_depth
            )
        )

    def depth(
        self,
        measures: Sequence[Any] | Any = ("nDCG",),
        depths: Any = range(1, 51),
        *,
        correlation: Correlation = "tau",
        reference: int | None = None,
        alpha: float = 0.05,
        progress: Progress = nothing,
    ) -> DepthAnalysis:
        """How much depends on the depth of evaluation? Measures are given without cut-off."""
        from fathoms.comparison.depth import run_depth_analysis

        return self._noted(
            run_depth_analysis(
                self, measures, depths, correlation=correlation, reference=reference, alpha=alpha, progress=progress
            )
        )

    def ties(
        self,
        measures: Sequence[Any] | Any = DEFAULT_MEASURES,
        *,
        depth: int | None = None,
        progress: Progress = nothing,
    ) -> TieReport:
        """Which runs have ties and contradictions, and what could they change?"""
        from fathoms.comparison.ties import run_tie_analysis

        return self._noted(run_tie_analysis(self, self.measures(measures), depth=depth, progress=progress))

    def audit(
        self,
        measures: Sequence[Any] | None = None,
        *,
        depth: int | None = None,
        progress: Progress = nothing,
    ) -> Audit:
        """Can this collection be trusted, and reused for systems that did not contribute to its pool?"""
        from fathoms.comparison.audit import run_audit

        return self._noted(run_audit(self, measures, depth=depth, progress=progress))

    def labels(
        self,
        labels: Any,
        measures: Sequence[Any] | Any = LABEL_MEASURES,
        *,
        rel: float = 1.0,
        label_rel: float | None = None,
        progress: Progress = nothing,
    ) -> LabelAudit:
        """Can labels of language models, classifiers or other people stand in for the human judgments?

        `labels` are files, folders, frames or dicts {topic: {document: value}}, or a dict of these by name. Documents
        of grade `rel` and above are relevant, and those with a label of `label_rel` and above; by default that is
        `rel`, or for scores the threshold that agrees best. An experiment without runs (`runs=None`) will do; runs add
        what labels do to their scores and order, and whether one of them looks as if the judge had reranked it.
        """
        from fathoms.comparison.label_audit import run_label_audit
        from fathoms.data.document_values import named_sources

        return self._noted(
            run_label_audit(self, named_sources(labels), measures, rel=rel, label_rel=label_rel, progress=progress)
        )

    def plan(
        self,
        measures: Sequence[Any] | Any | None = None,
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
        progress: Progress = nothing,
    ) -> Plan:
        """How many topics and judgments will an experiment need?

        Topics find a difference of `min_difference` with the asked `power` among `systems`; `n_topics` there are find
        which differences. Variances come from judgments and runs, from scores by topic (`from_scores`: files as for
        `fm.read_scores`, or such a frame), or are stated: `variance` of a difference, `system_variance` of one
        system's scores. A pool keeps the residual at `epsilon` or less; `depth` is that of one to be looked at, and
        `likely` adds likely intervals at `level`, and for how many pairs it is clear, with `confidence`, who is ahead.
        Judgments and runs may both be None.
        """
        from fathoms.comparison.plan import run_plan

        check_flags(likely=likely)
        return self._noted(
            run_plan(
                self,
                measures,
                min_difference=min_difference,
                power=power,
                alpha=alpha,
                systems=systems,
                n_topics=n_topics,
                variance=variance,
                system_variance=system_variance,
                from_scores=from_scores,
                interval_width=interval_width,
                epsilon=epsilon,
                depth=depth,
                likely=likely,
                level=level,
                confidence=confidence,
                progress=progress,
            )
        )

    def check(
        self,
        *,
        corpus_ids: str | os.PathLike[str] | None = None,
        train_qrels: Any = None,
        progress: Progress = nothing,
    ) -> Check:
        """Is every file sound? Errors, warnings and notes.

        `corpus_ids` names a file of the ids of all documents of the corpus, and `train_qrels` judgments that systems
        were trained on: what is not in the one, and what is in the other, is found too.
        """
        from fathoms.experiment.check import run_check

        return run_check(self, corpus_ids=corpus_ids, train_qrels=train_qrels, progress=progress)

    def pool(
        self,
        *,
        depth: int | None = None,
        budget: int | None = None,
        per_topic: bool = False,
        prefix_order: PrefixOrder = "file",
        sample: int | None = None,
        design: str | None = None,
        labels: Sequence[Any] = (),
    ) -> PooledDocuments | SampledDocuments:
        """The documents in the top `depth` of the contributing runs, or the first `budget` of them, to be judged.

        Where the experiment has judgments, the result's `.qrels` are those that such a pool would have had.

        With `sample`, so many documents drawn at random from that pool (from all documents without `depth`), in all or
        per topic. `design` is `uniform` (the default), `depth`, `score` or `probe`; `labels` help the last two. The
        result lists the whole pool: `.to_judge` are the documents drawn, `.design` is for estimates. Judged documents
        stay as they are.
        """
        check_flags(per_topic=per_topic)
        if sample is not None:
            if budget is not None:
                raise FathomsError("a sample takes a depth, and no budget")
            from fathoms.estimate.drawing import run_sample

            return run_sample(self, sample, design=design or "uniform", depth=depth, per_topic=per_topic, labels=labels)
        if design is not None or len(labels):
            raise FathomsError(f"{'labels' if design is None else 'design'}: is for a sample; say how many with sample")
        from fathoms.experiment.pooling import run_pool

        return run_pool(self, depth=depth, budget=budget, per_topic=per_topic, prefix_order=prefix_order)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        measures: Sequence[Any] | Any = None,
        *,
        alpha: float = 0.05,
        labels: Any = (),
        to_depth: int | None = None,
        level: float = LEVEL,
        diff: Sequence[str] | None = None,
        docs: str | os.PathLike[str] | None = None,
        topic_texts: str | os.PathLike[str] | None = None,
        command: str = "",
        progress: Progress = nothing,
    ) -> Report:
        """All of it on one page, written to `path` where one is given. `labels`, `to_depth` and `level` are for the
        estimates, as in `predict`. `diff` names two of the runs whose changes get a section, with words of `docs` and
        `topic_texts` where these are given."""
        from fathoms.data.files import check_writable
        from fathoms.reporting.report import DEFAULT_MEASURES, run_report

        if path is not None:
            check_writable(checked("path", choices.path, path))
        found = run_report(
            self,
            self.measures(measures or DEFAULT_MEASURES),
            alpha=alpha,
            labels=each_source(labels),
            to_depth=to_depth,
            level=level,
            diff=diff,
            docs=docs,
            topic_texts=topic_texts,
            command=command,
            progress=progress,
        )
        if path is not None:
            found.write(path)
        return self._noted(found)

    def judge(
        self,
        path: str | os.PathLike[str],
        *,
        resume: bool = False,
        measures: Sequence[Any] | None = None,
        labels: Any = (),
        strategy: str | None = None,
        confidence: float | None = None,
        depth: int | None = None,
        baseline: str | None = None,
        max_grade: int | None = None,
        rel: int | None = None,
        judge_twice: float | None = None,
        kappa_error: float | None = None,
        count_disagreement: bool | None = None,
        first: str | os.PathLike[str] | Iterable[tuple[str, str]] | None = None,
        stay: int | None = None,
        recall: float | None = None,
        sample: int | None = None,
        design: str | None = None,
        per_topic: bool = False,
    ) -> Session:
        """A judging session kept in the file `path`, a new one or one that goes on: `.next()` says which document to
        judge, `.grade(...)` takes the answer, which is on disk when it returns.

        `measures` are those that decide, AP by default; a pair is settled when it is by all of them. `labels` are files
        or tables of labels or scores that say which documents may be relevant.
        `confidence` settles a pair, `judge_twice` is the share of documents that two people judge; with `kappa_error`
        in its place they judge as many as it takes to know kappa to that error, and with `count_disagreement` a pair is
        settled only if another assessor's judgments would settle it too. `first` names the documents to judge before
        those that the strategy chooses: a file of lines `topic document`, or pairs. `stay` is how many documents of a
        topic come in a row, `recall` the share of the relevant documents to find with the strategy find-all. With
        `sample` so many documents (of each topic, if `per_topic`) are drawn at random by a `design`, as `pool` does it,
        and nothing else is judged. `.batch(n)` are the next n documents. What is None is as `fathoms judge` has it by
        default, or as the session was begun with.
        """
        from fathoms.judging.opening import open_session

        check_flags(resume=resume, per_topic=per_topic)
        wholes = {"depth": depth, "max_grade": max_grade, "rel": rel, "stay": stay}
        settings: dict[str, Any] = {
            "measures": None if measures is None else tuple(one.name for one in self.measures(measures)),
            "strategy": strategy,
            "until": confidence,
            "baseline": baseline,
            "double": judge_twice,
            "kappa_error": None if kappa_error is None else checked("kappa_error", choices.share, kappa_error),
            "count_disagreement": count_disagreement,
            "recall": recall,
            **{
                name: None if value is None else checked(name, choices.whole_number, value)
                for name, value in wholes.items()
            },
        }
        if not resume:
            options = self.options
            settings |= {"ties": options.ties, "precision": options.precision, "seed": options.seed}
        return open_session(
            self,
            Path(path),
            settings,
            resume=resume,
            first=first,
            labels=each_source(labels),
            sample=sample,
            design=design,
            per_topic=per_topic,
        )

    def _noted(self, result: Found) -> Found:
        if self.warn:
            for note in dict.fromkeys([*result.notes, *self.notes]):
                warn(note)
        return result


# -- for a single call ----------------------------------------------------------------------------------------------


def _experiment(qrels: Any, runs: Any, options: ReadingOptions, **more: Any) -> Experiment:
    """An experiment with the options of a call, of which a misspelt one is named."""
    from difflib import get_close_matches

    known = [*ReadingOptions.__annotations__]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            raise TypeError(f"unknown argument {name!r}; {hint}")
    return Experiment(qrels, runs, **more, **options)


def _once(qrels: Any, runs: Any, options: ReadingOptions) -> Experiment:
    """An experiment of which one method is called, so that nothing need stay in memory."""
    return _experiment(qrels, runs, options, memory_mb=0)


def _labels(labels: Any, evidence: Any) -> Sequence[Any]:
    """`evidence` is what `labels` was called; it goes in the next version."""
    if len(each_source(evidence)):
        warn("evidence= is now called labels=", DeprecationWarning)
    return [*each_source(labels), *each_source(evidence)]


def each_source(labels: Any) -> Sequence[Any]:
    """Several files, frames or dicts of labels, or a single one."""
    return labels if isinstance(labels, list | tuple) else [labels]


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = DEFAULT_MEASURES,
    *,
    by_topic: bool = False,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
    """Score runs against judgments, each value with the range it could have.

    Returns a polars frame with columns run, topic, measure, score, low, high, tie_low, tie_high, tie_expected;
    the row of topic `all` is the mean over topics. `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}}
    >>> run = {"1": {"a": 3.0, "x": 2.0, "c": 1.0}}
    >>> fm.evaluate(qrels, run, ["P@2"]).row(0)
    ('run', 'all', 'P@2', 0.5, 0.5, 1.0, 0.5, 0.5, 0.5)
    """
    return _once(qrels, runs, options).evaluate(measures, by_topic=by_topic).frame


def evaluate_depths(
    qrels: Any, runs: Any, measure: Any, depths: Any, *, by_topic: bool = False, **options: Unpack[ReadingOptions]
) -> pl.DataFrame:
    """Scores of one measure, given without cut-off, at many depths: columns run, topic, measure, depth, score.

    >>> import fathoms as fm
    >>> fm.evaluate_depths({"1": {"a": 1}}, {"1": {"x": 2.0, "a": 1.0}}, "RR", [1, 2])["score"].to_list()
    [0.0, 0.5]
    """
    return _once(qrels, runs, options).evaluate_depths(measure, depths, by_topic=by_topic).frame


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
    level: float = LEVEL,
    explain: bool = False,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
    """Compare all pairs of runs, or all with a baseline: one row per pair and measure.

    The columns are run_a, run_b, measure; diff (of the means), diff_low and diff_high (over every way of judging the
    documents of the two runs); ci_low, ci_high, p, p_corrected, effect (mean over standard deviation); estimate,
    likely_low, likely_high, p_better, p_holds (from `draws` of the unjudged documents, with `labels`, `to_depth` and
    `level` as in `fm.predict`); fragility_low, fragility_high (how many documents bring the difference to 0; with
    `explain`); reversible; verdict (`certain`, `supported`, `fragile`, `open` or `tie`) and reason. `options` are those
    of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    >>> runs = {"good": {"1": {"a": 2.0}, "2": {"c": 2.0}}, "bad": {"1": {"b": 2.0}, "2": {"d": 2.0}}}
    >>> fm.compare(qrels, runs, "P@1").select("diff", "reversible", "verdict").row(0)
    (1.0, 'no', 'open')
    """
    exp = _experiment(qrels, runs, options)
    how: Any = {"test": test, "correction": correction, "alpha": alpha, "baseline": baseline}
    drawn: Any = {"draws": draws, "labels": labels, "to_depth": to_depth, "level": level}
    return exp.compare(measures, **how, **drawn, explain=explain).frame


def gate(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measures: Sequence[Any] | Any = GATE_MEASURES,
    *,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    draws: int | None = None,
    labels: Any = (),
    to_depth: int | None = None,
    **options: Unpack[ReadingOptions],
) -> Gate:
    """May the candidate replace the baseline? As `Experiment.gate`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
    >>> run = {"1": {"a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}}
    >>> fm.gate(qrels, run, run).outcome
    'passes'
    """
    return _experiment(qrels, two_runs(baseline, candidate, GATE_RUNS), options).gate(
        measures, max_drop=max_drop, alpha=alpha, draws=draws, labels=labels, to_depth=to_depth
    )


def two_runs(a: Any, b: Any, names: Sequence[str]) -> Any:
    """Two runs in that order: files and runs by their own names, anything else, or one thing twice, by these."""
    if choices.is_path(a) and choices.is_path(b) and os.fspath(a) != os.fspath(b):
        return [a, b]
    own = [getattr(run, "name", None) for run in (a, b)]
    named = own if all(isinstance(name, str) for name in own) and own[0] != own[1] else names
    return dict(zip(named, (a, b), strict=True))


def diff(
    a: Any,
    b: Any,
    qrels: Any = None,
    measures: Sequence[Any] | Any = None,
    *,
    depth: int = 10,
    p: float = 0.9,
    **options: Unpack[ReadingOptions],
) -> Diff:
    """What changed from run `a` to run `b`? Judgments are not needed.

    `a` and `b` are files, frames, dicts or runs; the other arguments are those of `Experiment.diff`, `options` those of
    `Experiment`. The result has polars frames (`frame`, `scores`, `documents`), sentences and a chart.

    >>> import fathoms as fm
    >>> old, new = {"1": {"x": 3.0, "y": 2.0, "z": 1.0}}, {"1": {"y": 3.0, "z": 2.0, "w": 1.0}}
    >>> found = fm.diff(old, new, depth=2)
    >>> found.frame.select("topic", "overlap", "gained", "lost").row(0)
    ('1', 0.5, 1, 1)
    """
    return _experiment(qrels, two_runs(a, b, "AB"), options).diff(measures=measures, depth=depth, p=p)


def rank(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = "AP",
    *,
    alpha: float = 0.05,
    draws: int | None = None,
    labels: Any = (),
    to_depth: int | None = None,
    level: float = LEVEL,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
    """The leaderboard: one row per run and measure, best first, with the ranks that each run could have.

    The columns are run, measure, score, rank (1 + the number of better runs); rank_low, rank_high (over every way of
    judging the documents of all runs and every order of ties); estimate, likely_rank, likely_rank_low,
    likely_rank_high (from `draws` of the unjudged documents, with `labels`, `to_depth` and `level` as in
    `fm.predict`); rank_ci_low, rank_ci_high (simultaneous confidence sets over topics, at `alpha`) and group (runs that
    topics do not tell apart share a letter). `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    >>> runs = {"good": {"1": {"a": 2.0}, "2": {"c": 2.0}}, "bad": {"1": {"b": 2.0}, "2": {"x": 2.0}}}
    >>> fm.rank(qrels, runs, "P@1", draws=0).select("run", "rank", "rank_low", "rank_high").rows()
    [('good', 1, 1, 1), ('bad', 2, 2, 2)]
    """
    exp = _experiment(qrels, runs, options)
    return exp.rank(measures, alpha=alpha, draws=draws, labels=labels, to_depth=to_depth, level=level).frame


def predict(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = PREDICTED,
    method: str | Sequence[str] = DEFAULT,
    *,
    by_topic: bool = False,
    depth: int | None = None,
    constants: Sequence[Any] | None = None,
    labels: Any = (),
    to_depth: int | None = None,
    draws: int = DRAWS,
    level: float = LEVEL,
    evidence: Any = (),
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
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
    exp = _experiment(qrels, runs, options)
    return exp.predict(
        measures,
        method,
        by_topic=by_topic,
        depth=depth,
        constants=constants,
        labels=_labels(labels, evidence),
        to_depth=to_depth,
        draws=draws,
        level=level,
    ).frame


def probabilities(
    qrels: Any,
    runs: Any,
    method: str = "fusion",
    *,
    labels: Any = (),
    to_depth: int | None = None,
    evidence: Any = (),
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
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
    exp = _experiment(qrels, runs, options)
    return exp.probabilities(method, labels=_labels(labels, evidence), to_depth=to_depth).frame


def confidence(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = PREDICTED,
    method: str = DEFAULT,
    *,
    draws: int = 1000,
    labels: Any = (),
    to_depth: int | None = None,
    evidence: Any = (),
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
    """How sure is it, for each pair of runs, that A is better than B once everything is judged?

    Columns: run_a, run_b, measure, diff (expected difference of the means over topics), sd, p_better (probability that
    A is better) and mc_error (standard error of p_better from the number of draws). `labels` and `to_depth` are those
    of `fm.predict`, `options` those of `Experiment`. The methods experts and fusion know only their own uncertainty.

    >>> import fathoms as fm
    >>> runs = {"x": {"1": {"a": 3.0, "b": 2.0}}, "y": {"1": {"b": 3.0, "a": 2.0}}}
    >>> fm.confidence({"1": {"a": 1, "b": 0}}, runs, "P@1")["p_better"].to_list()
    [1.0]
    """
    exp = _experiment(qrels, runs, options)
    return exp.confidence(measures, method, draws=draws, labels=_labels(labels, evidence), to_depth=to_depth).frame


def ties(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = DEFAULT_MEASURES,
    *,
    depth: int | None = None,
    **options: Unpack[ReadingOptions],
) -> TieReport:
    """Which runs have ties and contradictions, and what they could change.

    The report has four polars frames: `anomalies` of each run, `scores` under each rule and at the limits, `pairs` of
    runs and whether the rule decides who is ahead, and the `places` each run takes and could take. `options` are those
    of `Experiment`.

    >>> import fathoms as fm
    >>> report = fm.ties({"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 1.0}}, "RR")
    >>> report.scores.select("trec", "expected", "pessimistic", "optimistic").row(0)
    (0.5, 0.75, 0.5, 1.0)
    """
    return _experiment(qrels, runs, options).ties(measures, depth=depth)


def audit(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | None = None,
    *,
    depth: int | None = None,
    **options: Unpack[ReadingOptions],
) -> Audit:
    """Can this collection be trusted, and reused for systems that did not contribute to its pool?

    `pooled` names the contributing runs (default: all), `groups` gives runs their teams, `depth` is that of the pool
    (default: measured). Measures default to AP(variant=b), nDCG, RBP(p=0.8) and RBP(p=0.95) at that depth. `options`
    are those of `Experiment`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 1, "c": 0}}
    >>> runs = {"A": {"1": {"a": 2.0, "b": 1.0}}, "B": {"1": {"a": 2.0, "c": 1.0}}}
    >>> found = fm.audit(qrels, runs, ["P@2"], pooled=["A", "B"], depth=2)
    >>> [(one.run, one.full, one.without) for one in found.run_out]
    [('A', 1.0, 0.5), ('B', 0.5, 0.5)]
    """
    return _experiment(qrels, runs, options).audit(measures, depth=depth)


def labels(
    qrels: Any,
    labels: Any,
    runs: Any = None,
    measures: Sequence[Any] | Any = LABEL_MEASURES,
    *,
    rel: float = 1.0,
    label_rel: float | None = None,
    **options: Unpack[ReadingOptions],
) -> LabelAudit:
    """Can labels of language models, classifiers or other people stand in for human judgments?

    `labels`, `rel` and `label_rel` are those of `Experiment.labels`. The result has a polars frame of all figures,
    `sources` with them as attributes, sentences and charts. `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> human = {"1": {"a": 1, "b": 0, "c": 1, "d": 0}, "2": {"a": 1, "b": 0, "c": 0}}
    >>> model = {"1": {"a": 1, "b": 0, "c": 0, "d": 0}, "2": {"a": 1, "b": 1, "c": 0}}
    >>> found = fm.labels(human, {"model": model}).source("model").figures
    >>> round(found["kappa"].value, 4), round(found["sensitivity"].value, 4)
    (0.4167, 0.6667)
    """
    return _experiment(qrels, runs, options).labels(labels, measures, rel=rel, label_rel=label_rel)


def plan(
    qrels: Any = None,
    runs: Any = None,
    measures: Sequence[Any] | Any | None = None,
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
) -> Plan:
    """How many topics and judgments will an experiment need? The arguments are those of `Experiment.plan`.

    The result has a polars frame of all figures, `topics` and `depths` with them as attributes, sentences and charts.
    `options` are those of `Experiment`.

    >>> import fathoms as fm
    >>> fm.plan(variance=0.03, min_difference=0.05).topics[0].answer("t").topics
    97
    >>> fm.plan(measures="RBP(p=0.8)", epsilon=0.05).depths[0].enough.depth
    14
    """
    return _experiment(qrels, runs, options).plan(
        measures,
        min_difference=min_difference,
        power=power,
        alpha=alpha,
        systems=systems,
        n_topics=n_topics,
        variance=variance,
        system_variance=system_variance,
        from_scores=from_scores,
        interval_width=interval_width,
        epsilon=epsilon,
        depth=depth,
        likely=likely,
        level=level,
        confidence=confidence,
    )


def check(
    qrels: Any,
    runs: Any,
    *,
    corpus_ids: str | os.PathLike[str] | None = None,
    train_qrels: Any = None,
    **options: Unpack[ReadingOptions],
) -> Check:
    """Is every file sound? Findings by file: errors, warnings and notes. `corpus_ids` and `train_qrels` are those of
    `Experiment.check`, `options` those of `Experiment`.

    >>> import fathoms as fm
    >>> found = fm.check({"1": {"a": 1}}, {"x": {"1": {"a": 2.0, "b": 1.0}}})
    >>> [finding.level for finding in found.findings]
    ['note', 'note']
    """
    return _experiment(qrels, runs, options).check(corpus_ids=corpus_ids, train_qrels=train_qrels)


def pool(
    runs: Any,
    qrels: Any = None,
    *,
    depth: int | None = None,
    budget: int | None = None,
    per_topic: bool = False,
    prefix_order: PrefixOrder = "file",
    sample: int | None = None,
    design: str | None = None,
    labels: Sequence[Any] = (),
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
    """The documents to judge for a pool: columns topic, document, depth; or for a `sample` of so many documents all of
    the pool with topic, document, stratum, probability, sampled.

    >>> import fathoms as fm
    >>> fm.pool({"x": {"1": {"a": 2.0, "b": 1.0}}, "y": {"1": {"b": 2.0, "c": 1.0}}}, depth=1)["document"].to_list()
    ['a', 'b']
    """
    exp = _experiment(qrels, runs, options)
    return exp.pool(
        depth=depth,
        budget=budget,
        per_topic=per_topic,
        prefix_order=prefix_order,
        sample=sample,
        design=design,
        labels=labels,
    ).frame


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
) -> pl.DataFrame:
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
    exp = _experiment(qrels, runs, options)
    return exp.depth(measures, depths, correlation=correlation, reference=reference, alpha=alpha).frame


def report(
    qrels: Any,
    runs: Any,
    path: str | os.PathLike[str],
    measures: Sequence[Any] | Any = None,
    *,
    alpha: float = 0.05,
    labels: Any = (),
    to_depth: int | None = None,
    level: float = LEVEL,
    diff: Sequence[str] | None = None,
    docs: str | os.PathLike[str] | None = None,
    topic_texts: str | os.PathLike[str] | None = None,
    **options: Unpack[ReadingOptions],
) -> Report:
    """All analyses on one HTML page, written to `path`. `options` are those of `Experiment`, the other arguments those
    of `Experiment.report`."""
    exp = _experiment(qrels, runs, options)
    words: Any = {"diff": diff, "docs": docs, "topic_texts": topic_texts}
    return exp.report(path, measures, alpha=alpha, labels=labels, to_depth=to_depth, level=level, **words)
