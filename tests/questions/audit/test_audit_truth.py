"""Every kind of sentence that an audit prints, read back by program and held against plain loops over the files,
against the other sentences of the same audit, and against the truth that a simulated collection is known to have.

What is said to be certain has to hold in every collection, what is said to be probable in nearly all of them.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

import fathoms as fm
from fathoms.data.simulate import Collection, simulate
from fathoms.questions.audit.result import Audit
from tests.experiment.test_assumed_pool import SAID
from tests.questions.audit.test_audit import Grades, Ranking, plain, precision, rank_biased

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")

COLLECTIONS = 40
PROBABLY = 0.9

NUMBER = r"[\d,.]+"
SHARE = r"(?:[mM]ore than |[lL]ess than )?[\d.]+%"
THIN = (
    r"(?P<thin>The only run|Both runs|All \d+ runs|\d+ of the \d+ runs) that (?:did not contribute|(?:is|are) not in "
    r"the assumed pool) (?:has|have) less than 95% of the "
    rf"first \d+ documents judged \(lowest: (?P<thinnest>\S+), (?P<thin_share>{SHARE})\)"
)
KINDS = {
    "pool": re.compile(
        r"(?:Pool: the (?P<listed>\d+) runs? listed, to depth (?P<listed_depth>\d+) \(inferred from what is judged\)\.|"
        rf"{SAID}\.)"
        rf"(?: (?P<inside>{NUMBER}) of (?P<judgments>{NUMBER}) judgments are of documents that these runs retrieved to "
        r"that depth; the others are kept\.)? "
        r"(?:(?P<all>All of the runs' first \d+ documents are judged, so further judging cannot change scores that "
        r"depend on these alone, such as P@\d+; measures that need R can change\.)|"
        rf"(?P<share>{SHARE}) of the runs' first \d+ documents are judged \(lowest: (?P<least>\S+), "
        rf"(?P<least_share>{SHARE})\), so further judging can change even their P@\d+\.)"
    ),
    "found": re.compile(
        rf"Relevant documents: (?P<mean>{NUMBER}) per topic in the pool of depth \d+; of the (?P<new>{NUMBER}) judged "
        r"documents? that depths? (?P<from>\d+)(?: to (?P<to>\d+))? added, (?P<rate>[\d.]+%) (?:is|are) relevant: "
        r"(?P<verdict>too few documents to tell|a deeper pool would probably find few more|a deeper pool would "
        r"probably find more|a deeper pool would probably find many more).*\."
    ),
    "reuse": re.compile(
        r"Reuse: (?:if the pool is the one assumed, |the judgments cannot tell which runs contributed; if it was the "
        r"(?P<taken>\d+) runs? taken here, )?"
        r"(?P<verdict>new systems can probably be scored|score new systems with care|do not compare)[^.]*\."
        r"(?: Had a contributing run not contributed, the run's \S+ would change by (?P<run>[\d.]+)% on average and "
        r"[\d.]+% at most \(\S+\); it would move by [\d.]+ ranks on average, among \d+ runs\.)?"
        r"(?: Had a run's whole team not contributed, the run's \S+ would change by (?P<team>[\d.]+)% on average and "
        r"[\d.]+% at most \(\S+\); it would move by [\d.]+ ranks on average, among \d+ runs\.)?"
        rf"(?P<elsewhere> The true change may be smaller: {NUMBER} of {NUMBER} judgments come from runs that are not "
        r"given here, which may have found the same documents\.)?"
        rf"(?: {THIN}\.)?"
    ),
    "guidelines": re.compile(
        r"Guidelines: (?P<hold>\d+) of the (?P<apply>\d+) that apply hold(?:; look at (?P<at>.*))?\."
    ),
}


def by_subject(sentences: Sequence[str]) -> list[str]:
    """What is said of the pool, of what it found, of reuse, and of the guidelines; reasons always in the same order."""
    first, contributing, *more, pool, found, guidelines = sentences
    verdict, _, reason = first.partition(". ")
    starts = ("Had a contributing run", "Had a run's whole team", "The true change may be smaller")
    reasons = sorted([reason, *more], key=lambda one: [not one.startswith(start) for start in starts])
    return [f"{contributing} {pool}", found, " ".join([f"{verdict}.", *reasons]), guidelines]


@dataclass
class Case:
    """A collection, what the audit says of it, and the same files as dicts."""

    made: Collection
    found: Audit
    grades: Grades
    rankings: dict[str, Ranking]
    pool_depth: int

    @cached_property
    def truth(self) -> Grades:
        return plain(replace(self.made, qrels=self.made.truth))[0]

    @cached_property
    def said(self) -> dict[str, dict[str, str]]:
        """The parts of each sentence; every sentence is of a known kind."""
        parts = {}
        for sentence in by_subject(self.found.sentences):
            kind, match = next((kind, m) for kind, regex in KINDS.items() if (m := regex.fullmatch(sentence)))
            parts[kind] = {name: text for name, text in match.groupdict().items() if text is not None}
        return parts

    def judged(self, run: str) -> float:
        """Share of its first documents, to the depth of the pool."""
        top = [(t, d) for t, ranking in self.rankings[run].items() for d in ranking[: self.found.depth]]
        return statistics.fmean(d in self.grades.get(t, {}) for t, d in top)

    def mean(self, slow: object, run: str, grades: Grades) -> float:
        k = self.found.depth
        topics = [slow(self.rankings[run].get(t, []), grades.get(t, {}), k) for t in self.grades]  # type: ignore[operator]
        return statistics.fmean(topics)

    def least_depths(self) -> Mapping[tuple[str, str], int]:
        """Of every document that a contributing run has."""
        depths: dict[tuple[str, str], int] = {}
        for run in self.found.contributing:
            for topic, ranking in self.rankings[run].items():
                for rank, document in enumerate(ranking, 1):
                    key = topic, document
                    depths[key] = min(rank, depths.get(key, rank))
        return depths


@dataclass
class Probable:
    """How often what is said to be probable is true, by kind."""

    right: Counter[str] = field(default_factory=Counter)
    all: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, true: bool) -> None:
        self.right[kind] += true
        self.all[kind] += 1


def cases() -> Iterator[Case]:
    conditions = list(product((8, 16), (5, 12, 30, 70), (150, 500), (None, 2), (0.0, 0.06)))
    for seed in range(COLLECTIONS):
        rng = np.random.default_rng(seed)
        systems, pool_depth, n_docs, unpooled, lost = conditions[int(rng.integers(len(conditions)))]
        made = simulate(
            systems=systems,
            n_topics=int(rng.integers(5, 10)),
            n_docs=n_docs,
            depth=90,
            pool_depth=pool_depth,
            unpooled=unpooled,
            max_grade=int(rng.integers(1, 4)),
            ties=float(rng.choice([0.0, 0.2, 0.5])),
            seed=seed,
        )
        missing = pl.Series(rng.random(len(made.qrels)) < lost)
        made = replace(made, qrels=made.qrels.filter(~missing))
        pooled = made.pooled if rng.random() < 0.5 else None
        measures = [None, ["AP", "nDCG@10", "RBP(p=0.8)"], ["Q@5", "P@5"]][int(rng.integers(3))]
        found = fm.audit(made.qrels, made.runs, measures, pooled=pooled, groups=made.groups, workers=1)
        yield Case(made, found, *plain(made), pool_depth)


def percent(text: str) -> float:
    return float(re.sub(r"[^\d.]", "", text)) / 100


def near(text: str, value: float) -> bool:
    """Whether a share was printed right: to a tenth of a percent, and neither nothing nor all where it is not."""
    text = text.lower()
    if text.startswith("more than"):
        return percent(text) <= value < 1
    if text.startswith("less than"):
        return 0 < value <= percent(text)
    return abs(percent(text) - value) <= 0.0005 + 1e-9 and ((value == 1) == (text == "100%"))


def check_pool(case: Case, probable: Probable) -> None:
    said, found = case.said["pool"], case.found
    assert int(said.get("listed_depth") or said["depth"]) == found.depth
    assert int(said.get("listed") or said["some"]) == len(found.contributing)
    probable.note("depth", abs(found.depth - case.pool_depth) <= 0.1 * case.pool_depth)
    depths, judgments = case.least_depths(), [(t, d) for t, judged in case.grades.items() for d in judged]
    inside = sum(depths.get(key, 10**6) <= found.depth for key in judgments)
    if "inside" in said:
        assert [int(said[name].replace(",", "")) for name in ("inside", "judgments")] == [inside, len(judgments)]
    else:
        assert inside == len(judgments)
    shares = {run: case.judged(run) for run in found.contributing}
    first = {run: case.mean(precision, run, case.grades) for run in found.contributing}
    if "all" in said:
        assert min(shares.values()) == 1
        for run, before in first.items():
            assert case.mean(precision, run, case.truth) == pytest.approx(before)
    else:
        assert near(said["least_share"], min(shares.values()))
        assert shares[said["least"]] == min(shares.values())
        every: Grades = {t: {d: 1.0 for r in case.rankings.values() for d in r.get(t, [])} for t in case.grades}
        judged = {t: {**every[t], **case.grades[t]} for t in case.grades}
        assert case.mean(precision, said["least"], judged) > first[said["least"]]


def check_found(case: Case, probable: Probable) -> None:
    said, d = case.said["found"], case.found.depth
    depths = case.least_depths()
    relevant = [sum(g >= 1 and depths.get((t, x), 10**6) <= d for x, g in case.grades[t].items()) for t in case.grades]
    assert float(said["mean"].replace(",", "")) == pytest.approx(statistics.fmean(relevant), abs=0.051)
    low, high = int(said["from"]), int(said.get("to") or said["from"])
    new = [g >= 1 for t in case.grades for x, g in case.grades[t].items() if low <= depths.get((t, x), 10**6) <= high]
    assert int(said["new"].replace(",", "")) == len(new)
    assert near(said["rate"].replace("100.0%", "100%"), statistics.fmean(new))
    # What the next step of as many ranks would find, by the truth.
    unseen = [
        key for key, depth in depths.items() if high < depth <= 2 * high - low + 1 and key[1] not in case.grades[key[0]]
    ]
    if len(unseen) < 30:
        return
    rate = statistics.fmean(case.truth.get(t, {}).get(x, 0) >= 1 for t, x in unseen)
    verdict = said["verdict"].removeprefix("a deeper pool would probably ")
    if verdict == "find few more":
        probable.note(verdict, rate <= 0.1)
    elif verdict == "find more":
        probable.note(verdict, rate > 0)
    elif verdict == "find many more":
        probable.note(verdict, rate > 0.1)


def check_reuse(case: Case, probable: Probable) -> None:
    said, found = case.said["reuse"], case.found
    outside = {run: case.judged(run) for run in found.others}
    thin = {run: share for run, share in outside.items() if share < 0.95}
    assert ("thin" in said) == bool(thin)
    if thin:
        count = re.findall(r"\d+", said["thin"].replace("Both", "2"))
        expected = [] if len(outside) == 1 else [len(thin)] if len(thin) == len(outside) else [len(thin), len(outside)]
        assert [int(n) for n in count] == expected
        assert thin[said["thinnest"]] == min(thin.values())
        assert near(said["thin_share"], min(thin.values()))
    inside, judgments = (case.said["pool"].get(name, "1").replace(",", "") for name in ("inside", "judgments"))
    assert ("elsewhere" in said) == (int(inside) < 0.95 * int(judgments))
    changes = [(float(said[kind]), few, many) for kind, few, many in (("run", 2, 12), ("team", 5, 30)) if kind in said]
    fine = all(size <= few + 0.051 for size, few, _ in changes) and not thin
    bad = any(size >= many - 0.051 for size, _, many in changes)
    if said["verdict"] == "new systems can probably be scored":
        assert fine
        errors = []
        for run in found.others:
            true, seen = (case.mean(rank_biased, run, grades) for grades in (case.truth, case.grades))
            errors.append(abs(true - seen) / true)
        if errors:
            probable.note("can be scored", statistics.fmean(errors) < 0.05)
    elif said["verdict"] == "do not compare":
        assert bad
    else:
        assert thin or any(size >= few - 0.051 for size, few, _ in changes)


def check_guidelines(case: Case, _: Probable) -> None:
    said, found = case.said["guidelines"], case.found
    status = {one.number: one.status for one in found.guidelines}
    evidence = {one.number: one.evidence for one in found.guidelines}
    assert int(said["hold"]) == list(status.values()).count("pass")
    assert int(said["apply"]) == 7 - list(status.values()).count("not applicable")
    warned = [number for number, one in status.items() if one == "warn"]
    assert [int(n) for n in re.findall(r"(\d) \(", said.get("at", ""))] == warned
    # 7: who is hardly judged is a reason to warn, and the sentences on the pool and on reuse say the same.
    shares = {run: case.judged(run) for run in case.rankings}
    assert (status[7] == "warn") == any(share < 0.95 for share in shares.values())
    outside = "that did not contribute" in evidence[7] or "not in the assumed pool" in evidence[7]
    assert (outside and status[7] == "warn") == ("thin" in case.said["reuse"])
    for text in re.findall(rf"lowest: (\S+), ({SHARE})", evidence[7]):
        assert near(text[1], shares[text[0]])
    # 2, 4, 5: the orders of systems, from scores of our own.
    means = case_means(case)
    for number in (2, 4, 5):
        for tau, measure, other in taus_said(number, evidence[number], found.depth):
            x, y = means(measure, "trec"), means(other, "run" if number == 4 else "trec")
            assert tau == pytest.approx(kendalltau(np.round(x, 12), np.round(y, 12)).statistic, abs=0.00051)
        found_taus = [tau for tau, *_ in taus_said(number, evidence[number], found.depth)]
        if found_taus:
            assert (status[number] == "warn") == (min(found_taus) < 0.9 or "inverts" in evidence[number])
    if evidence[4].startswith("Every run has the same scores"):
        for name in (one.name for one in found.measures):
            assert means(name, "trec") == pytest.approx(means(name, "run"), abs=1e-12)


def case_means(case: Case):  # type: ignore[no-untyped-def]
    def means(measure: str, ties: str) -> Sequence[float]:
        frame = fm.evaluate(case.made.qrels, case.made.runs, measure, ties=ties, workers=1)  # type: ignore[arg-type]
        return frame.sort("run")["score"].to_list()

    return means


def taus_said(number: int, text: str, depth: int) -> list[tuple[float, str, str]]:
    """Kendall's taus in a sentence, with the two measures they are between."""
    if number == 2:
        pattern = r"the orders by (\S+)@\d+ and at depth (\d+) is (-?[\d.]+\d)"
        whole = re.search(r"by (\S+) and at", text)
        return [(float(t), whole[1], f"{m}@{k}") for m, k, t in re.findall(pattern, text) if whole]
    if number == 4:
        pattern = r"orders of the systems is (-?[\d.]+\d) \((.*)\)\."
        return [(float(t), m, m) for t, m in re.findall(pattern, text)]
    pattern = r"(\S+) has Kendall's tau (-?[\d.]+\d) to itself cut"
    return [(float(t), m, f"{m.partition('@')[0]}@{depth}") for m, t in re.findall(pattern, text)]


@pytest.mark.long
def test_sentences_are_true() -> None:
    probable = Probable()
    for case in cases():
        assert list(case.said) == list(KINDS)
        for check in (check_pool, check_found, check_reuse, check_guidelines):
            check(case, probable)
    assert probable.all.keys() == {"depth", "find few more", "find more", "find many more", "can be scored"}
    for kind, times in probable.all.items():
        assert probable.right[kind] >= PROBABLY * times - 1, kind
