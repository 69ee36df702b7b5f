"""Estimate what scores will be once the unjudged documents are judged.

simplistic, background, interpolated and smoothed pick a point in each score's range (Ravana and Moffat 2010); static,
constant, linear, zipf, weibull and hybrid predict the gain of an unjudged document from its rank, by topic (Lu, Moffat
and Culpepper 2016). `--method all` shows them side by side. No estimate leaves its range.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from fathoms.cli import options

METHODS = (
    "simplistic", "background", "interpolated", "smoothed", "static", "constant", "linear", "zipf", "weibull", "hybrid",
)  # fmt: skip
EXAMPLES = """examples:
  fathoms predict qrels.txt runs/ -m P@10 --method smoothed
  fathoms predict qrels.txt runs/ -m 'RBP(p=0.95)' --method all --pooled pooled.txt --format tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    parser.add_argument("--method", choices=(*METHODS, "all"), default="smoothed", help="how to estimate (smoothed)")
    parser.add_argument(
        "--constants",
        metavar="C,E",
        type=constants,
        help="C and E of the first four methods; default 0.42,0.01 for interpolated, 0.91,0.05 for smoothed",
    )
    parser.add_argument(
        "--depth",
        metavar="D",
        type=options.at_least_one,
        help="pool depth at which the models are fitted (default: as deep as the contributing runs are judged)",
    )
    parser.add_argument("-q", "--by-topic", action="store_true", help="a row for each topic too")
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_order(parser)
    options.add_ranges(parser)
    options.add_reading(parser)
    options.add_work(parser)


def constants(text: str) -> tuple[float, float]:
    try:
        C, E = (float(part) for part in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"expected two numbers such as 0.42,0.01, found {text!r}") from None
    return C, E


def run(args: Namespace) -> int:
    from fathoms.cli import output
    from fathoms.estimate.predict import COLUMNS, WORDS, prediction
    from fathoms.estimate.predictors import Constants

    given = options.read_inputs(args, ("P@10", "RBP(p=0.8)", "AP"))
    methods = METHODS if args.method == "all" else (args.method,)
    result = prediction(
        given.qrels,
        given.runs,
        given.measures,
        methods,
        given.settings,
        by_topic=args.by_topic,
        depth=args.depth,
        constants=None if args.constants is None else Constants(*args.constants),
    )
    if not args.quiet:
        output.say_notes(given.notes + result.notes)
        moved = ", ".join(f"{method} {count:,}" for method, count in result.clipped.items() if count)
        if moved:
            each = result.estimates // max(1, len(methods))
            print(f"fathoms: moved into their range: {moved} (of {each:,} estimates each)", file=sys.stderr)
    if args.format == "table":
        output.put(_table(result.rows), args.output)
    else:
        output.put_rows(COLUMNS, result.rows, args, WORDS)
    return 0


def _table(rows: list[tuple[object, ...]]) -> str:
    """One line a run, measure and topic; the methods side by side."""
    from fathoms.cli.output import aligned_text

    methods = list(dict.fromkeys(str(row[6]) for row in rows))
    lines: dict[tuple[object, ...], dict[str, object]] = {}
    for *key, method, value in rows:
        lines.setdefault(tuple(key), {})[str(method)] = value
    by_topic = any(row[1] != "all" for row in rows)
    header = ["run", *(["topic"] if by_topic else []), "measure", "score", "low", "high", *methods]
    table = []
    for (name, topic, measure, *numbers), values in lines.items():
        cells = [name, *([topic] if by_topic else []), measure, *numbers, *(values[method] for method in methods)]
        table.append([f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells])
    return aligned_text(header, table, numbers_from=2 + by_topic)
