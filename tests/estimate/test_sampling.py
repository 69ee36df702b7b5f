"""Samples of judgments: designs and how they are read, estimates and their intervals, drawing, the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError, InputError
from fathoms.data.qrels import JUDGED, UNJUDGED
from fathoms.estimate import sampling_error
from fathoms.estimate.control_variates import Helper, cross_fitted
from fathoms.estimate.design import read_design
from fathoms.estimate.sample import Sample, draw_on
from fathoms.estimate.sample_design import SampledDocuments, allocate, depth_bands, inclusion, run_sample, score_bands
from fathoms.estimate.sampled import estimate_run
from fathoms.estimate.sampling_error import PRIOR, Errors
from fathoms.questions.predict.sampled_prediction import SampledPrediction, sampled_prediction, sampled_scores
from tests.support import slow_sampling
from tests.support.commands import Command

Grades = dict[str, dict[str, int]]


def run_of(ranking: Sequence[str]) -> dict[str, float]:
    return {document: float(len(ranking) - i) for i, document in enumerate(ranking)}


def estimates(found: SampledPrediction) -> dict[tuple[str, str, str, str], tuple[float, float, float]]:
    """Estimate, low and high by run, topic, measure and method."""
    return {(row[0], row[1], row[2], row[6]): row[7:10] for row in found.rows()}


def predicted(exp: fm.Experiment, measures: Sequence[str], design: Any = "uniform", **how: Any) -> SampledPrediction:
    return sampled_prediction(exp, exp.measures(measures), design, **how)


# -- by hand --------------------------------------------------------------------------------------------------

SAMPLE_EVAL = """\
1 0 a 1 1
1 0 b 1 0
1 0 c 2 1
1 0 d 2 0
1 0 e 2 -1
1 0 f 2 -1
"""
RANKING = ["a", "e", "c", "x", "d", "f"]  # x is not in the pool


@pytest.fixture
def by_hand(tmp_path: Path) -> fm.Experiment:
    path = tmp_path / "sampled.qrels"
    path.write_text(SAMPLE_EVAL)
    return fm.Experiment(read_design(path).qrels, {"r": {"1": run_of(RANKING)}})


def test_values_worked_out_by_hand(by_hand: fm.Experiment, tmp_path: Path) -> None:
    """Stratum 1 is taken whole; of stratum 2, two of four are sampled, and one of them is relevant.

    R = 1 + 1 x 4/2 = 3.
    Precision at a, rank 1: 1. At c, rank 3, above are a (stratum 1: 1 of 1 relevant) and e (stratum 2: none sampled, so
    1/3): (1 + 1 + 1/3) / 3 = 7/9. xinfAP = (1 x 1 + 2 x 7/9) / 3 = 23/27, but for the small e of 0.00001.
    DCG = 1 x 1/log2(2) of stratum 1, plus 4 documents of stratum 2 in the run x (1/log2(4) + 0) / 2 = 1; together 2.
    Ideal: 1 + 1/log2(3) + 1/2. P@3 = (1 + 2 x 1) / 3 = 1. R@3 and NumRelRet follow.
    """
    found = estimates(
        predicted(by_hand, ["AP", "infAP", "nDCG", "P@3", "NumRel", "NumRelRet"], tmp_path / "sampled.qrels")
    )
    expected = {
        "AP": 23 / 27,
        "infAP": 23 / 27,
        "nDCG": 2 / (1 + 1 / np.log2(3) + 0.5),
        "P@3": 1.0,
        "NumRel": 3.0,
        "NumRelRet": 3.0,
    }
    for measure, value in expected.items():
        assert found["r", "all", measure, "sampled"][0] == pytest.approx(value, abs=2e-5), measure


def test_the_stratified_variance_by_hand(
    by_hand: fm.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P@3: of stratum 2, c has influence 1/3 and d has 0; their variance is 1/18, N (N - n) / n = 4 x 2 / 2 = 4."""
    monkeypatch.setattr(sampling_error, "PRIOR", 1e-12)
    sample = draw_on(by_hand, tmp_path / "sampled.qrels")
    errors = Errors(sample, None)
    one = estimate_run(sample, "r", sample.evidence("r"), by_hand.measures(["P@3"])[0], errors)
    assert errors.by_topic(one.influence, np.zeros(1)).variance == pytest.approx([4 / 18])
    assert errors.over_topics(one.influence, 0.0).variance == pytest.approx([4 / 18])


