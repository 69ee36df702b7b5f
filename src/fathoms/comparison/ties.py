"""Who has ties and contradictions, and what could they change? What `fathoms ties` does.

The counts, the limits and the question are those of Yang, Moffat and Turpin, "How Precise Does Document Scoring Need to
Be?" (YMT-ties), sections 2 and 3.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.comparison.correlation import TIE
from fathoms.data.arrays import frame_of_rows
from fathoms.data.files import check_folder, read_bytes, whole_file
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Names, Run, Runs, scan_runs
from fathoms.errors import FathomsError, FathomsWarning
from fathoms.evidence.align import Aligned, Alignment
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.order import (
    Precision,
    Rows,
    Ties,
    canonical,
    compared,
    contradicting,
    default_precision,
    in_file_order,
    order_rows,
    rank_ties,
    risen,
    tied_with_above,
    upside_down,
)
from fathoms.experiment.evaluate import (
    DEFAULT_MEASURES,
    Options,
    aggregate,
    alignment,
    prepare_measures,
    some,
    topic_notes,
)
from fathoms.measures.base import Measure
from fathoms.parallel import parallel_map
from fathoms.text import pluralise

if TYPE_CHECKING:
    import polars as pl

# -- what is wrong with a file ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anomalies:
    """What a run's scores and ranks leave open or say against each other, counted over all of its documents."""

    run: str
    topics: int
    documents: int
    tied: int  # documents with the score of the one above them in score order (Table 1)
    tied_topics: int
    tied_float32: int  # the same for scores as trec_eval 9 reads them
    tied_above: int  # tied documents among the first `depth` of their topic
    across: int  # topics in which a group of tied documents goes across place `depth`
    risen: int  # lines with a greater score than the line above ("254 instances")
    risen_topics: int
    exponents: int | None  # of the documents out of order, those where an exponent was overlooked; None: no text
    contradictions: int  # neighbours in score order whose ranks say the opposite (Table 1)
    contradicted_topics: int
    rank_ties: int  # documents with a rank that their topic had already
    upside_down: bool  # scores rise with rank nearly everywhere


def anomalies(run: Run, precision: Precision = "float64", depth: int = 10) -> Anomalies:
    """Count a run's anomalies; scores are tied as numbers of the given precision."""
    rises, wrong = risen(run), contradicting(run)
    order = np.lexsort((-run.scores, run.topic)) if len(rises) else in_file_order(run)
    topic, scores = run.topic[order], run.scores[order]
    tied, single = (tied_with_above(compared(scores, kind), topic) for kind in (precision, "float32"))
    place = np.arange(len(run)) - np.searchsorted(topic, np.arange(len(run.topics)))[topic] + 1
    return Anomalies(
        run=run.name,
        topics=len(run.topics),
        documents=len(run),
        tied=int(tied.sum()),
        tied_topics=_different(topic[tied]),
        tied_float32=int(single.sum()),
        tied_above=int((tied & (place <= depth)).sum()),
        across=int((tied & (place == depth + 1)).sum()),
        risen=len(rises),
        risen_topics=_different(run.topic[rises]),
        exponents=overlooked_exponents(run, rises),
        contradictions=len(wrong),
        contradicted_topics=_different(run.topic[wrong]),
        rank_ties=len(rank_ties(run)),
        upside_down=len(wrong) > 0 and upside_down(run),
    )


def _different(numbers: NDArray[np.int32]) -> int:
    return len(set(numbers.tolist()))


