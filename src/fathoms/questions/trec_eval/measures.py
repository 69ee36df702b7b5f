"""The measures of trec_eval 9.0.8, by its names; `fathoms trec_eval` prints the same bytes.

Four digits show a difference in the last bit where a value lies on the edge between two of them. So sums are taken in
the order in which trec_eval takes them, document by document and topic by topic, and each quotient where it takes it.
`fathoms.measures` defines what measures mean and what ranges they have; the tests hold the two together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import ratio, row_sums
from fathoms.base.tolerances import LEAST_AP
from fathoms.data.qrels import JUDGED, NEGATIVE, UNJUDGED
from fathoms.evidence.evidence import Floats
from fathoms.questions.trec_eval.rankings import Gains, Rankings, log2_of_ranks

EPSILON = 0.00001  # infAP's
NOT_A_NUMBER = -math.nan  # 0/0 of C on x86, where the sign shows in print
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = tuple(i / 10 for i in range(11))


def average_precision(r: Rankings, k: int | None = None) -> Floats:
    return ratio(r.hits.sums(r.precisions, None if k is None else r.hits.column < k), r.total)


def log_average_precision(r: Rankings, _: None) -> Floats:
    return _logs(average_precision(r))


def r_precision(r: Rankings, _: None) -> Floats:
    return ratio(r.found_at(r.total), r.total)


def r_precision_at(r: Rankings, times: float) -> Floats:
    cut = np.trunc(times * r.total + 0.9)
    return ratio(r.found_at(cut), cut)


def bpref(r: Rankings, _: None) -> Floats:
    above, total = r.other_above, r.total[r.hits.row]
    least = np.minimum(r.total_other, r.total)[r.hits.row]
    return ratio(r.hits.sums(1.0 - ratio(np.minimum(above, total), least)), r.total)


def log_bpref(r: Rankings, _: None) -> Floats:
    return _logs(bpref(r, None))


def inferred_ap(r: Rankings, _: None) -> Floats:
    above = r.hits.column.astype(np.float64)
    relevant, other = r.hits.within, r.other_above
    pooled = relevant + other + r.above(r.codes == NEGATIVE)
    share = (relevant + EPSILON) / (relevant + other + 2 * EPSILON)
    terms = 1.0 / (above + 1.0) + above / (above + 1.0) * ratio(pooled, above) * share
    return ratio(r.hits.sums(terms), r.total)


def reciprocal_rank(r: Rankings, _: None) -> Floats:
    first = r.hits.within == 0
    return r.hits.sums(1.0 / (r.hits.column + 1), first)


def interpolated(r: Rankings, recall: float) -> Floats:
    need = np.trunc(recall * r.total + 0.9).astype(np.int64)
    best = r.precisions_from[np.arange(len(r)), np.clip(need - 1, 0, r.hits.most - 1)]
    return np.where(need > r.found, 0.0, np.where(r.retrieved > 0, best, NOT_A_NUMBER))


def interpolated_mean(r: Rankings, recalls: tuple[float, ...]) -> Floats:
    total = np.zeros(len(r))
    for recall in reversed(recalls):
        total += interpolated(r, recall)
    return total / len(recalls)


def precision(r: Rankings, k: int) -> Floats:
    return r.found_at(k) / k


def recall(r: Rankings, k: int) -> Floats:
    return ratio(r.found_at(k), r.total)


def relative_precision(r: Rankings, k: int) -> Floats:
    return ratio(r.found_at(k), np.minimum(r.total, k))


def success(r: Rankings, k: int) -> Floats:
    return (r.found_at(k) > 0).astype(np.float64)


def utility(r: Rankings, worth: tuple[float, ...]) -> Floats:
    a, b, c, d = worth
    missed = r.collection + r.found - r.retrieved - r.total
    return a * r.found + b * (r.retrieved - r.found) + c * (r.total - r.found) + d * missed


def binary_gain(r: Rankings, _: None) -> Floats:
    """Sum over relevant documents of 1 / log2(2 + documents above that are not), over R."""
    above = r.hits.column - r.hits.within
    return ratio(r.hits.sums(1.0 / log2_of_ranks(r.codes.shape[1])[above]), r.total)


def normalised_gain(r: Rankings, gains: Gains) -> Floats:
    """Sum over documents of gain / log2(2 + what the best ranking could have by here - what this one has)."""
    hits, ideal = r.gained(gains)
    width = max(hits.shape[1], ideal.gain.shape[1])
    best = np.pad(ideal.gain, ((0, 0), (0, width - ideal.gain.shape[1])))
    could = np.cumsum(np.maximum(best, 1.0), axis=1)[hits.row, hits.column]
    terms = hits.gain / _log2(2 + could - hits.running(hits.gain))
    return ratio(hits.sums(terms), np.cumsum(ideal.gain, axis=1)[:, -1])


def ndcg(r: Rankings, gains: Gains) -> Floats:
    hits, ideal = r.gained(gains)
    return ratio(hits.dcg, ideal.dcg)


def ndcg_at(r: Rankings, k: int) -> Floats:
    hits, ideal = r.gained(())
    best = ideal.discounted[:, min(k, ideal.gain.shape[1]) - 1]
    return ratio(hits.sums(hits.discounted, hits.column < k), best)


def ndcg_at_relevant(r: Rankings, gains: Gains) -> Floats:
    """nDCG at each document with a gain, at the end of the ranking for those that it lacks; the mean of them."""
    hits, ideal = r.gained(gains)
    place = np.minimum(hits.column, ideal.gain.shape[1] - 1)
    positive = hits.gain > 0
    at_each = _over(hits.running(hits.discounted), ideal.discounted[hits.row, place])
    lacking = ideal.size - np.bincount(hits.row[positive], minlength=len(r))
    total = hits.sums(at_each, positive) + ratio(lacking * hits.dcg, ideal.dcg)
    return np.where(total > 0, ratio(total, ideal.size), 0.0)


def ndcg_at_levels(r: Rankings, gains: Gains) -> Floats:
    """nDCG at the places where the ideal goes from one gain to the next, and at the end; the mean of them."""
    hits, ideal = r.gained(gains)
    row, last = np.nonzero(np.diff(ideal.gain, append=0.0))  # the last place before the gain changes
    dcg = np.zeros(hits.shape)
    dcg[hits.row, hits.column] = hits.discounted
    dcg = np.cumsum(dcg, axis=1)
    total = row_sums(row, dcg[row, np.minimum(last, hits.shape[1] - 1)] / ideal.discounted[row, last], len(r))
    goes_on = (ideal.size > 0) & (r.retrieved > ideal.size + 1)
    total = total + np.where(goes_on, ratio(hits.dcg, ideal.dcg), 0.0)
    points = np.bincount(row, minlength=len(r)) + goes_on
    return np.where(r.total > 0, np.where(points > 0, ratio(total, points), NOT_A_NUMBER), 0.0)


def set_precision(r: Rankings, _: None) -> Floats:
    return ratio(r.found, r.retrieved)


def set_relative_precision(r: Rankings, _: None) -> Floats:
    return ratio(r.found, np.minimum(r.retrieved, r.total))


def set_recall(r: Rankings, _: None) -> Floats:
    return ratio(r.found, r.total)


def set_average_precision(r: Rankings, _: None) -> Floats:
    relevant_retrieved = r.found.astype(np.float64)
    return ratio(relevant_retrieved**2, r.retrieved * r.total)


def set_f(r: Rankings, numbers: tuple[float, ...]) -> Floats:
    x, p, q = numbers[0], set_precision(r, None), set_recall(r, None)
    return np.where(r.found > 0, _over((x + 1.0) * p * q, x * p + q), 0.0)


def log_odds(r: Rankings, _: None) -> Floats:
    """Robertson's average precision on a logarithmic scale: log((1 + S) / (1 + R - S)), S the sum of precisions."""
    total = r.hits.sums(r.precisions)
    return np.array([math.log(value) for value in ((1.0 + total) / (1.0 + r.total - total)).tolist()])


