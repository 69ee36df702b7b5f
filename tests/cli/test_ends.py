"""How commands end: by a signal, on a full disk, with folders that were not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fathoms.base import files
from fathoms.base.errors import InputError
from fathoms.base.files import whole_file, whole_folder
from fathoms.cli import app
from fathoms.cli.app import _meaning
from fathoms.judging.web.limits import Talk
from tests.support.commands import Command

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# -- signals ----------------------------------------------------------------------------------------------------------

# The command, which says at some place that it is there, and waits.
COMMAND = """
import os, sys, time
from pathlib import Path
from fathoms.cli import app
from fathoms.experiment.run_scores import Scoring

def wait(*args, **more):
    os.write(1, b"there\\n")
    time.sleep(60)

def write(self, content, **more):
    with open(self, "wb") as file:
        file.write(b"half")
    wait()

{place} = {function}
app.main(sys.argv[1:])
"""
WRITING, WORKING, STORING = ("Path.write_text", "write"), ("Scoring.part", "wait"), ("Path.write_bytes", "write")


def begun(
    folder: Path, place: tuple[str, str], *words: str, hang_up: signal.Handlers = signal.SIG_DFL
) -> subprocess.Popen[str]:
    """The command at that place, in a session of its own, whatever the tests inherit for SIGHUP (nohup ignores it)."""
    code = COMMAND.format(place=place[0], function=place[1])
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code, *words]
    before = signal.signal(signal.SIGHUP, hang_up)
    try:
        process = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    return process


def members(session: int) -> list[str]:
    """Processes of a session that are still running."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            state = Path("/proc", process, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it ended just now
            continue
        if state[3] == str(session) and state[0] != "Z":
            found.append(process)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_bytes(b"1 0 a 1\n")
    for name in "xyz":
        (tmp_path / f"{name}.run").write_bytes(b"1 Q0 a 1 1.0 t\n")
    return tmp_path


EVAL = ("eval", "qrels.txt", "x.run", "y.run", "z.run", "--format", "tsv", "--quiet", "--workers", "2", "-o", "out.tsv")
PLACES = {
    "writing": (WRITING, EVAL),
    "working": (WORKING, EVAL),
    "working one by one": (WORKING, (*EVAL, "--workers", "1")),
    "a folder": (STORING, ("simulate", "-o", "new/sim", "--systems", "2", "--n-topics", "2", "--n-docs", "50")),
}


@LINUX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("where", PLACES)
def test_a_signal_ends_a_command_and_leaves_nothing(where: str, number: signal.Signals, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    place, words = PLACES[where]
    process = begun(folder, place, *words)
    if where == "working":  # as a terminal that is closed does it
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (128 + number, f"fathoms: ended by {number.name}\n")
    assert sorted(folder.rglob("*")) == before
    assert not members(process.pid)


@LINUX
def test_a_signal_that_is_ignored_stays_ignored_as_under_nohup(folder: Path) -> None:
    process = begun(folder, WRITING, *EVAL, hang_up=signal.SIG_IGN)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[1] == "fathoms: ended by SIGTERM\n"


@LINUX
@pytest.mark.parametrize(
    "module", ["fathoms.cli.app", "argparse", "fathoms.base.text", "fathoms.questions.eval.command", "numpy"]
)
def test_ctrl_c_while_modules_are_loaded_leaves_no_traceback(module: str) -> None:
    code = f"""
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

from fathoms.command import run
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["eval", "none.txt", "none.run", "-m", "AP"]
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "fathoms: interrupted\n")


def test_ctrl_c_that_a_library_took_for_a_failed_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_heard", [signal.SIGINT])
    assert _meaning(ImportError("PyCapsule_Import could not import module"), ["eval"]) == (130, "interrupted")


def test_an_error_while_a_signal_ends_a_command_is_not_what_is_said() -> None:
    error = OSError(9, "Bad file descriptor")
    error.__context__ = KeyboardInterrupt()  # as where something is closed
    assert _meaning(error, ["eval"]) == (130, "interrupted")


def test_an_error_of_the_system_is_not_blamed_on_standard_output_where_that_cannot_be() -> None:
    assert _meaning(BlockingIOError(11, "Resource temporarily unavailable"), ["eval"]) == (
        2,
        "cannot go on: Resource temporarily unavailable",
    )


def test_what_a_clean_up_did_not_come_to_is_removed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second exception may come from a signal anywhere, also in the middle of a clean-up."""

    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "_remove", interrupted)
        with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "a.txt"):
            raise ValueError
    assert len(list(tmp_path.iterdir())) == 1
    files.remove_unfinished()
    assert not list(tmp_path.iterdir())


