"""Write the tables of formats in docs/input.md and docs/convert.md from the code: `python docs/formats.py`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fathoms.data.formats import registry
from fathoms.data.formats.base import RUN_PARTS, FileFormat, Format, ObjectFormat

DOCS = Path(__file__).resolve().parent
KINDS = {"run": "runs", "qrels": "judgments", "values": "values"}
PARTS = {"scores": "scores and ties", "ranks": "ranks", "tag": "tag", "metadata": "ir_metadata"}


def table(*rows: tuple[str, ...]) -> str:
    first, *others = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([first, "|" + "---|" * len(rows[0]), *others]) + "\n"


def kinds(format: Format) -> str:
    """What it is read as. Where labels or probabilities are asked for, runs and judgments are read too, so values are
    named only where there is nothing else."""
    found = [KINDS[kind] for kind in format.reads if kind != "values"]
    return " and ".join(found) or KINDS["values"]


def object_name(format: ObjectFormat) -> str:
    return f"{format.name}, in Python" if format.in_python else f"`{format.name}`"


def read_table() -> str:
    files = [(f"`{format.name}`", kinds(format), format.about) for format in registry.FILES]
    objects = [(object_name(format), kinds(format), format.about) for format in registry.objects()]
    return table(("format", "read as", "what it is"), *files, *objects)


def lost(format: FileFormat) -> str:
    parts = [PARTS[part] for part in RUN_PARTS if part not in format.carries]
    return ", ".join([*parts, *([format.loses] if format.loses else [])])


def endings(format: FileFormat) -> str:
    text = " ".join(f"`{ending}`" for ending in format.endings)
    others = [other for other in registry.writable() if other is not format]
    if not any(set(other.endings) & set(format.endings) for other in others):
        return text
    return f"{text}, of {'judgments' if format.run_as else ' and '.join(KINDS[kind] for kind in format.writes)}"


def write_table() -> str:
    rows = [(f"`{format.name}`", endings(format), format.about, lost(format)) for format in registry.writable()]
    return table(("format", "endings", "what it is", "what it does not carry"), *rows)


TABLES = {"input.md": read_table, "convert.md": write_table}


def page(name: str) -> str:
    """The page with its table as the code has it."""
    text = (DOCS / name).read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- formats -->\n).*?(<!-- /formats -->)", re.DOTALL)
    if marked.search(text) is None:
        raise ValueError(f"docs/{name} has no place for the table, <!-- formats --> and <!-- /formats -->")
    return marked.sub(lambda found: f"{found[1]}\n{TABLES[name]()}\n{found[2]}", text)


if __name__ == "__main__":
    for name in TABLES:
        (DOCS / name).write_text(page(name), encoding="utf-8")
