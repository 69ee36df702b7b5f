"""Grades near the end of floating point: a message, or a right result, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import fathoms as fm
from fathoms.base.errors import FathomsError
from tests.support.commands import Command

RUNS = {"r": {"1": {"b": 3.0, "a": 2.0, "d": 1.0}}, "s": {"1": {"a": 3.0, "c": 2.0}}}


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@10", "Q", "Q@10", "DCG", "DCG@10", "nDCG(gains={1:1})"])
@pytest.mark.parametrize("grade", [1e101, 1e308, 1.7e308])
def test_gains_that_cannot_be_added_up_are_refused(measure: str, grade: float) -> None:
    with pytest.raises(FathomsError, match="is too large to be added up; use gain=linear"):
        fm.evaluate({"1": {"a": grade, "b": 1.0, "c": grade}}, RUNS, [measure])


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@10", "Q", "Q@10"])
def test_large_grades_score_as_smaller_ones_in_proportion(measure: str) -> None:
    """Where the large grade is all that counts, how large it is does not matter to a measure that is normalised."""
    linear = measure.replace("@", "(gain=linear)@") if "@" in measure else f"{measure}(gain=linear)"
    large, small = (
        fm.evaluate({"1": {"a": grade, "c": grade}}, RUNS, [name])["score"].to_list()
        for grade, name in ((1e308, linear), (1.0, measure))
    )
    assert large == pytest.approx(small)


@pytest.mark.parametrize("command", ["eval", "compare", "predict", "rank"])
def test_commands_say_so(command: str, fathoms: Command) -> None:
    Path("large.txt").write_text(f"1 0 a {10**308}\n1 0 b 1\n1 0 c 0\n2 0 a {10**308}\n")
    for name, docs in (("r", "bad"), ("s", "ace")):
        lines = [f"{topic} Q0 {doc} {rank} {9 - rank} {name}\n" for topic in "12" for rank, doc in enumerate(docs, 1)]
        Path(f"{name}.run").write_text("".join(lines))
    for measure in ("nDCG", "Q", "DCG"):
        done = fathoms(command, "large.txt", "r.run", "s.run", "-m", measure)
        assert done.status == 2
        assert f"{measure}: a gain of 1e+308 is too large" in done.err
