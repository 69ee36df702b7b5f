"""The trials of Carterette's "Robust Test Collections for Retrieval Evaluation" (SIGIR 2007), and what they say.

A trial (section 4.3) picks k systems at random and judges documents of the first c of them until one is better with 95%
confidence. What was judged then has to do for all k: every pair gets a confidence, and the full judgments tell which
were right. The engine is the one behind `fathoms judge`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import identity_of
from fathoms.base.errors import FathomsError
from fathoms.base.parallel import run_batches
from fathoms.estimate.distribution import Moments
from fathoms.estimate.relevance import LITERAL, UNCERTAIN, Experts
from fathoms.evidence.candidates import Block, Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.correlation import correlation
from fathoms.judging.engine import Engine
from fathoms.judging.grade_chances import RelevantOrNot
from fathoms.judging.select import CARTERETTE_2007, STRATEGIES, MTCWeight, Strategy
from fathoms.papers.rtc_experts import ScoredExperts, SimilarExperts, Texts, read_texts, score_chances, scores_by_rank
from fathoms.papers.rtc_growth import Earlier, earlier_documents
from fathoms.version import __version__

if TYPE_CHECKING:
    import polars as pl

BATCH = 10  # trials a worker does at a time
BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # the paper's last bin is "1.0": taken from 0.99 on
BIN_NAMES = ("0.5 - 0.6", "0.6 - 0.7", "0.7 - 0.8", "0.8 - 0.9", "0.9 - 0.95", "0.95 - 0.99", "1.0")
ALL = "all"
BOOTSTRAPS = 2000

FROM_SCORES, FROM_TEXTS = "RTC scores", "RTC texts"
GROWN = ", grown"  # behind the name of a method that judged earlier documents alone
METHODS: dict[str, Strategy] = {
    "MTC": STRATEGIES["mtc"],
    "RTC literal": Strategy(
        "RTC literal",
        "eq. 2 as printed",
        CARTERETTE_2007,
        MTCWeight,
        partial(RelevantOrNot, model=partial(Experts, reading=LITERAL)),
    ),
    "RTC": STRATEGIES["rtc"],
    "RTC uncertain": Strategy(
        "RTC uncertain",
        "counts the model's uncertainty",
        CARTERETTE_2007,
        MTCWeight,
        partial(RelevantOrNot, model=partial(Experts, reading=UNCERTAIN)),
    ),
    "fusion": STRATEGIES["fusion"],
}


@dataclass(frozen=True)
class RTCSettings:
    depth: int = 100  # of the rankings
    trials: int = 1000
    systems: int = 10  # k, drawn in a trial
    initial: int = 2  # c, judged first
    until: float = 0.95  # confidence to reach on those
    methods: tuple[str, ...] = tuple(METHODS)
    from_scores: bool = False  # whether RTC is also tried with probabilities from scores
    docs: str | None = None  # texts, with which RTC is also tried with the documents' similarity
    dates: str | None = None  # of documents, to see what judgments of earlier ones are worth
    seed: int = 0
    # How trials are read is no part of them either.
    cap: float = field(default=0.95, repr=False)  # on confidence, the paper's remedy for overfitting
    worst_loss: float = field(default=100.0, repr=False)  # cap on -W_i (section 4.4)
    # Who does the work, and where finished batches are kept, is no part of what makes a trial what it is.
    workers: int = field(default=2, repr=False)
    scheduler: str | None = field(default=None, repr=False)
    folder: Path | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 2 <= self.initial < self.systems:
            raise FathomsError(
                f"of the systems of a trial at least two, and not all, are judged first; found {self.initial} of "
                f"{self.systems}"
            )
        for name, value in (("confidence to reach", self.until), ("cap on confidence", self.cap)):
            if not 0.5 < value < 1:
                raise FathomsError(f"the {name} must lie between 0.5 and 1, found {value:g}")

    @property
    def compared(self) -> tuple[str, ...]:
        """All methods asked for."""
        further = {FROM_SCORES: self.from_scores, FROM_TEXTS: self.docs is not None}
        return (*self.methods, *(name for name, wanted in further.items() if wanted))


@dataclass(frozen=True, eq=False)
class World:
    """What a trial draws from: all systems' documents, the truth about them, and each system's true MAP."""

    candidates: Candidates
    relevant: Bools  # one a candidate
    in_all: Ints  # relevant documents of each topic
    map: Floats
    chances: Floats | None = None  # [system, topic, rank]: probabilities from scores, where asked for
    texts: Texts | None = None
    earlier: Earlier | None = None

    def identity(self) -> str:
        """A hash of all that trials can see of runs and judgments, be it but one document that has changed."""
        candidates = self.candidates
        more: list[NDArray[Any] | None] = [self.chances]
        if self.texts is not None:
            more += [self.texts.vectors.data, self.texts.vectors.indices, self.texts.vectors.indptr, self.texts.row]
        if self.earlier is not None:
            more += [self.earlier.candidates.place, self.earlier.now]
        return identity_of(
            [*candidates.names, *candidates.topics],
            candidates.topic,
            candidates.place,
            self.relevant,
            self.in_all,
            *more,
        )


def make_world(
    experiment: BaseExperiment,
    depth: int,
    *,
    from_scores: bool = False,
    docs: str | None = None,
    dates: str | None = None,
) -> World:
    """Of the runs named as contributing, or of all. Topics without relevant documents tell nothing and are
    left out."""
    qrels = experiment.qrels
    counts = qrels.counts[:, qrels.levels > 0].sum(axis=1)
    if not counts.all():
        topics = [topic for topic, count in zip(qrels.topics, counts, strict=True) if count]
        experiment = experiment.with_qrels(qrels.of_topics(topics))
    experiment.prepare()
    names = chosen(experiment)
    ranked = [experiment.ranked(name) for name in names]
    documents = experiment.documents(names, depth)
    _, relevant = documents.judged_by(qrels)
    in_all = counts[counts > 0]
    chances = score_chances(scores_by_rank(ranked, documents.place)) if from_scores else None
    return World(
        documents,
        relevant,
        in_all,
        average_precision(documents, relevant, in_all).mean(axis=1),
        chances,
        None if docs is None else read_texts(docs, documents),
        None if dates is None else earlier_documents(ranked, documents, qrels, dates, depth, from_scores, docs),
    )


def chosen(experiment: BaseExperiment) -> list[str]:
    named = experiment.options.pooled
    return list(experiment.runs if named is None else dict.fromkeys(name for name in named if name in experiment.runs))


def average_precision(documents: Candidates, relevant: Bools, in_all: Ints) -> Floats:
    """AP of each system, [system, topic], documents past the depth not retrieved."""
    hits = np.append(relevant, False)[documents.place]
    precision = np.cumsum(hits, axis=2) / np.arange(1, documents.depth + 1)
    scores: Floats = (precision * hits).sum(axis=2) / np.maximum(in_all, 1)
    return scores


# -- trials ---------------------------------------------------------------------------------------------------


def trials(world: World, settings: RTCSettings, progress: Callable[[], None] = lambda: None) -> pl.DataFrame:
    """All methods on the same draws of systems: one row a trial and method."""
    if len(world.candidates.names) < settings.systems:
        raise FathomsError(f"trials draw {settings.systems} systems, but only {len(world.candidates.names)} are given")
    numbers = range(settings.trials)
    batches = [list(numbers[start : start + BATCH]) for start in numbers[::BATCH]]
    lean = replace(world, candidates=_lean(world.candidates))
    if world.earlier is not None:
        lean = replace(lean, earlier=replace(world.earlier, candidates=_lean(world.earlier.candidates)))
    work = partial(_batch, lean, settings)
    return run_batches(
        work,
        batches,
        workers=settings.workers,
        scheduler=settings.scheduler,
        folder=settings.folder,
        settings=f"{__version__} {settings} {world.identity()}",
        progress=progress,
    )


def _lean(candidates: Candidates) -> Candidates:
    """Ids have no part in a trial, and need not travel to the workers."""
    return replace(candidates, documents=np.empty(0, dtype="S1"))


def _batch(world: World, settings: RTCSettings, numbers: Sequence[int]) -> list[dict[str, Any]]:
    return [row for number in numbers for row in trial(world, settings, number)]


def drawn(world: World, settings: RTCSettings, number: int) -> Ints:
    """The systems of a trial, those judged first in front."""
    rng = np.random.default_rng([settings.seed, number])
    return rng.choice(len(world.candidates.names), settings.systems, replace=False)


def trial(world: World, settings: RTCSettings, number: int) -> list[dict[str, Any]]:
    """One draw of systems, and what each method makes of it."""
    systems = drawn(world, settings, number)
    first, second = np.triu_indices(settings.systems, 1)
    truth = world.map[systems]
    two, all_of_them = (
        Moments(world.candidates.block(some)) for some in (systems[: settings.initial].tolist(), systems.tolist())
    )
    shared = {
        "trial": number,
        "original": ((first < settings.initial).astype(int) + (second < settings.initial)).tolist(),
        "similarity": _similarity(all_of_them.block)[first, second].tolist(),
    }
    rows = []
    for method in settings.compared:
        strategy = strategy_of(method, world)
        judged = judge_until(world, strategy, two, settings.until, number)
        used = {method: (len(judged), judged)}
        if world.earlier is not None:
            used[method + GROWN] = _judged_earlier(world, method, systems, all_of_them.block, settings, number)
        for name, (count, known) in used.items():
            engine = Engine(world.candidates, strategy, until=settings.until, moments=all_of_them, judgments=known)
            expected = engine.expected()
            chance = engine.confidence()[first, second]
            rows.append(
                {
                    **shared,
                    "method": name,
                    "judged": count,
                    "tau": correlation(expected, truth),
                    "confidence": np.maximum(chance, 1 - chance).tolist(),
                    "right": ((chance > 0.5) == (truth[first] > truth[second])).tolist(),
                }
            )
        if method == "MTC":
            rows.append({**shared, **_pooling(world, systems, len(judged), settings), "method": "IP"})
    return rows


def _judged_earlier(
    world: World, method: str, systems: Ints, block: Block, settings: RTCSettings, seed: int
) -> tuple[int, list[tuple[int, bool]]]:
    """How many earlier documents are judged, and the judgments of those that are in the whole rankings too."""
    earlier = world.earlier
    assert earlier is not None
    then = replace(
        world,
        candidates=earlier.candidates,
        relevant=earlier.relevant,
        chances=earlier.chances,
        texts=earlier.texts,
    )
    two = Moments(earlier.candidates.block(systems[: settings.initial].tolist()))
    judged = judge_until(then, strategy_of(method, then), two, settings.until, seed)
    here = set(block.number[block.present].tolist())
    now = ((int(earlier.now[number]), relevant) for number, relevant in judged)
    return len(judged), [(number, relevant) for number, relevant in now if number in here]


def strategy_of(method: str, world: World) -> Strategy:
    if method not in (FROM_SCORES, FROM_TEXTS):
        return METHODS[method]
    if method == FROM_TEXTS and world.texts is not None:
        about, texts = "as RTC, with similarity of texts as one more expert", partial(SimilarExperts, texts=world.texts)
        return Strategy(FROM_TEXTS, about, CARTERETTE_2007, MTCWeight, partial(RelevantOrNot, model=texts))
    if world.chances is None:
        raise FathomsError(f"{method} needs the runs' scores or the documents' texts")
    model = partial(ScoredExperts, names=world.candidates.names, chances=world.chances)
    about = "as RTC, with q* from scores"
    return Strategy(FROM_SCORES, about, CARTERETTE_2007, MTCWeight, partial(RelevantOrNot, model=model))


def judge_until(world: World, strategy: Strategy, moments: Moments, until: float, seed: int) -> list[tuple[int, bool]]:
    """Judge documents of the moments' systems, the truth answering, until all their pairs are settled."""
    engine = Engine(world.candidates, strategy, until=until, moments=moments, seed=seed)
    judged: list[tuple[int, bool]] = []
    while not engine.settled():
        number = engine.next()
        if number is None:
            break
        judged.append((number, bool(world.relevant[number])))
        engine.judge(*judged[-1])
    return judged


