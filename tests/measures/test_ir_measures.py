"""Measures under ir_measures' names, against the values that its own providers give.

`ir_measures_values.json` has values of ir_measures 0.4.3 with pyndeval 0.0.8 and cwl-eval 1.0.12 on the collection
below; `python -m tests.measures.test_ir_measures` writes it anew where these are installed.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest

import fathoms as fm
from fathoms.measures.cwl import goal_rest
from fathoms.measures.parse import parse_measure
from fathoms.measures.registry import MEASURES

VALUES = Path(__file__).parent / "ir_measures_values.json"
CWL_DEPTH = 1000  # where cwl_eval ends sums without end
DIVERSITY = [
    *("alpha_DCG@5", "alpha_DCG@20", "alpha_DCG(alpha=0.9)@10", "alpha_nDCG@5", "alpha_nDCG@20"),
    *("alpha_nDCG(alpha=0.9)@10", "alpha_nDCG(rel=2)@10", "ERR_IA@5", "ERR_IA@20", "nERR_IA@10", "nERR_IA(rel=2)@20"),
    *("NRBP", "NRBP(alpha=0.3,beta=0.8)", "nNRBP", "nNRBP(alpha=0.3,beta=0.8)", "P_IA@5", "P_IA(rel=2)@20", "AP_IA"),
    *("AP_IA(rel=2)", "StRecall@5", "StRecall(rel=2)@20"),
]
PLAIN = [
    *("SetAP", "SetAP(rel=2)", "SetP", "SetP(relative=True)", "SetP(rel=2,relative=True)", "Accuracy", "Accuracy@10"),
    *("Accuracy(rel=2)@20", "Compat", "Compat(p=0.8)", "Compat(normalize=False)", "BPM(max_rel=3)@10"),
    *("BPM(T=0.5,max_rel=3)@5", "NERR8(max_rel=3)@10", "NERR9(max_rel=3)@10", "NERR10(max_rel=3)"),
    *(
        "NERR10(p=0.7,max_rel=3)",
        "NERR11(max_rel=3)",
        "NERR11(T=2.0,max_rel=3)",
        "INSQ(max_rel=3)",
        "INSQ(T=3.0,max_rel=3)",
    ),
    *("NERR8(max_rel=3)@60", "NERR9(max_rel=3)@60", "BPM(T=7.5,max_rel=3)@60"),
]


@cache
def collection() -> tuple[list[Any], dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments by subtopic, the best grade of each document, and a run of 40 documents a topic."""
    rng = np.random.default_rng(8)
    by_subtopic: list[Any] = []
    plain: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for topic in map(str, range(1, 9)):
        documents = [f"d{number:02}" for number in rng.permutation(60)]
        plain[topic] = {}
        for document in documents[:45]:
            grades = rng.choice([0, 0, 0, 1, 2, 3], size=5)
            plain[topic][document] = int(grades.max() if rng.random() < 0.6 else 0)
            by_subtopic += [
                ir_measures.Qrel(topic, document, int(grade) if plain[topic][document] else 0, str(subtopic))
                for subtopic, grade in enumerate(grades, 1)
                if subtopic < 5 or topic != "3"
            ]
        run[topic] = {f"d{number:02}": 50.0 - rank for rank, number in enumerate(rng.permutation(60)[:40])}
    return by_subtopic, plain, run


def theirs() -> dict[str, dict[str, float]]:
    """What ir_measures says of each measure and topic, as far as its providers are installed."""
    by_subtopic, plain, run = collection()
    found: dict[str, dict[str, float]] = {}
    for names, qrels in ((DIVERSITY, by_subtopic), (PLAIN, plain)):
        for name in names:
            try:
                values = list(ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run))
            except (RuntimeError, ValueError):
                continue
            found[name] = {value.query_id: round(float(value.value), 12) for value in values}
    return found


def ours(name: str) -> dict[str, float]:
    by_subtopic, plain, run = collection()
    diverse = name in DIVERSITY
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = fm.Evaluator(by_subtopic if diverse else plain, [name], subtopics=diverse)
        scores = evaluator.evaluate(run)
    measure = parse_measure(name)
    scale = 1.0
    if name.startswith("INSQ"):  # the rest of the sum of weights, which cwl_eval does not have
        T = measure.T  # type: ignore[attr-defined]
        scale = float(goal_rest(T, 0) / (goal_rest(T, 0) - goal_rest(T, CWL_DEPTH)))
    return {topic: value[measure.name] * scale for topic, value in scores.items() if value[measure.name] is not None}  # type: ignore[operator]


