"""Geometric bands: their borders, and the worst they can do."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.evidence.banding import band_starts, banded, banded_run, bands, parse_rho, safe_depth
from fathoms.evidence.evidence import Floats
from fathoms.measures.banding import banded_score, largest_rho, worst_loss
from fathoms.measures.parse import parse_measure
from fathoms.measures.weighted import Weighted
from tests.support import slow
from tests.support.blocks import block

RHOS = ("1.1", "1.2", "1.4", "1.7", "2.0")
TABLE_2 = {  # as printed
    "RR": ("0.0038", "0.0119", "0.0417", "0.0833", "0.0833"),
    "RBP(p=0.5)": ("0.0002", "0.0052", "0.0429", "0.0945", "0.1016"),
    "RBP(p=0.85)": ("0.0087", "0.0231", "0.0482", "0.0777", "0.0971"),
}


@pytest.mark.parametrize("name", TABLE_2)
def test_table_2_of_the_paper(name: str) -> None:
    losses = [worst_loss(parse_measure(name), Fraction(rho)) for rho in RHOS]
    assert tuple(f"{loss:.4f}" for loss in losses) == TABLE_2[name]


def test_bands_of_the_paper_and_no_floating_point_in_them() -> None:
    assert band_starts(Fraction(2), 7) == [1, 2, 4, 8]
    widths = np.diff(band_starts(Fraction("1.62"), 230))
    assert widths.tolist() == [1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert band_starts(parse_rho("1.1"), 18) == [*range(1, 12), 13, 15, 17, 19]
    assert math.ceil(1.1 * 170) == 188  # the trap
    assert band_starts(parse_rho("1.1"), 170)[-2:] == [170, 187]
    assert bands(Fraction("1.4"), 8).tolist() == [1, 2, 3, 3, 4, 4, 5, 5]
    assert bands(Fraction(1_000_000), 4).tolist() == [1, 1, 1, 1]


@given(st.fractions(min_value=Fraction(101, 100), max_value=12))
def test_ranks_down_to_the_safe_depth_are_alone_and_the_next_is_not(rho: Fraction) -> None:
    widths = np.diff(band_starts(rho, safe_depth(rho) + 1))
    assert (widths[:-1] == 1).all()
    assert widths[-1] > 1
    assert len(widths) == safe_depth(rho) + 1


@pytest.mark.parametrize("text", ["1", "0.5", "-2", "x", "nan", "inf", "1/0", "", "1e9"])
def test_what_is_no_rho(text: str) -> None:
    with pytest.raises(FathomsError, match="rho must be"):
        parse_rho(text)


# -- the worst case, by going through all cases ----------------------------------------------------------------


def greatest_loss(score: dict[tuple[float, ...], float], rho: Fraction) -> float:
    """Over all rankings: the score less the mean score of all rankings with the same documents in each band."""
    length = len(next(iter(score)))
    starts = band_starts(rho, length)
    alike: dict[tuple[tuple[float, ...], ...], list[tuple[float, ...]]] = defaultdict(list)
    for gains in score:
        cut = tuple(tuple(sorted(gains[a - 1 : b - 1])) for a, b in itertools.pairwise(starts))
        alike[cut].append(gains)
    # Every ranking of a class comes from equally many permutations, so their plain mean is the expectation.
    means = (math.fsum(score[g] for g in group) / len(group) for group in alike.values())
    return max(max(score[g] for g in group) - mean for group, mean in zip(alike.values(), means, strict=True))


def all_scores(name: str, length: int, gmax: int) -> dict[tuple[float, ...], float]:
    found = {}
    for grades in itertools.product(range(gmax + 1), repeat=length):
        ranking = tuple(slow.Doc(float(grade), i) for i, grade in enumerate(grades))
        found[tuple(map(float, grades))] = slow.value(name, slow.Case(ranking, (), gmax))
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "length", "gmax"),
    [
        ("RR", 11, 1),
        ("RR@3", 11, 1),
        ("RR@5", 11, 1),
        ("P@5", 11, 1),
        ("P@1", 6, 1),
        ("RBP(p=0.5)@6", 11, 1),
        ("RBP(p=0.85)@8", 11, 1),
        ("SDCG@5", 11, 1),
        ("DCG(discount=zipf)@4", 10, 1),
        ("DCG(max_grade=2)@4", 7, 2),
        ("SDCG(max_grade=2)@4", 7, 2),
        ("RBP(p=0.6,gain=linear,max_grade=2)@4", 7, 2),
        ("DCG(gains={0:0,1:1,2:5})@3", 6, 2),
        ("AP@5", 11, 1),
        ("AP@8", 12, 1),
        ("AP(variant=b)@3", 10, 1),
        ("nDCG@5", 11, 1),
        ("nDCG(discount=zipf)@8", 12, 1),
        ("nDCG(gain=exp)@4", 7, 2),
        ("ERR@5", 11, 1),
        ("ERR(max_grade=2)@4", 7, 2),
    ],
)
def test_the_worst_loss_is_reached_and_never_exceeded(name: str, length: int, gmax: int) -> None:
    score = all_scores(name, length, gmax)
    measure = parse_measure(name)
    tried = 0
    for rho in map(Fraction, ("1.15", "1.25", "1.3", "1.4", "1.5", "1.6", "1.62", "2", "2.2", "3", "4.1")):
        depth = measure.k or safe_depth(rho) + 1
        if band_starts(rho, int(depth))[-1] - 1 > length:
            continue  # the band that counts ends below the rankings listed
        tried += 1
        assert worst_loss(measure, rho) == pytest.approx(greatest_loss(score, rho), abs=1e-12)
    assert tried >= 3


def test_rbp_without_a_cut_off_is_the_limit_of_deeper_ones() -> None:
    measure, rho = parse_measure("RBP(p=0.9)"), Fraction("1.4")
    assert worst_loss(measure, rho) == pytest.approx(worst_loss(measure @ 1000, rho), abs=1e-11)
    found = greatest_loss(all_scores("RBP(p=0.5)", 7, 1), Fraction(2))  # three whole bands
    assert found <= (worst_loss(parse_measure("RBP(p=0.5)"), Fraction(2)) or 0) <= found + 0.5**7


@pytest.mark.parametrize("name", ["AP", "nDCG"])
def test_the_worst_loss_of_runs_of_so_many_documents(name: str) -> None:
    for rho in map(Fraction, ("1.3", "1.4", "2")):
        losses = [greatest_loss(all_scores(name, length, 1), rho) for length in range(1, 10)]
        assert worst_loss(parse_measure(name), rho, length=9) == pytest.approx(max(losses), abs=1e-12)


def test_a_cascade_without_a_cut_off_is_bounded_by_little_more_than_a_deep_one() -> None:
    for rho in map(Fraction, ("1.1", "1.4", "2")):
        deep, without = (worst_loss(parse_measure(name), rho) or 0.0 for name in ("ERR@1500", "ERR"))
        assert deep - 1e-9 <= without <= deep + 1e-3


def of_weights(weights: list[float]) -> type[Weighted]:
    """A measure of any weights at all. A class each, for a measure's weights are kept."""

    class Drawn(Weighted):
        """Any weights at all."""

        def weight(self, n: int) -> Floats:
            return np.array(weights[:n])

    return Drawn


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
    st.fractions(min_value=Fraction(11, 10), max_value=4),
    st.integers(1, 4),
)
def test_any_weights(weights: list[float], rho: Fraction, depth: int) -> None:
    if band_starts(rho, depth)[-1] - 1 > 8:
        return
    score = {
        gains: math.fsum(w * g for w, g in zip(weights[:depth], gains, strict=False))
        for gains in itertools.product((0.0, 1.0), repeat=8)
    }
    assert worst_loss(of_weights(weights)(k=depth), rho) == pytest.approx(greatest_loss(score, rho), abs=1e-12)


