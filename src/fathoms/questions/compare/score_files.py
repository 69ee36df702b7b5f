"""Scores that another tool computed: read them topic by topic, and test the differences.

It reads trec_eval's `-q` output, what `ir_measures -q` prints, and the tsv, csv, json and parquet of `fathoms eval`.
Scores alone do not tell what unjudged documents or ties would change, so there are no ranges here, and a difference is
`significant` and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathoms.base import choices
from fathoms.base.choices import checked
from fathoms.base.errors import FathomsError, warn
from fathoms.base.text import p_words, pluralise
from fathoms.base.tolerances import SAME
from fathoms.experiment.score_files import MEAN, _name, chosen_measures, read_scores, topic_block
from fathoms.experiment.topics import chosen_run
from fathoms.inference.intervals import intervals
from fathoms.inference.names import Verdict
from fathoms.inference.paired_tests import effect_interval, effect_size, paired_differences
from fathoms.inference.significance import CORRECTIONS, TESTS, Correction, Test, p_corrected, p_values
from fathoms.questions.compare.result import Comparison, Pair
from fathoms.questions.compare.verdicts import compared
from fathoms.questions.compare.words import tested

if TYPE_CHECKING:
    import polars as pl


def compare_scores(
    scores: Any,
    measures: Sequence[Any] | Any | None = None,
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare runs by the scores that some tool gave them: files as for `read_scores`, or a frame as it returns.

    The columns are those of `compare`; diff_low and diff_high are null, and the verdict is `significant`, `tie` or
    `open`, since scores alone do not tell what unjudged documents and ties could change. Runs are paired by topic, on
    the topics that all of them have.

    >>> import fathoms as fm
    >>> import polars as pl
    >>> scores = {"run": ["a"] * 3 + ["b"] * 3, "topic": ["1", "2", "3"] * 2, "measure": ["AP"] * 6}
    >>> table = fm.compare_scores(pl.DataFrame(scores | {"score": [0.5, 0.4, 0.6, 0.3, 0.1, 0.4]}), "AP")
    >>> table.select("run_a", "run_b", "verdict").row(0)
    ('a', 'b', 'significant')
    """
    result = comparison_of_scores(
        scores, measures, test=test, correction=correction, alpha=alpha, baseline=baseline, seed=seed
    )
    for note in result.notes:
        warn(note)
    return result.frame


class ScoreComparison(Comparison):
    """A comparison of scores computed elsewhere: nothing is known about judgments and ties."""

    @property
    def answer(self) -> list[str]:
        measures = dict.fromkeys(pair.measure for pair in self.pairs)
        return [f"{measure}: {_different(self, measure)}" for measure in measures]

    @property
    def remarks(self) -> list[str]:
        return [
            f"Tested: {tested(self)}, alpha {self.alpha:g}, over {pluralise(self.topics, 'topic')}.",
            "Scores alone do not say what unjudged documents and ties could change; give QRELS and runs for that.",
        ]


def comparison_of_scores(
    scores: Any,
    measures: Sequence[Any] | Any | None = None,
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    seed: int = 0,
) -> ScoreComparison:
    import polars as pl

    checked("test", choices.one_of, TESTS, test)
    checked("correction", choices.one_of, CORRECTIONS, correction)
    alpha = checked("alpha", choices.share, alpha)
    table = scores if isinstance(scores, pl.DataFrame) else read_scores(scores)
    table = table.filter(pl.col("topic") != MEAN, pl.col("score").is_not_null())
    runs = table["run"].unique(maintain_order=True).to_list()
    if len(runs) < 2:
        raise FathomsError(
            "a comparison needs the scores by topic of at least two runs (trec_eval prints them with -q)"
        )
    if baseline is not None and baseline not in runs:
        baseline = _name(baseline)
    baseline = None if baseline is None else chosen_run("the baseline", baseline, runs)
    notes: list[str] = []
    pairs: list[Pair] = []
    means: dict[tuple[str, str, str], float] = {}
    n_topics = 0
    for measure in chosen_measures(measures, table):
        values, topics = topic_block(table.filter(pl.col("measure") == measure), measure, runs, notes)
        n_topics = max(n_topics, len(topics))
        means |= {(run, measure, "all"): mean for run, mean in zip(runs, values.mean(axis=1).tolist(), strict=True)}
        pairs += _pairs(measure, runs, values, test, correction, alpha, baseline, seed)
    return ScoreComparison(pairs, alpha, test, correction, n_topics, notes, baseline=baseline, means=means)


def _pairs(
    measure: str,
    runs: list[str],
    values: Any,
    test: Test,
    correction: Correction,
    alpha: float,
    baseline: str | None,
    seed: int,
) -> list[Pair]:
    a, b = compared(runs, baseline)
    differences = paired_differences(values, a, b)
    diff = differences.mean(axis=1)
    p = p_values(values, test, seed)[a, b]
    p_all = p_corrected(p, test, correction)
    low, high = intervals(values, a, b, test, correction, alpha, seed, p)
    columns = [runs_of.tolist() for runs_of in (diff, low, high, p, p_all, effect_size(differences))]
    ends = [end.tolist() for end in effect_interval(differences, alpha)]
    pairs = []
    for i in range(len(a)):
        verdict: Verdict = "tie" if abs(diff[i]) <= SAME else "significant" if p_all[i] < alpha else "open"
        numbers = dict(zip(("diff", "ci_low", "ci_high", "p", "p_corrected", "effect"), columns, strict=True))
        values_of: dict[str, Any] = {name: column[i] for name, column in numbers.items()}
        ends_of: dict[str, Any] = {"effect_low": ends[0][i], "effect_high": ends[1][i]}
        pairs.append(Pair(runs[a[i]], runs[b[i]], measure, **values_of, **ends_of, verdict=verdict))
    return pairs


def _different(result: Comparison, measure: str) -> str:
    """Who leads, and from whom that run differs: not by which test a run is the better one."""
    pairs = [pair for pair in result.pairs if pair.measure == measure]
    significant = [pair for pair in pairs if pair.verdict == "significant"]
    if len(pairs) == 1:
        (pair,) = pairs
        if pair.verdict == "tie":
            return f"{pair.run_a} and {pair.run_b} have the same mean."
        ahead, behind = (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)
        size = f"the difference, {abs(pair.diff):.4f}, is {'' if significant else 'not '}significant"
        return f"{ahead} is ahead of {behind}; {size} (p {p_words(pair.p_corrected)})."
    every = f"{len(significant):,} of {len(pairs):,}"
    if result.baseline is not None:
        return f"{every} runs {'differs' if len(significant) == 1 else 'differ'} significantly from {result.baseline}."
    standing = result.standing(measure)
    first = [run for run, above in standing if above >= standing[0][1] - SAME]
    differ = f"{every} pairs {'differs' if len(significant) == 1 else 'differ'} significantly."
    if len(first) > 1:
        return f"{len(first):,} runs share the highest mean; {differ}"
    won = sum(first[0] in (pair.run_a, pair.run_b) for pair in significant)
    return f"{first[0]} leads, and differs significantly from {won:,} of the {len(standing) - 1:,} others; {differ}"
