"""Regenerate a paper's tables and figures on your collection.

Writes table<N>.tsv and .tex, fig<N>.tsv, .svg, .pdf and .png, index.md, index.html and tables.tex.

  rm     Ravana and Moffat 2010: score estimates from incomplete judgments, separability and reversals
  gain   Lu, Moffat and Culpepper 2016: relevance as a function of rank
  depth  Lu, Moffat and Culpepper 2016: the effect of pooling and evaluation depth on metrics
  ties   Yang, Moffat and Turpin 2016: ties in scores, and how precise scores need to be (all runs, or those of
         --pooled, in --ties run order)
  rtc    Carterette 2007: robust test collections, whether confidence from few judgments can be trusted (--trials
         of them, on --workers; what is interrupted goes on where it stopped when started again)
  estimates  all papers' estimates, and ours, from shallower pools of your collection: error, bias, coverage, order
  all    all of it, each in a folder of its own, and what of their conclusions holds on your collection

For depth and rtc, each argument may be a folder with qrels.txt, runs/ and, where there are, pooled.txt and groups.tsv;
several such collections stand side by side.

Scores are compared as float64 unless said otherwise: these studies rebuild pools from the files as they were written.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.base import choices
from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.papers.exhibits import Study

PAPERS = ("rm", "gain", "depth", "ties", "rtc", "estimates")
TRIALS, FEW_TRIALS = 1000, 100  # those of rtc alone, and if all papers are wanted
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
  fathoms papers depth trec8/ robust04/ clueweb10/ -o depth
  fathoms papers ties qrels.txt runs/ -o ties
  fathoms papers rtc qrels.txt runs/ --trials 1000 -o rtc
  fathoms papers estimates qrels.txt runs/ -o estimates
  fathoms papers all qrels.txt runs/ -o papers"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paper", choices=(*PAPERS, "all"), help="which paper, estimates, or all")
    options.add_files(parser, runs="*")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--depth",
        metavar="D",
        type=options.at_least_one,
        help="gain, depth: depth of the pool (default: inferred from what is judged), less looks at the judgments of a "
        "shallower pool; rtc: documents of each ranking (100)",
    )
    parser.add_argument(
        "--trials",
        metavar="N",
        type=options.at_least_one,
        help="rtc: draws (1000, and 100 where all papers are wanted)",
    )
    _add_rm_flags(parser)
    _add_gain_flags(parser)
    _add_depth_flags(parser)
    _add_ties_flags(parser)
    _add_rtc_flags(parser)
    options.add_reading(parser, "groups", *options.POOL, *options.ORDER, *options.READ, *options.WORK)
    options.add_talk(parser)
    parser.set_defaults(ties=None)  # trec, but run for the paper on ties


def _add_rm_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--prefix-order",
        choices=("file", "shuffle"),
        default="shuffle",
        help="rm: which judgments of one depth come first: 20 seeded shuffles (default), or their order in the file",
    )
    parser.add_argument(
        "--sizes",
        metavar="N,...",
        type=options.checker(choices.depths),
        help="rm: how many judgments the prefixes have (1,000 to 40,000 in six steps, or as many that fit)",
    )
    parser.add_argument(
        "--constants",
        metavar="C,E",
        help="rm: C and E of the interpolated and the smoothed predictor, or C,E,C,E of each (0.42,0.01,0.91,0.05)",
    )
    parser.add_argument(
        "--smoothing",
        metavar="ALPHA",
        default="1-delta",
        help="rm: weight of the interpolated score in the smoothed one: a number from 0 to 1, 1-delta (default) or a "
        "power such as (1-delta)^2",
    )
    parser.add_argument(
        "--significance", metavar="A", type=options.share, default=0.01, help="rm: level of the t-tests (0.01)"
    )


def _add_gain_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--parameters",
        metavar="FILE",
        type=Path,
        help="gain: write the fitted parameters there too, by pool depth, topic and model (TSV)",
    )


def _add_depth_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--pools",
        metavar="D,...",
        type=options.checker(choices.depths),
        help="depth: depths of shallower pools, which Fig. 4 and Tables 4, 5 and 7 to 9 look at beside the "
        "collection's own (10)",
    )
    parser.add_argument(
        "--figure-pool",
        metavar="D",
        type=options.at_least_one,
        help="depth: depth of the pool of Figs. 2, 3 and 5 to 7, where the collection's is deeper (20)",
    )


def _add_ties_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tie-key",
        metavar="FILE",
        type=Path,
        help="ties: break ties by this too, lines `topic document value` or `document value`; a number or a date, the "
        "greatest first",
    )
    parser.add_argument(
        "--stratify",
        metavar="SHARE",
        type=options.share,
        action="append",
        default=[],
        help="ties: judge this share of each deeper band of the pool, such as 0.25, and see what it saves; may be "
        "repeated",
    )


def _add_rtc_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--systems", metavar="K", type=options.at_least_one, help="rtc: systems that a trial draws (10)"
    )
    parser.add_argument(
        "--judged-first", metavar="C", type=options.at_least_one, help="rtc: of those, how many are judged first (2)"
    )
    parser.add_argument(
        "--confidence", metavar="P", type=options.share, help="rtc: confidence that judging goes on to (0.95)"
    )
    parser.add_argument(
        "--cap",
        metavar="P",
        type=options.share,
        help="rtc: cap on confidence, the paper's remedy for overfitting, whose effect Table A has (0.95)",
    )
    parser.add_argument(
        "--worst-loss",
        metavar="LOSS",
        type=options.checker(choices.positive),
        help="rtc: cap on what a wrong pair costs in W (100)",
    )
    parser.add_argument(
        "--from-scores",
        action="store_true",
        help="rtc: one more method, RTC with each system's probabilities from its scores, not its ranks",
    )
    parser.add_argument(
        "--docs",
        metavar="FILE|DIR",
        help="rtc: texts of documents, as for `fathoms judge`: one more method, RTC with the similarity to documents "
        "judged relevant as a further expert",
    )
    parser.add_argument(
        "--dates",
        metavar="FILE",
        help="rtc: lines `document<TAB>date`: also judge the documents up to the median date alone, and see what that "
        "is worth once the later ones are there (Table C)",
    )


def _rtc_settings(args: Namespace, **where: Any) -> Any:
    from fathoms.papers.rtc import RTCSettings

    chosen = {
        "depth": args.depth,
        "systems": args.systems,
        "initial": args.judged_first,
        "until": args.confidence,
        "cap": args.cap,
        "worst_loss": args.worst_loss,
        "docs": args.docs,
        "dates": args.dates,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    return RTCSettings(trials=args.trials, seed=args.seed, from_scores=args.from_scores, **given, **where)


def _collections(args: Namespace) -> dict[str, Any]:
    """The experiments of folders with qrels.txt and runs/, by the folders' names; none where files are given."""
    from fathoms.base.errors import FathomsError

    folders = [Path(path) for path in (args.qrels, *args.runs)]
    if args.paper not in ("depth", "rtc") or not folders[0].is_dir():
        return {}
    bad = [folder for folder in folders if not (folder / "qrels.txt").is_file() or not (folder / "runs").is_dir()]
    if bad:
        raise FathomsError(f"{bad[0]}: expected a folder with qrels.txt and runs/")
    if args.pooled is not None or args.groups is not None:
        raise FathomsError("--pooled and --groups go with files; a collection's folder has pooled.txt and groups.tsv")
    by_name = {}
    for folder in folders:
        beside = {name: folder / file for name, file in (("pooled", "pooled.txt"), ("groups", "groups.tsv"))}
        there = {name: path if path.is_file() else None for name, path in beside.items()}
        own = Namespace(**{**vars(args), "qrels": str(folder / "qrels.txt"), "runs": [str(folder / "runs")], **there})
        name = folder.resolve().name
        if name in by_name:
            raise FathomsError(f"two collections are called {name}; their folders' names must differ")
        by_name[name] = options.experiment(own, into_folder=True)
    return by_name


