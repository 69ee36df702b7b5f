"""Carterette, "Robust Test Collections for Retrieval Evaluation" (SIGIR 2007), on any collections.

Tables 2 to 4 and Fig. 2 are over the trials of all collections together, as in the paper; Tables 1 and 5 are by
collection. The trials are in `rtc_trials.py`; the engine is the one behind `fathoms judge`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from fathoms.data.qrels import Qrels
from fathoms.estimate.distribution import Moments
from fathoms.estimate.relevance import Experts, rank_probabilities
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.papers import rtc_printed as in_paper
from fathoms.papers.bench import by_name
from fathoms.papers.exhibits import Drawing, Exhibit, Study, chart
from fathoms.papers.printing import Cell, Column
from fathoms.papers.rtc_printed import fixed, percent
from fathoms.papers.rtc_trials import (
    ALL,
    BINS,
    FROM_SCORES,
    FROM_TEXTS,
    GROWN,
    Bin,
    Outcome,
    World,
    by_bin,
    drawn,
    judge_until,
    make_world,
    mean,
    strategy_of,
    summary,
    trials,
    winnings,
)
from fathoms.papers.rtc_trials import BATCH as BATCH
from fathoms.papers.rtc_trials import METHODS as METHODS
from fathoms.papers.rtc_trials import RTCSettings as RTCSettings
from fathoms.papers.rtc_trials import percent as percent_right

PAPER = "Carterette (2007), Robust Test Collections for Retrieval Evaluation"
MAIN = "RTC"  # the method of Tables 3 to 5, and of the worked example
POOLING = "IP"
FURTHER = {
    FROM_SCORES: "as RTC, with each expert's probabilities from its scores",
    FROM_TEXTS: "as RTC, with the similarity of texts to those judged relevant as one more expert",
}
FEW = 100  # judgments in the sets that section 5 looks at apart
ALPHA = 0.05
POINT = 500  # pairs a point of Fig. 2 stands for, at least
FEWER, POINTS = 100, 5  # or as few, where so many points would not be had otherwise
SHOWN = 3  # documents of a topic in the worked example
CALIBRATED = 500  # judgments from which an expert's calibration shows in the worked example
# Kept of each trial, and of each pair of its systems: how many of the two were judged first, the share of documents
# in common, the confidence, and whether it was right.
TRIAL_COLUMNS = ("trial", "method", "judged", "tau")
PAIR_COLUMNS = ("original", "similarity", "confidence", "right")
Groups = dict[str, Callable[[Outcome], Bools]]
Test = tuple[str, str, str, str, float, float]  # method, other, figure, test, difference, p


@dataclass(frozen=True, eq=False)
class Collection:
    name: str
    qrels: Qrels
    world: World
    outcomes: dict[str, Outcome]  # by method
    pooled: Outcome | None  # incremental pooling, which takes MTC's number of judgments
    grown: dict[str, Outcome] = field(default_factory=dict)  # by method, where only earlier documents were judged


@dataclass(frozen=True, eq=False)
class Results:
    """The trials of all collections, and together."""

    collections: list[Collection]
    settings: RTCSettings
    outcomes: dict[str, Outcome] = field(init=False)
    pooled: Outcome | None = field(init=False)

    def __post_init__(self) -> None:
        several = self.collections
        joined = {m: Outcome.joined([collection.outcomes[m] for collection in several]) for m in self.settings.compared}
        pooled = [collection.pooled for collection in several if collection.pooled is not None]
        object.__setattr__(self, "outcomes", joined)
        object.__setattr__(self, "pooled", Outcome.joined(pooled) if pooled else None)

    @property
    def main(self) -> str:
        return MAIN if MAIN in self.outcomes else next(iter(self.outcomes))

    @property
    def others(self) -> list[str]:
        return [method for method in self.outcomes if method != self.main]

    def bins(self, outcome: Outcome, some: Bools | None = None) -> list[Bin]:
        chosen = np.ones(outcome.right.shape, dtype=bool) if some is None else some
        return by_bin(outcome.confidence[chosen], outcome.right[chosen], self.settings.worst_loss)

    def summary(self, outcome: Outcome) -> dict[str, tuple[float, float, float]]:
        return summary(outcome, self.settings.seed, self.settings.worst_loss)


def study(
    experiments: BaseExperiment | Mapping[str, BaseExperiment],
    settings: RTCSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
    step: Callable[[], None] = lambda: None,
) -> Study:
    """All tables and figures of the paper, for one collection or several by name; `step` is called for each batch of
    trials."""
    settings = settings or RTCSettings()
    result = Study(PAPER, "", short="rtc")
    collections = []
    kept_trials: list[tuple[Any, ...]] = []
    kept_pairs: list[tuple[Any, ...]] = []
    for name, experiment in by_name(experiments).items():
        world = make_world(
            experiment, settings.depth, from_scores=settings.from_scores, docs=settings.docs, dates=settings.dates
        )
        result.warnings += _shallow_truth(name, experiment, settings)
        progress(f"{name}: runs gathered")
        rows = trials(world, settings, step)
        kept_trials += [(name, *row) for row in rows.select(TRIAL_COLUMNS).iter_rows()]
        of_pairs = rows.select(*TRIAL_COLUMNS[:2], *PAIR_COLUMNS).explode(*PAIR_COLUMNS)
        kept_pairs += [(name, *row[:-1], int(row[-1])) for row in of_pairs.iter_rows()]
        outcomes = {method: Outcome.of(rows, method) for method in settings.compared}
        pooled = Outcome.of(rows, POOLING) if "MTC" in settings.compared else None
        grown = {m: Outcome.of(rows, m + GROWN) for m in settings.compared} if world.earlier is not None else {}
        collections.append(Collection(name, experiment.qrels, world, outcomes, pooled, grown))
    results = Results(collections, settings)
    result.systems = min(len(collection.world.candidates.names) for collection in collections)
    result.data += [
        Exhibit("trials", "each trial and method", ["collection", *TRIAL_COLUMNS], kept_trials),
        Exhibit("pairs", "each pair of systems of them", ["collection", *TRIAL_COLUMNS[:2], *PAIR_COLUMNS], kept_pairs),
    ]
    sizes = [(c.qrels.source, c.world.candidates.names, c.world.candidates.topics) for c in collections]
    words = "; ".join(f"{source}: {len(names)} systems, {len(topics)} topics" for source, names, topics in sizes)
    result.collection = (
        f"{words}; {settings.trials:,} trials{' of each' if len(collections) > 1 else ''}, which draw "
        f"{settings.systems} systems and judge {settings.initial} of them to {settings.until:.0%} confidence; depth "
        f"{settings.depth}"
    )
    result.notes += [
        "RTC literal: eq. 2 as printed, no intercept, beta prior (1, 1). RTC: with an intercept and prior (100, 100), "
        "the reading closest to the paper's figures. RTC uncertain: prior (1, 1), intercept, the model's own "
        "uncertainty counted twice. fusion: our model and selection, the default of `fathoms judge`."
        + "".join(f" {name}: {about}." for name, about in FURTHER.items() if name in settings.compared),
        f"The last bin holds confidence from {BINS[-2]} on. Losses are capped at {settings.worst_loss:g}. Seed "
        f"{settings.seed}.",
        f"A pair is right if it agrees with AP of the first {settings.depth} documents under all judgments given; what "
        "these leave unjudged counts as not relevant.",
        "trials.tsv has the judgments and the τ of each trial, pairs.tsv the confidence of each pair in it and whether "
        "it was right: all figures can be made again from these.",
    ]
    tests = _tests(results.outcomes)
    _table_1(result, results)
    _fig_1(result, collections[0], results)
    _table_2(result, results, tests)
    _fig_2(result, results)
    _table_3(result, results)
    _table_4(result, results)
    _table_5(result, results)
    _side_results(result, results)
    _table_of_tests(result, tests)
    if settings.dates is not None:
        _grown(result, results)
    return result


def _shallow_truth(name: str, experiment: BaseExperiment, settings: RTCSettings) -> list[str]:
    """Where the judgments end above the depth asked for, systems are told apart by what was never judged."""
    pool = experiment.pool_assumed()
    if pool.known and pool.depth >= settings.depth:
        return []
    reach = f"go to depth {pool.depth}" if pool.known else "do not cover the runs' first documents"
    return [
        f"{name}: the judgments {reach}, and the rankings are read to {settings.depth}. What is not judged counts as "
        "not relevant, so the truth that pairs are held against is itself incomplete"
        + (f"; --depth {pool.depth} reads no further than it goes" if pool.known else "")
    ]


# -- the collections and the model: Table 1, Fig. 1 -------------------------------------------------------------------


def _table_1(result: Study, results: Results) -> None:
    rows = []
    for collection in results.collections:
        judged, relevant = int((collection.qrels.grades >= 0).sum()), int((collection.qrels.grades > 0).sum())
        rows.append(
            (collection.name, len(collection.qrels.topics), len(collection.world.candidates.names), judged, relevant)
        )
    result.add(
        "table1",
        "topics, runs, documents judged and documents found relevant",
        in_paper.TABLE_1_NAMES,
        rows,
        layout=in_paper.TABLE_1_LAYOUT,
        in_paper=in_paper.TABLE_1,
    )


def _fig_1(result: Study, collection: Collection, results: Results) -> None:
    """The paper's diagram of the model, as a worked example: two systems that a trial judges first as experts, on three
    documents of two topics, with the judgments of that trial."""
    world, settings = collection.world, results.settings
    number = _example_trial(collection.outcomes[results.main])
    block = world.candidates.block(drawn(world, settings, number)[: settings.initial].tolist())
    judgments = judge_until(world, strategy_of(MAIN, world), Moments(block), settings.until, number)
    judged, relevant = (np.zeros(len(world.relevant), dtype=bool) for _ in range(2))
    for candidate, answer in judgments:
        judged[candidate], relevant[candidate] = True, answer
    is_judged, is_relevant = block.values(judged), block.values(relevant)
    fit = Experts(block).fit(is_judged, is_relevant)
    shown = _example_documents(block.rank[:, :2].astype(np.int64), is_judged, is_relevant, fit.probability)
    if not shown:
        return
    rows: list[tuple[Any, ...]] = []
    for topic, columns in shown.items():
        kinds = (is_judged & is_relevant)[topic], (is_judged & ~is_relevant)[topic]
        reported = rank_probabilities(*(int(kind.sum()) for kind in kinds), block.depth)
        for column in columns:
            letter = chr(ord("A") + len(rows) // 2)
            document = world.candidates.documents[block.number[topic, column]].decode(errors="replace")
            known = "relevant" if is_relevant[topic, column] else "not relevant" if is_judged[topic, column] else "no"
            for expert in range(2):
                rank = int(block.rank[topic, expert, column])
                q_star, calibrated = float(reported[rank - 1]), float(fit.features[topic, column, expert])
                p = float(fit.probability[topic, column])
                where = (world.candidates.topics[topic], block.names[expert], letter, document, known)
                rows.append((*where, rank, q_star, calibrated, p))
    result.add(
        "fig1",
        f"the aggregation model at work on {collection.name}: ranks, q*, calibrated q, and p",
        ["topic", "expert", "letter", "document", "judged", "rank", "q_star", "q", "p"],
        rows,
        note=f"The experts are E1 = {block.names[0]} and E2 = {block.names[1]}, after the {len(judgments):,} judgments "
        f"of trial {number + 1}. The topics are those of which these found the most and the fewest relevant documents. "
        "The three documents of each are the one of the highest p, the one whose ranks differ most, and the one of "
        "the lowest p, among those that both experts rank and nobody has judged. q* comes from the rank and the "
        "topic's judgments, q from the expert's calibration, p from the aggregation of all experts (eq. 2): "
        f"{_aggregation(fit.fit.coefficients)}.",
        chart=_diagram(rows, block.names),
    )


def _example_trial(outcome: Outcome) -> int:
    """The first trial of as many judgments as calibrate an expert, or else the one that judged most."""
    enough = np.flatnonzero(outcome.judged >= CALIBRATED)
    return int(enough[0]) if len(enough) else int(outcome.judged.argmax())


def _example_documents(ranks: Ints, judged: Bools, relevant: Bools, probability: Floats) -> dict[int, list[int]]:
    """Columns of two topics, in the order of the first expert."""
    ranked_by_both = np.all(ranks > 0, axis=1) & ~judged
    topics = np.flatnonzero(ranked_by_both.sum(axis=1) >= SHOWN)
    if len(topics) < 2:
        return {}
    by_relevant = topics[np.argsort((judged & relevant)[topics].sum(axis=1), kind="stable")]
    shown = {}
    for topic in (int(by_relevant[-1]), int(by_relevant[0])):
        columns = np.flatnonzero(ranked_by_both[topic])
        by_probability = columns[np.argsort(probability[topic, columns], kind="stable")]
        between = by_probability[1:-1]
        disputed = between[np.abs(np.diff(ranks[topic][:, between], axis=0)[0]).argmax()]
        chosen = [int(by_probability[-1]), int(disputed), int(by_probability[0])]
        shown[topic] = sorted(chosen, key=ranks[topic, 0].__getitem__)
    return shown


def _aggregation(coefficients: Floats) -> str:
    """Eq. 2 with the coefficients that were fitted, those of the experts first."""
    *weights, intercept = coefficients.tolist()
    terms = "".join(f" {'-' if weight < 0 else '+'} {abs(weight):.2f} q{i}" for i, weight in enumerate(weights, 1))
    return f"log p / (1 - p) = {intercept:.2f}{terms}"


def _diagram(rows: Sequence[Sequence[Any]], experts: Sequence[str]) -> Drawing | None:
    """Six lines for each topic: the documents by expert; p stands in the middle of a document's two lines."""
    words: list[tuple[float, float, float, float, str]] = []
    links: list[tuple[float, float, float, float, str]] = []
    heads = ("topic", "expert", "rank", "q*", "q", "p")
    words += [(float(x), 0.0, 0.0, 0.0, head) for x, head in enumerate(heads)]
    topics = list(dict.fromkeys(row[0] for row in rows))
    for number, topic in enumerate(topics):
        mine = [row for row in rows if row[0] == topic]
        letters = list(dict.fromkeys(row[2] for row in mine))
        top = 1.5 + number * (2 * len(letters) + 1)
        words.append((0.0, top + len(letters) - 0.5, 0.0, 0.0, f"T{number + 1} ({topic})"))
        for e, expert in enumerate(experts[:2]):
            start = top + e * len(letters)
            words.append((1.0, start + (len(letters) - 1) / 2, 0.0, 0.0, f"E{e + 1}"))
            by_rank = sorted((row for row in mine if row[1] == expert), key=lambda row: row[5])
            for i, row in enumerate(by_rank):
                y = start + i
                end = top + len(letters) - 0.5 + 1.4 * (letters.index(row[2]) - (len(letters) - 1) / 2)
                words.append((2.0, y, 0.0, 0.0, f"{row[2]} at {row[5]}"))
                words += [(x, y, 0.0, 0.0, f"{value:.3f}") for x, value in ((3.0, row[6]), (4.0, row[7]))]
                links += [(x + 0.3, y, x + 0.7, y, "") for x in (2.0, 3.0)] + [(4.3, y, 4.65, end, "")]
                if e == 0:
                    words.append((5.0, end, 0.0, 0.0, f"{row[2]}: {row[8]:.3f}"))
    columns = ["x", "y", "x2", "y2", "words"]
    return chart("diagram", words, columns, points=links, title="From ranks to probabilities of relevance")