def _pooling(world: World, systems: Ints, budget: int, settings: RTCSettings) -> dict[str, Any]:
    """Incremental pooling of the same systems with as many judgments, unjudged documents taken as not relevant."""
    block = world.candidates.block(systems[: settings.initial].tolist())
    least = np.where(block.rank > 0, block.rank, np.iinfo(np.int32).max).min(axis=1)
    chosen = block.number.ravel()[np.argsort(least, axis=None, kind="stable")[:budget]]
    known = np.zeros(len(world.relevant), dtype=bool)
    known[chosen] = world.relevant[chosen]
    relevant = np.bincount(world.candidates.topic[known], minlength=len(world.in_all))
    place = Candidates(
        [], world.candidates.topics, world.candidates.topic, world.candidates.documents, world.candidates.place[systems]
    )
    scores = average_precision(place, known, relevant).mean(axis=1)
    first, second = np.triu_indices(settings.systems, 1)
    truth = world.map[systems]
    right = np.sign(scores[first] - scores[second]) == np.sign(truth[first] - truth[second])
    # No confidence comes with it.
    return {
        "judged": budget,
        "tau": correlation(scores, truth),
        "confidence": [0.5] * len(first),
        "right": right.tolist(),
    }


def _similarity(block: Block) -> Floats:
    """Share of documents two systems have in common, mean over topics."""
    retrieved = (block.rank > 0).astype(np.float64)
    common = retrieved @ np.swapaxes(retrieved, 1, 2)
    length = retrieved.sum(axis=2)
    return (common / np.maximum((length[:, :, None] + length[:, None, :]) / 2, 1)).mean(axis=0)


