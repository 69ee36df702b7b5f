"""Can a collection be trusted, and reused for systems that did not contribute to its pool? What `fathoms audit` does.

The checks are those of Lu, Moffat and Culpepper, "The Effect of Pooling and Evaluation Depth on IR Metrics"
(LMC-depth): how fast pooling finds relevant documents (Fig. 1), what it leaves unjudged (Table 4), what becomes of a
system if it, or all of its team, had not contributed (Table 5), and the guidelines of section 5.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms import __version__
from fathoms.comparison.agreement import Evaluated, agreement
from fathoms.comparison.correlation import TIE, correlation
from fathoms.data.arrays import frame_of_rows
from fathoms.data.qrels import JUDGED, PADDING, Qrels, read_qrels
from fathoms.data.runs import Names, Runs, scan_runs
from fathoms.errors import FathomsError, FathomsWarning
from fathoms.estimate.predict import pooled_depth
from fathoms.evidence.align import Aligned, Alignment
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.order import Precision, Ties
from fathoms.evidence.pool import least_depths, with_judgments
from fathoms.experiment.evaluate import Options, aggregate, prepare_measures
from fathoms.measures.base import Measure
from fathoms.measures.parse import TREC_EVAL, trec_eval_name
from fathoms.parallel import parallel_map
from fathoms.text import pluralise

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("section", "item", "measure", "value", "spread")
MEASURES = ("AP(variant=b)@{d}", "nDCG@{d}", "RBP(p=0.8)@{d}", "RBP(p=0.95)@{d}")  # those of Table 5, with k = d
SHARE_DEPTHS = (5, 10, 20, 50, 100, 1000)
STEPS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000)

# LMC-depth section 2: recall-based measures need R or an ideal ranking, utility-based ones only what the user sees.
RECALL_BASED = ("AP", "GMAP", "nDCG", "Q", "nERR", "R", "Rprec", "Bpref", "infAP", "SetR", "SetF", "IPrec")
UTILITY_BASED = ("P", "RBP", "ERR", "RR", "DCG", "SDCG", "INST", "Success", "SetP")
STANDARD = ("P", "ERR", "RBP", "AP", "nDCG", "Q")  # LMC-depth Table 2; those of trec_eval are standard too
STANDARD_DEPTHS = (1, 5, 10, 15, 20, 30, 100, 200, 500, 1000)  # trec_eval's, and the first rank

SAME_ORDER = 0.9  # Kendall's tau from which on two orders of systems are held to be equivalent (section 3)
FEW_INVERSIONS = 0.01  # "very close to zero" (section 4, of newswire), against more than 0.05 for ClueWeb
ENOUGH_JUDGED = 0.95
FEW_LEFT, MANY_LEFT = 0.05, 0.2  # relevant share of the documents last pooled; a fifth is what ClueWeb still had
# Mean change in percent, from Table 5: at most as on TREC 8, at least as on ClueWeb.
LIKE_TREC8 = {"run": 2.0, "group": 5.0}
LIKE_CLUEWEB = {"run": 12.0, "group": 30.0}

Status = Literal["pass", "warn", "not applicable"]


# -- what is found --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """The documents that a pool of depth `deep` has and one of depth `shallow` has not (Fig. 1, right)."""

    shallow: int
    deep: int
    judged: int
    relevant: int

    @property
    def rate(self) -> float | None:
        return self.relevant / self.judged if self.judged else None


@dataclass(frozen=True)
class Spread:
    """A mean and its standard deviation."""

    mean: float
    deviation: float

    @staticmethod
    def of(values: Iterable[float] | NDArray[Any]) -> Spread | None:
        array = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
        return Spread(float(array.mean()), float(array.std())) if array.size else None


@dataclass(frozen=True)
class Pooling:
    """A row of Table 4; without depth it is the one of all judgments."""

    depth: int | None
    rel_in_pool: Spread | None
    rank_unjudged: Spread | None
    rel_past: Spread | None


@dataclass(frozen=True)
class LeftOut:
    """What becomes of one run's mean score and rank once it, or its whole group, had not contributed."""

    unit: str  # the run, or the group
    run: str
    measure: str
    removed: int  # judgments that only the unit had brought
    full: float
    without: float
    rank_full: int
    rank_without: int

    @property
    def percent(self) -> float | None:
        if self.full == 0:
            return 0.0 if self.without == 0 else None
        return 100 * (self.without - self.full) / self.full

    @property
    def rank_change(self) -> int:
        return abs(self.rank_without - self.rank_full)


