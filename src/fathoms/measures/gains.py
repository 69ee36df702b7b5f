"""How grades count: relevant or not, or as gains; and the parameters that decide it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.data.qrels import JUDGED, NEGATIVE, UNJUDGED
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.base import Measure
from fathoms.measures.params import param

GAINS = ("binary", "raw", "linear", "exp")
MANY = 1000  # small tables to keep
LARGEST_EXPONENT = 1000  # a sum of a million gains of 2^1000 is still a number
LARGEST_GAIN = 1e100  # and so is the square of such a sum, which tests and estimates take
M = TypeVar("M", bound=Measure)
T = TypeVar("T")


def code_table(levels: Floats, unknown: float = 0.0) -> Floats:
    """A table over codes from one over levels: past the end 0, unjudged and negative `unknown`."""
    table = np.zeros(JUDGED + len(levels))
    table[UNJUDGED] = table[NEGATIVE] = unknown
    table[JUDGED:] = levels
    return table


def of_grades(method: Callable[[M, Evidence], T]) -> Callable[[M, Evidence], T]:
    """Keep what a method makes of the grades alone, which are the same for all runs of a collection."""
    kept: dict[Any, T] = {}

    @wraps(method)
    def get(self: M, evidence: Evidence) -> T:
        key = (self, evidence.levels.tobytes(), evidence.max_grade)
        value = kept.get(key)
        if value is None:
            value = method(self, evidence)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False  # many will look at it
            if len(kept) >= MANY:
                kept.clear()
            kept[key] = value
        return value

    return get


def rel_param() -> Any:
    return param(1.0, "a document is relevant if its grade is at least this", order=1, check="positive")


def gain_param(default: str) -> Any:
    """What a grade is worth; families differ in the default."""
    return param(
        default,
        "what a grade is worth: binary, 1 if relevant, else 0; raw, the grade; linear, grade / gmax; exp, {exp}",
        order=2,
        choices=GAINS,
    )


class Condensable(Measure):
    """Measures that may score the condensed run."""

    judged_only: bool = param(False, "take unjudged documents out of the run first; then there is no range", order=5)


class Binary(Condensable):
    """Measures for which a document is relevant or not: grade `rel` and above are."""

    rel: float = rel_param()

    @of_grades
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

    def known_relevant(self, evidence: Evidence, counts: Ints | None = None) -> Floats:
        """R: judged relevant documents of each topic, or as many as there are in other counts by level."""
        R: Floats = (evidence.counts if counts is None else counts) @ self.relevant(evidence)[JUDGED:]
        return R


class Graded(Condensable):
    """Measures on gains. `gain`: binary 0/1 at `rel`; raw the grade; linear g/gmax; exp (2^g-1)/2^gmax.

    `gains={0:0,1:1,2:3}` spells them out. gmax is the greatest grade of the whole qrels, or `max_grade`.
    """

    rel: float = rel_param()
    gain: str = gain_param("raw")
    gains: tuple[tuple[float, float], ...] | None = param(
        None,
        "a gain for each grade, gains={0:0,1:1,2:3}: starts with 0:0 and does not fall as grades rise; grades that "
        "are not listed are their own gain",
        order=3,
        check="gains",
    )
    max_grade: float | None = param(
        None, "gmax; by default the greatest grade of the whole qrels, and at least 1", order=4, check="positive"
    )

    exp_is_scaled: ClassVar[bool] = True
    gains_at_most_one: ClassVar[bool] = False
    rel_counts: ClassVar[bool] = False  # the threshold has a use of its own beside the gains

    @classmethod
    def about_param(cls, name: str) -> str:
        about = super().about_param(name)
        return about.format(exp=cls.exp_formula()) if name == "gain" else about

    @classmethod
    def exp_formula(cls) -> str:
        return "(2^grade - 1) / 2^gmax" if cls.exp_is_scaled else "2^grade - 1"

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
            if top > LARGEST_EXPONENT:
                raise FathomsError(
                    f"{self.name}: 2^grade is too large a number for grade {top:g}; use gain=linear, or gains=... for "
                    "a scale of your own"
                )
            return (2.0**grades - 1) / (2.0**top if self.exp_is_scaled else 1.0)
        return grades.astype(np.float64)

    def _check_size(self, gain: float) -> None:
        if gain > LARGEST_GAIN and (self.gain != "exp" or self.gains is not None):  # that one has a limit of its own
            raise FathomsError(
                f"{self.name}: a gain of {gain:g} is too large to be added up; use gain=linear, or gains=... for a "
                "scale of your own"
            )

    @of_grades
    def level_gains(self, evidence: Evidence) -> Floats:
        """The gain of each grade in use."""
        gains = self.gain_of(evidence.levels, self.top_grade(evidence))
        if (gains[1:] < gains[:-1]).any():
            raise FathomsError(
                f"{self.name}: gains fall as grades rise: {dict(zip(evidence.levels, gains, strict=True))}"
            )
        self._check_size(gains[-1])
        if self.gains_at_most_one and gains[-1] > 1:
            raise FathomsError(
                f"{self.name}: gains are chances here and cannot exceed 1, found {gains[-1]:g}; "
                "use gain=exp, gain=linear or gain=binary"
            )
        return gains

    @of_grades
    def top_gain(self, evidence: Evidence) -> float:
        """The gain of the greatest grade an unjudged document could have."""
        top = self.top_grade(evidence)
        gain = float(self.gain_of(np.array([top]), top)[0])
        self._check_size(gain)
        return gain

    def filled(self, evidence: Evidence, gains: Floats) -> Floats:
        """The gain of each place, predicted ones where unjudged."""
        return np.where(evidence.unjudged, gains[:, : evidence.width], self.table(evidence)[evidence.codes])

    def table(self, evidence: Evidence, unknown: float = 0.0) -> Floats:
        return code_table(self.level_gains(evidence), unknown) if unknown else self._table(evidence)

    @of_grades
    def _table(self, evidence: Evidence) -> Floats:
        return code_table(self.level_gains(evidence))

    def tie_value(self, evidence: Evidence) -> Floats:
        return self.table(evidence)

    def joint_tie_value(self, evidence: Evidence, best: bool) -> Floats:
        """More gain never hurts, so unjudged documents are worth the most or nothing."""
        return self.table(evidence, unknown=self.top_gain(evidence) if best else 0.0)
