"""A case, and what it must come to."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import fathoms as fm
from fathoms.base.errors import FathomsError, FathomsWarning

Result = TypeVar("Result")
Plain = dict[str, dict[str, float]]
# By the names of both; those of trec_eval are for its scores as they are, without options.
MEASURES = {
    "AP": "map",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "P@5": "P_5",
    "RR": "recip_rank",
    "R@10": "recall_10",
    "Rprec": "Rprec",
    "Bpref": "bpref",
}
CLOSE = 1e-6
HIGHEST = 1000  # grade that trec_eval is asked about: it has an array of all up to the highest


@dataclass(frozen=True)
class Case:
    """Files by name, and what else the check needs to know."""

    files: dict[str, bytes]
    facts: dict[str, Any] = field(default_factory=dict)


class Failure(Exception):
    """The case came to something that it must not come to."""


def attempt(case: Case, work: Callable[[dict[str, Path]], Result]) -> Result | None:
    """What the work makes of the case's files, given by name; None where it refuses them."""
    with tempfile.TemporaryDirectory(prefix="fuzz.") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FathomsWarning)
        paths = {name: Path(folder, name) for name in case.files}
        for name, path in paths.items():
            path.write_bytes(case.files[name])
        try:
            return work(paths)
        except FathomsError as error:
            if not str(error).strip():
                raise Failure("an error without a message") from error
            return None


def try_to_read(case: Case, judgments: Plain | None, scores: Plain | None) -> str:
    """Read the files `qrels` and `run` and score the one by the other. Where a naive reader made something of both,
    scores are compared with pytrec_eval's."""
    lenient = bool(case.facts.get("lenient"))

    def score(paths: dict[str, Path]) -> Any:
        qrels, run = fm.read_qrels(paths["qrels"], lenient=lenient), fm.read_run(paths["run"], lenient=lenient)
        return fm.evaluate(qrels, run, list(MEASURES), by_topic=True, workers=1)

    found = attempt(case, score)
    if found is None:
        return "refused"
    if judgments is None or scores is None:
        return "accepted"
    compare(found, judgments, scores)
    return "compared"


def compare(found: Any, judgments: Plain, scores: Plain) -> None:
    import pytrec_eval

    grades = {topic: {id: int(grade) for id, grade in of_topic.items()} for topic, of_topic in judgments.items()}
    theirs = pytrec_eval.RelevanceEvaluator(grades, set(MEASURES.values())).evaluate(scores)
    ours = {(row["topic"], row["measure"]): row["score"] for row in found.iter_rows(named=True)}
    for topic, values in theirs.items():
        for measure, name in MEASURES.items():
            mine = ours.get((topic, measure))
            if mine is None or not math.isclose(mine, values[name], abs_tol=CLOSE):
                raise Failure(f"{measure} of topic {topic!r} is {mine!r}, and {values[name]!r} by pytrec_eval")


def comparable(judgments: Plain) -> bool:
    """Whether trec_eval has these grades: it takes whole ones, counts to the highest, crashes if that is below 0."""
    grades = [list(of_topic.values()) for of_topic in judgments.values()]
    return all(
        of_topic and max(of_topic) >= 0 and all(grade == int(grade) and abs(grade) <= HIGHEST for grade in of_topic)
        for of_topic in grades
    )