@dataclass(frozen=True)
class Extended:
    """A measure that reads below the pool, against itself cut at the pool's depth."""

    measure: str
    k: int | None
    judged: float  # share of the contributing runs' documents below the pool's depth that are judged all the same
    tau: float | None = None  # None where the measure takes no cut-off
    coverage: float | None = None
    inversion: float | None = None

    @property
    def amenable(self) -> bool:
        return self.tau is not None and self.tau >= SAME_ORDER and (self.inversion or 0.0) <= FEW_INVERSIONS


@dataclass(frozen=True)
class Guideline:
    number: int
    name: str
    status: Status
    evidence: str


@dataclass(frozen=True, eq=False)
class Audit:
    """All findings on a collection."""

    qrels: Qrels
    measures: list[Measure]
    depth: int
    depth_asked: bool
    contributing: list[str]
    others: list[str]
    groups: dict[str, list[str]]  # contributing runs by team; empty where teams are not known
    in_pool: int  # judgments in the pool of that depth
    found: list[Spread]  # relevant documents a topic at depth 1, 2, ...
    steps: list[Step]
    pooling: list[Pooling]
    run_out: list[LeftOut]
    group_out: list[LeftOut]
    shares: dict[str, dict[int, float | None]]  # judged share of each run by depth
    extended: list[Extended]
    guidelines: list[Guideline]
    notes: list[str] = field(default_factory=list)

    def share(self, names: Iterable[str], k: int) -> Spread | None:
        """The judged share of the top k, mean over some of the runs."""
        found = (self.shares[name][k] for name in names)
        return Spread.of([share for share in found if share is not None])

    def rows(self) -> list[tuple[str, str, str, float | str | None, float | None]]:
        """Everything, one row a figure, as in COLUMNS; `value` is text for guidelines and their evidence."""
        rows: list[tuple[str, str, str, float | str | None, float | None]] = [
            ("collection", item, "", value, None)
            for item, value in (
                ("topics", float(len(self.qrels.topics))),
                ("judgments", float((self.qrels.grades >= 0).sum())),
                ("relevant", float((self.qrels.grades >= 1).sum())),
                ("contributing runs", float(len(self.contributing))),
                ("other runs", float(len(self.others))),
                ("groups", float(len(self.groups))),
                ("pool depth", float(self.depth)),
                ("judgments in the pool", float(self.in_pool)),
            )
        ]
        rows += [("found", str(d), "relevant", s.mean, s.deviation) for d, s in enumerate(self.found, 1)]
        for step in self.steps:
            span = str(step.deep) if step.deep == step.shallow + 1 else f"{step.shallow + 1}-{step.deep}"
            rows += [("rate", span, "judged", float(step.judged), None), ("rate", span, "share", step.rate, None)]
        for pool in self.pooling:
            depth = "all" if pool.depth is None else str(pool.depth)
            for name, spread in (
                ("RelInPool", pool.rel_in_pool),
                ("RankUnj", pool.rank_unjudged),
                ("NumRelPast", pool.rel_past),
            ):
                if spread is not None:
                    rows.append(("pooling", depth, name, spread.mean, spread.deviation))
        for kind, left in (("run", self.run_out), ("group", self.group_out)):
            for one_change in changes(left):
                name, percent, moved = one_change.measure, one_change.percent, one_change.rank
                if percent is not None:
                    rows.append((f"{kind}-out-percent", "all", name, percent.mean, percent.deviation))
                    rows.append((f"{kind}-out-percent", "median", name, one_change.median, None))
                rows.append((f"{kind}-out-rank", "all", name, moved.mean, moved.deviation))
            for one in left:
                rows.append((f"{kind}-out-percent", one.run, one.measure, one.percent, None))
                rows.append((f"{kind}-out-rank", one.run, one.measure, float(one.rank_change), None))
        for name, shares in self.shares.items():
            rows += [("judged-share", name, f"Judged@{k}", share, None) for k, share in shares.items()]
        for beyond in self.extended:
            for item, value in (
                ("judged below the pool", beyond.judged),
                ("tau", beyond.tau),
                ("coverage", beyond.coverage),
                ("inversion", beyond.inversion),
            ):
                rows.append(("extended", item, beyond.measure, value, None))
        for guideline in self.guidelines:
            item = f"{guideline.number} {guideline.name}"
            rows += [
                ("guideline", item, "", guideline.status, None),
                ("evidence", item, "", guideline.evidence, None),
            ]
        return rows

    def to_frame(self) -> pl.DataFrame:
        """The figures as a frame; guidelines, which are words, are in `guidelines`."""
        rows = [row for row in self.rows() if not isinstance(row[3], str)]
        return frame_of_rows(COLUMNS, rows, COLUMNS[:3])