def overlooked_exponents(run: Run, rises: Rows) -> int | None:
    """Documents that stand where their score would belong had it no exponent: `-7.763e-05` after `-1.37`.

    Our reading of the paper's example. Counted is a score written with an exponent if, in the order of the file, some
    score above it is less or some below it greater; and if, with every exponent of the topic left out, none is. A run
    keeps numbers only, so the file is read once more, and only where scores rise. None where there is no text to read.
    """
    if not len(rises):
        return 0
    if not os.path.isfile(run.source):
        return None
    affected = np.zeros(len(run.topics), dtype=bool)
    affected[run.topic[rises]] = True
    rows = in_file_order(run)
    rows = rows[affected[run.topic[rows]]]
    written = _written_scores(run.source)
    topics = [topic.encode(errors="surrogateescape") for topic in run.topics]
    keys = zip(run.topic[rows].tolist(), run.documents[rows].tolist(), strict=True)
    texts = [written.get((topics[topic], document)) for topic, document in keys]
    if None in texts:
        return None
    halves = [text.lower().partition(b"e") for text in texts if text is not None]
    has_exponent = np.array([bool(e) for _, e, _ in halves])
    bare = run.scores[rows].copy()
    bare[has_exponent] = [float(mantissa) for mantissa, e, _ in halves if e]
    count = 0
    for topic in np.flatnonzero(affected):
        here = run.topic[rows] == topic
        wrong = has_exponent[here] & ~_in_place(run.scores[rows][here]) & _in_place(bare[here])
        count += int(wrong.sum())
    return count


def _written_scores(source: str) -> dict[tuple[bytes, bytes], bytes]:
    """The score of each topic and document as it is written, the first one where there are two."""
    found: dict[tuple[bytes, bytes], bytes] = {}
    for line in read_bytes(source).removeprefix(b"\xef\xbb\xbf").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6:
            found.setdefault((fields[0], fields[2]), fields[4])
    return found


