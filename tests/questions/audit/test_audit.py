"""The audit: each figure against plain loops, each guideline on a case made for it, and TREC-8's own figures."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.data.simulate import Collection, simulate
from fathoms.evidence.align import Aligned, Alignment
from fathoms.evidence.pool import judged_depths, with_judgments
from fathoms.functions import audit
from fathoms.questions.audit.analysis import run_audit
from fathoms.questions.audit.findings import Judged, LeftOut, Status, Step, as_percent, changes
from fathoms.questions.audit.leave_out import contributions, leave_out
from fathoms.questions.audit.result import COLUMNS, Audit
from fathoms.questions.audit.words import _last_pooled, sentences
from tests.support.commands import finished
from tests.support.real import collection

Ranking = dict[str, list[str]]  # by topic
Grades = dict[str, dict[str, float]]
DEPTH = 6


# -- plain Python -------------------------------------------------------------------------------------------------


def plain(made: Collection) -> tuple[Grades, dict[str, Ranking]]:
    grades: Grades = {}
    for topic, document, grade in made.qrels.iter_rows():
        grades.setdefault(topic, {})[document] = grade
    rankings: dict[str, Ranking] = {}
    for name, frame in made.runs.items():
        scores: dict[str, dict[str, float]] = {}
        for topic, document, score in frame.select("topic", "doc", "score").iter_rows():
            scores.setdefault(topic, {})[document] = score
        rankings[name] = {
            topic: sorted(sorted(found, reverse=True), key=lambda d, found=found: -found[d])  # type: ignore[misc]
            for topic, found in scores.items()
        }
    return grades, rankings


def pooled_grades(grades: Grades, rankings: dict[str, Ranking], names: Sequence[str], depth: int) -> Grades:
    return {
        topic: {d: g for d, g in judged.items() if any(d in rankings[name].get(topic, [])[:depth] for name in names)}
        for topic, judged in grades.items()
    }


def precision(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    return sum(grades.get(d, 0) >= 1 for d in ranking[:k]) / k


def average_precision(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    hits = [i for i, d in enumerate(ranking[:k], 1) if grades.get(d, 0) >= 1]
    R = min(sum(g >= 1 for g in grades.values()), k)
    return sum(n / i for n, i in enumerate(hits, 1)) / R if R else 0.0


def rank_biased(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    return sum(0.2 * 0.8 ** (i - 1) for i, d in enumerate(ranking[:k], 1) if grades.get(d, 0) >= 1)


SLOW: dict[str, Callable[[Sequence[str], Mapping[str, float], int], float]] = {
    f"P@{DEPTH}": precision,
    f"AP(variant=b)@{DEPTH}": average_precision,
    f"RBP(p=0.8)@{DEPTH}": rank_biased,
}


BY_HAND = {"P": precision, "AP(variant=b)": average_precision, "RBP(p=0.8)": rank_biased}


def means(name: str, rankings: dict[str, Ranking], grades: Grades) -> dict[str, float]:
    return {
        run: statistics.fmean(SLOW[name](ranking.get(topic, []), grades[topic], DEPTH) for topic in grades)
        for run, ranking in rankings.items()
    }


@pytest.fixture(scope="module")
def made() -> Collection:
    return simulate(systems=9, n_topics=7, n_docs=400, depth=40, pool_depth=12, seed=5)


@pytest.fixture(scope="module")
def result(made: Collection) -> Audit:
    return audit(made.qrels, made.runs, list(SLOW), pooled=made.pooled, groups=made.groups, depth=DEPTH)


# -- figures against loops ----------------------------------------------------------------------------------------


def test_the_first_unjudged_document_of_a_ranking_that_is_judged_to_its_end_is_just_past_it() -> None:
    qrels = fm.read_qrels({"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"a": 1}})
    run = fm.read_run({"1": {"a": 2.0, "b": 1.0}, "2": {"a": 4.0, "x": 3.0, "y": 2.0, "z": 1.0}})
    assert Alignment(qrels)(run).evidence.first_unjudged.tolist() == [3, 2, 1]  # of nothing, the first is past the end


def test_relevant_documents_by_depth(made: Collection, result: Audit) -> None:
    grades, rankings = plain(made)
    assert len(result.relevant) == DEPTH
    sizes = {0: (0, 0)}
    for depth in range(1, DEPTH + 1):
        pool = pooled_grades(grades, rankings, made.pooled, depth)
        relevant = [sum(g >= 1 for g in judged.values()) for judged in pool.values()]
        assert result.relevant[depth - 1].mean == pytest.approx(statistics.fmean(relevant))
        assert result.relevant[depth - 1].deviation == pytest.approx(statistics.pstdev(relevant))
        sizes[depth] = (sum(map(len, pool.values())), sum(relevant))
    assert [(step.shallow, step.deep) for step in result.steps] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    for step in result.steps:
        assert step.judged == sizes[step.deep][0] - sizes[step.shallow][0]
        assert step.relevant == sizes[step.deep][1] - sizes[step.shallow][1]
    assert result.in_pool == sizes[DEPTH][0]


@pytest.mark.parametrize("depth", [10, 12])
def test_pooling_outcomes(made: Collection, depth: int) -> None:
    grades, rankings = plain(made)
    found = {row.depth: row for row in audit(made.qrels, made.runs, ["P@5"], pooled=made.pooled, depth=12).pooling}
    assert list(found) == [10, 12, None]
    for at, known in ((depth, pooled_grades(grades, rankings, made.pooled, depth)), (None, grades)):
        inside, first, past = [], [], []
        for name in made.pooled:
            for topic in grades:
                ranking = rankings[name].get(topic, [])
                held = sum(known[topic].get(d, 0) >= 1 for d in ranking[:depth])
                inside.append(held)
                past.append(sum(g >= 1 for g in known[topic].values()) - held)
                if ranking:
                    first.append(next((i for i, d in enumerate(ranking, 1) if d not in known[topic]), len(ranking) + 1))
        row = found[at]
        checked = [(row.rank_unjudged, first)]
        if at is None:
            assert row.rel_in_pool is row.rel_past is None
        else:
            checked += [(row.rel_in_pool, inside), (row.rel_past, past)]
        for spread, values in checked:
            assert spread is not None
            assert spread.mean == pytest.approx(statistics.fmean(values))
            assert spread.deviation == pytest.approx(statistics.pstdev(values))
        if at is not None:  # "the average number of relevant documents per topic is the sum"
            total = statistics.fmean(sum(g >= 1 for g in judged.values()) for judged in known.values())
            assert statistics.fmean(inside) + statistics.fmean(past) == pytest.approx(total)


@pytest.mark.parametrize("kind", ["run", "group"])
@pytest.mark.parametrize("measure", SLOW)
def test_leaving_out(made: Collection, result: Audit, kind: str, measure: str) -> None:
    grades, rankings = plain(made)
    pool = pooled_grades(grades, rankings, made.pooled, DEPTH)
    full = means(measure, rankings, pool)
    units: dict[str, list[str]] = {}
    for name in made.pooled:
        units.setdefault(name if kind == "run" else made.groups[name], []).append(name)
    assert len(units) > 1
    left = {one.run: one for one in (result.run_out if kind == "run" else result.group_out) if one.measure == measure}
    assert sorted(left) == sorted(made.pooled)
    percents, moves = [], []
    for unit, members in units.items():
        others = [name for name in made.pooled if name not in members]
        without = pooled_grades(grades, rankings, others, DEPTH)
        again = means(measure, rankings, without)
        now = {run: again[run] if run in members else full[run] for run in full}
        for run in members:
            one = left[run]
            assert one.unit == unit
            assert one.removed == sum(map(len, pool.values())) - sum(map(len, without.values()))
            assert one.full == pytest.approx(full[run])
            assert one.without == pytest.approx(now[run])
            assert one.rank_full == 1 + sum(other > full[run] + 1e-12 for other in full.values())
            assert one.rank_without == 1 + sum(other > now[run] + 1e-12 for other in now.values())
            percents.append(100 * (now[run] - full[run]) / full[run])
            moves.append(abs(one.rank_full - one.rank_without))
    found = next(c for c in changes(list(left.values())) if c.measure == measure)
    assert found.percent is not None
    assert found.percent.mean == pytest.approx(statistics.fmean(percents))
    assert found.percent.deviation == pytest.approx(statistics.pstdev(percents))
    assert found.median == pytest.approx(statistics.median(percents))
    assert found.rank.mean == pytest.approx(statistics.fmean(moves))
    assert min(percents) < 0


def test_judged_shares_are_those_of_the_judgments_looked_at(made: Collection, result: Audit) -> None:
    grades, rankings = plain(made)
    for found, known in (
        (result, pooled_grades(grades, rankings, made.pooled, DEPTH)),
        (audit(made.qrels, made.runs, ["P@5"], pooled=made.pooled), grades),
    ):
        for name, ranking in rankings.items():
            for k in (5, 20, 1000):
                top = [d in known[topic] for topic in grades for d in ranking.get(topic, [])[:k]]
                assert found.shares[name][k] == pytest.approx(statistics.fmean(top))


def test_shares_are_not_rounded_to_all_or_nothing() -> None:
    assert [as_percent(share) for share in (0.0, 0.0001, 0.5, 0.9996, 1.0)] == [
        "0.0%",
        "less than 0.1%",
        "50.0%",
        "more than 99.9%",
        "100%",
    ]


# -- the pool: known or assumed, and whole or patchy --------------------------------------------------------------


def patchy(seed: int = 3) -> tuple[Collection, Grades]:
    """Pooled to depth 30, of which one judgment in 20 is lost, and 200 judgments that the pool does not explain."""
    made = simulate(systems=12, n_topics=10, n_docs=800, depth=100, pool_depth=30, seed=seed)
    rng = np.random.default_rng(seed)
    lost = rng.random(len(made.qrels)) < 0.06
    kept = made.qrels.filter(~pl.Series(lost))
    elsewhere = made.truth.join(made.qrels, on=["topic", "doc"], how="anti")
    some = elsewhere[np.sort(rng.choice(len(elsewhere), 200, replace=False)).tolist()]
    return replace(made, qrels=pl.concat([kept, some])), plain(replace(made, qrels=pl.concat([kept, some])))[0]


def test_a_patchy_pool_keeps_its_depth_and_all_judgments() -> None:
    made, _ = patchy()
    for pooled in (made.pooled, None):
        with catch_warnings():
            simplefilter("ignore")
            found = audit(made.qrels, made.runs, ["P@5"], pooled=pooled)
        assert (found.depth, found.used) == (30, len(made.qrels))
        assert set(made.pooled) <= set(found.contributing)


@pytest.mark.parametrize("kind", ["run", "group"])
@pytest.mark.parametrize("listed", [True, False])
def test_leaving_out_by_hand(kind: str, listed: bool) -> None:
    """A judgment is lost if no other contributing run has its document in the pool; those unexplained stay."""
    made, grades = patchy()
    _, rankings = plain(made)
    measures, pooled = [f"{name}@30" for name in BY_HAND], made.pooled if listed else None
    with catch_warnings():
        simplefilter("ignore")
        found = audit(made.qrels, made.runs, measures, groups=made.groups, pooled=pooled)
    contributing = found.contributing
    left = {(one.run, one.measure): one for one in (found.run_out if kind == "run" else found.group_out)}
    assert len(left) == len(contributing) * len(BY_HAND)
    for run in contributing:
        gone = {run} if kind == "run" else {one for one in contributing if made.groups[one] == made.groups[run]}
        stay = {}
        for topic, judged in grades.items():
            own = {d for name in gone for d in rankings[name].get(topic, [])[:30]}
            others = {d for name in contributing if name not in gone for d in rankings[name].get(topic, [])[:30]}
            stay[topic] = {d: grade for d, grade in judged.items() if d not in own or d in others}
        for name, slow in BY_HAND.items():
            one = left[run, f"{name}@30"]
            for value, known in ((one.full, grades), (one.without, stay)):
                by_hand = statistics.fmean(slow(rankings[run].get(topic, []), known[topic], 30) for topic in grades)
                assert value == pytest.approx(by_hand, abs=1e-12)
            assert one.removed == sum(map(len, grades.values())) - sum(map(len, stay.values()))


def test_who_contributed_is_assumed_in_so_many_words(made: Collection) -> None:
    with pytest.warns(fm.FathomsWarning, match="assumed pool: 4 of 9 runs"):
        found = audit(made.qrels, made.runs, ["P@5"])
    assert found.remarks[0] == (
        "Assumed pool: 4 of 9 runs (sys1, sys2, sys6, ...), judged through rank 12 (no --pooled list given)."
    )
    listed = audit(made.qrels, made.runs, ["P@5"], pooled=made.pooled)
    assert listed.remarks[0] == "Pool: the 4 runs listed, to depth 12 (inferred from what is judged)."
    assert any("All of the runs' first 12 documents are judged" in one for one in listed.remarks)


def test_judgments_that_are_no_pool() -> None:
    """Nobody contributed to judgments that were chosen one by one; a depth asked for does not change that."""
    runs = {name: run_of(text) for name, text in (("A", "uavbwc"), ("B", "vduexf"))}
    with pytest.warns(fm.FathomsWarning, match="assumed pool: unknown"):
        found = audit(JUDGED, runs, ["P@5"], depth=5)
    assert found.answer == ["Reuse: nothing shows which runs contributed, so look at how much of each run is judged."]
    assert found.remarks[0].startswith("No pool is known")
    assert "deeper pool" not in " ".join(found.sentences)  # what was chosen to be judged tells nothing of the rest
    assert "Relevant documents: 2.0 per topic in the runs' first 5 documents." in found.remarks


def test_enough_documents_to_tell() -> None:
    def last(*judged: int) -> Step:
        return _last_pooled([Step(i, i + 1, n, n // 2) for i, n in enumerate(judged)])

    assert last(50, 40) == Step(1, 2, 40, 20)
    assert last(50, 20, 10, 4) == Step(1, 4, 34, 17)
    assert last(5, 4) == Step(0, 2, 9, 4)


def test_topics_that_no_run_answers_can_be_left_out(made: Collection) -> None:
    one_more = made.qrels.head(20).with_columns(pl.lit("999").alias("topic"))
    more = pl.concat([made.qrels, one_more])
    plainly = audit(made.qrels, made.runs, list(SLOW), pooled=made.pooled, groups=made.groups)
    with pytest.warns(fm.FathomsWarning, match=r"in no run.*left out \(--topics intersect\)"):
        left = audit(more, made.runs, list(SLOW), pooled=made.pooled, groups=made.groups, topics="intersect")
    assert left.rows() == plainly.rows()
    with pytest.warns(fm.FathomsWarning, match="in no run.*count 0"):
        counted = audit(more, made.runs, list(SLOW), pooled=made.pooled, groups=made.groups)
    assert counted.relevant[-1].mean == pytest.approx(plainly.relevant[-1].mean * 7 / 8)


def test_others_may_have_brought_the_same_documents() -> None:
    """Where judgments come from runs that are not given, leaving a run out by hand takes too much away."""
    made, grades = patchy()
    found = audit(made.qrels, made.runs, ["P@5"], pooled=made.pooled)
    total = sum(map(len, grades.values()))
    less = f"The true change may be smaller: {total - found.in_pool:,} of {total:,} judgments come from runs"
    assert any(one.startswith(less) for one in found.remarks)
    more = "a deeper pool would probably find many more, unless other runs have found them already."
    assert any(one.endswith(more) for one in found.remarks)


def test_scores_are_not_complete_where_documents_are_unjudged(made: Collection) -> None:
    """Said to have contributed, and hardly judged."""
    found = audit(made.qrels, made.runs, ["P@5"], pooled=list(made.runs), depth=12)
    share = found.judged_in_pool
    assert share is not None
    assert share < 0.95
    least = min(found.judged, key=lambda name: found.judged[name].share or 0.0)
    (said,) = [one for one in found.remarks if "first 12 documents are judged" in one and "contribute" not in one]
    assert f"{share:.1%} of the runs' first 12 documents are judged (lowest: {least}, " in said
    assert "further judging can change even their P@12" in said
    assert "complete" not in said
    assert "cannot" not in said


def test_a_shallower_pool_has_its_judgments_only(made: Collection) -> None:
    found = audit(made.qrels, made.runs, ["P@5"], pooled=made.pooled, depth=DEPTH)
    only = f"Only the {found.in_pool:,} of {len(made.qrels):,} judgments that such a pool has are used."
    assert any(one.startswith(only) for one in found.remarks)
    deeper = audit(made.qrels, made.runs, ["P@5"], pooled=made.pooled, depth=20)  # the real one is 12 deep
    assert deeper.used == len(made.qrels)


def test_depth_is_measured(made: Collection) -> None:
    found = audit(made.qrels, made.runs, pooled=made.pooled)
    assert (found.depth, found.depth_asked) == (12, False)
    assert [m.name for m in found.measures] == ["AP(variant=b)@12", "nDCG@12", "RBP(p=0.8)@12", "RBP(p=0.95)@12"]
    assert not found.group_out


@pytest.mark.parametrize(
    ("run", "group", "verdict"),
    [(-1.3, -4.4, "can probably be scored"), (-6.1, -4.4, "with care"), (-1.3, -30.9, "do not compare")],
)
def test_reuse_is_judged_by_the_worse_experiment(result: Audit, run: float, group: float, verdict: str) -> None:
    def left(percent: float) -> list[LeftOut]:
        return [LeftOut("A", "A", f"P@{DEPTH}", 3, 1.0, 1 + percent / 100, 2, 3)]

    said = sentences(replace(result, run_out=left(run), group_out=left(group), others=[]))
    assert [verdict in line for line in said if line.startswith("Reuse: ")] == [True]
    assert any("would change by 1.3%" in line for line in said) or run != -1.3


def test_rises_and_falls_do_not_cancel(result: Audit) -> None:
    """A mean change of 0 made of +20% and -20% is no sign of a collection that can be reused."""
    left = [LeftOut(run, run, f"P@{DEPTH}", 3, 0.5, after, 2, 3) for run, after in (("A", 0.6), ("B", 0.4))]
    (said,) = [one for one in sentences(replace(result, run_out=left, group_out=[], others=[])) if "Reuse" in one]
    assert said.startswith("Reuse: do not compare")
    assert "would change by 20.0% on average" in said


def test_the_rank_is_that_of_the_measure_named(result: Audit) -> None:
    left = [
        LeftOut("A", "A", f"P@{DEPTH}", 3, 0.5, 0.49, 2, 9),
        LeftOut("A", "A", f"RBP(p=0.8)@{DEPTH}", 3, 0.5, 0.4, 2, 3),
    ]
    said = " ".join(sentences(replace(result, run_out=left, group_out=[])))
    changed = f"the run's RBP(p=0.8)@{DEPTH} would change by 20.0% on average and 20.0% at most (A)"
    assert f"{changed}; it would move by 1.0 ranks on average, among 9 runs." in said


def test_a_run_that_is_hardly_judged_is_never_fine(result: Audit) -> None:
    """However little leaving out contributing runs changes."""
    left = [LeftOut("A", "A", f"P@{DEPTH}", 3, 0.5, 0.5, 2, 2)]
    new = replace(
        result, run_out=left, group_out=left, others=["new"], judged={**result.judged, "new": Judged(12, 100)}
    )
    (said,) = [one for one in sentences(new) if "Reuse" in one]
    assert said.startswith("Reuse: score new systems with care")
    assert f"has less than 95% of the first {DEPTH} documents judged" in said
    assert "12.0%" in said


# -- guidelines ---------------------------------------------------------------------------------------------------

JUDGED: dict[str, dict[str, int]] = {
    topic: {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1, "f": 0} for topic in ("1", "2", "3", "4")
}


def run_of(text: str) -> dict[str, dict[str, float]]:
    return {topic: {d: float(len(text) - i) for i, d in enumerate(text)} for topic in JUDGED}


def status(measures: Sequence[str], runs: Mapping[str, Any], pooled: Sequence[str], depth: int) -> list[Status]:
    result = audit(JUDGED, runs, measures, pooled=pooled, depth=depth)
    assert [one.number for one in result.guidelines] == [1, 2, 3, 4, 5, 6, 7]
    for one in result.guidelines:
        assert one.evidence[0] != " "
        assert one.evidence.endswith(".")
        assert "\n" not in one.evidence
    return [one.status for one in result.guidelines]


PLAIN = {"A": run_of("acebdf"), "B": run_of("abcdef"), "C": run_of("bdface")}
PASS: Status = "pass"
WARN: Status = "warn"
NONE: Status = "not applicable"


@pytest.mark.parametrize(
    ("guideline", "measures", "expected"),
    [
        (1, ["AP@5", "P@5", "RBP(p=0.8)"], PASS),
        (1, ["AP@3"], WARN),  # a depth nobody uses
        (1, ["INST(T=2)@5"], WARN),  # neither in the paper's Table 2 nor in trec_eval
        (1, ["NumRet"], NONE),
        (2, ["P@5"], NONE),
        (2, ["AP"], PASS),
        (2, ["AP@5", "AP@1"], WARN),
        (2, ["AP", "AP@5"], WARN),  # to the end of the run is a depth too
        (2, ["AP@1"], PASS),
        (2, ["AP@5", "nDCG@1"], PASS),
        (2, ["AP(variant=b)@5", "AP@1"], PASS),  # two measures
        (3, ["P@5", "AP"], NONE),
        (3, ["AP@5", "nDCG@5"], PASS),  # trec_eval says how
        (3, ["Q(variant=b)@5"], PASS),
        (3, ["Q@5"], WARN),
        (5, ["AP@5", "P@5"], PASS),
        (6, ["P@5"], NONE),
        (6, ["AP@5"], WARN),
        (6, ["AP@5", "RBP(p=0.8)"], PASS),
    ],
)
def test_guidelines_on_measures(guideline: int, measures: list[str], expected: Status) -> None:
    assert status(measures, PLAIN, list(PLAIN), 6)[guideline - 1] == expected


def test_guideline_2_sees_that_the_depth_decides() -> None:
    runs = {"A": run_of("acebdf"), "B": run_of("bacedf"), "C": run_of("bdface")}
    assert status(["AP@5"], runs, list(runs), 6)[1] == PASS
    runs["A"] = run_of("abdfce")  # first where only two documents count, last where five do
    runs["C"] = run_of("bdacef")
    assert status(["AP@5"], runs, list(runs), 6)[1] == WARN


def test_guideline_2_does_not_call_a_cut_measure_uncut() -> None:
    cut = audit(JUDGED, PLAIN, ["AP@1"], pooled=list(PLAIN), depth=6).guidelines[1]
    assert "none is cut" not in cut.evidence
    assert "none is cut" in audit(JUDGED, PLAIN, ["AP"], pooled=list(PLAIN), depth=6).guidelines[1].evidence


def test_one_run_has_no_order() -> None:
    with pytest.warns(fm.FathomsWarning, match="only one run contributed"):
        found = audit(JUDGED, {"A": PLAIN["A"]}, ["AP@5", "P@5"], pooled=["A"], depth=2)
    assert [one.status for one in found.guidelines] == [PASS, NONE, PASS, PASS, NONE, PASS, NONE]
    assert "tau" not in " ".join(one.evidence for one in found.guidelines)


def test_measures_nobody_asked_for_are_not_held_against_the_user() -> None:
    found = audit(JUDGED, PLAIN, pooled=list(PLAIN), depth=3)
    assert (found.guidelines[0].status, found.guidelines[0].evidence) == (
        NONE,
        "No measure was asked for; ours are cut at the depth of the pool, 3.",
    )


def test_guideline_3_quotes_what_to_write() -> None:
    found = audit(JUDGED, PLAIN, ["AP(variant=b)@5"], pooled=["A", "B"], depth=6).guidelines[2]
    assert f'"fathoms {fm.__version__}, AP(variant=b)@5, --ties trec"' in found.evidence


def test_guideline_4_compares_with_the_order_of_the_files() -> None:
    tied = {topic: dict.fromkeys("acebdf", 1.0) for topic in JUDGED}  # relevant first in the file, last for trec_eval
    runs = {"A": tied, "B": run_of("abcdef"), "C": run_of("badcfe")}
    assert status(["P@1"], PLAIN, list(PLAIN), 6)[3] == PASS
    assert status(["AP@5"], runs, list(runs), 6)[3] == WARN
    spread = audit(JUDGED, runs, ["AP@5"], pooled=list(runs), depth=6, ties="expected").guidelines[3]
    assert "1 of 3 runs would have other scores in the order of their files than under --ties expected" in (
        spread.evidence
    )
    kept = audit(JUDGED, runs, ["AP@5"], pooled=list(runs), depth=6, ties="run")
    assert (kept.guidelines[3].status, "--ties run" in kept.guidelines[3].evidence) == (PASS, True)


def test_guideline_5_asks_for_a_demonstration() -> None:
    shown = {"A": run_of("acebdf"), "B": run_of("abcdef"), "C": run_of("bdface")}
    result = audit(JUDGED, shown, ["P@5", "RBP(p=0.8)", "P@1"], pooled=list(shown), depth=2)
    assert [one.measure for one in result.extended] == ["P@5", "RBP(p=0.8)"]
    found = {name: status([name], shown, list(shown), 2)[4] for name in ("P@2", "RBP(p=0.8)", "Rprec")}
    assert found == {"P@2": PASS, "RBP(p=0.8)": PASS, "Rprec": WARN}
    turned = {"A": run_of("abdfuv"), "B": run_of("bdaceu"), "C": run_of("xyzuvw")}
    result = audit(JUDGED, turned, ["AP@5"], pooled=list(turned), depth=1)
    assert result.guidelines[4].status == WARN
    assert [(one.measure, one.k) for one in result.extended] == [("AP@5", 5)]


def test_guideline_7_looks_at_outsiders() -> None:
    runs = {**PLAIN, "new": run_of("auvwxy"), "near": run_of("cabdef")}
    assert status(["P@5"], runs, ["A", "B", "C"], 6)[6] == WARN
    assert status(["P@5"], {**PLAIN, "near": runs["near"]}, ["A", "B", "C"], 6)[6] == PASS
    assert status(["P@5"], PLAIN, ["A", "B", "C"], 6)[6] == NONE
    evidence = audit(JUDGED, {**PLAIN, "new": runs["new"]}, ["P@5"], pooled=["A", "B", "C"], depth=6).guidelines[6]
    assert evidence.evidence == (
        "The only run that did not contribute has less than 95% of the first 6 documents judged (lowest: new, 16.7%); "
        "their first unjudged document is at rank 2.0 on average; over every way of judging each one's own "
        "documents, the range of P@5 is 0.8000 wide on average."
    )


def test_guideline_7_looks_at_every_run_and_not_at_their_mean() -> None:
    """One run with few judged documents among many, or on the list of contributing runs, is a reason to warn."""
    near = {f"near{i}": run_of("cabdef") for i in range(30)}
    runs = {**PLAIN, **near, "new": run_of("auvwxy")}
    many = audit(JUDGED, runs, ["P@5"], pooled=["A", "B", "C"], depth=6).guidelines[6]
    assert (many.status, "1 of the 31 runs that did not contribute has less" in many.evidence) == (WARN, True)
    listed = audit(JUDGED, runs, ["P@5"], pooled=list(runs), depth=6).guidelines[6]
    assert (listed.status, "1 of the 34 runs that contributed has less" in listed.evidence) == (WARN, True)


# -- what cannot be done, and odd cases ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"measures": ["AP(variant=c)@5"]}, "audit a variant that uses all judgments"),
        ({"pooled": ["nobody"]}, "none of the contributing runs is among the given ones"),
        ({"runs": {"A": run_of("xyz")}, "pooled": ["A"]}, "not judged through their first rank"),
        ({"measures": ["APP"]}, "unknown measure"),
    ],
)
def test_errors(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"runs": PLAIN, "measures": ["P@5"], "pooled": list(PLAIN)} | changed
    with pytest.raises(fm.FathomsError, match=message):
        audit(JUDGED, **given)


def test_one_run_or_one_group_cannot_be_left_out() -> None:
    with pytest.warns(fm.FathomsWarning, match="only one run contributed"):
        found = audit(JUDGED, PLAIN, ["P@5"], pooled=["A"], depth=6)
    assert found.run_out == []
    with pytest.warns(fm.FathomsWarning, match="only one group contributed"):
        found = audit(JUDGED, PLAIN, ["P@5"], pooled=["A", "B"], groups={"A": "t", "B": "t"}, depth=6)
    assert found.run_out
    assert found.group_out == []
    assert sentences(found)


def test_runs_without_a_group_stand_alone() -> None:
    with pytest.warns(fm.FathomsWarning, match="1 of 3 contributing runs have no group: C"):
        found = audit(JUDGED, PLAIN, ["P@5"], pooled=list(PLAIN), groups={"A": "t", "B": "t"}, depth=6)
    assert list(found.groups.values()) == [["A", "B"], ["C"]]


def test_ties_in_the_mean_over_all_orders(made: Collection) -> None:
    found = audit(made.qrels, made.runs, ["P@5"], pooled=made.pooled, ties="expected")
    frame = fm.evaluate(made.qrels, made.runs, "P@5", ties="expected")
    scores = dict(frame.select("run", "score").iter_rows())
    for one in found.run_out:
        assert one.full == pytest.approx(scores[one.run])


# -- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Collection) -> Path:
    from fathoms.data.simulate import write

    monkeypatch.chdir(tmp_path)
    write(made, tmp_path / "sim")
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return finished(capsys, "audit", *words)


GIVEN = ("sim/qrels.txt", "sim/runs", "--pooled", "sim/pooled.txt", "--groups", "sim/groups.tsv")


def test_formats_agree(files: Path, capsys: pytest.CaptureFixture[str], made: Collection) -> None:
    measures = [word for name in SLOW for word in ("-m", name)]
    done, text, _ = call(capsys, *GIVEN, *measures, "--depth", str(DEPTH), "--format", "tsv")
    assert done == 0
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
    records = json.loads(call(capsys, *GIVEN, *measures, "--depth", str(DEPTH), "--format", "json")[1])
    assert [list(record) for record in records] == [list(COLUMNS)] * len(rows)
    for row, record in zip(rows, records, strict=True):
        assert [row[name] for name in COLUMNS[:3]] == [record[name] for name in COLUMNS[:3]]
        for name in ("value", "spread"):
            assert row[name] == ("" if record[name] is None else str(record[name]))
    result = audit(made.qrels, made.runs, list(SLOW), pooled=made.pooled, groups=made.groups, depth=DEPTH)
    assert [tuple(record.values()) for record in records] == result.rows()
    frame = result.frame
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == sum(not isinstance(row[3], str) for row in result.rows())
    sections = list(dict.fromkeys(row["section"] for row in rows))
    assert sections == [
        "collection",
        "found",
        "rate",
        "pooling",
        "run-out-percent",
        "run-out-rank",
        "group-out-percent",
        "group-out-rank",
        "judged-share",
        "guideline",
        "evidence",
    ]


def test_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done, text, err = call(capsys, *GIVEN, "-m", "AP", "-m", "Rprec", "-m", "P@10")
    assert (done, err) == (0, "")
    assert text.startswith("Reuse: ")
    for part in (
        "\nPool: ",
        "New relevant documents",
        "RelInPool",
        "group out: %",
        "other runs",
        "deeper than the pool",
    ):
        assert part in text
    guidelines = text[text.index("Guidelines (") :].splitlines()[2:9]
    assert sorted(line[0] for line in guidelines) == list("1234567")
    warned = [re.search(r"  (warn|pass|not applicable)  ", line)[1] == "warn" for line in guidelines]  # type: ignore[index]
    assert warned == sorted(warned, reverse=True)
    assert call(capsys, *GIVEN, "-m", "AP", "-m", "Rprec", "-m", "P@10", "-o", "audit.txt") == (0, "", "")
    assert Path("audit.txt").read_text(encoding="utf-8") == text
    done, text, err = call(capsys, *GIVEN[:2], "--depth", "5")
    assert "assumed pool: 4 of 9 runs (sys1, sys2, sys6, ...), judged through rank 12 (no --pooled list given)" in err
    assert "Assumed pool: 4 of 9 runs (inferred from what is judged, as no --pooled list was given)" in text
    assert "--groups FILE leaves out whole teams too" in text
    assert call(capsys, *GIVEN[:2], "--depth", "5", "--quiet")[2] == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sys1 team1\n", "groups.txt:1: expected `run<TAB>team`, found 'sys1 team1'"),
        ("sys1\ta\n\nsys1\tb\n", "groups.txt:3: run sys1 has two teams, 'a' and 'b'"),
        ("other\ta\n", "groups.txt: names none of the given runs, of which the first is 'sys1'"),
    ],
)
def test_bad_groups(files: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    Path("groups.txt").write_text(text)
    done, out, err = call(capsys, *GIVEN[:2], "--groups", "groups.txt")
    assert (done, out) == (2, "")
    assert message in err


# -- real collections ---------------------------------------------------------------------------------------------


def teams_of(folder: Path) -> dict[str, str]:
    return dict(line.split("\t") for line in (folder / "groups.tsv").read_text().splitlines())


def by_team(names: Sequence[str], teams: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(teams[name], []).append(name)
    return found


def reference(path: Path) -> dict[str, str]:
    return dict(line.split() for line in path.read_text().splitlines())


def trec8_aligned(folder: Path, qrels: fm.Qrels) -> tuple[dict[str, Aligned], dict[str, Aligned]]:
    """Runs as the source scores them, and as it pools them.

    Its scores are trec_eval's on doubles, equal ones by document id, greatest first; its pools keep equal scores in the
    order of the files. No policy of ours is that order, so it is made a column of ranks here.
    """
    align = Alignment(qrels, "trec", "float64", trace=True)
    scored: dict[str, Aligned] = {}
    for_pool: dict[str, Aligned] = {}
    runs = fm.scan_runs(folder / "runs")
    for name in runs:
        run = runs[name]
        scored[name] = align(run)
        place = np.empty(len(run))
        place[np.argsort(-run.scores, kind="stable")] = np.arange(len(run))
        for_pool[name] = align(replace(run, ranks=place), ties="rank")
    return scored, for_pool


@pytest.mark.long
def test_trec8_depth_10_with_each_team_left_out() -> None:
    """The source's MAP of condensed runs, all 129 of them, with the pool of depth 10 of all runs and without a team."""
    folder = collection("trec8-adhoc")
    qrels = fm.read_qrels(folder / "qrels_extra" / "qrels.depth10.txt")
    scored, for_pool = trec8_aligned(folder, qrels)
    units = by_team(list(scored), teams_of(folder))
    assert len(units) == 41
    brought = contributions(for_pool, units, 10, len(qrels))
    everything = np.ones(len(qrels), dtype=bool)
    assert (judged_depths(for_pool.values(), qrels) <= 10).all()  # the source's file is this pool
    left = leave_out(qrels, everything, scored, brought, units, [fm.parse_measure("AP(judged_only=True)")])
    full = {one.run.removeprefix("input."): f"{one.full:.4f}" for one in left}
    without = {one.run.removeprefix("input."): f"{one.without:.4f}" for one in left}
    assert len(left) == len(full) == 129
    assert full == reference(folder / "reference" / "depth10.map")
    assert without == reference(folder / "reference" / "depth10.loo-map")


