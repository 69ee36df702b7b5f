"""The report's view of one topic: ranked lists, what a judgment would change, snippets, and the view in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.data.texts import Entry, TextSources, open_texts
from fathoms.reporting import topic_lists as module
from fathoms.reporting.judging_effects import judging_effects
from fathoms.reporting.snippets import snippet
from fathoms.reporting.topic_lists import topic_lists

MEASURES = ["AP", "nDCG@10", "RBP(p=0.8)", "P@5", "RR", "ERR@20", "Q@20", "Bpref", "R@20", "P(judged_only=True)@5"]


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=5, n_topics=6, n_docs=300, depth=40, pool_depth=4, seed=11)


@pytest.fixture(scope="module")
def exp(folder: Path) -> fm.Experiment:
    return fm.Experiment(folder / "qrels.txt", folder / "runs")


def as_dict(qrels: Any) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {topic: {} for topic in qrels.topics}
    for topic, document, grade in zip(qrels.topic, qrels.documents, qrels.grades, strict=True):
        found[qrels.topics[topic]][document.decode()] = float(grade)
    return found


@pytest.mark.parametrize("name", MEASURES)
def test_effects_are_those_of_one_more_judgment(exp: fm.Experiment, name: str) -> None:
    """Against scoring the run again with the judgment in the qrels."""
    run = list(exp.runs)[-1]
    [measure] = exp.measures(name)
    evidence = exp.align(run, exp.alignment([measure], [], ranges=False)).evidence
    found = judging_effects(measure, evidence, 8)
    assert found is not None
    ranked, judged = exp.ranked(run), as_dict(exp.qrels)
    before = measure.value(measure.prepared(evidence))
    assert len(found.rank) > 10
    for topic, rank, change in list(zip(found.topic, found.rank, found.change, strict=True))[::5]:
        row = np.flatnonzero((ranked.topic == topic) & (ranked.rank == rank))[0]
        document = ranked.run.documents[ranked.rows[row]].decode()
        one = evidence.topics[topic]
        assert document not in judged[one]
        more = judged | {one: judged[one] | {document: exp.qrels.max_grade}}
        again = fm.evaluate(more, {run: ranked.run}, name, by_topic=True)
        after = again.filter(again["topic"] == one)["score"][0]
        assert change == pytest.approx(after - before[topic], abs=1e-12)


def test_effects_where_nothing_is_relevant_yet() -> None:
    exp = fm.Experiment({"1": {"a": 0}}, {"x": {"1": {"a": 2.0, "b": 1.0}}})
    [measure] = exp.measures("P@2")
    found = judging_effects(measure, exp.align("x", exp.alignment([measure], [])).evidence, 5)
    assert found is not None
    assert found.rank.tolist() == [2]
    assert found.change.tolist() == [0.5]


def test_effects_need_no_pool(exp: fm.Experiment) -> None:
    with pytest.warns(fm.FathomsWarning):
        fm.evaluate(exp.qrels, exp.runs, "AP(variant=c)@10")
    [measure] = exp.measures("AP(variant=c)@10")
    evidence = exp.align(next(iter(exp.runs)), exp.alignment([measure], [])).evidence
    assert judging_effects(measure, evidence, 5) is None


def test_lists_are_the_rankings(exp: fm.Experiment) -> None:
    measures = exp.measures(["AP", "AP(variant=c)@10"])
    found = topic_lists(exp, measures)
    assert found is not None
    data = found.as_data(TextSources(None, None))
    judged = as_dict(exp.qrels)
    assert data["depth"] == 20
    for r, name in enumerate(exp.runs):
        ranked = exp.ranked(name)
        for t, topic in enumerate(exp.qrels.topics):
            rows = np.flatnonzero(ranked.topic == t)[:20]
            expected = [ranked.run.documents[row].decode() for row in ranked.rows[rows]]
            listed = data["places"][r][t]
            assert [data["documents"][t][i] for i in listed] == expected
            assert [data["grades"][t][i] for i in listed] == [judged[topic].get(document) for document in expected]
            assert data["ties"][r][t] == np.flatnonzero(ranked.tied[rows]).tolist()
            unjudged = sum(document not in judged[topic] for document in expected)
            assert len(data["effects"][0][r][t]) == unjudged
    assert data["effects"][1] is None
    assert "texts" not in data


def test_lists_get_shorter_where_there_are_many(exp: fm.Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = len(exp.runs) * len(exp.qrels.topics)
    for most, depth in ((10 * cells, 10), (5 * cells, 5)):
        monkeypatch.setattr(module, "MOST_PLACES", most)
        found = topic_lists(exp, exp.measures("AP"))
        assert found is not None
        assert found.depth == depth
    monkeypatch.setattr(module, "MOST_PLACES", 5 * cells - 1)
    assert topic_lists(exp, exp.measures("AP")) is None


def test_later_measures_do_without_effects_where_there_are_many(
    exp: fm.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_EFFECTS", 1)
    found = topic_lists(exp, exp.measures(["AP", "P@5"]))
    assert found is not None
    assert found.effects[0] is not None
    assert found.effects[1] is None


def test_snippets_begin_near_the_words_of_the_topic() -> None:
    text = "filler " * 60 + "the dam broke and " + "more " * 60
    pieces = snippet(Entry("", (text,)), {"dam"})
    assert pieces[1] == "dam"
    assert pieces[0].startswith("... ")
    assert pieces[-1].endswith("...")
    assert len("".join(pieces)) <= 220 + 7
    assert "".join(pieces).strip(".").strip() in text
    assert snippet(Entry("A dam", ()), {"dam"}) == ["A ", "dam", ""]
    assert snippet(None, {"dam"}) == []


def test_texts_fill_the_room_from_the_top(exp: fm.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = topic_lists(exp, exp.measures("AP"))
    assert found is not None
    lines = [f"{document}\ttext of {document}\n" for document in sorted(set(found.documents()))]
    (tmp_path / "docs.tsv").write_text("".join(lines))
    texts = TextSources(None, open_texts(tmp_path / "docs.tsv", set(found.documents())))
    data = found.as_data(texts)
    assert not data["textless"]
    for documents, shown in zip(data["documents"], data["texts"], strict=True):
        assert ["".join(pieces) for pieces in shown] == [f"text of {document}" for document in documents]
    monkeypatch.setattr(module, "MOST_TEXT", 2000)
    data = found.as_data(texts)
    assert data["textless"]
    ranks = {True: [], False: []}  # type: dict[bool, list[int]]
    for t, shown in enumerate(data["texts"]):
        for i, pieces in enumerate(shown):
            ranks[bool(pieces)].append(min(run[t].index(i) for run in data["places"] if i in run[t]))
    assert max(ranks[True]) <= min(ranks[False])


@pytest.fixture(scope="module")
def page(exp: fm.Experiment, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("texts")
    found = topic_lists(exp, exp.measures("AP"))
    assert found is not None
    documents, topics = folder / "docs.tsv", folder / "topics.tsv"
    documents.write_text("".join(f"{one}\tA dam <b>by</b> {one}\n" for one in sorted(set(found.documents()))))
    topics.write_text("".join(f"{topic}\tdams of {topic}\n" for topic in exp.qrels.topics))
    with pytest.warns(fm.FathomsWarning, match="assumed pool"):
        exp.report(folder / "r.html", ["AP", "P@5"], docs=documents, topic_texts=topics)
    return (folder / "r.html").read_text()


def opened(browser: Any, text: str, folder: Path) -> tuple[Any, list[str]]:
    """A page as it opens from disk, and all that it complains of or asks for."""
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    heard: list[str] = []
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.on("request", lambda request: heard.append(request.url) if not request.url.startswith("file:") else None)
    tab.goto(file.as_uri())
    return tab, heard


def test_two_runs_side_by_side_in_a_browser(browser: Any, page: str, exp: fm.Experiment, tmp_path: Path) -> None:
    tab, heard = opened(browser, page, tmp_path)
    scores = exp.evaluate(["AP", "P@5"], by_topic=True).frame
    order = exp.evaluate("AP").frame.sort("score", descending=True)["run"].to_list()
    a, b, topic = order[0], order[3], exp.qrels.topics[2]
    tab.select_option("#topic-detail .choose >> nth=0 >> select", label=topic)
    tab.select_option("#topic-detail .choose >> nth=2 >> select", label=b)

    def score(run: str, measure: str) -> float:
        rows = scores.filter((scores["run"] == run) & (scores["topic"] == topic) & (scores["measure"] == measure))
        return float(rows["score"][0])

    said = tab.inner_text("#topic-detail > .answer")
    assert said.startswith(f"By AP, {a} scores {score(a, 'AP'):.4f} on topic {topic} and {b} {score(b, 'AP'):.4f}: ")
    ahead = a if score(a, "AP") > score(b, "AP") else b
    assert f"{ahead} is ahead by {abs(score(a, 'AP') - score(b, 'AP')):.4f}" in said
    lists = tab.locator("#topic-detail .rankings > div")
    assert lists.locator("h4").all_inner_texts() == [f"A: {a}", f"B: {b}"]
    for place, run in enumerate((a, b)):
        ranked = exp.ranked(run)
        rows = np.flatnonzero(ranked.topic == 2)[:20]
        expected = [ranked.run.documents[row].decode() for row in ranked.rows[rows]]
        assert lists.nth(place).locator(".doc").all_inner_texts() == expected
    assert tab.inner_text("#topic-detail .topic-text") == f"dams of {topic}"
    assert tab.locator("#topic-detail .rankings mark").first.inner_text() == "dam"
    assert "<b>by</b>" in lists.first.inner_text()
    # Another measure, the same topic and runs; the address shows the same view.
    tab.click(".measures button:nth-child(2)")
    assert tab.inner_text("#topic-detail > .answer").startswith(f"By P@5, {a} scores {score(a, 'P@5'):.4f}")
    gaps = tab.locator("#topic-detail .gap").all()
    assert len(gaps) == len(exp.qrels.topics)
    gaps[0].click()
    chosen = tab.locator("#topic-detail .choose >> nth=0 >> select").evaluate("s => s.selectedOptions[0].label")
    differences = {
        one: scores.filter((scores["run"] == a) & (scores["topic"] == one) & (scores["measure"] == "P@5"))["score"][0]
        - scores.filter((scores["run"] == b) & (scores["topic"] == one) & (scores["measure"] == "P@5"))["score"][0]
        for one in exp.qrels.topics
    }
    assert differences[chosen] == max(differences.values())
    again, more = opened(browser, page, tmp_path)
    again.goto(tab.url)
    again.reload()
    assert again.locator("#topic-detail .choose >> nth=2 >> select").evaluate("s => s.selectedOptions[0].label") == b
    assert heard + more == []
