"""The questions: what each may be asked with, its text, and which function answers it.

A method here is the whole declaration of a question. `Experiment` has them as its methods; `functions.py` makes of them
functions for a single call, and the command line its flags with their checks, defaults and help. `fathoms.base.options`
says how. A flag is one line here, and a parameter of the function that answers.

Nothing heavy is imported here, so that `fathoms COMMAND --help` is quick.
"""

# No `annotations` from `__future__`: the command line looks at those of the methods.
# mypy: disable-error-code="empty-body"

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from fathoms.base import choices
from fathoms.base.errors import FathomsError
from fathoms.base.options import Option, answered_by
from fathoms.estimate import names as estimates
from fathoms.estimate.names import LEVEL
from fathoms.experiment.reading import WHAT_COUNTS, from_zero
from fathoms.inference.names import GATE_MEASURES, LABEL_MEASURES, Correction, Interval, Test
from fathoms.judging.strategy_names import DEFAULT as STRATEGY
from fathoms.judging.strategy_names import STRATEGIES, strategy_name

if TYPE_CHECKING:
    from fathoms.estimate.probabilities import RelevanceProbabilities
    from fathoms.estimate.sample_design import SampledDocuments
    from fathoms.experiment.depths import DepthTable
    from fathoms.experiment.pooling import PooledDocuments
    from fathoms.judging.session import Session
    from fathoms.questions.audit.result import Audit
    from fathoms.questions.check.analysis import Check
    from fathoms.questions.compare.result import Comparison
    from fathoms.questions.depth.analysis import DepthAnalysis
    from fathoms.questions.diff.result import Diff
    from fathoms.questions.doubt.result import Doubt
    from fathoms.questions.eval.analysis import Evaluation
    from fathoms.questions.gate.result import Gate
    from fathoms.questions.labels.result import LabelAudit
    from fathoms.questions.plan.result import Plan
    from fathoms.questions.predict.confidence import Confidence
    from fathoms.questions.predict.result import Prediction
    from fathoms.questions.predict.sampled_prediction import SampledPrediction
    from fathoms.questions.predict.tune import TunedConstants
    from fathoms.questions.rank.analysis import Ranking
    from fathoms.questions.ties.effects import TieReport
    from fathoms.reporting.report import Report

Progress = Callable[[str], None]
Measures = Sequence[Any] | Any
File = str | os.PathLike[str] | None
EVALUATED = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR")
REPORTED = ("AP", "nDCG@10", "RBP(p=0.8)")
SAMPLE = "a random sample"
INTERVALS = "intervals over topics"


def unwatched(done: str) -> None:
    """Progress that nobody watches."""


# -- arguments of several questions ---------------------------------------------------------------------------------


def each_source(experiment: object, labels: Any) -> Sequence[Any]:
    """Several files, frames or dicts of labels, or a single one."""
    return labels if isinstance(labels, list | tuple) else [labels]


class Measuring(Protocol):
    """What makes measures of their names."""

    def measures(self, measures: Measures, *, of_pairs: bool = False) -> Any: ...


def prepared(experiment: Measuring, measures: Measures) -> Any:
    return experiment.measures(measures)


def prepared_for_pairs(experiment: Measuring, measures: Measures) -> Any:
    return experiment.measures(measures, of_pairs=True)


def measures_option(which: str = "such as AP, nDCG@10 or 'RBP(p=0.8)'", prepare: Any = None) -> Option:
    return Option(f"{which}; may be repeated", "MEASURE", flags=("-m", "--measure"), many=True, prepare=prepare)


