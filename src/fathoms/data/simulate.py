"""Simulated test collections: graded truth, runs of known quality, and judgments pooled from some of them.

Each topic gives every document a latent relevance signal. The documents with the strongest signal are the
relevant ones, and a system ranks by that signal mixed with noise of its own: the better the system and the
easier the topic, the less noise. The judgments come from the top ranks of the pooled runs alone, so that
the estimates made from them can be compared with the complete truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from fathoms.errors import FathomsError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Correlation of the worst and the best system with the signal: mean AP of about 0.1 and 0.5.
QUALITY = (0.5, 0.98)
# Median share of relevant documents, and its spread over topics (of the logarithm).
SHARE, SHARE_SPREAD = 0.02, 0.6
# Each grade is held by this part of the documents that reach the grade below.
GRADE_PART = 0.4
# Scores are whole multiples of this: it survives a reader that keeps them in single precision.
SCORE_STEP = 1e-4


@dataclass(frozen=True)
class Collection:
    """A test collection of which the truth is known."""

    qrels: pl.DataFrame  # pooled judgments: topic, doc, grade
    truth: pl.DataFrame  # the same columns, for every document that is relevant or retrieved
    runs: dict[str, pl.DataFrame]  # name -> topic, doc, rank (from 1), score
    pooled: list[str]  # names of the runs that contributed to the pool


def simulate(
    *,
    systems: int = 10,
    n_topics: int = 25,
    n_docs: int = 5000,
    depth: int = 1000,
    pool_depth: int = 20,
    unpooled: int | None = None,
    max_grade: int = 2,
    ties: float = 0.1,
    seed: int = 0,
) -> Collection:
    """Make a collection; the same arguments give the same collection.

    `unpooled` runs (a quarter of the systems unless given) do not contribute to the pool. A fraction `ties`
    of the retrieved documents has the score of the document before it. Runs are `depth` documents deep, or
    `n_docs` if that is less.
    """
    unpooled = systems // 4 if unpooled is None else unpooled
    if min(systems, n_topics, n_docs, depth, pool_depth, max_grade) < 1:
        raise FathomsError("systems, n_topics, n_docs, depth, pool_depth and max_grade must be at least 1")
    if not 0 <= unpooled < systems:
        raise FathomsError(f"unpooled must be from 0 to {systems - 1}, one run has to be pooled: {unpooled}")
    if seed < 0:
        raise FathomsError(f"seed must be at least 0: {seed}")
    if not 0 <= ties <= 1:
        raise FathomsError(f"ties must be from 0 to 1: {ties}")
    depth = min(depth, n_docs)
    rng = np.random.default_rng(seed)
    low, high = QUALITY
    # In random order, so that the last runs, which are not pooled, are neither the best nor the worst.
    quality = rng.permutation(low + (high - low) * (np.arange(systems) + 0.5) / systems)
    contributors = systems - unpooled

    retrieved = np.empty((systems, n_topics, depth), np.int32)
    scores = np.empty((systems, n_topics, depth))
    qrels: list[tuple[Ints, Ints]] = []
    truth: list[tuple[Ints, Ints]] = []
    for topic in range(n_topics):  # by topic, so that memory holds one topic's signals and not all of them
        signal = rng.standard_normal(n_docs)
        grades = _grades(signal, max_grade, rng)
        mix = (quality * rng.uniform(0.75, 1.0))[:, None]
        values = mix * signal + np.sqrt(1 - mix**2) * rng.standard_normal((systems, n_docs))
        docs, scores[:, topic] = _retrieve(values, depth, ties, rng)
        retrieved[:, topic] = docs

        pool = np.unique(docs[:contributors, :pool_depth])
        known = grades > 0
        known[docs] = True
        complete = np.flatnonzero(known)
        qrels.append((pool, grades[pool]))
        truth.append((complete, grades[complete]))

    topic_names = pl.Series("topic", [str(101 + i) for i in range(n_topics)])
    doc_names = pl.Series("doc", [f"DOC-{i:07d}" for i in range(n_docs)])
    width = len(str(systems))
    names = [f"sys{i + 1:0{width}d}" for i in range(systems)]
    topics = topic_names.gather(np.repeat(np.arange(n_topics), depth))
    ranks = pl.Series("rank", np.tile(np.arange(1, depth + 1), n_topics))
    runs = {
        name: pl.DataFrame(
            [topics, doc_names.gather(retrieved[i].ravel()), ranks, pl.Series("score", scores[i].ravel())]
        )
        for i, name in enumerate(names)
    }
    return Collection(
        qrels=_judgments(topic_names, doc_names, qrels),
        truth=_judgments(topic_names, doc_names, truth),
        runs=runs,
        pooled=names[:contributors],
    )


def _grades(signal: Floats, max_grade: int, rng: np.random.Generator) -> Ints:
    """Grades of a topic's documents: the strongest signals, ever fewer of them for each higher grade."""
    share = min(SHARE * rng.lognormal(sigma=SHARE_SPREAD), 0.2)
    # Rounded up: every topic has a document of each grade.
    sizes = np.ceil(len(signal) * share * GRADE_PART ** np.arange(max_grade))
    place = np.empty(len(signal), np.int64)
    place[np.argsort(-signal)] = np.arange(len(signal))
    return np.asarray((place[:, None] < sizes).sum(axis=1), np.int64)


