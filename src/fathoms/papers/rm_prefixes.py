"""What Ravana and Moffat's study looks at: prefixes of the judgments, and the ranges that runs have under them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base import choices
from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.estimate.predictors import (
    PAPERS_ALPHA,
    PUBLISHED,
    Alpha,
    Constants,
    Predictor,
    chosen_alpha,
    rm_predict,
    scaled_range,
)
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Evidence, Floats
from fathoms.evidence.pool import PrefixOrder, prefix, prefix_order, with_judgments
from fathoms.measures.base import Measure, Scores
from fathoms.papers import rm_printed as in_paper
from fathoms.papers.bench import Bench

SIZES = (1_000, 2_000, 4_000, 10_000, 20_000, 40_000)  # prefix sizes of the tuning
LEAST = 10  # judgments
SIGNIFICANCE = 0.01
STUDIED: tuple[Predictor, ...] = ("simplistic", "interpolated", "smoothed")


@dataclass(frozen=True)
class RMSettings:
    prefix_order: PrefixOrder = "shuffle"
    shuffles: int = 20
    sizes: Sequence[int] | None = None  # of the prefixes; None: the paper's, or such as fit
    constants: Sequence[float] | None = None  # C and E of interpolated and smoothed, or of each; None: the paper's
    smoothing: Alpha | float | str = PAPERS_ALPHA  # alpha in alpha X_I + (1 - alpha) X_B
    significance: float = SIGNIFICANCE

    def chosen(self) -> dict[Predictor, Constants]:
        """C, E and alpha of each predictor."""
        given = choices.checked("constants", given_constants, self.constants)
        chosen = PUBLISHED | ({} if given is None else dict(zip(STUDIED[1:], given, strict=True)))
        alpha = choices.checked("smoothing", checked_alpha, self.smoothing)
        return {method: replace(constants, alpha=alpha) for method, constants in chosen.items()}


def given_constants(constants: Any) -> tuple[Constants, Constants] | None:
    """Two numbers for both predictors, or two for each.

    >>> given_constants("0.4,0.02")[1]
    Constants(C=0.4, E=0.02, alpha=Alpha(weight=1.0, power=1.0))
    """
    if constants is None:
        return None
    try:
        numbers = [float(part) for part in (constants.split(",") if isinstance(constants, str) else constants)]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) not in (2, 4) or not all(0 <= number <= 1 for number in numbers):
        raise FathomsError(
            "expected C,E or C,E,C,E (of interpolated, of smoothed), each from 0 to 1, such as 0.42,0.01; found "
            f"{constants!r}"
        )
    return Constants(*numbers[:2]), Constants(*numbers[-2:])


def checked_alpha(alpha: Any) -> Alpha:
    """The weight of X_I in the smoothed predictor: a number, 1-delta or a power of it."""
    try:
        return chosen_alpha(alpha)
    except FathomsError as error:
        raise FathomsError(str(error).removeprefix("alpha: ")) from None


@dataclass(frozen=True, eq=False)
class Ranges:
    """B, T and delta of all runs of a set, [system, topic], on RM's scale from 0 to 1."""

    B: Floats
    delta: Floats

    def point(self, method: Predictor, constants: Constants) -> Floats:
        return rm_predict(method, self.B, self.delta, constants)


def ranges_under(
    bench: Bench, runs: dict[str, Aligned], measures: list[Measure], kept: Sequence[Bools]
) -> list[list[Ranges]]:
    """For each measure, the ranges under each set of judgments; run by run, as those are what takes long."""
    qrels = bench.qrels
    counts = [qrels.count(judgments) for judgments in kept]
    # T of the paper is all that is asked for, and the exact ranges would take most of the time.
    rough = [measure.replace(bounds="rm") if "bounds" in measure.params else measure for measure in measures]

    def ranges_of(name: str) -> list[list[tuple[Floats, Floats]]]:
        evidences = [with_judgments(runs[name], qrels, *judgments) for judgments in zip(kept, counts, strict=True)]
        return [[_range(measure, evidence) for evidence in evidences] for measure in rough]

    by_run = bench.parallel_map(ranges_of, runs)
    return [
        [Ranges(*(np.array([of_run[m][j][part] for of_run in by_run]) for part in (0, 1))) for j in range(len(kept))]
        for m in range(len(measures))
    ]


def _range(measure: Measure, evidence: Evidence) -> tuple[Floats, Floats]:
    if measure.k is not None:
        # What lies below the cut-off matters to no measure here, except as V, which RM's T does not use.
        evidence = evidence.cut(int(measure.k))
    score = measure.value(evidence)
    ranged = scaled_range(measure, evidence, Scores(score, *measure.range(evidence, score)))
    if ranged is None:
        raise FathomsError(f"{measure.name} has no range")
    return ranged[:2]


# -- prefixes of the judgments ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Orders of the judgments, and how many of each are taken."""

    orders: list[NDArray[np.int64]]
    sizes: list[int]
    n: int  # all of them

    @property
    def few(self) -> int:
        """The shallow judgments of Tables 1 and 2 and Figs. 1 and 5."""
        return self.sizes[0]

    @property
    def medium(self) -> int | None:
        """Those of Table 1: nearest to half-way from few to all on a logarithmic scale, the paper's 10,000 there."""
        half = math.sqrt(self.few * self.n)
        return min(self.sizes[1:], key=lambda size: abs(math.log(size / half)), default=None)

    @property
    def masks(self) -> dict[tuple[int, int], Bools]:
        """By order and size: all sizes of the first order, and the few of each."""
        masks = {(0, size): prefix(self.orders[0], size) for size in (*self.sizes, self.n)}
        return masks | {(i, self.few): prefix(order, self.few) for i, order in enumerate(self.orders)}


def prefix_sizes(n: int, topics: int) -> list[int]:
    """The paper's sizes where they fit; else as many, spread as the paper's, that are the same shares of all.

    The first is one judgment a topic at least, where that leaves room: below that most topics would have none.
    """
    if max(SIZES) < n:
        return list(SIZES)
    first, last = (n * size / in_paper.JUDGMENTS for size in (SIZES[0], SIZES[-1]))
    first = topics if first < topics < last else first
    places = [math.log(size / SIZES[0]) / math.log(SIZES[-1] / SIZES[0]) for size in SIZES]
    return sorted({_rounded(first * (last / first) ** place) for place in places})


def _rounded(x: float) -> int:
    """To two digits, and at least 1."""
    return max(1, round(float(f"{x:.2g}")))


def prefixes_of(bench: Bench, settings: RMSettings) -> Prefixes:
    n = int(bench.judged.sum())
    if n < LEAST:
        raise FathomsError(f"{pluralise(n, 'judgment')} cannot be cut into prefixes; RM's study needs {LEAST} or more")
    if settings.sizes is None:
        sizes = prefix_sizes(n, len(bench.qrels.topics))
    else:
        sizes = choices.checked("sizes", choices.depths, settings.sizes)
        if sizes[-1] >= n:
            raise FathomsError(f"sizes: a prefix of {sizes[-1]:,} is not part of {pluralise(n, 'judgment')}")
    if settings.prefix_order == "file":
        orders = [prefix_order(bench.depths)]
    else:
        rng = np.random.default_rng(bench.options.seed)
        orders = [prefix_order(bench.depths, rng) for _ in range(settings.shuffles)]
    # What is no judgment comes last, and is in no prefix.
    return Prefixes([order[np.argsort(~bench.judged[order], kind="stable")] for order in orders], sizes, n)
