"""What is given away: the wheel and the source archive, the version everywhere, and the page of public names."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from types import ModuleType

import pytest
from hatchling import build

import fathoms
from fathoms.experiment.reading import ReadingOptions
from tests.support.paths import ROOT
from tests.support.scripts import script

FUNCTIONS = [name for name in fathoms._HOMES if inspect.isfunction(getattr(fathoms, name))]


def files(*folders: str) -> set[str]:
    """Files in folders of the project, as paths from its root; what tools leave behind does not count."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # where the backend looks for the project
        name = build.build_wheel(str(folder))
    with zipfile.ZipFile(folder / name) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return message_from_bytes(wheel.read(f"fathoms-{fathoms.__version__}.dist-info/METADATA"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    compiled = {name for name in inside if Path(name).stem.startswith("_kernel") and not name.endswith(".pyi")}
    sources = {name.removeprefix("src/") for name in files("src/fathoms") if not name.endswith((".c", ".so", ".pyd"))}
    assert inside - compiled == sources
    assert len(compiled) == (importlib.util.find_spec("fathoms._kernel") is not None)
    assert {"fathoms/py.typed", "fathoms/reporting/page.css", "fathoms/judging/web/organise.html"} <= inside
    about = {name.partition(".dist-info/")[2] for name in wheel.namelist()} - {""}
    assert about == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_the_wheel_works_without_the_sources(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "r").write_text("1 Q0 b 1 2 tag\n1 Q0 a 2 1 tag\n")
    code = "import fathoms, sys; print(fathoms.__file__); from fathoms.cli.app import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "trec_eval", "-m", "map", "q", "r"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        str(tmp_path / "site/fathoms/__init__.py"),
        "map                   \tall\t0.5000",
    ]


def test_metadata(metadata: Message) -> None:
    assert metadata["Name"] == "fathoms"
    assert metadata["Version"] == fathoms.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert set(metadata.get_all("Provides-Extra", [])) >= {"report", "web", "cluster", "test"}


def test_the_source_archive_can_be_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / build.build_sdist(str(tmp_path))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {name for name in files("src", "tests", "docs", "bench", "release") if not name.endswith((".so", ".pyd"))}
    wanted |= {
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "requirements-dev.lock",
        "CITATION.cff",
        "LICENSE",
        "mkdocs.yml",
        "hatch_build.py",
        "pyproject.toml",
    }
    assert wanted - inside == set()
    assert inside - wanted <= {"PKG-INFO", ".gitignore"}


def test_the_version_is_one() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.*?)\]", changes, re.MULTILINE)[0] == fathoms.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [fathoms.__version__]


def test_the_citation_has_the_papers() -> None:
    """Those of which docs/papers has a page."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = set(re.findall(r"^    title: (.*)$", citation, re.MULTILINE))
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "papers").glob("*.md")]
    titles = {found[1].replace("\n", " ") for page in pages if (found := re.search(r"\*([A-Z][^*]+)\*", page))}
    assert {title.lower() for title in cited} == {title.lower() for title in titles}
    assert len(cited) == 5


# -- the page of public names -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def api() -> ModuleType:
    """The script that writes the page."""
    return script("api")


def without_output(page: str) -> str:
    return re.sub(r"^```text\n.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def test_the_page_is_what_the_code_says(api: ModuleType) -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert without_output(page) == without_output(api.page()), "run `python docs/api.py`"


@pytest.mark.parametrize("name", fathoms._HOMES)
def test_every_public_name_has_a_text_and_an_example(name: str, api: ModuleType) -> None:
    text = inspect.getdoc(getattr(fathoms, name)) or ""
    assert text
    assert (">>> " in text) != (name in api.EXAMPLES), "one example: in the docstring, or in docs/api.py"
    entries = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert entries.count(f"\n### {name}\n") == 1


def test_the_keywords_of_an_experiment_are_explained_and_shared(api: ModuleType) -> None:
    names = list(inspect.signature(fathoms.Experiment).parameters)
    (table,) = api.keywords(fathoms.Experiment)
    explained = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert explained == names
    passed_on = list(ReadingOptions.__annotations__)
    assert passed_on == names[names.index("pooled") : names.index("seed") + 1], "the page says from pooled to seed"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_is_typed(name: str) -> None:
    known = inspect.signature(getattr(fathoms, name))
    assert known.return_annotation is not known.empty
    assert [one.name for one in known.parameters.values() if one.annotation is one.empty] == []


def test_public_names_are_found_and_listed() -> None:
    assert all(getattr(fathoms, name) for name in fathoms.__all__)
    assert set(dir(fathoms)) == set(fathoms.__all__)
    source = (ROOT / "src" / "fathoms" / "__init__.py").read_text(encoding="utf-8")
    assert sorted(re.findall(r"import (\w+) as \1$", source, re.MULTILINE)) == sorted(fathoms._HOMES)
