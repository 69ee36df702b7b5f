"""What changed from run A to run B?

Overlap and RBO of their rankings, documents gained and lost in the first places, ranks that moved. Judgments are not
needed; with QRELS first it says what the change did to scores, and what is still unjudged.

Differences are B minus A. The most changed topics come first; --topic shows one of them in full, side by side. -o FILE
with .svg, .png, .pdf or .html draws the documents gained and lost in each topic.
"""

from __future__ import annotations

import shlex
from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from fathoms.base.text import pluralise
from fathoms.cli import options
from fathoms.cli.output import PICTURES
from fathoms.cli.screen import SHOWN as ESCAPED

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.cli.screen import Block
    from fathoms.data.texts import Texts
    from fathoms.questions.diff.result import Diff, DocumentChange

EXAMPLES = (
    ("what did a change do to the first ten documents?", "fathoms diff yesterday.run today.run"),
    (
        "did it make results better, as far as they are judged?",
        "fathoms diff qrels.txt bm25.run bm25-tuned.run -m nDCG@10",
    ),
)
MORE = """more examples:
  fathoms diff qrels.txt bm25.run dense.run --topic 301 --docs corpus.jsonl
  fathoms diff bm25.run dense.run --show documents --format tsv -o moved.tsv"""
SNIPPET = 80  # characters of a text


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", nargs="?", help="judgments, to say what the change did")
    parser.add_argument("run_a", metavar="RUN_A", help="the run before")
    parser.add_argument("run_b", metavar="RUN_B", help="the run after; - for stdin")
    parser.add_argument("--qrels", dest="qrels_flag", metavar="QRELS", help=SUPPRESS)  # as in 0.3; goes with 0.5
    options.add_question(parser, "diff")
    options.add_choice(
        parser,
        "--show",
        choices=("topics", "scores", "documents"),
        default="topics",
        help="what tsv, csv, json and parquet have: a row per topic (default), scores per topic and measure, or the "
        "documents in the first K of either run",
    )
    parser.add_argument("--topic", metavar="T", help="show this topic's documents side by side")
    parser.add_argument("--docs", metavar="FILE", help="texts of documents for --topic: a file or a folder")
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_reading(parser, *options.ORDER, *options.RANGES, *options.READ_SUBTOPICS, *options.WORK)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base import charts
    from fathoms.base.errors import FathomsError
    from fathoms.cli import output
    from fathoms.questions.diff.result import KINDS, WORDS

    if args.docs is not None and args.topic is None:
        raise FathomsError("--docs has the texts for --topic T; say which topic")
    args.runs = [args.run_a, args.run_b]
    if args.qrels_flag is not None:
        if args.qrels is not None:
            raise FathomsError("--qrels and QRELS both name judgments; give them once, as the first file")
        args.qrels = args.qrels_flag
        output.warn(["--qrels is going; give the judgments first: fathoms diff QRELS RUN_A RUN_B"], args)
    options.check_different(args.runs, "diff takes two runs")
    draws = args.output is not None and args.output.suffix in PICTURES
    if draws:
        charts.require()
    exp = options.experiment(args)
    diff = exp.diff(**options.arguments(args, "diff"))
    if draws:
        output.save_chart(diff.chart(), args.output)
        args.output = None
    if args.topic is not None:
        _present_topic(diff, args, exp)
        return 0
    output.present(
        diff,
        args,
        lambda: _blocks(diff),
        experiment=exp,
        put_data=lambda diff, args: output.put_rows(KINDS[args.show], diff.rows(args.show), args, WORDS),
    )
    return 0


# -- all topics ----------------------------------------------------------------------------------------------------