@dataclass(frozen=True)
class Change:
    """A column of Table 5: mean change in percent and mean absolute change of rank over the runs left out.

    The median is there because a few bad runs, of which nearly every document is new, make most of the mean.
    """

    measure: str
    percent: Spread | None
    median: float | None
    rank: Spread


def changes(left: Sequence[LeftOut]) -> list[Change]:
    """One for each measure."""
    found = []
    for measure in dict.fromkeys(one.measure for one in left):
        chosen = [one for one in left if one.measure == measure]
        percents = [one.percent for one in chosen if one.percent is not None]
        moved = Spread.of([float(one.rank_change) for one in chosen])
        assert moved is not None
        found.append(Change(measure, Spread.of(percents), float(np.median(percents)) if percents else None, moved))
    return found


def found_by_depth(qrels: Qrels, depths: NDArray[np.int32], depth: int) -> tuple[list[Spread], list[Step]]:
    """Relevant documents a topic at each depth, and how many of those judged last are relevant (Fig. 1)."""
    relevant = qrels.grades >= 1
    found = []
    for d in range(1, depth + 1):
        spread = Spread.of(np.bincount(qrels.topic[relevant & (depths <= d)], minlength=len(qrels.topics)))
        assert spread is not None
        found.append(spread)
    steps = []
    for shallow, deep in pairwise([0, *(d for d in STEPS if d < depth), depth]):
        new = (depths > shallow) & (depths <= deep) & (qrels.grades >= 0)
        steps.append(Step(shallow, deep, int(new.sum()), int((new & relevant).sum())))
    return found, steps


def pooling_outcomes(
    qrels: Qrels, aligned: Sequence[Aligned], depths: NDArray[np.int32], at: Sequence[int]
) -> list[Pooling]:
    """Table 4: what pools of some depths hold of the contributing runs, over all runs and topics; last, all judgments.

    A run without unjudged documents has its first one just past its end; topics a run lacks do not count there.
    """
    rows = []
    for depth in (*at, None):
        kept = np.ones(len(qrels), dtype=bool) if depth is None else depths <= depth
        relevant = qrels.counts if depth is None else qrels.count(kept)
        R = relevant[:, qrels.levels >= 1].sum(axis=1)
        inside, first = [], []
        for one in aligned:
            evidence = with_judgments(one, qrels, kept)
            if depth is not None:
                codes = evidence.codes[:, :depth]
                inside.append(((codes >= JUDGED) & _is_relevant(qrels, codes)).sum(axis=1))
            first.append(first_unjudged(evidence)[evidence.lengths > 0])
        held = np.array(inside)
        rows.append(
            Pooling(
                depth,
                None if depth is None else Spread.of(held),
                Spread.of(np.concatenate(first)),
                None if depth is None else Spread.of(R - held),
            )
        )
    return rows


def first_unjudged(evidence: Evidence) -> Ints:
    """The rank of the first unjudged document of each topic; the one past the end where all are judged."""
    unjudged = evidence.unjudged
    return np.where(unjudged.any(axis=1), unjudged.argmax(axis=1), evidence.lengths) + 1


def _is_relevant(qrels: Qrels, codes: NDArray[np.int16]) -> Bools:
    return np.concatenate([np.zeros(JUDGED, dtype=bool), qrels.levels >= 1])[codes]


def judged_shares(evidence: Evidence) -> dict[int, float | None]:
    """The share of a run's top k that is judged, of what it has there."""
    shares: dict[int, float | None] = {}
    for k in SHARE_DEPTHS:
        top = evidence.codes[:, :k]
        retrieved = int((top != PADDING).sum())
        shares[k] = float((top >= JUDGED).sum() / retrieved) if retrieved else None
    return shares


# -- leaving out ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Contributions:
    """The judgments of a pool, and which of them only one unit (a run, or a group of runs) has brought."""

    pool: Bools
    sole: NDArray[np.int32]  # the number of the only unit that has the document, -1 where there are more or none
    units: list[str]

    def of(self, unit: str) -> Bools:
        return self.sole == self.units.index(unit) if unit in self.units else np.zeros(len(self.sole), dtype=bool)


def contributions(
    aligned: Mapping[str, Aligned], units: Mapping[str, Sequence[str]], depth: int, n_judgments: int
) -> Contributions:
    """Who brings which judged document to the pool of that depth: counts and one owner, not a table of all runs."""
    count = np.zeros(n_judgments, dtype=np.int32)
    owner = np.full(n_judgments, -1, dtype=np.int32)
    for number, runs in enumerate(units.values()):
        brought = np.zeros(n_judgments, dtype=bool)
        for run in runs:
            top = _judgment(aligned[run])[:, :depth]
            brought[top[top >= 0]] = True
        count += brought
        owner[brought] = number
    return Contributions(count > 0, np.where(count == 1, owner, np.int32(-1)), list(units))