def compare(name: str, expected: dict[str, float]) -> None:
    # NERR11 too is broken off there, after which little is left: 1 / 1000 of the chance to have found nothing.
    found = ours(name)
    for topic, value in expected.items():
        assert found[topic] == pytest.approx(value, abs=2e-6 if name.startswith("NERR11") else 1e-9), (name, topic)


@pytest.mark.parametrize("name", [*DIVERSITY, *PLAIN])
def test_values_are_those_of_ir_measures(name: str) -> None:
    expected = json.loads(VALUES.read_text(encoding="utf-8"))[name]
    assert len(expected) >= 7
    compare(name, expected)


def test_kept_values_are_what_ir_measures_says_today() -> None:
    kept, now = json.loads(VALUES.read_text(encoding="utf-8")), theirs()
    assert len(now) >= len([name for name in PLAIN if name.startswith(("Set", "Acc", "Compat"))])
    for name, values in now.items():
        assert values == pytest.approx(kept[name], abs=1e-9), name


def test_all_names_of_ir_measures_are_understood() -> None:
    from ir_measures import measures

    needed = {"cutoff": "@10", "recall": "@0.1"}
    their_own = {name: one for name, one in measures.registry.items() if not name.startswith("fm_")}
    assert len(their_own) == 51
    for name, theirs in their_own.items():
        required = next((needed[p] for p in ("cutoff", "recall") if p in theirs.SUPPORTED_PARAMS), "")
        for text in (f"{name}{required}", str(theirs) + required):
            if text.count("@") > 1 or ("@" in str(theirs) and required):
                continue
            assert type(parse_measure(text)).__name__ in MEASURES, text


def test_ranges_of_diversity_hold_all_judgings() -> None:
    """Every way in which two unjudged documents may be relevant to three subtopics, one of them not yet found."""
    rng = np.random.default_rng(3)
    names = ["P_IA@3", "AP_IA", "StRecall@2", "ERR_IA@4", "alpha_DCG@3", "NRBP"]
    for _ in range(2):
        documents = [f"d{i}" for i in range(6)]
        grades = rng.integers(0, 2, size=(6, 3))
        grades[:, 2] = 0
        unjudged = rng.choice(6, size=2, replace=False)
        run = {"1": {d: 9.0 - i for i, d in enumerate(rng.permutation(documents)[:5])}}

        def qrels(grades: Any, without: Any = ()) -> dict[str, Any]:
            return {"1": {s: {f"d{i}": int(grades[i, s]) for i in range(6) if i not in without} for s in range(3)}}

        known = fm.Experiment(qrels(grades, set(unjudged.tolist())), run, subtopics=True, universe=1)
        table = known.evaluate(names).frame
        for pattern in range(64):
            judged = grades.copy()
            judged[unjudged] = np.array([int(bit) for bit in f"{pattern:06b}"]).reshape(2, 3)
            if not judged.any():
                continue
            truth = fm.Experiment(qrels(judged), run, subtopics=True).evaluate(names).frame
            for row, true in zip(table.iter_rows(named=True), truth.iter_rows(named=True), strict=True):
                assert row["low"] - 1e-9 <= true["score"] <= row["high"] + 1e-9, row["measure"]


def test_ties_of_diversity() -> None:
    """Three documents with one score: mean, least and greatest over their six orders."""
    from itertools import permutations

    qrels = {"1": {"a": {"x": 1, "y": 1}, "b": {"y": 1, "z": 0, "v": 1}}}
    names = ["P_IA@2", "AP_IA", "StRecall@1", "alpha_nDCG@3"]
    tied = {"1": {"x": 1.0, "y": 1.0, "z": 1.0}}
    columns = fm.Experiment(qrels, tied, subtopics=True).evaluate(names).frame
    orders = [{"1": {d: 3.0 - i for i, d in enumerate(order)}} for order in permutations("xyz")]
    scores = np.array(
        [fm.Experiment(qrels, run, subtopics=True).evaluate(names).frame["score"].to_list() for run in orders]
    )
    exact = [True, True, True, False]
    assert np.allclose(columns["tie_low"], scores.min(axis=0))
    assert np.allclose(columns["tie_high"], scores.max(axis=0))
    for mean, truth, closed in zip(columns["tie_expected"], scores.mean(axis=0), exact, strict=True):
        assert mean == pytest.approx(truth, abs=1e-9 if closed else 0.05)


