"""Clusters of topics: formulas against plain ones, and how often tests err on clustered topics."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.evidence.evidence import Floats
from fathoms.inference.mean_intervals import bca_interval, student_interval
from fathoms.inference.mean_intervals import bootstrap_interval as percentiles
from fathoms.inference.paired_tests import bootstrap, randomization, student
from fathoms.inference.units import Units

UNEVEN = Units(np.array([0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4]))
EVEN = Units(np.repeat(np.arange(6), 3))


def clustered(rng: np.random.Generator, units: Units, repetitions: int, share: float) -> Floats:
    """Scores of a normal distribution, of whose variance such a share is that of the cluster."""
    of_cluster = rng.normal(size=(repetitions, len(units)))[:, units.number]
    own = rng.normal(size=(repetitions, len(units.number)))
    return np.sqrt(share) * of_cluster + np.sqrt(1 - share) * own


def test_mean_and_singletons_stay() -> None:
    values = np.random.default_rng(1).random((4, 11))
    for made in (UNEVEN.linear(values), UNEVEN.totals(values)):
        assert made.shape == (4, 5)
        np.testing.assert_allclose(made.mean(axis=1), values.mean(axis=1))
    alone = Units.of([f"t{i}" for i in range(11)])
    np.testing.assert_allclose(alone.linear(values), values)
    np.testing.assert_allclose(alone.totals(values), values)


def test_even_clusters_are_their_means() -> None:
    values = np.random.default_rng(2).random((2, 3, 18))
    means = values.reshape(2, 3, 6, 3).mean(axis=3)
    np.testing.assert_allclose(EVEN.linear(values), means)
    np.testing.assert_allclose(EVEN.totals(values), means)


def test_t_of_even_clusters_is_cluster_robust() -> None:
    """The sandwich of a regression on a constant: (X'X)^-1 sum_c X_c' e_c e_c' X_c (X'X)^-1, times C / (C - 1)."""
    from scipy.stats import t

    values = np.random.default_rng(3).normal(size=18)
    X = np.ones((18, 1))
    residual = values - values.mean()
    moments = [X[EVEN.number == c].T @ residual[EVEN.number == c] for c in range(6)]
    bread = np.linalg.inv(X.T @ X)
    variance = (bread @ sum(np.outer(moment, moment) for moment in moments) @ bread)[0, 0] * 6 / 5
    for low, high in (student_interval(EVEN.linear(values[None]), 0.95), EVEN.ratio_interval(values[None], 0.95)):
        assert (high - low)[0] / 2 == pytest.approx(t.ppf(0.975, 5) * np.sqrt(variance))


def test_linear_parts_of_uneven_clusters() -> None:
    """Residuals of a cluster times (I - H)^(-1/2), H the projection on the constant, as Bell and McCaffrey have it."""
    values = np.random.default_rng(3).normal(size=11)
    residual = values - values.mean()
    parts = []
    for c in range(5):
        inside = UNEVEN.number == c
        size = int(inside.sum())
        eigenvalues, vectors = np.linalg.eigh(np.eye(size) - np.ones((size, size)) / 11)
        adjusted = vectors @ np.diag(eigenvalues**-0.5) @ vectors.T @ residual[inside]
        parts.append(adjusted.sum() * 5 / 11 * np.sqrt(4 / 5))
    expected = values.mean() + np.array(parts) - np.mean(parts)
    np.testing.assert_allclose(UNEVEN.linear(values[None])[0], expected)


def test_ratio_interval_inverts_the_test() -> None:
    values = np.random.default_rng(8).normal(1.0, 0.4, size=(3, 11))
    ends = UNEVEN.ratio_interval(values, 0.9)
    for row, low, high in zip(values, *ends, strict=True):
        for end in (low, high):
            assert student(UNEVEN.totals(row[None] - end))[0] == pytest.approx(0.1)
        assert low < row.mean() < high
    assert np.isnan(UNEVEN.ratio_interval(np.ones((1, 11)), 0.9)).all()


def test_signs_of_whole_clusters_are_changed() -> None:
    values = np.random.default_rng(4).normal(0.3, size=11)
    found = randomization(UNEVEN.totals(values[None]))[0]
    sums = [
        abs(sum(sign * values[UNEVEN.number == c].sum() for c, sign in enumerate(signs)))
        for signs in itertools.product((-1, 1), repeat=5)
    ]
    assert found == np.mean(np.array(sums) >= abs(values.sum()) - 1e-12)


SIZES = {"even": np.full(20, 4), "uneven": np.tile([1, 2, 3, 6, 8], 5)}


@pytest.mark.parametrize("sizes", SIZES)
def test_nominal_tests_keep_their_level_on_clusters(sizes: str) -> None:
    """At 5%: 3 to 7 in 100, where the plain t-test errs in 20 and more."""
    units = Units(np.repeat(np.arange(len(SIZES[sizes])), SIZES[sizes]))
    values = clustered(np.random.default_rng(6), units, 1500, 0.6)
    assert (student(values) < 0.05).mean() > 0.2
    for p in (student(units.totals(values)), randomization(units.totals(values))):
        assert 0.03 < (p < 0.05).mean() < 0.07
    # The bootstrap test is a little too sure of itself on 25 of anything: as much on independent topics.
    alone = bootstrap(np.random.default_rng(6).normal(size=(1500, len(units))))
    assert abs((bootstrap(units.totals(values)) < 0.05).mean() - (alone < 0.05).mean()) < 0.02


def test_intervals_of_means_cover_on_clusters() -> None:
    units = Units(np.repeat(np.arange(25), SIZES["uneven"]))
    values = clustered(np.random.default_rng(7), units, 600, 0.6) + 2.0
    low, high = student_interval(values, 0.95)
    assert ((low <= 2) & (high >= 2)).mean() < 0.8
    for low, high in (
        units.ratio_interval(values, 0.95),
        percentiles(units.linear(values), 0.95, 0),
        bca_interval(units.linear(values), 0.95, 0),
    ):
        assert 0.88 < ((low <= 2) & (high >= 2)).mean() < 0.98


# -- the questions ------------------------------------------------------------------------------------------------


def world(copies: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Twelve topics and three runs, each topic so many times; the cluster of a copy is the topic that it is of."""
    rng = np.random.default_rng(9)
    qrels: dict[str, Any] = {}
    runs: dict[str, Any] = {"a": {}, "b": {}, "c": {}}
    for topic in range(12):
        grades = {f"d{i}": int(rng.random() < 0.3) for i in range(20)}
        ranked = {run: {f"d{i}": float(s) for i, s in enumerate(rng.permutation(20))} for run in runs}
        for copy in range(copies):
            qrels[f"{topic}-{copy}"] = grades
            for run, scores in ranked.items():
                runs[run][f"{topic}-{copy}"] = scores
    return qrels, runs, {topic: topic.partition("-")[0] for topic in qrels}


