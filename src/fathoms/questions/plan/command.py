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

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.questions.plan.judging_depth import DepthPlan
    from fathoms.questions.plan.result import Plan, TopicAnswer, TopicPlan

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
    options.add_question(parser, "plan")
    parser.add_argument(
        "--chart", metavar="FILE", type=Path, help="draw power by number of topics, or without topics residual by depth"
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_reading(parser, *options.POOL, *options.UNITS, *options.ORDER, *options.READ_SUBTOPICS, *options.WORK)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base import charts
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_not_read, check_writable
    from fathoms.cli import output

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
    result = exp.plan(**options.arguments(args, "plan"))
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


def _topics(answer: TopicAnswer) -> str:
    if answer.topics is None:
        return "" if answer.method == "resampled" else "> 1,000,000"
    return f"{answer.topics:,}"


def _answers(plan: TopicPlan) -> Block:
    from fathoms.cli.screen import Block, Column, cell
    from fathoms.questions.plan.result import TITLES

    answers = plan.answers
    columns = [
        Column("test", [TITLES[answer.method] for answer in answers], words=True),
        Column("systems", [str(answer.systems) for answer in answers], 3),
        Column("alpha", [f"{answer.alpha:.3g}" for answer in answers], 2),
        Column(f"{plan.drawn}s", [_topics(answer) for answer in answers]),
    ]
    if plan.n_topics is not None:
        columns.append(Column(f"power with {plan.n_topics}", [cell(answer.power_now, ".3f") for answer in answers], 1))
        columns.append(Column("detectable", [cell(answer.detectable) for answer in answers], 1))
    about = f"{plan.measure}: {plan.drawn}s" if plan.measure else "Topics"
    return Block(columns, f"{about} to find a difference of {plan.difference:g} with power {plan.power:g}", "test")


def _curve(plan: TopicPlan) -> Block:
    from fathoms.cli.screen import Block, Column, cell
    from fathoms.questions.plan.result import TITLES

    points = plan.curve
    columns = [Column(f"{plan.drawn}s", [f"{point.topics:,}" for point in points])]
    for place, method in enumerate(points[0].power):
        cells = [cell(point.power.get(method), ".3f") for point in points]
        columns.append(Column(TITLES[method], cells, place and place + 1))
    columns.append(Column("detectable", [cell(point.detectable) for point in points], 1))
    columns.append(Column("interval", [cell(point.width) for point in points], 1))
    about = f"{plan.measure}: power" if plan.measure else "Power"
    return Block(columns, f"{about} by number of {plan.drawn}s", "row")


def _depths(plan: DepthPlan) -> Block:
    from fathoms.cli.screen import Block, Column, cell

    some_new = any(point.new not in (None, 0, point.judgments) for point in plan.points)
    cells = {
        "depth": [f"{point.depth:,}" for point in plan.points],
        "judgments": [cell(point.judgments, whole=",") for point in plan.points],
        "new": [f"{point.new:,}" for point in plan.points] if some_new else [],
        "residual": [cell(point.residual) for point in plan.points],
        "largest": [cell(point.largest) for point in plan.points],
        "likely": [cell(point.likely) for point in plan.points],
        "of pairs": [cell(point.likely_difference) for point in plan.points],
        "clear pairs": ["" if point.clear is None else f"{100 * point.clear:.0f}%" for point in plan.points],
    }
    columns = [Column(name, column) for name, column in cells.items() if any(column)]
    return Block(columns, f"{plan.measure.name}: what a pool of each depth leaves unknown", "depth")


def _cutoffs(plan: DepthPlan) -> Block:
    from fathoms.cli.screen import cell, table

    rows = [[f"{point.cutoff:,}", cell(point.residual)] for point in plan.cutoffs]
    title = f"{type(plan.measure).__name__}: residual at each cut-off after a pool of depth {plan.depth:,}"
    return table(["cut-off", "residual"], rows, 0, title, "cut-off")