def test_few_documents_are_helped_by_all_topics() -> None:
    """A variance that rests on 4 documents counts as much as the one to expect; on none, the latter alone counts."""
    spread = sampling_error.joined(np.array([3.0, 0.0]), np.array([PRIOR, 0.0]), np.array([1.0, 1.0]))
    assert spread.variance.tolist() == [2.0, 1.0]
    assert spread.freedom.tolist() == [2 * PRIOR - 1, PRIOR - 1]
    assert spread.half_width(0.95)[0] == pytest.approx(2.3646 * np.sqrt(2), abs=1e-4)  # t with 7 degrees of freedom


# -- against plain loops --------------------------------------------------------------------------------------


def random_sampled(
    rng: np.random.Generator,
) -> tuple[dict[str, slow_sampling.Judgments], dict[str, dict[str, list[str]]]]:
    """Judgments by topic in up to three strata, each with a sampled document, and two runs."""
    judgments: dict[str, slow_sampling.Judgments] = {}
    runs: dict[str, dict[str, list[str]]] = {"r": {}, "s": {}}
    for topic in ("1", "2", "3"):
        names = [f"d{i}" for i in range(int(rng.integers(4, 14)))]
        of = {}
        for i, name in enumerate(names):
            stratum = str(i % 3) if len(names) > 6 else "0"
            grade = int(rng.integers(0, 3)) if rng.random() < 0.6 or i < 3 else -1
            of[name] = (stratum, grade)
        judgments[topic] = of
        for run in runs.values():
            run[topic] = list(rng.permutation([*names, "x", "y"])[: int(rng.integers(1, len(names) + 3))])
    return judgments, runs


@pytest.mark.parametrize("seed", range(40))
def test_xinfap_and_infndcg_are_those_of_plain_loops(seed: int, tmp_path: Path) -> None:
    judgments, runs = random_sampled(np.random.default_rng(seed))
    lines = [f"{t} 0 {d} {stratum} {g}" for t, of in judgments.items() for d, (stratum, g) in of.items()]
    path = tmp_path / "q"
    path.write_text("\n".join(lines))
    scored = {name: {topic: run_of(ranking) for topic, ranking in run.items()} for name, run in runs.items()}
    exp = fm.Experiment(read_design(path).qrels, scored)
    found = estimates(predicted(exp, ["AP", "nDCG", "NumRel"], path, by_topic=True))
    raw = predicted(exp, ["AP", "nDCG"], path).by_method
    for number, (name, run) in enumerate(runs.items()):
        for place, (topic, ranking) in enumerate(run.items()):
            ap, ndcg = raw[0].value[number, place], raw[1].value[number, place]
            assert ap == pytest.approx(slow_sampling.xinfap(ranking, judgments[topic]), abs=1e-9)
            assert ndcg == pytest.approx(slow_sampling.infndcg(ranking, judgments[topic]), abs=1e-9)
            relevant = found[name, topic, "NumRel", "sampled"][0]
            assert relevant == pytest.approx(slow_sampling.number_relevant(judgments[topic]))


