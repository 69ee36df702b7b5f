"""Several runs of one system: formulas against plain ones, false claims and power where repetitions spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.evidence.evidence import Floats
from fathoms.inference.paired_tests import student
from fathoms.inference.replicates import Repeated, Systems, own_ranks_over_both

PAIR = (np.array([0]), np.array([1]))


def scores(rng: np.random.Generator, runs: int, topics: int, spread: float, lead: float = 0.0) -> Floats:
    """Two systems with so many runs each, [run, topic]; from system to topic 0.5, and 0.3 that nothing explains."""
    system = np.repeat([0, 1], runs)
    together = rng.normal(size=(2, topics)) * 0.5
    values = rng.normal(size=topics) + together[system] + rng.normal(size=(2 * runs, topics)) * 0.3
    return np.asarray(values + rng.normal(size=(2 * runs, 1)) * spread + lead * (system == 0)[:, None])


def test_parts_of_the_variance() -> None:
    """A two-way analysis of variance of each system by plain loops."""
    values = scores(np.random.default_rng(1), 4, 9, 0.2)
    repeated = Repeated.of(values, Systems(["a", "b"], np.repeat([0, 1], 4)))
    for system in (0, 1):
        of_system = values[4 * system : 4 * system + 4]
        grand = of_system.mean()
        square = sum(
            (of_system[r, t] - of_system[r].mean() - of_system[:, t].mean() + grand) ** 2
            for r in range(4)
            for t in range(9)
        )
        assert repeated.left[system] == pytest.approx(square / (3 * 8))
        assert repeated.between_runs[system] == pytest.approx(np.var([row.mean() for row in of_system], ddof=1))
        own = max(repeated.between_runs[system] - repeated.left[system] / 9, 0)
        assert repeated.of_repetition[system] == pytest.approx(own)
    diff, error, freedom = (float(part[0]) for part in repeated.differences(*PAIR))
    by_topic = values[:4].mean(axis=0) - values[4:].mean(axis=0)
    assert diff == pytest.approx(by_topic.mean())
    assert error**2 == pytest.approx(by_topic.var(ddof=1) / 9 + repeated.of_repetition.sum() / 4)
    assert 1 <= freedom <= 8 + 3 + 3


def test_systems_of_one_run_have_the_paired_t_test() -> None:
    values = scores(np.random.default_rng(2), 1, 20, 0.0)
    repeated = Repeated.of(values, Systems(["a", "b"], np.array([0, 1])))
    assert repeated.p_values(*PAIR)[0] == pytest.approx(student(values[:1] - values[1:])[0])


@pytest.mark.parametrize(("runs", "spread"), [(3, 0.0), (3, 0.3), (5, 0.1), (5, 0.3)])
def test_false_claims(runs: int, spread: float) -> None:
    """At 5%: at most 7 in 100, where the t-test of the means over topics errs in up to 40."""
    rng = np.random.default_rng(3)
    systems = Systems(["a", "b"], np.repeat([0, 1], runs))
    claims, plain = [], []
    for _ in range(600):
        repeated = Repeated.of(scores(rng, runs, 40, spread), systems)
        claims.append(repeated.p_values(*PAIR)[0] < 0.05)
        plain.append(student((repeated.means[0] - repeated.means[1])[None])[0] < 0.05)
    assert np.mean(claims) < 0.075
    if spread == 0.3:
        assert np.mean(plain) > 0.25


def test_power_grows_with_runs() -> None:
    rng = np.random.default_rng(4)
    found = []
    for runs in (2, 4, 8):
        systems = Systems(["a", "b"], np.repeat([0, 1], runs))
        p = [Repeated.of(scores(rng, runs, 50, 0.15, 0.3), systems).p_values(*PAIR)[0] for _ in range(300)]
        found.append(np.mean(np.array(p) < 0.05))
    assert found[0] < found[1] < found[2]
    assert found[2] > 0.6


def test_own_ranks_cover_over_both() -> None:
    rng = np.random.default_rng(5)
    systems = Systems(["a", "b"], np.repeat([0, 1], 4))
    inside = []
    for _ in range(60):
        low, high = own_ranks_over_both(scores(rng, 4, 30, 0.3, 0.2), systems, 0.05, 0)
        inside.append([low[0] == 1, high[1] == 2])
    assert np.mean(inside) > 0.93


def test_variance_with_other_numbers() -> None:
    """That of the design there is comes back; and simulated designs have the variance that is said."""
    rng = np.random.default_rng(6)
    systems = Systems(["a", "b"], np.repeat([0, 1], 40))
    repeated = Repeated.of(scores(rng, 40, 400, 0.2), systems)
    of_topics = repeated.topic_variances(*PAIR)
    now = repeated.variance_of_difference(400, 40, of_topics, *PAIR)[0]
    assert now == pytest.approx(repeated.differences(*PAIR)[1][0] ** 2, rel=1e-6)
    said = repeated.variance_of_difference(20, 2, of_topics, *PAIR)[0]
    few = Systems(["a", "b"], np.repeat([0, 1], 2))
    drawn = [np.subtract(*few.means(scores(rng, 2, 20, 0.2)).mean(axis=1)) for _ in range(3000)]
    assert np.var(drawn) == pytest.approx(said, rel=0.15)


# -- the questions ------------------------------------------------------------------------------------------------


def world() -> tuple[dict[str, Any], dict[str, Any]]:
    """Two systems with three runs each, and one with one, on fifteen topics."""
    rng = np.random.default_rng(7)
    qrels = {str(t): {f"d{i}": int(i < 6) for i in range(30)} for t in range(15)}
    runs: dict[str, Any] = {}
    for name, strength, count in (("good", 1.2, 3), ("bad", 0.2, 3), ("plain", 0.7, 1)):
        for seed in range(count):
            runs[f"{name}-{seed}"] = {
                topic: {d: float(rng.normal() + strength * grade) for d, grade in grades.items()}
                for topic, grades in qrels.items()
            }
    return qrels, runs


@pytest.fixture(scope="module")
def experiment() -> fm.Experiment:
    return fm.Experiment(*world(), replicates="{system}-*")


def test_compare_is_about_systems(experiment: fm.Experiment) -> None:
    result = experiment.compare("AP")
    frame = result.frame
    assert set(frame["run_a"]) | set(frame["run_b"]) == {"good", "bad", "plain"}
    values = np.stack([np.array(of) for of in scores_of(experiment)])
    repeated = Repeated.of(values, Systems(["good", "bad", "plain"], np.array([0, 0, 0, 1, 1, 1, 2])))
    a, b = np.triu_indices(3, 1)
    assert frame["p"].to_list() == pytest.approx(repeated.p_values(a, b).tolist())
    assert frame["diff"].to_list() == pytest.approx(repeated.differences(a, b)[0].tolist())
    assert ((frame["ci_low"] > 0) | (frame["ci_high"] < 0)).to_list() == (frame["p_corrected"] < 0.05).to_list()
    assert any("good (3 runs) AP" in line for line in result.sentences)
    assert any("There is one run of plain" in line for line in result.sentences)
    assert "good" in result.table("latex")
    assert any("of logarithms" in line for line in experiment.compare("GMAP").sentences)
    with pytest.raises(fm.FathomsError, match="are for single runs"):
        experiment.compare("AP", test="wilcoxon")


def scores_of(experiment: fm.Experiment) -> list[list[float]]:
    frame = experiment.evaluate("AP", by_topic=True).frame.filter(fm_topic())
    return [frame.filter(run=name)["score"].to_list() for name in experiment.runs]


def fm_topic() -> Any:
    import polars as pl

    return pl.col("topic") != "all"


def test_eval_adds_rows_of_systems(experiment: fm.Experiment) -> None:
    frame = experiment.evaluate("AP").frame
    single = frame.filter(run="good-0")["score"][0], frame.filter(run="good-1")["score"][0], 0.0
    [score] = frame.filter(run="good (3 runs)")["score"].to_list()
    third = frame.filter(run="good-2")["score"][0]
    assert score == pytest.approx((single[0] + single[1] + third) / 3)
    low, high = frame.filter(run="good (3 runs)").select("ci_low", "ci_high").row(0)
    assert low < score < high
    assert frame.filter(run="plain (1 runs)").is_empty()


def test_rank_and_gate_and_plan(experiment: fm.Experiment) -> None:
    ranking = experiment.rank("AP")
    assert [standing.run for standing in ranking.standings] == ["good", "plain", "bad"]
    assert ranking.standings[0].own_rank_low == 1
    assert any("7 runs are of 3 systems" in line for line in ranking.sentences)
    qrels, runs = world()
    pair = {name: run for name, run in runs.items() if not name.startswith("plain")}
    gate = fm.Experiment(qrels, pair, replicates="{system}-*").gate("AP")
    assert gate.outcome == "fails"
    assert (gate.baseline, gate.candidate) == ("good", "bad")
    other = fm.Experiment(qrels, dict(reversed(pair.items())), replicates="{system}-*").gate("AP")
    assert other.outcome == "passes"
    assert "confidence over topics and repetitions" in other.headline
    assert "over topics and repetitions." in other.markdown()
    plan = experiment.plan("AP", min_difference=0.1)
    topics = plan.frame.filter(question="repetitions")["topics"].to_list()
    assert topics == sorted(topics, reverse=True)
    assert any("repetitions count too" in line for line in plan.sentences)


def test_replicates_are_read(tmp_path: Path) -> None:
    qrels, runs = world()
    path = tmp_path / "systems.tsv"
    path.write_text("".join(f"{name}\t{name.partition('-')[0]}\n" for name in runs))
    wanted = fm.Experiment(qrels, runs, replicates="{system}-*").compare("AP").frame
    assert fm.Experiment(qrels, runs, replicates=str(path)).compare("AP").frame.equals(wanted)
    named = {name: name.partition("-")[0] for name in runs}
    assert fm.Experiment(qrels, runs, replicates=named).compare("AP").frame.equals(wanted)
    one_letter = fm.Experiment(qrels, runs, replicates="{system}-?").compare("AP").frame
    assert one_letter.equals(wanted)
    with pytest.raises(fm.FathomsError, match="no two of the 7 runs are of one system"):
        fm.Experiment(qrels, runs, replicates="{system}.seed*")
