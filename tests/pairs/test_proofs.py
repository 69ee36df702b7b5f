"""What is proved of an order without a look at what would reverse it, and leads that an order of ties reverses."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.evidence.align import rank
from fathoms.evidence.candidates import document_table
from fathoms.evidence.pairs import RankingBlock
from fathoms.measures.parse import parse_measure
from fathoms.pairs import difference_ranges
from fathoms.pairs.difference_ranges import Ranges, Universe, _lead_in_worst_order

DOCUMENTS = "abcdef"


def plain_score(name: str, grades: list[int], ideal: list[int]) -> float:
    """AP or nDCG@3, as the textbooks have them."""
    if name == "AP":
        hits = [place for place, grade in enumerate(grades, 1) if grade > 0]
        return sum(number / place for number, place in enumerate(hits, 1)) / max(1, sum(grade > 0 for grade in ideal))
    gains = [sum(grade / np.log2(place + 1) for place, grade in enumerate(of[:3], 1)) for of in (grades, ideal)]
    return float(gains[0] / gains[1]) if gains[1] else 0.0


def ranked(scores: dict[str, float], order: tuple[str, ...]) -> list[str]:
    """By falling score, ties in this order."""
    return sorted(scores, key=lambda doc: (-scores[doc], order.index(doc)))


@pytest.mark.parametrize("name", ["AP", "nDCG@3"])
def test_a_lead_in_the_worst_order_is_that_of_some_order_of_all_documents(name: str) -> None:
    rng, reversed_ = np.random.default_rng(5), 0
    measure = parse_measure(name)
    for _ in range(25):
        grades = dict(zip(DOCUMENTS, rng.integers(0, 3, len(DOCUMENTS)).tolist(), strict=True))
        runs = {run: {doc: float(rng.integers(0, 3)) for doc in rng.permutation(list(DOCUMENTS))[:5]} for run in "AB"}
        qrels, read = fm.read_qrels({"1": grades}), fm.read_runs({run: {"1": of} for run, of in runs.items()})
        table = document_table(["A", "B"], [rank(read[run], qrels, "trec", "float32") for run in "AB"], qrels.topics)
        block = RankingBlock.of(table, qrels, np.array([0]))
        (lead,) = _lead_in_worst_order(measure, block, np.array([0]), np.array([1]), np.array([0]))
        ideal, leads = sorted(grades.values(), reverse=True), []
        for order in permutations(DOCUMENTS):
            scores = [plain_score(name, [grades[doc] for doc in ranked(of, order)], ideal) for of in runs.values()]
            leads.append(scores[0] - scores[1])
        assert np.abs(np.array(leads) - lead).min() < 1e-9
        now = measure.value(block.evidence())
        reversed_ += lead < now[0] - now[1] - 1e-9
    assert reversed_ >= 5


@pytest.mark.parametrize("name", ["AP", "nDCG@10", "ERR", "P@5"])
@pytest.mark.parametrize("limits", [{}, {"PAIRS": 0, "BEST": 0}, {"PAIRS": 12, "BEST": 0, "OPEN_PAIRS": 7}])
def test_proofs_alone_are_those_of_a_comparison(
    name: str, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, value in limits.items():
        monkeypatch.setattr(difference_ranges, limit, value)
    world = simulate(systems=9, n_topics=4, depth=14, n_docs=60, pool_depth=11, max_grade=2, seed=2)
    qrels, read, measure = fm.read_qrels(world.qrels), fm.read_runs(world.runs), parse_measure(name)
    table = document_table(list(read), [rank(read[run], qrels, "trec", "float32") for run in read], qrels.topics)
    block = RankingBlock.of(table, qrels, np.arange(len(qrels.topics)))
    means = measure.value(block.evidence()).reshape(len(qrels.topics), -1).mean(axis=0)
    a, b = np.triu_indices(len(means), 1)
    ranges = Ranges(table, qrels, a, b, Universe())
    whole, proofs = (
        replace(ranges, proofs_alone=alone).of([measure], {measure: means[a] - means[b]}, {})[measure]
        for alone in (False, True)
    )
    assert (whole.reversible == "no").any()
    assert ((whole.reversible == "no") == (proofs.reversible == "no")).all()
    assert ((whole.least >= -1e-9) == (proofs.least >= -1e-9)).all()
    assert set(proofs.reversible[whole.reversible == "yes"].tolist()) <= {"yes", "unknown", ""}
