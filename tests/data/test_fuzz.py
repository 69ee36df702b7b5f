"""The fuzzers: a little of each kind, and what becomes of a case that fails. `python -m tests.fuzz` is the long run."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz import runner
from tests.fuzz.case import Case, Failure, compare
from tests.fuzz.kinds import KINDS, made
from tests.fuzz.runner import try_case
from tests.fuzz.text import naive_judgments, naive_run

CASES = 120  # of each kind
SEED = 11


# What cases come to, so that they are neither all good nor all bad.
OUTCOMES = {name: {"refused", "accepted", "compared"} for name in KINDS} | {
    "formats": {"refused", "accepted"},
    "session": {"opened, salvaged", "refused, salvaged", "refused, nothing found"},
    "http": {"2xx", "4xx", "closed"},
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Using `httpx` with")
@pytest.mark.parametrize("name", KINDS)
def test_a_few_cases_of_each_kind(name: str) -> None:
    assert OUTCOMES[name] <= {try_case(name, SEED, number) for number in range(CASES)}


@pytest.mark.parametrize("name", KINDS)
def test_a_case_is_the_same_again(name: str) -> None:
    assert made(name, SEED, 3) == made(name, SEED, 3)
    assert made(name, SEED, 3) != made(name, SEED, 4)
    assert made(name, SEED, 3) != made(name, SEED + 1, 3)


def test_another_score_is_a_failure() -> None:
    import polars as pl

    judgments, scores = {"1": {"a": 1.0}}, {"1": {"b": 2.0, "a": 1.0}}
    rows = [{"topic": "1", "measure": "AP", "score": 0.5}, {"topic": "1", "measure": "RR", "score": 0.6}]
    with pytest.raises(Failure, match=r"AP|nDCG|RR"):
        compare(pl.DataFrame(rows), judgments, scores)


def test_the_naive_readers() -> None:
    assert naive_run(b"1 Q0 a 1 2.5 t\r\n\n1\tQ0\tb\t2\t-1e3\tt") == {"1": {"a": 2.5, "b": -1000.0}}
    assert naive_judgments(b"1 0 a +2\n") == {"1": {"a": 2.0}}
    for odd in (
        b"",
        b"1 Q0 a 1 2.5\n",
        b"1 Q0 a 1 x t\n",
        b"1 Q0 a 1 1 t\n1 Q0 a 2 1 t\n",
        b"1 Q0 \xff 1 1 t\n",
        b"1\r0",
    ):
        assert naive_run(odd) is None
    for odd in (b"1 0 a 1.5\n", b"1 0 a -1\n", b"1 0 a 2000\n"):
        assert naive_judgments(odd) is None


# -- the command ------------------------------------------------------------------------------------------------------


WAYS = ["good", "raise", "sleep", "loop", "crash"]
EACH_ONCE = 63  # the seed with which the first five cases have all ways


class Bad:
    """A kind whose cases end in all the ways that a case must not."""

    @staticmethod
    def make(rng: random.Random) -> Case:
        return Case({"way": rng.choice(WAYS).encode()})

    @staticmethod
    def check(case: Case) -> str:
        import os
        import signal

        match case.files["way"].decode():
            case "raise":
                raise ZeroDivisionError
            case "sleep":
                time.sleep(30)
            case "loop":
                while True:
                    pass
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
        return "good"


make, check = Bad.make, Bad.check  # this file is a kind


@pytest.mark.long
def test_what_fails_is_counted_and_kept_with_the_command_that_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "bad", "tests.data.test_fuzz")
    monkeypatch.setattr(runner, "SECONDS", 1.0)
    monkeypatch.setattr(runner, "GRACE", 15.0)
    ways = [made("bad", EACH_ONCE, number).files["way"].decode() for number in range(5)]
    assert sorted(ways) == sorted(WAYS)
    found = runner.run(["bad"], 5, EACH_ONCE, 1, tmp_path)
    assert found.outcomes == {"bad": {"good": 1, "failure": 1, "hang": 2, "crash": 1}}
    assert len(found.failures) == 4
    number = ways.index("raise")
    kept = tmp_path / f"bad-{EACH_ONCE}-{number}"
    assert (kept / "way").read_bytes() == b"raise"
    text = (kept / "failure.txt").read_text(encoding="utf-8")
    assert text.startswith(f"python -m tests.fuzz --only bad --seed {EACH_ONCE} --case {number}\n")
    assert "ZeroDivisionError" in text


def test_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--keep", str(tmp_path / "failures")]
    done = subprocess.run(
        [*command, "--cases", "20", "--only", "text,json"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "text: 10 cases: " in done.stdout
    assert not (tmp_path / "failures").exists()
    bad = subprocess.run([*command, "--only", "nothing"], capture_output=True, text=True, timeout=60)
    assert bad.returncode == 2
    assert "there is no kind 'nothing'" in bad.stderr
