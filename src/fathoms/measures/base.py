"""What a measure is: a value with a name and parameters, that scores a block of evidence.

A measure declares how a ranking is valued; the range over judgments and the values over tie orders come from its
family or from the general rules here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fathoms.data.keys import scrambled
from fathoms.data.qrels import JUDGED, NEGATIVE, UNJUDGED
from fathoms.errors import FathomsError
from fathoms.evidence.evidence import Evidence, Floats, MixedGroups

DRAWS = 200  # seeded shuffles of tied documents where no closed form is known


@dataclass(frozen=True)
class Scores:
    """One value a topic in each column; None where a column makes no sense for the measure."""

    score: Floats
    low: Floats | None = None
    high: Floats | None = None
    tie_low: Floats | None = None
    tie_high: Floats | None = None
    tie_expected: Floats | None = None
    tie_error: Floats | None = None  # standard error of tie_expected where it was simulated

    COLUMNS: ClassVar = ("score", "low", "high", "tie_low", "tie_high", "tie_expected")


class Param:
    """A measure's parameter: its default, what it may be, and how it shows in the name."""

    def __init__(self, default: Any, choices: Sequence[str], check: str, order: int, always_shown: bool) -> None:
        self.default = default
        self.choices = choices
        self.check = check
        self.order = order
        self.always_shown = always_shown


def param(
    default: Any, *, choices: Sequence[str] = (), check: str = "", order: int = 0, always_shown: bool = False
) -> Any:
    """Declare a parameter in a measure's class.

    `common` orders the parameters that many measures share after the measure's own; `always` keeps a parameter in
    the name that nobody should have to guess, such as RBP's p.
    """
    return Param(default, choices, check, order, always_shown)