def judged_other_retrieved(r: Rankings, _: None) -> Floats:
    return r.other[r.codes].sum(axis=1)


def grades_as_text(r: Rankings, numbers: tuple[float, ...]) -> NDArray[Any]:
    """A character a document: its grade, > for grades from 10 on, - for one not in the qrels, . for one not judged."""
    unjudged = {UNJUDGED: "-", NEGATIVE: "."}
    marks = [unjudged.get(code, "") for code in range(JUDGED)] + [
        str(int(grade)) if grade < 10 else ">" for grade in r.grades
    ]
    first = r.codes[:, : max(0, int(numbers[0]))].tolist()
    return np.array(["'" + "".join([marks[code] for code in row]) + "'" for row in first], dtype=object)


def _over(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """above / below, and what C makes of a division by 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(above / below)


def _logs(values: Floats) -> Floats:
    return np.array([math.log(max(value, LEAST_AP)) for value in values.tolist()])


def _log2(values: Floats) -> Floats:
    small = {0.0: -math.inf}
    return np.array([math.log2(v) if v > 0 else small.get(v, NOT_A_NUMBER) for v in values.tolist()])


# -- the list of them -------------------------------------------------------------------------------------------------

Parameters = Literal["none", "ranks", "levels", "numbers", "gains"]
Over = Literal["mean", "sum", "geometric", "topics", "runid", "nothing"]  # how topics make up `all`


@dataclass(frozen=True)
class Known:
    """A measure that trec_eval has."""

    name: str
    about: str
    value: Callable[[Rankings, Any], Any] = lambda r, _: np.ones(len(r))
    parameters: Parameters = "none"
    default: tuple[float, ...] = ()
    over: Over = "mean"

    @property
    def by_topic(self) -> bool:
        """Whether it is printed for single topics."""
        return self.over not in ("geometric", "topics", "runid")


KNOWN = {
    known.name: known
    for known in (
        Known("runid", "the tag of the run", over="runid"),
        Known("num_q", "topics averaged over", over="topics"),
        Known("num_ret", "documents retrieved; summed", lambda r, _: r.retrieved, over="sum"),
        Known("num_rel", "relevant documents; summed", lambda r, _: r.total, over="sum"),
        Known("num_rel_ret", "relevant documents retrieved; summed", lambda r, _: r.found, over="sum"),
        Known("map", "average precision", lambda r, _: average_precision(r)),
        Known("gm_map", "average precision, geometric mean over topics", log_average_precision, over="geometric"),
        Known("Rprec", "precision at rank R, the number of relevant documents", r_precision),
        Known("bpref", "relevant documents preferred to judged others", bpref),
        Known("recip_rank", "1 over the rank of the first relevant document", reciprocal_rank),
        Known("iprec_at_recall", "interpolated precision at levels of recall", interpolated, "levels", TENTHS),
        Known("P", "precision at ranks", precision, "ranks", CUTS),
        Known("relstring", "grades of the first documents as text", grades_as_text, "numbers", (10,), "nothing"),
        Known("recall", "recall at ranks", recall, "ranks", CUTS),
        Known("infAP", "average precision inferred from a sampled pool", inferred_ap),
        Known("gm_bpref", "bpref, geometric mean over topics", log_bpref, over="geometric"),
        Known(
            "Rprec_mult", "precision at multiples of R", r_precision_at, "levels", tuple(i / 5 for i in range(1, 11))
        ),
        Known("utility", "what was retrieved and what was not, by four weights", utility, "numbers", (1, -1, 0, 0)),
        Known("11pt_avg", "mean interpolated precision", interpolated_mean, "numbers", TENTHS),
        Known("binG", "relevant documents discounted by the others above", binary_gain),
        Known("G", "gain discounted by what an ideal ranking has more", normalised_gain, "gains"),
        Known("ndcg", "discounted gain over the ideal one", ndcg, "gains"),
        Known("ndcg_rel", "ndcg averaged over relevant documents", ndcg_at_relevant, "gains"),
        Known("Rndcg", "ndcg averaged over where the ideal gain changes", ndcg_at_levels, "gains"),
        Known("ndcg_cut", "ndcg at ranks", ndcg_at, "ranks", CUTS),
        Known("map_cut", "average precision at ranks", average_precision, "ranks", CUTS),
        Known("relative_P", "precision at ranks over the greatest possible", relative_precision, "ranks", CUTS),
        Known("success", "any relevant document at ranks", success, "ranks", (1, 5, 10)),
        Known("set_P", "precision of all that was retrieved", set_precision),
        Known("set_relative_P", "the same over the greatest possible", set_relative_precision),
        Known("set_recall", "recall of all that was retrieved", set_recall),
        Known("set_map", "precision times recall of all that was retrieved", set_average_precision),
        Known("set_F", "weighted harmonic mean of the two", set_f, "numbers", (1,)),
        Known("num_nonrel_judged_ret", "judged others retrieved; summed", judged_other_retrieved, over="sum"),
        Known("yaap", "average precision on a logarithmic scale", log_odds),
    )
}
OFFICIAL = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
)
GROUPS = {
    "official": OFFICIAL,
    "set": (*OFFICIAL[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(name for name in KNOWN if name != "yaap"),
}
