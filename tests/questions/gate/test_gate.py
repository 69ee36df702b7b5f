"""The gate: its p-values against scipy and every way of judging, its outcomes, and what it writes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fathoms as fm
from fathoms.base.outcomes import SIGNS
from fathoms.inference.non_inferiority import JudgingPath, Sample, lower_end, mixed_p_above, p_above, worst_p_above
from fathoms.questions.gate.result import Gate
from fathoms.testing import assert_no_regression
from tests.support.commands import Command

Dicts = dict[str, dict[str, float]]


# -- p-values --------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_p_is_that_of_a_one_sided_t_test() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 5, 50):
        values = rng.normal(0.02, 0.1, n)
        for bound in (-0.01, 0.0, 0.03):
            expected = stats.ttest_1samp(values, bound, alternative="greater").pvalue
            assert p_above(values, bound) == pytest.approx(expected, rel=1e-9)
            assert mixed_p_above([Sample.of(np.stack([values, values]))], bound) == pytest.approx(expected, rel=1e-9)
            certain = 1.0 if expected >= 0.5 else max(expected, 2.0**-n)
            assert worst_p_above(values, values, bound) == pytest.approx(certain, rel=1e-6)


def test_differences_that_do_not_vary_have_the_p_of_their_signs() -> None:
    assert p_above(np.full(6, 0.02), 0.01) == 2.0**-6
    assert p_above(np.full(6, 0.02), 0.02) == 1.0
    assert p_above(np.full(6, 0.02), 0.03) == 1.0
    assert p_above(np.array([0.5]), 0.0) == 1.0  # one topic says nothing


@pytest.mark.long
@given(st.data())
def test_the_least_bound_is_below_that_of_every_judging(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 7))
    ends = st.floats(-0.5, 0.5).map(lambda x: round(x, 3))
    low = np.array([data.draw(ends) for _ in range(n)])
    high = low + np.array([data.draw(st.sampled_from([0.0, 0.05, 0.3])) for _ in range(n)])
    t = data.draw(st.sampled_from([0.0, 0.5, 1.68, 4.0]))
    corners = [np.array(one) for one in itertools.product(*zip(low, high, strict=True))]
    least = min(float(d.mean() - t * d.std(ddof=1) / np.sqrt(n)) for d in corners)
    assert JudgingPath.of(low, high).least_bound(t) <= least + 1e-12
    bound = data.draw(ends)
    worst = worst_p_above(low, high, bound)
    assert worst >= max(float(p_above(d, bound)) for d in corners) - 1e-9
    if (low == high).all() and t > 0:
        assert JudgingPath.of(low, high).least_bound(t) == pytest.approx(least, abs=1e-12)


def test_the_least_bound_is_reached_where_few_topics_are_open() -> None:
    """With one open topic the path of the proof goes through the very judgings there are, and between them."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        low = rng.normal(0, 0.1, 20)
        high = low.copy()
        high[rng.integers(20)] += 0.2
        corners = [float(d.mean() - 1.7 * d.std(ddof=1) / np.sqrt(20)) for d in (low, high)]
        assert JudgingPath.of(low, high).least_bound(1.7) == pytest.approx(min(corners), abs=1e-3)


def test_the_lower_end_is_where_p_reaches_alpha() -> None:
    values = np.random.default_rng(2).normal(0, 0.1, 30)
    end = lower_end(lambda bound: float(p_above(values, bound)), 0.05, -1.0, 1.0)
    expected = values.mean() - stats.t.isf(0.05, 29) * values.std(ddof=1) / np.sqrt(30)
    assert end == pytest.approx(expected, abs=1e-9)


def test_false_alarms_and_false_passes_are_at_most_alpha() -> None:
    """Of the t-test, with scores as measures have them: normal, and of a few values with many zeros."""
    rng = np.random.default_rng(3)
    normal = rng.normal(0, 0.2, (4000, 50))
    few = rng.choice([-0.2, -0.1, 0.0, 0.0, 0.0, 0.1, 0.2], (4000, 50))
    for values in (normal, few):
        alarms = float((p_above(-values, 0.0) < 0.05).mean())
        passes = float((p_above(values - 0.01, -0.01) < 0.05).mean())
        assert alarms <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
        assert passes <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


