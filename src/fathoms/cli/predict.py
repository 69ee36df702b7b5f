"""Estimate what scores will be once the unjudged documents are judged.

simplistic, background, interpolated and smoothed pick a point in each score's range (Ravana and Moffat 2010); static,
constant, linear, zipf, weibull and hybrid predict the gain of an unjudged document from its rank, by topic (Lu, Moffat
and Culpepper 2016). experts (Carterette 2007, "Robust test collections") and fusion (our own model) give each unjudged
document a probability of relevance from the ranks of all given runs, all judgments and any further evidence.
`--method all` shows them side by side. No estimate leaves its range.

`--probabilities` writes those probabilities, `--confidence` how sure it is that one run is better than another.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.data.lines import Table

RELEVANCE_MODELS = ("experts", "fusion")
METHODS = (
    "simplistic",
    "background",
    "interpolated",
    "smoothed",
    "static",
    "constant",
    "linear",
    "zipf",
    "weibull",
    "hybrid",
    *RELEVANCE_MODELS,
)
DRAWS = 1000
MEASURES = ("P@10", "RBP(p=0.8)", "AP")
EXAMPLES = """examples:
  fathoms predict qrels.txt runs/ -m P@10 --method smoothed
  fathoms predict qrels.txt runs/ -m 'RBP(p=0.95)' --method all --pooled pooled.txt --format tsv
  fathoms predict qrels.txt runs/ --method fusion --labels labels.tsv
  fathoms predict qrels.txt runs/ --probabilities --format tsv -o p.tsv
  fathoms predict qrels.txt runs/ -m nDCG@10 --confidence"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    parser.add_argument(
        "--method",
        choices=(*METHODS, "all"),
        help="how to estimate (smoothed; fusion with --probabilities and --confidence)",
    )
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
        help="pool depth at which the models of gain by rank are fitted (default: as deep as the contributing runs are "
        "judged)",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        action="append",
        default=[],
        help="for experts and fusion: lines `topic document value`, such as labels of a language model or scores of a "
        "classifier; a run or a qrels file will do; may be repeated",
    )
    parser.add_argument(
        "--to-depth",
        metavar="D",
        type=options.at_least_one,
        help="for experts and fusion: judging will reach the top D of every given run, and what lies deeper counts as "
        "not relevant (default: everything is judged)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--probabilities",
        action="store_true",
        help="instead: how likely each document of the runs is relevant (experts or fusion)",
    )
    what.add_argument(
        "--confidence",
        action="store_true",
        help="instead: how sure it is, for each pair of runs, that one is better than the other (experts or fusion)",
    )
    parser.add_argument(
        "--draws",
        metavar="N",
        type=options.at_least_one,
        help=f"for --confidence: how often the relevance of all unjudged documents is drawn ({DRAWS})",
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
    from fathoms.data.document_values import read_values

    method = _method(args)
    given = options.read_inputs(args, MEASURES)
    evidence = [read_values(file, lenient=args.lenient) for file in args.labels]
    if args.probabilities or args.confidence:
        _from_probabilities(args, given, method, evidence)
    else:
        _estimates(args, given, method, evidence)
    return 0


def _method(args: Namespace) -> str:
    """The method asked for, and whether the other flags go with it."""
    from fathoms.errors import FathomsError

    asked = "--probabilities" if args.probabilities else "--confidence" if args.confidence else None
    method: str = args.method or ("fusion" if asked else "smoothed")
    if asked and method not in RELEVANCE_MODELS:
        raise FathomsError(f"{asked} needs --method {' or '.join(RELEVANCE_MODELS)}, found {method}")
    for flag, value in (("--labels", args.labels), ("--to-depth", args.to_depth)):
        if value and method not in (*RELEVANCE_MODELS, "all"):
            raise FathomsError(f"{flag} is for --method {' or '.join(RELEVANCE_MODELS)}, found {method}")
    if args.draws is not None and not args.confidence:
        raise FathomsError("--draws is for --confidence")
    return method


def _estimates(args: Namespace, given: options.Inputs, method: str, evidence: list[Table]) -> None:
    from fathoms.cli import output
    from fathoms.estimate.predict import COLUMNS, WORDS, run_prediction
    from fathoms.estimate.predictors import Constants

    methods = METHODS if method == "all" else (method,)
    result = run_prediction(
        given.qrels,
        given.runs,
        given.measures,
        methods,
        given.settings,
        by_topic=args.by_topic,
        depth=args.depth,
        constants=None if args.constants is None else Constants(*args.constants),
        evidence=evidence,
        to_depth=args.to_depth,
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


def _from_probabilities(args: Namespace, given: options.Inputs, method: str, evidence: list[Table]) -> None:
    from fathoms.cli import output
    from fathoms.estimate import draws, probabilities

    found = probabilities.relevance_probabilities(
        given.qrels,
        given.runs,
        method,
        given.settings,
        evidence,
        args.to_depth,
        samples=draws.SAMPLES if args.confidence else 0,
        seed=given.settings.seed,
    )
    if not args.quiet:
        output.say_notes(given.qrels.notes + given.notes + found.notes)
    columns: tuple[str, ...] = probabilities.COLUMNS
    words: tuple[str, ...] = probabilities.WORDS
    if args.probabilities:
        rows = found.rows()
    else:
        columns, words = draws.COLUMNS, draws.WORDS
        rows = draws.pair_rows(found, list(given.runs), given.measures, args.draws or DRAWS, given.settings.seed)
    if args.format == "table":
        shown = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
        output.put(output.aligned_text(columns, shown, numbers_from=len(words)), args.output)
    else:
        output.put_rows(columns, rows, args, words)


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