@pytest.mark.parametrize("seed", range(10))
def test_weighted_sums_are_those_of_plain_loops(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    ranking = [f"d{i}" for i in rng.permutation(12).tolist()]
    grades = {f"d{i}": int(rng.integers(0, 3)) for i in range(0, 12, 2)}
    chance = {document: float(rng.uniform(0.1, 0.9)) for document in ranking}
    path = tmp_path / "design"
    path.write_text("".join(f"1 {document} {p!r}\n" for document, p in chance.items()))
    exp = fm.Experiment({"1": grades}, {"r": {"1": run_of(ranking)}})
    one = predicted(exp, ["DCG", "P@5"], path).by_method
    weights = [1 / np.log2(i + 2) for i in range(12)]
    gains: Mapping[str, float] = grades
    binary = {document: float(grade > 0) for document, grade in grades.items()}
    assert one[0].value[0, 0] == pytest.approx(slow_sampling.horvitz_thompson(ranking, gains, chance, weights))
    assert one[1].value[0, 0] == pytest.approx(slow_sampling.horvitz_thompson(ranking, binary, chance, [0.2] * 5))


# -- unbiased over all samples --------------------------------------------------------------------------------

TRUTH: Grades = {
    "1": {"a": 2, "b": 0, "c": 1, "d": 0, "e": 1, "f": 0, "g": 0},
    "2": {"a": 0, "b": 1, "c": 1, "d": 0, "e": 0},
}
RUNS = {
    "x": {"1": run_of(["a", "b", "c", "d", "e", "f", "g"]), "2": run_of(["a", "b", "c"])},
    "y": {"1": run_of(["g", "e", "c", "a"]), "2": run_of(["c", "e", "d", "b", "a"])},
}


def every_sample() -> list[Grades]:
    """Three documents of topic 1 and two of topic 2, in all ways."""
    return [
        {"1": {d: TRUTH["1"][d] for d in first}, "2": {d: TRUTH["2"][d] for d in second}}
        for first in combinations(TRUTH["1"], 3)
        for second in combinations(TRUTH["2"], 2)
    ]


@pytest.mark.long
def test_over_all_samples_the_mean_is_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by simulation: all 350 samples of two small topics, for the estimate, its variance and that of a difference.

    The helper's probabilities are wrong on purpose, and the same in all samples, as those are that do not look at the
    document's own judgment.
    """
    monkeypatch.setattr(sampling_error, "PRIOR", 1e-12)
    names = ["P@3", "RBP(p=0.8)", "DCG", "SDCG@3", "NumRel", "NumRelRet"]
    truth = fm.Experiment(TRUTH, RUNS)
    scores = {(row[0], row[1], row[2]): row[3] for row in truth.evaluate(names, by_topic=True).rows()}
    for wrong in (None, np.random.default_rng(1)):
        found: list[tuple[np.ndarray, np.ndarray, float]] = []
        chance = None if wrong is None else wrong.random(12)
        for grades in every_sample():
            exp = fm.Experiment(
                {topic: {**of, "no": 1, "none": 2} for topic, of in grades.items()}, RUNS
            )  # so grades are known
            sample = draw_on(exp, "uniform")
            # Those that are there for their grades alone count nowhere.
            beside = ~np.isin(np.arange(len(sample.topic)), np.arange(12))
            codes = np.where(beside, np.int16(JUDGED), sample.codes)
            sample = replace(sample, codes=codes)
            helper = None
            if chance is not None:
                padded = np.append(chance, np.zeros(len(sample.topic) - 12))
                helper = Helper(padded, np.full((2, 3), 0.5) * [0, 1, 1])
            errors = Errors(sample, helper)
            measured = [sampled_scores(sample, measure, errors) for measure in exp.measures(names)]
            value = np.array([one.value for one in measured])
            variance = np.array(
                [[errors.by_topic(one.influence[i], np.zeros(2)).variance for i in (0, 1)] for one in measured]
            )
            pair = measured[1].influence[0] - measured[1].influence[1]
            found.append((value, variance, float(errors.over_topics(pair, 0.0).variance[0])))
        values = np.array([one[0] for one in found])  # [sample, measure, run, topic]
        expected = [[[scores[run, topic, name] for topic in ("1", "2")] for run in RUNS] for name in names]
        assert np.allclose(values.mean(axis=0), expected)
        assert np.allclose(np.mean([one[1] for one in found], axis=0), values.var(axis=0))
        difference = (values[:, 1, 0] - values[:, 1, 1]).sum(axis=1)
        assert np.mean([one[2] for one in found]) == pytest.approx(difference.var())


@pytest.mark.long
def test_chances_of_their_own_are_unbiased_too() -> None:
    """Systematic sampling takes each document as often as its chance says, exactly as many as asked for."""
    runs = {f"r{i}": {"1": run_of([f"d{j}" for j in np.random.default_rng(i).permutation(40)[:20]])} for i in range(4)}
    times: dict[str, int] = {}
    for seed in range(400):
        drawn = run_sample(fm.Experiment(None, runs, seed=seed), 8, design="probe")
        assert drawn.n_to_judge == 8
        for _, document in drawn.to_judge:
            times[document] = times.get(document, 0) + 1
    chance = {row[1]: row[3] for row in drawn.rows()}
    assert sum(chance.values()) == pytest.approx(8)
    for document, p in chance.items():  # five standard errors
        assert abs(times.get(document, 0) / 400 - p) < 5 * np.sqrt(p * (1 - p) / 400) + 1e-9, document


# -- simulated collections ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated_truth() -> tuple[dict[str, Any], Grades]:
    """Six runs, and the grade of every document that they retrieved."""
    made = fm.simulate(systems=6, n_topics=12, n_docs=600, depth=60, pool_depth=60, unpooled=0, seed=11)
    truth: Grades = {}
    for topic, document, grade in made.truth.iter_rows():
        truth.setdefault(topic, {})[document] = int(grade)
    pool = fm.pool(made.runs, depth=60)
    grades: Grades = {}
    for topic, document in pool.select("topic", "document").iter_rows():
        grades.setdefault(topic, {})[document] = truth[topic].get(document, 0)
    return made.runs, grades


def judged(drawn: SampledDocuments, grades: Grades, taken: Grades | None = None) -> Grades:
    found: Grades = {topic: dict((taken or {}).get(topic, {})) for topic in grades}
    for topic, document in drawn.to_judge:
        found[topic][document] = grades[topic][document]
    return found


def many_samples(sample: Sample, truth: np.ndarray, per_topic: int, n: int) -> list[Sample]:
    """Simple random samples of each topic, made from a sample that is the whole population."""
    rng = np.random.default_rng(5)
    order = np.argsort(sample.topic, kind="stable")
    counts = np.bincount(sample.topic)
    starts = np.cumsum(counts) - counts
    drawn = np.full(len(counts), per_topic)
    chance = (drawn / counts)[sample.topic]
    found = []
    for _ in range(n):
        place = np.lexsort((rng.random(len(order)), sample.topic))
        chosen = np.zeros(len(order), dtype=bool)
        chosen[place] = np.arange(len(order)) - starts[sample.topic[place]] < per_topic
        codes = np.where(chosen, truth, np.int16(UNJUDGED))
        weight = np.where(chosen, 1 / chance, 0.0)
        found.append(
            replace(
                sample,
                codes=codes,
                probability=chance,
                cell=sample.topic,
                size=counts,
                drawn=drawn,
                stratum_weight=weight,
            )
        )
    return found


@pytest.mark.parametrize("n", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_unbiased_over_many_samples(simulated_truth: tuple[dict[str, Any], Grades], n: int) -> None:
    """Half of the pool is sampled. Weighted sums are unbiased; xinfAP and infNDCG nearly so, being ratios."""
    runs, grades = simulated_truth
    runs = {name: runs[name] for name in list(runs)[:2]}
    exp = fm.Experiment(grades, runs)
    whole = draw_on(exp, "uniform")
    inside = np.arange(len(whole.topic)) < len(whole.candidates)
    whole = replace(
        whole,
        topic=whole.topic[inside],
        codes=whole.codes[inside],
        stratum=np.zeros(int(inside.sum()), dtype=np.int64),
        probability=whole.probability[inside],
    )
    truth = whole.codes
    measures = exp.measures(["P@10", "DCG@20", "AP", "nDCG", "NumRelRet"])
    counts = np.stack([np.bincount(whole.topic[truth == JUDGED + i], minlength=12) for i in range(3)], axis=1)
    values = []
    for sample in many_samples(whole, truth, 48, n):
        errors = Errors(sample, None)
        values.append(
            [[estimate_run(sample, run, sample.evidence(run), m, errors).value for run in runs] for m in measures]
        )
    found = np.array(values).mean(axis=3)  # of topics: [sample, measure, run]
    for number, measure in enumerate(measures):
        for place, run in enumerate(runs):
            evidence = replace(whole.evidence(run), counts=counts)
            score = float(measure.value(evidence).mean())
            error = float(found[:, number, place].mean()) - score
            if measure.name in ("AP", "nDCG"):
                assert abs(error) < 0.03 * score, (measure.name, run, error, score)
            else:
                assert abs(error) < 4 * found[:, number, place].std() / np.sqrt(n), (measure.name, run)


@pytest.mark.parametrize(
    ("design", "taken"),
    [
        pytest.param("uniform", 0, marks=pytest.mark.slow),
        pytest.param("depth", 0, marks=pytest.mark.slow),
        ("probe", 5),
    ],
)
def test_intervals_cover(simulated_truth: tuple[dict[str, Any], Grades], design: str, taken: int) -> None:
    """Of 40 samples, means of six runs and their differences: 95% intervals cover most often, and say something."""
    runs, grades = simulated_truth
    names = ["P@10", "RBP(p=0.95)", "AP", "nDCG@10"]
    exact = fm.Experiment(grades, runs)
    scores = {(row[0], row[2]): row[3] for row in exact.evaluate(names).rows()}
    first: Grades = {topic: {} for topic in grades}
    if taken:
        for topic, document in fm.pool(runs, depth=taken).select("topic", "document").iter_rows():
            first[topic][document] = grades[topic][document]
    covered: dict[tuple[str, str], list[bool]] = {}
    widths: dict[tuple[str, str], list[float]] = {}
    for seed in range(40):
        before = fm.Experiment(first if taken else None, runs, pooled=list(runs), seed=seed, workers=1)
        drawn = run_sample(before, 240, design=design)
        exp = fm.Experiment(judged(drawn, grades, first), runs, pooled=list(runs), workers=1)
        found = predicted(exp, names, drawn.design, assist=True)
        for run, _, name, _, _, _, method, _, low, high in found.rows():
            covered.setdefault((name, method), []).append(low - 1e-9 <= scores[run, name] <= high + 1e-9)
            widths.setdefault((name, method), []).append(high - low)
        for a, b, _, name, method, _, low, high, _ in found.differences().rows():
            covered.setdefault((f"{name} difference", method), []).append(
                low - 1e-9 <= scores[a, name] - scores[b, name] <= high + 1e-9
            )
    for key, hits in covered.items():
        assert np.mean(hits) > 0.88, (key, np.mean(hits))
    for key, found_widths in widths.items():
        assert 0.02 < np.mean(found_widths) < 0.75, (key, np.mean(found_widths))


@pytest.mark.long
def test_predictions_help(simulated_truth: tuple[dict[str, Any], Grades]) -> None:
    """Assisted estimates of weighted sums have narrower intervals, and no more error."""
    runs, grades = simulated_truth
    exact = {row[0]: row[3] for row in fm.Experiment(grades, runs).evaluate(["RBP(p=0.95)"]).rows()}
    off: dict[str, list[float]] = {"sampled": [], "assisted": []}
    wide: dict[str, list[float]] = {"sampled": [], "assisted": []}
    for seed in range(30):
        drawn = run_sample(fm.Experiment(None, runs, seed=seed), 240, design="depth")
        exp = fm.Experiment(judged(drawn, grades), runs, workers=1)
        for row in predicted(exp, ["RBP(p=0.95)"], drawn.design, assist=True).rows():
            off[row[6]].append(row[7] - exact[row[0]])
            wide[row[6]].append(row[9] - row[8])
    assert np.mean(np.square(off["assisted"])) < np.mean(np.square(off["sampled"]))
    assert np.mean(wide["assisted"]) < 0.9 * np.mean(wide["sampled"])


def test_no_document_has_a_part_in_its_own_prediction(simulated_truth: tuple[dict[str, Any], Grades]) -> None:
    """Turning the grade of one sampled document changes predictions for other topics' folds, and not for its own."""
    runs, grades = simulated_truth
    drawn = run_sample(fm.Experiment(None, runs, seed=3), 240)
    before = judged(drawn, grades)
    topic, document = drawn.to_judge[0]
    after = {t: dict(of) for t, of in before.items()}
    after[topic][document] = 2 - min(after[topic][document], 1) * 2
    helpers = [cross_fitted(draw_on(fm.Experiment(one, runs), drawn.design)) for one in (before, after)]
    sample = draw_on(fm.Experiment(before, runs), drawn.design)
    of_topic = sample.topic == sample.candidates.topics.index(topic)
    assert (helpers[0].probability[of_topic] == helpers[1].probability[of_topic]).all()
    assert (helpers[0].probability != helpers[1].probability).any()


# -- properties -----------------------------------------------------------------------------------------------

GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1, max_size=8)


