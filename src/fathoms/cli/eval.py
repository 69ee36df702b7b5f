"""Score runs against judgments, each value with the range it could have.

score counts unjudged documents as not relevant; low and high are the least and greatest value over every way of
judging them; tie_low, tie_high and tie_expected go over all orders of documents with equal scores. --likely adds the
estimate of `fathoms predict` and its interval.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.experiment.evaluate import Evaluation

EXAMPLES = """examples:
  fathoms eval qrels.txt runs/
  fathoms eval qrels.txt bm25.run.gz -m AP -m 'RBP(p=0.8)' --by-topic --format tsv -o scores.tsv
  fathoms eval qrels.txt 'runs/*.run' -m AP@100 --universe all --ties expected
  fathoms eval qrels.txt runs/ -m nDCG@10 --topic-groups intents.tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    parser.add_argument("-q", "--by-topic", action="store_true", help="a row for each topic too")
    parser.add_argument(
        "--likely",
        action="store_true",
        help="what `fathoms predict` estimates too: the score once judged, and the interval it is likely to be in",
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet", "trec_eval", "latex"))
    options.add_order(parser)
    options.add_band(parser)
    options.add_ranges(parser)
    options.add_topic_groups(parser)
    options.add_reading(parser)
    options.add_work(parser)
    parser.add_argument(
        "--resume",
        metavar="DIR",
        type=Path,
        help="keep finished runs in DIR; the same command goes on from there after an interruption",
    )


def run(args: Namespace) -> int:
    from fathoms.cli import output
    from fathoms.data.files import check_folder
    from fathoms.errors import FathomsError
    from fathoms.experiment.evaluate import DEFAULT_MEASURES
    from fathoms.parallel import finished

    if args.resume is not None:
        check_folder(args.resume)
    if args.likely and args.format in ("trec_eval", "latex"):
        raise FathomsError(f"--likely has no place in --format {args.format}; use table, tsv, csv, json or parquet")
    if args.topic_groups is not None and args.format == "trec_eval":
        raise FathomsError("--topic-groups has no place in --format trec_eval; use another format")
    exp = options.experiment(args, memory_mb=None if args.likely else 0)
    with output.progress(sum(len(exp.runs.parts(name)) for name in exp.runs), args.quiet) as step:
        result = exp.evaluate(
            args.measures or DEFAULT_MEASURES,
            by_topic=args.by_topic,
            scores_only=args.format == "trec_eval",  # which has no place for ranges
            resume=args.resume,
            progress=step,
        )
    output.say_notes(exp, result, args)
    if args.likely:
        _write_likely(exp, result, args)
    else:
        output.write(result, args)
    if args.resume is not None:
        finished(args.resume)
    return 0


LIKELY = ("estimate", "likely_low", "likely_high")


def _write_likely(exp: Experiment, result: Evaluation, args: Namespace) -> None:
    """The scores, and three columns more; in a table a part of its own."""
    from fathoms.cli import output
    from fathoms.estimate.draws import drawable

    measures = [measure for measure in result.measures if measure.range_is != "none" and drawable(measure)]
    found = exp.predict(measures, by_topic=args.by_topic) if measures else None
    estimates = {} if found is None else {row[:3]: row[7:] for row in found.rows()}
    if found is not None and found.calibrated is not None and result.groups is not None:
        of_groups = found.calibrated.by_group(result.groups, found.level)
        estimates = {key: estimates[key] for key in estimates if key[1] != "all"} | of_groups | estimates
    if args.format != "table":
        rows = [(*row, *estimates.get(tuple(row[:3]), (None,) * len(LIKELY))) for row in result.rows()]
        output.put_rows((*result.columns, *LIKELY), rows, args, result.words)
        return
    shown = [[*key, *(f"{value:.4f}" for value in values)] for key, values in estimates.items()]
    parts = [output.table(result, wide=args.output is not None, quiet=args.quiet)]
    if found is not None:
        parts.append(output.aligned_text((*result.columns[:3], *LIKELY), shown, numbers_from=3))
        parts += [] if args.quiet else ["".join(f"{sentence}\n" for sentence in found.sentences)]
    output.put("\n".join(parts), args.output)
