"""The data behind those tables of the page that its script fills."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from fathoms.data.qrels import Qrels
from fathoms.evidence.evidence import Floats
from fathoms.reporting.verdicts import OBSTACLES, obstacle

if TYPE_CHECKING:
    from fathoms.reporting.report import Report

MOST_CELLS = 600_000  # numbers of the drill-down by topic: more, and later measures do without


def rounded(values: Floats | Sequence[float | None] | None) -> list[float | None] | None:
    """Four digits, as the commands print them; nothing where there is no number, as for an interval over one topic."""
    if values is None:
        return None
    return [None if value is None or not isfinite(value) else round(float(value), 4) + 0.0 for value in values]


def data(report: Report) -> dict[str, Any]:
    """What the script shows on demand: pairs in the order of `fathoms compare`, and scores by topic."""
    runs = report.evaluation.runs
    place = {run.run: i for i, run in enumerate(runs)}
    pairs, scores, orders = [], [], []
    cells = 0
    for measure in report.measures:
        of_measure = report.pairs(measure)
        columns = {
            name: rounded([getattr(p, name) for p in of_measure])
            for name in ("diff", "diff_low", "diff_high", "ci_low", "ci_high", "estimate", "likely_low", "likely_high")
        }
        columns["p_holds"] = rounded([p.p_holds for p in of_measure])
        p = {name: [float(f"{getattr(pair, name):.4g}") for pair in of_measure] for name in ("p", "p_corrected")}
        letters = {
            "verdict": "".join(pair.verdict[0] for pair in of_measure),
            "missing": "".join(_letter(OBSTACLES, obstacle(pair)) for pair in of_measure),
            "reversible": "".join((pair.reversible or "-")[0] for pair in of_measure),
        }
        pairs.append({**columns, **p, **letters})
        orders.append([place[run.run] for run in report.ranked(measure)])
        cells += 3 * len(runs) * len(runs[0].topics)
        by_topic = None
        if cells <= MOST_CELLS or measure is report.measures[0]:
            by_topic = {
                name: [rounded(getattr(run.scores[measure], name)) for run in runs] for name in ("score", "low", "high")
            }
        scores.append(by_topic)
    relevant, judged = judged_counts(report.qrels)
    return {
        "runs": [run.run for run in runs],
        "topics": runs[0].topics,
        "measures": [measure.name for measure in report.measures],
        "obstacles": OBSTACLES,
        "pairs": pairs,
        "orders": orders,
        "scores": scores,
        "relevant": [int(relevant[report.qrels.index[topic]]) for topic in runs[0].topics],
        "judged": [int(judged[report.qrels.index[topic]]) for topic in runs[0].topics],
        "lists": None if report.lists is None else report.lists.as_data(report.texts),
    }


def _letter(names: Sequence[str], name: str) -> str:
    """The place of a name in a list, as one character; a dash where it is none of them."""
    return str(names.index(name)) if name in names else "-"


def judged_counts(qrels: Qrels) -> tuple[Any, Any]:
    return qrels.counts[:, qrels.levels >= 1].sum(axis=1), qrels.counts.sum(axis=1)


def as_json(values: dict[str, Any]) -> str:
    """JSON that no name inside it can end."""
    dumped = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
