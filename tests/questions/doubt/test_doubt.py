"""Error budgets: parts that are known, intervals of other tools, documents' own doubt by enumeration, and sentences."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fathoms as fm
from fathoms.estimate.document_effects import DocumentEffects, document_effects
from fathoms.estimate.probabilities import relevance_probabilities
from fathoms.measures.parse import parse_measure
from fathoms.questions.doubt.analysis import variances
from tests.support.commands import finished


def test_parts_of_the_variance_are_those_that_scores_were_made_of() -> None:
    """Topics, draws and both together have effects of known variance; shares are right to 5 points."""
    rng = np.random.default_rng(3)
    for of_topics, of_draws, of_both in ((1.0, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 1.0), (1.0, 0.1, 2.0)):
        topics, draws = 400, 1000
        scores = rng.normal(0, np.sqrt(of_topics), topics) + rng.normal(0, np.sqrt(of_draws), (draws, 1))
        scores = scores + rng.normal(0, np.sqrt(of_both), (draws, topics))
        ties = 0.5 / topics
        parts = variances(scores, ties)
        # The draws of single topics are independent, so that their mean has a part of their variance too.
        known = np.array([of_topics / topics, of_draws + of_both / topics, of_both / topics, ties])
        shares = np.array([parts.topics, parts.judging, parts.both, parts.ties]) / parts.total
        assert shares == pytest.approx(known / known.sum(), abs=0.05)


def judged(topics: int, seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Two runs of ten documents, all judged, without ties."""
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(10)]
    qrels = {f"t{t}": dict(zip(documents, rng.integers(0, 2, 10).tolist(), strict=True)) for t in range(topics)}
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for name in ("a", "b"):
        runs[name] = {
            topic: dict(zip(documents, rng.permutation(10).astype(float).tolist(), strict=True)) for topic in qrels
        }
    return qrels, runs


def test_where_all_is_judged_it_is_the_t_interval_over_topics() -> None:
    qrels, runs = judged(12, 1)
    [budget] = fm.doubt(qrels, runs["a"], "P@3").budgets
    rows = fm.evaluate(qrels, runs["a"], "P@3", by_topic=True)
    scores = rows.filter(rows["topic"] != "all")["score"].to_numpy()
    low, high = stats.t.interval(0.95, 11, loc=scores.mean(), scale=stats.sem(scores))
    assert (budget.low, budget.high) == pytest.approx((low, high))
    assert budget.shares[0].name == "topics"
    assert budget.shares[0].share == pytest.approx(1.0)
    assert budget.to_judge == []

    [pair] = fm.doubt(qrels, runs, "P@3").budgets
    low, high = stats.ttest_rel(*(_scores(qrels, runs[name]) for name in ("a", "b"))).confidence_interval()
    assert (pair.low, pair.high) == pytest.approx((low, high))


def _scores(qrels: Any, run: Any) -> Any:
    rows = fm.evaluate(qrels, run, "P@3", by_topic=True)
    return rows.filter(rows["topic"] != "all")["score"].to_numpy()


def test_ties_alone() -> None:
    """All topics are alike: one relevant document among three tied ones, RR is 1, 1/2 or 1/3."""
    topics = [f"t{i}" for i in range(40)]
    qrels = {topic: {"a": 1, "b": 0, "c": 0} for topic in topics}
    run = {topic: {"a": 1.0, "b": 1.0, "c": 1.0} for topic in topics}
    [budget] = fm.doubt(qrels, run, "RR").budgets
    ties = budget.source("ties")
    assert ties is not None
    assert [ties.low, ties.high] == pytest.approx([1 / 3, 1])
    assert ties.share == pytest.approx(1.0)
    variance = np.var([1, 1 / 2, 1 / 3]) / len(topics)
    half = stats.t.ppf(0.975, 39) * np.sqrt(variance)
    assert budget.high - budget.low == pytest.approx(2 * half, rel=0.05)  # from shuffles


