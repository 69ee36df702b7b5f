"""Ravana and Moffat's tables and figures: a cell of every kind again, by plain loops and scipy."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.stats import ttest_rel

import fathoms as fm
from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.data.simulate import Collection, simulate, write
from fathoms.papers import rm, rm_prefixes
from fathoms.papers.exhibits import Study
from tests.questions.audit.test_audit import plain
from tests.support.commands import status
from tests.support.studies import one, rows

C, E, SC, SE = 0.42, 0.01, 0.91, 0.05  # the paper's, of interpolated and of smoothed
LEVEL = 0.2  # with few topics hardly a pair differs at 0.01


@pytest.fixture(scope="module")
def made() -> Collection:
    """Every eleventh document has a grade of -1, which is no judgment."""
    whole = simulate(systems=9, n_topics=7, n_docs=400, depth=60, pool_depth=20, seed=11)
    number = pl.int_range(pl.len())
    grade = whole.qrels.columns[2]
    no_grade = pl.lit(-1, dtype=whole.qrels.schema[grade])
    graded = pl.when(number % 11 == 5).then(no_grade).otherwise(grade).alias(grade)
    return replace(whole, qrels=whole.qrels.with_columns(graded))


def experiment(made: Collection) -> fm.Experiment:
    return fm.Experiment(made.qrels, made.runs, pooled=made.pooled, score_precision="float64", workers=1)


@pytest.fixture(scope="module")
def study(made: Collection) -> Study:
    return rm.study(experiment(made), rm.RMSettings("file", significance=LEVEL))


# -- the same by plain loops ------------------------------------------------------------------------------------------


class Loops:
    """Judgments in order of least depth, and what some of them say of a run."""

    def __init__(self, made: Collection) -> None:
        grades, self.rankings = plain(made)
        self.topics = list(grades)
        self.pooled = made.pooled
        self.others = [name for name in made.runs if name not in made.pooled]
        least = {}
        for topic, judged in grades.items():
            for document in judged:
                places = [
                    self.rankings[name][topic].index(document) + 1
                    for name in made.pooled
                    if document in self.rankings[name][topic]
                ]
                least[topic, document] = min(places, default=10**9)
        real: list[tuple[str, str, float]] = [row for row in made.qrels.iter_rows() if row[2] >= 0]
        self.order = sorted(real, key=lambda row: least[row[0], row[1]])  # sorted keeps the file's order
        self.depths = [least[topic, document] for topic, document, _ in self.order]
        self.top = max(grade for _, _, grade in real)

    def known(self, n: int) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {topic: {} for topic in self.topics}
        for topic, document, grade in self.order[:n]:
            found[topic][document] = grade
        return found

    def interval(self, measure: str, name: str, topic: str, n: int) -> tuple[float, float]:
        """B and delta of a measure that adds up."""
        k = {"P@10": 10, "SDCG@100": 100}.get(measure, 10**6)
        ranking, known = self.rankings[name][topic][:k], self.known(n)[topic]
        weights: Sequence[float]
        if measure == "P@10":
            weights = [0.1] * len(ranking)
        elif measure == "SDCG@100":
            whole = sum(1 / math.log2(i + 1) for i in range(1, 101))
            weights = [1 / math.log2(i + 1) / whole for i in range(1, len(ranking) + 1)]
        else:
            weights = [0.05 * 0.95**i for i in range(len(ranking))]
        B, delta = 0.0, 0.95 ** len(ranking) if measure == "RBP(p=0.95)" else 0.0
        for document, weight in zip(ranking, weights, strict=True):
            if document not in known:
                delta += weight
            elif measure == "SDCG@100":
                B += weight * known[document] / self.top
            else:
                B += weight * (known[document] >= 1)
        return B, delta

    def ap(self, name: str, topic: str, n: int) -> float:
        known = self.known(n)[topic]
        hits = [i for i, d in enumerate(self.rankings[name][topic], 1) if known.get(d, 0) >= 1]
        R = sum(g >= 1 for g in known.values())
        return sum(j / i for j, i in enumerate(hits, 1)) / R if R else 0.0


@pytest.fixture(scope="module")
def loops(made: Collection) -> Loops:
    return Loops(made)


def point(method: str, B: float, delta: float, alpha: float | None = None) -> float:
    if method == "simplistic":
        return B
    constants = (C, E) if method == "interpolated" else (SC, SE)
    inner = constants[1] if delta > 1 - 1e-12 else B + constants[0] * delta * B / (1 - delta)
    if method == "interpolated":
        return inner
    weight = 1 - delta if alpha is None else alpha
    return weight * inner + (1 - weight) * (B + delta * constants[1])


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_prefixes_are_the_papers_or_fit() -> None:
    assert rm_prefixes.prefix_sizes(86_830, 50) == [1_000, 2_000, 4_000, 10_000, 20_000, 40_000]
    assert rm_prefixes.prefix_sizes(40_001, 50) == [1_000, 2_000, 4_000, 10_000, 20_000, 40_000]
    # The same shares of all judgments, to two digits.
    assert rm_prefixes.prefix_sizes(34_550, 50) == [500, 1_000, 2_000, 5_000, 10_000, 20_000]
    assert rm_prefixes.prefix_sizes(8_691, 30) == [130, 250, 500, 1_300, 2_500, 5_000]
    # One judgment a topic at least, where that leaves room.
    assert rm_prefixes.prefix_sizes(488, 50)[0] == 50
    assert rm_prefixes.prefix_sizes(488, 50)[-1] == 280
    assert rm_prefixes.prefix_sizes(488, 400)[0] == 7
    for n in (10, 11, 25, 488, 2_000, 39_999, 40_000):
        sizes = rm_prefixes.prefix_sizes(n, 5)
        assert len(sizes) == len(set(sizes)) > 1
        assert 1 <= sizes[0] <= sizes[-1] < n


@pytest.mark.long
def test_what_was_used_is_said(study: Study, made: Collection, loops: Loops) -> None:
    n = len(loops.order)
    assert n < len(made.qrels)
    sizes = rm_prefixes.prefix_sizes(n, len(loops.topics))
    (fitted,) = [note for note in study.notes if "do not fit" in note]
    assert f"do not fit {n:,}; taken are {', '.join(map(str, sizes))}" in fitted
    assert f": {n:,} judgments; " in study.collection
    first = sum(d == 1 for d in loops.depths)
    assert any(f"{first} judged documents have least depth 1" in note for note in study.notes)
    assert [row["judgments"] for row in rows(study, "table1a")][:3] == [sizes[0], sizes[3], n]


def test_sizes_given(made: Collection, loops: Loops) -> None:
    few = rm.study(experiment(made), rm.RMSettings("file", sizes=[60]))
    assert [row["judgments"] for row in rows(few, "table1a")] == [60, len(loops.order)] * 2
    assert not any("do not fit" in note for note in few.notes)
    for sizes in ([len(loops.order)], [50, 10**6]):
        with pytest.raises(FathomsError, match=f"sizes: a prefix of {sizes[-1]:,} is not part of"):
            rm.study(experiment(made), rm.RMSettings(sizes=sizes))
    with pytest.raises(FathomsError, match="9 judgments cannot be cut"):
        rm.study(experiment(replace(made, qrels=made.qrels.filter(pl.last() >= 0).head(9))))


# -- tables -----------------------------------------------------------------------------------------------------------


def size_of(study: Study, place: int) -> int:
    return int(rows(study, "table1a")[place]["judgments"])


@pytest.mark.parametrize("measure", rm.ADDING)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_table_1(measure: str, place: int, study: Study, loops: Loops) -> None:
    n = size_of(study, place)
    for label, names in ((f"{len(loops.others)}-non", loops.others), (f"{len(loops.pooled)}-con", loops.pooled)):
        both = [loops.interval(measure, name, topic, n) for name in names for topic in loops.topics]
        cells = {
            "table1a": [B for B, _ in both],
            "table1b": [delta for _, delta in both],
            "table1c": [point("interpolated", *x) for x in both],
            "table1d": [point("smoothed", *x) for x in both],
        }
        for table, values in cells.items():
            found = one(study, table, systems=label, judgments=n)[measure]
            assert found == pytest.approx(statistics.fmean(values), abs=1e-9), table


def test_table_1_of_ap(study: Study, loops: Loops) -> None:
    n = size_of(study, 0)
    values = [loops.ap(name, topic, n) for name in loops.pooled for topic in loops.topics]
    found = one(study, "table1a", systems=f"{len(loops.pooled)}-con", judgments=n)
    assert found["AP"] == pytest.approx(statistics.fmean(values), abs=1e-9)


def p_values(loops: Loops, names: Sequence[str], measure: str, method: str, n: int) -> dict[tuple[str, str], float]:
    scores = {
        name: [point(method, *loops.interval(measure, name, topic, n)) for topic in loops.topics] for name in names
    }
    found = {}
    for a, b in combinations(names, 2):
        p = float(ttest_rel(scores[a], scores[b]).pvalue)
        found[a, b] = 1.0 if math.isnan(p) else p  # no difference at all
    return found


@pytest.mark.parametrize(
    ("measure", "method"), [("P@10", "simplistic"), ("RBP(p=0.95)", "interpolated"), ("SDCG@100", "smoothed")]
)
def test_table_2_and_figures_4_and_5(measure: str, method: str, study: Study, loops: Loops) -> None:
    few, n = size_of(study, 0), len(loops.order)
    label = f"{len(loops.pooled)}-con"
    before, after = (p_values(loops, loops.pooled, measure, method, size) for size in (few, n))
    found = one(study, "table2", systems=label, metric=measure, predictor=method)
    share = 100 / len(before)
    assert found["separability_few"] == pytest.approx(share * sum(p < LEVEL for p in before.values()))
    assert found["separability_all"] == pytest.approx(share * sum(p < LEVEL for p in after.values()))
    back = [pair for pair in before if before[pair] < LEVEL <= after[pair]]
    assert found["reversals"] == pytest.approx(share * len(back))
    curve = one(study, "fig4", systems=label, metric=measure, predictor=method, judgments=few)
    assert curve["separability_percent"] == found["separability_few"]
    if method == "simplistic":
        dots = {(row["run_a"], row["run_b"]): row for row in rows(study, "fig5") if row["systems"] == label}
        assert {pair for pair, row in dots.items() if row["outcome"] == "reversed"} == set(back)
        for pair, p in before.items():
            assert dots[pair]["p_few"] == pytest.approx(p, rel=1e-6)
            assert dots[pair]["p_all"] == pytest.approx(after[pair], rel=1e-6)


def test_some_pairs_differ(study: Study) -> None:
    """Or the test above would say little."""
    assert all(0 < row["separability_all"] < 100 for row in rows(study, "table2"))
    assert len({row["outcome"] for row in rows(study, "fig5")}) >= 3


def test_figure_1(study: Study, loops: Loops) -> None:
    known = loops.known(size_of(study, 0))
    first = []
    for name in loops.others:
        for topic in loops.topics:
            ranking = loops.rankings[name][topic]
            first.append(next((i for i, d in enumerate(ranking, 1) if d not in known[topic]), len(ranking) + 1))
    for rank, low, high in (("1", 1, 1), ("2", 2, 2), ("6–7", 6, 7)):
        found = one(study, "fig1", systems=f"{len(loops.others)}-non", rank=rank)["percent"]
        assert found == pytest.approx(100 * sum(low <= x <= high for x in first) / len(first))


# -- the error of the predictors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", rm.ADDING)
@pytest.mark.parametrize(("figure", "method"), [("fig2", "interpolated"), ("fig3", "smoothed")])
def test_minima_are_minima_and_drawn_where_they_are(
    figure: str, method: str, measure: str, study: Study, loops: Loops
) -> None:
    sizes = rm_prefixes.prefix_sizes(len(loops.order), len(loops.topics))
    cases = [
        (*loops.interval(measure, name, topic, n), loops.interval(measure, name, topic, len(loops.order))[0])
        for n in sizes
        for name in loops.pooled
        for topic in loops.topics
    ]
    B, delta, Y = np.array(cases).T

    def error(x: Sequence[float]) -> float:
        unknown = delta > 1 - 1e-12
        inner = np.where(unknown, x[1], B + x[0] * delta * B / np.where(unknown, 1, 1 - delta))
        X = inner if method == "interpolated" else (1 - delta) * inner + delta * (B + delta * x[1])
        return float(np.sqrt(((X - Y) ** 2).mean()))

    starts = [(c, e) for c in (0.1, 0.9) for e in (0.1, 0.9)]
    best = min((minimize(error, x, bounds=[(0, 1), (0, 1)]) for x in starts), key=lambda found: found.fun)
    least = one(study, figure, metric=measure, is_minimum=True)
    assert least["rmse"] == pytest.approx(best.fun, abs=1e-6)
    assert error((least["C"], least["E"])) == pytest.approx(least["rmse"], abs=1e-9)
    grid = [row for row in rows(study, figure) if row["metric"] == measure and not row["is_minimum"]]
    for row in grid[::97]:
        assert row["rmse"] == pytest.approx(error((row["C"], row["E"])), abs=1e-9)
    assert min(row["rmse"] for row in grid) >= least["rmse"] - 1e-12
    together = one(study, "tableB", metric=measure, predictor=method, constants="tuned", judgments="all sizes")
    assert together["rmse"] == pytest.approx(least["rmse"])
    if charts.available():
        drawing = study[figure].chart.drawings[rm.ADDING.index(measure)]  # type: ignore[union-attr]
        assert drawing.how["best"] == (least["C"], least["E"])


def test_errors_at_each_size(study: Study, loops: Loops) -> None:
    n = size_of(study, 0)
    errors = []
    for name in loops.pooled:
        for topic in loops.topics:
            X = point("smoothed", *loops.interval("P@10", name, topic, n))
            errors.append((X - loops.interval("P@10", name, topic, len(loops.order))[0]) ** 2)
    found = one(study, "tableB", metric="P@10", predictor="smoothed", constants="published", judgments=n)
    assert found["rmse"] == pytest.approx(math.sqrt(statistics.fmean(errors)))
    best, usual = (
        one(study, "tableB", metric="P@10", predictor=name, constants="tuned", judgments="all sizes")["rmse"]
        for name in (rm.BEST_ALPHA, "smoothed")
    )
    assert best <= usual + 1e-9


# -- other constants --------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_another_alpha_and_other_constants(made: Collection, loops: Loops) -> None:
    chosen = rm.study(experiment(made), rm.RMSettings("file", smoothing=0.3, significance=LEVEL))
    n = size_of(chosen, 0)
    both = [loops.interval("P@10", name, topic, n) for name in loops.others for topic in loops.topics]
    found = one(chosen, "table1d", systems=f"{len(loops.others)}-non", judgments=n)["P@10"]
    assert found == pytest.approx(statistics.fmean(point("smoothed", *x, alpha=0.3) for x in both))
    assert chosen["table1d"].title == "smoothed scores, α X_I + (1 - α) X_B with C = 0.91, E = 0.05, α = 0.3"
    assert any("α = 0.3, not the paper's 1-delta" in note for note in chosen.notes)
    assert "with α = 0.3" in chosen["fig3"].title
    other = rm.study(experiment(made), rm.RMSettings("file", constants=(0.2, 0.1, 0.5, 0.3)))
    assert other["table1c"].title.endswith("C = 0.20, E = 0.10")
    assert other["table1d"].title.endswith("C = 0.50, E = 0.30")
    assert "the constants given" in other["table2"].title
    assert rm.RMSettings(constants=(0.2, 0.1)).chosen()["smoothed"].C == 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (rm.RMSettings(constants=(0.5,)), "constants: expected C,E or C,E,C,E"),
        (rm.RMSettings(constants=(0.5, 2)), "constants: expected C,E or C,E,C,E"),
        (rm.RMSettings(smoothing="delta"), "smoothing: expected a number from 0 to 1, 1-delta or a power"),
        (rm.RMSettings(significance=2), "significance: "),
        (rm.RMSettings(sizes=[0]), "sizes: expected"),
    ],
)
def test_wrong_settings(settings: rm.RMSettings, message: str, made: Collection) -> None:
    with pytest.raises(FathomsError, match=message):
        rm.study(experiment(made), settings)


def test_flags(tmp_path: Path, made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)
    write(made, tmp_path / "sim")
    files = [tmp_path / "sim" / "qrels.txt", tmp_path / "sim" / "runs", "--pooled", tmp_path / "sim" / "pooled.txt"]
    flags = ["--sizes", "40,90", "--constants", "0.3,0.02", "--smoothing", "(1-delta)^2", "--significance", "0.05"]
    assert status("papers", "rm", *files, *flags, "--prefix-order", "file", "-o", tmp_path / "out") == 0
    text = (tmp_path / "out" / "index.md").read_text()
    assert "smoothed scores, α X_I + (1 - α) X_B with C = 0.30, E = 0.02, α = (1-delta)^2" in text
    assert "p < 0.05, paired t-test" in text
    assert "| 40 |" in text
    assert status("papers", "rm", *files, "--constants", "x", "-o", tmp_path / "out") == 2


# -- as printed -------------------------------------------------------------------------------------------------------


def test_tables_are_laid_out_as_in_the_paper(study: Study) -> None:
    head = [column.head for column in study["table1a"].printed().columns]
    assert head == ["Systems", "Judgments", "P@10", "SDCG", "RBP", "AP", "NDCG"]
    theirs = study["table1b"].in_paper
    assert theirs is not None
    assert [cell.text for cell in theirs.printed().rows[2]] == [
        "69,100",
        "0.1631",
        "0.2311",
        "0.1955",
        "0.2309",
        "0.3229",
    ]
    for exhibit in study.exhibits:
        assert len(set(exhibit.columns)) == len(exhibit.columns)
        if exhibit.is_table:
            assert exhibit.layout
            assert len(exhibit.printed().rows[0]) == len(exhibit.layout)
    titles = [exhibit.title for exhibit in study.exhibits]
    assert len(set(titles)) == len(titles)