# -- confidence and accuracy: Tables 2 to 5, Fig. 2 -------------------------------------------------------------------

MEASURED = ["confidence", "pairs", "percent_in_bin", "accuracy", "W"]


def _measured(bin: Bin) -> tuple[Any, ...]:
    return bin.name, bin.pairs, bin.share, bin.accuracy, bin.W


def _printed_names(bins: Sequence[Bin]) -> list[str]:
    return [bin.name.replace(" - ", " – ") for bin in bins if bin.name != ALL]


def _table_2(result: Study, results: Results, tests: Sequence[Test]) -> None:
    outcomes = results.outcomes
    bins = {method: results.bins(outcome) for method, outcome in outcomes.items()}
    arranged: list[list[str | Cell]] = [
        [name, *(cell for some in bins.values() for cell in (percent(some[i].share), percent(some[i].accuracy)))]
        for i, name in enumerate(_printed_names(bins[results.main]))
    ]
    figures = {method: results.summary(outcome) for method, outcome in outcomes.items()}
    differs = {(a, b, name) for a, b, name, test, _, p in tests if p < ALPHA and (name == "tau" or test == "wilcoxon")}
    tested = {"median judged": "judged", "mean tau": "tau"}
    for (label, digits), name in zip(in_paper.FIGURES, ("W", "median judged", "mean tau"), strict=True):
        marks = {m: "†" if ("MTC", m, tested.get(name, "")) in differs else "" for m in outcomes}
        cells = ((Cell(""), fixed(figures[m][name][0], digits, marks[m])) for m in outcomes)
        arranged.append([label, *(cell for pair in cells for cell in pair)])
    names = [f"{kind}{i}" for i in range(len(outcomes)) for kind in ("share", "accuracy")]
    result.add(
        "table2",
        "confidence and accuracy of pairs when judgments of a few systems are used for others, by method",
        ["method", *MEASURED],
        [(method, *_measured(bin)) for method, some in bins.items() for bin in some],
        note="Accuracy should be no less than the confidence; mean W closer to 0 is better. †: differs from MTC over "
        f"the same trials (p < {ALPHA}; Wilcoxon for judgments, paired t-test for τ).",
        arranged=(["confidence", *names], arranged),
        layout=[
            Column("Confidence", "confidence"),
            *(
                Column(head, f"{kind}{i}", group=method)
                for i, method in enumerate(outcomes)
                for head, kind in (("% in bin", "share"), ("accuracy", "accuracy"))
            ),
        ],
        in_paper=in_paper.TABLE_2,
    )
    several = {ALL: outcomes} if len(results.collections) > 1 else {}
    several |= {collection.name: collection.outcomes for collection in results.collections}
    rows = [
        (name, method, figure, *values)
        for name, by_method in several.items()
        for method, outcome in by_method.items()
        for figure, values in results.summary(outcome).items()
    ]
    result.add(
        "table2b",
        "mean W, judgments and rank correlation with 95% bootstrap intervals over trials",
        ["collection", "method", "figure", "value", "low", "high"],
        rows,
        arranged=(
            ["collection", "method", "figure", "value", "interval"],
            [(*row[:3], *_with_interval(row[2], row[3:])) for row in rows],
        ),
        layout=[
            *(Column(head, head.lower()) for head in ("Collection", "Method", "Figure", "Value")),
            Column("95% interval", "interval"),
        ],
    )