@pytest.fixture(scope="module")
def experiments() -> tuple[fm.Experiment, fm.Experiment]:
    once = fm.Experiment(*world(1)[:2])
    qrels, runs, clusters = world(3)
    return once, fm.Experiment(qrels, runs, cluster=clusters)


def test_copies_of_topics_change_nothing(experiments: tuple[fm.Experiment, fm.Experiment]) -> None:
    """Topics that are there three times, as clusters, say what they say once."""
    once, thrice = experiments
    same = {"rel": 1e-9, "abs": 1e-9}
    for test in ("t", "randomization", "wilcoxon", "bootstrap"):
        found = [e.compare("AP", test=test).frame for e in (once, thrice)]
        for column in ("diff", "diff_low", "ci_low", "ci_high", "p", "p_corrected", "effect", "verdict", "reason"):
            left, right = (frame[column].to_list() for frame in found)
            assert (left == right) if isinstance(left[0], str) and column == "verdict" else True
            if not isinstance(left[0], str):
                assert left == pytest.approx(right, **same), (test, column)  # type: ignore[arg-type]
    for interval in ("t", "bootstrap", "bca"):
        ends = [e.evaluate("AP", interval=interval).frame for e in (once, thrice)]
        for column in ("ci_low", "ci_high"):
            assert ends[0][column].to_list() == pytest.approx(ends[1][column].to_list(), abs=1e-9)
    ranked = [e.rank("AP").frame for e in (once, thrice)]
    columns = ["run", "rank_ci_low", "rank_ci_high", "own_rank_low", "own_rank_high", "group"]
    assert ranked[0].select(columns).equals(ranked[1].select(columns))
    plans = [e.plan("AP").frame.filter(question="topics") for e in (once, thrice)]
    assert plans[0]["topics"].to_list() == plans[1]["topics"].to_list()


