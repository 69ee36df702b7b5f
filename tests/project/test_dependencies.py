"""What fathoms is built and tested with: the lock file names all of it, with hashes, and the environment agrees."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from packaging.requirements import Requirement

from tests.support.paths import ROOT

LOCK = (ROOT / "requirements-dev.lock").read_text()
LOCKED = dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", LOCK, re.MULTILINE))


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", requirement).lower()


def test_the_lock_has_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    for one in map(Requirement, asked):
        assert name_of(one.name) in LOCKED, f"{one} is not in requirements-dev.lock; see its first lines"
        assert one.specifier.contains(LOCKED[name_of(one.name)]), one


def test_everything_in_the_lock_has_a_hash_and_nothing_an_address() -> None:
    entries = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(re.findall(r"^[A-Za-z0-9]", LOCK, re.MULTILINE)) > 50
    assert [entry.split("\n")[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in LOCK


def test_installed_packages_fit_together() -> None:
    """The part of an audit that needs no network."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