def test_rr_loses_most_in_its_first_band_of_several_documents() -> None:
    """As printed, and as proved where it is computed: no band further down loses more."""
    for step in range(1005, 6000, 7):
        rho = Fraction(step, 1000)
        starts = band_starts(rho, 600)
        every = [1 / a - math.fsum(1 / k for k in range(a, b)) / (b - a) for a, b in itertools.pairwise(starts)]
        assert worst_loss(parse_measure("RR"), rho) == pytest.approx(max(every), abs=1e-12)
        if rho <= 2:
            v = safe_depth(rho) + 1
            assert max(every) == pytest.approx(1 / (2 * v * (v + 1)))


def test_measures_without_a_worst_case() -> None:
    for name in ("AP", "nDCG", "AP(variant=c)@10", "nDCG(variant=b)@10", "DCG", "Q@10", "ERR(judged_only=True)@10"):
        assert worst_loss(parse_measure(name), Fraction(2)) is None
        with pytest.raises(FathomsError, match="no bound"):
            largest_rho(parse_measure(name), 0.1)
    with pytest.raises(FathomsError, match="cut-off"):
        worst_loss(parse_measure("RBP(p=0.99999999)"), Fraction(2))


@pytest.mark.parametrize(("name", "loss"), [("RR", 0.05), ("RBP(p=0.85)", 0.05), ("RR@5", 0.06), ("P@10", 0.09)])
def test_the_largest_rho_and_all_below_it_keep_to_the_loss(name: str, loss: float) -> None:
    measure = parse_measure(name)
    found = largest_rho(measure, loss)
    steps = [Fraction(step, 1000) for step in range(1001, 3000)]
    losses = {rho: worst_loss(measure, rho) or 0.0 for rho in steps}
    assert all(losses[rho] <= loss for rho in steps if rho <= found)
    assert losses[found + Fraction(1, 1000)] > loss
    if name == "RR":
        assert found == Fraction(3, 2)  # above it ranks 2 and 3 share a band
    if name == "RR@5":  # the loss falls again further up
        assert any(losses[rho] <= loss for rho in steps if rho > found)