@pytest.mark.long
@given(
    st.lists(GRADES, min_size=1, max_size=4), st.integers(0, 2**31), st.sampled_from(["uniform", "strata", "chance"])
)
@settings(max_examples=15, deadline=None)
def test_a_full_sample_is_the_score_with_no_error(topics: list[dict[str, int]], seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    qrels = {str(i): of for i, of in enumerate(topics)}
    runs = {
        name: {
            topic: run_of(list(rng.permutation(list(of)))[: int(rng.integers(1, len(of) + 1))])
            for topic, of in qrels.items()
        }
        for name in ("x", "y")
    }
    exp = fm.Experiment(qrels, runs)
    design: Any = "uniform"
    if kind != "uniform":
        design = draw_all(exp, kind)
    names = ["P@3", "RBP(p=0.8)", "DCG", "nDCG@3", "AP(variant=b)@3", "R@2", "NumRel"]
    scores = {(row[0], row[1], row[2]): row[3] for row in exp.evaluate(names, by_topic=True).rows()}
    for row in predicted(exp, names, design, assist=True, by_topic=True).rows():
        small = 5e-5 if row[2].startswith("AP") else 1e-9  # sample_eval adds 0.00001 to counts
        assert row[7] == pytest.approx(scores[row[:3]], abs=small), row
        assert row[8] == pytest.approx(row[7], abs=small), row
        assert row[9] == pytest.approx(row[7], abs=small), row


def draw_all(exp: fm.Experiment, kind: str) -> Any:
    """A design in which everything was drawn."""
    design = run_sample(fm.Experiment(None, exp.runs), 10_000, design="depth").design
    if kind == "chance":
        return replace(design, stratum=None, probability=np.ones(len(design)))
    return replace(design, probability=None)


@pytest.mark.long
@given(st.permutations(SAMPLE_EVAL.splitlines()), st.permutations(range(3)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_lines_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], runs: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("order")
    path, other = folder / "q", folder / "sorted"
    path.write_text("\n".join(lines))
    other.write_text(SAMPLE_EVAL)
    given_runs = [(f"r{i}", {"1": run_of(RANKING[i:])}) for i in range(3)]
    names = ["AP", "nDCG", "P@3"]
    first = estimates(predicted(fm.Experiment(read_design(other).qrels, dict(given_runs)), names, other))
    second = estimates(
        predicted(
            fm.Experiment(read_design(path).qrels, {given_runs[i][0]: given_runs[i][1] for i in runs}), names, path
        )
    )
    assert {key: pytest.approx(value) for key, value in first.items()} == second


# -- reading designs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "design: the file is empty; expected lines `topic document probability`"),
        ("1 a\n", "design:1: expected lines `topic document probability`, `topic document stratum probability` or "),
        ("1 a 0.5\n1 b\n", "design:2: expected 3 columns (topic document probability), found 2: '1 b'"),
        ("1 a 0.5\n\n1 b x\n", "design:3: expected a finite number as probability (column 3), found 'x'"),
        ("1 a 0.5\n1 b 0\n", "design:2: expected a probability above 0 and up to 1, found 0; strata need a first line"),
        ("1 a s 0.5\n1 b s 1.5\n", "design:2: expected a probability above 0 and up to 1, found 1.5"),
        ("1 a 0.5\n2 a 0.5\n1 a 0.5\n", "design:3: topic 1, document a is listed already, in line 1"),
        ("topic document grade\n1 a 1\n", "design:1: expected lines `topic document probability`"),
        ("topic document stratum sampled\n1 a s 2\n", "design:2: expected 1 or 0 as sampled, found 2"),
        ("1 0 a 1 x\n", "design:1: expected a finite number as grade (column 5), found 'x'"),
    ],
)
def test_a_bad_design_is_named_with_its_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("design").write_text(text)
    with pytest.raises(InputError) as error:
        read_design("design")
    assert str(error.value).startswith(message)


