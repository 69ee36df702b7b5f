"""Retrieval measures the slow way: one topic, plain loops, every completion and every tie order listed.

Nothing here is fast or shared with the library; it exists so that the library can be checked against it.
A ranking is read place by place, `known` holds the judged documents of the topic (R and ideals come from it),
and unjudged documents have gain 0 until `bounds` gives them a grade.
"""

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Doc:
    """A document: its grade, the tie group it is ranked in, and its least rank over the contributing runs."""

    grade: float | None  # None: not in the qrels; negative: in the qrels, not judged
    group: int = 0
    pooled_at: int | None = None

    @property
    def judged(self) -> bool:
        return self.grade is not None and self.grade >= 0


@dataclass(frozen=True)
class Case:
    """One run on one topic, the documents it did not return, and the greatest grade."""

    ranking: tuple[Doc, ...]
    outside: tuple[Doc, ...]
    gmax: int


Docs = Sequence[Doc]


# Measure names


@dataclass(frozen=True)
class Spec:
    """A measure as written, its parameters filled in."""

    name: str
    cutoff: float | None
    rel: float = 1
    gain: str = "binary"
    gains: dict[float, float] | None = None
    max_grade: int | None = None
    judged_only: bool = False
    variant: str = "a"
    ideal: str = "i"
    beta: float = 1
    discount: str = "log2"
    b: float | None = None
    p: float = 0.8
    T: float = 1
    alpha: float = 0.5
    normalize: bool = True

    @property
    def k(self) -> int | None:
        return None if self.cutoff is None else int(self.cutoff)

    @property
    def depth(self) -> int:
        """The cut-off, for what makes no sense without one."""
        if self.cutoff is None:
            raise ValueError(f"{self.name} needs a cut-off here")
        return int(self.cutoff)

    def top(self, ranking: Docs) -> Docs:
        return ranking if self.cutoff is None else ranking[: int(self.cutoff)]


DEFAULT_GAIN = {
    "nDCG": "raw",
    "DCG": "raw",
    "SDCG": "raw",
    "Q": "raw",
    "ERR": "exp",
    "nERR": "exp",
    "INST": "linear",
    **dict.fromkeys(("BPM", "INSQ", "NERR8", "NERR9", "NERR10", "NERR11"), "linear"),
}  # all others binary

GRADED = {"gain", "gains", "max_grade", "rel", "judged_only"}
BINARY = {"max_grade", "rel", "judged_only"}
PARAMETERS = {
    "P": GRADED,
    "R": BINARY,
    "RR": BINARY,
    "AP": BINARY | {"variant"},
    "nDCG": GRADED | {"variant", "discount", "b"},
    "RBP": GRADED | {"p"},
    "ERR": GRADED,
    "nERR": GRADED,
    "DCG": GRADED | {"discount", "b"},
    "SDCG": GRADED | {"discount", "b"},
    "Q": GRADED | {"variant", "ideal", "beta"},
    "Bpref": BINARY,
    "infAP": BINARY,
    "INST": GRADED | {"T"},
    "Judged": set[str](),
    "Rprec": BINARY,
    "Success": BINARY,
    "SetP": BINARY,
    "SetR": BINARY,
    "SetF": BINARY | {"beta"},
    "IPrec": BINARY,
    "GMAP": BINARY | {"variant"},
    "NumQ": set[str](),
    "NumRet": set[str](),
    "NumRel": {"rel"},
    "NumRelRet": {"rel"},
    "SetRelP": BINARY,
    "SetAP": BINARY,
    "Accuracy": BINARY,
    "BPM": GRADED | {"T"},
    "INSQ": GRADED | {"T"},
    "NERR8": GRADED,
    "NERR9": GRADED,
    "NERR10": GRADED | {"p"},
    "NERR11": GRADED | {"T"},
    "Compat": {"p", "normalize"},
    "P_IA": BINARY,
    "AP_IA": BINARY,
    "StRecall": BINARY,
    "ERR_IA": BINARY,
    "nERR_IA": BINARY,
    "alpha_DCG": BINARY | {"alpha"},
    "alpha_nDCG": BINARY | {"alpha"},
    "NRBP": BINARY | {"alpha", "beta"},
    "nNRBP": BINARY | {"alpha", "beta"},
}
CHOICES = {
    "gain": {"binary", "raw", "linear", "exp"},
    "variant": {"a", "b", "c"},
    "ideal": {"i", "ii"},
    "discount": {"log2", "zipf"},
}