def test_the_largest_rho_at_its_ends() -> None:
    assert largest_rho(parse_measure("RR"), 1.0) == 10
    assert largest_rho(parse_measure("RBP(p=0.999)"), 0.0) == 1


# -- rankings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["RR", "RBP(p=0.5)", "RBP(p=0.85)@5", "AP", "nDCG@4", "P@3"])
def test_a_banded_score_is_the_mean_over_all_orders_inside_the_bands(name: str) -> None:
    rng = np.random.default_rng(7)
    rho = Fraction("1.7")
    of_place = bands(rho, 8)  # [1] [2 3] [4 5 6] [7 ...]
    cases = []
    for length in (0, 1, 3, 5, 6, 8, 8, 8):  # some end inside a band
        ranking = [slow.Doc(float(rng.random() < 0.4), int(group)) for group in of_place[:length]]
        cases.append(slow.Case(tuple(ranking), (slow.Doc(1.0),), 1))
    evidence = block(cases)
    for start in (evidence, banded(evidence, Fraction(3))):  # what was tied before does not matter
        np.testing.assert_allclose(
            banded_score(parse_measure(name), start, rho),
            [slow.tie_values(name, case)[2] for case in cases],
            atol=1e-12,
        )


def test_a_banded_run_as_text() -> None:
    scores = {"q2": {"a": 1.0, "b": 5.0, "c": 3.0, "d": 3.0}, "q1": {"x": 0.5}}
    run = fm.read_run(scores, name="mine")
    for ties, order in (("run", "abcd"), ("trec", "bdca")):
        banded = banded_run(run, Fraction("1.7"), ties)  # type: ignore[arg-type]
        assert banded.to_bytes().decode() == (
            f"q2 Q0 {order[0]} 1 1 mine\nq2 Q0 {order[1]} 2 0.5 mine\n"
            f"q2 Q0 {order[2]} 3 0.5 mine\nq2 Q0 {order[3]} 4 0.3333333333333333 mine\nq1 Q0 x 1 1 mine\n"
        )
