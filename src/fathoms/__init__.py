"""Evaluate search systems when judgments are incomplete: every score with the range it could have.

Judgments and runs are said once, in an `Experiment`; they may be files, folders, globs, polars or pandas frames, or
dicts. Each question is a method:

    exp = fm.Experiment("qrels.txt", "runs/")

    exp.evaluate(["AP", "nDCG@10"])     scores, and how far unjudged documents and ties could move them
    exp.compare("nDCG@10")              which run is better than which, and will it stay so
    exp.rank("nDCG@10")                 the leaderboard, with the ranks each run could have
    exp.predict("nDCG@10")              what scores will be once judging is deep, with intervals
    exp.depth("nDCG"), exp.ties()       what depends on the cut-off, and on the order of equal scores
    exp.audit(), exp.check()            can the collection be trusted and reused; are the files sound
    exp.gate(), exp.diff()              may a candidate replace the baseline; what changed
    exp.labels("llm.txt")               can labels of a language model stand in for human judgments
    exp.plan(), exp.pool(depth=10)      how many topics and judgments are needed; which documents to judge
    exp.judge("session.db")             judge the most informative documents first
    exp.report("report.html")           all of it on one page

A result has `.frame` (polars), `.to_pandas()`, `.sentences` (what it says in words), `.chart()` (altair, with the extra
`report`) and `.notes` (what to be careful about), and shows itself in a notebook. For a single call most have a
function of the same name that takes judgments and runs, such as `fm.evaluate(qrels, runs, "AP")`. `Evaluator` scores
many runs in one process, as in training.

>>> import fathoms as fm
>>> qrels = {"q1": {"d1": 1, "d2": 0}}
>>> runs = {"a": {"q1": {"d1": 2.0, "d9": 1.0}}, "b": {"q1": {"d2": 2.0, "d1": 1.0}}}
>>> exp = fm.Experiment(qrels, runs)
>>> exp.evaluate("P@2").frame.select("run", "score", "low", "high").rows()
[('a', 0.5, 0.5, 1.0), ('b', 0.5, 0.5, 0.5)]

Run `a` has 0.5, and 1.0 if its unjudged document d9 turns out to be relevant. Errors are `FathomsError`s that say what
was found and what was expected; on the command line the same is `fathoms eval`, `fathoms compare` and so on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fathoms.version import __version__

if TYPE_CHECKING:
    from fathoms.api import Experiment as Experiment
    from fathoms.base.arrays import to_pandas as to_pandas
    from fathoms.base.errors import FathomsError as FathomsError
    from fathoms.base.errors import FathomsWarning as FathomsWarning
    from fathoms.base.errors import InputError as InputError
    from fathoms.data.mteb import read_mteb as read_mteb
    from fathoms.data.qrels import Qrels as Qrels
    from fathoms.data.qrels import read_qrels as read_qrels
    from fathoms.data.runs import Run as Run
    from fathoms.data.runs import Runs as Runs
    from fathoms.data.runs import read_run as read_run
    from fathoms.data.runs import read_runs as read_runs
    from fathoms.data.runs import scan_runs as scan_runs
    from fathoms.data.simulate import simulate as simulate
    from fathoms.evidence.chunks import roll_up as roll_up
    from fathoms.experiment.score_files import read_scores as read_scores
    from fathoms.functions import audit as audit
    from fathoms.functions import check as check
    from fathoms.functions import compare as compare
    from fathoms.functions import confidence as confidence
    from fathoms.functions import depth as depth
    from fathoms.functions import diff as diff
    from fathoms.functions import evaluate as evaluate
    from fathoms.functions import evaluate_depths as evaluate_depths
    from fathoms.functions import gate as gate
    from fathoms.functions import labels as labels
    from fathoms.functions import plan as plan
    from fathoms.functions import pool as pool
    from fathoms.functions import predict as predict
    from fathoms.functions import probabilities as probabilities
    from fathoms.functions import rank as rank
    from fathoms.functions import report as report
    from fathoms.functions import ties as ties
    from fathoms.inference.rank_overlap import rbo as rbo
    from fathoms.judging.salvage import salvage as salvage
    from fathoms.measures.base import Measure as Measure
    from fathoms.measures.parse import parse_measure as parse_measure
    from fathoms.questions.compare.score_files import compare_scores as compare_scores
    from fathoms.questions.eval.evaluator import Evaluator as Evaluator

# Names are found when first used, so that `fathoms --help` does not wait for numpy.
_HOMES = {
    **dict.fromkeys(
        (
            "audit",
            "check",
            "compare",
            "confidence",
            "depth",
            "diff",
            "evaluate",
            "evaluate_depths",
            "gate",
            "labels",
            "plan",
            "pool",
            "predict",
            "probabilities",
            "rank",
            "report",
            "ties",
        ),
        "functions",
    ),
    "Experiment": "api",
    "Evaluator": "questions.eval.evaluator",
    "roll_up": "evidence.chunks",
    "salvage": "judging.salvage",
    "compare_scores": "questions.compare.score_files",
    "read_scores": "questions.compare.score_files",
    "read_mteb": "data.mteb",
    "to_pandas": "base.arrays",
    "Qrels": "data.qrels",
    "read_qrels": "data.qrels",
    "Run": "data.runs",
    "Runs": "data.runs",
    "read_run": "data.runs",
    "read_runs": "data.runs",
    "scan_runs": "data.runs",
    "simulate": "data.simulate",
    "FathomsError": "base.errors",
    "FathomsWarning": "base.errors",
    "InputError": "base.errors",
    "Measure": "measures.base",
    "parse_measure": "measures.parse",
    "rbo": "inference.rank_overlap",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"fathoms.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fathoms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
