"""Before anything is judged or run: how many topics, which differences they can show, and how deep to judge.

With judgments and runs of a collection like the planned one, variances are measured on them: pair by pair, and by
resampling topics. --from-scores takes scores by topic from any tool, --variance a number. `none` as
QRELS stands for judgments that do not exist yet: how many a pool of each depth will need, and what it leaves unknown.

  topics   for --min-difference, --power and --alpha: paired t-test, all pairs of --systems, one-way ANOVA; the least
           difference that the topics there are, or --n-topics, show; topics for --interval-width
  depth    for each measure: the pool that keeps the residual, high - low, at --epsilon or less; what --depth leaves
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms import choices
from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.comparison.plan_depth import DepthPlan
    from fathoms.comparison.plan_result import Plan, TopicAnswer, TopicPlan

PICTURES = (".svg", ".png", ".pdf", ".html")
EXAMPLES = (
    (
        "how many topics will show a difference of 0.05, judging by an earlier collection?",
        "fathoms plan qrels.txt runs/ -m nDCG@10 --min-difference 0.05",
    ),
    ("how deep must a pool be for these measures?", "fathoms plan -m 'RBP(p=0.8)' -m P@20 --epsilon 0.02"),
)
MORE = """more examples:
  fathoms plan --variance 0.03 --min-difference 0.05
  fathoms plan --variance 0.03 --n-topics 50 --systems 10
  fathoms plan qrels.txt runs/ -m nDCG@10 --power 0.9 --chart power.svg
  fathoms plan none runs/ -m 'RBP(p=0.95)' --depth 30
  fathoms plan --from-scores a.eval b.eval -m map --interval-width 0.05"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        nargs="?",
        help="judgments of a collection like the planned one; `none` for runs without any judgments yet",
    )
    parser.add_argument("runs", metavar="RUN", nargs="*", help="runs: files, folders or quoted globs")
    options.add_measures(parser, "such as AP, nDCG@10 or 'RBP(p=0.8)' (AP with judgments and runs)")
    positive = options.checker(choices.positive)
    parser.add_argument(
        "--min-difference", metavar="D", type=positive, default=0.05, help="difference to detect (0.05)"
    )
    parser.add_argument("--power", metavar="P", type=options.share, default=0.8, help="chance of finding it (0.8)")
    parser.add_argument("--alpha", metavar="A", type=options.share, default=0.05, help="significance level (0.05)")
    parser.add_argument(
        "--systems",
        metavar="M",
        type=options.checker(lambda text: choices.whole_number(text, 2)),
        help="how many systems will be compared with each other (as many as there are runs, or 2)",
    )
    parser.add_argument(
        "--n-topics",
        metavar="N",
        type=options.checker(lambda text: choices.whole_number(text, 2)),
        help="say what so many topics can show (as many as there are)",
    )
    parser.add_argument(
        "--variance", metavar="V", type=positive, help="of the difference between two systems, from topic to topic"
    )
    parser.add_argument(
        "--system-variance", metavar="V", type=positive, help="of one system's scores, from topic to topic (for ANOVA)"
    )
    parser.add_argument(
        "--from-scores",
        metavar="FILE",
        nargs="+",
        help="measure variances on scores by topic: `trec_eval -q`, `ir_measures -q`, tsv or json of `fathoms eval`",
    )
    parser.add_argument(
        "--interval-width",
        metavar="W",
        type=positive,
        help="how wide an interval may be: topics for that of a difference; with --likely, judgments for a score's",
    )
    parser.add_argument(
        "--epsilon", metavar="E", type=positive, default=0.05, help="residual that a pool may leave (0.05)"
    )
    parser.add_argument("--depth", metavar="D", type=options.at_least_one, help="say what a pool of this depth leaves")
    parser.add_argument(
        "--likely",
        action="store_true",
        help="beside the possible residual the likely intervals after pools of several depths, and for how many pairs "
        "of runs it would be clear who is ahead; takes longer",
    )
    parser.add_argument("--level", metavar="L", type=options.share, default=0.95, help="of likely intervals (0.95)")
    parser.add_argument(
        "--confidence", metavar="C", type=options.share, default=0.95, help="with which it is clear who is ahead (0.95)"
    )
    parser.add_argument(
        "--chart", metavar="FILE", type=Path, help="draw power by number of topics, or without topics residual by depth"
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_pooled(parser)
    options.add_order(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms import charts
    from fathoms.cli import output
    from fathoms.data.files import check_not_read, check_writable
    from fathoms.errors import FathomsError

    if args.qrels == "none":
        args.qrels = None
    if args.qrels is not None and not args.runs:
        raise FathomsError("QRELS without RUN: give runs too, or neither")
    args.runs = args.runs or None
    if args.chart is not None:
        if args.chart.suffix not in PICTURES:
            raise FathomsError(f"{args.chart}: expected a name that ends in {', '.join(PICTURES)}")
        charts.require()
        check_writable(args.chart)
    if args.output is not None and args.from_scores:
        check_not_read(args.output, args.from_scores)
    exp = options.experiment(args)
    with output.progress(len(args.runs or ()), args.quiet) as step:
        result = exp.plan(
            args.measures,
            min_difference=args.min_difference,
            power=args.power,
            alpha=args.alpha,
            systems=args.systems,
            n_topics=args.n_topics,
            variance=args.variance,
            system_variance=args.system_variance,
            from_scores=args.from_scores,
            interval_width=args.interval_width,
            epsilon=args.epsilon,
            depth=args.depth,
            likely=args.likely,
            level=args.level,
            confidence=args.confidence,
            progress=step,
        )
    output.present(result, args, lambda: _blocks(result), experiment=exp)
    if args.chart is not None:
        output.save_chart(result.chart() if result.topics else result.depth_chart(), args.chart)
        if not args.quiet:
            output.say([f"fathoms: wrote {args.chart}"])
    return 0


def _blocks(result: Plan) -> list[Block]:
    blocks = [block for topics in result.topics for block in (_answers(topics), _curve(topics))]
    for depth in result.depths:
        blocks.append(_depths(depth))
        if depth.cutoffs:
            blocks.append(_cutoffs(depth))
    return blocks


def _number(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _topics(one: TopicAnswer) -> str:
    if one.topics is None:
        return "" if one.method == "resampled" else "> 1,000,000"
    return f"{one.topics:,}"


def _answers(plan: TopicPlan) -> Block:
    from fathoms.cli.screen import Block, Column
    from fathoms.comparison.plan_result import TITLES

    found = plan.answers
    columns = [
        Column("test", [TITLES[one.method] for one in found], words=True),
        Column("systems", [str(one.systems) for one in found], 3),
        Column("alpha", [f"{one.alpha:.3g}" for one in found], 2),
        Column("topics", [_topics(one) for one in found]),
    ]
    if plan.n_topics is not None:
        columns.append(Column(f"power with {plan.n_topics}", [_number(one.power_now, 3) for one in found], 1))
        columns.append(Column("detectable", [_number(one.detectable) for one in found], 1))
    about = f"{plan.measure}: topics" if plan.measure else "Topics"
    return Block(columns, f"{about} to find a difference of {plan.difference:g} with power {plan.power:g}", "test")


def _curve(plan: TopicPlan) -> Block:
    from fathoms.cli.screen import Block, Column
    from fathoms.comparison.plan_result import TITLES

    points = plan.curve
    columns = [Column("topics", [f"{point.topics:,}" for point in points])]
    for place, method in enumerate(points[0].power):
        cells = [_number(point.power.get(method), 3) for point in points]
        columns.append(Column(TITLES[method], cells, place and place + 1))
    columns.append(Column("detectable", [_number(point.detectable) for point in points], 1))
    columns.append(Column("interval", [_number(point.width) for point in points], 1))
    about = f"{plan.measure}: power" if plan.measure else "Power"
    return Block(columns, f"{about} by number of topics", "row")


def _depths(plan: DepthPlan) -> Block:
    from fathoms.cli.screen import Block, Column

    some_new = any(one.new not in (None, 0, one.judgments) for one in plan.points)
    cells = {
        "depth": [f"{one.depth:,}" for one in plan.points],
        "judgments": ["" if one.judgments is None else f"{one.judgments:,}" for one in plan.points],
        "new": [f"{one.new:,}" for one in plan.points] if some_new else [],
        "residual": [_number(one.residual) for one in plan.points],
        "largest": [_number(one.largest) for one in plan.points],
        "likely": [_number(one.likely) for one in plan.points],
        "of pairs": [_number(one.likely_difference) for one in plan.points],
        "clear pairs": ["" if one.clear is None else f"{100 * one.clear:.0f}%" for one in plan.points],
    }
    columns = [Column(name, column) for name, column in cells.items() if any(column)]
    return Block(columns, f"{plan.measure.name}: what a pool of each depth leaves unknown", "depth")


def _cutoffs(plan: DepthPlan) -> Block:
    from fathoms.cli.screen import table

    rows = [[f"{one.cutoff:,}", _number(one.residual)] for one in plan.cutoffs]
    title = f"{type(plan.measure).__name__}: residual at each cut-off after a pool of depth {plan.depth:,}"
    return table(["cut-off", "residual"], rows, 0, title, "cut-off")
