"""Evaluations that were interrupted go on where they stopped."""

from __future__ import annotations

import os
import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fathoms as fm
from fathoms.base import parallel
from fathoms.base.parallel import checkpoint_hash as seals
from fathoms.base.parallel import work
from fathoms.data.simulate import simulate, write
from tests.support.batches import BATCHES, EXPECTED, squares
from tests.support.commands import status


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "sim"
    write(simulate(systems=7, n_topics=4, depth=30, seed=2), folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work, "KEPT_TOGETHER", 2)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


def evaluated(sim: Path, *flags: str) -> tuple[int, str]:
    out = Path("out.tsv")
    out.unlink(missing_ok=True)
    ended = status("eval", sim / "qrels.txt", sim / "runs", "--quiet", "--format", "tsv", "-o", out, *flags)
    return ended, out.read_text() if out.exists() else ""


def parts() -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in Path("kept").rglob("part-*")}


@pytest.mark.parametrize("where", [["--workers", "1"], ["--workers", "3"]])
def test_what_is_done_is_kept_and_not_done_again(sim: Path, where: list[str]) -> None:
    _, expected = evaluated(sim)
    broken = sorted((sim / "runs").iterdir())[-1]
    sound = broken.read_bytes()
    broken.write_bytes(sound + b"bad line\n")
    assert evaluated(sim, "--resume", "kept", *where) == (2, "")
    kept = parts()
    assert 1 <= len(kept) <= 3  # of four pieces, the last one with the broken run; others may have been running still
    broken.write_bytes(sound)
    seen: list[dict[str, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "finished", lambda folder: seen.append(parts()))
        status, again = evaluated(sim, "--resume", "kept", *where)
    assert (status, again) == (0, expected)
    assert len(seen[0]) == 4
    assert {name: time for name, time in seen[0].items() if name in kept} == kept


def test_once_the_output_is_there_nothing_is_left_behind(sim: Path) -> None:
    status, _ = evaluated(sim, "--resume", "kept")
    assert status == 0
    assert parts() == {}


@pytest.mark.parametrize("change", ["judgment", "run", "measure", "seed", "ties"])
def test_what_has_changed_is_done_again(sim: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "finished", lambda folder: None)
    evaluated(sim, "--resume", "kept")
    before = parts()
    flags: list[str] = []
    if change == "judgment":
        qrels = sim / "qrels.txt"
        lines = qrels.read_text().splitlines()
        topic, iteration, document, grade = lines[0].split()
        lines[0] = f"{topic} {iteration} {document} {1 - min(int(grade), 1)}"
        qrels.write_text("\n".join(lines) + "\n")
    elif change == "run":
        first = sorted((sim / "runs").iterdir())[0]
        lines = first.read_text().splitlines()
        first.write_text("\n".join(lines[1:]) + "\n")
        os.utime(first)
    else:
        flags = {"measure": ["-m", "P@3"], "seed": ["--seed", "5"], "ties": ["--ties", "run"]}[change]
    status, found = evaluated(sim, "--resume", "kept", *flags)
    assert status == 0
    assert found == evaluated(sim, *flags)[1]
    new = set(parts()) - set(before) if change == "run" else set(parts())
    assert len(new) == 1 if change == "run" else len(list(Path("kept").rglob("part-*"))) == 8


def test_frames_have_an_identity_too() -> None:
    run = {"1": {"a": 2.0, "b": 1.0}}
    assert fm.read_run(run).identity() == fm.read_run(run).identity()
    assert fm.read_run(run).identity() != fm.read_run({"1": {"a": 2.0, "b": 1.5}}).identity()
    assert fm.read_qrels({"1": {"a": 1}}).identity() != fm.read_qrels({"1": {"a": 2}}).identity()


# -- only what this user wrote is opened ------------------------------------------------------------------------------


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("owned"),)


def test_parts_that_somebody_else_wrote_are_not_opened(sim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pickle can run anything, so each part has a seal that needs the user's own key."""
    _, expected = evaluated(sim)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "finished", lambda folder: None)
        evaluated(sim, "--resume", "kept")
    paths = sorted(Path("kept").rglob("part-*"))
    assert len(paths) == 4
    whole = [path.read_bytes() for path in paths]
    rows = len(pl.read_parquet(whole[0][: -work.MARK]))
    buffer = BytesIO()
    pl.DataFrame({"result": [pickle.dumps(Evil())] * rows}).write_parquet(buffer)
    bad = buffer.getvalue()
    paths[0].write_bytes(bad + whole[0][-work.MARK :])  # the seal of something else
    paths[1].write_bytes(bad)  # none
    paths[2].write_bytes(whole[3])  # that of another part
    capsys.readouterr()
    assert evaluated(sim, "--resume", "kept") == (0, expected)
    assert not Path("owned").exists()
    said = capsys.readouterr().err.splitlines()
    assert sorted(said) == [
        f"fathoms: {path} is damaged, or was not written by you; it will be computed again" for path in paths[:3]
    ]
    pickle.loads(pl.read_parquet(bad)["result"][0])
    assert Path("owned").exists()  # so it would have been found out


def test_the_key_is_private_and_the_same_for_all(sim: Path) -> None:
    mark = seals.seal(b"content", "part")
    assert seals.seal(b"content", "part") == mark
    assert len(mark) == work.MARK
    assert seals.seal(b"content", "other") != mark
    assert seals.seal(b"Content", "part") != mark
    key = seals.key_file()
    assert key.stat().st_mode & 0o777 == 0o600
    key.write_bytes(b"short")  # cut off while it was written
    assert seals.seal(b"content", "part") != mark
    assert len(key.read_bytes()) == seals.KEY_BYTES


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "longer"])
def test_a_damaged_part_is_worked_for_again(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flipped bit in parquet may be another number, and nothing else."""
    parallel.run_batches(squares, BATCHES, workers=1, folder=tmp_path)
    path = sorted(tmp_path.rglob("part-*"))[2]
    raw = bytearray(path.read_bytes())
    raw[30] ^= 1
    broken = {"flipped": bytes(raw), "cut": bytes(raw[:-70]), "empty": b"", "longer": path.read_bytes() + b"\0"}[damage]
    path.write_bytes(broken)
    rows = parallel.run_batches(squares, BATCHES, workers=1, folder=tmp_path)
    assert rows["square"].to_list() == EXPECTED
    assert capsys.readouterr().err == f"fathoms: {path} is damaged; it will be computed again\n"
    assert path.read_bytes() != broken