def _blocks(diff: Diff) -> list[Block]:
    """A row per topic, most changed first, and one for all."""
    from fathoms.cli.screen import Block, Column, cell
    from fathoms.judging.texts import printable
    from fathoms.questions.diff.words import signed

    names = {
        "overlap": (f"overlap@{diff.depth}", 0),
        "rbo": ("RBO", 1),
        "rbo_min": ("min", 6),
        "rbo_max": ("max", 6),
        "gained": ("gained", 0),
        "new": ("new", 4),
        "lost": ("lost", 0),
        "gone": ("gone", 4),
        "mean_shift": ("shift", 5),
        "largest_rise": ("up", 5),
        "largest_fall": ("down", 5),
        "unjudged": ("unjudged", 3),
    }
    rows = diff.records()
    if all(cell(row["rbo_min"], ".3f") == cell(row["rbo_max"], ".3f") for row in rows):  # long runs leave nothing open
        del names["rbo_min"], names["rbo_max"]
    if diff.qrels is None:
        del names["unjudged"]
    for row in rows:
        row["unjudged"] = None if diff.qrels is None else row["gained_unjudged"] + row["lost_unjudged"]
    columns = [Column("topic", [printable(row["topic"]) for row in rows], words=True)]
    for name, (title, level) in names.items():
        columns.append(Column(title, [cell(row[name], ".3f", ",") for row in rows], level))
    if diff.main is not None:
        measure = diff.main.measure.name
        scores = {row["topic"]: row for row in diff.records("scores") if row["measure"] == measure}
        for name, title in (("diff", f"{measure} B-A"), ("diff_low", "low"), ("diff_high", "high")):
            values = [scores[row["topic"]][name] if row["topic"] in scores else None for row in rows]
            columns.append(Column(title, ["" if value is None else signed(value) for value in values], 2))
    first = rows[0]["topic"] if diff.changed.any() else ""
    hint = f"--topic {shlex.quote(first)} shows the most changed topic in full" if first.isprintable() else ""
    return [Block(columns, noun="topic", under=hint)]


# -- one topic -----------------------------------------------------------------------------------------------------


def _present_topic(diff: Diff, args: Namespace, exp: Experiment) -> None:
    """The documents of one topic: all of them for programs, those in the first places for people."""
    from fathoms.cli import output
    from fathoms.judging.texts import printable
    from fathoms.questions.diff.result import KINDS, WORDS

    number = diff.topic_number(args.topic)
    rows = diff.documents_of(number, diff.depth if args.format == "table" else None)
    texts = _texts(args.docs, [row.document for row in rows])

    def put_data(_: Any, args: Namespace) -> None:
        columns = (*KINDS["documents"], *(["text"] if texts is not None else []))
        full = [(args.topic, *row, *([_text(texts, row.document)] if texts is not None else [])) for row in rows]
        output.put_rows(columns, full, args, (*WORDS, "text"))

    lengths = [int(side.lengths[number]) for side in diff.sides]
    deeper = len(diff.documents_of(number)) - len(rows)
    topic = printable(diff.topics[number]).translate(ESCAPED)
    title = (
        f"Topic {topic}: the first {diff.depth} of {printable(diff.run_a)} (A, "
        f"{pluralise(lengths[0], 'document')}) and {printable(diff.run_b)} (B, {lengths[1]:,})."
    )
    notes = (
        [f"{pluralise(deeper, 'deeper document')}: a greater --depth, or --format tsv, shows them."] if deeper else []
    )
    notes += ["?: unjudged."] if diff.qrels is not None and any(row.grade is None for row in rows) else []
    result = output.Said([title], notes, diff.notes)
    output.present(result, args, lambda: [_side_by_side(diff, rows, texts)], experiment=exp, put_data=put_data)


def _side_by_side(diff: Diff, rows: list[DocumentChange], texts: Texts | None) -> Block:
    from fathoms.cli.screen import Block, Column, cell
    from fathoms.judging.texts import printable

    columns = [
        Column("rank A", [cell(row.rank_a, whole=",") for row in rows]),
        Column("rank B", [cell(row.rank_b, whole=",") for row in rows]),
        Column("shift", [cell(row.shift, whole="+,") if row.shift else cell(row.shift) for row in rows], 1),
        Column("score A", [cell(row.score_a, ".6g") for row in rows], 2),
        Column("score B", [cell(row.score_b, ".6g") for row in rows], 2),
    ]
    if diff.qrels is not None:
        columns.append(Column("grade", ["?" if row.grade is None else f"{row.grade:g}" for row in rows]))
    columns.append(Column("change", [row.change for row in rows], words=True))
    columns.append(Column("document", [printable(row.document) for row in rows], words=True))
    if texts is not None:
        shown = [printable(_text(texts, row.document) or "(no text)")[:SNIPPET] for row in rows]
        columns.append(Column("text", shown, 3, words=True))
    return Block(columns, noun="document")


def _texts(path: str | None, documents: list[str]) -> Texts | None:
    from fathoms.data.texts import open_texts

    return None if path is None else open_texts(path, set(documents))


def _text(texts: Texts | None, document: str) -> str:
    entry = None if texts is None else texts.get(document)
    return "" if entry is None else " ".join(part for part in (entry.title, *entry.body) if part)