def _with_interval(figure: str, values: Sequence[float]) -> tuple[Cell, Cell]:
    digits = {"W": 2, "mean tau": 3}.get(figure, 0)
    value, low, high = (f"{x:,.{digits}f}" for x in values)
    return Cell(value), Cell(f"[{low}, {high}]")


def _fig_2(result: Study, results: Results) -> None:
    rows: list[tuple[Any, ...]] = []
    for method, outcome in results.outcomes.items():
        order = np.argsort(outcome.confidence, axis=None, kind="stable")
        for part in np.array_split(order, _points(len(order))):
            hits = outcome.right.ravel()[part]
            rows.append((method, float(outcome.confidence.ravel()[part].mean()), float(hits.mean()), len(part)))
    columns = ["method", "confidence", "accuracy", "pairs"]
    result.add(
        "fig2",
        "confidence against accuracy",
        columns,
        rows,
        note="Dashed: pairs are right as often as the confidence says, which would give mean W = 0; methods should be "
        f"on this line or above it. Each point stands for at least {min(row[3] for row in rows):,} pairs.",
        chart=chart(
            "calibration",
            rows,
            columns,
            x="confidence",
            y="accuracy",
            group="method",
            title="How often pairs are right, by the confidence in them",
            axes=("confidence", "accuracy"),
        ),
    )


