"""Pool runs: the documents that stand in the top of any of them, in the order in which they would be judged.

Without --qrels the list of documents to judge, as TSV with topic, document and the least depth at which a run has it.
With --qrels the judgments that a shallower pool would have had, as a qrels file.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from fathoms import choices
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
    options.add_choice(
        parser,
        "--prefix-order",
        choices=choices.PREFIX_ORDERS,
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

    exp = options.experiment(args, memory_mb=0)
    found = exp.pool(depth=args.depth, budget=args.budget, per_topic=args.per_topic, prefix_order=args.prefix_order)
    if found.qrels is None:
        text = output.delimited(found.columns, found.rows(), "\t")
        what = f"{len(found.documents):,} documents to judge"
    else:
        text = found.qrels.to_text()
        what = f"{len(found.qrels):,} of {len(exp.qrels):,} judgments"
    output.put(text, args.output)
    output.say_notes(exp, found, args)
    if not args.quiet:
        print(f"fathoms: {what}, pooled from {found.pooled_from} runs", file=sys.stderr)
    return 0
