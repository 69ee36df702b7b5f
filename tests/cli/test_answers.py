"""The answers that commands open with, held against the numbers they are about: on simulated collections and at the
edges, such as one run, equal runs, one topic, nothing judged of the runs and nothing unjudged."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.base.result import Result

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")

SMALL = {"systems": 5, "n_topics": 8, "n_docs": 150, "depth": 20, "max_grade": 1}
CASES: dict[str, dict[str, Any]] = {
    "shallow": {"pool_depth": 3, "seed": 1},
    "deep": {"pool_depth": 15, "seed": 2},
    "ties": {"pool_depth": 6, "ties": 0.6, "seed": 3},
    "outsiders": {"pool_depth": 8, "unpooled": 3, "seed": 4},
    "nothing unjudged": {"pool_depth": 20, "unpooled": 0, "seed": 5},
    "one topic": {"pool_depth": 5, "n_topics": 1, "seed": 6},
    "equal runs": {"pool_depth": 5, "seed": 7},
    "two equal runs": {"pool_depth": 5, "seed": 7},
    "one run": {"pool_depth": 5, "seed": 8},
    "nothing judged": {"pool_depth": 5, "seed": 9},
}
MEASURES = ("AP", "P@5")
DRAWS = dict.fromkeys(CASES, 0) | {"shallow": 30, "equal runs": 30}  # of estimates, which take most of the time
SEVERAL = [name for name in CASES if name != "one run"]


@cache
def experiment(name: str) -> fm.Experiment:
    made = fm.simulate(**{**SMALL, **CASES[name]})
    runs, qrels = dict(made.runs), made.qrels
    first = next(iter(runs))
    if name == "equal runs":
        runs["copy"] = runs[first]
    if name == "two equal runs":
        runs = {first: runs[first], "copy": runs[first]}
    if name == "one run":
        runs = {first: runs[first]}
    if name == "nothing judged":
        return fm.Experiment({topic: {"nobody's": 1, "none": 0} for topic in qrels["topic"].unique()}, runs)
    return fm.Experiment(qrels, runs)


def answer(result: Result, n: int) -> list[str]:
    """The answer: one sentence for each of so many things, and the first of all sentences."""
    said = result.answer
    assert len(said) == n
    assert result.sentences[:n] == said
    assert result.sentences == [*said, *result.remarks]
    for sentence in result.sentences:
        assert sentence.endswith("."), sentence
        assert "nan" not in sentence.split()
        assert "None" not in sentence
    return said


@pytest.mark.parametrize("name", CASES)
def test_eval(name: str) -> None:
    result = experiment(name).evaluate(MEASURES)
    for measure, said in zip(MEASURES, answer(result, 2), strict=True):
        rows = {row[0]: row[3:6] for row in result.rows() if row[2] == measure}
        most = max(row[0] for row in rows.values())
        best = [run for run in rows if rows[run][0] >= most - 1e-9]
        assert f"{most:.4f}" in said
        assert ("judging changes no score" in said or "judging does not change that" in said) == all(
            high - low <= 1e-9 for _, low, high in rows.values()
        )
        if len(rows) == 1:
            assert said.startswith(f"{measure}: {best[0]} scores ")
        elif len(best) == len(rows):
            assert re.match(rf"{measure}: (both|all {len(rows)}) runs score", said)
        else:
            assert said.split()[1] in best
            assert (" leads with " in said) == (len(best) == 1)
        if "its range is" in said:
            low, high = rows[best[0]][1:]
            assert f"its range is {low:.4f} to {high:.4f}" in said
        assert "overlap" not in said


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("baseline", [False, True])
def test_compare(name: str, baseline: bool) -> None:
    exp = experiment(name)
    result = exp.compare(MEASURES, baseline=next(iter(exp.runs)) if baseline else None, draws=DRAWS[name])
    for measure, said in zip(MEASURES, answer(result, 2), strict=True):
        rows = [row for row in result.frame.iter_rows(named=True) if row["measure"] == measure]
        claimed = [row for row in rows if row["verdict"] in ("certain", "supported")]
        none_or = str(len(claimed)) if claimed else "none"
        if len(rows) == 1:
            same = abs(rows[0]["diff"]) <= 1e-9
            assert same == ("have the same mean" in said)
            continue
        if baseline:
            better = sum(row["diff"] > 0 for row in claimed)
            assert said.startswith(
                f"{measure}: {better or 'none'} of {len(rows)} runs can be claimed to be better than"
            )
            assert said.endswith(f" {len(claimed) - better or 'none'} to be worse.")
            continue
        assert re.search(rf"of all {len(rows)} pairs, {none_or} supports? a claim\.$", said)
        won = re.search(r"better than (?:all (\d+)|(any) of the|(\d+) of the)", said)
        if won:
            best = said.split()[1]
            wins = sum(best in (row["run_a"], row["run_b"]) for row in claimed)
            assert wins == (0 if won[2] else int(won[1] or won[3]))


def test_pairs_are_in_the_order_of_the_best_runs() -> None:
    """The closest rivals of the best run first, the better run on the left; and no number changes but for its sign."""
    result = experiment("shallow").compare("AP", draws=30)
    means = {row[0]: row[3] for row in experiment("shallow").evaluate("AP").rows()}
    ranked = sorted(means, key=lambda run: -means[run])
    ordered = result.in_order("AP")
    assert [(pair.run_a, pair.run_b) for pair in ordered] == list(combinations(ranked, 2))
    known = {frozenset((pair.run_a, pair.run_b)): pair for pair in result.pairs}
    for pair in ordered:
        same = known[frozenset((pair.run_a, pair.run_b))]
        assert pair.diff >= 0
        assert pair == (same if same.run_a == pair.run_a else same.turned())
        back = pair.turned().turned()
        assert replace(back, p_better=pair.p_better) == pair
        assert back.p_better == pytest.approx(pair.p_better)
        assert pair.diff == pytest.approx(means[pair.run_a] - means[pair.run_b])
        assert pair.diff_low is None or pair.diff_low <= pair.diff <= (pair.diff_high or 0.0)
        assert pair.ci_low <= pair.diff <= pair.ci_high
    against = experiment("shallow").compare("AP", baseline=ranked[2], draws=0).in_order("AP")
    assert [(pair.run_a, pair.run_b) for pair in against] == [(run, ranked[2]) for run in ranked if run != ranked[2]]


@pytest.mark.parametrize("name", SEVERAL)
def test_rank(name: str) -> None:
    result = experiment(name).rank(MEASURES, draws=DRAWS[name])
    for measure, said in zip(MEASURES, answer(result, 2), strict=True):
        first = [one for one in result.of(measure) if one.rank == 1]
        assert re.match(rf"{measure}: {first[0].run}[ ,]", said)
        assert f"with {first[0].score:.4f}" in said
        assert ("share the first rank" in said) == (len(first) > 1)
        tied = re.search(r"tied for first: .*, (\d+) of (\d+) runs", said)
        if tied:
            assert int(tied[1]) == sum(one.rank_ci_low == 1 for one in result.of(measure))


@pytest.mark.parametrize("name", [name for name in CASES if name != "nothing judged"])
def test_predict(name: str) -> None:
    result = experiment(name).predict(MEASURES, draws=30)
    for measure, said in zip(MEASURES, answer(result, 2), strict=True):
        rows = {row[0]: (row[3], row[7]) for row in result.rows() if row[2] == measure}
        change = [estimate - score for score, estimate in rows.values()]
        if "change no mean" in said:
            assert max(map(abs, change)) <= 1e-9
        elif "less than" in said:
            assert max(map(abs, change)) < 0.0001
        elif len(rows) > 1:
            assert f"{min(change):+z.4f} (" in said
            assert f"{max(change):+z.4f} (" in said


@pytest.mark.parametrize("name", CASES)
def test_ties(name: str) -> None:
    result = experiment(name).ties(MEASURES)
    said = " ".join(answer(result, len(result.answer)))
    pairs = result.pairs.filter(result.pairs["verdict"] == "changes")
    assert ("decides which run is ahead" in said) == bool(len(pairs))
    for n in re.findall(r"ahead in ([\d,]+) of", said):
        assert int(n) in [len(pairs.filter(pairs["measure"] == measure)) for measure in MEASURES]
    scores = result.scores
    still = scores.filter(np.abs(scores["optimistic"] - scores["pessimistic"]) > 1e-9).is_empty()
    assert still == (said in ("AP and P@5: no score depends on the tie-breaking rule.",))


@pytest.mark.parametrize("name", CASES)
def test_depth_audit_and_check(name: str) -> None:
    exp = experiment(name)
    if name != "one run":  # which has no order
        (said,) = answer(exp.depth("P", "1:10"), 1)
        kinds = r"(is stable from depth \d+ to|is not stable|agrees from depth \d+ to)"
        assert re.match(f"P: the order of the runs {kinds}", said)
    if name != "nothing judged":
        (said,) = answer(exp.audit(["P@5"], depth=5), 1)
        assert said.startswith("Reuse: ")
    found = exp.check()
    (said,) = answer(found, 1)
    levels = [row[0] for row in found.rows()]
    assert ("no errors or warnings" in said) == ("warning" not in levels and "error" not in levels)
    severity = [("error", "warning", "note").index(one.level) for one in found.by_severity()]
    assert severity == sorted(severity)
    assert sorted(map(str, found.by_severity())) == sorted(map(str, found.findings))


def test_gate_diff_plan_labels_and_pools() -> None:
    exp = experiment("shallow")
    names = list(exp.runs)[:2]
    two = fm.Experiment(exp.qrels, {name: exp.runs[name] for name in names})
    gate = two.gate("P@5", draws=30)
    assert answer(gate, 1)[0].split()[0].strip(":") in ("Passes", "Fails", "Cannot")
    assert answer(two.diff(measures="P@5"), 1)[0].startswith(f"{names[1]} ")
    plan = exp.plan("P@5")
    topics = plan.topics[0].answer("t").topics
    assert f"it takes {topics:,} topics" in answer(plan, 2)[0]
    labels = {(t, d): g for t, d, g in exp.qrels.to_frame().iter_rows()}
    table = {topic: {d: g for (t, d), g in labels.items() if t == topic} for topic in exp.qrels.topics}
    found = exp.labels({"same": table})
    assert "kappa 1.00" in answer(found, 1)[0]
    confidence = exp.confidence("P@5", draws=50)
    sure = sum(max(row[5], 1 - row[5]) >= 0.95 for row in confidence.rows())
    assert f"for {sure} of 10 pairs" in answer(confidence, 1)[0]
    chance = exp.predict("P@5", draws=50).at_most(0.5)
    probable = sum(row[4] > 0.5 for row in chance.rows() if row[1] == "all")
    assert answer(chance, 1)[0].startswith(f"P@5: {probable} of 5 runs will probably score at most 0.5")
