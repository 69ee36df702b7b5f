"""Scores, ranges and tie values against plain loops over all completions and all orders of small rankings."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fathoms import parse_measure
from fathoms.evidence.evidence import Floats
from tests.support import slow
from tests.support.blocks import block, random_case

TOLERANCE = 1e-9

VALUES = [
    "P@3",
    "P(rel=2)@5",
    "P(gain=linear)@4",
    "R@3",
    "R(rel=2)@5",
    "RR",
    "RR@3",
    "RR(rel=2)",
    "AP",
    "AP@4",
    "AP(variant=b)@3",
    "AP(variant=c)@4",
    "AP(rel=2)",
    "nDCG",
    "nDCG@3",
    "nDCG(variant=b)@4",
    "nDCG(discount=zipf)@5",
    "nDCG(b=2)@5",
    "nDCG(gain=exp)@4",
    "nDCG(gain=binary)@4",
    "nDCG(gain=binary,rel=2)",
    "nDCG(gains={0:0,1:1,2:5})@4",
    "RBP(p=0.8)",
    "RBP(p=0.5)@3",
    "RBP(p=0.7,gain=linear)",
    "RBP(p=0.6,rel=2)",
    "ERR",
    "ERR@3",
    "ERR(gain=linear)@4",
    "ERR(max_grade=4)",
    "nERR@3",
    "nERR",
    "DCG@4",
    "DCG",
    "DCG(gain=exp,discount=zipf)@3",
    "DCG(b=3)@4",
    "SDCG@4",
    "SDCG(gain=exp)@3",
    "Q",
    "Q@4",
    "Q(variant=b)@3",
    "Q(variant=c)@4",
    "Q(variant=c,ideal=ii)@4",
    "Q(ideal=ii,beta=0.5)@3",
    "Q(rel=2)",
    "Q(beta=10)@5",
    "Bpref",
    "Bpref(rel=2)",
    "infAP",
    "infAP(rel=2)",
    "INST(T=1)",
    "INST(T=2)@3",
    "INST(T=3,gain=binary)@4",
    "Judged@3",
    "Rprec",
    "Rprec(rel=2)",
    "Success@2",
    "SetP",
    "SetR",
    "SetF",
    "SetF(beta=2)",
    "IPrec@0",
    "IPrec@0.3",
    "IPrec@1",
]
CONDENSED = [
    "P(judged_only=True)@3",
    "AP(judged_only=True)",
    "nDCG(judged_only=True)@4",
    "RBP(judged_only=True)",
    "ERR(judged_only=True)@3",
    "Q(judged_only=True,variant=b)@3",
    "RR(judged_only=True)",
    "Bpref(judged_only=True)",
    "INST(judged_only=True)",
    "R(judged_only=True)@2",
    "AP(variant=c,judged_only=True)@3",
]

# With the universe of the case, its documents outside the ranking, for those that depend on one.
EXACT = [
    "P@3",
    "P(rel=2)@5",
    "P(gain=linear)@4",
    "RBP(p=0.8)",
    "RBP(p=0.5)@3",
    "RBP(p=0.7,gain=linear)",
    "DCG@4",
    "DCG(gain=exp)",
    "SDCG@4",
    "RR",
    "RR@3",
    "RR(rel=2)",
    "ERR",
    "ERR@3",
    "ERR(gain=linear)@4",
    "INST(T=1)",
    "INST(T=2)@3",
    "INST(T=1,gain=exp)@3",
    "Success@2",
    "SetP",
]
EXACT_OF_UNIVERSE = [
    "AP",
    "AP@4",
    "AP@2",
    "AP(variant=b)@3",
    "AP(rel=2)@4",
    "nDCG",
    "nDCG@3",
    "nDCG(gain=exp)@4",
    "nDCG(discount=zipf)",
    "nDCG(gain=binary)@4",
    "nDCG(gains={0:0,1:1,2:5})@4",
    "R@3",
    "R(rel=2)@4",
    "SetR",
    "SetF",
    "SetF(beta=2)",
    "Rprec",
    "Rprec(rel=2)",
]
EXACT_OF_POOL = ["AP(variant=c)@4", "AP(variant=c)@2", "nDCG(variant=b)@4", "nDCG(variant=b,gain=exp)@3"]
EXACT_IF_BINARY = ["Q", "Q@4", "Q(variant=b)@3", "Q(beta=3)@4"]
SOUND = [
    *EXACT_IF_BINARY,
    "nERR@3",
    "nERR",
    "nERR(gain=linear)@4",
    "Q(gain=exp)@4",
    "Q(variant=c)@4",
    "Q(ideal=ii)@4",
    "Q(variant=b,ideal=ii)@3",
]
RANGELESS = ["Bpref", "infAP", "Judged@3", "IPrec@0.3", "INST(T=1)"]
SOUND_OF_POOL = ["Q(variant=c,ideal=ii)@4", "Q(variant=c,ideal=ii)@2"]


def of_universe(measure: str) -> str:
    """The same measure with `universe=given`."""
    head, at, cutoff = measure.partition("@")
    head = f"{head[:-1]},universe=given)" if head.endswith(")") else f"{head}(universe=given)"
    return head + at + cutoff


def cases(seed: int, count: int, **settings: object) -> list[slow.Case]:
    rng = np.random.default_rng(seed)
    return [random_case(rng, **settings) for _ in range(count)]  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("measure", VALUES + CONDENSED)
def test_score_is_the_definition(measure: str) -> None:
    sample = cases(1, 300, gmax=2)
    scores = parse_measure(measure).scores(block(sample))
    expected = [slow.value(measure, case) for case in sample]
    np.testing.assert_allclose(scores.score, expected, atol=TOLERANCE)


@pytest.mark.long
@pytest.mark.parametrize("gmax", [1, 2])
@pytest.mark.parametrize("measure", EXACT + EXACT_OF_UNIVERSE + EXACT_OF_POOL + EXACT_IF_BINARY)
def test_range_is_that_of_all_completions(measure: str, gmax: int) -> None:
    if gmax == 2 and measure in EXACT_IF_BINARY:
        pytest.skip("graded Q claims soundness only")
    if gmax == 1 and "2:5" in measure:
        pytest.skip("gains for three grades")
    sample = cases(2, 120, gmax=gmax, unjudged=5 if gmax == 1 else 4)
    ours = of_universe(measure) if measure in EXACT_OF_UNIVERSE + EXACT_IF_BINARY else measure
    scores = parse_measure(ours).scores(block(sample))
    expected = np.array([slow.bounds(measure, case) for case in sample])
    assert scores.low is not None
    assert scores.high is not None
    np.testing.assert_allclose(scores.low, expected[:, 0], atol=TOLERANCE)
    np.testing.assert_allclose(scores.high, expected[:, 1], atol=TOLERANCE)


@pytest.mark.parametrize("gmax", [1, 2, 3])
@pytest.mark.parametrize("measure", SOUND + SOUND_OF_POOL)
def test_sound_range_holds_all_completions(measure: str, gmax: int) -> None:
    sample = cases(3, 100, gmax=gmax, unjudged=4 if gmax < 3 else 3)
    ours = of_universe(measure) if measure in SOUND else measure
    scores = parse_measure(ours).scores(block(sample))
    expected = np.array([slow.bounds(measure, case) for case in sample])
    assert scores.low is not None
    assert scores.high is not None
    assert (scores.low <= expected[:, 0] + TOLERANCE).all()
    assert (scores.high >= expected[:, 1] - TOLERANCE).all()
    assert (scores.low <= scores.score + TOLERANCE).all()
    assert (scores.high >= scores.score - TOLERANCE).all()


@pytest.mark.parametrize("measure", ["AP@4", "AP", "AP(variant=b)@3", "nDCG@4", "R@3", "Rprec", "SetF", "Q@3"])
@pytest.mark.parametrize("universe", ["run", "1", "inf"])
def test_universe_says_who_may_join(measure: str, universe: str) -> None:
    sample = cases(4, 80, gmax=1, unjudged=3)
    head, at, cutoff = measure.partition("@")
    head = f"{head[:-1]},universe={universe})" if head.endswith(")") else f"{head}(universe={universe})"
    scores = parse_measure(head + at + cutoff).scores(block(sample))
    assert scores.low is not None
    assert scores.high is not None
    for row, case in enumerate(sample):
        known = tuple(doc for doc in case.outside if doc.judged)
        # A number speaks of unseen documents beside those of all runs.
        unseen = (slow.Doc(None),) * {"run": 0, "1": 1, "inf": 3}[universe]
        others = known if universe == "run" else case.outside + unseen
        low, high = slow.bounds(measure, slow.Case(case.ranking, others, 1))
        if universe == "inf":
            assert scores.low[row] <= low + TOLERANCE
            assert scores.high[row] >= high - TOLERANCE
        else:
            assert scores.low[row] == pytest.approx(low, abs=TOLERANCE)
            assert scores.high[row] == pytest.approx(high, abs=TOLERANCE)


def test_infinite_universe_takes_ap_and_recall_to_nothing() -> None:
    evidence = block(cases(5, 50, gmax=1))
    for measure in ("AP(universe=inf)", "R(universe=inf)@3", "nDCG(universe=inf)", "Rprec(universe=inf)"):
        low = parse_measure(measure).scores(evidence).low
        assert low is not None
        assert (low == 0).all()


@pytest.mark.long
@pytest.mark.parametrize("measure", VALUES + CONDENSED)
def test_tie_values_are_those_of_all_orders(measure: str) -> None:
    name = re.split(r"[(@]", measure)[0]
    simulated = name in ("INST", "infAP", "IPrec") or measure == "Q(rel=2)"
    sample = cases(6, 40 if simulated else 120, gmax=2, most=6, ties=0.5)
    scores = parse_measure(measure).scores(block(sample))
    expected = np.array([slow.tie_values(measure, case) for case in sample])
    assert scores.tie_low is not None
    assert scores.tie_high is not None
    assert scores.tie_expected is not None
    if simulated and name != "IPrec":
        # 200 shuffles of six documents meet each order or come close.
        np.testing.assert_allclose(scores.tie_low, expected[:, 0], atol=0.02)
        np.testing.assert_allclose(scores.tie_high, expected[:, 1], atol=0.02)
    else:
        np.testing.assert_allclose(scores.tie_low, expected[:, 0], atol=TOLERANCE)
        np.testing.assert_allclose(scores.tie_high, expected[:, 1], atol=TOLERANCE)
    if simulated and name != "Q":
        assert scores.tie_error is not None
        error = np.maximum(scores.tie_error, 1e-9)
        assert (np.abs(scores.tie_expected - expected[:, 2]) <= 5 * error).all()
    else:
        np.testing.assert_allclose(scores.tie_expected, expected[:, 2], atol=TOLERANCE)


# Over orders too: INST need not be best sorted, nDCG with several gains has a range that is sound only.
JOINT_IF_BINARY = [*(m for m in EXACT_OF_UNIVERSE if m.startswith("nDCG")), *EXACT_IF_BINARY]
JOINT = [m for m in EXACT + EXACT_OF_UNIVERSE if not m.startswith(("INST", "nDCG"))] + JOINT_IF_BINARY
JOINT_LOW = ["nDCG", "nDCG(discount=zipf)", "nDCG(gain=exp)", "nDCG(gains={0:0,1:1,2:5})"]  # uncut, so exact
JOINT_SOUND = [*JOINT_IF_BINARY, "nDCG@2", *(m for m in SOUND if "ideal=ii" not in m and "variant=c" not in m)]


def joint(measure: str, sample: list[slow.Case]) -> tuple[Floats, Floats, Floats]:
    """Our joint range with the universe of the cases, and the listed ones; both sides in their own columns."""
    depends = measure in EXACT_OF_UNIVERSE + SOUND + JOINT_LOW + JOINT_SOUND
    parsed = parse_measure(of_universe(measure) if depends else measure)
    evidence = block(sample)
    low, high = parsed.joint_range(evidence, parsed.scores(evidence))
    assert low is not None
    assert high is not None
    return low, high, np.array([slow.joint_bounds(measure, case) for case in sample])


def tied_cases(seed: int, count: int, gmax: int, **settings: object) -> list[slow.Case]:
    """Small ones, with ties and without pools (which would only make like documents different)."""
    sample = cases(seed, count, gmax=gmax, most=5 if gmax > 1 else 6, unjudged=3, ties=0.7, outside=2, **settings)

    def unpooled(docs: tuple[slow.Doc, ...]) -> tuple[slow.Doc, ...]:
        return tuple(replace(doc, pooled_at=None) for doc in docs)

    return [replace(case, ranking=unpooled(case.ranking), outside=unpooled(case.outside)) for case in sample]


@pytest.mark.long
@pytest.mark.parametrize("gmax", [1, 2])
@pytest.mark.parametrize("measure", JOINT)
def test_joint_range_is_that_of_all_judgings_and_orders(measure: str, gmax: int) -> None:
    if (gmax == 2 and measure in JOINT_IF_BINARY and "binary" not in measure) or (gmax == 1 and "2:5" in measure):
        pytest.skip("several gains have a sound range, tested below")
    low, high, expected = joint(measure, tied_cases(11, 60, gmax))
    np.testing.assert_allclose(low, expected[:, 0], atol=TOLERANCE)
    np.testing.assert_allclose(high, expected[:, 1], atol=TOLERANCE)


@pytest.mark.parametrize("measure", JOINT_LOW)
def test_joint_low_of_uncut_ndcg_is_exact(measure: str) -> None:
    low, _, expected = joint(measure, tied_cases(12, 120, 2))
    np.testing.assert_allclose(low, expected[:, 0], atol=TOLERANCE)


@pytest.mark.long
@pytest.mark.parametrize("gmax", [1, 2, 3])
@pytest.mark.parametrize("measure", JOINT_SOUND)
def test_joint_range_holds_all_judgings_and_orders(measure: str, gmax: int) -> None:
    if gmax != 2 and "2:5" in measure:
        pytest.skip("gains for three grades")
    low, high, expected = joint(measure, tied_cases(13, 60 if gmax < 3 else 30, gmax))
    assert (low <= expected[:, 0] + TOLERANCE).all()
    assert (high >= expected[:, 1] - TOLERANCE).all()


@pytest.mark.parametrize("measure", ["AP@3", "nDCG@3", "R@2", "Q@3"])
def test_joint_low_falls_with_every_unseen_document(measure: str) -> None:
    head, _, cutoff = measure.partition("@")
    evidence = block(tied_cases(14, 40, 1))
    lows = []
    for universe in ("run", "all", "1", "2", "inf"):
        parsed = parse_measure(f"{head}(universe={universe})@{cutoff}")
        low, _ = parsed.joint_range(evidence, parsed.scores(evidence))
        assert low is not None
        lows.append(low)
    for wide, narrow in pairwise(reversed(lows)):
        assert (wide <= narrow + TOLERANCE).all()


@pytest.mark.parametrize("measure", [*RANGELESS, "AP(bounds=rm)", "AP(variant=c)@4", "P(judged_only=True)@3"])
def test_no_joint_range_is_claimed(measure: str) -> None:
    evidence = block(cases(15, 40, gmax=2, ties=0.5))
    parsed = parse_measure(measure)
    assert parsed.joint_range(evidence, parsed.scores(evidence)) == (None, None)


@pytest.mark.parametrize("measure", ["AP", "AP@4", "AP(variant=b)@3", "nDCG@4", "nDCG", "nDCG(gain=exp)@5"])
def test_rm_top_fills_the_first_unjudged_places(measure: str) -> None:
    sample = cases(7, 200, gmax=2)
    head, at, cutoff = measure.partition("@")
    head = f"{head[:-1]},bounds=rm)" if head.endswith(")") else f"{head}(bounds=rm)"
    scores = parse_measure(head + at + cutoff).scores(block(sample))
    assert scores.low is not None
    assert scores.high is not None
    np.testing.assert_allclose(scores.low, scores.score)
    np.testing.assert_allclose(scores.high, [slow.rm_top(measure, case) for case in sample], atol=TOLERANCE)


@pytest.mark.parametrize(
    "measure",
    [m for m in VALUES + CONDENSED if "@" in m and not m.startswith(("IPrec",))] + ["Q(variant=c,ideal=ii)@4"],
)
def test_all_depths_equal_each_depth(measure: str) -> None:
    evidence = block(cases(8, 60, gmax=2))
    together = parse_measure(measure).at_depths(evidence, range(1, 13))
    head = measure.partition("@")[0]
    for k in range(1, 13):
        alone = parse_measure(f"{head}@{k}").scores(evidence).score
        np.testing.assert_allclose(together[:, k - 1], alone, atol=TOLERANCE)
