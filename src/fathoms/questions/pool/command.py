"""Pool runs: the top documents of all of them, in the order in which to judge.

Without --qrels the list of documents to judge, as TSV with topic, document and the least depth at which a run has it.
With --qrels the judgments that a shallower pool would have had, as a qrels file, or with --missing what is still to be
judged; -o FILE.csv, .json or .jsonl makes it one of these, for ids with blanks in them.

With --sample N a random sample of the pool: its documents each with its probability of being drawn, those to judge
first. What --qrels has judged is left out of the draw.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.estimate.sample_design import SampledDocuments
    from fathoms.experiment.pooling import PooledDocuments

EXAMPLES = (
    ("which documents are to be judged for a pool of depth 20?", "fathoms pool runs/ --depth 20 -o to-judge.tsv"),
    (
        "which judgments would a pool of depth 10 have had?",
        "fathoms pool runs/ --qrels qrels.txt --depth 10 -o qrels-depth10.txt",
    ),
)
MORE = """more examples:
  fathoms pool runs/ --qrels qrels.txt --depth 20 --missing -o to-judge.tsv
  fathoms pool runs/ --qrels qrels.txt --budget 1000 --prefix-order shuffle --seed 3 -o qrels-1000.txt
  fathoms pool runs/ --depth 100 --sample 500 --design depth -o sample.tsv
  fathoms pool runs/ --depth 20 --sample 200 --design label --labels gpt.txt -o sample.tsv
  fathoms pool runs/ --qrels qrels.txt --depth 100 --sample 200 --design probe --seed 7 -o probe.tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="runs: files, folders or quoted globs")
    parser.add_argument("--qrels", metavar="QRELS", help="take the judgments of pooled documents from this file")
    options.add_question(parser, "pool")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of standard output")
    options.add_reading(parser, *options.POOL, *options.ORDER, *options.READ, "seed")
    options.add_all(parser)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output, screen
    from fathoms.estimate.sample_design import SampledDocuments

    exp = options.experiment(args, memory_mb=0)
    pool = exp.pool(**options.arguments(args, "pool"))
    if isinstance(pool, SampledDocuments):
        what = f"{pool.n_to_judge:,} documents to judge, the first of {len(pool.documents):,}"
    elif pool.qrels is None:
        what = f"{len(pool.documents):,} documents to judge"
    else:
        what = f"{len(pool.qrels):,} of {len(exp.qrels):,} judgments"
    saving = getattr(pool, "saving", "")
    said = [f"{what}, pooled from {pool.pooled_from} runs.", *([saving] if saving else [])]
    result = output.Said(said, (), pool.notes)
    # A list for programs: only a terminal, which has no use for all of it, gets a page.
    args.format = "table" if args.output is None and not args.all and screen.terminal() is not None else "tsv"
    output.present(result, args, lambda: [_block(pool)], experiment=exp, put_data=lambda _, args: _put(pool, args))
    return 0


def _put(pool: PooledDocuments | SampledDocuments, args: Namespace) -> None:
    from fathoms.cli import output

    qrels = getattr(pool, "qrels", None)
    text = output.delimited(pool.columns, pool.rows(), "\t") if qrels is None else output.qrels_text(qrels, args.output)
    output.put(text, args.output)


def _block(pool: PooledDocuments | SampledDocuments) -> Block:
    from fathoms.cli.screen import cell, table

    qrels = getattr(pool, "qrels", None)
    if qrels is not None:
        frame = qrels.to_frame()
        return table(
            frame.columns, [[cell(value, ".4g") for value in row] for row in frame.iter_rows()], 2, noun="judgment"
        )
    return table(pool.columns, [[cell(value, ".4g") for value in row] for row in pool.rows()], 2, noun="document")
