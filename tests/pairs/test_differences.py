"""Ranges of differences, reversibility and fragility against every way of judging small collections."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

import fathoms as fm
from fathoms.measures.differences import greatest_quadratic
from fathoms.questions.compare.result import Pair
from tests.support import brute, slow
from tests.support.blocks import block
from tests.support.brute import Topic

EXACT = ["P@3", "RBP(p=0.8)", "DCG@4", "SDCG@3", "RR", "RR@3", "Success@2", "R@3", "SetP", "SetR", "SetF", "Rprec"]
EXACT += ["nDCG", "nDCG@3", "nDCG(gain=exp)@4", "nDCG(gain=binary)@3"]
SOUND = ["AP", "AP@4", "AP(variant=b)@3", "GMAP", "ERR@4", "ERR", "nERR@3", "Q", "Q@3", "Q(gain=binary)@4", "INST(T=2)"]
SWAPPED = [
    "P@4",
    "RBP(p=0.8)",
    "DCG@6",
    "nDCG@6",
    "nDCG",
    "R@4",
    "AP",
    "Q(gain=binary)",
    "ERR@10",
    "nERR@10",
    "INST(T=2)",
]
NEARLY = 1e-9


def compared(topics: list[Topic], measures: list[str], **options: object) -> list[Pair]:
    qrels, runs = brute.collection(topics)
    return fm.Experiment(qrels, runs, workers=1).compare(measures, draws=0, **options).pairs  # type: ignore[arg-type]


def drawn(seed: int, ties: float, runs: str = "AB") -> tuple[list[Topic], int]:
    rng = np.random.default_rng(seed)
    gmax = int(rng.integers(1, 3))
    return [brute.random_topic(rng, list(runs), gmax, 3, ties) for _ in range(2)], gmax


def truth(measure: str, topics: list[Topic], pair: Pair, gmax: int, over_ties: bool) -> tuple[float, float]:
    ends = [brute.extremes(measure, topic, pair.run_a, pair.run_b, gmax, over_ties) for topic in topics]
    return float(np.mean([low for low, _ in ends])), float(np.mean([high for _, high in ends]))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_no_judging_leaves_the_range_of_a_difference(seed: int) -> None:
    topics, gmax = drawn(seed, ties=0.0, runs="ABC")
    for pair in compared(topics, EXACT + SOUND):
        low, high = truth(pair.measure, topics, pair, gmax, over_ties=False)
        assert pair.diff_low is not None
        assert pair.diff_high is not None
        assert pair.diff_low <= low + NEARLY, pair
        assert pair.diff_high >= high - NEARLY, pair
        if pair.measure in EXACT:
            assert pair.exact
            assert pair.diff_low == pytest.approx(low, abs=NEARLY)
            assert pair.diff_high == pytest.approx(high, abs=NEARLY)
        lead = low if pair.diff > 0 else -high
        if pair.reversible == "no":
            assert lead > 0, pair
        elif pair.reversible == "yes":
            assert lead <= NEARLY, pair


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_reversible_holds_over_every_order_of_ties_too(seed: int) -> None:
    topics, gmax = drawn(1000 + seed, ties=0.3)
    for pair in compared(topics, EXACT + SOUND):
        if not pair.reversible:
            continue
        low, high = truth(pair.measure, topics, pair, gmax, over_ties=True)
        lead = low if pair.diff > 0 else -high
        assert {"no": lead > 0, "yes": lead <= NEARLY, "unknown": True}[pair.reversible], pair


@pytest.mark.long
@pytest.mark.parametrize("ties", [0.0, 0.4])
@pytest.mark.parametrize("measure", EXACT + SOUND)
def test_a_run_and_its_copy_never_differ(measure: str, ties: float) -> None:
    for seed in range(5):
        topics, _ = drawn(seed, ties, runs="A")
        both = [Topic(topic.grades, {"A": topic.rankings["A"], "B": topic.rankings["A"]}) for topic in topics]
        (pair,) = compared(both, [measure])
        assert (pair.diff_low, pair.diff_high, pair.verdict) == (0.0, 0.0, "tie")


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("measure", SWAPPED)
def test_one_judged_swap_in_every_topic_cannot_be_reversed(measure: str, ties: bool) -> None:
    """A has a relevant document at rank 3 and one that is not at rank 6; B has them the other way round."""
    topics = []
    for number in range(4):
        order = [f"u{i}" for i in range(9)]
        order[2], order[5] = "good", "bad"
        groups = [0, 1, 2, 3, 3, 5, 6, 6, 6] if ties else list(range(9))  # no tie holds either of the two
        other = list(order)
        other[2], other[5] = "bad", "good"
        grades: dict[str, int | None] = dict.fromkeys(order) | {"good": 1, "bad": 0, "elsewhere": 1 + number % 2}
        rankings = {run: list(zip(docs, groups, strict=True)) for run, docs in (("A", order), ("B", other))}
        topics.append(Topic(grades, rankings))
    (pair,) = compared(topics, [measure])
    assert pair.diff > 0
    assert pair.reversible == "no"


def test_the_example_that_a_run_s_own_documents_got_wrong() -> None:
    """u0 .. u9 of B raise R, and so lower A, which has none of them."""
    qrels = {"1": {"r": 1, "n1": 0, "n2": 0}}
    b = ["n1", "r", *(f"u{i}" for i in range(10))]
    runs = {"A": {"1": {"r": 3.0, "n1": 2.0, "n2": 1.0}}, "B": {"1": {name: -float(i) for i, name in enumerate(b)}}}
    (pair,) = fm.Experiment(qrels, runs).compare("AP", draws=0).pairs
    assert pair.diff_low is not None
    assert pair.diff_low <= -0.7178
    assert pair.reversible == "yes"


@pytest.mark.parametrize("seed", range(12))
def test_fragility_is_the_fewest_documents_that_reverse_a_sign(seed: int) -> None:
    topics, gmax = drawn(500 + seed, ties=0.0)
    for pair in compared(topics, ["P@3", "RBP(p=0.8)", "nDCG@3", "AP", "RR", "ERR@4"], explain=True):
        fewest = _fewest(pair, topics, gmax)
        if not pair.reversible or fewest is None:
            assert pair.fragility_high is None
            continue
        assert pair.fragility_low is not None
        assert pair.fragility_low <= fewest
        assert pair.fragility_high is None or pair.fragility_high >= fewest
        if pair.measure in ("P@3", "RBP(p=0.8)"):
            assert pair.fragility_low == pair.fragility_high == fewest


def _fewest(pair: Pair, topics: list[Topic], gmax: int) -> int | None:
    """The fewest documents, over all topics, that bring the mean difference to 0 or past it."""
    sign = np.sign(pair.diff)
    best: dict[int, float] = {0: 0.0}
    for topic in topics:
        rankings = [brute.trec_order(topic.rankings[run]) for run in (pair.run_a, pair.run_b)]
        leads: dict[int, float] = {}
        for grades in brute.completions(topic, pair.run_a, pair.run_b, gmax):
            used = sum(grades[name] > 0 for name in grades if topic.grades[name] is None)
            lead = sign * brute.difference(pair.measure, rankings[0], rankings[1], grades, gmax)
            leads[used] = min(leads.get(used, np.inf), lead)
        sums = {(m, n): value + leads[n] for (m, value), n in itertools.product(best.items(), leads)}
        best = {}
        for (m, n), value in sums.items():
            best[m + n] = min(best.get(m + n, np.inf), value)
    enough = [m for m, value in best.items() if value <= NEARLY]
    return min(enough, default=None)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_greatest_quadratic_form_is_that_of_trying_all(n: int) -> None:
    rng = np.random.default_rng(n)
    of_a, of_b = 1 / rng.integers(1, 9, size=(2, 5, 7))
    known = rng.random((5, 7)) < 0.4
    columns = np.argsort(known, axis=1, kind="stable")[:, :n]
    known[np.arange(5)[:, None], columns] = False
    greatest = greatest_quadratic(of_a, of_b, known, columns)
    for row in range(5):
        for m in range(n + 1):
            sums = []
            for chosen in itertools.combinations(columns[row].tolist(), m):
                relevant = [*np.flatnonzero(known[row]).tolist(), *chosen]
                both = itertools.combinations_with_replacement(relevant, 2)
                sums.append(sum(min(of_a[row, [i, j]]) - min(of_b[row, [i, j]]) for i, j in both))
            assert greatest[row, m] == pytest.approx(max(sums), abs=NEARLY)


def test_a_bound_that_is_none_makes_nothing_certain() -> None:
    qrels, runs = brute.collection(drawn(7, 0.0)[0])
    (pair,) = fm.Experiment(qrels, runs, bounds="rm").compare("AP", draws=0).pairs
    assert (pair.diff_low, pair.reversible) == (None, None)
    assert pair.verdict != "certain"


@pytest.mark.long
def test_a_wider_universe_never_narrows_a_range() -> None:
    for seed in range(8):
        topics, _ = drawn(seed, 0.0, runs="ABC")
        qrels, runs = brute.collection(topics)
        ranges = []
        for universe in ("pair", "all", 3, "inf"):
            pairs = (
                fm.Experiment(qrels, runs, universe=universe, workers=1).compare(["AP", "nDCG", "R@3"], draws=0).pairs
            )
            ranges.append([(pair.diff_low or 0.0, pair.diff_high or 0.0) for pair in pairs])
        for narrow, wide in itertools.pairwise(ranges):
            for (low, high), (lower, higher) in zip(narrow, wide, strict=True):
                assert lower <= low + NEARLY
                assert higher >= high - NEARLY


def test_compare_refuses_the_universe_of_one_run() -> None:
    qrels, runs = brute.collection(drawn(1, 0.0)[0])
    with pytest.raises(fm.FathomsError, match="pair"):
        fm.Experiment(qrels, runs, universe="run").compare("AP")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*--ranges all makes them")
def test_what_is_said_of_many_pairs_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    from fathoms.pairs import difference_ranges as ranges

    for name in ("BEST", "BEST_QUADRATIC", "PAIRS"):
        monkeypatch.setattr(ranges, name, 0)
    for seed in range(8):
        topics, gmax = drawn(seed, ties=0.2, runs="ABC")
        for pair in compared(topics, ["AP", "nDCG", "P@3", "RBP(p=0.8)", "RR", "Q"]):
            if pair.diff_low is not None and pair.diff_high is not None:
                low, high = truth(pair.measure, topics, pair, gmax, over_ties=False)
                assert pair.diff_low <= low + NEARLY
                assert pair.diff_high >= high - NEARLY
            if pair.reversible:
                low, high = truth(pair.measure, topics, pair, gmax, over_ties=True)
                lead = low if pair.diff > 0 else -high
                assert {"no": lead > 0, "yes": lead <= NEARLY, "unknown": True}[pair.reversible]


def test_explanations_stay_with_their_pairs() -> None:
    """A measure without a range has nothing to explain, and those after it keep their own."""
    qrels, runs = brute.collection(drawn(505, 0.0)[0])
    result = fm.Experiment(qrels, runs, workers=1).compare(["Bpref", "P@3", "GMAP"], draws=0, explain=True)
    assert result.explained[0] is None
    for pair, told in zip(result.pairs[1:], result.explained[1:], strict=True):
        assert told is not None
        assert told.measure.name == pair.measure
        assert np.mean([one.score_a - one.score_b for one in told.topics]) == pytest.approx(pair.diff)


def test_an_unjudged_document_may_take_the_place_of_a_known_one_across_the_cut() -> None:
    """Ranks 4 to 6 are tied, and the cut is at 4: at best the unjudged document, of grade 3, stands there."""
    docs = [slow.Doc(3.0, 0), slow.Doc(2.0, 1), slow.Doc(3.0, 2), slow.Doc(1.0, 3), slow.Doc(None, 3), slow.Doc(0.0, 3)]
    case = slow.Case(tuple(docs), (slow.Doc(3.0),), 3)
    measure, evidence = fm.parse_measure("Q(variant=b)@4"), block([case])
    low, high = measure.joint_range(evidence, measure.scores(evidence))
    assert low is not None
    assert high is not None
    least, most = slow.joint_bounds(measure.name, case)
    assert low[0] <= least + NEARLY
    assert high[0] >= most - NEARLY


@pytest.mark.slow
def test_twenty_thousand_differences() -> None:
    """The study behind the figures of docs/compare.md: prints how often bounds are exact and proofs succeed."""
    exact, proved, total = Counter[str](), Counter[str](), Counter[str]()
    irreversible = Counter[str]()
    for seed in range(320):
        ties = 0.0 if seed % 2 else 0.25
        topics, gmax = drawn(10_000 + seed, ties, runs="ABC")
        for pair in compared(topics, EXACT + SOUND):
            low, high = truth(pair.measure, topics, pair, gmax, over_ties=False)
            assert pair.diff_low is not None
            assert pair.diff_high is not None
            assert pair.diff_low <= low + NEARLY
            assert pair.diff_high >= high - NEARLY
            total[pair.measure] += 1
            exact[pair.measure] += abs(pair.diff_low - low) + abs(pair.diff_high - high) < NEARLY
            if pair.reversible:
                low, high = truth(pair.measure, topics, pair, gmax, over_ties=True)
                lead = low if pair.diff > 0 else -high
                assert {"no": lead > 0, "yes": lead <= NEARLY, "unknown": True}[pair.reversible]
                irreversible[pair.measure] += lead > NEARLY
                proved[pair.measure] += pair.reversible == "no"
    assert total.total() >= 20_000
    for measure in total:
        share = proved[measure] / max(1, irreversible[measure])
        of_all = exact[measure] / total[measure]
        print(f"{measure:24} exact {of_all:.3f}, {irreversible[measure]} irreversible, {share:.3f} proved")
        assert share >= 0.8