def _retrieve(values: Floats, depth: int, ties: float, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """The top documents of each system (a row of `values`) in the order of its run, and their scores."""
    docs = np.argpartition(-values, depth - 1, axis=1)[:, :depth]
    top = np.take_along_axis(values, docs, axis=1)
    order = np.argsort(-top, axis=1)
    docs = np.take_along_axis(docs, order, axis=1)
    top = np.take_along_axis(top, order, axis=1)

    # Counted in whole steps, downwards by one at least: two scores are equal where a tie is meant, only there.
    steps = np.rint(5 * np.logaddexp(0, top) / SCORE_STEP).astype(np.int64)
    drops = np.maximum(steps[:, :-1] - steps[:, 1:], 1)
    drops[rng.random(drops.shape) < ties] = 0
    below = np.cumsum(drops[:, ::-1], axis=1)[:, ::-1]
    last = np.maximum(steps[:, -1:], 1)
    scores = np.hstack([last + below, last]) / round(1 / SCORE_STEP)

    # The order inside a tie says nothing about relevance: shuffle it, or file order would favour the system.
    group = np.hstack([np.zeros_like(last), np.cumsum(drops > 0, axis=1)])
    shuffled = np.argsort(group + rng.random(group.shape), axis=1)
    return np.take_along_axis(docs, shuffled, axis=1), scores


def _judgments(topic_names: pl.Series, doc_names: pl.Series, parts: list[tuple[Ints, Ints]]) -> pl.DataFrame:
    """One frame of the documents and grades of all topics, one part per topic."""
    topics = np.repeat(np.arange(len(parts)), [len(docs) for docs, _ in parts])
    docs, grades = (np.concatenate(column) for column in zip(*parts, strict=True))
    return pl.DataFrame([topic_names.gather(topics), doc_names.gather(docs), pl.Series("grade", grades)])


def write(collection: Collection, folder: Path) -> None:
    """Write qrels.txt, truth.txt, pooled.txt and runs/NAME.run into the folder, in TREC format."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    for name, judgments in (("qrels", collection.qrels), ("truth", collection.truth)):
        _write_columns(judgments.select("topic", pl.lit("0"), "doc", "grade"), folder / f"{name}.txt")
    for name, run in collection.runs.items():
        columns = run.select("topic", pl.lit("Q0"), "doc", "rank", "score", pl.lit(name).alias("tag"))
        _write_columns(columns, folder / "runs" / f"{name}.run")
    (folder / "pooled.txt").write_text("".join(f"{name}\n" for name in collection.pooled), encoding="utf-8")


def _write_columns(frame: pl.DataFrame, path: Path) -> None:
    # Without float_precision scores get the fewest digits that read back as the same number.
    frame.write_csv(path, include_header=False, separator=" ", quote_style="never", line_terminator="\n")
