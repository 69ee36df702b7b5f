"""Pool runs: the documents that stand in the top of any of them, in the order in which they would be judged.

Without --qrels the list of documents to judge, as TSV with topic, document and the least depth at which a run has it.
With --qrels the judgments that a shallower pool would have had, as a qrels file.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from fathoms.cli import options

EXAMPLES = """examples:
  fathoms pool runs/ --depth 20 -o to-judge.tsv
  fathoms pool runs/ --qrels qrels.txt --depth 10 -o qrels-depth10.txt
  fathoms pool runs/ --qrels qrels.txt --budget 1000 --prefix-order shuffle --seed 3 -o qrels-1000.txt"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="runs: files, folders or quoted globs")
    parser.add_argument("--qrels", metavar="QRELS", help="take the judgments of pooled documents from this file")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--depth", metavar="D", type=options.at_least_one, help="the top D documents of each run")
    size.add_argument("--budget", metavar="N", type=options.at_least_one, help="N documents, shallowest first")
    parser.add_argument("--per-topic", action="store_true", help="--budget is for each topic")
    parser.add_argument(
        "--prefix-order",
        choices=("file", "shuffle"),
        default="file",
        help="which documents of one depth come first: those first in the qrels (or by id), or a seeded shuffle",
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of standard output")
    options.add_pooled(parser)
    options.add_order(parser)
    options.add_reading(parser)
    parser.add_argument("--seed", metavar="N", type=options.at_least_zero, default=0, help="seed of the shuffle (0)")
    options.add_quiet(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output
    from fathoms.data.qrels import read_qrels
    from fathoms.data.runs import scan_runs
    from fathoms.errors import FathomsError
    from fathoms.evidence.order import default_precision
    from fathoms.evidence.pool import pool_documents, pool_judgments

    options.check_sources(args)
    output.check_target("tsv", args.output)
    runs = scan_runs(args.runs, names=args.names, lenient=args.lenient)
    notes: list[str] = []
    pooled = options.pooled_names(args, runs, notes)
    names = [name for name in (pooled or runs) if name in runs]
    if not names:
        raise FathomsError(f"none of the runs named in {args.pooled} is among the given ones")
    precision = args.score_precision or default_precision(args.ties)
    seed = args.seed if args.prefix_order == "shuffle" else None
    size = {"depth": args.depth, "budget": args.budget, "per_topic": args.per_topic, "seed": seed}
    if args.qrels is None:
        rows = pool_documents([runs[name] for name in names], args.ties, precision, **size)
        text = output.delimited(("topic", "document", "depth"), rows, "\t")
        what = f"{len(rows):,} documents to judge"
    else:
        qrels = read_qrels(args.qrels, lenient=args.lenient, junk=args.junk)
        kept = pool_judgments((runs[name] for name in names), qrels, args.ties, precision, **size)
        text = qrels.keep(kept).to_text()
        what = f"{int(kept.sum()):,} of {len(qrels):,} judgments"
    output.put(text, args.output)
    if not args.quiet:
        output.say_notes(notes)
        print(f"fathoms: {what}, pooled from {len(names)} runs", file=sys.stderr)
    return 0