# -- full disks -------------------------------------------------------------------------------------------------------

FULL = 2000  # bytes that a file may have


@contextmanager
def small_files() -> Iterator[None]:
    """No file may grow beyond that, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


COMMANDS = {
    "tsv": ("out.tsv", ["eval", "{sim}/qrels.txt", "{sim}/runs", "-q", "--format", "tsv", "-o", "out.tsv"]),
    "parquet": ("out.pq", ["eval", "{sim}/qrels.txt", "{sim}/runs", "-q", "--format", "parquet", "-o", "out.pq"]),
    "convert": ("a.parquet", ["convert", "{sim}/runs/sys1.run", "-o", "a.parquet"]),
    "report": ("r.html", ["report", "{sim}/qrels.txt", "{sim}/runs", "-o", "r.html"]),
    "simulate": ("new/sim/qrels.txt", ["simulate", "-o", "new/sim", "--systems", "2", "--n-docs", "300"]),
    "papers": ("new/p/fig3.tsv", ["papers", "ties", "{sim}/qrels.txt", "{sim}/runs", "-o", "new/p"]),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_a_full_disk_is_said_of_the_right_file(
    what: str, fathoms: Command, simulated: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathoms.base.charts.available", lambda: False)
    sim = simulated(systems=3, n_topics=12, n_docs=300, depth=50, seed=1)
    target, words = COMMANDS[what]
    before = sorted(Path().rglob("*"))
    with small_files():
        done = fathoms(*(word.format(sim=sim) for word in words), "--quiet")
    assert (done.status, done.err) == (2, f"fathoms: {target}: cannot be written: File too large\n")
    assert sorted(Path().rglob("*")) == before


def test_a_full_disk_under_parts_that_are_kept(fathoms: Command, simulated: Callable[..., Path]) -> None:
    sim = simulated(systems=3, n_topics=12, n_docs=300, depth=50, seed=1)
    with small_files():
        done = fathoms("eval", f"{sim}/qrels.txt", f"{sim}/runs", "--resume", "kept", "--quiet", "--workers", "1")
    assert done.status == 2
    assert done.err.startswith("fathoms: kept/.unfinished/")
    assert done.err.endswith(": cannot be written: File too large\n")
    assert not [path for path in Path("kept").rglob("*") if path.is_file()]


# -- folders ----------------------------------------------------------------------------------------------------------


def put_two(folder: Path, a: Any, b: Any) -> None:
    with whole_folder(folder) as put:
        put("a", a)
        put("in/b", b)


def test_files_of_a_folder_appear_together(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a").write_bytes(b"before")
    for folder in (tmp_path / "old", tmp_path / "new" / "deep"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(TypeError):
            put_two(folder, b"after", None)
        assert sorted(tmp_path.rglob("*")) == before
        put_two(folder, b"after", b"x")
        assert sorted(path.name for path in folder.rglob("*")) == ["a", "b", "in"]
        assert (folder / "a").read_bytes() == b"after"


def test_what_others_put_into_a_new_folder_stays(tmp_path: Path) -> None:
    """Two commands write to out/a and out/b, and the first one, which made `out`, fails."""
    one, other = tmp_path / "out" / "a", tmp_path / "out" / "b"

    def fail() -> None:
        with whole_folder(one) as put:
            put("x", b"1")
            put_two(other, b"2", b"3")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (other / "a").read_bytes() == b"2"
    assert not one.exists()


def test_a_line_that_nobody_can_read_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stderr", Gone())
    talk = Talk()
    for _ in range(9):
        talk.say("kind", "text")
    talk.tell_counts(at_once=True)


def test_an_error_of_another_file_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.txt: cannot be written: No such file"), whole_file(tmp_path / "a"):
        (tmp_path / "missing.txt").read_bytes()
