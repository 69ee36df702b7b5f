"""Estimate what scores will be once the unjudged documents are judged, with intervals.

The default, calibrated, gives each unjudged document a chance of each grade from the ranks of all given runs, the
judgments and any labels, draws grades many times, and corrects the result by backtests on this collection: part
of the judgments is hidden, predicted and compared. --to-depth says how deep judging is assumed to go.

Other methods are points without an interval: simplistic, background, interpolated and smoothed pick one in each score's
range (Ravana and Moffat 2010; --tune fits their constants); static, constant, linear, zipf, weibull and hybrid predict
gain from rank, by topic (Lu, Moffat and Culpepper 2016); experts (Carterette 2007) and fusion, a regression on
ranks alone, take each document's probability of relevance. `--method all` shows all side by side.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathoms.cli import options, predict_tune
from fathoms.estimate.names import DEFAULT, MEASURES, METHODS, RELEVANCE_MODELS
from fathoms.estimate.names import DRAWS as ESTIMATE_DRAWS

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.cli.screen import Block
    from fathoms.experiment.result import Result

DRAWS = 1000
UNIFORM = "uniform"
EXAMPLES = (
    ("what will scores be once the unjudged documents are judged?", "fathoms predict qrels.txt runs/ -m nDCG@10 -m AP"),
    (
        "the same with labels of a language model as a help",
        "fathoms predict qrels.txt runs/ -m nDCG@10 --labels llm.tsv",
    ),
)
MORE = """more examples:
  fathoms predict qrels.txt runs/ -m AP --to-depth 50 --by-topic --format tsv
  fathoms predict qrels.txt runs/ -m 'RBP(p=0.95)' --method all --pooled pooled.txt --format tsv
  fathoms predict qrels.txt runs/ -m P@10 --tune
  fathoms predict qrels.txt runs/ --probabilities --format tsv -o p.tsv
  fathoms predict qrels.txt runs/ -m nDCG@10 --confidence"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    options.add_choice(
        parser,
        "--method",
        choices=(*METHODS, "all"),
        help=f"how to estimate ({DEFAULT}; fusion with --probabilities)",
    )
    options.add_estimates(parser)
    parser.add_argument(
        "--draws",
        metavar="N",
        type=options.at_least_one,
        help=f"how often the grades of the unjudged documents are drawn ({ESTIMATE_DRAWS}; {DRAWS} with --confidence)",
    )
    parser.add_argument(
        "--constants",
        metavar="C,E",
        type=constants,
        help="C and E of the first four methods, and alpha as a third; default 0.42,0.01 for interpolated, 0.91,0.05 "
        "for smoothed",
    )
    parser.add_argument(
        "--depth",
        metavar="D",
        type=options.at_least_one,
        help="pool depth at which the models of gain by rank are fitted (default: as deep as the contributing runs are "
        "judged)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--at-most",
        metavar="X",
        type=float,
        help="instead: how likely each score is at most X once judged",
    )
    what.add_argument(
        "--probabilities",
        action="store_true",
        help="instead: how likely each document of the runs is relevant (experts or fusion)",
    )
    what.add_argument(
        "--confidence",
        action="store_true",
        help="instead: how sure it is, for each pair of runs, that one is better than the other",
    )
    what.add_argument(
        "--sampled",
        metavar="FILE",
        nargs="?",
        const=UNIFORM,
        help="instead: the judgments are a random sample; FILE has each document's probability or stratum, as `pool "
        "--sample` writes it (a five-column qrels of sample_eval will do); without FILE every document of the runs, "
        "down to --depth, had the same chance in its topic",
    )
    what.add_argument("--tune", action="store_true", help="instead: the constants of RM's methods that do best here")
    parser.add_argument("--left-out", action="store_true", help=predict_tune.LEFT_OUT)
    parser.add_argument("-q", "--by-topic", action="store_true", help="a row for each topic too")
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_order(parser)
    options.add_ranges(parser)
    options.add_reading(parser)
    options.add_work(parser)


def constants(text: str) -> tuple[str, ...]:
    """Two or three parts; what they may be, `given_constants` says."""
    from fathoms.errors import FathomsError
    from fathoms.estimate.predictors import given_constants

    parts = tuple(part.strip() for part in text.split(","))
    try:
        given_constants(parts)
    except FathomsError:
        raise ArgumentTypeError(f"expected two numbers such as 0.42,0.01, found {text!r}") from None
    return parts


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args)
    measures = args.measures or MEASURES
    if args.tune:
        return predict_tune.run_tune(args, exp, measures)
    if args.sampled is not None:
        return _run_sampled(args, exp, measures)
    method = _method(args)
    more = {"labels": args.labels, "to_depth": args.to_depth}
    result: Result
    if args.probabilities:
        result = exp.probabilities(method, **more)
    elif args.confidence:
        result = exp.confidence(measures, method, draws=args.draws or DRAWS, **more)
    else:
        result = found = exp.predict(
            measures,
            method,
            by_topic=args.by_topic,
            depth=args.depth,
            constants=args.constants,
            draws=args.draws or ESTIMATE_DRAWS,
            level=args.level,
            **more,
        )
        if args.at_most is not None:
            result = found.at_most(args.at_most)
    plain = args.probabilities or args.confidence or args.at_most is not None
    output.present(result, args, lambda: _plain_blocks(result, args) if plain else _blocks(result), experiment=exp)
    return 0


