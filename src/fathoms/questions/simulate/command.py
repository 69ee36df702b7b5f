"""Make a test collection of which the truth is known.

Writes runs/, qrels.txt with the judgments of a pool, truth.txt with
the complete ones, pooled.txt, which names the runs that contributed to the pool, and groups.tsv with each run's team.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from fathoms.cli import options

EXAMPLES = (
    (
        "a collection of 20 systems and 50 topics to try things on",
        "fathoms simulate -o sim --systems 20 --n-topics 50 --seed 7",
    ),
    (
        "one with texts to judge, and with runs whose ranks contradict their scores",
        "fathoms simulate -o odd --texts --contradictions 0.1",
    ),
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="folder to make")
    for name, default, meaning in (
        ("systems", 10, "number of runs"),
        ("n-topics", 25, "number of topics"),
        ("n-docs", 5000, "documents in the collection"),
        ("depth", 1000, "documents per run and topic"),
        ("pool-depth", 20, "top documents of each pooled run that are judged"),
        ("max-grade", 2, "greatest grade"),
    ):
        parser.add_argument(
            f"--{name}", metavar="N", type=options.at_least_one, default=default, help=f"{meaning} ({default})"
        )
    parser.add_argument(
        "--teams", metavar="N", type=options.at_least_one, help="teams that the runs come from (a third of the systems)"
    )
    parser.add_argument(
        "--unpooled",
        metavar="N",
        type=options.at_least_zero,
        help="runs that do not contribute to the pool (all but two of each team, and the last team)",
    )
    parser.add_argument(
        "--ties", metavar="SHARE", type=float, default=0.1, help="share of documents tied with the one before (0.1)"
    )
    parser.add_argument(
        "--contradictions",
        metavar="SHARE",
        type=float,
        default=0.0,
        help="share of runs whose ranks contradict their scores (0)",
    )
    parser.add_argument(
        "--texts", action="store_true", help="write topics.jsonl and, for all retrieved documents, docs.jsonl"
    )
    parser.add_argument(
        "--seed", metavar="N", type=options.at_least_zero, default=0, help="another seed, another collection (0)"
    )
    options.add_quiet(parser)


def run(args: Namespace) -> int:
    from fathoms.base.errors import FathomsError
    from fathoms.data.simulate import simulate, write

    if args.output.exists():
        raise FathomsError(f"{args.output} exists already; choose another folder or remove it first")
    collection = simulate(
        systems=args.systems,
        n_topics=args.n_topics,
        n_docs=args.n_docs,
        depth=args.depth,
        pool_depth=args.pool_depth,
        unpooled=args.unpooled,
        teams=args.teams,
        max_grade=args.max_grade,
        ties=args.ties,
        contradictions=args.contradictions,
        texts=args.texts,
        seed=args.seed,
    )
    write(collection, args.output)
    if not args.quiet:
        print(
            f"{args.output}: {args.systems} runs, {args.n_topics} topics, {len(collection.qrels):,} judgments; "
            f"try: fathoms eval {args.output}/qrels.txt {args.output}/runs",
            file=sys.stderr,
        )
    return 0