def run(args: Namespace) -> int:
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_folder

    check_folder(args.output)
    args.trials = args.trials or (FEW_TRIALS if args.paper == "all" else TRIALS)
    args.score_precision = args.score_precision or "float64"
    banded = args.ties or "run"  # the order that the paper on ties looks at
    args.ties = banded if args.paper == "ties" else args.ties or "trec"
    collections = _collections(args)
    if not args.runs and not collections:
        raise FathomsError("no run given; expected QRELS and runs")
    if collections:
        exp = next(iter(collections.values()))
    else:
        exp = options.experiment(args, memory_mb=0 if args.paper == "ties" else None, into_folder=True)
    exp.needs_an_order(f"papers {args.paper}")
    if args.paper in ("ties", "rtc", "all"):
        exp.prepare()
        exp.topic_notes()  # an error if judgments and runs have no topic in common
    if args.paper == "all":
        return _run_all(args, exp, banded)
    return _put(args, _study(args, exp, collections), exp, collections)


def _run_all(args: Namespace, exp: Experiment, banded: str) -> int:
    from functools import partial

    from fathoms.base.parallel import finished
    from fathoms.cli import output
    from fathoms.papers.all_papers import CONCLUSIONS, study_all, write_all
    from fathoms.papers.exhibits import described

    makers = {}
    for paper in PAPERS:
        own = {"paper": paper, "output": args.output / paper, "ties": banded if paper == "ties" else args.ties}
        makers[paper] = partial(_study, Namespace(**{**vars(args), **own}), exp, {})
    result = study_all(makers)
    runs = f"{len(exp.runs):,} runs"
    write_all(result, f"{described(exp.qrels)}, {runs}", args.output, args.workers)
    finished(args.output / "rtc")
    if not args.quiet:
        output.warn([warning for study in result.studies.values() for warning in study.warnings], args)
        output.warn([f"{paper}: not done here: {reason}" for paper, reason in result.reasons.items()], args)
        output.warn([*exp.topic_notes(), *exp.notes, *exp.qrels.notes], args)
        page = args.output / CONCLUSIONS / "index.md"
        print(f"fathoms: read {args.output}/index.md, and {page} on what holds here", file=sys.stderr)
    return 0


