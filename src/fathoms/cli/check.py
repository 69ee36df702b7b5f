"""Is every file sound? Finds errors (format, duplicates), warnings (ids that match nothing, or only once written
another way, chunks against documents, ranks that contradict scores, missing topics) and notes (ties, judged share).

Exit status 1 if there are errors, with --strict also if there are warnings; 2 if a file is not there.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fathoms.cli import options

EXAMPLES = """examples:
  fathoms check qrels.txt runs/
  fathoms check qrels.txt 'submissions/*.gz' --strict --format tsv
  fathoms check qrels.txt runs/ --corpus-ids corpus.jsonl --train-qrels train.tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    parser.add_argument(
        "--corpus-ids",
        metavar="FILE",
        help="ids of all documents of the corpus, one per line or in a column: finds judged and retrieved documents "
        "that are not in it",
    )
    parser.add_argument(
        "--train-qrels",
        metavar="FILE",
        help="judgments that systems were trained on: finds topics and judgments that are in both",
    )
    options.add_output(parser, ("table", "tsv", "json"))
    parser.add_argument(
        "--nonrelevant-grade",
        metavar="GRADE",
        dest="junk",
        type=float,
        help="a negative grade that means judged, not relevant",
    )
    options.add_quiet(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args, memory_mb=0)
    with output.progress(len(exp.runs), args.quiet) as step:
        found = exp.check(corpus_ids=args.corpus_ids, train_qrels=args.train_qrels, progress=step)
    if args.format == "table":
        text = "".join(f"{finding.level:7}  {finding.file}: {finding.message}\n" for finding in found.findings)
        output.put(text, args.output)
    else:
        output.put_result(found, args)
    output.say_sentences(found, args)
    return 1 if found.count("error") or (args.strict and found.count("warning")) else 0