def test_strata_may_have_names_and_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "design"
    path.write_text("# drawn by hand\nquery_id docno stratum\none a top\none b deep\none c deep\n")
    design = read_design(path)
    assert (design.topics, design.strata, design.probability) == (["one"], ["top", "deep"], None)
    assert design.stratum is not None
    assert design.stratum.tolist() == [0, 1, 1]
    exp = fm.Experiment({"one": {"a": 1, "b": 1}}, {"r": {"one": run_of(["a", "b", "c"])}})
    sample = draw_on(exp, path)
    assert sample.probability.tolist() == [1.0, 0.5, 0.5]
    with pytest.raises(FathomsError, match="has no grades"):
        _ = design.qrels


def test_what_a_design_cannot_be(tmp_path: Path) -> None:
    exp = fm.Experiment({"1": {"a": 1}}, {"r": {"1": run_of(["a", "b"])}})
    path = tmp_path / "design"
    path.write_text("topic document stratum sampled\n1 a s 1\n1 b s 1\n")
    with pytest.raises(FathomsError, match="1 of the 2 sampled documents is not judged yet, of topic 1"):
        predicted(exp, ["P@1"], path)
    path.write_text("9 a 0.5\n")
    with pytest.raises(FathomsError, match="none of its topics, such as 9, is judged"):
        predicted(exp, ["P@1"], path)
    path.write_text("1 b 0.5\n1 c 0.5\n")
    with pytest.raises(FathomsError, match="no document of the population is judged"):
        predicted(exp, ["P@1"], path)
    for call, message in (
        ({"design": 3}, "design: expected 'uniform', a file or a SamplingDesign, found 3"),
        ({"design": path, "depth": 3}, "depth: a design that lists its population"),
        ({"plain": False}, "nothing to estimate by"),
        ({"labels": ["x"]}, "labels are for assisted estimates"),
    ):
        with pytest.raises(FathomsError, match=message):
            predicted(exp, ["P@1"], **call)
    for measure, message in (
        ("RR", "RR has no estimate from a sample; weighted sums"),
        ("GMAP", "GMAP has no estimate"),
        ("AP(variant=c)@5", "needs the pool of depth k"),
        ("P(judged_only=True)@5", "drop judged_only"),
    ):
        with pytest.raises(FathomsError, match=message):
            predicted(exp, [measure])


