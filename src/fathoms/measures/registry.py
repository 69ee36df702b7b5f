"""All measures, in the order in which they are listed. Whatever else there is to know, a measure's class says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from fathoms.measures.base import Measure


class Registry(Mapping[str, type[Measure]]):
    """Classes by their names, each imported when it is first asked for: a start should not wait for all of them."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> type[Measure]:
        measure: type[Measure] = getattr(import_module(f"fathoms.measures.{self._modules[name]}"), name)
        return measure

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


MEASURES = Registry(  # the class, and the module in which it is
    {
        "P": "p",
        "R": "recall",
        "RR": "rr",
        "AP": "ap",
        "nDCG": "ndcg",
        "RBP": "rbp",
        "ERR": "err",
        "nERR": "err",
        "DCG": "dcg",
        "SDCG": "dcg",
        "Q": "q",
        "Bpref": "bpref",
        "infAP": "infap",
        "INST": "inst",
        "Judged": "judged",
        "Rprec": "rprec",
        "Success": "success",
        "SetP": "sets",
        "SetRelP": "sets",
        "SetR": "sets",
        "SetF": "sets",
        "SetAP": "sets",
        "NumQ": "counts",
        "NumRet": "counts",
        "NumRel": "counts",
        "NumRelRet": "counts",
        "IPrec": "iprec",
        "GMAP": "ap",
        "Accuracy": "accuracy",
        "BPM": "cwl",
        "INSQ": "cwl",
        "NERR8": "cwl",
        "NERR9": "cwl",
        "NERR10": "cwl",
        "NERR11": "cwl",
        "Compat": "compat",
        "P_IA": "intents",
        "AP_IA": "intents",
        "StRecall": "intents",
        "ERR_IA": "intents",
        "nERR_IA": "intents",
        "alpha_DCG": "intents",
        "alpha_nDCG": "intents",
        "NRBP": "intents",
        "nNRBP": "intents",
    }
)
