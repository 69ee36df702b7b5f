"""fathoms: evaluate search systems when the evidence is incomplete.

>>> import fathoms as fm
>>> fm.parse_measure("AP(variant=b)@20").name
'AP(variant=b)@20'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from fathoms.comparison.audit import audit as audit
    from fathoms.comparison.compare import compare as compare
    from fathoms.comparison.external_scores import compare_scores as compare_scores
    from fathoms.comparison.external_scores import read_scores as read_scores
    from fathoms.comparison.ties import ties as ties
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
    from fathoms.estimate.draws import confidence as confidence
    from fathoms.estimate.predict import predict as predict
    from fathoms.estimate.probabilities import probabilities as probabilities
    from fathoms.experiment.depths import evaluate_depths as evaluate_depths
    from fathoms.experiment.evaluate import evaluate as evaluate
    from fathoms.measures.base import Measure as Measure
    from fathoms.measures.parse import parse_measure as parse_measure

# Names are found when first used, so that `fathoms --help` does not wait for numpy.
_HOMES = {
    "audit": "comparison.audit",
    "compare": "comparison.compare",
    "compare_scores": "comparison.external_scores",
    "read_scores": "comparison.external_scores",
    "ties": "comparison.ties",
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
    "evaluate": "experiment.evaluate",
    "evaluate_depths": "experiment.depths",
    "parse_measure": "measures.parse",
    "confidence": "estimate.draws",
    "predict": "estimate.predict",
    "probabilities": "estimate.probabilities",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"fathoms.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fathoms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
