"""Build what is given away, and try it on the spot: the wheel for this platform and the source archive.

    python release/wheels.py [-o dist]

The wheel holds the compiled kernel and does for all versions of Python from 3.11 on; where `auditwheel` is installed
(on Linux) it gets the name that other distributions accept. Then, each in an environment of its own and without a
compiler: the wheel has to install and to use its kernel, and the source archive to install and to work without one.
Both have to evaluate a small collection to the same bytes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_COMPILER = {"CC": "no-compiler", "CXX": "no-compiler"}
RUN = "1 Q0 a 1 3.0 t\n1 Q0 b 2 2.0 t\n1 Q0 c 3 2.0 t\n2 Q0 a 1 1.5 t\n"
QRELS = "1 0 a 0\n1 0 c 1\n2 0 b 1\n2 0 a 2\n"


def call(*command: str | Path, **environment: str) -> str:
    """Run a command to its end; what it printed."""
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def environment(folder: Path) -> Path:
    """A new environment; its folder of programs."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def build(target: Path, folder: Path) -> tuple[Path, Path]:
    """The wheel and the source archive."""
    programs = environment(folder / "build")
    call(programs / "python", "-m", "pip", "install", "-q", "build")
    call(programs / "python", "-m", "build", "--outdir", folder / "dist", ROOT)
    (wheel,), (archive,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    if "-abi3-" not in wheel.name:
        sys.exit(f"{wheel.name} has no compiled kernel; is there a compiler?")
    if sys.platform == "linux" and shutil.which("auditwheel"):
        call("auditwheel", "repair", "--wheel-dir", folder / "named", wheel)
        (wheel,) = (folder / "named").glob("*.whl")
    target.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(wheel, target)), Path(shutil.copy(archive, target))


def check_content(wheel: Path, archive: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        inside = set(opened.namelist())
    kernels = [name for name in inside if Path(name).stem.startswith("_kernel") and not name.endswith(".pyi")]
    if len(kernels) != 1 or kernels[0].endswith(".c"):
        sys.exit(f"{wheel.name}: expected one compiled kernel, found {kernels}")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    for wanted in ("src/fathoms/_kernel.c", "hatch_build.py"):
        if wanted not in names:
            sys.exit(f"{archive.name}: {wanted} is missing")


def tried(package: Path, folder: Path, *flags: str) -> tuple[str, str]:
    """What an installed package says of itself, and what it makes of a small collection."""
    programs = environment(folder)
    call(programs / "python", "-m", "pip", "install", "-q", *flags, package, **NO_COMPILER)
    (folder / "run").write_text(RUN)
    (folder / "qrels").write_text(QRELS)
    files = (folder / "qrels", folder / "run")
    scores = call(programs / "fathoms", "eval", *files, "--by-topic", "--format", "tsv", "--quiet")
    return call(programs / "fathoms", "--version").strip(), scores


def main() -> int:
    parser = argparse.ArgumentParser(description="build the wheel and the source archive, and try them")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, archive = build(args.output, folder)
        check_content(wheel, archive)
        from_wheel = tried(wheel, folder / "wheel", "--only-binary", ":all:")
        from_sources = tried(archive, folder / "sources")
    print(f"{wheel.name}: {from_wheel[0]}")
    print(f"{archive.name}, without a compiler: {from_sources[0]}")
    if "(compiled kernel)" not in from_wheel[0] or "numpy alone" not in from_sources[0]:
        sys.exit("one of them does not use what it should")
    if from_wheel[1] != from_sources[1] or "AP" not in from_wheel[1]:
        sys.exit("the two do not give the same scores")
    print("both install without a compiler, and give the same scores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
