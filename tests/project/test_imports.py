"""The import graph: each package imports only from those below it, and no module imports itself in a circle.

Every module is parsed, so imports inside functions count. Those under `if TYPE_CHECKING:` do not run, and are looked at
on their own.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from tests.support.paths import SOURCE
from tests.support.scripts import script

LAYERS = (
    "base",
    "data",
    "evidence",
    "measures",
    "inference",
    "experiment",
    "estimate",
    "pairs",
    "questions",
    "judging",
    "papers",
    "reporting",
    "signatures",
    "api",
    "functions",
    "irm",
    "testing",
    "cli",
    "command",
    "__main__",
)  # from the lowest to the highest; commands of rooms belong to cli, and other modules are below all of them
TOP = len(LAYERS)  # `fathoms` itself, which offers the names of all others and which no module may need


When = Literal["at once", "when called", "for types"]


class Import(NamedTuple):
    """Module `importer` needs module `imported`, as line `line` says."""

    importer: str
    imported: str
    line: int
    when: When

    def __str__(self) -> str:
        path = self.importer.replace(".", "/")
        return f"{path}.py, line {self.line}: imports {self.imported}"


def modules() -> dict[str, Path]:
    found = {}
    stubs = (SOURCE / "fathoms").rglob("*.pyi")  # of what is compiled
    for path in sorted([*(SOURCE / "fathoms").rglob("*.py"), *stubs]):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_in(tree: ast.AST, when: When = "at once") -> Iterator[tuple[ast.Import | ast.ImportFrom, When]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, when
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports_in(ast.Module(node.body, []), "for types")
            yield from imports_in(ast.Module(node.orelse, []), when)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports_in(node, "when called")
        else:
            yield from imports_in(node, when)


def imports_of(name: str, text: str, known: set[str]) -> Iterator[Import]:
    """What of our own a module imports; `from package import module` needs the module."""
    for node, when in imports_in(ast.parse(text)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{name}, line {node.lineno}: import by the full name"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [one if one in known else str(node.module) for one in whole]
        for target in dict.fromkeys(targets):
            if target.partition(".")[0] == "fathoms":
                yield Import(name, target, node.lineno, when)


@cache
def graph() -> list[Import]:
    found = modules()
    return [one for name, path in found.items() for one in imports_of(name, path.read_text(), set(found))]


def layer(module: str) -> int:
    parts = module.split(".")
    if len(parts) == 1:
        return TOP
    if parts[1] == "questions" and parts[-1].endswith("command"):
        return LAYERS.index("cli")
    return LAYERS.index(parts[1]) if parts[1] in LAYERS else -1


def upward(imports: list[Import]) -> list[str]:
    return [
        f"{one}, which is above it in LAYERS; move what both need down"
        for one in imports
        if layer(one.imported) > layer(one.importer)
    ]


def cycle(imports: list[Import]) -> list[str]:
    """The modules of some circle, empty where there is none."""
    needs: dict[str, list[str]] = {}
    for one in imports:
        needs.setdefault(one.importer, []).append(one.imported)
    done: set[str] = set()

    def search(module: str, above: list[str]) -> list[str]:
        if module in above:
            return [*above[above.index(module) :], module]
        if module in done:
            return []
        for needed in needs.get(module, []):
            if found := search(needed, [*above, module]):
                return found
        done.add(module)
        return []

    return next((found for module in list(needs) if (found := search(module, []))), [])


def test_imports_at_run_time_go_down_only() -> None:
    assert not upward([one for one in graph() if one.when != "for types"])


def test_imports_for_types_go_down_only() -> None:
    """They cost nothing at run time, but a reader has to follow them too. `fathoms` itself names everything."""
    assert not upward([one for one in graph() if one.when == "for types"])


# What a room may know of another, module by module: the demo walks through several questions, and `eval --likely` shows
# what `predict` estimates.
NEIGHBOURS = {
    "fathoms.questions.demo.command": {"eval", "report"},
    "fathoms.questions.eval.likely_command": {"predict"},
}


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["questions"] and len(parts) > 3 else None


def test_rooms_do_not_know_each_other() -> None:
    known = [
        str(one)
        for one in graph()
        if (here := room(one.importer))
        and (there := room(one.imported))
        and here != there
        and there not in NEIGHBOURS.get(one.importer, set())
    ]
    assert known == [], "move what both need down"


def test_no_module_imports_itself_in_a_circle() -> None:
    assert cycle([one for one in graph() if one.when != "for types"]) == []


def test_every_package_has_its_layer() -> None:
    packages = {path.parent.name for path in (SOURCE / "fathoms").glob("*/__init__.py")}
    assert packages <= set(LAYERS), "name the package in LAYERS, where it belongs"


def test_the_picture_is_what_the_code_says() -> None:
    drawn = script("imports")
    assert drawn.PICTURE.read_text(encoding="utf-8") == drawn.picture(), "run `python docs/imports.py`"


@pytest.mark.parametrize(
    ("module", "text", "wrong"),
    [
        ("fathoms.data.qrels", "from fathoms.evidence.order import Ties", True),
        ("fathoms.data.qrels", "def f():\n    import fathoms.evidence.order", True),
        ("fathoms.data.qrels", "from fathoms import __version__", True),
        ("fathoms.data.qrels", "from fathoms.base import errors", False),
        ("fathoms.base.errors", "from fathoms.data import qrels", True),
        ("fathoms.evidence.order", "from fathoms.data import qrels", False),
    ],
)
def test_an_import_that_goes_up_is_seen(module: str, text: str, wrong: bool) -> None:
    assert bool(upward(list(imports_of(module, text, set(modules()))))) == wrong


def test_a_circle_is_seen() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "b")]
    assert cycle([Import(one, other, 1, "at once") for one, other in pairs]) == ["b", "c", "b"]
    assert cycle([Import(one, other, 1, "at once") for one, other in pairs[:2]]) == []


def test_it_is_known_when_a_module_is_imported() -> None:
    text = "if TYPE_CHECKING:\n    from fathoms.data import qrels\nelse:\n    from fathoms.base import errors\n"
    text += "def f():\n    import fathoms.base.text"
    found = imports_of("fathoms.cli.app", text, set(modules()))
    assert {one.imported: one.when for one in found} == {
        "fathoms.data.qrels": "for types",
        "fathoms.base.errors": "at once",
        "fathoms.base.text": "when called",
    }


# -- what a command loads -------------------------------------------------------------------------------------------

COMMAND = """
import sys
from fathoms.cli.app import main
try:
    main({words!r})