def _in_place(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether no score above is less and none below greater."""
    least_above = np.append(np.inf, np.minimum.accumulate(scores)[:-1])
    most_below = np.append(np.maximum.accumulate(scores[::-1])[-2::-1], -np.inf)
    return (scores <= least_above) & (scores >= most_below)


@dataclass(frozen=True)
class Affected:
    """How many systems, system-topic combinations and documents have something, of how many (a row of Table 1)."""

    kind: str
    systems: int
    system_topics: int
    documents: int
    of: tuple[int, int, int]

    @property
    def percent(self) -> tuple[float, float, float]:
        counts = (self.systems, self.system_topics, self.documents)
        systems, system_topics, documents = (
            100 * n / total if total else 0.0 for n, total in zip(counts, self.of, strict=True)
        )
        return systems, system_topics, documents


def affected(found: Sequence[Anomalies]) -> tuple[Affected, Affected]:
    """YMT-ties Table 1: tied scores, and rank/score contradictions."""
    of = (len(found), sum(one.topics for one in found), sum(one.documents for one in found))
    return (
        Affected(
            "tied scores",
            sum(one.tied > 0 for one in found),
            sum(one.tied_topics for one in found),
            sum(one.tied for one in found),
            of,
        ),
        Affected(
            "rank/score contradictions",
            sum(one.contradictions > 0 for one in found),
            sum(one.contradicted_topics for one in found),
            sum(one.contradictions for one in found),
            of,
        ),
    )


# -- what it could change --------------------------------------------------------------------------------------

RULES = ("trec", "file_order", "score_rank", "expected")  # ways to break ties that people use
COLUMNS = (*RULES, "pessimistic", "optimistic", "joint_low", "joint_high")
Verdict = Literal["same", "changes", "could change"]
Kind = Literal["runs", "scores", "pairs", "places"]
KINDS: dict[Kind, tuple[str, ...]] = {
    "runs": tuple(one.name for one in fields(Anomalies)),
    "scores": ("run", "measure", *COLUMNS),
    "pairs": ("run_a", "run_b", "measure", *(f"diff_{rule}" for rule in RULES), "diff_low", "diff_high", "verdict"),
    "places": ("run", "measure", *RULES, "best", "worst"),
}
WORDS = ("run", "run_a", "run_b", "measure", "verdict")


@dataclass(frozen=True, eq=False)
class Means:
    """One measure's means over topics: an array over the runs for each of COLUMNS, nan where there is no value.

    The orders of two runs have nothing to do with each other, so a difference ranges from one's pessimistic to the
    other's optimistic mean, and both ends are reached.
    """

    columns: dict[str, Floats]

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        return np.triu_indices(len(self.columns["trec"]), 1)

    def differences(self, rule: str) -> Floats:
        a, b = self.pairs
        return self.columns[rule][a] - self.columns[rule][b]

    def difference_range(self) -> tuple[Floats, Floats]:
        a, b = self.pairs
        low, high = self.columns["pessimistic"], self.columns["optimistic"]
        return low[a] - high[b], high[a] - low[b]

    def verdicts(self) -> tuple[Bools, Bools]:
        """For each pair: do the rules differ on which run is ahead? And if not, do some orders of tied documents?"""
        signs = np.stack([_sign(self.differences(rule)) for rule in RULES])
        known = ~np.isnan(signs)
        changes = (known & (signs != signs[0])).any(axis=0)
        low, high = self.difference_range()
        return changes, ~changes & ((_sign(low) != signs[0]) | (_sign(high) != signs[0]))

    def places(self, rule: str) -> Ints | None:
        """Each run's place, 1 for the best and equal means sharing one; None if a run has no value under this rule."""
        means = self.columns[rule]
        return None if np.isnan(means).any() else _ahead(means, means) + 1

    def extreme_places(self) -> tuple[Ints, Ints]:
        """The best and the worst place each run could take, every run's tied documents in some order."""
        low, high = self.columns["pessimistic"], self.columns["optimistic"]
        # For its worst place all others that could be ahead are; itself, whose best is ahead of its worst, is not.
        return _ahead(low, high) + 1, _ahead(high, low) - (high > low + TIE) + 1


def _sign(differences: Floats) -> Floats:
    return np.where(np.abs(differences) < TIE, 0.0, np.sign(differences))


def _ahead(theirs: Floats, own: Floats) -> Ints:
    """How many of theirs are greater than each of our own."""
    return len(theirs) - np.searchsorted(np.sort(theirs), own + TIE, side="right")


@dataclass(frozen=True, eq=False)
class TieReport:
    """Anomalies of all runs, and for each measure what the order of tied documents does to scores, pairs and places."""

    measures: list[Measure]
    found: list[Anomalies]
    means: dict[Measure, Means]
    depth: int  # place that `tied_above` and `across` speak of
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [one.run for one in self.found]

    def rows(self, kind: Kind) -> Iterator[tuple[Any, ...]]:
        """The rows of one of KINDS."""
        if kind == "runs":
            yield from map(astuple, self.found)
            return
        for measure in self.measures:
            yield from getattr(self, f"_{kind}")(measure)

    def frame(self, kind: Kind) -> pl.DataFrame:
        """One of KINDS as a polars frame, whole numbers as such."""
        import polars as pl

        frame = frame_of_rows(KINDS[kind], list(self.rows(kind)), WORDS)
        if kind in ("scores", "pairs"):
            return frame
        whole = frame.with_columns(pl.col(pl.Float64).cast(pl.Int64))
        return whole.cast({"upside_down": pl.Boolean}) if kind == "runs" else whole

    @property
    def anomalies(self) -> pl.DataFrame:
        return self.frame("runs")

    @property
    def scores(self) -> pl.DataFrame:
        return self.frame("scores")

    @property
    def pairs(self) -> pl.DataFrame:
        return self.frame("pairs")

    @property
    def places(self) -> pl.DataFrame:
        return self.frame("places")

    def _scores(self, measure: Measure) -> Iterator[tuple[Any, ...]]:
        columns = [_values(self.means[measure].columns[name]) for name in COLUMNS]
        for run, *values in zip(self.names, *columns, strict=True):
            yield (run, measure.name, *values)

    def _pairs(self, measure: Measure) -> Iterator[tuple[Any, ...]]:
        means, names = self.means[measure], self.names
        changes, could = means.verdicts()
        columns = [_values(d) for d in (*map(means.differences, RULES), *means.difference_range())]
        verdicts = np.select([changes, could], ["changes", "could change"], "same").tolist()
        for a, b, *rest in zip(*means.pairs, *columns, verdicts, strict=True):
            yield (names[a], names[b], measure.name, *rest)

    def _places(self, measure: Measure) -> Iterator[tuple[Any, ...]]:
        means = self.means[measure]
        taken = [means.places(rule) for rule in RULES]
        columns = [[None] * len(self.names) if p is None else p.tolist() for p in (*taken, *means.extreme_places())]
        for run, *places in zip(self.names, *columns, strict=True):
            yield (run, measure.name, *places)


def _values(numbers: Floats) -> list[float | None]:
    return [None if number != number else number for number in numbers.tolist()]


def tie_analysis(
    qrels: Qrels,
    runs: Runs,
    measures: list[Measure],
    options: Options,
    *,
    depth: int | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> TieReport:
    """Look at each run on its own, a few at a time; `depth` defaults to the deepest cut-off, or 10."""
    if not runs:
        raise FathomsError("no run given")
    options = replace(options, ties="trec")
    if depth is None:
        depth = max((int(m.k) for m in measures if m.k is not None and m.cutoff != "recall"), default=10)
    notes = list(qrels.notes)
    align = alignment(qrels, runs, measures, options, notes)

    def one(name: str) -> tuple[Anomalies, dict[Measure, dict[str, float]], Aligned, list[str]]:
        run = runs[name]
        found = anomalies(run, options.precision or "float64", depth)
        aligned = align(run)
        means = _means(run, align, aligned.evidence, measures)
        without = replace(aligned, evidence=aligned.evidence.select([]))  # the names are all that is still needed
        return found, means, without, run.notes

    results = parallel_map(one, runs, workers=options.workers, scheduler=options.scheduler, progress=progress)
    notes += [note for _, _, _, of_run in results for note in of_run]
    notes += topic_notes([aligned for _, _, aligned, _ in results], qrels, options)
    return TieReport(
        measures,
        [found for found, _, _, _ in results],
        {
            m: Means({name: np.array([means[m][name] for _, means, _, _ in results]) for name in COLUMNS})
            for m in measures
        },
        depth,
        notes,
    )


def _means(run: Run, align: Alignment, evidence: Evidence, measures: list[Measure]) -> dict[Measure, dict[str, float]]:
    """Each measure's mean under each rule and at each limit; nan where there is none."""
    others = _other_orders(run, align, evidence)
    chunks = list(evidence.chunks())
    means = {}
    for m in measures:
        scores = [m.scores(chunk) for chunk in chunks]
        joint = [m.joint_range(chunk, score) for chunk, score in zip(chunks, scores, strict=True)]
        score = _joined([s.score for s in scores])
        topics: dict[str, Floats | None] = {
            "trec": score,
            "expected": _joined([s.tie_expected for s in scores]),
            "pessimistic": _joined([s.tie_low for s in scores]),
            "optimistic": _joined([s.tie_high for s in scores]),
            "joint_low": _joined([low for low, _ in joint]),
            "joint_high": _joined([high for _, high in joint]),
        }
        topics |= {rule: _reordered(m, evidence, other, score) for rule, other in others.items()}
        mean = {name: aggregate(m, topics.get(name)) for name in COLUMNS}
        if m.aggregate == "geometric" and mean["pessimistic"] != mean["optimistic"]:
            mean["expected"] = None  # the mean of a geometric mean is not that of its topics' means
        means[m] = {name: np.nan if value is None else value for name, value in mean.items()}
    return means


def _joined(parts: list[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _other_orders(run: Run, align: Alignment, evidence: Evidence) -> dict[str, Evidence]:
    """The evidence in the order of the other rules: the same documents, so nothing has to be looked up again."""
    policies: dict[str, Ties] = {"file_order": "run"}
    if run.ranks is not None and not np.isnan(run.ranks).any():
        policies["score_rank"] = "score-rank"
    of_topic = np.array([align.qrels.index.get(topic, -1) for topic in run.topics], dtype=np.int32)
    topic = of_topic[run.topic]
    rows = np.flatnonzero(topic >= 0)

    def ordered(policy: Ties) -> Rows:
        return order_rows(run, rows, topic[rows], policy, align.precision or default_precision(policy))[0]

    held = np.arange(evidence.width) < evidence.lengths[:, None]
    code = np.empty(len(run), dtype=evidence.codes.dtype)
    code[ordered("trec")] = evidence.codes[held]
    others = {}
    for rule, policy in policies.items():
        codes = evidence.codes.copy()
        codes[held] = code[ordered(policy)]
        others[rule] = replace(evidence, codes=codes, _cache={})
    return others


def _reordered(measure: Measure, evidence: Evidence, other: Evidence, score: Floats | None) -> Floats | None:
    """Scores in another order, computed only for the topics in which it is another."""
    rows = np.flatnonzero((evidence.codes != other.codes).any(axis=1))
    if score is None or not len(rows):
        return score
    scores = score.copy()
    scores[rows] = measure.value(measure.prepared(other.select(rows)))
    return scores


def ties(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = DEFAULT_MEASURES,
    *,
    depth: int | None = None,
    score_precision: Precision | None = None,
    universe: str | float | None = None,
    pooled: Sequence[str] | None = None,
    lenient: bool = False,
    junk: float | None = None,
    names: Names = "file",
    workers: int = 2,
    scheduler: str | None = None,
    seed: int = 0,
) -> TieReport:
    """Who has ties and contradictions, and what they could change.

    The report has four polars frames: `anomalies` of each run, `scores` under each rule and at the limits, `pairs` of
    runs and whether the rule decides who is ahead, and the `places` each run takes and could take.

    >>> import fathoms as fm
    >>> report = fm.ties({"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 1.0}}, "RR")
    >>> report.scores.select("trec", "expected", "pessimistic", "optimistic").row(0)
    (0.5, 0.75, 0.5, 1.0)
    """
    report = tie_analysis(
        read_qrels(qrels, lenient=lenient, junk=junk),
        scan_runs(runs, names=names, lenient=lenient),
        prepare_measures(measures, universe=universe),
        Options("trec", score_precision, "all", None if pooled is None else tuple(pooled), workers, seed, scheduler),
        depth=depth,
    )
    for note in report.notes:
        warnings.warn(note, FathomsWarning, stacklevel=2)
    return report


def sentences(report: TieReport) -> list[str]:
    """What there is to know, first of the files and then of each measure."""
    return [*_of_files(report), *(_of_measure(report, measure) for measure in report.measures)]


def _of_files(report: TieReport) -> list[str]:
    found, k = report.found, report.depth
    tied, wrong = affected(found)

    def shares(one: Affected) -> str:
        systems, system_topics, _ = one.percent
        return (
            f"in {one.system_topics:,} of {one.of[1]:,} topics of the runs ({system_topics:.1f}%) and {one.systems} of "
            f"{pluralise(one.of[0], 'run')} ({systems:.1f}%)"
        )

    total = {name: sum(getattr(one, name) for one in found) for name in ("tied_float32", "tied_above", "across")}
    told = [
        f"Ties: {tied.documents:,} of {tied.of[2]:,} documents ({tied.percent[2]:.1f}%) have the score of the one "
        f"above, {shares(tied)}. {total['tied_above']:,} of them are in a top {k}; in {total['across']:,} topics tied "
        f"documents stand on both sides of place {k}. As trec_eval reads scores, {total['tied_float32']:,} are tied."
        if total["tied_float32"]
        else f"Ties: none in {pluralise(tied.of[2], 'document')}."
    ]
    if wrong.documents:
        upside_down = [one.run for one in found if one.upside_down]
        also = f" Probably upside down: {some(upside_down)}." if upside_down else ""
        told.append(
            f"Contradictions: ranks contradict scores at {wrong.documents:,} documents ({wrong.percent[2]:.1f}%), "
            f"{shares(wrong)}.{also}"
        )
    rising = [one for one in found if one.risen]
    if rising:
        exponents = sum(one.exponents or 0 for one in rising)
        also = f"; {exponents:,} documents stand where their score without its exponent belongs" if exponents else ""
        told.append(
            f"File order: scores rise from one line to the next in {sum(one.risen for one in rising):,} places of "
            f"{some([one.run for one in rising])}{also}. Orders of tied documents do not include such a file's."
        )
    same_ranks = [one.run for one in found if one.rank_ties]
    if same_ranks:
        told.append(f"Rank ties: some documents of a topic have the same rank in {some(same_ranks)}.")
    return told


def _of_measure(report: TieReport, measure: Measure) -> str:
    means = report.means[measure]
    width = means.columns["optimistic"] - means.columns["pessimistic"]
    moved = int((width > TIE).sum())
    if not moved and not means.verdicts()[0].any():
        return f"{measure.name}: no score depends on the order of tied documents."
    widest = int(np.argmax(width))
    told = [
        f"{measure.name}: the order of tied documents changes {moved} of {pluralise(len(width), 'score')}, by up to "
        f"{width[widest]:.4f} ({report.names[widest]})."
    ]
    changes, could = means.verdicts()
    if changes.any() or could.any():
        told.append(
            f"Of {pluralise(len(changes), 'pair')} of runs the rule decides {changes.sum():,}, and some order of tied "
            f"documents would turn {could.sum():,} more."
        )
    elif len(changes):
        told.append("Which of two runs is ahead does not depend on it.")
    best, worst = means.extreme_places()
    taken = np.stack([places for places in map(means.places, RULES) if places is not None])
    differ, movable = int((np.ptp(taken, axis=0) > 0).sum()), int((worst > best).sum())
    if differ or movable:
        far = int(np.argmax(worst - best))
        told.append(
            f"{pluralise(differ, 'run')} {'takes' if differ == 1 else 'take'} another place under another rule, and "
            f"{movable} could take several, {report.names[far]} from {best[far]} to {worst[far]}."
        )
    return " ".join(told)


# -- runs that everybody reads alike ---------------------------------------------------------------------------


def fix_runs(
    runs: Any,
    folder: str | os.PathLike[str],
    ties: Ties = "trec",
    precision: Precision | None = None,
    *,
    keep: Sequence[str | os.PathLike[str]] = (),
) -> list[Path]:
    """Write each run as `folder/<name>.run` in the policy's order, with ranks and scores that leave no choice.

    No file that a run was read from, or that `keep` names, is written on.
    """
    if ties == "expected":
        raise FathomsError("`expected` is a mean over orders and no order; choose trec, run, rank or score-rank")
    check_folder(folder)
    given = scan_runs(runs)
    targets = {name: Path(folder) / f"{name.replace(os.sep, '_')}.run" for name in given}
    if len(set(targets.values())) < len(targets):
        raise FathomsError("two of the runs would be written to the same file; give them names that differ")
    if any(target.exists() for target in targets.values()):
        sources = {os.path.realpath(path) for path in (*keep, *(given[name].source for name in given))}
        for target in targets.values():
            if os.path.realpath(target) in sources:
                raise FathomsError(f"{target} is one of the files that were read; choose another folder to write to")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, target in targets.items():
        text = canonical(given[name], ties, precision or default_precision(ties)).to_bytes()
        with whole_file(target) as path:
            path.write_bytes(text)
    return list(targets.values())
