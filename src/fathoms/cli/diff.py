"""What changed from run A to run B? Overlap and RBO of their rankings, documents gained and lost in the first places,
ranks that moved. Judgments are not needed; with --qrels it says what the change did, and what is still unjudged.

Differences are B minus A. The most changed topics come first; --topic shows one of them in full, side by side. -o FILE
with .svg, .png, .pdf or .html draws the documents gained and lost in each topic.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from fathoms.cli import options
from fathoms.cli.depth import PICTURES
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.comparison.diff import Diff
    from fathoms.judging.texts import Texts

EXAMPLES = """examples:
  fathoms diff yesterday.run today.run
  fathoms diff bm25.run bm25-tuned.run --qrels qrels.txt -m nDCG@10
  fathoms diff bm25.run dense.run --qrels qrels.txt --topic 301 --docs corpus.jsonl
  fathoms diff bm25.run dense.run --show documents --format tsv -o moved.tsv"""
SHOWN = 15  # topics in the table; the other formats have all
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
    output.say_notes(exp, found, args)
    if draws:
        output.save_chart(found.chart(), args.output)
        args.output = None
    if args.topic is not None:
        _put_topic(found, args)
    elif args.format == "table":
        output.put(_table(found), args.output)
    else:
        output.put_rows(KINDS[args.show], found.rows(args.show), args, WORDS)
    return 0


# -- all topics ----------------------------------------------------------------------------------------------------


def _table(found: Diff) -> str:
    from fathoms.cli.output import aligned_text
    from fathoms.comparison.diff_sentences import signed
    from fathoms.judging.texts import printable

    names = {
        "topic": "topic",
        "overlap": f"overlap@{found.depth}",
        "rbo": "RBO",
        "rbo_min": "min",
        "rbo_max": "max",
        "gained": "gained",
        "new": "new",
        "lost": "lost",
        "gone": "gone",
        "mean_shift": "shift",
        "largest_rise": "up",
        "largest_fall": "down",
    }
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows()]
    if all(_cell(row["rbo_min"]) == _cell(row["rbo_max"]) for row in rows):  # long runs leave nothing open
        del names["rbo_min"], names["rbo_max"]
    if found.qrels is not None:
        names["unjudged"] = "unjudged"
        for row in rows:
            row["unjudged"] = row["gained_unjudged"] + row["lost_unjudged"]
    measure = "" if found.main is None else found.main.measure.name
    scores = {row[0]: row[4:7] for row in found.rows("scores") if row[1] == measure}
    header = [*names.values(), *([f"{measure} B-A", "low", "high"] if measure else [])]
    changed = int(found.changed.sum())
    shown = rows[: min(SHOWN, changed)]
    cells = []
    for row in [*shown, rows[-1]]:
        line = [printable(row["topic"]), *(_cell(row[name]) for name in list(names)[1:])]
        score = scores.get(row["topic"], (None,) * 3) if measure else ()
        cells.append([*line, *("" if value is None else signed(value) for value in score)])
    more = changed - len(shown)
    rest = f"and {pluralise(more, 'more changed topic')}; --format tsv has all\n" if more > 0 else ""
    first = shown[0]["topic"] if shown else ""
    hint = (
        f"--topic {shlex.quote(first)} shows the most changed topic in full\n" if first.isprintable() and first else ""
    )
    said = "\n".join(map(printable, found.sentences))
    return f"{said}\n\n{aligned_text(header, cells, 1)}{rest}{hint}"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


# -- one topic -----------------------------------------------------------------------------------------------------


def _put_topic(found: Diff, args: Namespace) -> None:
    """The documents of one topic: all of them for programs, those in the first places for people."""
    from fathoms.cli import output
    from fathoms.comparison.diff import KINDS, WORDS

    number = found.topic_number(args.topic)
    table = args.format == "table"
    rows = found.documents_of(number, found.depth if table else None)
    texts = _texts(args.docs, [row[0] for row in rows])
    if not table:
        columns = (*KINDS["documents"], *(["text"] if texts is not None else []))
        full = [(args.topic, *row, *([_text(texts, row[0])] if texts is not None else [])) for row in rows]
        output.put_rows(columns, full, args, (*WORDS, "text"))
        return
    output.put(_side_by_side(found, number, rows, texts), args.output)


def _side_by_side(found: Diff, number: int, rows: list[tuple[Any, ...]], texts: Texts | None) -> str:
    from fathoms.cli.output import SHOWN as ESCAPED
    from fathoms.cli.output import aligned_text
    from fathoms.judging.texts import printable

    judged = found.qrels is not None
    header = ["rank A", "rank B", "shift", "score A", "score B", *(["grade"] if judged else []), "change", "document"]
    cells = []
    for document, change, rank_a, rank_b, shift, score_a, score_b, grade in rows:
        plain = ["" if value is None else f"{value:,}" for value in (rank_a, rank_b)]
        moved = "" if shift is None else f"{shift:+,}" if shift else "0"
        scores = ["" if value is None else f"{value:.6g}" for value in (score_a, score_b)]
        known = ["?" if grade is None else f"{grade:g}"] if judged else []
        text = "" if texts is None else _text(texts, document) or "(no text)"
        name = printable(document) + (f"  {printable(text)[:SNIPPET]}" if text else "")
        cells.append([*plain, moved, *scores, *known, change, name])
    lengths = [int(side.lengths[number]) for side in found.sides]
    deeper = len(found.documents_of(number)) - len(rows)
    topic = printable(found.topics[number]).translate(ESCAPED)
    title = (
        f"Topic {topic}: the first {found.depth} of {printable(found.run_a)} (A, "
        f"{pluralise(lengths[0], 'document')}) and {printable(found.run_b)} (B, {lengths[1]:,})"
    )
    more = (
        f"and {pluralise(deeper, 'deeper document')}; a greater --depth, or --format tsv, shows them\n"
        if deeper
        else ""
    )
    unknown = "?: unjudged\n" if judged and any(row[7] is None for row in rows) else ""
    return f"{title}\n\n{_flush(aligned_text, header, cells)}{more}{unknown}"


def _flush(align: Any, header: list[str], cells: list[list[str]]) -> str:
    """Numbers flush right and the last two columns, words, flush left."""
    width = max(len(line[-2]) for line in (header, *cells))
    joined = [[*line[:-2], f"{line[-2].ljust(width)}  {line[-1]}"] for line in (header, *cells)]
    longest = max(len(line[-1]) for line in joined)
    joined = [[*line[:-1], line[-1].ljust(longest)] for line in joined]
    text: str = align(joined[0], joined[1:], 0)
    return text


def _texts(path: str | None, documents: list[str]) -> Texts | None:
    from fathoms.judging.texts import open_texts

    return None if path is None else open_texts(path, set(documents))


def _text(texts: Texts | None, document: str) -> str:
    entry = None if texts is None else texts.get(document)
    return "" if entry is None else " ".join(part for part in (entry.title, *entry.body) if part)
