"""What changed from run A to run B?

Overlap and RBO of their rankings, documents gained and lost in the first places, ranks that moved. Judgments are not
needed; with --qrels it says what the change did to scores, and what is still unjudged.

Differences are B minus A. The most changed topics come first; --topic shows one of them in full, side by side. -o FILE
with .svg, .png, .pdf or .html draws the documents gained and lost in each topic.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from fathoms.cli import options
from fathoms.cli.depth import PICTURES
from fathoms.cli.screen import SHOWN as ESCAPED
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.cli.screen import Block
    from fathoms.comparison.diff import Diff
    from fathoms.judging.texts import Texts

EXAMPLES = (
    ("what did a change do to the first ten documents?", "fathoms diff yesterday.run today.run"),
    (
        "did it make results better, as far as they are judged?",
        "fathoms diff bm25.run bm25-tuned.run --qrels qrels.txt -m nDCG@10",
    ),
)
MORE = """more examples:
  fathoms diff bm25.run dense.run --qrels qrels.txt --topic 301 --docs corpus.jsonl
  fathoms diff bm25.run dense.run --show documents --format tsv -o moved.tsv"""
SNIPPET = 80  # characters of a text


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run_a", metavar="RUN_A", help="the run before")
    parser.add_argument("run_b", metavar="RUN_B", help="the run after; - for stdin")
    parser.add_argument("--qrels", metavar="QRELS", help="judgments, to say what the change did")
    options.add_measures(parser, "such as nDCG@10 or 'RBP(p=0.8)', with --qrels (nDCG and P at the depth)")
    parser.add_argument(
        "--depth", metavar="K", type=options.at_least_one, default=10, help="compare the first K places (10)"
    )
    parser.add_argument(
        "-p", metavar="P", type=options.share, default=0.9, help="persistence of RBO: how far down readers look (0.9)"
    )
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
    options.add_order(parser)
    options.add_ranges(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms import charts
    from fathoms.cli import output
    from fathoms.comparison.diff import KINDS, WORDS
    from fathoms.errors import FathomsError

    if args.docs is not None and args.topic is None:
        raise FathomsError("--docs has the texts for --topic T; say which topic")
    args.runs = [args.run_a, args.run_b]
    options.check_different(args.runs, "diff takes two runs")
    draws = args.output is not None and args.output.suffix in PICTURES
    if draws:
        charts.require()
    exp = options.experiment(args)
    found = exp.diff(measures=args.measures, depth=args.depth, p=args.p)
    if draws:
        output.save_chart(found.chart(), args.output)
        args.output = None
    if args.topic is not None:
        _present_topic(found, args, exp)
        return 0
    output.present(
        found,
        args,
        lambda: _blocks(found),
        experiment=exp,
        put_data=lambda found, args: output.put_rows(KINDS[args.show], found.rows(args.show), args, WORDS),
    )
    return 0


# -- all topics ----------------------------------------------------------------------------------------------------


def _blocks(found: Diff) -> list[Block]:
    """A row per topic, most changed first, and one for all."""
    from fathoms.cli.screen import Block, Column
    from fathoms.comparison.diff_sentences import signed
    from fathoms.judging.texts import printable

    names = {
        "overlap": (f"overlap@{found.depth}", 0),
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
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows()]
    if all(_cell(row["rbo_min"]) == _cell(row["rbo_max"]) for row in rows):  # long runs leave nothing open
        del names["rbo_min"], names["rbo_max"]
    if found.qrels is None:
        del names["unjudged"]
    for row in rows:
        row["unjudged"] = None if found.qrels is None else row["gained_unjudged"] + row["lost_unjudged"]
    columns = [Column("topic", [printable(row["topic"]) for row in rows], words=True)]
    for name, (title, level) in names.items():
        columns.append(Column(title, [_cell(row[name]) for row in rows], level))
    if found.main is not None:
        measure = found.main.measure.name
        scores = {row[0]: row[4:7] for row in found.rows("scores") if row[1] == measure}
        none = (None,) * 3
        for place, title in enumerate((f"{measure} B-A", "low", "high")):
            values = [scores.get(row["topic"], none)[place] for row in rows]
            columns.append(Column(title, ["" if value is None else signed(value) for value in values], 2))
    first = rows[0]["topic"] if found.changed.any() else ""
    hint = f"--topic {shlex.quote(first)} shows the most changed topic in full" if first.isprintable() else ""
    return [Block(columns, noun="topic", under=hint)]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


# -- one topic -----------------------------------------------------------------------------------------------------


def _present_topic(found: Diff, args: Namespace, exp: Experiment) -> None:
    """The documents of one topic: all of them for programs, those in the first places for people."""
    from fathoms.cli import output
    from fathoms.comparison.diff import KINDS, WORDS
    from fathoms.judging.texts import printable

    number = found.topic_number(args.topic)
    rows = found.documents_of(number, found.depth if args.format == "table" else None)
    texts = _texts(args.docs, [row[0] for row in rows])

    def put_data(_: Any, args: Namespace) -> None:
        columns = (*KINDS["documents"], *(["text"] if texts is not None else []))
        full = [(args.topic, *row, *([_text(texts, row[0])] if texts is not None else [])) for row in rows]
        output.put_rows(columns, full, args, (*WORDS, "text"))

    lengths = [int(side.lengths[number]) for side in found.sides]
    deeper = len(found.documents_of(number)) - len(rows)
    topic = printable(found.topics[number]).translate(ESCAPED)
    title = (
        f"Topic {topic}: the first {found.depth} of {printable(found.run_a)} (A, "
        f"{pluralise(lengths[0], 'document')}) and {printable(found.run_b)} (B, {lengths[1]:,})."
    )
    notes = (
        [f"{pluralise(deeper, 'deeper document')}: a greater --depth, or --format tsv, shows them."] if deeper else []
    )
    notes += ["?: unjudged."] if found.qrels is not None and any(row[7] is None for row in rows) else []
    said = output.Said([title], notes, found.notes)
    output.present(said, args, lambda: [_side_by_side(found, rows, texts)], experiment=exp, put_data=put_data)


def _side_by_side(found: Diff, rows: list[tuple[Any, ...]], texts: Texts | None) -> Block:
    from fathoms.cli.screen import Block, Column
    from fathoms.judging.texts import printable

    def ranks(place: int) -> list[str]:
        return ["" if row[place] is None else f"{row[place]:,}" for row in rows]

    def scores(place: int) -> list[str]:
        return ["" if row[place] is None else f"{row[place]:.6g}" for row in rows]

    shifts = ["" if row[4] is None else f"{row[4]:+,}" if row[4] else "0" for row in rows]
    columns = [
        Column("rank A", ranks(2)),
        Column("rank B", ranks(3)),
        Column("shift", shifts, 1),
        Column("score A", scores(5), 2),
        Column("score B", scores(6), 2),
    ]
    if found.qrels is not None:
        columns.append(Column("grade", ["?" if row[7] is None else f"{row[7]:g}" for row in rows]))
    columns.append(Column("change", [row[1] for row in rows], words=True))
    columns.append(Column("document", [printable(row[0]) for row in rows], words=True))
    if texts is not None:
        shown = [printable(_text(texts, row[0]) or "(no text)")[:SNIPPET] for row in rows]
        columns.append(Column("text", shown, 3, words=True))
    return Block(columns, noun="document")


def _texts(path: str | None, documents: list[str]) -> Texts | None:
    from fathoms.judging.texts import open_texts

    return None if path is None else open_texts(path, set(documents))


def _text(texts: Texts | None, document: str) -> str:
    entry = None if texts is None else texts.get(document)
    return "" if entry is None else " ".join(part for part in (entry.title, *entry.body) if part)
