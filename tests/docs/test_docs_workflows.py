"""The workflows in the docs: valid YAML, and commands that fathoms understands and that end as the page says."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli.app import COMMANDS
from tests.docs.test_docs import FENCED, PAGES
from tests.support.paths import ROOT

PULL_REQUEST = ROOT / "docs" / "how-to" / "pull-request.md"


def workflows(page: Path) -> list[Any]:
    yaml = pytest.importorskip("yaml")
    blocks = FENCED.findall(page.read_text(encoding="utf-8"))
    return [yaml.safe_load(source) for language, source in blocks if language == "yaml"]


def scripts(node: Any) -> Iterator[str]:
    """What a shell gets to run: GitHub's `run`, GitLab's `script`."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("run", "script"):
                yield from [value] if isinstance(value, str) else value
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for value in node:
            yield from scripts(value)


def commands(script: str) -> list[list[str]]:
    """The words of each call of fathoms, up to what the shell does with it."""
    lines = script.replace("\\\n", " ").splitlines()
    return [shlex.split(found[1]) for line in lines if (found := re.match(r"\s*fathoms ([^|&;>]*)", line))]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```yaml" in page.read_text(encoding="utf-8")], ids=lambda page: page.stem
)
def test_workflows_call_fathoms_as_it_is(page: Path) -> None:
    found = [words for workflow in workflows(page) for script in scripts(workflow) for words in commands(script)]
    assert found, "no workflow of this page calls fathoms"
    for name, *words in found:
        assert name in COMMANDS
        parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
        import_module(f"fathoms.questions.{name}.command").add_arguments(parser)
        parser.parse_intermixed_args(words)


def test_a_wrong_flag_in_a_workflow_is_noticed() -> None:
    [words] = commands("code=0\nfathoms gate a b c \\\n  --max-drops 1 || code=$?\n")
    assert words == ["gate", "a", "b", "c", "--max-drops", "1"]
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    import_module("fathoms.questions.gate.command").add_arguments(parser)
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parser.parse_intermixed_args(words[1:])


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (2, 2), (3, 0)])
def test_the_step_on_github_ends_as_the_page_says(code: int, ends: int, tmp_path: Path) -> None:
    """Run the step itself, with a fathoms that ends with a given code and writes its summary unless that is 2."""
    [script] = [one for one in scripts(workflows(PULL_REQUEST)[0]) if "fathoms gate" in one]
    fake = tmp_path / "fathoms"
    fake.write_text(f"#!/bin/sh\n[ {code} -eq 2 ] || echo outcome {code} > gate.md\nexit {code}\n")
    fake.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == ends, done.stderr
    assert ("::warning" in done.stdout) == (code == 3)
    summary = tmp_path / "summary.md"
    assert summary.exists() == (code != 2)
    assert code == 2 or summary.read_text() == f"outcome {code}\n"


def test_gitlab_takes_cannot_tell_for_a_warning() -> None:
    from fathoms.base.outcomes import EXIT_CODES

    [job] = [workflow["search-quality"] for workflow in workflows(PULL_REQUEST) if "search-quality" in workflow]
    assert job["allow_failure"] == {"exit_codes": EXIT_CODES["cannot tell"]}
