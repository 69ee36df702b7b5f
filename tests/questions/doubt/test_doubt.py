"""Error budgets: parts that are known, intervals of other tools, documents' own doubt by enumeration, and sentences."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fathoms as fm
from fathoms.estimate.document_effects import DocumentEffects, document_effects
from fathoms.estimate.estimates import run_estimates
from fathoms.inference.replicates import Repeated, Systems
from fathoms.inference.variance_components import variance_components
from fathoms.measures.parse import parse_measure
from fathoms.questions.doubt.parts import parts_of
from fathoms.questions.doubt.result import Budget, Doubt, Settling, Source, SourceName
from fathoms.questions.doubt.words import answers, remarks
from tests.support.commands import finished


def test_parts_of_the_variance_are_those_that_scores_were_made_of() -> None:
    """Topics, draws and both together have effects of known variance; shares are right to 5 points."""
    rng = np.random.default_rng(3)
    for of_topics, of_draws, of_both in ((1.0, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 1.0), (1.0, 0.1, 2.0)):
        topics, draws = 400, 1000
        scores = rng.normal(0, np.sqrt(of_topics), topics) + rng.normal(0, np.sqrt(of_draws), (draws, 1))
        scores = scores + rng.normal(0, np.sqrt(of_both), (draws, topics))
        ties = 0.5 / topics
        parts = parts_of(scores[:, None], [np.array([0])], ties)
        known = np.array([of_topics / topics, of_draws, of_both / topics, ties])
        shares = np.array([parts.variance[name] for name in ("topics", "judging", "both", "ties")]) / parts.total
        assert shares == pytest.approx(known / known.sum(), abs=0.05)


def test_repetitions_and_labels_have_parts_of_their_own() -> None:
    """Effects of topic, draw, repetition, and of each two and all three together, each of known variance."""
    rng = np.random.default_rng(8)
    draws, runs, topics, sources = 300, 60, 80, 50
    size = (draws, runs, topics)
    known = {"t": 1.0, "j": 0.02, "r": 0.5, "jt": 3.0, "rt": 20.0, "jr": 0.4, "jrt": 9.0}
    scores = np.zeros(size)
    for axes, variance in known.items():
        shape = [n if axis in axes else 1 for axis, n in zip("jrt", size, strict=True)]
        scores = scores + rng.normal(0, np.sqrt(variance), shape)
    of_labels = rng.normal(0, 1, (sources, 1)) + rng.normal(0, 2, (sources, topics)) + rng.normal(0, 5, topics)
    parts = parts_of(scores, [np.arange(runs)], 0.01, of_labels)
    expected: dict[SourceName, float] = {
        "topics": 1 / topics,
        "judging": 0.02,
        "both": 3 / topics,
        "repetitions": 0.5 / runs,
        "topics_repetitions": 20 / (runs * topics),
        "judging_repetitions": 0.4 / runs + 9 / (runs * topics),
        "ties": 0.01,
        "label_sources": 1 / sources,
        "topics_labels": 4 / (sources * topics),
    }
    total = sum(expected.values())
    for name, variance in expected.items():
        assert parts.variance[name] / parts.total == pytest.approx(variance / total, abs=0.05), name


def test_components_are_those_of_two_way_tables() -> None:
    """Searle, Casella and McCulloch, ch. 4: by mean squares, written out for two factors."""
    values = np.random.default_rng(1).normal(size=(5, 7)) + np.arange(5)[:, None] + 2 * np.arange(7)
    rows, columns, mean = values.mean(axis=1), values.mean(axis=0), values.mean()
    both = ((values - rows[:, None] - columns + mean) ** 2).sum() / (4 * 6)
    parts = variance_components(values, ("a", "b"))
    assert parts[frozenset("ab")] == pytest.approx(both)
    assert parts[frozenset("a")] == pytest.approx((7 * rows.var(ddof=1) - both) / 7)
    assert parts[frozenset("b")] == pytest.approx((5 * columns.var(ddof=1) - both) / 5)


def test_systems_of_several_runs(simulated: Callable[..., Path]) -> None:
    """Where all is judged and nothing is tied: mean, variance and degrees of freedom of inference.replicates."""
    qrels, runs = judged(30, 4)
    rng = np.random.default_rng(5)
    given = {
        f"{name}.{i}": {
            topic: {document: score + rng.normal(0, 2) for document, score in scores.items()}
            for topic, scores in run.items()
        }
        for name, run in runs.items()
        for i in range(4)
    }
    exp = fm.Experiment(qrels, given, replicates="{system}.*")
    [budget] = exp.doubt("P@3", of=("a", "b")).budgets
    scores = np.array([_scores(qrels, run) for run in given.values()])
    repeated = Repeated.of(scores, Systems.of(list(given), {name: name[0] for name in given}))
    low, high = repeated.intervals(np.array([0]), np.array([1]), np.array([0.05]))
    assert budget.estimate == pytest.approx((low[0] + high[0]) / 2)
    variance = sum(source.share or 0.0 for source in budget.sources)
    assert variance == pytest.approx(1.0)
    assert budget.high - budget.low == pytest.approx(high[0] - low[0], rel=0.05)
    assert budget.source("repetitions") is not None


def test_each_source_of_labels_and_the_labels_instead_of_judgments() -> None:
    made = fm.simulate(systems=4, n_topics=10, n_docs=300, depth=30, pool_depth=5, unpooled=1, max_grade=2, seed=2)
    truth = fm.read_qrels(made.truth).to_dict()
    rng = np.random.default_rng(0)
    labels = [
        {t: {d: int(np.clip(g + rng.integers(-1, 2), 0, 2)) for d, g in of.items()} for t, of in truth.items()}
        for _ in range(2)
    ]
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    [budget] = exp.doubt("P@10", of="sys4", labels=labels).budgets
    names = {source.name for source in budget.sources}
    assert {"label_sources", "topics_labels", "assessors", "labels"} <= names
    known = exp.qrels.to_dict()
    expected = []
    for of_source in labels:
        graded = {t: {d: of_source[t].get(d, g) for d, g in of.items()} for t, of in known.items()}
        [row] = fm.evaluate(graded, {"sys4": made.runs["sys4"]}, "P@10", ties="trec").to_dicts()
        expected.append(row["score"])
    source = budget.source("assessors")
    assert source is not None
    assert (source.low, source.high) == pytest.approx((min(expected), max(expected)))


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
    parsed = parse_measure(measure)
    open_documents = run_estimates(exp, [parsed]).open_documents
    assert open_documents is not None
    weights = dict(zip(runs, (1.0, -1.0), strict=False))
    expected = np.zeros(len(open_documents.candidates.topics))
    return document_effects(open_documents, 8, parsed, weights, expected), open_documents, exp


@pytest.mark.parametrize("measure", ["P@5", "RBP(p=0.8)", "DCG@5"])
@pytest.mark.parametrize("runs", [("sys3",), ("sys3", "sys1")])
def test_weighted_measures_have_the_variance_of_all_completions(measure: str, runs: tuple[str, ...]) -> None:
    """Scores of one topic under every way of judging what is unjudged, each with its probability."""
    effects, open_documents, exp = effects_of(measure, runs)
    candidates, n = open_documents.candidates, len(open_documents.candidates.topics)
    relevance = open_documents.chances_to(8, 1.0)[1]
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
            chance = np.prod([p if g else 1 - p for p, g in zip(relevance[mine], grades, strict=True)])
            total, total_of_squares = total + chance * value, total_of_squares + chance * value**2
        of_topic = effects.variance[np.isin(effects.candidate, mine)].sum() * n**2
        assert of_topic == pytest.approx(total_of_squares - total**2)
        break
    else:
        pytest.fail("no topic was small enough")


def test_what_is_left_is_what_estimating_again_gives() -> None:
    """Judged as one draw has them, the documents of the list leave the doubt that the tool then shows."""
    made = fm.simulate(systems=5, n_topics=20, n_docs=500, depth=50, pool_depth=6, unpooled=2, seed=1)
    for measure in ("P@10", "AP"):
        exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
        doubt = exp.doubt(measure, of="sys5")
        more, truth = exp.qrels.to_dict(), fm.read_qrels(made.truth).to_dict()
        for item in doubt.budgets[0].to_judge:
            more[item.topic][item.document] = truth[item.topic].get(item.document, 0)
        later = fm.Experiment(more, made.runs, pooled=made.pooled).doubt(measure, of="sys5")
        widths = [source.high - source.low for of in (doubt, later) if (source := of.budgets[0].source("judging"))]
        assert 0.25 < widths[1] / widths[0] < 0.75


def test_settling_takes_no_topic_and_no_judgment_too_many(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=12)
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs")
    [budget] = exp.doubt("nDCG@10", of=("sys1", "sys2"), cost_topic=100).budgets
    assert not budget.is_clear
    [topics] = [way for way in budget.settling if way.unit == "topics"]
    # With so many topics the interval leaves 0 out, and with one fewer it does not.
    measure = parse_measure("nDCG@10")
    draws = run_estimates(exp, [measure])[measure].draws
    parts = parts_of(draws, [np.array([0]), np.array([1])], 0.0)
    n = 12 + topics.count

    def towards_zero(n: int) -> float:
        """How far the interval reaches on the side of 0: the part of judging leans as its draws do."""
        judging, more = budget.source("judging"), parts.with_topics(n)
        assert judging is not None
        side = budget.estimate - judging.low if budget.estimate > 0 else judging.high - budget.estimate
        lean = 2 * side / (judging.high - judging.low)
        share = more.variance["judging"] / more.total
        return more.half_width(0.95) * math.sqrt(1 - share + share * lean**2)

    assert towards_zero(n) < abs(budget.estimate) <= towards_zero(n - 1)
    assert towards_zero(12) >= abs(budget.estimate)
    assert all(way.count > 0 for way in budget.settling)
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
                "judging": "unjudged documents",
                "both": "on some topics than on others",
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
    assert "nDCG@10: " in done.out


def test_a_difference_is_shown_as_the_lead_whichever_run_is_named_first(
    simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = simulated(systems=4, n_topics=12)
    runs = [str(folder / "runs" / "sys4.run"), str(folder / "runs" / "sys2.run")]
    one_way, other_way = (
        finished(capsys, "doubt", str(folder / "qrels.txt"), *order, "--draws", "0", "--quiet").out
        for order in (runs, runs[::-1])
    )
    assert one_way == other_way
    assert "\nnDCG@10: +0." in one_way


def test_what_it_cannot_answer_it_says(simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = simulated(systems=4, n_topics=12)
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs")
    with pytest.raises(fm.FathomsError, match="found 4; name them with --of"):
        exp.doubt("AP")
    with pytest.raises(fm.FathomsError, match="the run 'sys9' is not among the runs"):
        exp.doubt("AP", of="sys9")
    with pytest.raises(fm.FathomsError, match="sys1 is named twice"):
        exp.doubt("AP", of=("sys1", "sys1"))
    with pytest.raises(fm.FathomsError, match="GMAP is not a mean over topics"):
        exp.doubt("GMAP", of="sys1")
    with pytest.raises(fm.FathomsError, match="one topic says nothing about others"):
        fm.doubt({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR")


def a_doubt(low: float, high: float, share: float, settling: Sequence[Settling] = ()) -> Doubt:
    """Of two runs, with one source."""
    source = Source("topics", low, high, share, 40, "topics")
    budget = Budget(parse_measure("AP"), 0.02, 0.01, low, high, 10, 5, [source], [], list(settling))
    return Doubt(("a", "b"), [budget], 0.95)


def test_words_of_a_pair() -> None:
    topics = "because there are only 10 topics"
    where = (
        "AP: a is ahead of b by 0.0200 as judged. On topics like these, with the unjudged documents judged, the lead"
    )
    doubted = a_doubt(-0.01, 0.03, 1.0, [Settling("topics", 1, 5), Settling("judgments", 1, 7)])
    (sentence,) = answers(doubted)
    assert sentence == (
        f"{where} would be -0.0100 to +0.0300 (95% interval): the order is in doubt, mostly {topics} "
        "(100% of the variance)."
    )
    assert remarks(doubted)[0] == (
        "If the lead is 0.0100, as estimated, it takes 1 more topic (cost 5) or 1 judgment of these topics' documents "
        "(cost 7) to put 0 outside the interval."
    )
    assert any(remark.startswith("Share: how much of the variance of the difference") for remark in remarks(doubted))
    (sentence,) = answers(a_doubt(0.01, 0.03, 0.998))
    assert sentence == (
        f"{where} would be +0.0100 to +0.0300 (95% interval), all of it above 0. It is this wide mostly {topics} "
        "(nearly all of the variance)."
    )
    (sentence,) = answers(a_doubt(-0.03, -0.01, 0.4))
    assert sentence == (
        f"{where} would be -0.0300 to -0.0100 (95% interval), all of it below 0: the estimate reverses the order. "
        f"It is this wide above all {topics} (40% of the variance)."
    )
