"""What measures leave out for speed changes nothing: each shortcut against a plain loop or exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.data.qrels import EXCLUDED, JUDGED, PADDING, UNJUDGED, read_qrels
from fathoms.data.runs import read_run
from fathoms.evidence.align import Alignment
from fathoms.evidence.evidence import Bools, Evidence
from fathoms.evidence.order import contradictions
from fathoms.experiment.run_scores import _contradicts_itself
from fathoms.experiment.scoring import score_all
from fathoms.measures.ap import AP
from fathoms.measures.base import Measure, Scores
from fathoms.measures.parse import parse_measure
from fathoms.measures.stretches import Stretches
from tests.support.blocks import block
from tests.support.slow import Case, Doc

MEASURES = ("AP", "AP@7", "AP(variant=b)@5", "nDCG@10", "nDCG", "P@10", "RBP(p=0.8)", "RR", "R@5", "ERR@20", "GMAP")


def random_block(
    seed: int, rows: int = 30, width: int = 40, *, unjudged: float = 0.4, ties: float = 0.3, gmax: int = 2
) -> Evidence:
    """Rankings of all lengths from 0 to `width`."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, width + 1, rows)
    lengths[:3] = (0, 1, width)
    kinds = rng.random((rows, width))
    grades = np.where(rng.random((rows, width)) < 0.3, rng.integers(1, gmax + 1, (rows, width)), 0)
    codes = np.where(kinds < unjudged, UNJUDGED, JUDGED + grades)
    codes = np.where((kinds < unjudged) & (rng.random((rows, width)) < 0.1), EXCLUDED, codes)
    there = np.arange(width) < lengths[:, None]
    codes = np.where(there, codes, PADDING).astype(np.int16)
    tied = (rng.random((rows, width)) < ties) & there
    tied[:, 0] = False
    counts = np.stack([(codes == JUDGED + grade).sum(axis=1) for grade in range(gmax + 1)], axis=1)
    counts += rng.integers(0, 3, counts.shape)
    return Evidence(
        topics=[str(row) for row in range(rows)],
        codes=codes,
        tied=tied,
        lengths=lengths,
        levels=np.arange(gmax + 1.0),
        max_grade=float(gmax),
        counts=counts,
        unjudged_in_universe=(codes == UNJUDGED).sum(axis=1) + rng.integers(0, 5, rows),
        topic_numbers=np.arange(rows),
    )


def columns(measure: Measure, evidence: Evidence) -> dict[str, Any]:
    scores = measure.scores(replace(evidence, _cache={}))
    return {name: getattr(scores, name) for name in Scores.COLUMNS}


# -- the range of AP --------------------------------------------------------------------------------------------------


def exact_range(codes: list[int], first_relevant: int, R: int, V: int, cap: int | None) -> tuple[Fraction, Fraction]:
    """By going through every number of documents, in fractions."""

    def score(relevant: set[int], norm: int) -> Fraction:
        total = sum((Fraction(found, rank) for found, rank in enumerate(sorted(relevant), 1)), Fraction(0))
        return total / (norm if cap is None else min(norm, cap)) if norm else Fraction(0)

    known = {rank for rank, code in enumerate(codes, 1) if code >= first_relevant}
    open_ = [rank for rank, code in enumerate(codes, 1) if code == UNJUDGED]
    high = max(score(known | set(open_[:m]), R + m) for m in range(len(open_) + 1))
    if not R:
        return Fraction(0), high
    return min(score(known | set(open_[len(open_) - m :]), R + V + m) for m in range(len(open_) + 1)), high


@pytest.mark.parametrize("name", ["AP", "AP@7", "AP(variant=b)@5", "AP(rel=2)", "AP(universe=run)", "AP@200"])
@pytest.mark.parametrize("unjudged", [0.0, 0.2, 0.6, 0.95, 1.0])
def test_range_of_ap_is_that_of_a_plain_scan(name: str, unjudged: float) -> None:
    measure = parse_measure(name)
    assert isinstance(measure, AP)
    evidence = random_block(int(unjudged * 100), unjudged=unjudged)
    found = columns(measure, evidence)
    n = measure.depth_read(evidence)
    R = measure._R(evidence)
    for row, codes in enumerate(evidence.codes.tolist()):
        own = sum(code == UNJUDGED for code in codes)
        universe = own if measure.universe == "run" else int(evidence.unjudged_in_universe[row])  # type: ignore[index]
        V = universe - sum(code == UNJUDGED for code in codes[:n])
        cap = int(measure.k) if measure.variant == "b" and measure.k else None
        low, high = exact_range(codes[:n], JUDGED + int(measure.rel), int(R[row]), V, cap)
        assert abs(Fraction(found["low"][row]) - low) < 1e-15
        assert abs(Fraction(found["high"][row]) - high) < 1e-15


