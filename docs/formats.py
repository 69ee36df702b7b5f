"""Write the table of formats in docs/input.md from the code: `python docs/formats.py`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fathoms.data.formats import registry
from fathoms.data.formats.base import RUN_PARTS, FileFormat, Format, ObjectFormat

PAGE = Path(__file__).resolve().parent / "input.md"
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


def lost(format: FileFormat) -> str:
    parts = [PARTS[part] for part in RUN_PARTS if part not in format.carries]
    return ", ".join([*parts, *([format.loses] if format.loses else [])])


def endings(format: FileFormat) -> str:
    text = " ".join(f"`{ending}`" for ending in format.endings)
    kinds = registry.kinds_of_ending(format)
    return f"{text}, of {KINDS[kinds[0]]}" if len(kinds) == 1 else text


def formats_table() -> str:
    files = [
        (f"`{each.name}`", kinds(each), each.about, *((endings(each), lost(each)) if each.writes else ("", "")))
        for each in registry.FILES
    ]
    objects = [(object_name(each), kinds(each), each.about, "", "") for each in registry.objects()]
    head = ("format", "read as", "what it is", "written to", "what that does not carry")
    return table(head, *files, *objects)


def page() -> str:
    """The page with its table as the code has it."""
    text = PAGE.read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- formats -->\n).*?(<!-- /formats -->)", re.DOTALL)
    if marked.search(text) is None:
        raise ValueError(f"{PAGE.name} has no place for the table, <!-- formats --> and <!-- /formats -->")
    return marked.sub(lambda found: f"{found[1]}\n{formats_table()}\n{found[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