def test_the_population_is_said() -> None:
    """Documents outside the population count as not relevant, judged ones beside it as they are judged."""
    exp = fm.Experiment({"1": {"a": 1, "c": 1, "z": 1}}, {"r": {"1": run_of(["a", "b", "c", "d"])}})
    found = predicted(exp, ["P@4", "NumRel"], depth=2)
    assert found.notes[0].startswith("2 judged documents outside the population the sample was drawn from")
    values = estimates(found)
    assert values["r", "all", "P@4", "sampled"][0] == 0.75  # a stands for b, c is known, d is outside
    assert values["r", "all", "NumRel", "sampled"][0] == 4.0
    assert found.answer[0] == "P@4: r has an estimated score of 0.7500 (0.5000 to 0.7500)."
    assert found.remarks[0].startswith(
        "1 document sampled from 2 stand for them; 2 documents judged for sure count once."
    )


def test_a_list_of_the_sample_alone(tmp_path: Path) -> None:
    """Where only judged documents are listed, all documents of the runs are the population."""
    path = tmp_path / "design"
    path.write_text("1 a 1\n1 b 0.25\n")
    exp = fm.Experiment({"1": {"a": 1, "b": 1}}, {"r": {"1": run_of(["a", "b", "c", "d", "e"])}})
    found = predicted(exp, ["P@5"], path)
    assert estimates(found)["r", "all", "P@5", "sampled"][0] == 1.0  # 1 for a, 4 for b
    assert any("lists judged documents only" in note for note in found.notes)


