"""What a measure is: a value with a name and parameters, that scores a block of evidence.

A measure declares how a ranking is valued; the range over judgments and the values over tie orders come from its
family or from the general rules here. The class also states what there is to know about the measure, and whatever else
needs to know it (parsing, `audit`, `predict`, `fathoms measures`, the reference page) asks the class.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.params import Param, check_value, normal_value, show_value
from fathoms.measures.ties import DRAWS, arranged, simulated, worst_and_best

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence, RankingBlock
    from fathoms.evidence.sparse_places import Listed

Basis = Literal["recall", "utility", "neither"]
RangeKind = Literal["exact", "sound", "approximate", "none"]
JudgingKind = Literal["closed form", "draws", "none"]


@dataclass(frozen=True, eq=False)
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

    def of_topics(self, places: Bools) -> Scores:
        """The same of some topics only."""
        columns = ((column.name, getattr(self, column.name)) for column in fields(self))
        of_some: dict[str, Any] = {name: None if values is None else values[places] for name, values in columns}
        return Scores(**of_some)


class Measure(ABC):
    """Base of all measures. A measure is its class, its parameters and its cut-off, and compares as such."""

    __slots__ = ("__dict__", "__weakref__", "_hash")  # the hash is asked for often, and is none of its values

    k: float | None
    _hash: int

    # -- what a class states ----------------------------------------------------------------------------------
    # Its docstring is for users: a sentence that describes the measure, then its definition.

    aliases: ClassVar[tuple[str, ...]] = ()  # other names; case, - and _ do not matter
    trec_eval: ClassVar[str] = ""  # trec_eval's name without a cut-off
    trec_eval_at: ClassVar[str] = ""  # and with one, which stands for {k}
    examples: ClassVar[tuple[str, ...]] = ()  # names that people use; by default one is made up
    based_on: ClassVar[Basis]  # recall: needs R or an ideal ranking; utility: only what the user sees (LMC-depth)
    citation: ClassVar[str] = ""
    cutoff: ClassVar[str] = "optional"  # or required, none, recall (a level of recall instead of a rank)
    aggregate: ClassVar[str] = "mean"  # or sum, geometric
    range_claim: ClassVar[RangeKind] = "none"  # how good low and high are
    depends_on_order: ClassVar[bool] = True  # False: ties change nothing
    sorting_is_optimal: bool = True  # more gain further up never lowers the score, so sorting tied documents is optimal
    difference_claim: ClassVar[RangeKind] = "sound"  # how good the range of a difference is
    multilinear: ClassVar[bool] = False  # linear in the gain of each document, so that extremes have extreme gains
    falls_with_others: ClassVar[bool] = True  # relevant documents not retrieved change what is divided by, no more
    quadratic_difference: ClassVar[bool] = False  # its bound on a difference looks at pairs of documents
    has_tail: ClassVar[bool] = False  # what lies past the last document counts in `high`
    linear_in_gains: ClassVar[bool] = False  # twice the gains, twice the score
    sums_listed: ClassVar[bool] = False  # made of the relevant documents' places alone, by `listed_sums`
    judging: ClassVar[JudgingKind] = "none"  # how `fathoms judge` finds the probability that one system is ahead
    needs_subtopics: ClassVar[bool] = False  # it is about the subtopics of each topic
    needs_whole_documents: ClassVar[bool] = False  # `predicted` has no use for fractions of documents in R or the ideal

    OWN: ClassVar = ("aliases", "trec_eval", "trec_eval_at", "examples", "citation")  # facts that nobody inherits

    params: ClassVar[dict[str, Param]] = {}  # in signature order: the measure's own, then those it shares

    def __init_subclass__(cls) -> None:
        # Plain attributes and not dataclass fields: some thirty generated classes would be felt at every start.
        params: dict[str, Param] = {}
        for parent in reversed(cls.__mro__):
            params |= {name: value for name, value in vars(parent).items() if isinstance(value, Param)}
        cls.params = dict(sorted(params.items(), key=lambda item: item[1].order))
        for fact in cls.OWN:
            if fact not in vars(cls):
                setattr(cls, fact, getattr(Measure, fact))

    @classmethod
    def description(cls) -> str:
        """The first sentence of the docstring."""
        return (inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0]).replace("\n", " ")

    @classmethod
    def definition(cls) -> str:
        """The rest of the docstring: formulas, and what else to know."""
        return inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[2]

    @classmethod
    def about_param(cls, name: str) -> str:
        """What a parameter is for, in a line."""
        return cls.params[name].about

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of it as people write them; the first is as plain as can be."""
        cut = {"required": "@10", "recall": "@0.1"}.get(cls.cutoff, "")
        return cls.examples or (f"{cls.__name__}{cut}",)

    @property
    def range_is(self) -> RangeKind:
        """How good low and high are with these parameters.

        exact: some judging gives each of them; sound: none gives a value outside; approximate: neither is certain.
        """
        if getattr(self, "judged_only", False):
            return "none"
        return "approximate" if getattr(self, "bounds", "exact") == "rm" else self.range_claim

    @property
    def difference_is(self) -> RangeKind:
        """How good the range of a difference between two systems is with these parameters."""
        if self.range_is not in ("exact", "sound"):
            return "none"
        return "sound" if self.needs_pool else self.difference_claim

    def largest(self, evidence: Evidence) -> Floats:
        """The most that any ranking of each topic could have under any judging; inf where there is no bound."""
        return np.ones(len(evidence))

    # -- a value ----------------------------------------------------------------------------------------------

    def __init__(self, *, k: float | None = None, **values: Any) -> None:
        unknown = values.keys() - self.params.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {', '.join(sorted(unknown))}")
        self.__dict__["k"] = k
        for name, parameter in self.params.items():
            self.__dict__[name] = normal_value(parameter, values.get(name, parameter.default))
        self.check()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a measure does not change; make another one with replace({name}=...)")

    def replace(self, **changes: Any) -> Self:
        """The same measure with other parameters or another cut-off."""
        return type(self)(**{**self.__dict__, **changes})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        try:
            value: int = self._hash
        except AttributeError:
            value = hash((type(self), *self.__dict__.values()))
            object.__setattr__(self, "_hash", value)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__  # another process has other hashes

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The canonical name: defaults dropped, parameters in signature order, `AP(variant=b)@20`."""
        shown = [
            f"{name}={show_value(getattr(self, name))}"
            for name, parameter in self.params.items()
            if parameter.always_shown or getattr(self, name) != parameter.default
        ]
        return type(self).__name__ + (f"({','.join(shown)})" if shown else "") + self._cut

    @property
    def _cut(self) -> str:
        return "" if self.k is None else f"@{show_value(self.k)}" if self.cutoff == "recall" else f"@{int(self.k)}"

    def __matmul__(self, k: float) -> Measure:
        """`AP() @ 10` is `AP@10`."""
        return self.replace(k=k)

    def check(self) -> None:
        """Raise where a parameter or the cut-off makes no sense."""
        for name, parameter in self.params.items():
            check_value(type(self).__name__, name, parameter, getattr(self, name))
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
    def needs_universe(self) -> bool:
        """Whether its range depends on how many documents of other runs are unjudged."""
        universe = getattr(self, "universe", "run")
        if universe in ("run", np.inf) or self.range_is not in ("exact", "sound"):
            return False
        return not self.needs_pool  # whose documents are those of the pool

    @property
    def names_other_runs(self) -> bool:
        """Whether it says of itself that its values are to depend on other runs."""
        return self.needs_pool or getattr(self, "universe", "run") in ("all", "pair")

    # -- scoring ----------------------------------------------------------------------------------------------

    def attainable(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The ends of intervals of topics' scores, moved outward to scores that a topic can have if these are few."""
        return low, high

    def scores(self, evidence: Evidence, *, with_range: bool = True) -> Scores:
        """Score, range over judgments, and values over tie orders, for each topic."""
        condensed = getattr(self, "judged_only", False)
        if condensed:
            evidence = evidence.condensed
        score = self.value(evidence)
        low, high = (None, None) if condensed or not with_range else self.range(evidence, score)
        return Scores(score, low, high, *self._over_ties(evidence, score))

    @abstractmethod
    def value(self, evidence: Evidence) -> Floats:
        """The score, unjudged documents taken as not relevant (RM's X_S)."""

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Least and greatest value over every way of judging the unjudged documents, or None."""
        return None, None

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """The most that A - B can be over every way of judging, [row, limit], with a grade above 0 for at most as many
        documents as each limit says; None where nothing is known of a difference but the two ranges.
        """
        return None

    def of_pairs(
        self, block: RankingBlock, a: Ints, b: Ints, others: Ints, *, witnesses: bool = False, over_ties: bool = False
    ) -> Floats | None:
        """[end, pair]: the most that A - B can be, and the most that B - A can be, from `greatest_difference` and the
        two ranges, for rankings of which `others` documents may turn out relevant. With `witnesses` [pair]: what A - B
        is if all that A has above B is relevant, and of the `others`, which neither has, all or none. With `over_ties`
        [pair]: the most that A - B can be over all orders of ties too. None, or nan for a pair, where the rankings have
        to be put side by side for it."""
        return None

    def greatest_by_count(self, pair: PairEvidence, columns: Ints, others: Ints) -> Floats | None:
        """The most that A - B is if just m of the documents in these columns, [row, document], are relevant, and so
        many others: [row, m], over all ways of choosing them. None where the ways have to be scored one by one."""
        return None

    def joint_range(self, evidence: Evidence, scores: Scores) -> tuple[Floats | None, Floats | None]:
        """Least and greatest value over every way of judging and, with each, every order of the tied documents.

        YMT-ties section 2, "Optimistic and Pessimistic Limits". `scores` are those of the same evidence. None where
        there is no range, or where it cannot be had: where sorting tied documents need not be optimal, where some of
        them are in the pool of depth k and some are not, and for `bounds=rm`.
        """
        if scores.low is None or scores.high is None or not self.sorting_is_optimal:
            return None, None
        if getattr(self, "bounds", "exact") != "exact" or self.needs_pool:
            return None, None
        return self.joint_low(evidence, scores.low), self.joint_high(evidence, scores.high)

    def joint_low(self, evidence: Evidence, low: Floats) -> Floats:
        return self._ranged_anew(evidence, low, best=False)

    def joint_high(self, evidence: Evidence, high: Floats) -> Floats:
        return self._ranged_anew(evidence, high, best=True)

    def joint_tie_value(self, evidence: Evidence, best: bool) -> Floats:
        """As `tie_value`, where unjudged documents may get a grade: in the order of these values, best first or worst
        first, the ranking has the extreme over all orders and judgments as the extreme of its range."""
        raise NotImplementedError

    def _ranged_anew(self, evidence: Evidence, extreme: Floats, best: bool) -> Floats:
        """One end of the range, after tied documents have been sorted for it."""
        values = self.joint_tie_value(evidence, best)
        mixed = evidence.mixed(values, self._tie_places(evidence))
        if mixed is None:
            return extreme
        part = arranged(evidence, values, mixed, best=best)
        ends = self.range(part, self.value(part))
        anew = ends[1 if best else 0]
        ends_anew = extreme.copy()
        if anew is not None:
            ends_anew[mixed.rows] = (np.maximum if best else np.minimum)(ends_anew[mixed.rows], anew)
        return ends_anew

    def expected_range(self, evidence: Evidence) -> tuple[Floats | None, Floats | None]:
        """Expectations of low and high over the orders of tied documents, where the measure has them."""
        return None, None

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """The score to expect if each unjudged document had the gain given for its place (LMC-gain section 3).

        `gains` is [topic, rank], between 0 and the measure's greatest gain; the tail stays empty.
        """
        raise FathomsError(f"{self.name} has no estimate from predicted gains")

    def listed_sums(self, listed: Listed, values: Floats, known: Evidence) -> Floats:
        """The sum that the score is made of, [topic, draw], from what each document is worth, [document, draw], by
        `tie_value`. `known` says what grades there are."""
        raise NotImplementedError

    def from_sums(self, sums: Floats, known: Evidence) -> Floats:
        """Scores [..., row] from such sums, each row with what is known in all of its topic."""
        return sums

    def place_effects(self, gains: Floats, relevant: Floats, known: Evidence) -> Floats:
        """How much the sum that the score is made of rises with the expected gain of each place, documents independent.

        `gains` [run, rank] are the expected gains, as `tie_value` has them, and `relevant` the chances to be relevant;
        `known` has a row for the topic, whose counts may be expectations too.
        """
        raise NotImplementedError

    def divisor(self, known: Evidence) -> Floats:
        """What that sum is divided by, for each topic; counts may be fractions."""
        return np.ones(len(known))

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
        """What a document of each code adds to the score; tied documents of equal value may be swapped."""
        raise NotImplementedError

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """Mean over all orders of tied documents, in closed form; None leaves it to simulation."""
        return None

    def _over_ties(self, evidence: Evidence, score: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        """The least, the greatest and the mean value over orders of tied documents; the last column of `Scores`."""
        if not self.depends_on_order or not evidence.has_ties:
            return score, score, score, None
        values = self.tie_value(evidence)
        mixed = evidence.mixed(values, self._tie_places(evidence))
        if mixed is None:
            return score, score, score, None
        rows = mixed.rows
        worst, best = self.value(worst_and_best(evidence, values, mixed)).reshape(2, -1)
        tie_low, tie_high = score.copy(), score.copy()
        tie_low[rows] = np.minimum(score[rows], np.minimum(worst, best))
        tie_high[rows] = np.maximum(score[rows], np.maximum(worst, best))
        expected = self.expected(evidence, score, mixed)
        error = None
        if expected is None or not self.sorting_is_optimal:
            mean, error, least, most = simulated(self.value, evidence, score, mixed)
            expected = mean if expected is None else expected
            tie_low, tie_high = np.minimum(tie_low, least), np.maximum(tie_high, most)
        # Rounding may put a closed form a last digit outside.
        return tie_low, tie_high, np.minimum(np.maximum(expected, tie_low), tie_high), error

    def tie_variance(self, evidence: Evidence) -> Floats:
        """Each topic's variance over the orders of tied documents, from seeded shuffles of them."""
        still = np.zeros(len(evidence))
        if not self.depends_on_order or not evidence.has_ties:
            return still
        mixed = evidence.mixed(self.tie_value(evidence), self._tie_places(evidence))
        return still if mixed is None else DRAWS * simulated(self.value, evidence, still, mixed)[1] ** 2

    def _tie_places(self, evidence: Evidence) -> int:
        """Groups that start below this place cannot change the score."""
        return self.depth_read(evidence)