@pytest.mark.long
def test_trec8_depth_100_with_each_team_left_out() -> None:
    """The source's trec_eval output by topic for three runs, without what only their team brought to depth 100."""
    folder = collection("trec8-adhoc")
    qrels = fm.read_qrels(folder / "qrels.txt")
    scored, for_pool = trec8_aligned(folder, qrels)
    teams = teams_of(folder)
    brought = contributions(for_pool, by_team(list(scored), teams), 100, len(qrels))
    pool = judged_depths(for_pool.values(), qrels) <= 100  # the source has no other judgments
    paths = sorted((folder / "reference" / "trec_eval_loo").iterdir())
    assert len(paths) == 3
    for path in paths:
        run = path.name.replace("eval.", "input.", 1)
        lines = [line.split() for line in path.read_text().splitlines()]
        theirs = {topic: value for name, topic, value in (line[:3] for line in lines) if name == "map"}
        (left,) = leave_out(qrels, pool, scored, brought, {teams[run]: [run]}, [fm.parse_measure("AP")])
        assert f"{left.without:.4f}" == theirs.pop("all")
        evidence = with_judgments(scored[run], qrels, pool & ~brought.of(teams[run]))
        ours = fm.parse_measure("AP").value(evidence)
        assert {topic: f"{score:.4f}" for topic, score in zip(qrels.topics, ours, strict=True)} == theirs


@pytest.mark.long
def test_trec8_table_5() -> None:
    """As docs/audit.md prints it."""
    folder = collection("trec8-adhoc")
    experiment = fm.Experiment(
        folder / "qrels.txt", folder / "runs", pooled=folder / "pooled.txt", groups=teams_of(folder)
    )
    found = run_audit(experiment, depth=10)
    table = {
        (kind, one.measure): (round(one.percent.mean, 2), round(one.rank.mean, 2))
        for kind, left in (("run", found.run_out), ("group", found.group_out))
        for one in changes(left)
        if one.percent is not None and one.measure in ("AP(variant=b)@10", "RBP(p=0.8)@10")
    }
    assert table == {
        ("run", "AP(variant=b)@10"): (-6.07, 2.17),
        ("run", "RBP(p=0.8)@10"): (-4.92, 1.59),
        ("group", "AP(variant=b)@10"): (-8.61, 3.56),
        ("group", "RBP(p=0.8)@10"): (-6.82, 2.99),
    }