# -- what the trials say --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method's pairs [trial, pair] and trials."""

    confidence: Floats
    right: Bools
    original: Ints
    similarity: Floats
    judged: Floats
    tau: Floats

    @classmethod
    def of(cls, rows: pl.DataFrame, method: str) -> Outcome:
        mine = rows.filter(rows["method"] == method)
        return cls(*(np.array(mine[name].to_list()) for name in cls.__dataclass_fields__))

    @classmethod
    def joined(cls, several: Sequence[Outcome]) -> Outcome:
        """Of all trials of several collections."""
        return cls(
            *(np.concatenate([getattr(outcome, name) for outcome in several]) for name in cls.__dataclass_fields__)
        )

    def winnings(self, worst: float) -> Floats:
        return winnings(self.confidence, self.right, worst)

    @property
    def tenths(self) -> Ints:
        """Into which tenth each pair's share of documents in common falls; all in common belongs to the last."""
        return np.minimum(np.floor(self.similarity * 10 + 1e-9), 9).astype(np.int64)


def winnings(confidence: Floats, right: Bools, worst: float = 100.0) -> Floats:
    """W_i of section 4.4: a bookmaker's win on each pair, losses capped."""
    chance = np.minimum(confidence, 1 - 1e-15)
    return np.where(right, 1.0, -np.minimum(chance / (1 - chance), worst))