GivenMeasures = Annotated[Measures, measures_option()]
OfRuns = Annotated[Measures, measures_option(prepare=prepared)]
OfPairs = Annotated[Measures, measures_option(prepare=prepared_for_pairs)]
Alpha = Annotated[float, Option("significance level", "A", choices.share)]
ByTopic = Annotated[bool, Option("a row for each topic too", flags=("-q", "--by-topic"))]
Labels = Annotated[
    Any,
    Option(
        "labels of a language model or scores of a classifier, lines `topic document value`, or a run or qrels; may be "
        "repeated",
        "FILE",
        prepare=each_source,
        many=True,
        heading="estimates",
    ),
]
ToDepth = Annotated[
    int | None,
    Option(
        "estimate what judging down to rank D of every run would give (default: as the pool and measure suggest, and "
        "stated)",
        "D",
        choices.whole_number,
        heading="estimates",
    ),
]
Level = Annotated[float, Option("of the intervals", "L", choices.share, heading="estimates")]
Ranges = Annotated[
    choices.Ranges,
    Option(
        "ranges of differences: auto (default; of more than 300 pairs only the quick ones), or all",
        heading=WHAT_COUNTS,
    ),
]
Method = Annotated[str, Option("")]  # whose flag is that of `predict`
Depths = Annotated[Any, Option("1:50, 10:100:10 or 1,5,10 (1:50)", "A:B", choices.depths)]


def from_two(value: Any) -> int:
    return choices.whole_number(value, 2)


def two_constants(text: str) -> tuple[str, ...]:
    from fathoms.estimate.predictors import given_constants

    parts = tuple(part.strip() for part in text.split(","))
    try:
        given_constants(parts)
    except FathomsError:
        raise FathomsError(f"expected two numbers such as 0.42,0.01, found {text!r}") from None
    return parts


# -- the questions --------------------------------------------------------------------------------------------------


