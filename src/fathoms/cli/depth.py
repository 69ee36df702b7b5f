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

from fathoms import choices
from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.comparison.depth import DepthAnalysis

# What a narrow terminal leaves out of the table: the higher, the sooner.
LEVELS = {"tau": 0, "discrimination": 0, "inversion": 1, "coverage": 2, "pearson": 3, "median_p": 4}
PICTURES = (".svg", ".png", ".pdf", ".html")
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
    options.add_measures(parser, "without @k (nDCG)")
    parser.add_argument(
        "--depths",
        metavar="A:B",
        type=options.checker(choices.depths),
        default=list(range(1, 51)),
        help="1:50, 10:100:10 or 1,5,10 (1:50)",
    )
    options.add_choice(
        parser,
        "--corr",
        choices=choices.CORRELATIONS,
        default="tau",
        help="correlation, or rmse: the distance of the runs' means (tau)",
    )
    parser.add_argument("--cross", action="store_true", help="the matrix of the first measure against the second")
    parser.add_argument(
        "--reference", metavar="D", type=options.at_least_one, help="depth to compare with (the pool's)"
    )
    parser.add_argument("--alpha", metavar="A", type=options.share, default=0.05, help="significance level (0.05)")
    options.add_all(parser)
    options.add_choice(
        parser, "--format", choices=("table", "tsv", "json"), default="table", help="form of the output (table)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the volatility matrix here")
    parser.add_argument("--scores", metavar="FILE", type=Path, help="write all runs' scores at all depths here (tsv)")
    options.add_pooled(parser)
    options.add_order(parser)
    options.add_reading(parser)
    options.add_work(parser)


def _blocks(result: DepthAnalysis) -> list[Block]:
    """A table for each measure; the scores' differences before what they do to the order."""
    from fathoms.cli.screen import Block, Column
    from fathoms.text import p_cell

    rows = result.rows()
    blocks = []
    for measure in result.measures:
        found = [row for row in rows if row[0] == measure]
        columns = [Column(measure, [f"depth {row[1]}" for row in found], words=True)]
        for place, name in enumerate(result.columns[2:], 2):
            cells = [p_cell(row[place]) if name == "median_p" else f"{row[place]:.4f}" for row in found]
            columns.append(Column(name, cells, LEVELS[name]))
        blocks.append(Block(columns, noun="depth"))
    return blocks


def run(args: Namespace) -> int:
    from fathoms import charts
    from fathoms.cli import output
    from fathoms.errors import FathomsError

    output.check_target("tsv", args.scores)
    if args.output is not None and args.output.suffix not in (*PICTURES, ".tsv"):
        raise FathomsError(f"{args.output}: expected a name that ends in {', '.join(PICTURES)} or .tsv")
    if args.output is not None and args.output.suffix in PICTURES:
        charts.require()
    names = args.measures or ["nDCG"]
    if args.cross and len(names) != 2:
        raise FathomsError("--cross needs exactly two measures")
    exp = options.experiment(args, memory_mb=0)
    with output.progress(len(exp.runs), args.quiet) as step:
        result = exp.depth(
            names, args.depths, correlation=args.corr, reference=args.reference, alpha=args.alpha, progress=step
        )
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