@cache
def parse(measure: str) -> Spec:
    """Read `Name(par=val, ...)@cutoff`; a bare word is a string, anything else a Python literal."""
    head, _, cutoff = measure.partition("@")
    tree = ast.parse(head.strip(), mode="eval").body
    parameters: dict[str, Any] = {}
    if isinstance(tree, ast.Call):
        for keyword in tree.keywords:
            word = keyword.value
            parameters[str(keyword.arg)] = word.id if isinstance(word, ast.Name) else ast.literal_eval(word)
        tree = tree.func
    if not isinstance(tree, ast.Name) or tree.id not in PARAMETERS:
        raise ValueError(f"no such measure: {measure}")
    for key, setting in parameters.items():
        if key not in PARAMETERS[tree.id] or (key in CHOICES and setting not in CHOICES[key]):
            raise ValueError(f"{measure}: {key}={setting} does not belong here")
    if tree.id == "nDCG" and parameters.get("variant") == "c":
        raise ValueError("nDCG has variants a and b")
    parameters.setdefault("gain", DEFAULT_GAIN.get(tree.id, "binary"))
    if tree.id in ("NRBP", "nNRBP"):
        parameters.setdefault("beta", 0.5)
    return Spec(tree.id, float(cutoff) if cutoff else None, **parameters)


# Relevance and gain of one document


def relevant(spec: Spec, doc: Doc) -> bool:
    return doc.judged and doc.grade is not None and doc.grade >= spec.rel


def gain_of_grade(spec: Spec, grade: float, gmax: int) -> float:
    """The gain of a judged document; a grade that `gains` does not list keeps its own value."""
    if spec.gains is not None:
        return spec.gains.get(grade, grade)
    if spec.gain == "binary":
        return 1.0 if grade >= spec.rel else 0.0
    if spec.gain == "raw":
        return grade
    if spec.gain == "linear":
        return grade / gmax if gmax > 0 else 0.0
    scale = 1 if spec.name in ("DCG", "nDCG", "Q") else 2**gmax
    return float(2**grade - 1) / scale


def gain(spec: Spec, doc: Doc, gmax: int) -> float:
    return gain_of_grade(spec, doc.grade, gmax) if doc.grade is not None and doc.judged else 0.0


def gains(spec: Spec, docs: Docs, gmax: int) -> list[float]:
    return [gain(spec, doc, gmax) for doc in docs]


def count(spec: Spec, docs: Docs) -> int:
    return sum(relevant(spec, doc) for doc in docs)


def ratio(part: float, whole: float) -> float:
    """part / whole, and 0 where there is nothing to divide by."""
    return part / whole if whole > 0 else 0.0


def pooled(spec: Spec, known: Docs) -> Docs:
    """The documents of the depth-k pool."""
    return [doc for doc in known if doc.pooled_at is not None and doc.pooled_at <= spec.depth]


def ideal_gains(spec: Spec, known: Docs, gmax: int) -> list[float]:
    """All gains above 0, greatest first."""
    return sorted((g for g in gains(spec, known, gmax) if g > 0), reverse=True)


def relevant_total(spec: Spec, known: Docs) -> int:
    """What AP and Q divide by: R (variant a), at most k of them (b), or those of the depth-k pool (c)."""
    if spec.variant == "c":
        return count(spec, pooled(spec, known))
    total = count(spec, known)
    return total if spec.variant == "a" or spec.k is None else min(total, spec.k)


# The measures. All have the same arguments: the spec; the ranking; the judged documents of the topic; the
# greatest grade; and whether what lies past the last place read has the greatest gain (RBP, ERR and INST).


def precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return sum(gains(spec, spec.top(ranking), gmax)) / spec.depth


