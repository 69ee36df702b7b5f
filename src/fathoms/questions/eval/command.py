"""Score runs against judgments, each value with the range it could have.

score counts unjudged documents as not relevant; low and high are the least and greatest value over every way of
judging them; tie_low, tie_high and tie_expected cover all orders of documents with equal scores; ci_low and ci_high are
the interval of a mean over topics like these. --likely adds the estimate of `fathoms predict`, its interval, and one
with both in it, topics and judging (combined_low, combined_high).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fathoms.base.choices import PAPER_FORMS
from fathoms.cli import options

EXAMPLES = (
    ("which run scores highest, and what could unjudged documents change?", "fathoms eval qrels.txt runs/"),
    (
        "two measures, topic by topic, for a spreadsheet",
        "fathoms eval qrels.txt bm25.run -m AP -m nDCG@10 --by-topic --format tsv",
    ),
)
MORE = """more examples:
  fathoms eval qrels.txt 'runs/*.run' -m AP@100 --universe all --ties expected
  fathoms eval qrels.txt runs/ -m nDCG@10 --topic-groups intents.tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_question(parser, "evaluate")
    parser.add_argument(
        "--likely",
        action="store_true",
        help="what `fathoms predict` estimates too: the score once judged, the interval it is likely to be in, and one "
        "for topics and judging together",
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet", "trec_eval", *PAPER_FORMS))
    options.add_reading(
        parser,
        *options.ORDER,
        "band",
        *options.RANGES,
        *options.GROUPS,
        *options.UNITS,
        *options.READ_SUBTOPICS,
        *options.WORK,
    )
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_folder
    from fathoms.base.parallel import finished
    from fathoms.cli import output

    if args.resume is not None:
        check_folder(args.resume)
    if args.likely and args.format in ("trec_eval", *PAPER_FORMS):
        raise FathomsError(f"--likely has no place in --format {args.format}; use table, tsv, csv, json or parquet")
    if args.topic_groups is not None and args.format == "trec_eval":
        raise FathomsError("--topic-groups has no place in --format trec_eval; use another format")
    exp = options.experiment(args, memory_mb=None if args.likely else 0)
    result = exp.evaluate(
        **options.arguments(args, "evaluate"),
        scores_only=args.format == "trec_eval",  # which has no place for ranges
    )
    likely = None
    if args.likely:
        from fathoms.questions.eval.likely_command import with_estimates

        likely = with_estimates(exp, result)
    output.present(
        likely or result,
        args,
        lambda: output.score_blocks(result, {} if likely is None else likely.estimates),
        others={"trec_eval": lambda: output.trec_eval(result), **output.paper_forms(result)},
        experiment=exp,
    )
    if args.resume is not None:
        finished(args.resume)
    return 0