def _run_sampled(args: Namespace, exp: Experiment, measures: Sequence[str]) -> int:
    """Estimates from a sample. Where its design is the qrels file itself, with a column for strata, that is read so."""
    from fathoms.cli import output
    from fathoms.errors import FathomsError
    from fathoms.estimate.design import read_design

    useless = {"--method": args.method, "--to-depth": args.to_depth, "--draws": args.draws, "--left-out": args.left_out}
    given = [flag for flag, value in {**useless, "--constants": args.constants}.items() if value]
    if given:
        raise FathomsError(f"--sampled has no use for {', '.join(given)}")
    if args.depth is not None and args.sampled != UNIFORM:
        raise FathomsError("--depth is for --sampled without a file, which says itself what was sampled")
    if args.sampled == args.qrels:
        found = read_design(args.sampled)
        if found.qrels is None:
            raise FathomsError(f"{args.sampled} has no grades, so it is a design and no judgments")
        exp = exp.with_qrels(found.qrels)
    result = exp.predict_sampled(
        measures, args.sampled, depth=args.depth, labels=args.labels, by_topic=args.by_topic, level=args.level
    )
    output.present(result, args, lambda: _blocks(result), experiment=exp)
    return 0


def _method(args: Namespace) -> str:
    """The method asked for, and whether the other flags go with it."""
    from fathoms.errors import FathomsError

    method: str = args.method or ("fusion" if args.probabilities else DEFAULT)
    if args.probabilities and method not in RELEVANCE_MODELS:
        raise FathomsError(f"--probabilities needs --method {' or '.join(RELEVANCE_MODELS)}, found {method}")
    drawn = (*RELEVANCE_MODELS, DEFAULT)
    if args.confidence and method not in drawn:
        raise FathomsError(f"--confidence needs --method {' or '.join(drawn)}, found {method}")
    if args.at_most is not None and method not in (DEFAULT, "all"):
        raise FathomsError(f"--at-most is for --method {DEFAULT}, found {method}")
    for flag, value in (("--labels", args.labels), ("--to-depth", args.to_depth)):
        if value and method not in (*drawn, "all"):
            raise FathomsError(f"{flag} is for --method {' or '.join(drawn)}, found {method}")
    if args.draws is not None and not args.confidence and method not in (DEFAULT, "all"):
        raise FathomsError(f"--draws is for --method {DEFAULT} and --confidence, found {method}")
    if args.left_out and not args.tune:
        raise FathomsError("--left-out is for --tune")
    return method


def _blocks(result: Result) -> list[Block]:
    """A table for each measure, highest estimate first; methods side by side, an interval after its estimate."""
    from fathoms.cli.screen import Block, Column

    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows()]
    by_topic = any(row["topic"] != "all" for row in rows)
    blocks = []
    for measure in dict.fromkeys(row["measure"] for row in rows):
        of_measure = [row for row in rows if row["measure"] == measure]
        ranged = [row["method"] for row in of_measure if row["likely_low"] is not None]  # first, its interval beside it
        methods = list(dict.fromkeys([*ranged, *(row["method"] for row in of_measure)]))
        found = {method: [row for row in of_measure if row["method"] == method] for method in methods}
        first = found[methods[0]]
        means = {row["run"]: row["estimate"] for row in first if row["topic"] == "all"}
        order = sorted(range(len(first)), key=lambda i: (-means[first[i]["run"]], first[i]["run"]))

        def numbers(method: str, name: str, found: Any = found, order: Any = order) -> list[str]:
            return [_cell(found[method][i][name]) for i in order]

        columns = [Column(measure, [first[i]["run"] for i in order], words=True)]
        if by_topic:
            columns.append(Column("topic", [first[i]["topic"] for i in order], words=True))
        columns.append(Column("score", numbers(methods[0], "score")))
        for place, method in enumerate(methods):
            title = method if len(methods) > 1 else "estimate"
            columns.append(Column(title, numbers(method, "estimate"), place and place + 1))
            ends = [name for name in ("likely_low", "likely_high") if any(numbers(method, name))]
            columns += [Column(name, numbers(method, name), 1) for name in ends]
        columns += [Column(name, numbers(methods[0], name), 20) for name in ("low", "high")]
        blocks.append(Block(columns, noun="row" if by_topic else "run"))
    return blocks


def _plain_blocks(result: Result, args: Namespace) -> list[Block]:
    """Rows as they are."""
    from fathoms.cli.screen import table

    rows = [row for row in result.rows() if args.at_most is None or args.by_topic or row[1] == "all"]
    return [table(result.columns, [[_cell(cell) for cell in row] for row in rows], len(result.words))]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