def bin_of(confidence: Floats) -> Ints:
    return np.clip(np.searchsorted(BINS, confidence, side="right") - 1, 0, len(BIN_NAMES) - 1)


@dataclass(frozen=True)
class Bin:
    """Pairs whose confidence is in a bin, or all of a group."""

    name: str
    pairs: int
    share: float  # percent of the group's pairs
    accuracy: float | None  # percent; None without pairs
    W: float | None


def by_bin(confidence: Floats, right: Bools, worst: float = 100.0) -> list[Bin]:
    """Pairs by bin of confidence, and last all of them."""
    confidence, right = confidence.ravel(), right.ravel()
    won = winnings(confidence, right, worst)
    bins = bin_of(confidence)
    parts = {name: bins == number for number, name in enumerate(BIN_NAMES)} | {ALL: np.ones(len(bins), dtype=bool)}
    return [
        Bin(name, int(some.sum()), 100 * int(some.sum()) / max(1, len(some)), percent(right[some]), mean(won[some]))
        for name, some in parts.items()
    ]


def mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if values.size else None


def percent(right: Bools) -> float | None:
    return 100 * float(right.mean()) if right.size else None


def bootstrap(values: Floats, statistic: Callable[..., Any], seed: int) -> tuple[float, float]:
    """95% interval of a statistic of one value a trial, trials drawn anew."""
    rng = np.random.default_rng(seed)
    drawn = statistic(values[rng.integers(0, len(values), (BOOTSTRAPS, len(values)))], axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def summary(outcome: Outcome, seed: int = 0, worst: float = 100.0) -> dict[str, tuple[float, float, float]]:
    """W, median and mean judged, mean tau, each with a bootstrap interval over trials."""
    by_trial = outcome.winnings(worst).mean(axis=1)
    figures: dict[str, tuple[Floats, Callable[..., Any]]] = {
        "W": (by_trial, np.mean),
        "median judged": (outcome.judged, np.median),
        "mean judged": (outcome.judged, np.mean),
        "mean tau": (outcome.tau, np.mean),
    }
    return {
        name: (float(statistic(values)), *bootstrap(values, statistic, seed))
        for name, (values, statistic) in figures.items()
    }
