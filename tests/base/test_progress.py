"""How far the work is, said to whoever listens."""

from __future__ import annotations

import os

import pytest

from fathoms.base import progress
from fathoms.base.parallel import parallel_map

Said = list[tuple[str, int, int]]


@pytest.mark.parametrize("workers", [1, 2])
def test_work_says_how_far_it_is(workers: int) -> None:
    said: Said = []
    with progress.heard_by(lambda *what: said.append(what)):
        assert parallel_map(abs, [-1, -2, -3], workers=workers, doing="numbers") == [1, 2, 3]
        parallel_map(abs, [-1], workers=1)  # which has no name
    parallel_map(abs, [-1], workers=1, doing="numbers")  # and nobody listens any more
    assert said == [("numbers", done, 3) for done in range(4)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not copy processes")
def test_a_copy_of_the_process_says_nothing() -> None:
    said: Said = []
    with progress.heard_by(lambda *what: said.append(what)):
        child = os.fork()
        if child == 0:
            progress.say("inside", 1, 9)
            os._exit(len(said))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        progress.say("outside", 1, 9)
    assert said == [("outside", 1, 9)]
