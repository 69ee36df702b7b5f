"""Simulated test collections that look like TREC ones, with the complete truth known.

For each topic every document has a relevance and an appearance; the documents of greatest relevance are the relevant
ones. All systems see the same mixture of the two, so that they find the same documents and fall for the same wrong
ones; how much of it is relevance makes the topic easy or hard. A system adds noise to what it sees: the better, the
less, most of it shared with the other runs of its team. The judgments come from the top ranks of the pooled runs alone,
so that conclusions drawn from them can be compared with the truth.

The constants were chosen so that 129 systems and 50 topics come near TREC-8 ad hoc; docs/results/simulate.md compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from fathoms.base import choices
from fathoms.base.choices import checked
from fathoms.base.errors import FathomsError
from fathoms.base.files import whole_folder
from fathoms.base.rounding import order, rounded

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# -- topics
# Documents that any system could retrieve for a topic; nobody takes notice of the others in a large collection.
CANDIDATES = 30_000
# Relevant documents of a topic: median, spread of the logarithm, least, and greatest share of all documents.
RELEVANT, RELEVANT_SPREAD, RELEVANT_LEAST, RELEVANT_SHARE = 93, 0.85, 6, 0.1
# The weight of relevance in what systems see is tanh of a topic's clearness: median, spread over topics, how far it
# follows from having few relevant documents, and how far teams differ on a topic.
CLEARNESS, CLEARNESS_SPREAD, CLEARNESS_OF_RARE, CLEARNESS_OF_TEAM = 0.94, 0.37, 0.45, 0.12
# Some teams, with people at the keyboard, see more clearly: their share, and what is added.
MANUAL, MANUAL_CLEARNESS = 0.12, 0.24
# What is seen has a gamma distribution of this shape: with a normal tail, top tens would hardly have any overlap.
SEEN_SHAPE = 1.25
# Each grade is held by this part of the documents that reach the grade below.
GRADE_PART = Fraction(2, 5)

# -- systems
RUNS_A_TEAM = 3
POOLED_A_TEAM = 2
# Correlation of a system's scores with what there is to see is tanh of its skill: median and spread, the part of the
# spread that lies between teams, and how far a team and a run do better or worse from topic to topic.
SKILL, SKILL_SPREAD, SKILL_OF_TEAM, TOPIC_OF_TEAM, TOPIC_OF_RUN = 1.23, 0.17, 0.72, 0.16, 0.08
# Some runs went wrong: their share, and the part of the skill they are left with.
POOR, POOR_SKILL = 0.13, (0.1, 0.7)
# Part of the variance of the noise that the runs of a team share.
TEAM_NOISE = 0.6

# -- runs
# Share of runs that have fewer documents than asked for, and the least part of them they have.
SHORT, SHORT_LEAST = 0.12, 0.2
# Ties are uneven: a few runs have most of them. The greatest unevenness is needed where ties are few.
MOST_UNEVEN = 9.0
# Ranks that contradict the scores stand up to this many places away: four of ten neighbours the wrong way round.
ASTRAY = 8
# Scores are whole multiples of this: it survives a reader that keeps them in single precision.
SCORE_STEP = 1e-4


@dataclass(frozen=True)
class Collection:
    """A test collection whose truth is known."""

    qrels: pl.DataFrame  # pooled judgments: topic, doc, grade
    truth: pl.DataFrame  # the same columns, for every document that is relevant or retrieved
    runs: dict[str, pl.DataFrame]  # name -> topic, doc, rank (from 1), score
    pooled: list[str]  # names of the runs that contributed to the pool
    groups: dict[str, str]  # name -> team
    topics: pl.DataFrame | None = None  # id, title, description; only with texts
    docs: pl.DataFrame | None = None  # id, title, text of each document that any run retrieved; only with texts


@dataclass(frozen=True)
class _Systems:
    """One entry a system."""

    team: Ints
    pooled: Bools
    skill: Floats
    clearness: Floats  # what is added to that of a topic
    ties: Floats  # share of documents that have the score of the one before
    short: Bools
    contradicting: Bools

    def __len__(self) -> int:
        return len(self.team)


def simulate(
    *,
    systems: int = 10,
    n_topics: int = 25,
    n_docs: int = 5000,
    depth: int = 1000,
    pool_depth: int = 20,
    unpooled: int | None = None,
    teams: int | None = None,
    max_grade: int = 2,
    ties: float = 0.1,
    contradictions: float = 0.0,
    texts: bool = False,
    seed: int = 0,
) -> Collection:
    """Make a collection; the same arguments give the same collection.

    The runs come from `teams` (one for three systems unless given). Two runs of each team are pooled and none of the
    last, smallest team, which came too late; or, with `unpooled`, all runs but so many. A share `ties` of the
    retrieved documents has the score of the document before it, and in a share `contradictions` of the runs the ranks
    contradict the scores. Most runs are `depth` documents deep (`n_docs` if that is less), some are shorter. `texts`
    gives the topics and the retrieved documents words; all else stays the same.
    """
    sizes = {"systems": systems, "n_topics": n_topics, "n_docs": n_docs, "depth": depth, "pool_depth": pool_depth}
    for name, size in {**sizes, "max_grade": max_grade}.items():
        checked(name, choices.whole_number, size)
    checked("seed", choices.whole_number, seed, 0)
    checked("texts", choices.flag, texts)
    teams = -(-systems // RUNS_A_TEAM) if teams is None else checked("teams", choices.whole_number, teams)
    if teams > systems:
        raise FathomsError(f"teams must be from 1 to {systems}, the number of systems: {teams}")
    if unpooled is not None and not 0 <= unpooled < systems:
        raise FathomsError(f"unpooled must be from 0 to {systems - 1}, one run has to be pooled: {unpooled}")
    for name, share in (("ties", ties), ("contradictions", contradictions)):
        if not 0 <= share <= 1:
            raise FathomsError(f"{name} must be from 0 to 1: {share}")
    depth = min(depth, n_docs)
    rng = np.random.default_rng(seed)
    cast = _systems(systems, teams, unpooled, ties, contradictions, rng)
    relevant, clearness = _topics(n_topics, n_docs, rng)
    lengths = _lengths(cast, n_topics, depth, rng)

    retrieved = np.empty((systems, n_topics, depth), np.int32)
    scores = np.empty((systems, n_topics, depth))
    qrels: list[tuple[Ints, Ints]] = []
    truth: list[tuple[Ints, Ints]] = []
    for topic in range(n_topics):  # by topic, so that memory holds what one topic's systems see and not all of it
        # Ascending: then documents sort by their numbers here as they do by their names.
        ids = np.arange(n_docs)
        if n_docs > CANDIDATES:
            ids = np.sort(rng.choice(n_docs, CANDIDATES, replace=False, shuffle=False))
        relevance = _seen(len(ids), rng)
        grades = _grades(relevance, relevant[topic], max_grade)
        values = _values(relevance, clearness[topic], cast, rng)
        docs, steps = _retrieve(values, depth, cast.ties, rng)

        present = np.arange(depth) < lengths[:, topic, None]
        pool = _pool(docs[cast.pooled], steps[cast.pooled], present[cast.pooled], pool_depth)
        known = grades > 0
        known[docs[present]] = True
        complete = np.flatnonzero(known)
        qrels.append((ids[pool], grades[pool]))
        truth.append((ids[complete], grades[complete]))
        retrieved[:, topic] = ids[docs]
        scores[:, topic] = steps / round(1 / SCORE_STEP)

    topic_names = pl.Series("topic", [str(101 + i) for i in range(n_topics)])
    doc_names = pl.Series("doc", [f"DOC-{i:07d}" for i in range(n_docs)])
    runs = [
        _run(retrieved[i], scores[i], _ranks(depth, n_topics, contradicts, rng), lengths[i], topic_names, doc_names)
        for i, contradicts in enumerate(cast.contradicting)
    ]
    names = _numbered("sys", systems)
    team_names = _numbered("team", teams)
    collection = Collection(
        qrels=_judgments(topic_names, doc_names, qrels),
        truth=_judgments(topic_names, doc_names, truth),
        runs=dict(zip(names, runs, strict=True)),
        pooled=[name for name, pooled in zip(names, cast.pooled, strict=True) if pooled],
        groups={name: team_names[team] for name, team in zip(names, cast.team, strict=True)},
    )
    return _with_texts(collection, seed) if texts else collection


# -- who takes part, and in what ----------------------------------------------------------------------------------


def _systems(
    n: int, teams: int, unpooled: int | None, ties: float, contradictions: float, rng: np.random.Generator
) -> _Systems:
    sizes = _team_sizes(n, teams)
    sizes = np.append(rng.permutation(sizes[1:]), sizes[0])
    team = np.repeat(np.arange(teams), sizes)
    turn = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    late = (team == teams - 1) & (teams > 1)
    pooled = (turn < POOLED_A_TEAM) & ~late
    if unpooled is not None:
        in_turn = np.lexsort((team, turn, late))
        pooled = np.zeros(n, bool)
        pooled[in_turn[: n - unpooled]] = True

    own = np.sqrt(1 - SKILL_OF_TEAM**2)
    skill = SKILL + SKILL_SPREAD * (SKILL_OF_TEAM * _normal(teams, rng)[team] + own * _normal(n, rng))
    poor = _some(n, POOR, rng) & ~late  # of a late team we want to see what its unjudged documents are worth
    skill[poor] *= rng.uniform(*POOR_SKILL, size=poor.sum())
    # At a chosen share of more than 0 at least one run contradicts itself.
    at_least = max(contradictions, 0.51 / n) if contradictions else 0.0
    return _Systems(
        team=team,
        pooled=pooled,
        skill=skill,
        clearness=np.where(_some(teams, MANUAL, rng), MANUAL_CLEARNESS, 0.0)[team],
        ties=_tie_rates(n, ties, rng),
        short=_some(n, SHORT, rng),
        contradicting=_some(n, at_least, rng),
    )


def _team_sizes(n: int, teams: int) -> Ints:
    """Sizes of teams, ascending: from one to about twice the mean, as many teams of each size."""
    if teams == 1:
        return np.array([n])
    share = np.arange(teams) / (teams * (teams - 1) / 2)
    return 1 + np.diff(np.rint(rounded(np.cumsum(share) * (n - teams))), prepend=0).astype(np.int64)


def _tie_rates(n: int, ties: float, rng: np.random.Generator) -> Floats:
    """A share of ties for each of n runs, `ties` on average: u^p has the mean 1 / (p + 1) for uniform u."""
    if not ties:
        return np.zeros(n)
    power = min((1 - ties) / ties, MOST_UNEVEN)
    rates = ((rng.permutation(n) + 0.5) / n) ** power
    return np.minimum(rounded(rates * (ties / rates.mean())), 1.0)


def _topics(n: int, n_docs: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """For each topic the number of relevant documents, and how clearly systems see which they are."""
    many = _normal(n, rng)
    most = max(RELEVANT_SHARE * n_docs, 1)
    relevant = np.clip(RELEVANT * np.exp(RELEVANT_SPREAD * many), min(RELEVANT_LEAST, most), most)
    own = np.sqrt(1 - CLEARNESS_OF_RARE**2)
    spread = own * _normal(n, rng) - CLEARNESS_OF_RARE * many
    return np.rint(rounded(relevant)).astype(np.int64), CLEARNESS + CLEARNESS_SPREAD * spread


def _lengths(cast: _Systems, n_topics: int, depth: int, rng: np.random.Generator) -> Ints:
    """How many documents each system has for each topic."""
    part = np.ones((len(cast), n_topics))
    # Some topics of a short run have all documents, as where a threshold on the score cuts it.
    part[cast.short] = np.minimum(rng.uniform(SHORT_LEAST, 1.6, size=(cast.short.sum(), n_topics)), 1)
    return np.maximum(np.rint(rounded(part * depth)), 1).astype(np.int64)


def _normal(n: int, rng: np.random.Generator) -> Floats:
    """Standard normal numbers that fill the distribution evenly: few systems or topics are as varied as many."""
    from scipy.special import ndtri

    return np.asarray(ndtri((rng.permutation(n) + 0.5) / n), np.float64)


def _some(n: int, share: float, rng: np.random.Generator) -> Bools:
    return rng.permutation(n) < round(share * n)


def _numbered(word: str, n: int) -> list[str]:
    return [f"{word}{i + 1:0{len(str(n))}d}" for i in range(n)]


# -- one topic ----------------------------------------------------------------------------------------------------


def _seen(n: int, rng: np.random.Generator) -> Floats:
    """Numbers of mean 0 and variance 1 with a long upper tail."""
    return (rng.standard_gamma(SEEN_SHAPE, n) - SEEN_SHAPE) / np.sqrt(SEEN_SHAPE)


def _grades(relevance: Floats, relevant: int, max_grade: int) -> Ints:
    """Grades of a topic's documents: those of greatest relevance, ever fewer of them for each higher grade."""
    # Rounded up: every topic has a document of each grade.
    sizes = np.array([ceil(int(relevant) * GRADE_PART**grade) for grade in range(max_grade)])
    place = np.empty(len(relevance), np.int64)
    place[order(-relevance)] = np.arange(len(relevance))
    return np.asarray((place[:, None] < sizes).sum(axis=1), np.int64)