def _study(args: Namespace, exp: Experiment, collections: dict[str, Any]) -> Study:
    from functools import partial

    from fathoms.cli import output
    from fathoms.papers import depth, estimates, gain, rm, rtc, ties

    order, precision = args.ties, args.score_precision
    where: dict[str, Any] = {"workers": args.workers, "scheduler": args.scheduler}

    def progress(what: str) -> None:
        if not args.quiet and sys.stderr.isatty():
            print(f"fathoms: {what}", file=sys.stderr)

    if args.paper == "rm":
        wanted = {"sizes": args.sizes, "constants": args.constants, "smoothing": args.smoothing}
        study = rm.study(
            exp, rm.RMSettings(args.prefix_order, **wanted, significance=args.significance), progress=progress
        )
    elif args.paper == "depth":
        chosen = {"pools": args.pools, "figure_pool": args.figure_pool}
        given = {name: value for name, value in chosen.items() if value is not None}
        study = depth.study(collections or exp, depth.DepthSettings(args.depth, **given), progress=progress)
    elif args.paper == "ties":
        chosen_runs = {"pooled": exp.options.pooled, "tie_key": args.tie_key, "stratify": args.stratify}
        study = ties.study(
            exp.qrels, exp.runs, ties.TiesSettings(order, precision, **chosen_runs, **where), progress=progress
        )
    elif args.paper == "rtc":
        batches = -(-args.trials // rtc.BATCH) * max(1, len(collections))
        settings = _rtc_settings(args, folder=args.output, **where)
        step = partial(output.steps(batches, "trials"), "")
        study = rtc.study(collections or exp, settings, progress=progress, step=step)
    elif args.paper == "estimates":
        study = estimates.study(exp, progress=progress)
    else:
        study = gain.study(exp, gain.GainSettings(args.depth, args.parameters), progress=progress)
    return study


def _put(args: Namespace, study: Study, exp: Experiment, collections: dict[str, Any]) -> int:
    from fathoms.base.parallel import finished
    from fathoms.cli import output
    from fathoms.papers.output import write_study

    undrawn = write_study(study, args.output, args.workers)
    finished(args.output)
    if not args.quiet:
        output.warn(study.warnings, args)
        for experiment in collections.values() or [exp]:
            output.warn([*experiment.topic_notes(), *experiment.notes, *experiment.qrels.notes], args)
        if undrawn and not any(exhibit.chart is not None for exhibit in study.exhibits):
            print("fathoms: figures are written as data only; install fathoms[report] to draw them", file=sys.stderr)
        print(f"fathoms: {len(study.exhibits)} tables and figures; read {args.output}/index.md", file=sys.stderr)
    return 0
