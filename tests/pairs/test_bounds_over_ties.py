"""Bounds over all orders of ties that the kernel makes of many pairs, held against pairs put side by side."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import fathoms as fm
from fathoms.base import kernel
from fathoms.evidence.align import rank
from fathoms.evidence.candidates import DocumentTable, document_table
from fathoms.measures.parse import parse_measure
from fathoms.pairs.difference_ranges import Bound, Ranges, Universe
from tests.support.kernels import both

DOCUMENTS = [f"d{n:02}" for n in range(25)]


def tied_runs(seed: int) -> tuple[DocumentTable, fm.Qrels]:
    """Runs of many ties, one of them a copy of another but for its last documents, so that they share tie groups."""
    rng = np.random.default_rng(seed)
    judged = {
        topic: dict(zip(rng.permutation(DOCUMENTS)[:9].tolist(), rng.integers(0, 2, 9).tolist(), strict=True))
        for topic in "12"
    }
    runs = {
        f"run{n}": {
            topic: dict(
                zip(
                    rng.permutation(DOCUMENTS)[:14].tolist(),
                    np.sort(rng.integers(0, 9, 14))[::-1].tolist(),
                    strict=True,
                )
            )
            for topic in "12"
        }
        for n in range(5)
    }
    runs["copy"] = {topic: dict(list(scores.items())[:-3]) for topic, scores in runs["run0"].items()}
    qrels, read = fm.read_qrels(judged), fm.read_runs(runs)
    return document_table(list(read), [rank(read[run], qrels, "trec", "float32") for run in read], qrels.topics), qrels


@pytest.mark.skipif(kernel.compiled is None, reason="there is no compiled kernel here")
@pytest.mark.parametrize("bound", ["plain", "best"])
@pytest.mark.parametrize("universe", [Universe(), Universe("all"), Universe(3), Universe(float("inf"))])
def test_bounds_of_many_pairs_are_those_side_by_side(bound: Bound, universe: Universe) -> None:
    for seed in range(8):
        table, qrels = tied_runs(seed)
        a, b = np.triu_indices(len(table.names), 1)
        ranges, measure = Ranges(table, qrels, np.append(a, b), np.append(b, a), universe), parse_measure("AP")
        work = partial(ranges._lead_over_ties, measure, bound)
        ours, theirs = both(partial(ranges._of_some, measure, work, ranges.a, ranges.b))
        assert ours == pytest.approx(theirs, abs=1e-12)