def _values(relevance: Floats, clearness: float, cast: _Systems, rng: np.random.Generator) -> Floats:
    """What each system makes of each document, [system, document]."""
    n, teams = len(relevance), cast.team[-1] + 1
    appearance = _seen(n, rng)
    own_view = CLEARNESS_OF_TEAM * rng.standard_normal(teams)[cast.team]
    clear = np.tanh(np.maximum(clearness + cast.clearness + own_view, 0))
    luck = TOPIC_OF_TEAM * rng.standard_normal(teams)[cast.team] + TOPIC_OF_RUN * rng.standard_normal(len(cast))
    skill = np.tanh(np.maximum(cast.skill + luck, 0))
    noise = np.sqrt(1 - skill**2)
    shared = rng.standard_exponential((teams, n)) - 1  # a long tail here too: teams insist on their errors
    values = rng.standard_normal((len(cast), n))
    values *= (noise * np.sqrt(1 - TEAM_NOISE))[:, None]
    for weight, part in (
        (noise * np.sqrt(TEAM_NOISE), shared[cast.team]),
        (skill * clear, relevance),
        (skill * np.sqrt(1 - clear**2), appearance),
    ):
        values += weight[:, None] * part
    return values


def _retrieve(values: Floats, depth: int, ties: Floats, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The top documents of each system (a row of `values`) in the order of its run, and their scores in steps."""
    # Sorted before they are ordered by value: a partition leaves them in an order that depends on the processor.
    docs = np.sort(np.argpartition(values, values.shape[1] - depth, axis=1)[:, -depth:], axis=1)
    top = np.take_along_axis(values, docs, axis=1)
    by_value = order(-top, axis=1)
    docs = np.take_along_axis(docs, by_value, axis=1)
    top = np.take_along_axis(top, by_value, axis=1)

    # Counted in whole steps, downwards by one at least: two scores are equal where a tie is meant, only there.
    steps = np.rint(rounded(5 * np.logaddexp(0, top) / SCORE_STEP)).astype(np.int64)
    drops = np.maximum(steps[:, :-1] - steps[:, 1:], 1)
    drops[rng.random(drops.shape) < ties[:, None]] = 0
    below = np.cumsum(drops[:, ::-1], axis=1)[:, ::-1]
    last = np.maximum(steps[:, -1:], 1)
    steps = np.hstack([last + below, last])

    # The order inside a tie says nothing about relevance: shuffle it, or file order would favour the system.
    shuffled = np.argsort(rng.random(steps.shape) - steps, axis=1, kind="stable")
    return np.take_along_axis(docs, shuffled, axis=1), steps


def _pool(docs: Ints, steps: Ints, present: Bools, depth: int) -> Ints:
    """The first `depth` documents of all runs as trec_eval orders them: ties by document, descending."""
    bound = docs.max() + 1
    first = np.argsort(np.where(present, -(steps * bound + docs), 1), axis=1, kind="stable")[:, :depth]
    top = np.take_along_axis(docs, first, axis=1)
    return np.unique(top[np.take_along_axis(present, first, axis=1)])


# -- frames -------------------------------------------------------------------------------------------------------


def _ranks(depth: int, n_topics: int, contradicting: bool, rng: np.random.Generator) -> Ints:
    """The rank column of a run with all documents, [topic, place]."""
    places = np.tile(np.arange(depth), (n_topics, 1))
    if contradicting:
        moved = np.argsort(places + ASTRAY * rng.random(places.shape), axis=1, kind="stable")
        places = np.argsort(moved, axis=1)
    return places + 1


def _run(
    docs: npt.NDArray[np.int32],
    scores: Floats,
    ranks: Ints,
    lengths: Ints,
    topic_names: pl.Series,
    doc_names: pl.Series,
) -> pl.DataFrame:
    """A run's frame, from rows of topics that are cut to their lengths."""
    present = np.arange(docs.shape[1]) < lengths[:, None]
    if not present.all():
        # Ranks that moved across the cut: number those that are left from 1 again, in the same order.
        left = np.where(present, ranks, ranks.shape[1] + 1)
        ranks = np.argsort(np.argsort(left, axis=1, kind="stable"), axis=1) + 1
    return pl.DataFrame(
        [
            topic_names.gather(np.repeat(np.arange(len(lengths)), lengths)),
            doc_names.gather(docs[present]),
            pl.Series("rank", ranks[present]),
            pl.Series("score", scores[present]),
        ]
    )


def _judgments(topic_names: pl.Series, doc_names: pl.Series, parts: list[tuple[Ints, Ints]]) -> pl.DataFrame:
    """One frame of the documents and grades of all topics, one part per topic."""
    topics = np.repeat(np.arange(len(parts)), [len(docs) for docs, _ in parts])
    docs, grades = (np.concatenate(column) for column in zip(*parts, strict=True))
    return pl.DataFrame([topic_names.gather(topics), doc_names.gather(docs), pl.Series("grade", grades)])


# -- texts and files ----------------------------------------------------------------------------------------------


def _with_texts(collection: Collection, seed: int) -> Collection:
    """The same collection with words; they have random numbers of their own."""
    from dataclasses import replace

    from fathoms.data import fake_text

    rng = np.random.default_rng([seed, 1])
    topics = collection.truth["topic"].unique(maintain_order=True)
    subjects = fake_text.subjects(len(topics), rng)
    topic_frame = pl.DataFrame(
        {"id": topics, "title": [s.title for s in subjects], "description": fake_text.descriptions(subjects, rng)}
    )
    retrieved = pl.concat([run.select("doc") for run in collection.runs.values()]).unique()
    place = {topic: i for i, topic in enumerate(topics)}
    known = (
        collection.truth.join(retrieved, on="doc", how="semi")
        .with_columns(pl.col("topic").replace_strict(place, return_dtype=pl.Int64))
        .group_by("doc")
        .agg(relevant=pl.col("topic").filter(pl.col("grade") > 0).sort(), first=pl.col("topic").min())
        .sort("doc")
    )
    picks = rng.integers(2**30, size=(len(known), fake_text.PICKS))
    written = []
    for (_, relevant, first), row in zip(known.iter_rows(), picks, strict=True):
        about = [subjects[i] for i in relevant] or [fake_text.astray(subjects[first], int(row[-1]))]
        written.append(fake_text.document(about, row))
    titles, words = zip(*written, strict=True)
    return replace(
        collection, topics=topic_frame, docs=pl.DataFrame({"id": known["doc"], "title": titles, "text": words})
    )


def write(collection: Collection, folder: Path) -> None:
    """Write qrels.txt, truth.txt, pooled.txt, groups.tsv and runs/NAME.run into the folder, in TREC format.

    A collection with texts also gets topics.jsonl and docs.jsonl.
    """
    with whole_folder(folder) as put:
        for name, judgments in (("qrels", collection.qrels), ("truth", collection.truth)):
            put(f"{name}.txt", _columns(judgments.select("topic", pl.lit("0"), "doc", "grade")))
        for name, run in collection.runs.items():
            columns = run.select("topic", pl.lit("Q0"), "doc", "rank", "score", pl.lit(name).alias("tag"))
            put(f"runs/{name}.run", _columns(columns))
        put("pooled.txt", _lines(collection.pooled))
        put("groups.tsv", _lines([f"{name}\t{team}" for name, team in collection.groups.items()]))
        for name, texts in (("topics", collection.topics), ("docs", collection.docs)):
            if texts is not None:
                put(f"{name}.jsonl", texts.write_ndjson().encode())


def _columns(frame: pl.DataFrame) -> bytes:
    # Without float_precision scores get the fewest digits that read back as the same number.
    text = frame.write_csv(include_header=False, separator=" ", quote_style="never", line_terminator="\n")
    return text.encode()


def _lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
