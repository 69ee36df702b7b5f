"""Pool runs: the top documents of all of them, in the order in which to judge.

Without --qrels the list of documents to judge, as TSV with topic, document and the least depth at which a run has it.
With --qrels the judgments that a shallower pool would have had, as a qrels file; -o FILE.csv, .json or .jsonl makes it
one of these, for ids with blanks in them.

With --sample N a random sample of the pool: its documents each with its probability of being drawn,
those to judge first. What --qrels has judged is left out of the draw.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms import choices
from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.estimate.drawing import SampledDocuments
    from fathoms.experiment.pooling import PooledDocuments

EXAMPLES = (
    ("which documents are to be judged for a pool of depth 20?", "fathoms pool runs/ --depth 20 -o to-judge.tsv"),
    (
        "which judgments would a pool of depth 10 have had?",
        "fathoms pool runs/ --qrels qrels.txt --depth 10 -o qrels-depth10.txt",
    ),
)
MORE = """more examples:
  fathoms pool runs/ --qrels qrels.txt --budget 1000 --prefix-order shuffle --seed 3 -o qrels-1000.txt
  fathoms pool runs/ --depth 100 --sample 500 --design depth -o sample.tsv
  fathoms pool runs/ --qrels qrels.txt --depth 100 --sample 200 --design probe --seed 7 -o probe.tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="runs: files, folders or quoted globs")
    parser.add_argument("--qrels", metavar="QRELS", help="take the judgments of pooled documents from this file")
    parser.add_argument("--depth", metavar="D", type=options.at_least_one, help="the top D documents of each run")
    parser.add_argument("--budget", metavar="N", type=options.at_least_one, help="N documents, shallowest first")
    parser.add_argument(
        "--sample",
        metavar="N",
        type=options.at_least_one,
        help="N documents drawn at random (from --depth, or from all)",
    )
    options.add_choice(
        parser,
        "--design",
        choices=choices.DESIGNS,
        help="how --sample draws: all alike (uniform), by least rank (depth) or by probability of relevance (score) in "
        "strata, or each with its own chance (probe)",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        action="append",
        default=[],
        help="for --design score and probe: lines `topic document value` that tell relevant documents from others; may "
        "be repeated",
    )
    parser.add_argument("--per-topic", action="store_true", help="--budget or --sample is for each topic")
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
    parser.add_argument(
        "--seed", metavar="N", type=options.at_least_zero, default=0, help="seed of shuffle and sample (0)"
    )
    options.add_all(parser)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output, screen
    from fathoms.estimate.drawing import SampledDocuments

    exp = options.experiment(args, memory_mb=0)
    found = exp.pool(
        depth=args.depth,
        budget=args.budget,
        per_topic=args.per_topic,
        prefix_order=args.prefix_order,
        sample=args.sample,
        design=args.design,
        labels=args.labels,
    )
    if isinstance(found, SampledDocuments):
        what = f"{found.n_to_judge:,} documents to judge, the first of {len(found.documents):,}"
    elif found.qrels is None:
        what = f"{len(found.documents):,} documents to judge"
    else:
        what = f"{len(found.qrels):,} of {len(exp.qrels):,} judgments"
    said = output.Said([f"{what}, pooled from {found.pooled_from} runs."], (), found.notes)
    # A list for programs: only a terminal, which has no use for all of it, gets a page.
    args.format = "table" if args.output is None and not args.all and screen.terminal() is not None else "tsv"
    output.present(said, args, lambda: [_block(found)], experiment=exp, put_data=lambda _, args: _put(found, args))
    return 0


def _put(found: PooledDocuments | SampledDocuments, args: Namespace) -> None:
    from fathoms.cli import output

    qrels = getattr(found, "qrels", None)
    text = (
        output.delimited(found.columns, found.rows(), "\t") if qrels is None else output.qrels_text(qrels, args.output)
    )
    output.put(text, args.output)


def _block(found: PooledDocuments | SampledDocuments) -> Block:
    from fathoms.cli.screen import table

    qrels = getattr(found, "qrels", None)
    if qrels is not None:
        frame = qrels.to_frame()
        return table(frame.columns, [_cells(row) for row in frame.iter_rows()], 2, noun="judgment")
    return table(found.columns, [_cells(row) for row in found.rows()], 2, noun="document")


def _cells(row: Sequence[Any]) -> list[str]:
    return ["" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