def test_strata_without_a_sampled_document_join_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "design"
    path.write_text("topic document stratum\n1 a s\n1 b t\n1 c u\n1 d u\n")
    exp = fm.Experiment({"1": {"a": 0, "b": 1}}, {"r": {"1": run_of(["a", "b", "c", "d"])}})
    found = predicted(exp, ["NumRel"], path)
    assert estimates(found)["r", "all", "NumRel", "sampled"][0] == 3.0  # b stands for c and d
    assert any("nothing was sampled from 1 stratum of a topic" in note for note in found.notes)


def test_nothing_relevant_sampled_is_not_certainty() -> None:
    """With one document of ten sampled and not relevant, much is possible."""
    ranking = [f"d{i}" for i in range(10)]
    exp = fm.Experiment({"1": {"d4": 0}, "2": {"d1": 1}}, {"r": {"1": run_of(ranking), "2": run_of(ranking)}})
    for row in predicted(exp, ["P@5", "AP", "nDCG@5"], by_topic=True).rows():
        assert row[9] - row[8] > 0.3, row


# -- drawing --------------------------------------------------------------------------------------------------


def test_bands_of_depth_double() -> None:
    label, names, rate = depth_bands(np.array([1, 10, 11, 20, 21, 40, 41, 55]))
    assert label.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert names == ["1-10", "11-20", "21-40", "41-80"]
    assert (np.diff(rate) < 0).all()


def test_bands_of_probability() -> None:
    label, names, _ = score_bands(np.array([0.01, 0.02, 0.3, 0.9]))
    assert [names[i] for i in label] == ["p0-0.02", "p0.02-0.05", "p0.2-0.5", "p0.5-1"]


def test_allocation() -> None:
    """Two of each first; of the five left 5 x 30/70 = 2.1 and 5 x 40/70 = 2.9; never more than there are."""
    assert allocate(9, np.array([10, 20]), np.array([3.0, 2.0])).tolist() == [4, 5]
    assert allocate(9, np.array([3, 20]), np.array([100.0, 1.0])).tolist() == [3, 6]
    assert allocate(3, np.array([5, 5, 5]), np.ones(3)).tolist() == [1, 1, 1]
    assert allocate(100, np.array([5, 0, 2]), np.ones(3)).tolist() == [5, 0, 2]


def test_chances_add_up() -> None:
    chance = inclusion(np.array([100.0, 1.0, 1.0, 2.0]), 2)
    assert chance.tolist() == pytest.approx([1.0, 0.25, 0.25, 0.5], abs=1e-6)
    assert inclusion(np.ones(3), 7).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("design", ["uniform", "depth", "score", "probe"])
@pytest.mark.parametrize("n", [30, 240])
def test_a_drawn_sample_reads_back_as_it_was_drawn(
    design: str, n: int, simulated_truth: tuple[dict[str, Any], Grades], tmp_path: Path
) -> None:
    """The file says all: the same estimates follow from it and from the sample itself."""
    runs, grades = simulated_truth
    drawn = run_sample(fm.Experiment(None, runs, seed=4), n, design=design)
    assert drawn.n_to_judge == n
    path = tmp_path / "sample.tsv"
    path.write_text("\t".join(drawn.columns) + "\n" + "".join("\t".join(map(str, row)) + "\n" for row in drawn.rows()))
    exp = fm.Experiment({topic: of for topic, of in judged(drawn, grades).items() if of}, runs)  # not all topics, of 30
    first, second = (predicted(exp, ["P@10", "AP"], one) for one in (drawn.design, path))
    assert estimates(first) == estimates(second)
    sample = draw_on(exp, path)
    assert sample.n_topics == 12
    assert (sample.cell[sample.open] >= 0).all() == (design != "probe")
    again = run_sample(fm.Experiment(None, runs, seed=4), n, design=design)
    other = run_sample(fm.Experiment(None, runs, seed=5), n, design=design)
    assert again.rows() == drawn.rows()
    assert other.to_judge != drawn.to_judge


