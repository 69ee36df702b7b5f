"""Estimate what scores will be once the unjudged documents are judged.

simplistic, background, interpolated and smoothed pick a point in each score's range (Ravana and Moffat 2010); static,
constant, linear, zipf, weibull and hybrid predict the gain of an unjudged document from its rank, by topic (Lu, Moffat
and Culpepper 2016). experts (Carterette 2007, "Robust test collections") and fusion (our own model) give each unjudged
document a probability of relevance from the ranks of all given runs, all judgments and any labels.
`--method all` shows them side by side. No estimate leaves its range.

`--probabilities` writes those probabilities, `--confidence` how sure it is that one run is better than another.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.cli import options
from fathoms.estimate.names import MEASURES, METHODS, RELEVANCE_MODELS

if TYPE_CHECKING:
    from fathoms.experiment.result import Result

DRAWS = 1000
EXAMPLES = """examples:
  fathoms predict qrels.txt runs/ -m P@10 --method smoothed
  fathoms predict qrels.txt runs/ -m 'RBP(p=0.95)' --method all --pooled pooled.txt --format tsv
  fathoms predict qrels.txt runs/ --method fusion --labels labels.tsv
  fathoms predict qrels.txt runs/ --probabilities --format tsv -o p.tsv
  fathoms predict qrels.txt runs/ -m nDCG@10 --confidence"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    options.add_choice(
        parser,
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
    from fathoms.cli import output

    method = _method(args)
    exp = options.experiment(args, memory_mb=0)
    measures, more = args.measures or MEASURES, {"labels": args.labels, "to_depth": args.to_depth}
    result: Result
    if args.probabilities:
        result = exp.probabilities(method, **more)
    elif args.confidence:
        result = exp.confidence(measures, method, draws=args.draws or DRAWS, **more)
    else:
        result = exp.predict(
            measures, method, by_topic=args.by_topic, depth=args.depth, constants=args.constants, **more
        )
    output.say_notes(exp, result, args)
    output.say_sentences(result, args)
    if args.format != "table":
        output.put_result(result, args)
    elif args.probabilities or args.confidence:
        shown = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in result.rows()]
        output.put(output.aligned_text(result.columns, shown, numbers_from=len(result.words)), args.output)
    else:
        output.put(_table(list(result.rows())), args.output)
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


def _table(rows: list[Sequence[object]]) -> str:
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