# -- outcomes --------------------------------------------------------------------------------------------------


def collection(differences: list[float], n: int = 20, unjudged: int = 0) -> tuple[Dicts, Dicts, Dicts]:
    """Judgments and two runs of n documents a topic whose P@n differ so much; some last documents are unjudged, those
    of the candidate by others than of the baseline."""
    qrels: Dicts = {}
    base: Dicts = {}
    candidate: Dicts = {}
    for i, difference in enumerate(differences):
        topic, relevant = f"t{i}", n // 2
        more = relevant + round(difference * n)
        base[topic] = {f"a{j}": float(n - j) for j in range(n)}
        candidate[topic] = {f"b{j}": float(n - j) for j in range(n)}
        judged = {f"a{j}": float(j < relevant) for j in range(n)} | {f"b{j}": float(j < more) for j in range(n)}
        hidden = {f"b{n - 1 - j}" for j in range(unjudged)} | {f"a{n - 1 - j}" for j in range(unjudged)}
        qrels[topic] = {document: grade for document, grade in judged.items() if document not in hidden}
    return qrels, base, candidate


def drawn(mean: float, n: int, seed: int) -> list[float]:
    values = np.random.default_rng(seed).normal(mean, 0.1, n)
    return [round(float(value) * 20) / 20 for value in np.clip(values, -0.45, 0.45)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mean", [0.05, 0.0, -0.1])
def test_with_everything_judged_it_is_two_t_tests(mean: float, seed: int) -> None:
    differences = drawn(mean, 30, seed)
    found = fm.gate(*collection(differences), "P@20", max_drop=0.02)
    (row,) = found.measured
    passes = stats.ttest_1samp(differences, -0.02, alternative="greater").pvalue
    drops = stats.ttest_1samp(differences, 0.0, alternative="less").pvalue
    assert row.p_beyond == pytest.approx(passes, abs=1e-9)
    assert row.p_drop == pytest.approx(drops, abs=1e-9)
    expected = "passes" if passes < 0.05 else "fails" if drops < 0.05 else "cannot tell"
    assert found.outcome == row.outcome == expected
    assert found.exit_code == {"passes": 0, "fails": 1, "cannot tell": 3}[expected]
    assert row.basis == ("" if expected == "cannot tell" else "certain")
    assert row.lower is not None
    assert (row.lower > -0.02) == (passes < 0.05)
    assert row.reason in ("", "topics")


def completions(qrels: Dicts, runs: list[Dicts]) -> list[Dicts]:
    """Every way of judging what is unjudged, of one grade."""
    open_ = [(t, d) for t in qrels for d in dict.fromkeys(d for run in runs for d in run[t]) if d not in qrels[t]]
    found = []
    for grades in itertools.product([0.0, 1.0], repeat=len(open_)):
        judged = {topic: dict(of) for topic, of in qrels.items()}
        for (topic, document), grade in zip(open_, grades, strict=True):
            judged[topic][document] = grade
        found.append(judged)
    return found


@pytest.mark.long
@pytest.mark.parametrize("measure", ["P@4", "nDCG@4", "AP", "RR"])
def test_what_is_certain_holds_in_every_judging(measure: str) -> None:
    """All completions of small collections: bounds of p and of differences are never passed."""
    rng = np.random.default_rng(5)
    certain = 0
    for trial in range(6):
        qrels, base, candidate = dict[str, dict[str, float]](), dict[str, Any](), dict[str, Any]()
        for i in range(6):
            docs = [f"d{j}" for j in range(8)]
            for run in (base, candidate):
                run[f"t{i}"] = {d: float(8 - r) for r, d in enumerate(rng.permutation(docs)[:4])}
            good = list(candidate[f"t{i}"])[:2] if trial % 2 else list(base[f"t{i}"])[:2]
            qrels[f"t{i}"] = {d: float(d in good or rng.random() < 0.2) for d in docs}
        listed = [(t, d) for t in qrels for d in dict.fromkeys([*base[t], *candidate[t]])]
        for place in rng.choice(len(listed), 5, replace=False):
            qrels[listed[place][0]].pop(listed[place][1])
        found = fm.gate(qrels, base, candidate, measure, max_drop=0.1, draws=0, workers=1).measured[0]
        values = []
        for judged in completions(qrels, [base, candidate]):
            scores = fm.Evaluator(judged, measure)
            a, b = (np.array([of[measure] for of in scores.evaluate(run).values()]) for run in (base, candidate))
            values.append(b - a)
        means = [float(d.mean()) for d in values]
        assert found.diff_low is not None
        assert found.diff_high is not None
        assert found.diff_low <= min(means) + 1e-9
        assert found.diff_high >= max(means) - 1e-9
        assert found.p_beyond_worst >= max(float(p_above(d, -0.1)) for d in values) - 1e-9
        assert found.p_drop_worst >= max(float(p_above(-d, 0.0)) for d in values) - 1e-9
        certain += found.outcome != "cannot tell"
    assert certain  # else nothing was tried


def test_copies_pass_whatever_is_allowed() -> None:
    qrels, base, _ = collection([0.0] * 5, unjudged=3)
    found = fm.gate(qrels, base, base, "nDCG@10", max_drop=0.0)
    assert found.outcome == "passes"
    assert found.sentences[0] == "Passes: candidate and baseline rank the same documents in the same order."


def test_new_documents_that_nobody_judged_are_no_drop() -> None:
    """Whoever takes unjudged documents for not relevant sees a significant drop here."""
    rng = np.random.default_rng(9)
    base = {f"t{i}": {f"a{j}": 10.0 - j for j in range(10)} for i in range(30)}
    candidate = {f"t{i}": {f"b{j}": 10.0 - j for j in range(10)} for i in range(30)}
    qrels = {t: {d: float(rng.random() < 0.5) for d in (*base[t], *candidate[t])} for t in base}
    hidden = [(t, f"b{j}") for t in base for j in rng.choice(10, 4, replace=False)]
    for topic, document in hidden:
        del qrels[topic][document]
    plain = fm.gate(qrels, base, candidate, "P@10", max_drop=0.05)
    (row,) = plain.measured
    judged = [sum(qrels[t].get(d, 0) for d in candidate[t]) / 10 - sum(qrels[t][d] for d in base[t]) / 10 for t in base]
    assert stats.ttest_1samp(judged, 0.0, alternative="less").pvalue < 0.001
    assert row.diff == pytest.approx(np.mean(judged))
    assert plain.outcome == "cannot tell"
    assert row.reason == "judging"
    assert row.unjudged == len(hidden)
    assert 0 < (row.needed or 0) <= len(hidden)
    assert {(one.topic, one.document) for one in plain.to_judge} <= set(hidden)
    assert "Judge first" in plain.findings[-2]
    assert plain.findings[-1] == "Ranges: every way of judging the unjudged documents of the two runs."
    assert all(one.rank_baseline is None and one.rank_candidate is not None for one in plain.to_judge)
    assert all(one.change == pytest.approx(0.1 / 30) for one in plain.to_judge)  # P@10 over 30 topics


def test_judging_what_is_named_first_tells() -> None:
    """The documents that are asked for, judged as is true, settle the question here."""
    qrels, base, candidate = collection(drawn(0.1, 30, 1), n=10)
    truth = {topic: dict(of) for topic, of in qrels.items()}
    for topic in qrels:
        for document in list(candidate[topic])[1:5:2]:
            del qrels[topic][document]
    found = fm.gate(qrels, base, candidate, "P@10", max_drop=0.05)
    assert found.outcome == "cannot tell"
    needed = found.measured[0].needed or 0
    for one in found.to_judge[: max(needed, 1) * 2]:
        qrels[one.topic][one.document] = truth[one.topic][one.document]
    assert fm.gate(qrels, base, candidate, "P@10", max_drop=0.05).outcome == "passes"


def test_several_measures_must_all_pass_and_alarms_are_corrected() -> None:
    qrels, base, candidate = collection(drawn(-0.045, 20, 4))
    one = fm.gate(qrels, base, candidate, "P@20", max_drop=0.0)
    three = fm.gate(qrels, base, candidate, ["P@20", "P@19", "P@18"], max_drop=0.0)
    assert len(three.measured) == 3
    p = [row.p_drop for row in three.measured]
    holm = np.maximum.accumulate(np.sort(p) * [3, 2, 1])
    assert sorted(row.p_drop_corrected for row in three.measured) == pytest.approx(np.minimum(holm, 1.0).tolist())
    assert one.measured[0].p_drop_corrected == one.measured[0].p_drop
    better = collection(drawn(0.2, 20, 5))
    assert fm.gate(*better, ["P@20", "P@5"], max_drop=0.01).outcome == "passes"


def test_a_drop_in_one_group_fails_the_gate_and_is_named() -> None:
    differences = [*drawn(0.02, 40, 7), *drawn(-0.25, 10, 8)]
    groups = {f"t{i}": "old" if i < 40 else "new" for i in range(50)}
    found = fm.gate(*collection(differences), "P@20", max_drop=0.05, topic_groups=groups)
    rows = {row.group: row for row in found.measured}
    assert rows["group=new"].outcome == "fails"
    assert rows["group=old"].outcome != "fails"
    assert found.outcome == "fails"
    assert "P@20 in group=new" in found.sentences[0]
    assert any("the worst of 2 groups is group=new" in sentence for sentence in found.sentences)
    worst = min(found.by_group, key=lambda row: row.diff)
    assert worst.group == "group=new"
    assert rows["group=new"].diff == pytest.approx(np.mean(differences[40:]))


def test_groups_have_half_of_alpha_and_leave_the_other_half_to_all_topics() -> None:
    qrels, base, candidate = collection(drawn(-0.045, 20, 4))
    groups = {topic: f"g{i % 4}" for i, topic in enumerate(qrels)}
    plain = fm.gate(qrels, base, candidate, "P@20").overall[0]
    found = fm.gate(qrels, base, candidate, "P@20", topic_groups=groups)
    assert found.overall[0].p_drop_corrected == pytest.approx(min(1.0, 2 * plain.p_drop))
    p = np.array([row.p_drop for row in found.by_group])
    holm = np.minimum(np.maximum.accumulate(np.sort(p) * [4, 3, 2, 1]), 1.0)
    assert sorted(row.p_drop_corrected for row in found.by_group) == pytest.approx(np.minimum(2 * holm, 1.0).tolist())


def test_equal_scores_of_few_topics_say_little() -> None:
    """Other documents, as good: that is not the same as a copy."""
    few = [{f"t{i}": {"a": 1.0, "b": 1.0} for i in range(n)} for n in (2, 8)]
    outcomes = []
    for qrels in few:
        base, candidate = ({topic: {document: 1.0} for topic in qrels} for document in "ab")
        outcomes.append(fm.gate(qrels, base, candidate, "P@1").outcome)
    assert outcomes == ["cannot tell", "passes"]  # 2^-2 is no 5%, 2^-8 is


def test_one_topic_says_nothing_of_others() -> None:
    found = fm.gate(*collection([0.1]), "P@20")
    assert found.outcome == "cannot tell"
    assert found.sentences[1].endswith("one topic says nothing about others.")
    assert found.measured[0].lower is None


def test_what_ties_could_do_is_not_certain() -> None:
    """As scored both have the relevant document first; another order of ties puts it last in the candidate."""
    qrels = {f"t{i}": {"z": 1.0, "a": 0.0} for i in range(10)}
    base = {topic: {"z": 2.0, "a": 1.0} for topic in qrels}
    candidate = {topic: {"z": 1.0, "a": 1.0} for topic in qrels}
    found = fm.gate(qrels, base, candidate, "P@1", max_drop=0.1)
    assert found.measured[0].p_beyond_worst == 1.0
    assert found.measured[0].basis != "certain"
    assert any(sentence.startswith("Ties: ") for sentence in found.sentences)


def test_ranks_at_which_nothing_is_judged_take_no_rate_from_further_down() -> None:
    """The baseline's first five are unjudged and its next five judged not relevant, the candidate's are all judged."""
    rng = np.random.default_rng(4)
    base = {f"t{i}": {f"a{j}": 10.0 - j for j in range(10)} for i in range(40)}
    candidate = {f"t{i}": {f"b{j}": 10.0 - j for j in range(10)} for i in range(40)}
    judged = [*(f"a{j}" for j in range(5, 10)), *(f"b{j}" for j in range(10))]
    qrels = {t: {d: float(d[0] == "b" and rng.random() < 0.34) for d in judged} for t in base}
    assert fm.gate(qrels, base, candidate, "P@5").outcome == "cannot tell"
    assert fm.gate(qrels, candidate, base, "P@5").outcome == "cannot tell"


@pytest.mark.long
def test_labels_decide_only_where_they_cover() -> None:
    rng = np.random.default_rng(9)
    base = {f"t{i}": {f"a{j}": 10.0 - j for j in range(10)} for i in range(30)}
    candidate = {f"t{i}": {f"b{j}": 10.0 - j for j in range(10)} for i in range(30)}
    rate = {"a": 0.3, "b": 0.8}
    truth = {t: {d: float(rng.random() < rate[d[0]]) for d in (*base[t], *candidate[t])} for t in base}
    qrels = {t: {d: g for d, g in of.items() if d[0] == "a" or rng.random() < 0.3} for t, of in truth.items()}
    few = {"t0": {"a0": 1.0, "b9": 1.0}}
    plain = fm.gate(qrels, base, candidate, "P@10", max_drop=0.05, draws=50)
    exp = fm.Experiment(qrels, {"baseline": base, "candidate": candidate})
    exp.warn = False
    some = exp.gate("P@10", max_drop=0.05, draws=50, labels=[few])
    assert any("labels decide only if" in note for note in some.notes)
    assert some.measured[0].lower is not None
    assert plain.measured[0].lower is not None
    assert some.measured[0].lower <= plain.measured[0].lower + 0.02
    covered = exp.gate("P@10", max_drop=0.05, draws=50, labels=[truth])
    assert covered.outcome == "passes"
    assert covered.measured[0].basis == "labelled"
    assert "as the estimate from the labels says" in covered.sentences[0]


def test_its_p_is_not_called_that_of_compare() -> None:
    """Two questions, two names, and the sentence says which: with new documents one p is small and the other is not."""
    rng = np.random.default_rng(9)
    base = {f"t{i}": {f"a{j}": 10.0 - j for j in range(10)} for i in range(30)}
    candidate = {f"t{i}": {f"b{j}": 10.0 - j for j in range(10)} for i in range(30)}
    judged = [*(f"a{j}" for j in range(10)), *(f"b{j}" for j in range(6))]
    qrels = {t: {d: float(rng.random() < 0.5) for d in judged} for t in base}
    p = fm.compare(qrels, {"a": base, "b": candidate}, "P@10")["p"][0]
    gate = fm.gate(qrels, base, candidate, "P@10")
    (row,) = gate.measured
    assert p < 0.01
    assert row.p_drop > 0.05
    said = gate.findings[1]
    assert "no drop is significant once doubt about the unjudged documents counts (one-sided t-test, " in said
    assert f"t-test, p_drop = {row.p_drop:.4f})" in said
    assert "The p of `compare` asks another question: it takes them as not relevant, and is two-sided." in said
    assert "(p = " not in gate.markdown()
    for topic in qrels:
        qrels[topic] |= {f"b{j}": 0.0 for j in range(6, 10)}
    (row,) = fm.gate(qrels, base, candidate, "P@10").measured
    assert row.p_drop == pytest.approx(p / 2)  # with everything judged they differ in the number of sides alone


@pytest.fixture
def sound() -> tuple[Dicts, Dicts]:
    rng = np.random.default_rng(3)
    run = {f"t{i}": {f"Doc{j}": 20.0 - j for j in rng.permutation(20)} for i in range(30)}
    qrels = {t: {d: float(rng.random() < 0.4) for d in list(of)[:12]} for t, of in run.items()}
    return qrels, run


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "lower case": (str.lower, "match only without regard to case: 0 of 360 judged documents are in the run"),
    "blanks": (lambda id: id + " ", "match only without blanks at their ends"),
    "a prefix": (lambda id: f"index-7/{id}", "match only without 'index-7/"),
    "other documents": (
        lambda id: f"{int(id[3:]) * 37 % 1009}x",
        "none of its 300 documents in the first 10 ranks is judged, where",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_candidate_is_no_open_question(fault: str, sound: tuple[Dicts, Dicts], fathoms: Command) -> None:
    """It fails as bad input does, and names no documents to judge, since they do not exist."""
    qrels, run = sound
    change, message = BROKEN[fault]
    candidate = {t: {change(d): score for d, score in of.items()} for t, of in run.items()}
    with pytest.raises(fm.InputError, match="the candidate is broken") as error:
        fm.gate(qrels, run, candidate, "nDCG@10")
    assert message in str(error.value)
    for name, data in (("qrels", qrels), ("base", run), ("candidate", candidate)):
        Path(f"{name}.json").write_text(json.dumps(data))
    done = fathoms(
        "gate", "qrels.json", "base.json", "candidate.json", "--markdown", "gate.md", "--judge-first", "todo"
    )
    assert done.status == 2
    assert "candidate.json: the candidate is broken" in done.err
    assert not done.out
    assert not Path("gate.md").exists()
    assert not Path("todo").exists()


@pytest.mark.parametrize("share", ["topics", "documents"])
def test_a_candidate_that_is_broken_in_part_is_broken(share: str, sound: tuple[Dicts, Dicts]) -> None:
    """Ids of a fifth of the topics, or of every third document, in lower case: no question of judging either."""
    qrels, run = sound
    broken = {
        t: {d.lower() if (i % 5 if share == "topics" else j % 3) == 0 else d: s for j, (d, s) in enumerate(of.items())}
        for i, (t, of) in enumerate(run.items())
    }
    with pytest.raises(fm.InputError, match=r"the candidate is broken: of its .* unjudged documents") as error:
        fm.gate(qrels, run, broken, "nDCG@10")
    assert "match judged ones without regard to case; the run has 'doc" in str(error.value)
    assert "the judgments 'Doc" in str(error.value)


def test_ids_that_differ_in_case_on_both_sides_do_not_make_a_candidate_broken(sound: tuple[Dicts, Dicts]) -> None:
    qrels, run = sound
    both = {t: {**of, **{d.lower(): s / 2 for d, s in of.items()}} for t, of in run.items()}
    assert fm.gate(qrels, both, both, "nDCG@10").outcome == "passes"


def test_a_candidate_with_some_judged_documents_is_not_broken(sound: tuple[Dicts, Dicts]) -> None:
    qrels, run = sound
    new = {t: {d if i in (3, 5) else f"new{i}": s for i, (d, s) in enumerate(of.items())} for t, of in run.items()}
    assert fm.gate(qrels, run, new, "nDCG@10").outcome == "cannot tell"
    all_new = {t: {f"new{i}": s for i, s in enumerate(of.values())} for t, of in run.items()}
    labels = {t: dict.fromkeys([*run[t], *of], 1.0) for t, of in all_new.items()}
    exp = fm.Experiment(qrels, {"baseline": run, "candidate": all_new})
    exp.warn = False
    assert exp.gate("nDCG@10", labels=[labels], draws=20).outcome in ("passes", "cannot tell")


def test_the_estimate_is_that_of_compare() -> None:
    qrels, base, candidate = collection(drawn(0.0, 12, 3), unjudged=4)
    exp = fm.Experiment(qrels, {"baseline": base, "candidate": candidate})
    exp.warn = False
    (pair,) = exp.compare("nDCG@10").pairs
    assert pair.estimate is not None
    assert exp.gate("nDCG@10").measured[0].estimate == pytest.approx(-pair.estimate)


def test_measures_that_a_gate_refuses() -> None:
    qrels, base, candidate = collection([0.1, 0.0, 0.05])
    for measure, message in (
        ("GMAP", "GMAP is not a mean over topics"),
        ("NumRet", "NumRet is not a mean over topics"),
    ):
        with pytest.raises(fm.FathomsError, match=message):
            fm.gate(qrels, base, candidate, measure)
    with pytest.raises(fm.FathomsError, match="a gate has two runs"):
        fm.Experiment(qrels, {"a": base, "b": candidate, "c": base}).gate()
    for bad in ({"max_drop": -1}, {"max_drop": float("inf")}, {"alpha": 0}, {"draws": -1}):
        with pytest.raises(fm.FathomsError, match=next(iter(bad))):
            fm.gate(qrels, base, candidate, **bad)


def test_a_measure_without_a_range_is_taken_as_judged() -> None:
    found = fm.gate(*collection(drawn(0.2, 20, 2)), "Judged@20", max_drop=0.01)
    assert found.outcome == "passes"
    assert found.measured[0].basis == "as judged"


# -- words and files -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three() -> dict[str, Gate]:
    """A gate of each outcome."""
    made = {
        "passes": fm.gate(*collection(drawn(0.1, 20, 1)), "P@20"),
        "fails": fm.gate(*collection(drawn(-0.1, 20, 1)), "P@20"),
        "cannot tell": fm.gate(*collection(drawn(0.0, 20, 1)), "P@20"),
    }
    assert {name: gate.outcome for name, gate in made.items()} == {name: name for name in made}
    return made


def test_headlines(three: dict[str, Gate]) -> None:
    assert three["passes"].sentences[0] == (
        "Passes: candidate is not more than 0.01 below baseline by P@20, with 95% confidence over topics, whatever the "
        "unjudged documents are and however ties are broken."
    )
    assert three["fails"].sentences[0] == "Fails: P@20 drops from baseline to candidate."
    assert three["cannot tell"].sentences[0] == (
        "Cannot tell whether candidate is worse than baseline: that would take more topics."
    )


def test_markdown_and_junit(three: dict[str, Gate]) -> None:
    for outcome, gate in three.items():
        text = gate.markdown()
        assert gate.outcome == outcome
        assert text.startswith(f"### {SIGNS[gate.outcome]}")
        assert f"| P@20 | 20 | {gate.measured[0].baseline:.4f} |" in text
        suite = ElementTree.fromstring(gate.junit())
        assert suite.attrib["tests"] == "1"
        assert suite.attrib["failures"] == str(int(outcome == "fails"))
        assert suite.attrib["errors"] == str(int(outcome == "cannot tell"))
        (case,) = suite
        assert case[0].tag == {"passes": "system-out", "fails": "failure", "cannot tell": "error"}[outcome]


@pytest.mark.long
def test_names_are_data_in_markdown_and_xml() -> None:
    qrels, base, candidate = collection(drawn(-0.2, 12, 3), unjudged=2)
    name = "a|b<script>*x*\x01&"
    groups = dict.fromkeys(qrels, name)
    gate = fm.gate(qrels, base, candidate, "P@20", topic_groups=groups)
    assert "<script>" not in gate.markdown()
    assert "a\\|b\\<script\\>\\*x\\*" in gate.markdown()
    suite = ElementTree.fromstring(gate.junit())
    assert any(f"group={name}".replace("\x01", "\\x01") in case.attrib["name"] for case in suite)


@pytest.mark.long
def test_the_command(fathoms: Command, three: dict[str, Gate]) -> None:
    for outcome, mean in (("passes", 0.1), ("fails", -0.1), ("cannot tell", 0.0)):
        qrels, base, candidate = collection(drawn(mean, 20, 1))
        for path, data in (("q.json", qrels), ("main.json", base), ("branch.json", candidate)):
            Path(path).write_text(json.dumps(data))
        files = ("q.json", "main.json", "branch.json", "-m", "P@20")
        done = fathoms("gate", *files, "--markdown", "s.md", "--junit", "j.xml", "--judge-first", "todo.tsv")
        assert done.status == three[outcome].exit_code
        first = three[outcome].sentences[0].replace("candidate", "branch").replace("baseline", "main")
        assert done.out.splitlines()[0] == first
        assert Path("s.md").read_text(encoding="utf-8").startswith("### ")
        ElementTree.parse("j.xml")
        assert Path("todo.tsv").read_text().startswith("topic\tdocument\trank_baseline")
        told = json.loads(fathoms("gate", *files, "--format", "json").out)
        assert told["outcome"] == outcome
        assert told["measures"][0]["diff"] == pytest.approx(three[outcome].measured[0].diff)
        for format in ("tsv", "csv", "markdown", "junit"):
            assert fathoms("gate", *files, "--format", format).status == three[outcome].exit_code
    assert fathoms("gate", "q.json", "main.json", "main.json").status == 0
    before = Path("q.json").read_bytes()
    for flag in ("--markdown", "--junit", "--judge-first", "-o"):
        done = fathoms("gate", *files, flag, "q.json")
        assert done.status == 2
        assert "is one of the files to read" in done.err
    assert Path("q.json").read_bytes() == before
    assert "two things at once" in fathoms("gate", *files, "--junit", "x", "--markdown", "x").err
    assert fathoms("gate", "q.json", "main.json", "nowhere.json").status == 2


def test_for_test_suites(three: dict[str, Gate]) -> None:
    assert assert_no_regression(*collection(drawn(0.1, 20, 1)), "P@20").outcome == "passes"
    with pytest.raises(AssertionError, match=r"Fails: P@20 drops"):
        assert_no_regression(*collection(drawn(-0.1, 20, 1)), "P@20", unsure="pass")
    unclear = collection(drawn(0.0, 20, 1))
    with pytest.raises(AssertionError, match=r"(?s)Cannot tell.*unsure='warn'"):
        assert_no_regression(*unclear, "P@20")
    with pytest.warns(UserWarning, match="Cannot tell"):
        assert_no_regression(*unclear, "P@20", unsure="warn")
    assert assert_no_regression(*unclear, "P@20", unsure="pass").outcome == "cannot tell"
    with pytest.raises(fm.FathomsError, match="unsure: expected one of fail, warn, pass"):
        assert_no_regression(*unclear, "P@20", unsure="maybe")


def test_every_figure_of_a_sentence_is_in_its_row(three: dict[str, Gate]) -> None:
    for outcome, gate in three.items():
        row, said = gate.measured[0], gate.sentences[1]
        assert row.lower is not None
        assert row.upper is not None
        assert f"({row.baseline:.4f} to {row.candidate:.4f}, {row.diff:+.4f} on average over 20 topics)" in said
        figure = {
            "passes": f"above {row.lower:+.4f}",
            "fails": f"at least {-row.upper:.4f}",
            "cannot tell": f"a drop of up to {-row.lower:.4f}",
        }[outcome]
        assert figure in said


@pytest.mark.long
@pytest.mark.parametrize("share", [0.3])
def test_simulated_pairs_without_a_difference(share: float, simulated: Callable[..., Any]) -> None:
    """Which of two systems is the candidate is drawn by lot for each topic, so there is no difference: an alarm is
    false. A short form of bench/gate.py."""
    folder = simulated(systems=2, n_topics=60, n_docs=300, depth=10, ties=0.0, unpooled=0, teams=1, seed=11)
    truth = fm.read_qrels(folder / "truth.txt").to_dict()
    one, two = (run.to_dict() for run in fm.read_runs(folder / "runs").values())
    rng = np.random.default_rng(6)
    alarms = 0
    for _ in range(12):
        swapped = {topic: rng.random() < 0.5 for topic in truth}
        base = {topic: (two if swapped[topic] else one)[topic] for topic in truth}
        candidate = {topic: (one if swapped[topic] else two)[topic] for topic in truth}
        qrels = {t: {d: g for d, g in of.items() if d in base[t] or rng.random() > share} for t, of in truth.items()}
        alarms += fm.gate(qrels, base, candidate, "nDCG@10", workers=1).outcome == "fails"
    assert alarms <= 3  # of 12 at 5% each: more happens once in 400 times
