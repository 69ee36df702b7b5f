"""All findings on sources of labels: as rows, a frame, sentences and charts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.base.outcomes import EXIT_CODES, Outcome, worst
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.evidence.evidence import Bools, Floats
from fathoms.inference.grade_agreement import Estimate, Labelled, percentiles
from fathoms.questions.labels.between import Between
from fathoms.questions.labels.budget import Budget, Calibration
from fathoms.questions.labels.circularity import Following
from fathoms.questions.labels.lengths import LengthAgreement
from fathoms.questions.labels.mixed import OddGrade
from fathoms.questions.labels.requirements import Requirement
from fathoms.questions.labels.runs import Effect

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("source", "statistic", "item", "other", "measure", "value", "low", "high", "n")
Row = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SourceAudit:
    """Everything found about one source of labels."""

    name: str
    file: str
    scores: bool  # labels are scores, made grades by thresholds
    thresholds: Floats  # from which score on each human grade but the lowest is reached; empty for grades
    relevant_from: float  # the least label, as it was given, that counts as relevant
    judged: int  # documents that people have judged
    topics: int  # topics with documents that have both
    judged_topics: int
    labelled: Labelled  # the documents that have both, labels as grades
    relevant: Bools  # of the human grades
    positive: Bools  # of the labels
    figures: dict[str, Estimate]  # kappa, kappa_quadratic, alpha_ordinal, ...
    by_grade: dict[float, Estimate]  # human grade: the share labelled relevant
    kappas: Floats  # kappa in each resample of the topics, to compare sources
    where: tuple[int, ...]  # the topics resampled, as numbered in the judgments
    calibration: Calibration | None
    budget: Budget | None
    unjudged: int | None = None  # documents of the runs that nobody has judged; None without runs
    unjudged_labelled: int | None = None
    effects: list[Effect] = field(default_factory=list)  # by measure; empty without runs
    followings: list[Following] = field(default_factory=list)  # one a run
    by_group: dict[str, Estimate] = field(default_factory=dict)  # kappa, by group of topics where these are given
    by_length: list[LengthAgreement] | None = None  # empty where texts are too alike in length; None without texts
    with_text: int | None = None  # of the documents that have both, those that have a text

    def kappa_difference(self, other: SourceAudit) -> Estimate | None:
        """By how much its kappa is above another's, with an interval over topics; None if their topics differ."""
        mine, other_kappa = self.figures["kappa"].value, other.figures["kappa"].value
        if self.where != other.where or mine is None or other_kappa is None:
            return None
        return Estimate(mine - other_kappa, *percentiles(self.kappas - other.kappas, len(self.where)))

    @property
    def suspects(self) -> list[Following]:
        """Runs that look circular, most of all first."""
        suspected = [following for following in self.followings if following.suspect]
        return sorted(suspected, key=lambda following: -(following.excess or 0.0))

    def rows(self, runs: list[str]) -> Iterable[Row]:
        """Rows as in COLUMNS, without the source."""
        n = len(self.labelled)
        yield ("judged_labelled", "", "", "", n / self.judged, None, None, self.judged)
        if self.unjudged is not None and self.unjudged_labelled is not None:
            share = self.unjudged_labelled / self.unjudged if self.unjudged else None
            yield ("unjudged_labelled", "", "", "", share, None, None, self.unjudged)
        for name, estimate in self.figures.items():
            yield (name, "", "", "", estimate.value, estimate.low, estimate.high, n)
        total = self.labelled.total
        for grade, estimate, of_grade in zip(self.by_grade, self.by_grade.values(), total.sum(axis=1), strict=True):
            yield (
                "labelled_relevant",
                f"{grade:g}",
                "",
                "",
                estimate.value,
                estimate.low,
                estimate.high,
                int(of_grade),
            )
        for group, estimate in self.by_group.items():
            yield ("kappa_of_group", group, "", "", estimate.value, estimate.low, estimate.high, n)
        for part in self.by_length or ():
            for name, estimate in (("kappa_of_length", part.kappa), ("agreed_of_length", part.agreed)):
                yield (name, part.third, "", "", estimate.value, estimate.low, estimate.high, part.documents)
            yield ("least_characters", part.third, "", "", float(part.least), None, None, part.documents)
            yield ("most_characters", part.third, "", "", float(part.most), None, None, part.documents)
        for i, grade in enumerate(self.labelled.grades):
            for j, label in enumerate(self.labelled.labels):
                yield ("confusion", f"{grade:g}", f"{label:g}", "", float(total[i, j]), None, None, n)
        for grade, threshold in zip(self.labelled.grades[1:], self.thresholds, strict=False):
            yield ("threshold", f"{grade:g}", "", "", float(threshold), None, None, n)
        yield from self._judgment_rows()
        yield from self._run_rows(runs)

    def _judgment_rows(self) -> Iterable[Row]:
        known, budget = self.calibration, self.budget
        n = len(self.labelled)
        if known is not None:
            yield ("calibration_error", "", "", "", known.error, None, None, n)
            yield ("calibration_se", "", "", "", known.se, None, None, n)
            yield ("calibration_topic_share", "", "", "", known.topic_share, None, None, n)
            yield ("judgments_to_halve", "", "", "", _number(known.to_halve), None, None, n)
        if budget is not None:
            yield ("residual_sd", "", "", "", budget.with_labels_sd, None, None, budget.documents)
            yield ("judgment_sd", "", "", "", budget.without_sd, None, None, budget.documents)
            for half_width, (helped, alone) in budget.needed.items():
                yield ("judgments_needed", f"{half_width:g}", "", "", float(helped), None, None, budget.documents)
                yield ("judgments_unaided", f"{half_width:g}", "", "", float(alone), None, None, budget.documents)

    def _run_rows(self, runs: list[str]) -> Iterable[Row]:
        n = len(runs)
        for effect in self.effects:
            gains = effect.gains
            for i, run in enumerate(runs):
                yield ("human_score", run, "", effect.measure, float(effect.human[i]), None, None, self.topics)
                yield ("label_score", run, "", effect.measure, float(effect.labels[i]), None, None, self.topics)
                yield ("gain", run, "", effect.measure, float(gains[i]), None, None, self.topics)
            yield ("tau", "", "", effect.measure, effect.tau, None, None, n)
            yield ("tau_ap", "", "", effect.measure, effect.tau_ap, None, None, n)
            yield ("rmse", "", "", effect.measure, effect.rmse, None, None, n)
            bias = effect.bias
            yield ("score_bias", "", "", effect.measure, bias.value, bias.low, bias.high, self.topics)
            yield ("swaps", "", "", effect.measure, float(len(effect.swaps)), None, None, n * (n - 1) // 2)
            for swap in effect.swaps:
                yield ("swap_human", swap.ahead, swap.behind, effect.measure, swap.human, None, None, self.topics)
                yield ("swap_labels", swap.ahead, swap.behind, effect.measure, swap.labels, None, None, self.topics)
                yield ("swap_p", swap.ahead, swap.behind, effect.measure, swap.p, None, None, self.topics)
        for following in self.followings:
            yield ("following", following.run, "", "", following.correlation, None, None, self.topics)
            yield ("following_excess", following.run, "", "", following.excess, None, None, n)
            yield ("following_p", following.run, "", "", following.p, None, None, n)
            yield (
                "suspect",
                following.run,
                "",
                "",
                None if following.p is None else float(following.suspect),
                None,
                None,
                n,
            )


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True, eq=False)
class LabelAudit(Result):
    """All findings, source by source."""

    words_module: ClassVar = "fathoms.questions.labels.words"
    columns: ClassVar = COLUMNS
    words: ClassVar = COLUMNS[:5]
    whole_numbers: ClassVar = ("n",)

    qrels: str  # where the human judgments are from
    rel: float
    runs: list[str]
    sources: list[SourceAudit]
    notes: list[str] = field(default_factory=list)
    between: list[Between] = field(default_factory=list)  # every pair of sources that label the same documents
    requirements: list[Requirement] = field(default_factory=list)  # what was asked of the sources
    odd_grades: list[OddGrade] = field(default_factory=list)  # of the judgments: they may mix people and a model
    weighted: bool = False  # judgments count for as many documents as the sample's design says

    def rows(self) -> list[Row]:
        of_sources = [(source.name, *row) for source in self.sources for row in source.rows(self.runs)]
        return [*of_sources, *self._between_rows(), *self._requirement_rows()]

    def _between_rows(self) -> Iterable[Row]:
        for pair in self.between:
            for name in ("kappa", "changed", "shift"):
                estimate: Estimate = getattr(pair, name)
                figures = (estimate.value, estimate.low, estimate.high, pair.documents)
                yield (pair.first, f"between_{name}", pair.second, "", "", *figures)

    def _requirement_rows(self) -> Iterable[Row]:
        for requirement in self.requirements:
            yield (
                requirement.source,
                f"required_{requirement.criterion}",
                requirement.outcome,
                f"{requirement.limit:g}",
                requirement.measure,
                requirement.value,
                requirement.low,
                requirement.high,
                requirement.judged,
            )
            if requirement.more is not None:
                yield (
                    requirement.source,
                    f"needed_{requirement.criterion}",
                    "",
                    f"{requirement.limit:g}",
                    requirement.measure,
                    float(requirement.more),
                    None,
                    None,
                    requirement.judged,
                )

    @property
    def outcome(self) -> Outcome:
        """Of all that was asked of all sources."""
        return worst([requirement.outcome for requirement in self.requirements])

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    def markdown(self) -> str:
        """What was asked and found, for a pull request."""
        from fathoms.questions.labels.summaries import markdown

        return markdown(self)

    def junit(self) -> str:
        """The same for a build server."""
        from fathoms.questions.labels.summaries import junit

        return junit(self)

    def source(self, name: str | None = None) -> SourceAudit:
        """A source by its name; the first by default."""
        if name is None:
            return self.sources[0]
        for source in self.sources:
            if source.name == name:
                return source
        raise FathomsError(
            f"there is no source {name!r}; there are {', '.join(audited.name for audited in self.sources)}"
        )

    def chart(self, source: str | None = None, measure: str | None = None) -> Any:
        """With runs: each run's score by labels against that by people. Without: the confusion matrix.

        Of the first source and the first measure, or of those named.
        """
        charts.require()
        chosen = self.source(source)
        if not chosen.effects:
            return charts.confusion(self.confusion_points(source), valid_text(chosen.name))
        name = chosen.effects[0].measure if measure is None else measure
        return charts.score_scatter(
            self.score_points(source, name), (f"{name} by people", f"{name} by {valid_text(chosen.name)}")
        )

    def confusion_points(self, source: str | None = None) -> pl.DataFrame:
        """A row a pair of grade and label: how many documents have both, and their share of the grade's."""
        import polars as pl

        labelled = self.source(source).labelled
        total = labelled.total
        of_grade = np.maximum(total.sum(axis=1), 1)
        points = [
            (f"{grade:g}", f"{label:g}", int(total[i, j]), float(total[i, j] / of_grade[i]))
            for i, grade in enumerate(labelled.grades)
            for j, label in enumerate(labelled.labels)
        ]
        return pl.DataFrame(points, schema=["grade", "label", "documents", "share"], orient="row")

    def score_points(self, source: str | None = None, measure: str | None = None) -> pl.DataFrame:
        """A row a run: its score by people and by the labels, and whether it looks circular."""
        import polars as pl

        chosen = self.source(source)
        effect = next((effect for effect in chosen.effects if measure in (None, effect.measure)), None)
        if effect is None:
            have = ", ".join(effect.measure for effect in chosen.effects) or "no runs, so no scores"
            raise FathomsError(f"there is no measure {measure!r} here; there are {have}")
        suspects = {following.run for following in chosen.suspects}
        points = []
        for run, human, labels in zip(self.runs, effect.human.tolist(), effect.labels.tolist(), strict=True):
            kind = "looks circular" if run in suspects else "other runs"
            text = f"{run}; {effect.measure} {human:.4f} by people, {labels:.4f} by labels; {kind}"
            points.append((valid_text(run), human, labels, kind, valid_text(text)))
        return pl.DataFrame(points, schema=["run", "human", "labels", "kind", "tooltip"], orient="row")