def test_subtopics_are_read_from_all_that_names_them(tmp_path: Path) -> None:
    import polars as pl

    rows = [("1", "a", "x", 1), ("1", "b", "x", 0), ("1", "b", "y", 2), ("2", "a", "x", 1)]
    path = tmp_path / "qrels.txt"
    path.write_text("".join(f"{t} {s} {d} {g}\n" for t, s, d, g in rows))
    nested: dict[str, Any] = {}
    for topic, subtopic, document, grade in rows:
        nested.setdefault(topic, {}).setdefault(subtopic, {})[document] = grade
    frame = pl.DataFrame(rows, schema=["topic", "subtopic", "document", "grade"], orient="row")
    sources: list[Any] = [str(path), nested, frame, frame.to_dicts()]
    read = [fm.read_qrels(source, subtopics=True) for source in sources]
    for qrels in read:
        assert qrels.topics == ["1", "2"]
        assert qrels.grades.tolist() == [1, 2, 1]
        assert qrels.by_subtopic is not None
        assert qrels.by_subtopic.tolist() == [[1, 0], [0, 2], [1, 0]]
        assert qrels.listed is not None
        assert qrels.listed.tolist() == [2, 1]
    with pytest.raises(fm.FathomsError, match="--subtopics reads judgments by subtopic"):
        fm.read_qrels(str(path))
    with pytest.raises(fm.FathomsError, match="another grade of this document for this subtopic"):
        fm.read_qrels([*frame.to_dicts(), {"topic": "1", "subtopic": "a", "document": "x", "grade": 2}], subtopics=True)


def test_other_measures_take_the_best_grade() -> None:
    by_subtopic, _, run = collection()
    best: dict[str, dict[str, int]] = {}
    for row in by_subtopic:
        of_topic = best.setdefault(row.query_id, {})
        of_topic[row.doc_id] = max(of_topic.get(row.doc_id, 0), row.relevance)
    names = ["AP", "nDCG@10", "ERR@10", "Bpref", "RBP(p=0.8)"]
    diverse = fm.Experiment(by_subtopic, run, subtopics=True).evaluate(names).frame
    assert diverse.equals(fm.Experiment(best, run).evaluate(names).frame)


def test_pairs_and_estimates_know_no_subtopics() -> None:
    """What is made of grades alone is left out, and not made as if each topic were one subtopic."""
    by_subtopic, _, run = collection()
    other = {topic: {document: -score for document, score in of.items()} for topic, of in run.items()}
    experiment = fm.Experiment(by_subtopic, {"a": run, "b": other}, subtopics=True)
    [pair] = experiment.compare("ERR_IA@10", draws=0).pairs
    scores = experiment.evaluate("ERR_IA@10").frame["score"].to_list()
    assert pair.diff == pytest.approx(scores[0] - scores[1])
    assert (pair.diff_low, pair.estimate, pair.reversible) == (None, None, None)
    assert experiment.gate("ERR_IA@10").measured[0].has_range is False
    with pytest.raises(fm.FathomsError, match="which subtopics documents are relevant to"):
        experiment.confidence("ERR_IA@10")


def test_some_topics_keep_their_subtopics() -> None:
    by_subtopic, _, run = collection()
    few = {topic: of for topic, of in run.items() if int(topic) > 4}
    names = ["alpha_nDCG@10", "StRecall@5", "AP_IA"]
    whole = fm.Experiment(by_subtopic, run, subtopics=True).evaluate(names, by_topic=True).frame
    with pytest.warns(fm.FathomsWarning, match="were left out"):
        part = fm.Experiment(by_subtopic, few, subtopics=True, topics="intersect").evaluate(names, by_topic=True).frame
    rows = part.filter(part["topic"] != "all")
    assert rows["score"].to_list() == pytest.approx(
        whole.filter(whole["topic"].is_in(list(few)))["score"].to_list(), abs=1e-12
    )


if __name__ == "__main__":
    VALUES.write_text(json.dumps(theirs(), indent=0) + "\n", encoding="utf-8")