class Measure:
    """Base of all measures. A measure is its class, its parameters and its cut-off, and compares as such."""

    k: float | None

    params: ClassVar[dict[str, Param]] = {}  # in signature order: the measure's own, then those it shares
    cutoff: ClassVar[str] = "optional"  # or required, none, recall (a level of recall instead of a rank)
    aggregate: ClassVar[str] = "mean"  # or sum, geometric
    range_is: ClassVar[str] = "none"  # how good low and high are: exact, sound or none
    sorting_is_optimal: bool = True  # more gain further up never lowers the score, so sorting tied documents is optimal

    def __init_subclass__(cls) -> None:
        # Plain attributes and not dataclass fields: some thirty generated classes would be felt at every start.
        found: dict[str, Param] = {}
        for parent in reversed(cls.__mro__):
            found |= {name: value for name, value in vars(parent).items() if isinstance(value, Param)}
        cls.params = dict(sorted(found.items(), key=lambda item: item[1].order))

    def __init__(self, *, k: float | None = None, **values: Any) -> None:
        unknown = values.keys() - self.params.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {', '.join(sorted(unknown))}")
        self.__dict__["k"] = k
        for name, parameter in self.params.items():
            self.__dict__[name] = values.get(name, parameter.default)
        self.check()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a measure does not change; make another one with but({name}=...)")

    def replace(self, **changes: Any) -> Self:
        """The same measure with other parameters or another cut-off."""
        return type(self)(**{**self.__dict__, **changes})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return self.name

    # -- the name ---------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The canonical name: defaults dropped, parameters in signature order, `AP(variant=b)@20`."""
        shown = [
            f"{name}={_show(getattr(self, name))}"
            for name, parameter in self.params.items()
            if parameter.always_shown or getattr(self, name) != parameter.default
        ]
        return type(self).__name__ + (f"({','.join(shown)})" if shown else "") + self._cut

    @property
    def _cut(self) -> str:
        return "" if self.k is None else f"@{_show(self.k)}" if self.cutoff == "recall" else f"@{int(self.k)}"

    def __matmul__(self, k: float) -> Measure:
        """`AP() @ 10` is `AP@10`."""
        return self.replace(k=k)

    def check(self) -> None:
        """Raise where a parameter or the cut-off makes no sense."""
        for name, parameter in self.params.items():
            _check(type(self).__name__, name, parameter, getattr(self, name))
        if self.k is None and self.cutoff in ("required", "recall"):
            raise FathomsError(
                f"{self.name} needs a cut-off, such as {self.name}@{10 if self.cutoff == 'required' else 0.1}"
            )
        if self.k is not None:
            if self.cutoff == "none":
                raise FathomsError(f"{type(self).__name__} takes no cut-off, found @{self.k:g}")
            if self.cutoff == "recall" and not 0 <= self.k <= 1:
                raise FathomsError(f"{type(self).__name__}@{self.k:g}: the recall level must lie in 0..1")
            if self.cutoff != "recall" and (self.k < 1 or self.k != int(self.k)):
                raise FathomsError(f"{type(self).__name__}@{self.k:g}: the cut-off must be a whole number from 1 on")

    @property
    def needs_pool(self) -> bool:
        """Whether it needs the pool of the contributing runs."""
        return False

    @property
    def needs_all_runs(self) -> bool:
        """Whether its range needs the unjudged documents of all given runs."""
        return getattr(self, "universe", None) == "all"

    @property
    def depends_on_others(self) -> bool:
        """Whether a run's values depend on its company."""
        return self.needs_pool or self.needs_all_runs

    # -- scoring ----------------------------------------------------------------------------------------------

    def scores(self, evidence: Evidence) -> Scores:
        """Score, range over judgments, and values over tie orders, for each topic."""
        condensed = getattr(self, "judged_only", False)
        if condensed:
            evidence = evidence.condensed
        score = self.value(evidence)
        low, high = (None, None) if condensed else self.range(evidence, score)
        return self._with_ties(evidence, Scores(score, low, high))

    def value(self, evidence: Evidence) -> Floats:
        """The score, unjudged documents taken as not relevant (RM's X_S)."""
        raise NotImplementedError

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Least and greatest value over every way of judging the unjudged documents, or None."""
        return None, None

    def joint_range(self, evidence: Evidence, scores: Scores) -> tuple[Floats | None, Floats | None]:
        """Least and greatest value over every way of judging and, with each, every order of the tied documents.

        YMT-ties section 2, "Optimistic and Pessimistic Limits". `scores` are those of the same evidence. None where
        there is no range, or where it cannot be had: where sorting tied documents need not be optimal, where some of
        them are in the pool of depth k and some are not, and for `bounds=rm`. There is no least value either where
        the universe is a number of documents outside the first k places: which those are depends on the order.
        """
        if scores.low is None or scores.high is None or not self.sorting_is_optimal:
            return None, None
        if getattr(self, "bounds", "exact") != "exact" or self.needs_pool:
            return None, None
        universe = getattr(self, "universe", "run")
        counted = isinstance(universe, int | float) and np.isfinite(universe) and self.k is not None
        low = None if counted else self.joint_low(evidence, scores.low)
        return low, self.joint_high(evidence, scores.high)

    def joint_low(self, evidence: Evidence, low: Floats) -> Floats:
        return self._ranged_anew(evidence, low, best=False)

    def joint_high(self, evidence: Evidence, high: Floats) -> Floats:
        return self._ranged_anew(evidence, high, best=True)

    def joint_tie_value(self, evidence: Evidence, best: bool) -> Floats:
        """Each code's worth where unjudged documents may get a grade: in the order of this worth, best first or worst
        first, the ranking has the extreme over all orders and judgments as the extreme of its range."""
        raise NotImplementedError

    def _ranged_anew(self, evidence: Evidence, extreme: Floats, best: bool) -> Floats:
        """One end of the range, after tied documents have been sorted for it."""
        worth = self.joint_tie_value(evidence, best)
        mixed = evidence.mixed(worth, self._tie_places(evidence))
        if mixed is None:
            return extreme
        part = arranged(evidence, worth, mixed, best=best)
        ends = self.range(part, self.value(part))
        anew = ends[1 if best else 0]
        found = extreme.copy()
        if anew is not None:
            found[mixed.rows] = (np.maximum if best else np.minimum)(found[mixed.rows], anew)
        return found

    def expected_range(self, evidence: Evidence) -> tuple[Floats | None, Floats | None]:
        """Expectations of low and high over the orders of tied documents, where the measure has them."""
        return None, None

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """The score to expect if each unjudged document had the gain given for its place (LMC-gain section 3).

        `gains` is [topic, rank], between 0 and the measure's greatest gain; the tail stays empty.
        """
        raise FathomsError(f"{self.name} has no estimate from predicted gains")

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        """Scores at many cut-offs, one column each. Families that can do it in one pass override this."""
        if self.cutoff not in ("optional", "required"):
            raise FathomsError(f"{type(self).__name__} takes no cut-off, so it has no scores by depth")
        return np.stack([self.replace(k=k).value(self.prepared(evidence)) for k in depths], axis=1)

    def prepared(self, evidence: Evidence) -> Evidence:
        return evidence.condensed if getattr(self, "judged_only", False) else evidence

    def depth_read(self, evidence: Evidence) -> int:
        """How many places of the block the measure reads."""
        return evidence.width if self.k is None else min(int(self.k), evidence.width)

    # -- ties -------------------------------------------------------------------------------------------------

    def tie_value(self, evidence: Evidence) -> Floats:
        """Each code's worth to the measure; tied documents of equal worth may be swapped without effect."""
        raise NotImplementedError

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """Mean over all orders of tied documents, in closed form; None leaves it to simulation."""
        return None

    def _with_ties(self, evidence: Evidence, scores: Scores) -> Scores:
        score = scores.score
        worth = self.tie_value(evidence)
        mixed = evidence.mixed(worth, self._tie_places(evidence))
        if mixed is None:
            return replace(scores, tie_low=score, tie_high=score, tie_expected=score)
        rows = mixed.rows
        tie_low, tie_high = score.copy(), score.copy()
        for best in (False, True):
            value = self.value(arranged(evidence, worth, mixed, best=best))
            tie_low[rows] = np.minimum(tie_low[rows], value)
            tie_high[rows] = np.maximum(tie_high[rows], value)
        expected = self.expected(evidence, score, mixed)
        error = None
        if expected is None or not self.sorting_is_optimal:
            mean, error, least, most = self._simulated(evidence, score, mixed)
            expected = mean if expected is None else expected
            tie_low, tie_high = np.minimum(tie_low, least), np.maximum(tie_high, most)
        return replace(
            scores,
            tie_low=tie_low,
            tie_high=tie_high,
            # Rounding may put a closed form a last digit outside.
            tie_expected=np.clip(expected, tie_low, tie_high),
            tie_error=error,
        )

    def _tie_places(self, evidence: Evidence) -> int:
        """Groups that start below this place cannot change the score."""
        return self.depth_read(evidence)

    def _simulated(
        self, evidence: Evidence, score: Floats, mixed: MixedGroups
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Mean, its standard error, least and greatest value over seeded shuffles of the tied documents."""
        rows = mixed.rows
        affected = evidence.select(rows)
        local = np.searchsorted(rows, mixed.row)
        codes = evidence.codes[mixed.row, mixed.column]
        draws = np.empty((DRAWS, len(rows)))
        for number, draw in enumerate(draws):
            shuffled = affected.codes.copy()
            chance = shuffle_keys(evidence.seed, number, evidence.topic_numbers[mixed.row], mixed.column)
            shuffled[local, mixed.column] = codes[np.lexsort((chance, mixed.group))]
            draw[:] = self.value(replace(affected, codes=shuffled, _cache={}))
        mean, error, least, most = (score.copy() for _ in range(4))
        mean[rows], least[rows], most[rows] = draws.mean(axis=0), draws.min(axis=0), draws.max(axis=0)
        error[:] = 0.0
        error[rows] = draws.std(axis=0, ddof=1) / np.sqrt(DRAWS)
        return mean, error, least, most


def shuffle_keys(seed: int, draw: int, topic: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Random numbers to sort tied documents by: the same for a place of a topic, whatever is worked on beside it."""
    start = np.random.SeedSequence((seed, draw)).generate_state(1, np.uint64)
    return scrambled(scrambled(topic.astype(np.uint64) + start) + place.astype(np.uint64))


def arranged(evidence: Evidence, worth: Floats, mixed: MixedGroups, *, best: bool) -> Evidence:
    """The topics that mixed groups concern, tied documents sorted by worth (YMT-ties section 2)."""
    key = ("arranged", id(mixed), best)
    if key not in evidence._cache:
        codes = evidence.codes[mixed.row, mixed.column]
        order = np.lexsort((-worth[codes] if best else worth[codes], mixed.group))
        rows = mixed.rows
        affected = evidence.select(rows)
        affected = replace(affected, codes=affected.codes.copy())
        affected.codes[np.searchsorted(rows, mixed.row), mixed.column] = codes[order]
        evidence._cache[key] = affected
    found: Evidence = evidence._cache[key]
    return found


def sorted_codes(evidence: Evidence, worth: Floats, k: int, *, best: bool) -> NDArray[np.int16]:
    """The codes of all topics, tied documents of groups that start above place k sorted by worth."""
    mixed = evidence.mixed(worth, k)
    if mixed is None:
        return evidence.codes
    codes = evidence.codes.copy()
    codes[mixed.rows] = arranged(evidence, worth, mixed, best=best).codes
    return codes


# -- parameters that many measures share ----------------------------------------------------------------------


class Condensable(Measure):
    """Measures that may score the condensed run."""

    judged_only: bool = param(False, order=5)


class Binary(Condensable):
    """Measures for which a document is relevant or not: grade `rel` and above are."""

    rel: float = param(1.0, order=1, check="positive")

    def relevant(self, evidence: Evidence) -> Floats:
        """1 for the codes that are relevant, 0 for the others."""
        return code_table((evidence.levels >= self.rel).astype(np.float64))

    def tie_value(self, evidence: Evidence) -> Floats:
        return self.relevant(evidence)

    def joint_tie_value(self, evidence: Evidence, best: bool) -> Floats:
        """Unjudged documents between the relevant and the others.

        For a given number of them made relevant, those next to the relevant ones are the best placed, and the worst
        placed in the other order; so what `range` scans over is all that needs to be looked at.
        """
        return code_table((evidence.levels >= self.rel).astype(np.float64), unknown=0.5)

    def can_be_relevant(self, evidence: Evidence) -> bool:
        return evidence.max_grade >= self.rel

    def chances(self, evidence: Evidence, gains: Floats) -> Floats:
        """The chance of each place to hold a relevant document: 0 or 1 where judged."""
        return np.where(evidence.unjudged, gains[:, : evidence.width], self.relevant(evidence)[evidence.codes])

    def known_relevant(self, evidence: Evidence) -> Floats:
        """R: judged relevant documents of each topic."""
        return evidence.counts[:, evidence.levels >= self.rel].sum(axis=1).astype(np.float64)


class Graded(Condensable):
    """Measures on gains. `gain`: binary 0/1 at `rel`; raw the grade; linear g/gmax; exp (2^g-1)/2^gmax.

    `gains={0:0,1:1,2:3}` spells them out. gmax is the greatest grade of the whole qrels, or `max_grade`.
    """

    rel: float = param(1.0, order=1, check="positive")
    gain: str = param("raw", order=2, choices=("binary", "raw", "linear", "exp"))
    gains: tuple[tuple[float, float], ...] | None = param(None, order=3)
    max_grade: float | None = param(None, order=4, check="positive")

    exp_is_scaled: ClassVar[bool] = True
    gains_at_most_one: ClassVar[bool] = False
    rel_counts: ClassVar[bool] = False  # the threshold has a use of its own beside the gains

    def check(self) -> None:
        super().check()
        if self.rel != 1 and self.gain != "binary" and not self.rel_counts:
            raise FathomsError(f"{type(self).__name__}: rel says nothing with gain={self.gain}; add gain=binary")
        if self.gains is not None:
            gains = [gain for _, gain in self.gains]
            if dict(self.gains).get(0.0, 0.0) != 0 or any(b < a for a, b in pairwise([0.0, *gains])):
                raise FathomsError(f"{self.name}: gains must be 0 for grade 0 and not fall as grades rise")

    def top_grade(self, evidence: Evidence) -> float:
        if self.max_grade is None:
            return evidence.max_grade
        if evidence.levels[-1] > self.max_grade:
            raise FathomsError(
                f"{self.name}: max_grade is {self.max_grade:g}, but the qrels has grade {evidence.levels[-1]:g}"
            )
        return self.max_grade

    def gain_of(self, grades: Floats, top: float) -> Floats:
        if self.gains is not None:
            known = dict(self.gains)  # a grade that is not listed is its own gain, as in ir_measures
            return np.array([known.get(grade, grade) for grade in grades.tolist()], dtype=np.float64)
        if self.gain == "binary":
            return (grades >= self.rel).astype(np.float64)
        if self.gain == "linear":
            return grades / top
        if self.gain == "exp":
            return (2.0**grades - 1) / (2.0**top if self.exp_is_scaled else 1.0)
        return grades.astype(np.float64)

    def level_gains(self, evidence: Evidence) -> Floats:
        """The gain of each grade in use."""
        gains = self.gain_of(evidence.levels, self.top_grade(evidence))
        if (gains[1:] < gains[:-1]).any():
            raise FathomsError(
                f"{self.name}: gains fall as grades rise: {dict(zip(evidence.levels, gains, strict=True))}"
            )
        if self.gains_at_most_one and gains[-1] > 1:
            raise FathomsError(
                f"{self.name}: gains are chances here and cannot exceed 1, found {gains[-1]:g}; "
                "use gain=exp, gain=linear or gain=binary"
            )
        return gains

    def top_gain(self, evidence: Evidence) -> float:
        """The gain of the greatest grade an unjudged document could have."""
        top = self.top_grade(evidence)
        return float(self.gain_of(np.array([top]), top)[0])

    def filled(self, evidence: Evidence, gains: Floats) -> Floats:
        """The gain of each place, predicted ones where unjudged."""
        return np.where(evidence.unjudged, gains[:, : evidence.width], self.table(evidence)[evidence.codes])

    def table(self, evidence: Evidence, unknown: float = 0.0) -> Floats:
        return code_table(self.level_gains(evidence), unknown)

    def tie_value(self, evidence: Evidence) -> Floats:
        return self.table(evidence)

    def joint_tie_value(self, evidence: Evidence, best: bool) -> Floats:
        """More gain never hurts, so unjudged documents are worth the most or nothing."""
        return self.table(evidence, unknown=self.top_gain(evidence) if best else 0.0)


def code_table(levels: Floats, unknown: float = 0.0) -> Floats:
    """A table over codes from one over levels: past the end 0, unjudged and negative `unknown`."""
    table = np.zeros(JUDGED + len(levels))
    table[UNJUDGED] = table[NEGATIVE] = unknown
    table[JUDGED:] = levels
    return table


# -- checks and names -----------------------------------------------------------------------------------------


def _check(measure: str, name: str, parameter: Param, value: Any) -> None:
    if parameter.choices and value not in parameter.choices:
        raise FathomsError(f"{measure}: {name} must be one of {', '.join(parameter.choices)}, found {value!r}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if parameter.check == "positive" and value is not None and not (number and value > 0):
        raise FathomsError(f"{measure}: {name} must be a positive number, found {value!r}")
    if parameter.check == "share" and not (number and 0 < value < 1):
        raise FathomsError(f"{measure}: {name} must lie between 0 and 1, found {value!r}")
    if isinstance(parameter.default, bool) and not isinstance(value, bool):
        raise FathomsError(f"{measure}: {name} must be True or False, found {value!r}")


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, tuple):
        return "{" + ",".join(f"{_show(a)}:{_show(b)}" for a, b in value) + "}"
    return str(value)