class Questions:
    """Each method is answered by the function that it names, with the experiment and these arguments, checked."""

    @answered_by("fathoms.questions.eval.analysis:run_evaluation")
    def evaluate(
        self,
        measures: OfRuns = EVALUATED,
        *,
        by_topic: ByTopic = False,
        scores_only: bool = False,
        interval: Annotated[
            Interval,
            Option(
                "how the interval of each mean over topics is made: t (Student's), bootstrap (percentiles of 9,999 "
                "resamples of the topics), bca (the same, corrected for bias and skew) or none",
                heading=INTERVALS,
            ),
        ] = "t",
        level: Annotated[float, Option("of the intervals", "L", choices.share, heading=INTERVALS)] = LEVEL,
        resume: Annotated[
            File,
            Option(
                "keep finished runs in DIR; the same command goes on from there after an interruption",
                "DIR",
                choices.path,
            ),
        ] = None,
        progress: Progress = unwatched,
    ) -> "Evaluation":
        """Score all runs, each value with the range it could have, and each mean with its `interval` over topics at
        `level`, if these topics are a random sample of those one cares about."""

    @answered_by("fathoms.experiment.depths:run_depth_table")
    def evaluate_depths(self, measure: Any, depths: Depths, *, by_topic: bool = False) -> "DepthTable":
        """Scores of one measure, given without cut-off, at many depths."""

    @answered_by("fathoms.questions.compare.analysis:run_comparison")
    def compare(
        self,
        measures: OfPairs = "AP",
        *,
        test: Annotated[Test, Option("significance test, paired by topic")] = "t",
        correction: Annotated[
            Correction, Option("for making many comparisons; each measure's pairs together")
        ] = "holm",
        alpha: Alpha = 0.05,
        baseline: Annotated[
            str | None, Option("compare each run with this one only (a name, or its file)", "RUN")
        ] = None,
        draws: Annotated[
            int | None,
            Option(
                "how often the unjudged documents are drawn for the estimates; 0 leaves them out (200, and 0 where "
                "that would take long)",
                "N",
                from_zero,
            ),
        ] = None,
        labels: Labels = (),
        to_depth: ToDepth = None,
        level: Level = LEVEL,
        explain: Annotated[
            bool,
            Option("for a few pairs: where the difference comes from, how many documents decide it, and which"),
        ] = False,
        ranges: Ranges = "auto",
        progress: Progress = unwatched,
    ) -> "Comparison":
        """Is A better than B? All pairs of runs, or each run against the baseline.

        `draws` is how often the unjudged documents are drawn for the estimates (0: no estimates), which `labels`,
        `to_depth` and `level` are for, as in `predict`; `explain` adds fragility, and in `explained` the topics and
        documents that decide. With hundreds of pairs and deep measures the ranges that take long to make are left out;
        `ranges="all"` makes them.
        """

    @answered_by("fathoms.questions.gate.analysis:run_gate")
    def gate(
        self,
        measures: Annotated[
            Measures,
            measures_option(f"such as nDCG@10 or P@5 ({', '.join(GATE_MEASURES)} by default)", prepared_for_pairs),
        ] = GATE_MEASURES,
        *,
        max_drop: Annotated[
            float, Option("how much a measure may drop, on its own scale; 2%% is 0.02", "D", choices.drop)
        ] = 0.01,
        alpha: Annotated[
            float,
            Option(
                "chance of passing a drop beyond the limit, and of failing where there is none, at most",
                "A",
                choices.share,
            ),
        ] = 0.05,
        draws: Annotated[
            int | None,
            Option(
                "how often the unjudged documents are drawn; 0: only what holds whatever they are counts (200)",
                "N",
                from_zero,
            ),
        ] = None,
        sequence: Annotated[
            File,
            Option(
                "this is one of many looks, such as one a week: FILE keeps them, and all share one chance alpha of a "
                "false alarm",
                "FILE",
                choices.path,
            ),
        ] = None,
        looks: Annotated[int, Option("how many looks --sequence is for", "N", choices.whole_number)] = 52,
        labels: Labels = (),
        to_depth: ToDepth = None,
        progress: Progress = unwatched,
    ) -> "Gate":
        """May the second run, the candidate, replace the first, the baseline? Passes, fails or cannot tell.

        It passes if with confidence 1 - `alpha` no measure drops by more than `max_drop`, and fails if a drop is
        significant; topics and unjudged documents both count as doubt. `draws`, `labels` and `to_depth` are those of
        `compare`, for the estimates. With a file as `sequence` this is one of many `looks`, kept there, which share one
        chance `alpha` of a false alarm. The result has `.outcome`, `.exit_code`, `.to_judge`, `.markdown()` and
        `.junit()`.
        """

    @answered_by("fathoms.questions.diff.analysis:run_diff")
    def diff(
        self,
        a: str | None = None,
        b: str | None = None,
        measures: Annotated[
            Measures,
            measures_option("such as nDCG@10 or 'RBP(p=0.8)', with --qrels (nDCG and P at the depth)"),
        ] = None,
        *,
        depth: Annotated[int, Option("compare the first K places", "K", choices.whole_number)] = 10,
        p: Annotated[
            float, Option("persistence of RBO: how far down readers look", "P", choices.share, flags=("-p",))
        ] = 0.9,
    ) -> "Diff":
        """What changed from run `a` to run `b`? Judgments are not needed, and neither are names where there are two
        runs.

        `depth` is how many first places are compared, `p` the persistence of RBO. With judgments the result's
        `.scores` say what the change did by each measure (nDCG and P at `depth` unless given), B minus A;
        `.documents` and `.topic_frame(topic)` have the documents side by side.
        """

    @answered_by("fathoms.questions.rank.analysis:run_ranking")
    def rank(
        self,
        measures: OfPairs = "AP",
        *,
        alpha: Annotated[float, Option("of the confidence sets over topics", "A", choices.share)] = 0.05,
        draws: Annotated[
            int | None,
            Option(
                "how often the unjudged documents are drawn for the likely ranks; 0 leaves them out (200, and 0 where "
                "that would take long)",
                "N",
                from_zero,
            ),
        ] = None,
        labels: Labels = (),
        to_depth: ToDepth = None,
        level: Level = LEVEL,
        ranges: Ranges = "auto",
        progress: Progress = unwatched,
    ) -> "Ranking":
        """The leaderboard: each run's rank, and the ranks it could have over judging, ties and topics.

        `alpha` is for the confidence sets over topics; `draws` is how often the unjudged documents are drawn for the
        likely ranks (0: none), which `labels`, `to_depth` and `level` are for, as in `predict`; `ranges` is that of
        `compare`. The result's `better` says for each measure which runs topics show to be better than which.
        """

    @answered_by("fathoms.questions.doubt.analysis:run_doubt")
    def doubt(
        self,
        measures: GivenMeasures = ("nDCG@10",),
        *,
        of: Annotated[
            Sequence[str],
            Option(
                "the run in question, where more are given; a second one asks about their difference", "RUN", many=True
            ),
        ] = (),
        draws: Annotated[
            int | None,
            Option(
                "how often the unjudged documents are drawn; 0 leaves the doubt from judging out (200, and 0 where "
                "that would take long)",
                "N",
                from_zero,
            ),
        ] = None,
        labels: Labels = (),
        to_depth: ToDepth = None,
        level: Level = LEVEL,
        cost_topic: Annotated[
            float | None,
            Option("what a further topic costs (default: as many judgments as topics have now)", "C", choices.positive),
        ] = None,
        cost_judgment: Annotated[float, Option("what a judgment costs", "C", choices.positive)] = 1.0,
        progress: Progress = unwatched,
    ) -> "Doubt":
        """How sure is a run's score, or the difference of two, what makes it unsure, and what would help most?

        An error budget: how far topics, judging, ties and the cut-off could each move the number, which part of its
        variance comes from each, how many topics or judgments would halve that, and, for a difference that is not
        clear, the cheapest way to make it so. With more than two runs `of` names the one or two in question.
        """

    @answered_by("fathoms.questions.predict.analysis:predict_scores")
    def predict(
        self,
        measures: OfRuns = estimates.MEASURES,
        method: Annotated[
            str | Sequence[str],
            Option("how to estimate; fusion where --probabilities are asked for", words=(*estimates.METHODS, "all")),
        ] = estimates.DEFAULT,
        *,
        by_topic: ByTopic = False,
        depth: Annotated[
            int | None,
            Option(
                "pool depth at which the models of gain by rank are fitted (default: as deep as the contributing runs "
                "are judged)",
                "D",
                choices.whole_number,
            ),
        ] = None,
        constants: Annotated[
            Sequence[Any] | None,
            Option(
                "C and E of the first four methods, and alpha as a third; default 0.42,0.01 for interpolated, 0.91,"
                "0.05 for smoothed",
                "C,E",
                parse=two_constants,
            ),
        ] = None,
        labels: Labels = (),
        to_depth: ToDepth = None,
        draws: Annotated[
            int,
            Option(
                "how often the grades of the unjudged documents are drawn; 1000 times with --confidence",
                "N",
                choices.whole_number,
            ),
        ] = estimates.DRAWS,
        level: Level = LEVEL,
        progress: Progress = unwatched,
    ) -> "Prediction":
        """Estimate what scores will be once the unjudged documents are judged, down to rank `to_depth` of every run.

        The default method has intervals (`likely_low`, `likely_high`) at `level`, from `draws` of the grades of the
        unjudged documents, which `.draws(measure)` gives, and `.at_most(x)` the probability of a score up to x.
        """

    @answered_by("fathoms.questions.predict.sampled_prediction:assisted_prediction")
    def predict_sampled(
        self,
        measures: OfRuns = estimates.MEASURES,
        design: Any = "uniform",
        *,
        depth: Annotated[int | None, Option("", check=choices.whole_number)] = None,
        labels: Labels = (),
        by_topic: ByTopic = False,
        level: Level = LEVEL,
        progress: Progress = unwatched,
    ) -> "SampledPrediction":
        """Estimates from judgments that are a random sample, right whatever any model says.

        `design` says how they were drawn: `uniform` (all documents of the runs, down to rank `depth`, had the same
        chance in their topic), or a file with each document's probability or stratum, as `pool(sample=...)` writes it
        and `sample_eval` has it. The method `sampled` is the sample's own estimate, `assisted` uses predictions and
        `labels` as helpers.
        """

    @answered_by("fathoms.questions.predict.tune:tune_predictors")
    def tune(
        self,
        measures: OfRuns = estimates.MEASURES,
        methods: str | Sequence[str] = "all",
        *,
        levels: Annotated[Sequence[int] | str | None, Option("", check=choices.depths)] = None,
        left_out: Annotated[
            bool, Option("for --tune: score each run as if it had not contributed to the pool")
        ] = False,
        progress: Progress = unwatched,
    ) -> "TunedConstants":
        """Tune the constants of background, interpolated and smoothed: which do best on the contributing runs?

        Their scores are predicted from pools of shallower depths (`levels`; the pool's own halved again and again
        unless given) and compared with those under all judgments; `left_out` takes each run for one that did not
        contribute. The result's `best(measure).constants` are for `predict`.
        """

    @answered_by("fathoms.estimate.probabilities:relevance_probabilities")
    def probabilities(
        self,
        method: Method = "fusion",
        *,
        labels: Labels = (),
        to_depth: ToDepth = None,
    ) -> "RelevanceProbabilities":
        """How likely is each document of the runs to be relevant?"""

    @answered_by("fathoms.questions.predict.confidence:run_confidence")
    def confidence(
        self,
        measures: OfRuns = estimates.MEASURES,
        method: Method = estimates.DEFAULT,
        *,
        draws: Annotated[int, Option("", check=choices.whole_number)] = 1000,
        labels: Labels = (),
        to_depth: ToDepth = None,
    ) -> "Confidence":
        """How sure is it, for each pair of runs, that A is better than B once everything is judged?"""

    @answered_by("fathoms.questions.depth.analysis:run_depth_analysis")
    def depth(
        self,
        measures: Annotated[Measures, measures_option("without @k (nDCG)")] = ("nDCG",),
        depths: Depths = range(1, 51),
        *,
        correlation: Annotated[
            choices.Correlation,
            Option("correlation, or rmse: the distance of the runs' means", flags=("--corr",)),
        ] = "tau",
        reference: Annotated[
            int | None, Option("depth to compare with (the pool's)", "D", parse=choices.whole_number)
        ] = None,
        alpha: Alpha = 0.05,
        progress: Progress = unwatched,
    ) -> "DepthAnalysis":
        """How much depends on the depth of evaluation? Measures are given without cut-off."""

    @answered_by("fathoms.questions.ties.analysis:run_tie_analysis")
    def ties(
        self,
        measures: OfRuns = EVALUATED,
        *,
        depth: Annotated[
            int | None,
            Option(
                "count ties among the first K ranks and across rank K (the deepest cut-off of the measures, or 10)",
                "K",
                choices.whole_number,
            ),
        ] = None,
        progress: Progress = unwatched,
    ) -> "TieReport":
        """Which runs have ties and contradictions, and what could they change?"""

    @answered_by("fathoms.questions.audit.analysis:run_audit")
    def audit(
        self,
        measures: GivenMeasures = None,
        *,
        depth: Annotated[
            int | None,
            Option(
                "depth of the pool (default: inferred from what is judged); less looks at a shallower pool's judgments",
                "D",
                choices.whole_number,
            ),
        ] = None,
        new_runs: Annotated[
            bool,
            Option(
                "also leave out a third of the contributing runs at a time, and see how surely and how rightly "
                "estimates would have told these new runs from the others (takes longer)",
            ),
        ] = False,
        progress: Progress = unwatched,
    ) -> "Audit":
        """Can this collection be trusted, and reused for systems that did not contribute to its pool?"""

    @answered_by("fathoms.questions.labels.analysis:run_label_audit")
    def labels(
        self,
        labels: Any,
        measures: Annotated[Measures, measures_option("by which runs are ordered (nDCG@10 and AP)")] = LABEL_MEASURES,
        *,
        rel: Annotated[float, Option("lowest human grade that counts as relevant", "GRADE", choices.positive)] = 1.0,
        label_rel: Annotated[
            float | None,
            Option(
                "lowest label that counts as relevant (default: that of --rel; for scores the threshold that agrees "
                "best)",
                "VALUE",
                choices.number,
            ),
        ] = None,
        sampled: Annotated[
            Any,
            Option(
                "the judgments are a sample whose strata or probabilities this file lists, as `pool --sample` writes "
                "it: each counts for as many documents as it stands for",
                "FILE",
            ),
        ] = None,
        docs: Annotated[
            File, Option("texts of the documents, for agreement by their length: a file or a folder", "FILE|DIR")
        ] = None,
        min_kappa: Annotated[
            float | None, Option("least kappa on what is relevant, by the whole 95% interval", "K", choices.share)
        ] = None,
        min_labels: Annotated[
            int | None, Option("least number of documents that people judged too", "N", choices.whole_number)
        ] = None,
        max_bias: Annotated[
            float | None,
            Option("by how much labels may change runs' mean scores, by each measure", "B", choices.positive),
        ] = None,
        max_circularity: Annotated[
            float | None,
            Option(
                "how much more than expected a run may follow the labels, among documents of equal grade (excess "
                "correlation)",
                "C",
                choices.positive,
            ),
        ] = None,
        progress: Progress = unwatched,
    ) -> "LabelAudit":
        """Can labels of language models, classifiers or other people stand in for the human judgments?

        `labels` are files, folders, frames or dicts {topic: {document: value}}, or a dict of these by name. Documents
        of grade `rel` and above are relevant, and those with a label of `label_rel` and above; by default that is
        `rel`, or for scores the threshold that agrees best. An experiment without runs (`runs=None`) will do; runs add
        what labels do to their scores and order, and whether one of them looks as if the judge had reranked it.
        `docs` are texts of documents, for agreement on short and long ones.
        What is asked by `min_kappa`, `min_labels`, `max_bias` and `max_circularity` gives the result an `outcome`.
        """

    @answered_by("fathoms.questions.plan.analysis:run_plan")
    def plan(
        self,
        measures: Annotated[
            Measures,
            measures_option("such as AP, nDCG@10 or 'RBP(p=0.8)' (AP with judgments and runs)"),
        ] = None,
        *,
        min_difference: Annotated[float, Option("difference to detect", "D", choices.positive)] = 0.05,
        power: Annotated[float, Option("chance of finding it", "P", choices.share)] = 0.8,
        alpha: Alpha = 0.05,
        systems: Annotated[
            int | None,
            Option(
                "how many systems will be compared with each other (as many as there are runs, or 2)", "M", from_two
            ),
        ] = None,
        n_topics: Annotated[
            int | None, Option("say what so many topics can show (as many as there are)", "N", from_two)
        ] = None,
        variance: Annotated[
            float | None,
            Option("of the difference between two systems, from topic to topic", "V", choices.positive),
        ] = None,
        system_variance: Annotated[
            float | None,
            Option("of one system's scores, from topic to topic (for ANOVA)", "V", choices.positive),
        ] = None,
        from_scores: Annotated[
            Any,
            Option(
                "measure variances on scores by topic: `trec_eval -q`, `ir_measures -q`, tsv or json of `fathoms eval`",
                "FILE",
                values="+",
            ),
        ] = None,
        interval_width: Annotated[
            float | None,
            Option(
                "how wide an interval may be: topics for that of a difference; with --likely, judgments for a score's",
                "W",
                choices.positive,
            ),
        ] = None,
        epsilon: Annotated[float, Option("residual that a pool may leave", "E", choices.positive)] = 0.05,
        depth: Annotated[int | None, Option("say what a pool of this depth leaves", "D", choices.whole_number)] = None,
        likely: Annotated[
            bool,
            Option(
                "beside the possible residual the likely intervals after pools of several depths, and for how many "
                "pairs of runs it would be clear who is ahead; takes longer"
            ),
        ] = False,
        level: Annotated[float, Option("of likely intervals", "L", choices.share)] = LEVEL,
        confidence: Annotated[float, Option("with which it is clear who is ahead", "C", choices.share)] = 0.95,
        progress: Progress = unwatched,
    ) -> "Plan":
        """How many topics and judgments will an experiment need?

        Topics find a difference of `min_difference` with the asked `power` among `systems`; `n_topics` there are find
        which differences. Variances come from judgments and runs, from scores by topic (`from_scores`: files as for
        `fm.read_scores`, or such a frame), or are stated: `variance` of a difference, `system_variance` of one
        system's scores. A pool keeps the residual at `epsilon` or less; `depth` is that of one to be looked at, and
        `likely` adds likely intervals at `level`, and for how many pairs it is clear, with `confidence`, who is ahead.
        Judgments and runs may both be None.
        """

    @answered_by("fathoms.questions.check.analysis:run_check", notes=False)
    def check(
        self,
        *,
        corpus_ids: Annotated[
            File,
            Option(
                "ids of all documents of the corpus, one per line or in a column: finds judged and retrieved documents "
                "that are not in it",
                "FILE",
            ),
        ] = None,
        train_qrels: Annotated[
            Any,
            Option(
                "judgments that systems were trained on: finds topics and judgments that are in both",
                "FILE",
            ),
        ] = None,
        topic_texts: Annotated[
            Any,
            Option(
                "texts of the topics, lines `topic<TAB>text` or JSON: finds topics that ask with the same words",
                "FILE",
            ),
        ] = None,
        progress: Progress = unwatched,
    ) -> "Check":
        """Is every file sound? Errors, warnings and notes.

        `corpus_ids` names a file of the ids of all documents of the corpus, and `train_qrels` judgments that systems
        were trained on: what is not in the one, and what is in the other, is found too. `topic_texts` are texts of the
        topics, a file or a dict, of which those with the same words are found.
        """

    @answered_by("fathoms.estimate.sample_design:pool_or_sample")
    def pool(
        self,
        *,
        depth: Annotated[int | None, Option("the top D documents of each run", "D", choices.whole_number)] = None,
        budget: Annotated[int | None, Option("N documents, shallowest first", "N", choices.whole_number)] = None,
        per_topic: Annotated[bool, Option("--budget or --sample is for each topic")] = False,
        prefix_order: Annotated[
            choices.PrefixOrder,
            Option("which documents of one depth come first: those first in the qrels (or by id), or a seeded shuffle"),
        ] = "file",
        missing: Annotated[bool, Option("with --qrels: what is still unjudged in the pool of all runs")] = False,
        sample: Annotated[
            int | None, Option("N documents drawn at random (from --depth, or from all)", "N", choices.whole_number)
        ] = None,
        design: Annotated[
            choices.Design | None,
            Option(
                "how --sample draws: all alike (uniform); in strata by least rank (depth), by probability of relevance "
                "(score), or by what machine labels say, of several by where they disagree (label); or each with its "
                "own chance (probe)"
            ),
        ] = None,
        labels: Annotated[
            Any,
            Option(
                "for --design score, probe and label: lines `topic document value` that tell relevant documents from "
                "others; may be repeated",
                "FILE",
                prepare=each_source,
                many=True,
            ),
        ] = (),
    ) -> "PooledDocuments | SampledDocuments":
        """The documents in the top `depth` of the contributing runs, or the first `budget` of them, to be judged.

        Where the experiment has judgments, the result's `.qrels` are those that such a pool would have had; with
        `missing` its rows are the documents that nobody has judged, of all runs unless `pooled` names some.

        With `sample`, so many documents drawn at random from that pool (from all documents without `depth`), in all or
        per topic. `design` is `uniform` (the default), `depth`, `score`, `probe` or `label`, which draws by `labels`;
        they help `score` and `probe`. The result lists the whole pool: `.to_judge` are the documents drawn, `.design`
        is for estimates. Judged documents stay as they are.
        """

    @answered_by("fathoms.reporting.report:write_report")
    def report(
        self,
        path: Annotated[File, Option("", check=choices.path)] = None,
        measures: Annotated[
            Measures,
            measures_option("such as AP or nDCG@10; the first one leads the summary", prepared),
        ] = REPORTED,
        *,
        alpha: Alpha = 0.05,
        labels: Labels = (),
        to_depth: ToDepth = None,
        level: Level = LEVEL,
        diff: Annotated[
            Sequence[str] | None,
            Option("add a section: what changed from one run to another", ("RUN_A", "RUN_B"), values=2),
        ] = None,
        docs: Annotated[File, Option("texts of the documents shown by topic: a file or a folder", "FILE")] = None,
        topic_texts: Annotated[File, Option("texts of the topics", "FILE")] = None,
        command: str = "",
        progress: Progress = unwatched,
    ) -> "Report":
        """All of it on one page, written to `path` where one is given. `labels`, `to_depth` and `level` are for the
        estimates, as in `predict`. `diff` names two of the runs whose changes get a section, with words of `docs` and
        `topic_texts` where these are given."""

    @answered_by("fathoms.judging.begin:begin_or_resume", notes=False)
    def judge(
        self,
        path: Annotated[str | os.PathLike[str], Option("", check=choices.path)],
        *,
        resume: Annotated[bool, Option("go on with the session in that file")] = False,
        measures: Annotated[
            Measures,
            measures_option("decide by this measure, such as nDCG@10 (AP); settled when all are"),
        ] = None,
        labels: Annotated[
            Any,
            Option(
                "lines `topic document value`: labels of a language model or scores that say which documents may be "
                "relevant; may be repeated",
                "FILE",
                prepare=each_source,
                many=True,
            ),
        ] = (),
        strategy: Annotated[
            str | None,
            Option(
                f"how the next document is chosen ({STRATEGY}); see docs/judge.md; rbp takes its p: rbp(p=0.95)",
                parse=strategy_name,
                words=STRATEGIES,
            ),
        ] = None,
        confidence: Annotated[
            float | None, Option("confidence that settles a pair (0.95)", "P", choices.above_half)
        ] = None,
        depth: Annotated[int | None, Option("top documents of each run (100)", "D", choices.whole_number)] = None,
        baseline: Annotated[str | None, Option("settle pairs with this run only (a name, or its file)", "RUN")] = None,
        max_grade: Annotated[
            int | None, Option("highest grade (that of QRELS, else 1)", "N", choices.whole_number)
        ] = None,
        rel: Annotated[int | None, Option("lowest grade that is relevant (1)", "N", choices.whole_number)] = None,
        judge_twice: Annotated[
            float | None, Option("have a share, such as 10%, judged twice (0)", "SHARE", choices.percentage)
        ] = None,
        kappa_error: Annotated[
            float | None,
            Option(
                "have as many documents judged twice as it takes to know kappa to +-E, such as 0.1", "E", choices.share
            ),
        ] = None,
        count_disagreement: Annotated[
            bool | None, Option("settle a pair only if another assessor's judgments would settle it too")
        ] = None,
        first: Annotated[
            str | os.PathLike[str] | Iterable[tuple[str, str]] | None,
            Option(
                "ask for these documents first: lines `topic document ...`, as `fathoms compare --explain-to` writes",
                "FILE",
            ),
        ] = None,
        stay: Annotated[
            int | None,
            Option(
                "documents of a topic to judge before moving to another topic (a session begun on the page: 10; else "
                "1)",
                "N",
                choices.whole_number,
            ),
        ] = None,
        recall: Annotated[
            float | None,
            Option(
                "for --strategy find-all: stop when at least this share of the relevant documents is found (0.95)",
                "SHARE",
                choices.percentage,
            ),
        ] = None,
        sample: Annotated[
            int | None,
            Option("judge N documents drawn at random, and no others", "N", choices.whole_number, heading=SAMPLE),
        ] = None,
        design: Annotated[
            choices.Design | None,
            Option("how --sample draws, as in `fathoms pool` (uniform)", heading=SAMPLE),
        ] = None,
        per_topic: Annotated[bool, Option("--sample is for each topic", heading=SAMPLE)] = False,
        topics: Annotated[
            choices.JudgedTopics | None,
            Option("topics to judge: those with judgments (default where QRELS is given), or all that the runs have"),
        ] = None,
    ) -> "Session":
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
        and nothing else is judged. `topics` is `judged` (the default where there are judgments: a topic without any is
        left out) or `all` that the runs have. `.batch(n)` are the next n documents. What is None is as `fathoms judge`
        has it by default, or as the session was begun with.
        """