def test_a_run_and_its_copy_differ_by_nothing() -> None:
    qrels, runs = judged(8, 2)
    tied = {topic: dict.fromkeys(scores, 1.0) for topic, scores in runs["a"].items()}
    [budget] = fm.doubt(qrels, {"a": tied, "copy": tied}, "AP").budgets
    assert (budget.score, budget.low, budget.high) == (0, 0, 0)
    assert all((source.low, source.high) == (0, 0) for source in budget.sources)


def effects_of(measure: str, runs: tuple[str, ...]) -> tuple[DocumentEffects, Any, Any]:
    collection = fm.simulate(systems=3, n_topics=4, n_docs=60, depth=8, pool_depth=3, unpooled=1, max_grade=1, seed=5)
    exp = fm.Experiment(collection.qrels, collection.runs, pooled=collection.pooled)
    chances = relevance_probabilities(exp, "fusion")
    parsed = parse_measure(measure)
    return document_effects(chances, parsed, runs, np.zeros(len(chances.candidates.topics))), chances, exp


@pytest.mark.parametrize("measure", ["P@5", "RBP(p=0.8)", "DCG@5"])
@pytest.mark.parametrize("runs", [("sys3",), ("sys3", "sys1")])
def test_weighted_measures_have_the_variance_of_all_completions(measure: str, runs: tuple[str, ...]) -> None:
    """Scores of one topic under every way of judging what is unjudged, each with its probability."""
    effects, chances, exp = effects_of(measure, runs)
    candidates, n = chances.candidates, len(chances.candidates.topics)
    rankings = {run: exp.runs[run].to_dict() for run in exp.runs}
    for topic, name in enumerate(candidates.topics):
        mine = [number for number in effects.candidate.tolist() if candidates.topic[number] == topic]
        if not 0 < len(mine) <= 9:
            continue
        ids = [candidates.documents[number].decode() for number in mine]
        total = total_of_squares = 0.0
        for grades in itertools.product((0, 1), repeat=len(mine)):
            known = exp.qrels.to_dict()
            known[name] |= dict(zip(ids, grades, strict=True))
            means = fm.evaluate({name: known[name]}, {run: {name: of[name]} for run, of in rankings.items()}, measure)
            score = {row["run"]: row["score"] for row in means.iter_rows(named=True)}
            value = score[runs[0]] - (score[runs[1]] if len(runs) == 2 else 0)
            chance = np.prod([p if g else 1 - p for p, g in zip(chances.probability[mine], grades, strict=True)])
            total, total_of_squares = total + chance * value, total_of_squares + chance * value**2
        of_topic = effects.variance[np.isin(effects.candidate, mine)].sum() * n**2
        assert of_topic == pytest.approx(total_of_squares - total**2)
        break
    else:
        pytest.fail("no topic was small enough")