def test_a_gate_takes_clusters() -> None:
    rows = []
    for copies in (1, 3):
        qrels, runs, clusters = world(copies)
        pair = {name: runs[name] for name in ("a", "b")}
        rows.append(fm.Experiment(qrels, pair, cluster=clusters).gate("AP", max_drop=0.05).measured[0])
    once, thrice = rows
    assert (once.topics, thrice.topics) == (12, 36)
    for name in ("diff", "lower", "upper", "p_beyond", "p_drop", "p_drop_worst", "p_beyond_worst"):
        assert getattr(once, name) == pytest.approx(getattr(thrice, name), abs=1e-7), name


def test_sentences_say_so(experiments: tuple[fm.Experiment, fm.Experiment]) -> None:
    _, thrice = experiments
    assert any("12 clusters of topics" in line for line in thrice.evaluate("AP").remarks)
    assert any("over 12 clusters of topics" in line for line in thrice.compare("AP").sentences)
    assert any("12 clusters of topics" in line for line in thrice.rank("AP").sentences)
    assert "clusters to find" in thrice.plan("AP").answer[0]


def test_clusters_are_read_from_a_file_or_a_column(tmp_path: Path) -> None:
    qrels, runs, clusters = world(2)
    path, table = tmp_path / "clusters.tsv", tmp_path / "topics.tsv"
    path.write_text("".join(f"{topic}\t{cluster}\n" for topic, cluster in clusters.items()))
    rows = [f"{topic}\t{'long' if int(cluster) > 5 else 'short'}\t{cluster}\n" for topic, cluster in clusters.items()]
    table.write_text("topic\tlength\tcluster\n" + "".join(rows))
    wanted = fm.Experiment(qrels, runs, cluster=clusters).evaluate("AP").frame
    assert fm.Experiment(qrels, runs, cluster=str(path)).evaluate("AP").frame.equals(wanted)
    by_column = fm.Experiment(qrels, runs, topic_groups=str(table), group_by="length", cluster="cluster")
    assert by_column.evaluate("AP").frame.filter(topic="all").equals(wanted.filter(topic="all"))
    with pytest.raises(fm.FathomsError, match="names none of the judged topics"):
        _ = fm.Experiment(qrels, runs, cluster={"x": "y"}).evaluate("AP").frame
    with pytest.raises(fm.FathomsError, match="in two clusters"):
        fm.Experiment(qrels, runs, cluster={"0-0": ["x", "y"]})  # type: ignore[dict-item]


def test_check_notes_topics_with_the_same_words(tmp_path: Path) -> None:
    qrels, runs, _ = world(1)
    texts = {topic: f"query number {topic}" for topic in qrels} | {"1-0": "Cheap flights", "2-0": "flights, cheap?"}
    found = fm.Experiment(qrels, runs).check(topic_texts=texts)
    [line] = [finding.message for finding in found.findings if "words of another" in finding.message]
    assert line.startswith("2 of 12 topics ask with the words of another one")
    path = tmp_path / "topics.tsv"
    path.write_text("".join(f"{topic}\t{text}\n" for topic, text in texts.items()))
    again = fm.Experiment(qrels, runs).check(topic_texts=str(path))
    assert line in [finding.message for finding in again.findings]
