"""How much depends on the depth of evaluation?

For each depth: how many pairs of runs a t-test separates (discrimination), how many of those that it separates at the
pool's depth (coverage), how many it separates in the opposite order (inversion), and how alike the runs' orders are.

-o FILE writes the volatility matrix, the correlation of the runs' order at every depth with that at every other: as a
picture (.svg, .png, .pdf, .html) or as .tsv. --scores FILE writes the scores of every run at every depth.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options
from fathoms.cli.output import PICTURES

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.questions.depth.analysis import DepthAnalysis

# What a narrow terminal leaves out of the table: the higher, the sooner.
LEVELS = {
    "tau": 0,
    "discrimination": 0,
    "inversion": 1,
    "coverage": 2,
    "pearson": 3,
    "median_p": 4,
    "error_rate": 2,
    "tied": 3,
}
EXAMPLES = (
    (
        "from which depth on does nDCG order the runs in the same way?",
        "fathoms depth qrels.txt runs/ -m nDCG --depths 1:50",
    ),
    (
        "how alike are the orders at all pairs of depths? as a picture",
        "fathoms depth qrels.txt runs/ -m AP --depths 1:50 -o volatility.svg",
    ),
)
MORE = """more examples:
  fathoms depth qrels.txt runs/ -m 'AP(variant=b)' -m 'RBP(p=0.95)' --depths 1:50 --cross -o volatility.svg"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_question(parser, "depth")
    parser.add_argument("--cross", action="store_true", help="the matrix of the first measure against the second")
    options.add_all(parser)
    options.add_choice(
        parser, "--format", choices=("table", "tsv", "json"), default="table", help="form of the output (table)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the volatility matrix here")
    parser.add_argument("--scores", metavar="FILE", type=Path, help="write all runs' scores at all depths here (tsv)")
    options.add_reading(parser, *options.POOL, *options.ORDER, *options.READ_SUBTOPICS, *options.WORK)
    options.add_talk(parser)


def _blocks(result: DepthAnalysis) -> list[Block]:
    """A table for each measure; the scores' differences before what they do to the order."""
    from fathoms.base.text import p_cell
    from fathoms.cli.screen import Block, Column

    rows = result.records()
    blocks = []
    for measure in result.measures:
        of_measure = [row for row in rows if row["measure"] == measure]
        columns = [Column(measure, [f"depth {row['depth']}" for row in of_measure], words=True)]
        for name in result.columns[2:]:
            show = p_cell if name == "median_p" else "{:.4f}".format
            cells = ["" if row[name] is None else show(row[name]) for row in of_measure]
            columns.append(Column(name, cells, LEVELS[name]))
        blocks.append(Block(columns, noun="depth"))
    return blocks


def run(args: Namespace) -> int:
    from fathoms.base import charts
    from fathoms.base.errors import FathomsError
    from fathoms.cli import output

    output.check_target("tsv", args.scores)
    if args.output is not None and args.output.suffix not in (*PICTURES, ".tsv"):
        raise FathomsError(f"{args.output}: expected a name that ends in {', '.join(PICTURES)} or .tsv")
    if args.output is not None and args.output.suffix in PICTURES:
        charts.require()
    if args.cross and len(args.measures or ()) != 2:
        raise FathomsError("--cross needs exactly two measures")
    exp = options.experiment(args)
    result = exp.depth(**options.arguments(args, "depth"))
    shown = Namespace(**{**vars(args), "output": None})
    output.present(result, shown, lambda: _blocks(result), experiment=exp)
    if args.output is not None and args.output.suffix == ".tsv":
        matrix = result.volatility(args.cross)
        output.put(output.delimited(matrix.columns, matrix.rows(), "\t"), args.output)
    elif args.output is not None:
        output.save_chart(result.chart("cross" if args.cross else None), args.output)
    if args.scores is not None:
        output.put(output.delimited(("run", "measure", "depth", "score"), result.scores(), "\t"), args.scores)
    return 0
