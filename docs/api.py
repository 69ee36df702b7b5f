"""Write docs/api.md, the page of all public names, from the code: `python docs/api.py`, then read the diff.

A name's example is the one of its docstring, or the one below; the tests run both. `refresh.py` fills in what the
examples below print.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from stubs import WORDS, shown_parameters

import fathoms
from fathoms import signatures
from fathoms.signatures import Questions

PAGE = Path(__file__).resolve().parent / "api.md"
START = """# The Python API

Every public name of `fathoms`, with its types, its text and an example. This page is made from the code by
`docs/api.py`. [Experiment](experiment.md) introduces it, [versions](versions.md) says what may change, and how. Our
measures for ir_measures and PyTerrier are in `fathoms.irm` ([with other tools](ecosystem.md#ir_measures)).

The examples use a collection in files:

```sh
fathoms simulate -o sim --systems 3 --n-topics 4 --n-docs 300 --depth 50
```

```python
import fathoms as fm
```
"""
SECTIONS = {
    "Experiments": ("Experiment", "Evaluator"),
    "Functions for a single call": (
        *(
            "evaluate",
            "evaluate_depths",
            "compare",
            "doubt",
            "gate",
            "diff",
            "rank",
            "predict",
            "probabilities",
            "confidence",
            "depth",
        ),
        *("ties", "audit", "labels", "plan", "check", "pool", "report", "compare_scores"),
    ),
    "Measures": ("Measure", "parse_measure", "rbo"),
    "Data": (
        *("read_qrels", "Qrels", "read_runs", "scan_runs", "read_run", "Runs", "Run"),
        *("read_mteb", "read_scores", "roll_up", "simulate", "salvage", "to_pandas"),
    ),
    "Errors and warnings": ("FathomsError", "InputError", "FathomsWarning"),
}
INTRODUCTIONS = {
    "Functions for a single call": """
Each makes an [Experiment](#experiment) and calls one of its methods. `**options` are the keywords of `Experiment`, from
`pooled` to `seed`. Most return the frame of the [result](#results); `doubt`, `gate`, `diff`, `ties`, `audit`, `labels`,
`plan`, `check` and `report` return the result itself.
""",
}
RESULTS_OF_THEIR_OWN = {
    "ties": "TieReport",
    "audit": "Audit",
    "labels": "LabelAudit",
    "doubt": "Doubt",
    "plan": "Plan",
    "check": "Check",
    "simulate": "Collection",
}
# What is there for users; of all other classes everything that has a name without underscore.
CONVERSIONS = ("to_frame", "to_pandas", "to_dict", "to_ranx")
MEMBERS = {
    "Measure": ("name", "k", "replace"),
    "Qrels": ("topics", "topic", "documents", "grades", "levels", "max_grade", "notes", "to_text", *CONVERSIONS),
    "Run": ("name", "topics", "topic", "documents", "scores", "ranks", "tag", "notes", "metadata", *CONVERSIONS),
    "Runs": (),
    "Experiment": (),  # its methods have a heading each
    "Result": ("frame", "answer", "remarks", "sentences", "to_pandas", "chart", "notes"),
    "TieReport": ("measures", "depth", "table", "anomalies", "scores", "pairs", "places"),
    "Audit": (
        *("measures", "depth", "depth_asked", "contributing", "others", "groups", "in_pool", "relevant", "steps"),
        *("pooling", "run_out", "group_out", "shares", "extended", "guidelines", "share"),
    ),
    "Doubt": ("runs", "budgets", "level", "records_to_judge"),
    "Plan": ("topics", "depths", "level", "confidence", "chart", "depth_chart", "power_points", "depth_points"),
    "LabelAudit": ("qrels", "rel", "runs", "sources", "source", "chart", "confusion_points", "score_points"),
    "Check": ("findings", "files", "count"),
}
MADE_BY_OTHERS = ("Qrels", "Run", "Runs", "Measure")  # nobody needs to call the class itself
NAMED_TYPES = (
    "Ties",
    "Precision",
    "Topics",
    "Names",
    "Bounds",
    "Ranges",
    "Test",
    "Correction",
    "Correlation",
    "RankTies",
    "PrefixOrder",
    "Design",
    "JudgedTopics",
)
EXAMPLES = {
    "Measure": """
ap = fm.parse_measure("AP(variant=b)")
print(ap.name, ap.replace(k=20).name, (ap @ 10).name, ap == fm.parse_measure("AP(variant=b)"))
""",
    "report": """
fm.report("sim/qrels.txt", "sim/runs", "report.html", ["P@10", "AP"], pooled="sim/pooled.txt")
print("<h1" in open("report.html").read())
""",
    "parse_measure": """
print([fm.parse_measure(name).name for name in ("ndcg_cut_10", "RBP(p=0.80)", "AP( variant=b )@20")])
""",
    "read_qrels": """
print(fm.read_qrels("sim/qrels.txt"))
print(fm.read_qrels({"q1": {"d1": 2, "d2": 0}}))
""",
    "Qrels": """
qrels = fm.read_qrels({"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}})
print(qrels.topics, qrels.max_grade, len(qrels))
print(qrels.to_text(), end="")
""",
    "read_runs": """
print(fm.read_runs("sim/runs"))
print(fm.read_runs({"bm25": {"q1": {"d1": 9.5, "d2": 7.0}}, "dense": {"q1": {"d2": 0.8}}}))
""",
    "scan_runs": """
runs = fm.scan_runs("sim/runs/*.run")
print(len(runs), runs["sys2"])
""",
    "read_run": """
print(fm.read_run({"q1": {"d1": 9.5, "d2": 7.0}}, name="bm25"))
""",
    "Runs": """
runs = fm.read_runs("sim/runs")
print(list(runs), "sys1" in runs, len(runs["sys1"]))
""",
    "Run": """
run = fm.read_run("sim/runs/sys1.run")
print(run.name, run.tag, run.topics, run.scores[:2])
""",
    "simulate": """
collection = fm.simulate(systems=3, n_topics=4, n_docs=300, depth=50)
print(list(collection.runs), collection.pooled, len(collection.qrels) < len(collection.truth))
print([round(score, 4) for score in fm.evaluate(collection.truth, collection.runs, "AP")["score"]])
""",
    "salvage": """
session = fm.Experiment("sim/qrels.txt", "sim/runs", pooled="sim/pooled.txt").judge("answers.db", depth=20)
task = session.next()
session.grade(task.topic, task.document, 1, assessor="me")
session.close()
print(*fm.salvage("answers.db").sentences)
""",
    "FathomsError": """
try:
    fm.parse_measure("nDGC@10")
except fm.FathomsError as error:
    print(str(error).partition("; ")[0])
""",
    "InputError": """
try:
    fm.read_qrels({"q1": {"d1": "high"}})
except fm.InputError as error:
    print(error.source, error.line)
""",
    "FathomsWarning": """
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", fm.FathomsWarning)
    fm.evaluate({"q1": {"d1": 1}, "q2": {"d1": 1}}, {"q1": {"d1": 1.0}}, "P@1")
print(caught[0].message)
""",
    "read_scores": """
from pathlib import Path

Path("sys1.eval").write_text("map\\t401\\t0.25\\nmap\\t402\\t0.5\\n")
print(fm.read_scores("sys1.eval").rows())
""",
}


def page() -> str:
    parts = [START]
    for title, names in SECTIONS.items():
        parts += [f"## {title}\n", *([INTRODUCTIONS[title].lstrip()] if title in INTRODUCTIONS else [])]
        parts += [entry(name) for name in names]
        if title == "Experiments":
            parts.append(results())
    return "\n".join([*parts, types()])


def entry(name: str) -> str:
    found = getattr(fathoms, name)
    parts = [f"### {name}\n", *described(name, found)]
    if name in EXAMPLES:
        parts.append(f"```python\n{EXAMPLES[name].strip()}\n```\n\n```text\n```\n")
    if name in RESULTS_OF_THEIR_OWN:
        returned, other = RESULTS_OF_THEIR_OWN[name], result_classes(found)[0]
        parts += [f"What it returns: **{returned}**\n", *text_of(other), *members(returned, other)]
    if name == "Experiment":
        parts += [method(name, each) for each in methods(found)]
    return "\n".join(parts)


def described(name: str, found: Any) -> list[str]:
    """Signature, text, and for a class what it has."""
    is_class = inspect.isclass(found)
    head = "" if name in MADE_BY_OTHERS else signature(found, name)
    parts = [f"```py\n{'class ' if is_class else ''}{name}{head}\n```\n", *text_of(found)]
    return parts + (keywords(found) + members(name, found) if is_class else [])


def methods(found: type) -> list[Any]:
    """Those a class defines itself, or as an experiment has them, in the order of the code."""
    home = Questions if issubclass(found, Questions) else found
    return [each for name, each in vars(home).items() if inspect.isfunction(each) and not name.startswith("_")]


def method(name: str, found: Any) -> str:
    head = f"{found.__name__}{signature(found, found.__name__)}"
    return "\n".join([f"#### {name}.{found.__name__}\n", f"```py\n{head}\n```\n", *text_of(found)])


def keywords(found: type) -> list[str]:
    """The parameters of a class whose `__init__` explains them, as a table."""
    text = inspect.getdoc(found.__init__) or ""  # type: ignore[misc]
    _, mark, listed = text.partition("Parameters\n----------\n")
    if not mark:
        return []
    rows = re.findall(r"^(\S.*)\n((?:    .*\n?)+)", listed, re.MULTILINE)
    lines = [
        f"| {', '.join(f'`{one}`' for one in names.split(', '))} | {' '.join(about.split())} |" for names, about in rows
    ]
    return ["\n".join(["| parameter | meaning |", "|---|---|", *lines]) + "\n"]


def results() -> str:
    """What the methods of an experiment give back."""
    from fathoms.base.result import Result

    parts = ["### Results\n", "What the methods of an experiment return. Each has:\n", *members("Result", Result)]
    rows = ["| method | result | columns of `.frame` | `.answer` | `.charts` |", "|---|---|---|---|---|"]
    for each in methods(fathoms.Experiment):
        for found in result_classes(each):
            if issubclass(found, Result):
                charted = ", ".join(f"`{kind}`" for kind in found.charts) or ("one" if own(found, "chart") else "")
                has = ["yes" if own(found, "answer") or found.words_module else "", charted]
                columns = ", ".join(found.columns) or _without_mark(inspect.getdoc(found.frame) or "")
                rows.append(f"| `{each.__name__}` | `{found.__name__}` | {columns} | {' | '.join(has)} |")
    return "\n".join([*parts, *rows]) + "\n"


def own(found: type, member: str) -> bool:
    """Whether a result has more than the base class gives it."""
    from fathoms.base.result import Result

    return getattr(found, member) is not getattr(Result, member)


def _without_mark(text: str) -> str:
    return text.removeprefix("Columns ").rstrip(".")


def result_classes(function: Any) -> list[type]:
    """The classes that a function says it returns."""
    found = []
    own = inspect.getmodule(function)
    source = inspect.getsource(own) + inspect.getsource(signatures)
    for name in inspect.signature(function).return_annotation.split(" | "):
        imports = re.search(rf"from (fathoms\S+) import .*\b{name}\b", source)
        found.append(getattr(import_module(imports[1]) if imports else own, name))
    return found


def signature(found: Any, name: str) -> str:
    """The parameters with types and defaults, on one line or, where that is too long, one per line."""
    if inspect.isclass(found) and issubclass(found, Exception) and "__init__" not in vars(found):
        return ""
    known = inspect.signature(found)
    shown = shown_parameters(known)
    returns = "" if known.return_annotation in (known.empty, "None", None) else f" -> {known.return_annotation}"
    line = f"({', '.join(shown)}){returns}"
    if len(name) + len(line) <= 100:
        return line
    return "(\n" + "".join(f"    {part},\n" for part in shown) + f"){returns}"


def text_of(found: Any) -> list[str]:
    """The docstring, with its example as a block."""
    text = inspect.getdoc(found) or ""
    before, mark, example = text.partition(">>> ")
    parts = [before.strip() + "\n"] if before.strip() else []
    return parts + ([f"```py\n>>> {example.rstrip()}\n```\n"] if mark else [])


def members(name: str, found: type) -> list[str]:
    """What instances have: fields, properties and methods with a docstring of their own."""

    def wanted(member: str) -> bool:
        return member in MEMBERS[name] if name in MEMBERS else not member.startswith("_")

    fields = vars(found).get("__annotations__", {})
    lines = [f"- `{field}: {kind}`" for field, kind in fields.items() if wanted(field)]
    inherited = {member: getattr(found, member) for member in MEMBERS.get(name, ()) if hasattr(found, member)}
    own = inherited | dict(vars(found))
    for member, value in own.items():
        if not wanted(member):
            continue
        made = getattr(value, "fget", None) or getattr(value, "func", value)  # what a property was made of
        first = (inspect.getdoc(made) or "").split("\n\n")[0].replace("\n", " ") if callable(made) else ""
        if first:
            head = f"{member}{signature(made, member)}" if made is value else member
            lines.append(f"- `{re.sub(chr(10) + ' *', ' ', head)}`: {first}")
    return ["\n".join(lines) + "\n"] if lines else []


def types() -> str:
    """Names of types in the signatures above that stand for a few words."""
    words = {name: get_args(literal) for literal, (name, _) in WORDS.items()}
    lines = [f"- `{name}`: {', '.join(f'`{word}`' for word in words[name])}" for name in NAMED_TYPES]
    lines.append("- `Progress`: a function, called with the name of each run when it is done")
    return "## Types in signatures\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    from refresh import refresh_all

    PAGE.write_text(page(), encoding="utf-8")
    refresh_all([PAGE])
    print(PAGE)
