"""What files are read as, and what columns are called in frames, records and lines that name them.

Names are compared without regard to case, and with `_` for blanks and hyphens: `Query Text` is `query_text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Kind = Literal["run", "qrels", "values"]  # values: a number for each of some documents, whatever it means

# If a table has several of a row, the first counts.
NAMES = {
    "topic": ("topic", "query_id", "qid", "q_id", "topic_id", "queryid", "topicid", "query", "query_text", "keywords"),
    "document": (
        *("document", "doc", "doc_id", "docno", "docid", "corpus_id", "pid", "passage_id", "document_id"),
        *("documentid", "product_id", "item_id", "_id", "url"),
    ),
    "score": ("score", "sim", "similarity", "_score"),
    "rank": ("rank", "position", "doc_position"),
    "grade": ("grade", "relevance", "rel", "rating", "judgment", "judgement", "label", "score"),
    "value": (
        *("value", "score", "label", "grade", "relevance", "rel", "probability", "rating", "judgment", "judgement"),
    ),
}
# Taken if there is nothing better, and expected to be there: the words of a query beside its id, an address.
SPARE = {"query", "query_text", "keywords", "url"}
# The same in all rows of one run.
RUN_COLUMNS = ("run", "run_id", "run_name", "runid", "snapshot_name", "snapshot_time", "system", "tag")
KNOWN = {name for names in NAMES.values() for name in names} | set(RUN_COLUMNS)
SHOWN = 3  # runs of a table that are named
# What a table has to have: a topic, a document and some number.
NEEDED = (
    frozenset(NAMES["topic"]),
    frozenset(NAMES["document"]),
    frozenset(NAMES["score"] + NAMES["rank"] + NAMES["grade"] + NAMES["value"]),
)
# Names that only one of the two has.
RUN_NAMES = {*NAMES["rank"], "tag", *NAMES["score"]} - {"score"}
QRELS_NAMES = set(NAMES["grade"]) - {"score"}


def plain(name: str) -> str:
    """A name as the lists above have it."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def is_known(name: str) -> bool:
    return plain(name) in KNOWN


def column_for(wanted: str, names: Iterable[str]) -> str | None:
    """The first of the columns, as they are called, that holds what is wanted."""
    by_name = _by_plain_name(names)
    return next((by_name[name] for name in NAMES[wanted] if name in by_name), None)


def twins(number: str, names: Iterable[str]) -> list[str]:
    """Columns of one name, if one that is read occurs twice."""
    names = list(names)
    read = ("topic", "document", number, *(("rank",) if number == "score" else ()))
    for name in filter(None, (column_for(column, names) for column in read)):
        same = [other for other in names if plain(str(other)) == plain(str(name))]
        if len(same) > 1:
            return same
    return []


def two_of_a_name(names: Iterable[str], columns: Iterable[str]) -> str:
    """What to say if `twins` finds some."""
    same = " and ".join(f"`{name}`" for name in names)
    return f"has two columns of the same name, {same}: rename one; its columns are {', '.join(map(str, columns))}"


def run_columns(names: Iterable[str]) -> list[str]:
    """The columns, as they are called, that say which run a row is of."""
    return [name for name in names if plain(str(name)) in RUN_COLUMNS]


def several_runs(column: str, values: Iterable[object]) -> str:
    """What to say if a column of those holds more than one value."""
    distinct = list(dict.fromkeys(map(str, values)))
    shown = ", ".join(distinct[:SHOWN]) + (", ..." if len(distinct) > SHOWN else "")
    return (
        f"holds {len(distinct):,} runs by its column `{column}` ({shown}), expected one; write each to a file of its "
        "own (from Python, fm.read_runs splits a frame by its column `run`)"
    )


def rivals(wanted: str, names: Iterable[str]) -> list[str]:
    """All columns that might hold it, the one that is taken first; only that one if the others are mere spares."""
    by_name = _by_plain_name(names)
    first, *others = [name for name in NAMES[wanted] if name in by_name] or [""]
    return [by_name[name] for name in (first, *others) if name and (name == first or name not in SPARE)]


def _by_plain_name(names: Iterable[str]) -> dict[str, str]:
    by_name: dict[str, str] = {}
    for name in names:
        by_name.setdefault(plain(str(name)), name)
    return by_name


def choice_note(number: str, names: Iterable[str], source: str) -> list[str]:
    """Which columns were taken as what, if there were several to choose from."""
    names = list(names)
    choices = [
        f"`{able[0]}` is taken as the {wanted} and not {' or '.join(f'`{name}`' for name in able[1:])}"
        for wanted in ("topic", "document", number)
        if len(able := rivals(wanted, names)) > 1
    ]
    return [f"{source}: of its columns {'; '.join(choices)}"] if choices else []


def kinds_by_names(names: Iterable[str]) -> frozenset[Kind]:
    """Run or qrels, or both where the names of the columns leave it open."""
    plain_names = set(map(plain, names))
    run, qrels = bool(plain_names & RUN_NAMES), bool(plain_names & QRELS_NAMES)
    if run == qrels:
        return frozenset({"run", "qrels"})
    return frozenset({"run"}) if run else frozenset({"qrels"})


def missing_column(wanted: str, names: Iterable[str]) -> str:
    """What to say if a column is missing."""
    others = f" or {', '.join(NAMES['rank'])}" if wanted == "score" else ""
    return (
        f"has no column for the {wanted} (one of {', '.join(NAMES[wanted])}{others}); "
        f"its columns are {', '.join(map(str, names))}"
    )
