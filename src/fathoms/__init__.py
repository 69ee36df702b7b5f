"""fathoms: evaluate search systems when the evidence is incomplete.

>>> import fathoms as fm
>>> fm.parse_measure("AP(variant=b)@20").name
'AP(variant=b)@20'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fathoms.version import __version__

if TYPE_CHECKING:
    from fathoms.api import Experiment as Experiment
    from fathoms.api import audit as audit
    from fathoms.api import check as check
    from fathoms.api import compare as compare
    from fathoms.api import confidence as confidence
    from fathoms.api import depth as depth
    from fathoms.api import diff as diff
    from fathoms.api import evaluate as evaluate
    from fathoms.api import evaluate_depths as evaluate_depths
    from fathoms.api import gate as gate
    from fathoms.api import labels as labels
    from fathoms.api import plan as plan
    from fathoms.api import pool as pool
    from fathoms.api import predict as predict
    from fathoms.api import probabilities as probabilities
    from fathoms.api import rank as rank
    from fathoms.api import report as report
    from fathoms.api import ties as ties
    from fathoms.comparison.external_scores import compare_scores as compare_scores
    from fathoms.comparison.external_scores import read_scores as read_scores
    from fathoms.data.mteb import read_mteb as read_mteb
    from fathoms.data.qrels import Qrels as Qrels
    from fathoms.data.qrels import read_qrels as read_qrels
    from fathoms.data.runs import Run as Run
    from fathoms.data.runs import Runs as Runs
    from fathoms.data.runs import read_run as read_run
    from fathoms.data.runs import read_runs as read_runs
    from fathoms.data.runs import scan_runs as scan_runs
    from fathoms.data.simulate import simulate as simulate
    from fathoms.errors import FathomsError as FathomsError
    from fathoms.errors import FathomsWarning as FathomsWarning
    from fathoms.errors import InputError as InputError
    from fathoms.evidence.chunks import roll_up as roll_up
    from fathoms.experiment.evaluator import Evaluator as Evaluator
    from fathoms.measures.base import Measure as Measure
    from fathoms.measures.parse import parse_measure as parse_measure

# Names are found when first used, so that `fathoms --help` does not wait for numpy.
_HOMES = {
    **dict.fromkeys(
        (
            "Experiment",
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
        "api",
    ),
    "Evaluator": "experiment.evaluator",
    "roll_up": "evidence.chunks",
    "compare_scores": "comparison.external_scores",
    "read_scores": "comparison.external_scores",
    "read_mteb": "data.mteb",
    "Qrels": "data.qrels",
    "read_qrels": "data.qrels",
    "Run": "data.runs",
    "Runs": "data.runs",
    "read_run": "data.runs",
    "read_runs": "data.runs",
    "scan_runs": "data.runs",
    "simulate": "data.simulate",
    "FathomsError": "errors",
    "FathomsWarning": "errors",
    "InputError": "errors",
    "Measure": "measures.base",
    "parse_measure": "measures.parse",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"fathoms.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fathoms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
