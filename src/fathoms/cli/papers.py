"""Regenerate a paper's tables and figures on your collection.

Writes table<N>.tsv and .tex, fig<N>.tsv and .svg, and index.md.

  rm     Ravana and Moffat 2010: score estimates from incomplete judgments, separability and reversals
  gain   Lu, Moffat and Culpepper 2016: relevance as a function of rank
  depth  Lu, Moffat and Culpepper 2016: the effect of pooling and evaluation depth on metrics
  ties   Yang, Moffat and Turpin 2016: ties in scores, and how precise scores need to be (all runs, in --ties run order)
  rtc    Carterette 2007: robust test collections, whether confidence from few judgments can be trusted (--trials
         of them, on --workers; what is interrupted goes on where it stopped when started again)

Scores are compared as float64 unless said otherwise: these studies rebuild pools from the files as they were written.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from fathoms.cli import options

EXAMPLES = (
    (
        "the tables of Ravana and Moffat's paper, on this collection",
        "fathoms papers rm qrels.txt runs/ --pooled pooled.txt -o rm",
    ),
    (
        "those of Lu, Moffat and Culpepper on depth, with teams left out",
        "fathoms papers depth qrels.txt runs/ --groups groups.tsv -o depth",
    ),
)
MORE = """more examples:
  fathoms papers gain qrels.txt runs/ --pooled pooled.txt -o gain
  fathoms papers ties qrels.txt runs/ -o ties
  fathoms papers rtc qrels.txt runs/ --trials 1000 -o rtc"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paper", choices=("rm", "gain", "depth", "ties", "rtc"), help="which paper")
    options.add_files(parser)
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--prefix-order",
        choices=("file", "shuffle"),
        default="shuffle",
        help="rm: which judgments of one depth come first: 20 seeded shuffles (default), or their order in the file",
    )
    parser.add_argument(
        "--depth",
        metavar="D",
        type=options.at_least_one,
        help="gain, depth: depth of the pool (default: inferred from what is judged), less looks at the judgments of a "
        "shallower pool; rtc: documents of each ranking (100)",
    )
    parser.add_argument("--trials", metavar="N", type=options.at_least_one, default=1000, help="rtc: draws (1000)")
    parser.add_argument(
        "--groups", metavar="FILE", type=Path, help="depth: lines `run<TAB>team`, for leaving out teams"
    )
    options.add_pooled(parser)
    options.add_order(parser)
    parser.set_defaults(ties=None)  # trec, but run for the paper on ties
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from functools import partial

    from fathoms.cli import output
    from fathoms.data.files import check_folder
    from fathoms.evidence.order import Precision, Ties
    from fathoms.papers import depth, gain, rm, rtc, ties
    from fathoms.papers.output import write_study
    from fathoms.parallel import finished

    check_folder(args.output)
    precision: Precision = args.score_precision or "float64"
    order: Ties = args.ties or ("run" if args.paper == "ties" else "trec")
    args.ties, args.score_precision = order, precision
    exp = options.experiment(args, memory_mb=0 if args.paper == "ties" else None)
    exp.needs_an_order(f"papers {args.paper}")
    if args.paper in ("ties", "rtc"):
        exp.prepare()
        exp.topic_notes()  # an error where judgments and runs have no topic in common
    where: dict[str, Any] = {"workers": args.workers, "scheduler": args.scheduler}

    def progress(what: str) -> None:
        if not args.quiet and sys.stderr.isatty():
            print(f"fathoms: {what}", file=sys.stderr)

    if args.paper == "rm":
        study = rm.study(exp, rm.RMSettings(args.prefix_order), progress=progress)
    elif args.paper == "depth":
        study = depth.study(exp, depth.DepthSettings(args.depth), progress=progress)
    elif args.paper == "ties":
        study = ties.study(exp.qrels, exp.runs, ties.TiesSettings(order, precision, **where), progress=progress)
    elif args.paper == "rtc":
        trials = rtc.RTCSettings(args.depth or 100, args.trials, seed=args.seed, folder=args.output, **where)
        with output.progress(-(-args.trials // rtc.BATCH), args.quiet, "trials") as step:
            study = rtc.study(exp, trials, progress=progress, step=partial(step, ""))
    else:
        study = gain.study(exp, gain.GainSettings(args.depth), progress=progress)
    undrawn = write_study(study, args.output, args.workers)
    finished(args.output)
    if not args.quiet:
        output.warn([*exp.topic_notes(), *exp.notes, *exp.qrels.notes], args)
        if undrawn and not any(exhibit.chart is not None for exhibit in study.exhibits):
            print("fathoms: figures are written as data only; install fathoms[report] to draw them", file=sys.stderr)
        print(f"fathoms: {len(study.exhibits)} tables and figures; read {args.output}/index.md", file=sys.stderr)
    return 0
