"""Score runs against judgments, each value with the range it could have.

score counts unjudged documents as not relevant; low and high are the least and greatest value over every way of
judging them; tie_low, tie_high and tie_expected go over all orders of documents with equal scores.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fathoms.cli import options

EXAMPLES = """examples:
  fathoms eval qrels.txt runs/
  fathoms eval qrels.txt bm25.run.gz -m AP -m 'RBP(p=0.8)' --by-topic --format tsv -o scores.tsv
  fathoms eval qrels.txt 'runs/*.run' -m AP@100 --universe given --ties expected"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    parser.add_argument("-q", "--by-topic", action="store_true", help="a row for each topic too")
    parser.add_argument(
        "--topics",
        choices=("all", "intersect"),
        default="all",
        help="mean over all topics of the qrels (default), or over those the run has too, as trec_eval does",
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet", "trec_eval", "latex"))
    options.add_order(parser)
    options.add_ranges(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output
    from fathoms.data.qrels import read_qrels
    from fathoms.data.runs import scan_runs
    from fathoms.measures.evaluate import DEFAULT_MEASURES, Options, evaluation, prepare_measures

    options.check_sources(args)
    output.check_target(args.format, args.output)
    measures = prepare_measures(args.measures or DEFAULT_MEASURES, bounds=args.bounds, universe=args.universe)
    qrels = read_qrels(args.qrels, lenient=args.lenient, junk=args.junk)
    runs = scan_runs(args.runs, names=args.names, lenient=args.lenient)
    notes: list[str] = []
    pooled = options.pooled_names(args, runs, notes)
    settings = Options(args.ties, args.score_precision, args.topics, pooled, args.workers, args.seed)
    with output.progress(len(runs), args.quiet) as step:
        result = evaluation(qrels, runs, measures, settings, by_topic=args.by_topic, progress=step)
    if not args.quiet:
        output.say_notes(notes + result.notes)
    output.write(result, args.format, args.output, quiet=args.quiet)
    return 0
