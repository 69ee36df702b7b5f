"""A test that hangs ends, and says where it hung."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GRACE, LIMIT, SLOW_LIMIT, TookTooLong, alarm, limit_of
from tests.support.paths import ROOT

HANGING = """
import threading, time
import pytest
from tests import conftest

conftest.LIMIT, conftest.GRACE = 0.5, 1.5

@pytest.fixture
def never_ready():
    threading.Event().wait()

def test_waits(): threading.Event().wait()
def test_takes_errors_for_granted():
    try: time.sleep(60)
    except Exception: pass
def test_has_a_fixture(never_ready): pass
def test_is_quick(): pass
"""
DEAF = """
import signal, time
from tests import conftest

conftest.LIMIT, conftest.GRACE = 0.5, 0.5

def test_is_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(60)
"""


def run(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """A suite of one file that has our conftest."""
    root = ROOT
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "test_it.py"]
    return subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(root), "PATH": os.environ["PATH"]},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def test_a_test_that_hangs_fails_and_the_others_go_on(tmp_path: Path) -> None:
    done = run(tmp_path, HANGING)
    assert "TookTooLong: the test took more than 0.5 seconds" in done.stdout
    assert "in wait" in done.stdout or "threading.py" in done.stdout
    assert "1 passed" in done.stdout
    assert "2 failed" in done.stdout
    assert "1 error" in done.stdout


def test_a_test_that_does_not_hear_ends_with_its_process(tmp_path: Path) -> None:
    done = run(tmp_path, DEAF)
    assert done.returncode == 1
    assert "Timeout (0:00:01)!" in done.stderr
    assert "test_is_deaf" in done.stderr


def test_what_is_marked_slow_has_longer(request: pytest.FixtureRequest) -> None:
    assert limit_of(request.node) == LIMIT
    request.node.add_marker(pytest.mark.slow)
    assert limit_of(request.node) == SLOW_LIMIT > LIMIT > GRACE


def test_the_alarm_is_off_afterwards() -> None:
    import signal

    before = signal.getitimer(signal.ITIMER_REAL)[0]
    with pytest.raises(TookTooLong), alarm(0.01):
        signal.pause()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0 < before
