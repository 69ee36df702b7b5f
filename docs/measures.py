"""Write what the code says of measures into docs/measures.md: `python docs/measures.py`, then read the diff.

Each part of the page between `<!-- NAME: made by docs/measures.py -->` and `<!-- end of NAME -->` is one of BLOCKS.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fathoms.measures.base import Measure
from fathoms.measures.gains import Graded
from fathoms.measures.params import show_value
from fathoms.measures.registry import MEASURES
from fathoms.questions.measures.command import CUTOFFS, other_ranges, plain, summary

PAGE = Path(__file__).resolve().parent / "measures.md"
SHARED = ("rel", "gain", "gains", "max_grade", "judged_only", "bounds", "universe")  # explained once for all
METHODS = (  # what the page cites for all measures together
    "X. Lu, A. Moffat, J. S. Culpepper (2016). The effect of pooling and evaluation depth on IR metrics.",
    "F. McSherry, M. Najork (2008). Computing information retrieval performance measures efficiently in the presence "
    "of tied scores.",
    "S. D. Ravana, A. Moffat (2010). Estimating system effectiveness scores with incomplete evidence.",
)


def all_measures() -> str:
    head = ("measure", "kind", "range", "tie values", "estimate", "difference", "trec_eval")
    rows = []
    for cls in MEASURES.values():
        _, kind, kind_of_range, ties, estimate, difference, *_ = summary(cls)
        link = f"[{cls.__name__}](#{cls.__name__.lower()})"
        rows.append((link, kind, kind_of_range, ties, estimate, difference, their_names(cls)))
    return table(head, rows)


def other_names() -> str:
    rows = [(name, code(cls.aliases)) for name, cls in MEASURES.items() if cls.aliases]
    return table(("measure", "also"), rows)


def shared_parameters() -> str:
    unscaled = [name for name, cls in MEASURES.items() if issubclass(cls, Graded) and not cls.exp_is_scaled]
    rows = []
    for name in Graded.params:
        about = Graded.about_param(name)
        if name == "gain":
            about += f", but 2^grade - 1 for {', '.join(unscaled[:-1])} and {unscaled[-1]}"
        rows.append((f"`{name}`", about))
    return table(("parameter", "meaning"), rows)


def default_gains() -> str:
    rows = []
    for gain in Graded.params["gain"].choices:
        names = [n for n, cls in MEASURES.items() if issubclass(cls, Graded) and cls.params["gain"].default == gain]
        more = "; and, without a choice, all others that have only `rel`" if gain == "binary" else ""
        if names:
            rows.append((gain, ", ".join(names) + more))
    return table(("default gain", "measures"), rows)


def entries() -> str:
    return "\n\n".join(entry(cls) for cls in MEASURES.values())


def entry(cls: type[Measure]) -> str:
    facts = []
    own = [name for name in cls.params if name not in SHARED]
    facts += [f"- `{name}` ({show_value(cls.params[name].default)}): {cls.about_param(name)}." for name in own]
    shared = [f"`{name}`" + default_gain(cls, name) for name in SHARED if name in cls.params]
    if shared:
        facts.append(f"- {'Also' if own else 'Parameters:'} {', '.join(shared)}.")
    facts.append(f"- Cut-off: {CUTOFFS[cls.cutoff]}. Range: {ranges(cls)}. Examples: {code(cls.names())}.")
    if cls.citation:
        facts.append(f"- {cls.citation}")
    parts = [f"### {cls.__name__}", cls.description(), cls.definition(), "\n".join(facts)]
    return "\n\n".join(filter(None, parts))


def default_gain(cls: type[Measure], name: str) -> str:
    return f" ({cls.params[name].default})" if name == "gain" else ""


def ranges(cls: type[Measure]) -> str:
    return "; ".join([plain(cls).range_is, *(f"{kind} for `{name}`" for name, kind in other_ranges(cls))])


def references() -> str:
    cited = {cls.citation for cls in MEASURES.values() if cls.citation} | set(METHODS)
    return "\n".join(f"- {reference}" for reference in sorted(cited, key=surname))


def surname(reference: str) -> str:
    """What references are sorted by: the first author's surname and the year."""
    authors, _, rest = reference.partition(" (")
    return re.sub(r"^(?:[A-Z]\. )+", "", authors.partition(",")[0]) + rest


def their_names(cls: type[Measure]) -> str:
    return code(name for name in (cls.trec_eval, cls.trec_eval_at) if name)


def code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


BLOCKS = {
    "all measures": all_measures,
    "other names": other_names,
    "shared parameters": shared_parameters,
    "default gains": default_gains,
    "entries": entries,
    "references": references,
}


def filled(page: str) -> str:
    """The page with what the code says today."""
    for name, block in BLOCKS.items():
        start, end = f"<!-- {name}: made by docs/measures.py -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"{PAGE.name} has no block {start} ... {end}")
        page = f"{before}{start}\n\n{block()}\n\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE)
