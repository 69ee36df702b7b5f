"""Figures printed in the papers, and small examples worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import pytest

import fathoms as fm
from fathoms.base.errors import FathomsWarning

Row = dict[str, Any]
SCORES = dict(zip("DHACMSWBEJ", (9.8, 9.3, 9.3, 9.3, 8.4, 8.4, 8.2, 8.0, 8.0, 8.0), strict=True))
GAINS = dict(zip("DHACMSWBEJ", (0, 0, 1, 1, 0, 1, 1, 0, 0, 1), strict=True))


def ranked(documents: str) -> dict[str, dict[str, float]]:
    """A run on topic 1 without ties, a document a letter."""
    return {"1": {document: float(-place) for place, document in enumerate(documents)}}


def score(qrels: dict[str, int], run: dict[str, dict[str, float]], measure: str, **settings: Any) -> Row:
    """The row of the only topic."""
    settings = {"ties": "run"} | settings
    return fm.evaluate({"1": qrels}, run, measure, by_topic=True, **settings).row(0, named=True)


# RM section 3: the ranking 1 0 ? 0 1 1 0 ? 0 0, and two relevant documents that are not in it.

RM_QRELS = {"a": 1, "b": 0, "d": 0, "e": 1, "f": 1, "g": 0, "i": 0, "j": 0, "x": 1, "y": 1}


def test_rm_interval_of_average_precision() -> None:
    row = score(RM_QRELS, ranked("abcdefghij"), "AP(bounds=rm)")
    assert row["score"] == row["low"] == pytest.approx((1 / 1 + 2 / 5 + 3 / 6) / 5)
    assert row["high"] == pytest.approx((1 / 1 + 2 / 3 + 3 / 5 + 4 / 6 + 5 / 8) / 5)
    assert (f"{row['score']:.2f}", f"{row['high']:.4f}") == ("0.38", "0.7117")


def test_exact_interval_counts_new_relevant_documents_in_r() -> None:
    row = score(RM_QRELS, ranked("abcdefghij"), "AP")
    assert row["low"] == pytest.approx(0.38)  # either unjudged document found relevant raises it
    assert row["high"] == pytest.approx((1 / 1 + 2 / 3 + 3 / 5 + 4 / 6 + 5 / 8) / 7)


# YMT-ties Fig. 1 and the text around it.


def test_tied_documents_may_enter_the_top_five() -> None:
    row = score(GAINS, {"1": SCORES}, "P@5")
    assert (row["score"], row["tie_low"], row["tie_high"]) == pytest.approx((0.4, 0.4, 0.6))
    assert row["tie_expected"] == pytest.approx(0.5)


def test_tied_documents_may_move_the_first_relevant_one() -> None:
    row = score(GAINS, {"1": SCORES}, "RR")
    assert (row["score"], row["tie_low"], row["tie_high"]) == pytest.approx((1 / 3, 1 / 3, 1 / 2))
    assert row["tie_expected"] == pytest.approx(2 / 3 * 1 / 2 + 1 / 3 * 1 / 3)


def test_expected_rbp_spreads_gain_over_each_group() -> None:
    row = score(GAINS, {"1": SCORES}, "RBP(p=0.5)")
    weights = [0.5**i for i in range(1, 11)]
    means = [0, 2 / 3, 2 / 3, 2 / 3, 1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3]
    assert row["tie_expected"] == pytest.approx(sum(w * g for w, g in zip(weights, means, strict=True)))
    assert row["score"] == row["low"] == pytest.approx(sum(w * g for w, g in zip(weights, GAINS.values(), strict=True)))
    assert row["high"] == pytest.approx(row["score"] + 0.5**10)  # all ten are judged; the tail is not


def test_trec_eval_order_is_by_document_descending() -> None:
    """D, then H C A, then S M: the first relevant document is C, and the fifth place holds S."""
    assert score(GAINS, {"1": SCORES}, "RR", ties="trec")["score"] == pytest.approx(1 / 3)
    assert score(GAINS, {"1": SCORES}, "P@5", ties="trec")["score"] == pytest.approx(3 / 5)


def bands(rho: Fraction, depth: int) -> list[range]:
    """Ranks of each geometric band."""
    starts = [1]
    while starts[-1] <= depth:
        starts.append(ceil(rho * starts[-1]))
    return [range(a, b) for a, b in pairwise(starts)]


@pytest.mark.parametrize(
    ("rho", "printed"),
    [
        ("1.1", ("0.0038", "0.0002", "0.0087")),
        ("1.2", ("0.0119", "0.0052", "0.0231")),
        ("1.4", ("0.0417", "0.0429", "0.0482")),
        ("1.7", ("0.0833", "0.0945", "0.0777")),
        ("2.0", ("0.0833", "0.1016", "0.0971")),
    ],
)
def test_banding_costs_what_table_2_says(rho: str, printed: tuple[str, str, str]) -> None:
    """The worst run for each measure: its score less the mean over the orders inside the bands."""
    groups = bands(Fraction(rho), 300)
    run = {"1": {str(rank): 1 / g for g, band in enumerate(groups, start=1) for rank in band}}
    first = next(band for band in groups if len(band) > 1)
    found = []
    for measure, p in (("RR", 0.0), ("RBP(p=0.5)", 0.5), ("RBP(p=0.85)", 0.85)):
        qrels = dict.fromkeys(run["1"], 0)
        for band in groups if p else [first]:
            weights = [p**rank for rank in band]
            loss = [sum(weights[:t]) - t * sum(weights) / len(band) for t in range(len(band))]
            best = loss.index(max(loss)) if p else 1
            qrels |= dict.fromkeys(map(str, band[:best]), 1)
        row = score(qrels, run, measure)
        assert row["score"] == pytest.approx(row["tie_high"])
        found.append(f"{row['score'] - row['tie_expected']:.4f}")
    assert tuple(found) == printed


# LMC-depth sections 2 and 3.


@pytest.mark.parametrize("gain", ["exp", "linear", "binary"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_residual_of_err_is_bounded_by_the_next_rank(gain: str, k: int) -> None:
    """At most 1/(k+1) prod(1-G), and just that where one document can end the search for sure."""
    grades = {"a": 1, "b": 0, "c": 1, "d": 0, "z": 2}
    chance = {"exp": 1 / 4, "linear": 1 / 2, "binary": 1.0}[gain]
    reach = 1.0
    for document in "abcd"[:k]:
        reach *= 1 - chance * grades[document]
    row = score(grades, ranked("abcdz"), f"ERR(gain={gain})@{k}")
    residual = row["high"] - row["score"]
    assert residual <= reach / (k + 1) + 1e-12
    if gain == "exp":
        tail = sum(3 / 4 * (1 / 4) ** i / (k + 1 + i) for i in range(60))
        assert residual == pytest.approx(reach * tail)
    else:
        assert residual == pytest.approx(reach / (k + 1))


def test_a_missing_topic_is_unknown_to_rbp_and_empty_to_precision() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    with pytest.warns(FathomsWarning, match="in no run, 1 of 2, count 0"):
        frame = fm.evaluate(qrels, {"1": {"a": 1.0}}, ["RBP(p=0.8)", "P@10"], by_topic=True)
    rows = {(topic, measure): row for _, topic, measure, *row in frame.iter_rows()}
    assert rows["2", "RBP(p=0.8)"][:3] == [0, 0, 1]
    assert rows["2", "P@10"][:3] == [0, 0, 0]
    assert rows["1", "RBP(p=0.8)"][:3] == pytest.approx([0.2, 0.2, 1])
    assert rows["all", "RBP(p=0.8)"][:3] == pytest.approx([0.1, 0.1, 1])


@pytest.mark.parametrize(("variant", "divisor"), [("a", 5), ("b", 3), ("c", 4)])
def test_truncated_ap_differs_in_what_it_divides_by(variant: str, divisor: int) -> None:
    """Five relevant documents, a cut-off of 3, and four relevant documents in the first three of both runs."""
    qrels = {"1": {"a": 1, "x": 0, "b": 1, "c": 1, "e": 1, "f": 1}}
    runs = {"one": ranked("axbf"), "other": ranked("cexb")}
    frame = fm.evaluate(qrels, runs, f"AP(variant={variant})@3", by_topic=True, pooled=["one", "other"])
    one, _, other, _ = frame["score"]
    assert one == pytest.approx((1 / 1 + 2 / 3) / divisor)
    assert other == pytest.approx((1 / 1 + 2 / 2) / divisor)


def test_geometric_mean_has_no_expectation_over_ties() -> None:
    """It is not the geometric mean of the topics' expectations, so the column stays empty where ties matter."""
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1}}
    tied = fm.evaluate(qrels, {"1": {"a": 1.0, "b": 1.0}, "2": {"c": 1.0}}, "GMAP")
    assert tied["tie_low"][0] < tied["tie_high"][0]
    assert tied["tie_expected"][0] is None
    assert fm.evaluate(qrels, {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}, "GMAP")["tie_expected"][0] == 1