def recall(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return ratio(count(spec, ranking[: spec.depth]), count(spec, known))


def reciprocal_rank(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    for i, doc in enumerate(spec.top(ranking), start=1):
        if relevant(spec, doc):
            return 1 / i
    return 0.0


def average_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    found, total = 0, 0.0
    for i, doc in enumerate(spec.top(ranking), start=1):
        if relevant(spec, doc):
            found += 1
            total += found / i
    return ratio(total, relevant_total(spec, known))


def discounted(spec: Spec, values: Sequence[float]) -> float:
    """Sum of gain times discount."""
    total = 0.0
    for i, value in enumerate(values, start=1):
        if spec.b is not None:
            total += value if i <= spec.b else value / math.log(i, spec.b)
        else:
            total += value / i if spec.discount == "zipf" else value / math.log2(i + 1)
    return total


def dcg(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return discounted(spec, gains(spec, spec.top(ranking), gmax))


def sdcg(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    best = [gain_of_grade(spec, gmax, gmax)] * spec.depth
    return ratio(dcg(spec, ranking, known, gmax, tail), discounted(spec, best))


def ndcg(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    source = pooled(spec, known) if spec.variant == "b" else known
    best = ideal_gains(spec, source, gmax)[: spec.k]
    return ratio(dcg(spec, ranking, known, gmax, tail), discounted(spec, best))


def rbp(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    total, weight = 0.0, 1 - spec.p
    for doc in spec.top(ranking):
        total += gain(spec, doc, gmax) * weight
        weight *= spec.p
    while tail and weight > 1e-17:
        total += gain_of_grade(spec, gmax, gmax) * weight
        weight *= spec.p
    return total


def expected_reciprocal_rank(values: Sequence[float], tail_gain: float) -> float:
    """ERR of a list of gains, read as chances to stop, followed by `tail_gain` for ever."""
    total, reading = 0.0, 1.0
    i = 0
    for value in values:
        i += 1
        total += reading * value / i
        reading *= 1 - value
    while tail_gain > 0 and reading > 1e-16:
        i += 1
        total += reading * tail_gain / i
        reading *= 1 - tail_gain
    return total


def err(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    tail_gain = gain_of_grade(spec, gmax, gmax) if tail else 0.0
    return expected_reciprocal_rank(gains(spec, spec.top(ranking), gmax), tail_gain)


def nerr(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    best = ideal_gains(spec, known, gmax)[: spec.k]
    return ratio(err(spec, ranking, known, gmax, False), expected_reciprocal_rank(best, 0.0))


def q_measure(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    best = ideal_gains(spec, pooled(spec, known) if spec.ideal == "ii" else known, gmax)
    found, gained, total = 0, 0.0, 0.0
    for i, doc in enumerate(spec.top(ranking), start=1):
        gained += gain(spec, doc, gmax)
        if relevant(spec, doc):
            found += 1
            total += (found + spec.beta * gained) / (i + spec.beta * sum(best[:i]))
    return ratio(total, relevant_total(spec, known))


def bpref(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    total_relevant = count(spec, known)
    total_other = len(known) - total_relevant
    above, total = 0, 0.0
    for doc in ranking:
        if relevant(spec, doc):
            total += 1.0
            if above > 0:
                total -= min(above, total_relevant) / min(total_other, total_relevant)
        elif doc.judged:
            above += 1
    return ratio(total, total_relevant)


def inferred_ap(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    """A document outside the qrels takes up a place; one with a negative grade also counts as pooled."""
    epsilon = 0.00001
    rel_above, other_above, unjudged_above, total = 0, 0, 0, 0.0
    for above, doc in enumerate(ranking):
        if relevant(spec, doc):
            pool_above = rel_above + other_above + unjudged_above
            share = (rel_above + epsilon) / (rel_above + other_above + 2 * epsilon)
            total += (1 + pool_above * share) / (above + 1)
            rel_above += 1
        elif doc.judged:
            other_above += 1
        elif doc.grade is not None:
            unjudged_above += 1
    return ratio(total, count(spec, known))


def inst(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    """Weights fall by ((c - 1) / c)^2 from rank i to the next, c = i + 2T - (gain through rank i).

    Past the last place read every gain is the same, `g`. 2,000 such places are added one by one. In what
    remains c grows by d = 1 - g a place. The sum of the weights from V on is V (a c + b + e / c + ...), and
    "this sum less the next one is V" gives a = 1 / (2 - d), b = a (1/2 - d), e = a / (4 + 2d).
    """
    top = gains(spec, spec.top(ranking), gmax)
    g = gain_of_grade(spec, gmax, gmax) if tail else 0.0
    weight, wanted, weighted, weights = 1.0, spec.T, 0.0, 0.0
    c = 0.0
    for i, value in enumerate(top + [g] * 2000, start=1):
        weighted += weight * value
        weights += weight
        wanted -= value
        c = i + spec.T + wanted
        weight *= ((c - 1) / c) ** 2
    d = 1 - g
    c += d
    a = 1 / (2 - d)
    rest = weight * (a * c + a * (0.5 - d) + a / (4 + 2 * d) / c)
    return (weighted + g * rest) / (weights + rest)


def judged_share(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    top = spec.top(ranking)
    return ratio(sum(doc.judged for doc in top), len(top))


def r_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    total = count(spec, known)
    return ratio(count(spec, ranking[:total]), total)


def success(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return float(any(relevant(spec, doc) for doc in ranking[: spec.depth]))


def set_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return ratio(count(spec, ranking), len(ranking))


def set_recall(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return ratio(count(spec, ranking), count(spec, known))


def set_f(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    """`beta` enters as it is, not squared."""
    p = set_precision(spec, ranking, known, gmax, tail)
    r = set_recall(spec, ranking, known, gmax, tail)
    return ratio((spec.beta + 1) * p * r, spec.beta * p + r)


def interpolated_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    """Greatest precision from the place of the c-th relevant document on, c = floor(x R + 0.9)."""
    if spec.cutoff is None:
        raise ValueError("IPrec needs a recall level")
    needed = int(spec.cutoff * count(spec, known) + 0.9)
    best, found = 0.0, 0
    for i, doc in enumerate(ranking, start=1):
        found += relevant(spec, doc)
        if found >= needed:
            best = max(best, found / i)
    return best


def floored_average_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return max(average_precision(spec, ranking, known, gmax, tail), 0.00001)


def number_of_topics(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return 1.0


def number_retrieved(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return len(ranking)


def number_relevant(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return count(spec, known)


def number_relevant_retrieved(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return count(spec, ranking)


def set_relative_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return ratio(count(spec, ranking), min(len(ranking), count(spec, known)))


def set_average_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    p = set_precision(spec, ranking, known, gmax, tail)
    return p * set_recall(spec, ranking, known, gmax, tail)


def accuracy(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    top = spec.top(ranking)
    pairs = [
        (i, j) for i, a in enumerate(top) for j, b in enumerate(top) if relevant(spec, a) and not relevant(spec, b)
    ]
    if not count(spec, top):
        return 0.0
    return sum(i < j for i, j in pairs) / len(pairs) if pairs else 1.0


def bejeweled(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    total = 0.0
    for i, value in enumerate(gains(spec, spec.top(ranking), gmax), start=1):
        total += value
        if total >= spec.T - 1e-9:
            return total / i
    return total / spec.depth


def player(values: Sequence[float], chance: Callable[[int, float], float], last: int) -> float:
    """The mean gain of what a reader sees who goes on from rank i, with gain g, with `chance(i, g)`."""
    reach, weighted, weights = 1.0, 0.0, 0.0
    for i in range(1, last + 1):
        value = values[i - 1] if i <= len(values) else 0.0
        weighted += reach * value
        weights += reach
        reach *= chance(i, value)
    return weighted / weights


def goal_chance(T: float, i: int) -> float:
    return float(((i + 2 * T - 1) / (i + 2 * T)) ** 2)


def goal_player(spec: Spec, values: Sequence[float], tail_gain: float, stops: bool) -> float:
    """INSQ, or with `stops` NERR11. Past 200 places of `tail_gain` weights fall as 1/x^2, of which the sum is
    1/x + 1/(2x^2) + 1/(6x^3)."""
    reach, weighted, weights = 1.0, 0.0, 0.0
    i = 0
    for i, value in enumerate([*values, *[tail_gain] * 200], start=1):
        weighted += reach * value
        weights += reach
        reach *= goal_chance(spec.T, i) * (1 - value if stops else 1.0)
    x = i + 2 * spec.T
    rest = 0.0 if stops and tail_gain else reach * x**2 * (1 / x + 1 / (2 * x**2) + 1 / (6 * x**3))
    return (weighted + rest * tail_gain) / (weights + rest)


def insq(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    values = gains(spec, spec.top(ranking), gmax)
    return goal_player(spec, values, gain_of_grade(spec, gmax, gmax) if tail else 0.0, stops=False)


def nearly_8(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return player(gains(spec, spec.top(ranking), gmax), lambda i, g: 1 - g, spec.depth)


def nearly_9(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return player(gains(spec, spec.top(ranking), gmax), lambda i, g: i / (i + 1) * (1 - g), spec.depth)


def nearly_10(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    values = gains(spec, ranking, gmax)
    more = [gain_of_grade(spec, gmax, gmax)] * 400 if tail else []
    return player([*values, *more], lambda i, g: spec.p * (1 - g), len(values) + 400)


def nearly_11(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return goal_player(spec, gains(spec, ranking, gmax), gain_of_grade(spec, gmax, gmax) if tail else 0.0, stops=True)


def overlap(ranking: Sequence[int], ideal: Sequence[int], p: float, depth: int) -> float:
    score = total = 0.0
    for i in range(1, depth + 1):
        score += p ** (i - 1) * len(set(ranking[:i]) & set(ideal[:i])) / i
        total += p ** (i - 1)
    return ratio(score, total)


def compatibility(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    """Documents are numbers: those of the ranking first, then relevant ones that it lacks."""
    grade = {i: doc.grade for i, doc in enumerate(ranking) if doc.judged and doc.grade is not None and doc.grade > 0}
    lacking = [doc.grade for doc in known if doc.grade is not None and doc.grade > 0]
    for found in grade.values():
        lacking.remove(found)
    grade |= {len(ranking) + i: found for i, found in enumerate(lacking)}
    ideal = sorted(grade, key=lambda i: (-(grade[i] or 0), i))
    depth = max(len(ranking), len(ideal))
    score = overlap(range(len(ranking)), ideal, spec.p, depth)
    return ratio(score, overlap(ideal, ideal, spec.p, depth)) if spec.normalize else score


# Measures of diversity, for a topic with a single subtopic.


def novelty(spec: Spec, ranking: Sequence[bool]) -> float:
    total, left = 0.0, 1.0
    for i, there in enumerate(ranking, start=1):
        worth = {"ERR": 1 / i, "DCG": 1 / math.log2(i + 1), "RBP": spec.beta ** (i - 1)}
        kind = next(kind for kind in worth if kind in spec.name)
        total += left * worth[kind] * there
        left *= 1 - spec.alpha if there else 1.0
    return total


def novelty_mean(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    if not count(spec, known):
        return 0.0
    best = novelty(spec, [True] * (spec.k or 80))
    return novelty(spec, [relevant(spec, doc) for doc in spec.top(ranking)]) / best


def normalised_novelty(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    ideal = [True] * count(spec, known)
    found = [relevant(spec, doc) for doc in spec.top(ranking)]
    return ratio(novelty(spec, found), novelty(spec, ideal[: spec.k]))


def single_precision(spec: Spec, ranking: Docs, known: Docs, gmax: int, tail: bool) -> float:
    return precision(spec, ranking, known, gmax, tail) if count(spec, known) else 0.0


FUNCTIONS: dict[str, Callable[[Spec, Docs, Docs, int, bool], float]] = {
    "P": precision,
    "R": recall,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "nDCG": ndcg,
    "RBP": rbp,
    "ERR": err,
    "nERR": nerr,
    "DCG": dcg,
    "SDCG": sdcg,
    "Q": q_measure,
    "Bpref": bpref,
    "infAP": inferred_ap,
    "INST": inst,
    "Judged": judged_share,
    "Rprec": r_precision,
    "Success": success,
    "SetP": set_precision,
    "SetR": set_recall,
    "SetF": set_f,
    "IPrec": interpolated_precision,
    "GMAP": floored_average_precision,
    "NumQ": number_of_topics,
    "NumRet": number_retrieved,
    "NumRel": number_relevant,
    "NumRelRet": number_relevant_retrieved,
    "SetRelP": set_relative_precision,
    "SetAP": set_average_precision,
    "Accuracy": accuracy,
    "BPM": bejeweled,
    "INSQ": insq,
    "NERR8": nearly_8,
    "NERR9": nearly_9,
    "NERR10": nearly_10,
    "NERR11": nearly_11,
    "Compat": compatibility,
    "P_IA": single_precision,
    "AP_IA": average_precision,
    "StRecall": success,
    "ERR_IA": novelty_mean,
    "nERR_IA": normalised_novelty,
    "alpha_DCG": novelty_mean,
    "alpha_nDCG": normalised_novelty,
    "NRBP": novelty_mean,
    "nNRBP": normalised_novelty,
}
RANGELESS = ("Bpref", "infAP", "Judged", "Compat", "nERR_IA", "alpha_nDCG", "nNRBP")


# What the tests call


def greatest_grade(spec: Spec, case: Case) -> int:
    return case.gmax if spec.max_grade is None else spec.max_grade


def judged_of(docs: Docs) -> list[Doc]:
    return [doc for doc in docs if doc.judged]


def evaluate(spec: Spec, case: Case, ranking: Docs, known: Docs, tail: bool = False) -> float:
    if spec.judged_only:
        ranking = judged_of(ranking)
    return FUNCTIONS[spec.name](spec, ranking, known, greatest_grade(spec, case), tail)


def value(measure: str, case: Case) -> float:
    """The score, unjudged documents counting as not relevant."""
    return evaluate(parse(measure), case, case.ranking, judged_of(case.ranking + case.outside))


def completions(docs: tuple[Doc, ...], gmax: int) -> Iterator[tuple[Doc, ...]]:
    """The same documents, all judged, in every way."""
    options = [[doc] if doc.judged else [replace(doc, grade=g) for g in range(gmax + 1)] for doc in docs]
    return itertools.product(*options)


def bounds(measure: str, case: Case) -> tuple[float, float]:
    """Least and greatest score over all completions; a tail holds nothing for low, the best for high."""
    spec = parse(measure)
    if spec.name in RANGELESS or spec.judged_only:
        raise ValueError(f"{measure} has no range")
    low, high = math.inf, -math.inf
    for known in completions(case.ranking + case.outside, greatest_grade(spec, case)):
        ranking = known[: len(case.ranking)]
        low = min(low, evaluate(spec, case, ranking, known, tail=False))
        high = max(high, evaluate(spec, case, ranking, known, tail=True))
    return low, high


def tie_orders(ranking: tuple[Doc, ...]) -> Iterator[tuple[Doc, ...]]:
    """Every order that leaves the tie groups in place, once.

    Swapping two like documents is no new order. That drops equally many copies of each, so means are kept.
    """
    groups = [tuple(group) for _, group in itertools.groupby(ranking, key=lambda doc: doc.group)]
    orders = [list(dict.fromkeys(itertools.permutations(group))) for group in groups]
    for choice in itertools.product(*orders):
        yield tuple(itertools.chain.from_iterable(choice))


def tie_values(measure: str, case: Case) -> tuple[float, float, float]:
    """Least, greatest and mean score over all orders of tied documents, unjudged ones not relevant."""
    values = [value(measure, replace(case, ranking=order)) for order in tie_orders(case.ranking)]
    return min(values), max(values), math.fsum(values) / len(values)


def joint_bounds(measure: str, case: Case) -> tuple[float, float]:
    """Least and greatest score over all completions and, for each of them, all orders of tied documents."""
    spec = parse(measure)
    low, high = math.inf, -math.inf
    for known in completions(case.ranking + case.outside, greatest_grade(spec, case)):
        for order in tie_orders(known[: len(case.ranking)]):
            low = min(low, evaluate(spec, case, order, known, tail=False))
            high = max(high, evaluate(spec, case, order, known, tail=True))
    return low, high


def rm_top(measure: str, case: Case) -> float:
    """The rough upper estimate for AP and nDCG.

    Relevant documents that the evaluated part of the run does not have, best first, take its earliest unjudged
    places; R and the ideal stay as they are.
    """
    spec = parse(measure)
    gmax = greatest_grade(spec, case)
    if spec.name not in ("AP", "nDCG") or spec.judged_only:
        raise ValueError(f"{measure} has no such estimate")
    ranking = list(spec.top(case.ranking))
    missing = [doc for doc in case.ranking[len(ranking) :] + case.outside if gain(spec, doc, gmax) > 0]
    missing.sort(key=lambda doc: gain(spec, doc, gmax))
    for i, doc in enumerate(ranking):
        if missing and not doc.judged:
            ranking[i] = missing.pop()
    return evaluate(spec, case, ranking, judged_of(case.ranking + case.outside))