def test_range_of_ap_on_a_long_ranking() -> None:
    """Whole numbers of parts are exact to the last digit of 1."""
    evidence = random_block(1, rows=4, width=300, unjudged=0.6)
    found = columns(AP(universe="run"), evidence)
    for row, codes in enumerate(evidence.codes.tolist()):
        low, high = exact_range(codes, JUDGED + 1, int(evidence.counts[row, 1:].sum()), 0, None)
        assert abs(Fraction(found["low"][row]) - low) < 5e-16
        assert abs(Fraction(found["high"][row]) - high) < 5e-16


@pytest.mark.parametrize("seed", range(5))
def test_stretches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask: Bools = rng.random((20, 25)) < rng.random((20, 1))
    mask[:3] = [[False] * 25, [True] * 25, [True] + [False] * 24]
    known = ~mask & (rng.random(mask.shape) < 0.3)
    found = Stretches(mask)
    around = found.around(known)
    values = rng.random(len(found.row))
    down_to, below = found.down_to(values), found.below(values)
    expected = []
    for row in range(len(mask)):
        start = 0
        while start < 25:
            stop = start
            while stop < 25 and mask[row, stop]:
                stop += 1
            if stop > start:
                expected.append((row, start, stop))
            start = max(stop, start + 1)
    assert list(zip(found.row, found.above, found.last, strict=True)) == expected
    for i, (row, start, stop) in enumerate(expected):
        same = [j for j, other in enumerate(expected) if other[0] == row]
        np.testing.assert_allclose(down_to[i], sum(values[j] for j in same if j <= i), rtol=1e-15)
        np.testing.assert_allclose(below[i], sum(values[j] for j in same if j > i), rtol=1e-14, atol=1e-16)
        reciprocal = 1 / np.arange(1, 26)
        assert around.above[i] == known[row, :start].sum()
        np.testing.assert_allclose(around.below[i], reciprocal[stop:][known[row, stop:]].sum(), rtol=1e-14)
        np.testing.assert_allclose(found.reciprocals[i], reciprocal[start:stop].sum(), rtol=1e-14)
        assert found.places_down_to[i] == mask[row, :stop].sum()
        assert found.places_below[i] == mask[row, stop:].sum()


# -- places and tie groups --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "worth", [[0, 0, 0, 0, 0, 1, 2], [0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0], [0, 2, 0, 0, 1, 0, 1]]
)
@pytest.mark.parametrize("n", [1, 10, 40])
def test_places_are_those_with_some_worth(worth: list[float], n: int) -> None:
    evidence = random_block(3)
    found = evidence.holding(np.array(worth, dtype=float), n)
    expected = [
        (row, column, code)
        for row, codes in enumerate(evidence.codes[:, :n].tolist())
        for column, code in enumerate(codes)
        if worth[code]
    ]
    assert list(zip(found.row.tolist(), found.column.tolist(), found.code.tolist(), strict=True)) == expected
    for row in range(len(evidence)):
        of_row = slice(found.start[row], found.start[row + 1])
        assert (found.row[of_row] == row).all()
        assert found.number[of_row].tolist() == list(range(1, of_row.stop - of_row.start + 1))


