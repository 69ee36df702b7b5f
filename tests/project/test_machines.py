"""What is seeded gives the same bytes on every machine: numpy with and without its newer routines, one BLAS thread or
two. The routines differ in the last bit of exp, log and power, and in the order in which they leave equal values."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.base.rounding import best, order, rounded
from fathoms.data.simulate import _grades

# The collections that turned on the last bit of a power have three grades or more.
COMMANDS = """
fathoms simulate -o sim --systems 6 --max-grade 3 --seed 1
fathoms simulate -o small --systems 4 --n-docs 300 --max-grade 4 --ties 0.3 --contradictions 0.5 --seed 4
fathoms simulate -o teams --systems 9 --n-topics 12 --depth 100 --texts --seed 2
fathoms eval sim/qrels.txt sim/runs/*.run -m AP -m nDCG@10 -m RBP --by-topic --format tsv > eval.tsv
fathoms compare sim/qrels.txt sim/runs/*.run -m AP -m nDCG@10 --draws 0 --format tsv > compare.tsv
"""


def dispatched() -> list[str]:
    """The groups of processor features for which numpy has routines of its own, and which this machine has."""
    core: Any = import_module("numpy._core._multiarray_umath")
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def beyond_avx2() -> list[str]:
    return [name for name in dispatched() if name.startswith("AVX512") or name == "X86_V4"]


def digests(folder: Path, **environment: str) -> dict[str, str]:
    """What the commands write, by file."""
    folder.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-e", "-c", COMMANDS],
        cwd=folder,
        env=os.environ | {"PATH": path} | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return digests(tmp_path_factory.mktemp("machine") / "here", OPENBLAS_NUM_THREADS="2")


@pytest.mark.parametrize("left_out", ["beyond AVX2", "all, and one thread"])
def test_other_machines_give_the_same_bytes(left_out: str, here: dict[str, str], tmp_path: Path) -> None:
    features = beyond_avx2() if left_out == "beyond AVX2" else dispatched()
    if not features and left_out == "beyond AVX2":
        pytest.skip("numpy has no routines of its own for this processor")
    there = digests(
        tmp_path / "there",
        NPY_DISABLE_CPU_FEATURES=" ".join(features),
        OPENBLAS_NUM_THREADS="2" if left_out == "beyond AVX2" else "1",
    )
    assert there == here


@pytest.mark.parametrize("relevant", [6, 25, 125, 93, 1000])
def test_grades_are_counted_exactly(relevant: int) -> None:
    """25 x 0.4^2 is 4, whatever a power in floating point makes of it."""
    found = _grades(np.arange(2000.0), relevant, 5)
    held = [int((found >= grade).sum()) for grade in range(1, 6)]
    assert held == [-int(-relevant * Fraction(2, 5) ** grade // 1) for grade in range(5)]


def test_rounding_takes_away_the_last_bits() -> None:
    values = np.array([4.0, 1e-300, -0.1, 12345.0, 1e300])
    assert np.array_equal(rounded(np.nextafter(values, np.inf)), rounded(values))
    assert np.array_equal(rounded(np.nextafter(values, -np.inf)), rounded(values))
    assert np.allclose(rounded(values), values, rtol=2.0**-40, atol=0)
    assert rounded([0.0, np.inf, -np.inf]).tolist() == [0.0, np.inf, -np.inf]
    assert best([0.3, 0.1 + 0.2]) == 0
    assert order([0.1 + 0.2, 0.3, 0.2]).tolist() == [2, 0, 1]
