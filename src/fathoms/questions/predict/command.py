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

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from fathoms.cli import options
from fathoms.estimate.names import DEFAULT, RELEVANCE_MODELS
from fathoms.questions.predict import tune_command as predict_tune

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.base.result import Result
    from fathoms.cli.screen import Block

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
    options.add_question(parser, "predict")
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
    options.add_question(parser, "tune", "measures")
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_reading(parser, *options.ORDER, *options.RANGES, *options.READ, *options.WORK)
    options.add_talk(parser)
    parser.set_defaults(method=None, draws=None)  # which are others with some of these


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args)
    exp.spares_memory = True
    if args.tune:
        return predict_tune.run_tune(args, exp)
    if args.sampled is not None:
        return _run_sampled(args, exp)
    check_flags(args)
    result: Result
    if args.probabilities:
        result = exp.probabilities(**options.arguments(args, "probabilities"))
    elif args.confidence:
        result = exp.confidence(**options.arguments(args, "confidence"))
    else:
        result = prediction = exp.predict(**options.arguments(args, "predict"))
        if args.at_most is not None:
            result = prediction.at_most(args.at_most)
    plain = args.probabilities or args.confidence or args.at_most is not None
    output.present(result, args, lambda: _plain_blocks(result, args) if plain else _blocks(result), experiment=exp)
    return 0


def _run_sampled(args: Namespace, exp: Experiment) -> int:
    """Estimates from a sample. Where its design is the qrels file itself, with a column for strata, that is read so."""
    from fathoms.base.errors import FathomsError
    from fathoms.cli import output
    from fathoms.estimate.design import read_design

    useless = {"--method": args.method, "--to-depth": args.to_depth, "--draws": args.draws, "--left-out": args.left_out}
    given = [flag for flag, value in {**useless, "--constants": args.constants}.items() if value]
    if given:
        raise FathomsError(f"--sampled has no use for {', '.join(given)}")
    if args.depth is not None and args.sampled != UNIFORM:
        raise FathomsError("--depth is for --sampled without a file, which says itself what was sampled")
    if args.sampled == args.qrels:
        design = read_design(args.sampled)
        if design.qrels is None:
            raise FathomsError(f"{args.sampled} has no grades, so it is a design and not judgments")
        exp = exp.with_qrels(design.qrels)
    result = exp.predict_sampled(design=args.sampled, **options.arguments(args, "predict_sampled"))
    output.present(result, args, lambda: _blocks(result), experiment=exp)
    return 0


def check_flags(args: Namespace) -> None:
    """Whether the method and the other flags go together."""
    from fathoms.base.errors import FathomsError

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


def _blocks(result: Result) -> list[Block]:
    """A table for each measure, highest estimate first; methods side by side, an interval after its estimate."""
    from fathoms.cli.screen import Block, Column, cell

    rows = result.records()
    by_topic = any(row["topic"] != "all" for row in rows)
    blocks = []
    for measure in dict.fromkeys(row["measure"] for row in rows):
        of_measure = [row for row in rows if row["measure"] == measure]
        ranged = [row["method"] for row in of_measure if row["likely_low"] is not None]  # first, its interval beside it
        methods = list(dict.fromkeys([*ranged, *(row["method"] for row in of_measure)]))
        by_method = {method: [row for row in of_measure if row["method"] == method] for method in methods}
        first = by_method[methods[0]]
        means = {row["run"]: row["estimate"] for row in first if row["topic"] == "all"}
        order = sorted(range(len(first)), key=lambda i: (-means[first[i]["run"]], first[i]["run"]))

        def numbers(method: str, name: str, by_method: Any = by_method, order: Any = order) -> list[str]:
            return [cell(by_method[method][i][name]) for i in order]

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
    from fathoms.cli.screen import cell, table

    rows = [row for row in result.records() if args.at_most is None or args.by_topic or row["topic"] == "all"]
    return [table(result.columns, [list(map(cell, row.values())) for row in rows], len(result.words))]