def test_judged_documents_are_not_drawn(simulated_truth: tuple[dict[str, Any], Grades]) -> None:
    runs, grades = simulated_truth
    first = {topic: dict(list(of.items())[:20]) for topic, of in grades.items()}
    drawn = fm.Experiment(first, runs, pooled=list(runs)).pool(sample=60, design="probe", depth=40)
    assert isinstance(drawn, SampledDocuments)
    assert not [(topic, document) for topic, document in drawn.to_judge if document in first[topic]]
    kept = [row for row in drawn.rows() if row[2] == "judged"]
    assert kept
    assert {row[3:] for row in kept} == {(1.0, 1)}
    assert len(drawn.rows()) == len(fm.pool(runs, depth=40))
    each = fm.Experiment(None, runs).pool(sample=7, design="depth", per_topic=True)
    assert isinstance(each, SampledDocuments)
    assert np.bincount(each.topic[: each.n_to_judge]).tolist() == [7] * 12


def test_what_cannot_be_drawn(simulated_truth: tuple[dict[str, Any], Grades]) -> None:
    runs, grades = simulated_truth
    exp = fm.Experiment(None, runs)
    for call, message in (
        ({"sample": 0}, "sample: expected a whole number from 1 on, found 0"),
        ({"sample": 5, "design": "odd"}, "design: expected one of uniform, depth, score, probe, label, found 'odd'"),
        ({"sample": 5, "budget": 3}, "a sample takes a depth, and no budget"),
        ({"depth": 5, "design": "depth"}, "design: is for a sample"),
        ({"sample": 5, "labels": ["x"]}, "labels are for the designs score, probe and label, found uniform"),
        ({"sample": 2, "design": "depth"}, "sample: 2 documents are fewer than the 4 strata"),
        ({"sample": 1, "design": "depth", "per_topic": True}, "fewer than its strata"),
    ):
        with pytest.raises(FathomsError, match=message):
            exp.pool(**call)
    with pytest.raises(FathomsError, match="every document of the pool is judged already"):
        fm.Experiment(grades, runs, pooled=list(runs)).pool(sample=5)


# -- the command ----------------------------------------------------------------------------------------------


def test_pool_draws_a_sample(fathoms: Command) -> None:
    fathoms("simulate", "-o", "sim", "--systems", "4", "--n-topics", "3", "--depth", "30", "--n-docs", "200")
    done = fathoms("pool", "sim/runs", "--depth", "20", "--sample", "12", "--seed", "1")
    assert done.status == 0
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert lines[0] == ["topic", "document", "stratum", "probability", "sampled"]
    assert [line[4] for line in lines[1:14]] == ["1"] * 12 + ["0"]
    assert done.err.endswith("12 documents to judge, the first of 107, pooled from 4 runs.\n"), done.err
    assert fathoms("pool", "sim/runs", "--depth", "20", "--sample", "12", "--seed", "1").out == done.out
    assert fathoms("pool", "sim/runs", "--depth", "20", "--sample", "12", "--seed", "2").out != done.out
    more = fathoms("pool", "sim/runs", "--qrels", "sim/qrels.txt", "--sample", "9", "--design", "probe", "-o", "p.tsv")
    assert more.status == 0
    assert "judged\t1.0\t1\n" in Path("p.tsv").read_text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--sample 0", "argument --sample: expected a whole number from 1 on, found '0'"),
        (
            "--sample 5 --design odd",
            "argument --design: expected one of uniform, depth, score, probe, label, found 'odd'",
        ),
        ("--sample 5 --budget 3", "a sample takes a depth, and no budget"),
        ("--depth 3 --design depth", "design: is for a sample; say how many with sample"),
        ("", "a pool takes either a depth or a budget"),
        ("--depth 3 --budget 3", "a pool takes either a depth or a budget"),
    ],
)
def test_what_pool_says_when_it_cannot(flags: str, message: str, fathoms: Command) -> None:
    done = fathoms("pool", "good.run", *flags.split())
    assert done.status == 2
    assert message in done.err