def leave_out(
    qrels: Qrels,
    aligned: Mapping[str, Aligned],
    brought: Contributions,
    left: Mapping[str, Sequence[str]],
    measures: Sequence[Measure],
    ties: Ties = "trec",
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> list[LeftOut]:
    """Score the runs of each unit again without the judgments that only the unit brought (LMC-depth Table 5).

    All other runs keep their scores from the whole pool, and ranks are among all of `aligned`.
    """
    place = {name: i for i, name in enumerate(aligned)}

    def scored(task: tuple[str, str | None]) -> list[float]:
        """The run's means under the pool, without what only the unit brought."""
        run, unit = task
        kept = brought.pool if unit is None else brought.pool & ~brought.of(unit)
        return _means(with_judgments(aligned[run], qrels, kept), measures, ties)

    whole: list[tuple[str, str | None]] = [(run, None) for run in aligned]
    partial: list[tuple[str, str | None]] = [
        (run, unit) for unit, runs in left.items() if brought.of(unit).any() for run in runs
    ]
    means = parallel_map(scored, [*whole, *partial], workers=workers, scheduler=scheduler)
    full = np.array(means[: len(whole)])
    without = dict(zip(partial, means[len(whole) :], strict=True))
    results = []
    for unit, runs in left.items():
        gone = brought.of(unit)
        scores = full.copy()
        for run in runs:
            scores[place[run]] = without.get((run, unit), full[place[run]])
        for run in runs:
            i = place[run]
            before, after = _rank(full, i), _rank(scores, i)
            results += [
                LeftOut(
                    unit,
                    run,
                    measure.name,
                    int(gone.sum()),
                    float(full[i, m]),
                    float(scores[i, m]),
                    int(before[m]),
                    int(after[m]),
                )
                for m, measure in enumerate(measures)
            ]
    return results


def _rank(scores: Floats, i: int) -> Ints:
    """The rank of run i under each measure; runs of equal score share the best rank."""
    return 1 + (scores > scores[i] + TIE).sum(axis=0)


def _means(evidence: Evidence, measures: Sequence[Measure], ties: Ties) -> list[float]:
    return [aggregate(measure, topic_scores(evidence, measure, ties)) or 0.0 for measure in measures]


def topic_scores(evidence: Evidence, measure: Measure, ties: Ties) -> Floats:
    if ties == "expected":
        scores = measure.scores(evidence)
        return scores.score if scores.tie_expected is None else scores.tie_expected
    return measure.value(measure.prepared(evidence))


def _judgment(aligned: Aligned) -> NDArray[np.int32]:
    if aligned.judgment is None:
        raise ValueError("align with trace=True first")
    return aligned.judgment


# -- the guidelines -------------------------------------------------------------------------------------------


class Guide:
    """LMC-depth's seven guidelines (section 5), each turned into a question that the files can answer.

    `evidence` holds every run under the judgments looked at; `in_file_order` the same with ties as in the files.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        depth: int,
        evidence: Mapping[str, Evidence],
        in_file_order: Mapping[str, Evidence],
        contributing: Sequence[str],
        ties: Ties,
    ) -> None:
        self.measures = measures
        self.depth = depth
        self.evidence = evidence
        self.in_file_order = in_file_order
        self.contributing = contributing
        self.others = [name for name in evidence if name not in set(contributing)]
        self.ties = ties
        self.recall = [m for m in measures if type(m).__name__ in RECALL_BASED]
        self.utility = [m for m in measures if type(m).__name__ in UTILITY_BASED]
        self.rated = [*self.recall, *self.utility]  # counts, such as NumRet, compare no systems
        self.extended = [self._extended(m) for m in self.rated if m.cutoff == "recall" or m.k is None or m.k > depth]

    def all(self) -> list[Guideline]:
        checks = (
            ("standard measures and depths", self.standard),
            ("depths fixed in advance", self.fixed),
            ("the computation described", self.described),
            ("ties", self.tied),
            ("extended evaluation", self.deeper),
            ("utility-based measures alongside", self.alongside),
            ("systems that did not contribute", self.outsiders),
        )
        return [Guideline(number, name, *check()) for number, (name, check) in enumerate(checks, 1)]

    def standard(self) -> tuple[Status, str]:
        odd = [
            m.name
            for m in self.rated
            if (type(m).__name__ not in STANDARD and not {type(m).__name__, f"{type(m).__name__}@"} & TREC_EVAL.keys())
            or (m.k is not None and m.cutoff != "recall" and m.k not in STANDARD_DEPTHS)
        ]
        if odd:
            depths = ", ".join(map(str, STANDARD_DEPTHS))
            return "warn", f"Few others report {_list(odd)}; usual depths are {depths}."
        if not self.rated:
            return "not applicable", "No measure that compares systems is asked for."
        return "pass", f"{_list(self.rated)}: the metrics and the depths are those that others report."

    def fixed(self) -> tuple[Status, str]:
        """When a depth was chosen no file can say. Asking for several invites a choice; and does it matter?"""
        if not self.recall:
            return "not applicable", "No recall-based measure is asked for."
        cut = [m for m in self.recall if m.cutoff in ("optional", "required") and m.k is not None]
        without = [m.replace(k=1) for m in cut]
        several = [m.name for m, bare in zip(cut, without, strict=True) if without.count(bare) > 1]
        if several:
            return "warn", f"{_list(several)} are one measure at several depths; choose one before you look at results."
        taus = [(self._tau(m, m.replace(k=int(m.k or 1) // 2)), m) for m in cut if (m.k or 0) >= 2]
        if not taus:
            return "pass", f"{_list(self.recall)} are not cut, so there is no depth to choose."
        tau, measure = min(taus, key=lambda pair: pair[0])
        order = f"against half the depth of {measure.name} the order of the systems has Kendall's tau {tau:.3f}"
        if tau < SAME_ORDER:
            return "warn", f"The depth decides who is ahead ({order}), so it must have been fixed in advance."
        return "pass", f"Each measure has one depth, and it matters little: {order}."

    def described(self) -> tuple[Status, str]:
        """A name must say how a measure was cut off: its variant stands there, or trec_eval defines it."""
        cut = [m for m in self.recall if m.k is not None]
        if not cut:
            return "not applicable", "No truncated recall-based measure is asked for."
        vague = [m for m in cut if "variant" in m.params and m.name == trec_eval_name(m) and "variant" not in m.name]
        if vague:
            # Only a default can be left out of a name.
            full = [f"{m.name} means variant={m.params['variant'].default}" for m in vague]
            return "warn", f"Readers cannot know how it was cut off: {'; '.join(full)}. Say so where you report it."
        said = f"fathoms {__version__}, {_list(self.measures)}, --ties {self.ties}"
        return "pass", f'What to write: "{said}".'

    def tied(self) -> tuple[Status, str]:
        if self.ties == "run":
            return "pass", "Ties keep the order of the run files (--ties run), as the paper suggests."
        names = list(self.evidence)
        before = {m: self._scores(m) for m in self.rated}
        filed = list(self.in_file_order.values())
        after = {m: np.stack([topic_scores(one, m, "run") for one in filed]) for m in self.rated}
        moved = {
            names[i]
            for m in self.rated
            for i in np.flatnonzero(np.abs(before[m] - after[m]).max(axis=1) > TIE).tolist()
        }
        if not moved:
            return "pass", f"The order of the files and --ties {self.ties} give every run the same scores."
        taus = [(_order(before[m].mean(axis=1), after[m].mean(axis=1)), m) for m in self.rated]
        tau, measure = min(taus, key=lambda pair: pair[0])
        return ("pass" if tau >= SAME_ORDER else "warn"), (
            f"{len(moved)} of {len(names)} runs have other scores under --ties {self.ties} than in the order of their "
            f"files, and the two orders of the systems have Kendall's tau {tau:.3f} ({measure.name})."
        )

    def deeper(self) -> tuple[Status, str]:
        """k > d is to be avoided unless the collection has been shown to bear it: Fig. 4 and Table 7, done here."""
        if not self.extended:
            return "pass", f"No measure reads below the depth of the pool, {self.depth}."
        bad = [one for one in self.extended if not one.amenable]
        if not bad:
            worst = min(self.extended, key=lambda one: one.tau or 0.0)
            inverted = max(one.inversion or 0.0 for one in self.extended)
            names = _list([one.measure for one in self.extended])
            return "pass", (
                f"Below the depth of the pool, {self.depth}, the systems stay in order ({names}): Kendall's tau is at "
                f"least {worst.tau:.3f}, and at most {inverted:.1%} of the significant pairs are inverted."
            )
        worst = min(bad, key=lambda one: -1.0 if one.tau is None else one.tau)
        shown = (
            "cannot be cut there"
            if worst.tau is None
            else f"has Kendall's tau {worst.tau:.3f} with itself at that depth, and {worst.inversion:.1%} of the "
            "significant pairs inverted"
        )
        return "warn", (
            f"To be cut at the depth of the pool, {self.depth}: {_list([one.measure for one in bad])}; below it "
            f"{worst.judged:.0%} of the documents are judged, and {worst.measure} {shown}."
        )

    def alongside(self) -> tuple[Status, str]:
        if not self.recall:
            return "not applicable", "No recall-based measure is asked for."
        if not self.utility:
            return (
                "warn",
                f"Nothing stands beside {_list(self.recall)}; add a utility-based measure such as RBP(p=0.8).",
            )
        return "pass", f"Alongside {_list(self.recall)}: {_list(self.utility)}."

    def outsiders(self) -> tuple[Status, str]:
        """How much of such a run is unknown, where that starts, and what it could do to a score: the residual."""
        if not self.others:
            return "not applicable", "All given runs are taken to have contributed to the pool."
        judged = retrieved = 0
        first = []
        for name in self.others:
            evidence = self.evidence[name]
            judged += int((evidence.codes[:, : self.depth] >= JUDGED).sum())
            retrieved += int((evidence.codes[:, : self.depth] != PADDING).sum())
            first.append(first_unjudged(evidence)[evidence.lengths > 0])
        share = judged / max(retrieved, 1)
        rank = Spread.of(np.concatenate(first))
        return ("pass" if share >= ENOUGH_JUDGED else "warn"), (
            f"{share:.1%} of the top {self.depth} of the {pluralise(len(self.others), 'run')} that did not contribute "
            f"is judged; the first unjudged document has mean rank {0.0 if rank is None else rank.mean:.1f}"
            f"{self._residual()}."
        )

    def _residual(self) -> str:
        for measure in (*self.utility, *self.recall):
            if measure.range_is == "none" or measure.needs_all_runs:
                continue
            widths = []
            for name in self.others:
                scores = measure.scores(self.evidence[name])
                if scores.low is not None and scores.high is not None:
                    widths.append(float((scores.high - scores.low).mean()))
            if widths:
                return f"; the range of their {measure.name} is {np.mean(widths):.4f} wide in the mean"
        return ""

    def _scores(self, measure: Measure) -> Floats:
        """[system, topic]"""
        return np.stack([topic_scores(one, measure, self.ties) for one in self.evidence.values()])

    def _tau(self, one: Measure, other: Measure) -> float:
        return _order(self._scores(one).mean(axis=1), self._scores(other).mean(axis=1))

    def _extended(self, measure: Measure) -> Extended:
        below = judged = 0
        stop = None if measure.k is None or measure.cutoff == "recall" else int(measure.k)
        for name in self.contributing:
            codes = self.evidence[name].codes[:, self.depth : stop]
            below += int((codes != PADDING).sum())
            judged += int((codes >= JUDGED).sum())
        share = judged / max(below, 1)
        if measure.cutoff not in ("optional", "required"):
            return Extended(measure.name, stop, share)
        here, deep = self._scores(measure.replace(k=self.depth)), self._scores(measure)
        tau = _order(here.mean(axis=1), deep.mean(axis=1))
        if len(here) < 2 or here.shape[1] < 2:
            return Extended(measure.name, stop, share, tau, 1.0, 0.0)
        compared = agreement(Evaluated.of(here), Evaluated.of(deep))
        return Extended(measure.name, stop, share, tau, compared.coverage, compared.inversion)


def _order(one: Floats, other: Floats) -> float:
    """Kendall's tau between two orders of systems; 1 where they are the same, be they ever so few or tied."""
    return 1.0 if np.allclose(one, other, rtol=0, atol=TIE) or len(one) < 2 else correlation(one, other)


def _list(items: Sequence[Measure | str], most: int = 6) -> str:
    names = [item if isinstance(item, str) else item.name for item in items]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# -- together -------------------------------------------------------------------------------------------------


def run_audit(
    qrels: Qrels,
    runs: Runs,
    measures: Sequence[Any] | None,
    options: Options,
    *,
    groups: Mapping[str, str] | None = None,
    depth: int | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Audit:
    """Audit a collection. Each run is read once and stays in memory, aligned with the judgments.

    Without `depth` the pool is as deep as the contributing runs are judged, and guidelines and judged shares look at
    all judgments; with it, at those that a pool of that depth has.
    """
    notes = list(qrels.notes)
    contributing = _contributing(runs, options, notes)
    prepared = None if measures is None else prepare_measures(list(measures))
    for measure in prepared or ():
        if measure.needs_pool:
            raise FathomsError(
                f"{measure.name} takes R or its ideal from the pool of depth k, which is another one for each run left "
                "out; audit a variant that uses all judgments"
            )
    aligned, in_file_order = _align_all(qrels, runs, options, notes, progress)
    pooled = [aligned[name] for name in contributing]
    d = depth or pooled_depth(one.evidence for one in pooled)
    if d < 1:
        raise FathomsError(
            "the contributing runs are not judged through their first rank, so the pool has no depth to measure; "
            "name them (--pooled FILE) or the depth (--depth D)"
        )
    chosen = prepared or prepare_measures([name.format(d=d) for name in MEASURES])
    depths = least_depths(pooled, len(qrels))
    in_pool = depths <= d
    kept = np.ones(len(qrels), dtype=bool) if depth is None else in_pool
    found, steps = found_by_depth(qrels, depths, d)
    teams = _teams(contributing, groups, notes)
    alone = {name: [name] for name in contributing}
    left = {}
    for kind, units in (("run", alone), ("group", teams)):
        if len(units) == 1:
            notes.append(f"only one {kind} contributed to the pool, so without it there is none: no {kind} is left out")
            units = {}
        brought = contributions(aligned, units, d, len(qrels))
        left[kind] = leave_out(
            qrels, aligned, brought, units, chosen, options.ties, workers=options.workers, scheduler=options.scheduler
        )
    evidence = {name: with_judgments(one, qrels, kept) for name, one in aligned.items()}
    filed = {
        name: with_judgments(in_file_order[name], qrels, kept) if name in in_file_order else evidence[name]
        for name in aligned
    }
    guide = Guide(chosen, d, evidence, filed, contributing, options.ties)
    return Audit(
        qrels=qrels,
        measures=chosen,
        depth=d,
        depth_asked=depth is not None,
        contributing=contributing,
        others=guide.others,
        groups=teams,
        in_pool=int((in_pool & (qrels.grades >= 0)).sum()),
        found=found,
        steps=steps,
        pooling=pooling_outcomes(qrels, pooled, depths, [*([10] if d > 10 else []), d]),
        run_out=left["run"],
        group_out=left["group"],
        shares={name: judged_shares(one) for name, one in evidence.items()},
        extended=guide.extended,
        guidelines=guide.all(),
        notes=notes,
    )


def _contributing(runs: Runs, options: Options, notes: list[str]) -> list[str]:
    if not runs:
        raise FathomsError("no run given")
    if options.pooled is None:
        notes.append(
            "no list of contributing runs was given (--pooled FILE), so all given runs are taken to have contributed "
            "to the pool"
        )
        return list(runs)
    chosen = [name for name in dict.fromkeys(options.pooled) if name in runs]
    if not chosen:
        raise FathomsError(
            f"none of the contributing runs is among the given ones; the list starts with {options.pooled[0]!r}, "
            f"the runs with {next(iter(runs))!r}"
        )
    return chosen


def _align_all(
    qrels: Qrels, runs: Runs, options: Options, notes: list[str], progress: Callable[[str], None]
) -> tuple[dict[str, Aligned], dict[str, Aligned]]:
    """Every run in the order asked for, and those that the order of their file would rank otherwise in that order."""
    align = Alignment(qrels, options.ties, options.precision, trace=True, seed=options.seed)

    def one(name: str) -> tuple[list[str], Aligned, Aligned | None]:
        run = runs[name]
        asked = align(run)
        filed = None if options.ties == "run" else align(run, ties="run")
        same = filed is None or np.array_equal(_judgment(filed), _judgment(asked))
        return run.notes, asked, None if same else filed

    results = parallel_map(one, runs, workers=options.workers, scheduler=options.scheduler, progress=progress)
    found = dict(zip(runs, results, strict=True))
    notes += [note for said, _, _ in found.values() for note in said]
    lacking = [f"{name} ({len(asked.missing)})" for name, (_, asked, _) in found.items() if asked.missing]
    if lacking:
        notes.append(f"topics without documents count 0: {_list(lacking)}")
    return (
        {name: asked for name, (_, asked, _) in found.items()},
        {name: filed for name, (_, _, filed) in found.items() if filed is not None},
    )


def _teams(contributing: Sequence[str], groups: Mapping[str, str] | None, notes: list[str]) -> dict[str, list[str]]:
    """Contributing runs by team; a run whose team is not known is one of its own."""
    if groups is None:
        return {}
    teams: dict[str, list[str]] = {}
    unknown = [name for name in contributing if name not in groups]
    for name in contributing:
        teams.setdefault(groups.get(name, f"{name} (no group)"), []).append(name)
    if unknown:
        notes.append(f"{len(unknown)} of {len(contributing)} contributing runs have no group: {_list(unknown)}")
    return teams


def audit(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | None = None,
    *,
    pooled: Sequence[str] | None = None,
    groups: Mapping[str, str] | None = None,
    depth: int | None = None,
    ties: Ties = "trec",
    score_precision: Precision | None = None,
    lenient: bool = False,
    junk: float | None = None,
    names: Names = "file",
    workers: int = 2,
    scheduler: str | None = None,
) -> Audit:
    """Can this collection be trusted, and reused for systems that did not contribute to its pool?

    `pooled` names the contributing runs (default: all), `groups` gives runs their teams, `depth` is that of the pool
    (default: measured). Measures default to AP(variant=b), nDCG, RBP(p=0.8) and RBP(p=0.95) at that depth.

    >>> qrels = {"1": {"a": 1, "b": 1, "c": 0}}
    >>> runs = {"A": {"1": {"a": 2.0, "b": 1.0}}, "B": {"1": {"a": 2.0, "c": 1.0}}}
    >>> found = audit(qrels, runs, ["P@2"], pooled=["A", "B"], depth=2)
    >>> [(one.run, one.full, one.without) for one in found.run_out]
    [('A', 1.0, 0.5), ('B', 0.5, 0.5)]
    """
    result = run_audit(
        read_qrels(qrels, lenient=lenient, junk=junk),
        scan_runs(runs, names=names, lenient=lenient),
        measures,
        Options(ties, score_precision, "all", None if pooled is None else tuple(pooled), workers, scheduler=scheduler),
        groups=groups,
        depth=depth,
    )
    for note in result.notes:
        warnings.warn(note, FathomsWarning, stacklevel=2)
    return result


# -- in words -------------------------------------------------------------------------------------------------


def sentences(result: Audit) -> list[str]:
    """What can be trusted and what cannot, one sentence or two a question."""
    return [_depth_said(result), _found_said(result), *_reuse_said(result), _guidelines_said(result)]


def _depth_said(result: Audit) -> str:
    how = "asked for" if result.depth_asked else "as far as they are judged"
    judged = int((result.qrels.grades >= 0).sum())
    inside = "all" if result.in_pool == judged else f"{result.in_pool:,} of {judged:,}"
    return (
        f"Pool: {pluralise(len(result.contributing), 'run')} to depth {result.depth} ({how}), with {inside} judgments. "
        "To that depth utility-based scores of the contributing runs are complete; recall-based ones depend on R."
    )


def _found_said(result: Audit) -> str:
    last = next((step for step in reversed(result.steps) if step.rate is not None), None)
    start = f"Relevant documents: {result.found[-1].mean:.1f} a topic at depth {result.depth}"
    if last is None or last.rate is None:
        return f"{start}."
    if last.rate <= FEW_LEFT:
        verdict = "few are left to find"
    elif last.rate < MANY_LEFT:
        verdict = "deeper pools would find more, so R is too small"
    else:
        verdict = "there is no reason to think that most of them have been found; do not trust R"
    return (
        f"{start}; of the documents that the last step of the pool added (depths {last.shallow + 1} to {last.deep}) "
        f"{last.rate:.1%} are relevant: {verdict}."
    )


def _reuse_said(result: Audit) -> list[str]:
    """One verdict, by whichever experiment is further from TREC 8's figures in the paper."""
    rated = {m.name for m in result.measures if type(m).__name__ in (*RECALL_BASED, *UTILITY_BASED)}
    said, severity = [], 0
    for kind, left in (("run", result.run_out), ("group", result.group_out)):
        known = [
            (found.percent.mean, found)
            for found in changes(left)
            if found.percent is not None and found.measure in rated
        ]
        if not known:
            continue
        percent, worst = max(known, key=lambda pair: abs(pair[0]))
        moved = max(found.rank.mean for _, found in known)
        severity = max(severity, (abs(percent) > LIKE_TREC8[kind]) + (abs(percent) >= LIKE_CLUEWEB[kind]))
        whom = "a run that had not contributed" if kind == "run" else "one whose whole group had not"
        said.append(
            f"{whom} would see its score change by {percent:+.1f}% ({worst.measure}) and move by {moved:.1f} of "
            f"{len(result.shares)} ranks"
        )
    if not said:
        return []
    verdict = (
        "new systems can be scored",
        "score new systems with care, and with their ranges",
        "new systems cannot be compared with those that contributed",
    )[severity]
    return [f"Reuse: in the mean, {'; '.join(said)}: {verdict}."]


def _guidelines_said(result: Audit) -> str:
    warned = [f"{one.number} ({one.name})" for one in result.guidelines if one.status == "warn"]
    passed = sum(one.status == "pass" for one in result.guidelines)
    return f"Guidelines: {passed} hold" + (f"; look at {', '.join(warned)}." if warned else ", and none is broken.")
