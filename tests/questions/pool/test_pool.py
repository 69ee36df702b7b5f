"""What a pool still lacks."""

from __future__ import annotations

import pytest

import fathoms as fm


def test_what_a_pool_still_lacks() -> None:
    qrels = {"1": {"a": 1, "b": -1}, "2": {"c": 0}}
    runs = {"x": {"1": {"a": 3.0, "b": 2.0, "d": 1.0}}, "y": {"1": {"e": 3.0}, "2": {"c": 2.0, "f": 1.0}}}
    exp = fm.Experiment(qrels, runs)
    assert exp.pool(depth=2, missing=True).frame.rows() == [("1", "e", 1), ("1", "b", 2), ("2", "f", 2)]
    some = fm.Experiment(qrels, runs, pooled=["x"]).pool(depth=2, missing=True)
    assert some.frame.rows() == [("1", "b", 2)]
    with pytest.raises(fm.FathomsError, match="there are no judgments"):
        fm.Experiment(None, runs).pool(depth=2, missing=True)
