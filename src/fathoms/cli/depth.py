"""How much hangs on the depth of evaluation? For each depth: how many pairs of runs a t-test separates, how well that
covers or contradicts what the pool's depth says, and how the order of the runs changes.

-o FILE writes the volatility matrix, the correlation of the runs' order at every depth with that at every other: as a
picture (.svg, .png, .pdf, .html) or as .tsv. --scores FILE writes the scores of every run at every depth.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from fathoms.cli import options

PICTURES = (".svg", ".png", ".pdf", ".html")
EXAMPLES = """examples:
  fathoms depth qrels.txt runs/ -m nDCG --depths 1:50
  fathoms depth qrels.txt runs/ -m 'AP(variant=b)' -m 'RBP(p=0.95)' --depths 1:50 --cross -o volatility.svg"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser, "without @k (nDCG)")
    parser.add_argument(
        "--depths", metavar="A:B", type=depths, default=list(range(1, 51)), help="1:50, 10:100:10 or 1,5,10 (1:50)"
    )
    parser.add_argument("--corr", choices=("tau", "tau_ap", "rbo", "pearson"), default="tau", help="correlation (tau)")
    parser.add_argument("--cross", action="store_true", help="the matrix of the first measure against the second")
    parser.add_argument(
        "--reference", metavar="D", type=options.at_least_one, help="depth to compare with (the pool's)"
    )
    parser.add_argument("--alpha", metavar="A", type=float, default=0.05, help="significance level (0.05)")
    parser.add_argument(
        "--format", choices=("table", "tsv", "json"), default="table", help="form of the output (table)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the volatility matrix here")
    parser.add_argument("--scores", metavar="FILE", type=Path, help="write all runs' scores at all depths here (tsv)")
    options.add_pooled(parser)
    options.add_order(parser)
    options.add_reading(parser)
    options.add_work(parser)


def depths(text: str) -> list[int]:
    try:
        if ":" in text:
            parts = [int(part) for part in text.split(":")]
            found = list(range(parts[0], parts[1] + 1, *parts[2:]))
        else:
            found = [int(part) for part in text.split(",")]
    except (ValueError, IndexError):
        found = []
    if not found or min(found) < 1:
        raise ArgumentTypeError(f"expected depths such as 1:50, 10:100:10 or 1,5,10, found {text!r}")
    return sorted(set(found))


def run(args: Namespace) -> int:
    from fathoms import charts
    from fathoms.cli import output
    from fathoms.comparison.correlation import swaps
    from fathoms.comparison.depth import PANES, panes, reference_depth, scores_by_depth, stable_from, volatility
    from fathoms.data.files import whole_file
    from fathoms.errors import FathomsError

    output.check_target("tsv", args.scores)
    if args.output is not None and args.output.suffix not in (*PICTURES, ".tsv"):
        raise FathomsError(f"{args.output}: expected a name that ends in {', '.join(PICTURES)} or .tsv")
    if args.output is not None and args.output.suffix in PICTURES and not charts.available():
        raise FathomsError("pictures need the extra `report`: pip install 'fathoms[report]'; or write to a .tsv file")
    names = args.measures or ["nDCG"]
    if args.cross and len(names) != 2:
        raise FathomsError("--cross needs exactly two measures")
    given = options.read_inputs(args)
    result = scores_by_depth(given.qrels, given.runs, names, args.depths, given.settings)
    reference = args.reference or reference_depth(result)
    if reference not in result.depths:
        raise FathomsError(f"the reference depth {reference} is not among --depths")
    if not args.quiet:
        output.say_notes(given.notes + result.notes)

    columns = ("measure", "depth", *PANES)
    rows = [
        (measure, *(row[name] for name in ("depth", *PANES)))
        for measure in result.scores
        for row in panes(result, measure, reference, args.alpha)
    ]
    if args.format == "tsv":
        output.put(output.delimited(columns, rows, "\t"), None)
    elif args.format == "json":
        output.put(output.records([dict(zip(columns, row, strict=True)) for row in rows]), None)
    else:
        shown = [[str(v) if isinstance(v, str | int) else f"{v:.4f}" for v in row] for row in rows]
        output.put(output.aligned_text(columns, shown, numbers_from=1), None)

    measures = list(result.scores)
    first, second = measures[0], measures[1] if args.cross else None
    matrix = volatility(result, first, second, args.corr)
    if not args.quiet:
        print(
            f"fathoms: runs are judged to about depth {result.pooled}; compared with depth {reference}", file=sys.stderr
        )
        for measure in measures:
            start = stable_from(volatility(result, measure, kind=args.corr), result.depths)
            what = f"from depth {start} on" if start is not None else "at no depth"
            print(f"fathoms: {measure}: {args.corr} between any two depths is 0.9 or more {what}", file=sys.stderr)
            means = result.means(measure)
            changed = swaps(means[result.depths.index(reference)], means[-1])
            if changed:
                better, worse = (result.runs[i] for i in changed[0])
                print(
                    f"fathoms: {measure}: {len(changed):,} pairs change places from depth {reference} to "
                    f"{result.depths[-1]}, such as {better} and {worse}",
                    file=sys.stderr,
                )
    if args.output is not None:
        cells = [(a, b, float(matrix[i, j])) for i, a in enumerate(result.depths) for j, b in enumerate(result.depths)]
        head = (f"{first} depth", f"{second or first} depth ", args.corr)
        if args.output.suffix == ".tsv":
            output.put(output.delimited((head[0], head[1].strip() + "_2", head[2]), cells, "\t"), args.output)
        else:
            import polars as pl

            frame = pl.DataFrame(cells, schema=list(head), orient="row")
            chart = charts.volatility(frame, *head, pooled=result.pooled)
            with whole_file(args.output) as path:
                chart.save(path, **({"inline": True} if args.output.suffix == ".html" else {}))
    if args.scores is not None:
        table = [
            (run, measure, depth, float(value))
            for measure in measures
            for place, depth in enumerate(result.depths)
            for run, value in zip(result.runs, result.means(measure)[place], strict=True)
        ]
        output.put(output.delimited(("run", "measure", "depth", "score"), table, "\t"), args.scores)
    return 0
