"""The measures of trec_eval 9.0.8, by its names, for `fathoms trec_eval`, which prints the same bytes.

Four digits show a difference in the last bit where a value lies on the edge between two of them. So sums are taken in
the order in which trec_eval takes them, document by document and topic by topic, and each quotient where it takes it.
What the measures mean, and the ranges they have, is said of our own (AP, nDCG, ...); the tests hold the two together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct, ratio, row_sums
from fathoms.base.errors import FathomsError
from fathoms.data.qrels import JUDGED, NEGATIVE, UNJUDGED
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints

Gains = tuple[tuple[int, float], ...]  # pairs of grade and gain, as given

LEAST = 0.00001  # what geometric means take instead of less
EPSILON = 0.00001  # infAP's
NOT_A_NUMBER = -math.nan  # 0/0 of C on x86, where the sign shows in print
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = tuple(i / 10 for i in range(11))


# -- rankings ---------------------------------------------------------------------------------------------------------


class Hits:
    """Documents with a gain other than 0, topic by topic and from the top."""

    def __init__(self, gain: Floats) -> None:
        self.shape = gain.shape
        self.row, self.column = np.nonzero(gain)
        self.gain: Floats = gain[self.row, self.column]
        size = np.bincount(self.row, minlength=len(gain))
        self.within: Ints = np.arange(len(self.row)) - (np.cumsum(size) - size)[self.row]
        self.most = max(1, int(size.max(initial=0)))

    def sums(self, values: Floats, use: Bools | None = None) -> Floats:
        """Sums by topic, added in order."""
        row = self.row if use is None else self.row[use]
        return row_sums(row, values if use is None else values[use], len(self))

    def block(self, values: Floats) -> Floats:
        """The values as a row a topic, zeros behind them."""
        block = np.zeros((len(self), self.most))
        block[self.row, self.within] = values
        return block

    def running(self, values: Floats) -> Floats:
        """At each hit the sum so far, its own value included."""
        return np.cumsum(self.block(values), axis=1)[self.row, self.within]

    @cached_property
    def discounted(self) -> Floats:
        return self.gain / log2_of_ranks(self.shape[1])[self.column]

    @cached_property
    def dcg(self) -> Floats:
        return self.sums(self.discounted)

    def __len__(self) -> int:
        return self.shape[0]


class Ideal:
    """The gains of the best ranking there could be, a row a topic, zeros behind them."""

    def __init__(self, gain: Floats) -> None:
        self.gain = gain
        self.size = (gain > 0).sum(axis=1)
        self.discounted = np.cumsum(gain / log2_of_ranks(gain.shape[1]), axis=1)  # the best sum after each place

    @property
    def dcg(self) -> Floats:
        return self.discounted[:, -1]


class Rankings:
    """Some topics of a run as trec_eval sees them: what is relevant, where, and out of how many."""

    def __init__(self, evidence: Evidence, level: int = 1, collection: int = 0) -> None:
        self.codes = evidence.codes
        self.grades = evidence.levels
        self.counts = evidence.counts
        self.collection = collection
        self.retrieved = evidence.lengths
        wanted = self.grades >= level
        self.other = np.append(np.zeros(JUDGED, dtype=bool), ~wanted)
        self.total: Ints = self.counts[:, wanted].sum(axis=1)
        self.total_other: Ints = self.counts[:, ~wanted].sum(axis=1)
        self.hits = Hits(np.append(np.zeros(JUDGED), wanted.astype(np.float64))[self.codes])
        self._gained: dict[Gains, tuple[Hits, Ideal]] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def found_at(self, k: Any) -> Ints:
        """Relevant documents in the first k places; k is one number, or one a topic."""
        cut = k[self.hits.row] if isinstance(k, np.ndarray) else k
        return np.bincount(self.hits.row[self.hits.column < cut], minlength=len(self))

    @cached_property
    def found(self) -> Ints:
        return self.found_at(self.codes.shape[1])

    @cached_property
    def precisions(self) -> Floats:
        """Precision at each relevant document."""
        return (self.hits.within + 1) / (self.hits.column + 1)

    @cached_property
    def precisions_from(self) -> Floats:
        """In column c - 1 the greatest precision from the c-th relevant document on."""
        return np.maximum.accumulate(self.hits.block(self.precisions)[:, ::-1], axis=1)[:, ::-1]

    @cached_property
    def other_above(self) -> Ints:
        """Judged documents that are not relevant above each relevant one."""
        return self.above(self.other[self.codes])

    def above(self, which: Bools) -> Ints:
        """How many of some documents stand above each relevant one."""
        return np.cumsum(which, axis=1, dtype=np.int64)[self.hits.row, self.hits.column]

    def gained(self, gains: Gains) -> tuple[Hits, Ideal]:
        """The documents that have a gain, and the ideal; a grade is its own gain where none is given."""
        if gains not in self._gained:
            given = dict(gains)
            table = np.zeros(JUDGED + len(self.grades))
            table[UNJUDGED], table[NEGATIVE] = given.get(-1, 0.0), given.get(-2, 0.0)
            table[JUDGED:] = [given.get(int(grade), grade) for grade in self.grades]
            self._gained[gains] = Hits(table[self.codes]), Ideal(self._ideal(gains))
        return self._gained[gains]

    def _ideal(self, gains: Gains) -> Floats:
        """Level by level from the best down to the first without a gain above 0."""
        used = self.counts > 0
        last = used.shape[1] - 1 - used[:, ::-1].argmax(axis=1)
        gain, count = np.zeros(used.shape), np.zeros(used.shape, dtype=np.int64)
        # With gains given, the order of the levels depends on which there are.
        for highest in distinct(last):
            rows = np.flatnonzero(last == highest)
            order = from_the_best(gains, self.grades[: highest + 1])
            if not order:
                continue
            gain[rows, : len(order)] = [worth for _, worth in order]
            count[rows, : len(order)] = self.counts[rows][:, [level for level, _ in order]]
        ended = np.logical_or.accumulate((count > 0) & (gain <= 0), axis=1)
        count[ended] = 0
        size = count.sum(axis=1)
        ideal = np.zeros((len(self), max(1, int(size.max(initial=0)))))
        ideal[np.arange(ideal.shape[1]) < size[:, None]] = np.repeat(gain.ravel(), count.ravel())
        return ideal


def log2_of_ranks(n: int) -> Floats:
    """Discounts of the first n ranks, by the C library's logarithm: numpy's own can differ in the last bit."""
    return np.array([math.log2(rank) for rank in range(2, n + 2)])


def from_the_best(gains: Gains, grades: Floats) -> list[tuple[int, float]]:
    """Places in `grades` with their gains, greatest gain first, as trec_eval orders them.

    It compares two gains by their difference cut to a whole number, so gains less than 1 apart count as equal and stay
    where the C library's merge sort has them: those given first, then all whole grades up to the highest. Where the
    one that comes out best has no gain, it takes it that none has.
    """
    if not gains:
        return [(place, float(grades[place])) for place in range(len(grades) - 1, -1, -1)]
    given = dict(gains)
    levels = [*gains, *((grade, float(grade)) for grade in range(int(grades[-1]) + 1) if grade not in given)]
    place = {int(grade): i for i, grade in enumerate(grades)}
    best_first = _merge_sorted(levels)[::-1]
    return [(place[grade], gain) for grade, gain in best_first if grade in place] if best_first[0][1] > 0 else []


def _merge_sorted(levels: list[tuple[int, float]]) -> list[tuple[int, float]]:
    if len(levels) < 2:
        return levels
    middle = len(levels) // 2
    left, right = _merge_sorted(levels[:middle]), _merge_sorted(levels[middle:])
    merged = []
    while left and right:
        merged.append((left if int(left[0][1] - right[0][1]) <= 0 else right).pop(0))
    return merged + left + right


# -- measures of one topic each ---------------------------------------------------------------------------------------


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
    return np.array([math.log(max(value, LEAST)) for value in values.tolist()])


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
PREFERENCES = "needs preferences between documents (-R prefs or -R qrels_prefs), which fathoms does not read"
GROUPED = "needs judgments of several assessors side by side (-R qrels_jg), which fathoms does not read"
UNSUPPORTED = {
    "all_prefs": PREFERENCES,
    "prefs": PREFERENCES,
    "qrels_jg": GROUPED,
    "map_avgjg": GROUPED,
    "P_avgjg": GROUPED,
    "Rprec_mult_avgjg": GROUPED,
    "prefs_num_prefs_poss": PREFERENCES,
    "prefs_num_prefs_ful": PREFERENCES,
    "prefs_num_prefs_ful_ret": PREFERENCES,
    "prefs_simp": PREFERENCES,
    "prefs_pair": PREFERENCES,
    "prefs_avgjg": PREFERENCES,
    "prefs_avgjg_Rnonrel": PREFERENCES,
    "prefs_simp_ret": PREFERENCES,
    "prefs_pair_ret": PREFERENCES,
    "prefs_avgjg_ret": PREFERENCES,
    "prefs_avgjg_Rnonrel_ret": PREFERENCES,
    "prefs_simp_imp": PREFERENCES,
    "prefs_pair_imp": PREFERENCES,
    "prefs_avgjg_imp": PREFERENCES,
}


@dataclass(frozen=True)
class Column:
    """One line of the output for each topic: a measure with its parameter."""

    name: str
    known: Known
    parameter: Any = None


def columns_of(words: Sequence[str], notes: list[str]) -> list[Column]:
    """What `-m` asks for, as `P.5,10` or `official`, in the order in which trec_eval prints.

    Of parameters given twice for one measure the first count, and those given to a measure that takes none count for
    nothing, as there; `notes` gets a word on that.
    """
    given: dict[str, str] = {}
    wanted: set[str] = set()
    for word in words:
        name, dot, text = word.partition(".")
        if name in UNSUPPORTED:
            raise FathomsError(f"the measure {name} {UNSUPPORTED[name]}")
        if name not in KNOWN and name not in GROUPS:
            raise _unknown(name)
        if dot and not text:
            raise FathomsError(f"-m {word}: expected parameters after the point, such as -m P.5,10")
        if dot and (name in GROUPS or KNOWN[name].parameters == "none"):
            notes.append(f"-m {word}: {name} takes no parameters; they are ignored, as trec_eval does")
        elif dot and given.setdefault(name, text) != text:
            notes.append(f"-m {word}: ignored, as trec_eval does, since -m {name}.{given[name]} stands before it")
        wanted.update(GROUPS.get(name, (name,)))
    return [column for name in KNOWN if name in wanted for column in _columns(KNOWN[name], given.get(name))]


def _unknown(name: str) -> FathomsError:
    import difflib

    near = difflib.get_close_matches(name, [*KNOWN, *GROUPS], n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else "."
    hint += " (`fathoms eval` takes names such as nDCG@10)" if "@" in name else ""
    return FathomsError(f"trec_eval 9.0.8 has no measure {name!r}{hint} The list is in `fathoms trec_eval --help`")


def _columns(known: Known, text: str | None) -> list[Column]:
    name = known.name
    if known.parameters == "none":
        return [Column(name, known)]
    if known.parameters == "gains":
        gains = () if text is None else _gains(name, text)
        return [Column(name if text is None else f"{name}_{text}", known, gains)]
    values = known.default if text is None else tuple(_parameter(name, part) for part in text.split(","))
    if known.parameters == "numbers":
        if name == "utility" and len(values) != 4:
            raise FathomsError(f"-m {name}.{text}: expected four numbers, found {len(values)}")
        if name == "11pt_avg" and list(values) != sorted(values):
            raise FathomsError(f"-m {name}.{text}: expected levels of recall in ascending order")
        return [Column(name if text is None else f"{name}_{text}", known, values)]
    if len(set(values)) < len(values):
        raise FathomsError(f"-m {name}.{text}: expected each cut-off once")
    if known.parameters == "levels":
        return [Column(f"{name}_{value:.2f}", known, value) for value in sorted(values)]
    if any(value < 1 or value != int(value) for value in values):
        raise FathomsError(f"-m {name}.{text}: expected ranks, whole numbers from 1 on")
    return [Column(f"{name}_{int(value)}", known, int(value)) for value in sorted(values)]


def _parameter(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FathomsError(f"-m {name}: expected numbers with commas between, such as -m {name}.1,2; found {text!r}")
    return value


def _gains(name: str, text: str) -> Gains:
    pairs = []
    for part in text.split(","):
        grade, equals, gain = part.partition("=")
        if not equals or not grade.removeprefix("-").isdecimal():
            raise FathomsError(f"-m {name}: expected grade=gain, such as -m {name}.1=3.5,2=9; found {part!r}")
        pairs.append((int(grade), _parameter(f"{name}.{grade}=", gain)))
    if len(dict(pairs)) < len(pairs):
        raise FathomsError(f"-m {name}.{text}: expected each grade once")
    return tuple(pairs)


# -- scoring ----------------------------------------------------------------------------------------------------------


def values_of(
    evidence: Evidence,
    columns: Sequence[Column],
    *,
    level: int = 1,
    judged_only: bool = False,
    most: int | None = None,
    collection: int = 0,
) -> list[NDArray[Any]]:
    """Each column's value for each topic; of a ranking the first `most` documents, and of those the judged ones."""
    parts: list[list[NDArray[Any]]] = []
    for chunk in evidence.chunks():
        if most is not None:
            chunk = replace(chunk.cut(most), lengths=np.minimum(chunk.lengths, most))
        rankings = Rankings(chunk.condensed if judged_only else chunk, level, collection)
        parts.append([column.known.value(rankings, column.parameter) for column in columns])
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def over_topics(column: Column, values: NDArray[Any], n: int) -> float:
    """One value for n topics, those that are not in the run (`-c`) with nothing in all measures."""
    total = float(np.cumsum(values)[-1])
    if column.known.over == "sum":
        return total
    if column.known.over == "topics":
        return n
    if column.known.over == "geometric":
        return math.exp((total + (n - len(values)) * math.log(LEAST)) / n)
    return total / n
