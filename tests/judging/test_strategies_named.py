"""Names of strategies that take a parameter."""

from __future__ import annotations

import numpy as np
import pytest

import fathoms as fm
from fathoms.judging.select import RBPWeight, strategy_named


def test_rbp_takes_its_p() -> None:
    """Sums of p to the power of rank - 1, over runs, written out."""
    made = fm.simulate(systems=3, n_topics=2, n_docs=50, depth=10, pool_depth=2, seed=1)
    for name, p in (("rbp", 0.8), ("rbp(p=0.95)", 0.95), ("rbp(p=.5)", 0.5)):
        weight = strategy_named(name).weight
        assert issubclass(weight, RBPWeight)
        assert weight.p == p
    exp = fm.Experiment(made.qrels, made.runs)
    block = exp.documents().block()

    class State:
        judged = np.zeros(block.number.shape, dtype=bool)

    State.block = block  # type: ignore[attr-defined]
    chosen = strategy_named("rbp(p=0.95)").weight(State())  # type: ignore[arg-type]
    chosen.start()
    for topic, column in zip(*np.nonzero(block.number >= 0), strict=True):
        ranks = block.rank[topic, :, column]
        assert chosen.values[topic, column] == pytest.approx(sum(0.95 ** (r - 1) for r in ranks.tolist() if r > 0))


@pytest.mark.parametrize("name", ["rbp(p=1.5)", "rbp()", "mtc(p=0.5)", "rbp(p=0.95) "])
def test_other_parameters_are_refused(name: str) -> None:
    with pytest.raises(fm.FathomsError, match="expected one of fusion"):
        strategy_named(name)