def test_doubt_that_is_left_counts_what_documents_share() -> None:
    effects = DocumentEffects(np.arange(3), np.array([4.0, 2.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    assert effects.doubt_left(8.0) == pytest.approx(np.sqrt([1, 0.5, 0.25, 0]))
    # Of a variance of 24, 16 are an error of all documents together, of which the first has a quarter.
    assert effects.doubt_left(24.0) == pytest.approx(np.sqrt(np.array([24, 4 + 9, 2 + 4, 0]) / 24))


def test_settling_takes_no_topic_and_no_judgment_too_many(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=12)
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs")
    [budget] = exp.doubt("nDCG@10", of=("sys1", "sys2"), cost_topic=100).budgets
    assert not budget.is_clear
    [topics] = [way for way in budget.settling if way.unit == "topics"]
    # The interval has the greatest half width that leaves 0 out, and one topic fewer does not do.
    t = stats.t.ppf(0.975, 11)
    variance = ((budget.high - budget.low) / (2 * t)) ** 2
    n = 12 + topics.count
    widths = [stats.t.ppf(0.975, m - 1) * np.sqrt(variance * 12 / m) for m in (n, n - 1)]
    assert widths[0] < abs(budget.estimate) <= widths[1]
    assert topics.cost == 100 * topics.count
    assert [way.cost for way in budget.settling] == sorted(way.cost for way in budget.settling)


def test_neither_names_nor_order_matter(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=12)
    runs = dict(fm.read_runs(folder / "runs"))
    renamed = {name: runs[old] for name, old in zip("wxyz", ("sys4", "sys2", "sys1", "sys3"), strict=True)}
    one = fm.Experiment(folder / "qrels.txt", runs).doubt("AP", of=("sys4", "sys2"))
    other = fm.Experiment(folder / "qrels.txt", renamed).doubt("AP", of=("w", "x"))
    assert one.frame.equals(other.frame)
    assert [item[:2] for item in one.budgets[0].to_judge] == [item[:2] for item in other.budgets[0].to_judge]


def test_first_sentence_says_what_the_figures_say(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=12)
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs")
    for of in (("sys4",), ("sys4", "sys2"), ("sys2", "sys4"), ("sys1", "sys2")):
        doubt = exp.doubt(["nDCG@10", "P@10"], of=of)
        for budget, sentence in zip(doubt.budgets, doubt.answer, strict=True):
            assert f"{abs(budget.score):.4f}" in sentence
            greatest = budget.shares[0]
            reason = {
                "topics": "only 12 topics",
                "judging": "not judged",
                "both": "from topic to topic",
                "ties": "tied",
            }
            assert reason[greatest.name] in sentence
            assert ("mostly" in sentence) == ((greatest.share or 0) >= 0.5)
            if len(of) == 2 and budget.score:
                assert sentence.split(": ")[1].startswith(of[0] if budget.score > 0 else of[1])
                assert ("the order is in doubt" in sentence) == (not budget.is_clear)


def test_the_command(simulated: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = simulated(systems=4, n_topics=12)
    files = [str(folder / "qrels.txt"), str(folder / "runs" / "sys4.run"), str(folder / "runs" / "sys2.run")]
    todo, picture = tmp_path / "todo.tsv", tmp_path / "sounding.svg"
    done = finished(capsys, "doubt", *files, "--format", "json", "--judge-first", str(todo), "--quiet")
    records = json.loads(done.out)
    assert [*records[0]] == ["measure", "source", "low", "high", "share", "halved_by", "unit"]
    assert sum(record["share"] or 0 for record in records) == pytest.approx(1)
    [judging] = [record for record in records if record["source"] == "judging"]
    lines = todo.read_text().splitlines()
    assert lines[0].split("\t") == ["topic", "document", "rank_sys4", "rank_sys2"]
    assert len(lines) - 1 == judging["halved_by"]
    done = finished(capsys, "doubt", *files, "-o", str(picture))
    assert "<svg" in picture.read_text()
    assert "sys4 less sys2" in done.out


def test_what_it_cannot_answer_it_says(simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = simulated(systems=4, n_topics=12)
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs")
    with pytest.raises(fm.FathomsError, match="found 4; name them with --of"):
        exp.doubt("AP")
    with pytest.raises(fm.FathomsError, match="the run 'sys9' is not among the runs"):
        exp.doubt("AP", of="sys9")
    with pytest.raises(fm.FathomsError, match="sys1 is named twice"):
        exp.doubt("AP", of=("sys1", "sys1"))
    with pytest.raises(fm.FathomsError, match="GMAP is no mean over topics"):
        exp.doubt("GMAP", of="sys1")
    with pytest.raises(fm.FathomsError, match="one topic says nothing of others"):
        fm.doubt({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR")


@pytest.mark.parametrize(("measure", "words"), [("P@10", "takes about"), ("nDCG@10", "takes at least")])
def test_forecasts_that_did_not_hold_are_called_a_minimum(measure: str, words: str) -> None:
    """Judging what the list names halved the doubt by measures that add up, and not by those with an ideal."""
    made = fm.simulate(systems=5, n_topics=10, n_docs=500, depth=50, pool_depth=6, unpooled=2, seed=1)
    doubt = fm.Experiment(made.qrels, made.runs, pooled=made.pooled).doubt(measure, of="sys5")
    judging = doubt.budgets[0].source("judging")
    assert judging is not None
    assert judging.halved_by is not None
    [sentence] = [sentence for sentence in doubt.remarks if "the doubt from judging" in sentence]
    assert f"To halve the doubt from judging {words} {judging.halved_by} judgments" in sentence
