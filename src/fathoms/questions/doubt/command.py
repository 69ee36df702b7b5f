"""How sure is this number, what makes it unsure, and what would help most?

For one run's score, or for the difference of two: how far each source of doubt could move it, which part of the
variance each has, and what would halve it. Sources are topics (others like these), judging (likely and possible), ties,
and the cut-off. With more runs, --of names the one or two in question, and the others help the estimates.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.questions.doubt.result import Budget, Doubt

EXAMPLES = (
    ("how sure is this score, and why is it no surer?", "fathoms doubt qrels.txt mine.run -m nDCG@10"),
    (
        "what keeps one run from being better than the other, and what would settle it most cheaply?",
        "fathoms doubt qrels.txt mine.run baseline.run -m nDCG@10 --cost-topic 200 --cost-judgment 1",
    ),
)
MORE = """more examples:
  fathoms doubt qrels.txt runs/ --of mine -m AP -o sounding.svg
  fathoms doubt qrels.txt mine.run baseline.run --judge-first todo.tsv"""

PICTURES = (".svg", ".png", ".pdf")


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_question(parser, "doubt")
    parser.add_argument(
        "--judge-first",
        metavar="FILE",
        type=Path,
        help="write the documents that halve the doubt from judging to FILE, the most telling first (tsv)",
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_reading(parser, *options.ORDER, *options.RANGES, *options.READ_SUBTOPICS, *options.WORK)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base import charts
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_not_read, check_writable
    from fathoms.cli import output

    picture = args.output is not None and args.output.suffix in PICTURES
    if picture:
        charts.require()
    if args.judge_first is not None:
        check_writable(args.judge_first)
        check_not_read(args.judge_first, [args.qrels, *args.runs, *args.labels])
        if args.judge_first == args.output:
            raise FathomsError(f"{args.output} is to hold two things at once; give each output a file of its own")
    options.check_different(args.runs, "give each run once")
    exp = options.experiment(args)
    result = exp.doubt(**options.arguments(args, "doubt"))
    if args.judge_first is not None:
        columns = ("topic", "document", *(f"rank_{run}" for run in result.ranked))
        output.put(output.delimited(columns, result.records_to_judge(), "\t"), args.judge_first)
    if picture:
        output.save_chart(result.chart(), args.output)
        args.output = None
    output.present(result, args, lambda: [_block(result, budget) for budget in result.budgets], experiment=exp)
    return 0


def _block(result: Doubt, budget: Budget) -> Block:
    """The sources from the inside out, all drawn on one scale."""
    from fathoms.base.text import pluralise
    from fathoms.cli.screen import Block, Column, drawing
    from fathoms.questions.doubt.words import bar, lead, shown, source_title

    budget = lead(budget)
    sources, form = shown(budget), "+.4f" if len(result.runs) == 2 else ".4f"
    ends = (
        min(budget.score, *(source.low for source in sources)),
        max(budget.score, *(source.high for source in sources)),
    )

    def draw(width: int) -> list[str]:
        left, right = (format(end, form.replace("4", "2")) for end in ends)
        return [f"{left}{right:>{width - len(left)}}", *(bar(source, budget.score, ends, width) for source in sources)]

    halved = [pluralise(source.halved_by, source.unit[:-1]) if source.halved_by else "" for source in sources]
    return Block(
        [
            Column(
                f"{budget.measure.name}: {budget.score:{form}}",
                [source_title(budget, source) for source in sources],
                words=True,
            ),
            Column("low", [format(round(source.low, 4) + 0.0, form) for source in sources]),
            Column("high", [format(round(source.high, 4) + 0.0, form) for source in sources]),
            Column("share", ["" if source.share is None else f"{100 * source.share:.0f}%" for source in sources]),
            Column("halved by", halved, 2),
            drawing(draw, 1),
        ],
        noun="source",
    )