except SystemExit as end:
    assert not end.code, end.code
print(*sorted(sys.modules), file=sys.stderr)
"""
# Modules of Python that a command could load without anybody noticing but the clock.
SLOW = (
    *("asyncio", "bz2", "concurrent.futures", "csv", "decimal", "email", "fractions", "importlib.metadata", "json"),
    *("logging", "lzma", "multiprocessing", "random", "shutil", "socket", "subprocess", "tempfile"),
    *("unittest", "xml"),
)
# Our own that scoring one run has no use for.
UNUSED = (
    *(
        "fathoms.base.charts",
        "fathoms.questions.compare.analysis",
        "fathoms.questions.predict.analysis",
        "fathoms.evidence.sparse_places",
    ),
    *("fathoms.evidence.pairs", "fathoms.questions.eval.evaluator", "fathoms.irm", "fathoms.judging.session"),
    *("fathoms.measures.differences", "fathoms.measures.normalised", "fathoms.papers", "fathoms.reporting"),
)


def loaded(words: list[str]) -> set[str]:
    code = COMMAND.format(words=words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_eval_of_one_run_loads_what_it_uses(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    run.write_text("1 Q0 a 1 2.0 r\n1 Q0 b 2 1.0 r\n1 Q0 c 3 0.5 r\n")
    found = loaded(["eval", str(qrels), str(run), "-m", "AP"])
    python = loaded_by_python()
    packages = {name.partition(".")[0] for name in found - python} - set(sys.stdlib_module_names)
    assert packages == {"fathoms", "numpy"}
    assert sorted(found & set(SLOW) - python) == []
    assert sorted(found & set(UNUSED)) == []


def loaded_by_python() -> set[str]:
    """What is there before anything of ours, which site-packages may add to."""
    code = "import sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_help_loads_no_numpy() -> None:
    found = loaded([]) - loaded_by_python()
    assert sorted(found & {"numpy", "rich", "polars", *SLOW}) == []