@pytest.mark.parametrize("ties", [0.0, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("k", [1, 5, 39, 40, 100])
def test_mixed_groups_are_those_of_a_plain_loop(ties: float, k: int) -> None:
    evidence = random_block(4, ties=ties)
    value = np.array([0.0, 0, 0, 0, 0, 1, 2])
    expected = []
    for row, (codes, tied) in enumerate(zip(evidence.codes.tolist(), evidence.tied.tolist(), strict=True)):
        groups: list[list[int]] = []
        for column in range(evidence.width):
            groups.append([column]) if not tied[column] else groups[-1].append(column)
        expected += [
            [(row, column) for column in group]
            for group in groups
            if group[0] < k and len({value[codes[column]] for column in group}) > 1
        ]
    found = evidence.mixed(value, k)
    assert (found is None) == (not expected)
    if found is not None:
        places = list(zip(found.row.tolist(), found.column.tolist(), strict=True))
        assert places == [place for group in expected for place in group]
        assert found.size.tolist() == [len(group) for group in expected]
        assert found.group.tolist() == [number for number, group in enumerate(expected) for _ in group]
        assert found.rows.tolist() == sorted({group[0][0] for group in expected})


# -- topics with nothing to do ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEASURES)
def test_without_unjudged_documents_the_range_is_the_score(name: str) -> None:
    evidence = replace(random_block(5, unjudged=0.0), unjudged_in_universe=None)
    measure = parse_measure(name)
    found = columns(measure, evidence)
    assert (found["low"] == found["score"]).all()
    if not measure.has_tail:
        assert (found["high"] == found["score"]).all()


@pytest.mark.parametrize("name", MEASURES)
def test_without_ties_there_is_one_order(name: str) -> None:
    found = columns(parse_measure(name), random_block(6, ties=0.0))
    for column in ("tie_low", "tie_high", "tie_expected"):
        assert (found[column] == found["score"]).all()


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("ties", [0.0, 0.3, 1.0])
def test_a_topic_has_the_same_scores_in_any_company(name: str, ties: float) -> None:
    """To the last digit: whole blocks, chunks and single topics are worked on in the same way."""
    measure, evidence = parse_measure(name), random_block(7, ties=ties)
    whole = columns(measure, evidence)
    for row in range(len(evidence)):
        alone = columns(measure, evidence.select([row]))
        for column, values in whole.items():
            one = alone[column]
            assert (values is None) == (one is None)
            if values is not None and one is not None:
                np.testing.assert_allclose(one[0], values[row], rtol=0, atol=0 if column == "score" else 1e-15)


@pytest.mark.parametrize("name", MEASURES)
def test_score_lies_in_its_range_to_the_last_digit(name: str) -> None:
    for seed in range(20):
        found = columns(parse_measure(name), random_block(seed, unjudged=0.1))
        assert (found["low"] <= found["score"]).all()
        assert (found["score"] <= found["high"]).all()


def test_measures_share_what_they_look_at() -> None:
    """Scores of several measures at once are those of each alone."""
    evidence, measures = random_block(8), [parse_measure(name) for name in MEASURES]
    together = score_all(evidence, measures, "trec")
    for measure in measures:
        for column, values in columns(measure, evidence).items():
            np.testing.assert_array_equal(getattr(together[measure], column), values)


def test_tables_are_those_of_the_collection() -> None:
    """What a measure keeps for one collection is not used for another with other grades."""
    measure = parse_measure("nDCG(gain=linear)@5")
    cases = [Case((Doc(float(gmax)), Doc(None), Doc(1.0)), (), gmax) for gmax in (1, 2, 3)]
    again = [measure.value(block([case])) for case in cases]
    for case, value in zip(cases, again, strict=True):
        np.testing.assert_array_equal(parse_measure("nDCG(gain=linear)@5").value(block([case])), value)
    assert measure.top_gain(block([cases[2]])) == 1.0  # type: ignore[attr-defined]
    assert parse_measure("nDCG@5").top_gain(block([cases[2]])) == 3.0  # type: ignore[attr-defined]


# -- what a run says against itself -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_contradictions_are_seen_in_the_ranking(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    lines = []
    for topic in range(3):
        scores = np.sort(rng.integers(0, 12, 8).astype(float))[::-1]
        if seed % 3 == 0:
            scores += rng.integers(0, 2, 8) * 1e-9  # lost in float32
        ranks = np.arange(1, 9)
        if seed % 2:
            i = int(rng.integers(0, 7))
            ranks[[i, i + 1]] = ranks[[i + 1, i]]
        places = rng.permutation(8) if seed % 5 == 0 else np.arange(8)
        lines += [f"{topic} Q0 d{place} {ranks[place]} {float(scores[place])} r\n" for place in places]
    path = tmp_path / "run.txt"
    path.write_text("".join(lines))
    run = read_run(path)
    align = Alignment(read_qrels({str(topic): {"d1": 1} for topic in range(3)}))
    assert _contradicts_itself(align.rank(run)) == contradictions(run).any()