def _points(pairs: int) -> int:
    """How many points the curve has."""
    return max(1, min(25, pairs // min(POINT, max(FEWER, pairs // POINTS))))


def _by_group(
    result: Study, results: Results, table: str, title: str, column: str, head: str, groups: Groups, **more: Any
) -> None:
    """Accuracy by confidence and group of pairs: the main method as the paper prints it, the others one under the
    other."""
    bins = {
        method: {name: results.bins(outcome, some(outcome)) for name, some in groups.items()}
        for method, outcome in results.outcomes.items()
    }
    names = [f"group{i}" for i in range(len(groups))]
    layout = [
        Column("Confidence", "confidence"),
        *(Column(group, name, group=head) for group, name in zip(groups, names, strict=True)),
    ]
    for exhibit, methods in ((table, [results.main]), (f"{table}b", results.others)):
        arranged = [
            [method if i == 0 else "", *row]
            for method in methods
            for i, row in enumerate(_rows_by_group(bins[method].values()))
        ]
        if not methods:
            continue
        result.add(
            exhibit,
            f"{title}, {results.main if exhibit == table else 'other methods'}",
            ["method", column, *MEASURED],
            [(m, group, *_measured(bin)) for m in methods for group, some in bins[m].items() for bin in some],
            arranged=(["method", "confidence", *names], arranged),
            layout=layout if exhibit == table else [Column("Method", "method"), *layout],
            **(more if exhibit == table else {}),
        )


def _rows_by_group(groups: Any) -> list[list[str | Cell]]:
    several = list(groups)
    rows: list[list[str | Cell]] = [
        [name, *(percent(some[i].accuracy) for some in several)] for i, name in enumerate(_printed_names(several[0]))
    ]
    rows.append(["mean W", *(fixed(some[-1].W, 2) for some in several)])
    return [*rows, ["pairs", *(fixed(some[-1].pairs, 0) for some in several)]]


def _table_3(result: Study, results: Results) -> None:
    groups: Groups = {
        name: partial(_with_originals, number) for name, number in zip(in_paper.GROUPS, (2, 1, 0), strict=True)
    }
    _by_group(
        result,
        results,
        "table3",
        "accuracy by how many systems of a pair were judged first",
        "group",
        "accuracy",
        groups,
        in_paper=in_paper.TABLE_3,
    )


def _with_originals(number: int, outcome: Outcome) -> Bools:
    return outcome.original == number


def _table_4(result: Study, results: Results) -> None:
    most = max(int(outcome.tenths.max()) for outcome in results.outcomes.values())
    groups: Groups = {
        f"{tenth / 10:g} – {(tenth + 1) / 10:g}": partial(_alike, tenth) for tenth in range(max(most, 2) + 1)
    }
    _by_group(
        result,
        results,
        "table4",
        "accuracy of pairs by the share of documents in common",
        "similarity",
        "accuracy when similar",
        groups,
        note="The paper's table has the first three groups; the others cover what else is found here.",
        in_paper=in_paper.TABLE_4,
    )


def _alike(tenth: int, outcome: Outcome) -> Bools:
    return outcome.tenths == tenth


def _table_5(result: Study, results: Results) -> None:
    """Collections as columns; other methods one under the other."""
    several = results.collections
    names = [f"collection{i}" for i in range(len(several))]
    layout = [
        Column("Confidence", "confidence"),
        *(Column(collection.name, name, group="accuracy") for collection, name in zip(several, names, strict=True)),
    ]
    for exhibit, methods in (("table5", [results.main]), ("table5b", results.others)):
        arranged: list[list[str | Cell]] = []
        for method in methods:
            bins = [results.bins(collection.outcomes[method]) for collection in several]
            figures = [results.summary(collection.outcomes[method]) for collection in several]
            rows: list[list[str | Cell]] = [
                [name, *(percent(some[i].accuracy) for some in bins)] for i, name in enumerate(_printed_names(bins[0]))
            ]
            for (label, digits), name in zip(in_paper.FIGURES, ("W", "median judged", "mean tau"), strict=True):
                rows.append([label, *(fixed(figure[name][0], digits) for figure in figures)])
            arranged += [[method if i == 0 else "", *row] for i, row in enumerate(rows)]
        if not methods:
            continue
        main = exhibit == "table5"
        result.add(
            exhibit,
            "accuracy, mean W, judgments to reach confidence and rank correlation by collection, "
            + (results.main if main else "other methods"),
            ["collection", "method", *MEASURED],
            [
                (collection.name, method, *_measured(some))
                for collection in several
                for method in methods
                for some in results.bins(collection.outcomes[method])
            ],
            note="The paper's ad hoc 99 is TREC-8. Judgments and τ are in Table 2b." if main else "",
            arranged=(["method", "confidence", *names], arranged),
            layout=layout if main else [Column("Method", "method"), *layout],
            in_paper=in_paper.TABLE_5 if main else None,
        )


# -- section 5's side results and tests -------------------------------------------------------------------------------


def _side_results(result: Study, results: Results) -> None:
    """What section 5 says beside its tables."""
    settings, cap = results.settings, results.settings.cap
    figures: dict[str, dict[str, tuple[float | None, str]]] = {}  # by figure and method: value, how printed
    for method, outcome in results.outcomes.items():
        won = outcome.winnings(settings.worst_loss)
        few, sure = outcome.judged <= FEW, outcome.confidence >= 0.9
        high = outcome.confidence >= cap
        before = np.broadcast_to(outcome.judged[:, None], high.shape)
        wrong, right = mean(before[high & ~outcome.right]), mean(before[high & outcome.right])
        capped = winnings(np.minimum(outcome.confidence, cap), outcome.right, settings.worst_loss)
        of_method: dict[str, tuple[float | None, str]] = {
            "mean judged": (float(outcome.judged.mean()), "whole"),
            f"trials with at most {FEW} judgments": (100 * float(few.mean()), "percent"),
            "W of those": (mean(won[few]), "W"),
            "their accuracy at confidence 0.9 and above": (percent_right(outcome.right[few][sure[few]]), "percent"),
            "the same in the other trials": (percent_right(outcome.right[~few][sure[~few]]), "percent"),
            UNLIKE: (percent_right(outcome.right[_alike(0, outcome)]), "percent"),
            f"mean judgments before a wrong prediction at {cap:g} and above": (wrong, "whole"),
            "mean judgments before a right one": (right, "whole"),
            f"W with confidence capped at {cap:g}": (float(capped.mean()), "W"),
            "mean tau": (float(outcome.tau.mean()), "tau"),
        }
        for name, value in of_method.items():
            figures.setdefault(name, {})[method] = value
    methods = list(results.outcomes)
    if results.pooled is not None:
        methods.append(POOLING)
        figures[UNLIKE][POOLING] = (percent_right(results.pooled.right[_alike(0, results.pooled)]), "percent")
        figures["mean tau"][POOLING] = (float(results.pooled.tau.mean()), "tau")
    notes = _unlike_pairs(results, {method: value for method, (value, _) in figures[UNLIKE].items()})
    result.notes += notes
    result.add(
        "tableA",
        "side results of section 5",
        ["method", "figure", "value"],
        [(method, name, by[method][0]) for method in methods for name, by in figures.items() if method in by],
        note=" ".join(notes),
        arranged=(
            ["figure", *methods],
            [[name, *(_side_cell(by.get(method)) for method in methods)] for name, by in figures.items()],
        ),
        layout=[Column("", "figure"), *(Column(method, method) for method in methods)],
        in_paper=in_paper.SIDE_RESULTS,
    )


UNLIKE = "accuracy of pairs with less than 10% in common"


def _side_cell(value: tuple[float | None, str] | None) -> Cell:
    if value is None:
        return Cell("")
    number, kind = value
    return percent(number) if kind == "percent" else fixed(number, {"W": 2, "tau": 3, "whole": 0}[kind])


def _unlike_pairs(results: Results, here: Mapping[str, float | None]) -> list[str]:
    """How often pairs with little in common are right, beside what the paper says of them."""
    ours, printed = here.get(POOLING), in_paper.UNLIKE[POOLING]
    if results.pooled is None or ours is None:
        return []
    than = "as often as" if abs(ours - printed) < 5 else "more often than" if ours > printed else "less often than"
    pairs = int(_alike(0, results.pooled).sum())
    beside = [
        f"{method} is right in {value:.1f}% (the paper: {in_paper.UNLIKE[method]:g}%)"
        for method in (MAIN, "MTC")
        if (value := here.get(method)) is not None
    ]
    return [
        f"On the {pairs:,} pairs with less than 10% of their documents in common, incremental pooling is right {than} "
        f"in the paper: in {ours:.1f}% here, {printed:g}% there." + (f" {'; '.join(beside)}." if beside else "")
    ]


def _tests(outcomes: Mapping[str, Outcome]) -> list[Test]:
    """Paired tests between methods on the same trials (section 4.4.1)."""
    from scipy.stats import ttest_rel, wilcoxon

    rows: list[Test] = []
    for a, b in combinations(outcomes, 2):
        for name, test in (("judged", wilcoxon), ("judged", ttest_rel), ("tau", ttest_rel)):
            first, second = getattr(outcomes[a], name), getattr(outcomes[b], name)
            if (first != second).any():
                middle = np.median if test is wilcoxon else np.mean
                # Differences that are all alike have no variance to test with; then it is the signs that are tested.
                alike = test is ttest_rel and np.ptp(first - second) < 1e-9
                p = 2.0 ** (1 - len(first)) if alike else float(test(first, second).pvalue)
                rows.append((a, b, name, test.__name__, float(middle(first - second)), p))
    return rows


def _table_of_tests(result: Study, tests: Sequence[Test]) -> None:
    words = {"wilcoxon": "Wilcoxon", "ttest_rel": "paired t", "judged": "judgments", "tau": "τ"}
    arranged = [
        (a, b, words[figure], words[test], fixed(difference, 3 if figure == "tau" else 0), _p(p))
        for a, b, figure, test, difference, p in tests
    ]
    columns = ("method", "other", "figure", "test", "difference", "p")
    result.add(
        "tableB",
        "paired tests between methods on the same trials",
        columns,
        tests,
        note="Difference: the first method less the second, the median of the trials' differences for Wilcoxon's test "
        "and their mean for the t-test.",
        arranged=(columns, arranged),
        layout=[Column("p" if name == "p" else name.capitalize(), name) for name in columns],
    )


def _p(p: float) -> Cell:
    return Cell("< 0.0001" if p < 0.0001 else f"{p:.4f}")


# -- section 6 --------------------------------------------------------------------------------------------------------


def _grown(result: Study, results: Results) -> None:
    """What judgments of earlier documents are worth once the later ones are there (`rtc_growth.py`)."""
    names = {"W": "W", "median judged": "median_judged", "mean tau": "mean_tau"}
    columns = [f"{name}{part}" for name in names.values() for part in ("", "_low", "_high")]
    rows: list[tuple[Any, ...]] = []
    for collection in results.collections:
        for method in collection.grown:
            for judged, outcome in (("all", collection.outcomes[method]), ("earlier", collection.grown[method])):
                figures = results.summary(outcome)
                rows.append((collection.name, method, judged, *(x for name in names for x in figures[name])))
    shares = [
        f"{collection.name}: {100 * collection.world.earlier.share:.0f}% of the documents are earlier"
        + (
            f" ({collection.world.earlier.undated:,} without a date among them)"
            if collection.world.earlier.undated
            else ""
        )
        for collection in results.collections
        if collection.world.earlier is not None
    ]
    result.add(
        "tableC",
        "judging all documents, or only those up to the median date before the later ones come",
        ["collection", "method", "judged_documents", *columns],
        rows,
        note=f"{'; '.join(shares)}. Where only earlier ones are judged, two systems are judged on rankings of those, "
        "and pairs are compared on whole rankings.",
        layout=[
            Column("Collection", "collection"),
            Column("Method", "method"),
            Column("Documents judged", "judged_documents"),
            Column("Mean W", "W", 2),
            Column("Median judged", "median_judged", 0),
            Column("Mean τ", "mean_tau", 3),
        ],
    )
