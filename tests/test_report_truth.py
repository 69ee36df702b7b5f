"""The report's sentences on simulated collections: against verdicts, truth, and each other."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

import fathoms as fm
from fathoms.data.simulate import Collection, simulate
from fathoms.reporting import page as html
from fathoms.reporting import story
from fathoms.reporting.report import Report, run_report
from fathoms.reporting.verdicts import CLAIMED

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")
SMALL = {"systems": 6, "n_topics": 12, "n_docs": 250, "depth": 30, "max_grade": 1}
CONDITIONS: dict[str, dict[str, Any]] = {
    "shallow": {"pool_depth": 3},
    "shallow, grades": {"pool_depth": 4, "max_grade": 3},
    "unpooled systems": {"pool_depth": 10, "unpooled": 3},
    "deep": {"pool_depth": 25, "unpooled": 0, "n_topics": 30},
    "complete": {"pool_depth": 30, "unpooled": 0, "n_topics": 30},
    "many ties": {"pool_depth": 20, "ties": 0.6, "unpooled": 1, "n_topics": 25},
    "few topics": {"pool_depth": 8, "n_topics": 3, "max_grade": 2},
    "copies": {"pool_depth": 15, "unpooled": 1, "n_topics": 25},
}
MEASURES = (("AP", "nDCG@10"), ("nDCG@10", "P@5"), ("RBP(p=0.8)", "AP"))
# What version 0.2.0 said, and what nobody in the field would write.
OLD = re.compile(
    r"\bturns?\b|cannot be told|told apart|a topic,|above depth|nobody knows|of its documents judged|"
    r"Nothing speaks|no other range|\b0% judged"
)


@dataclass(frozen=True)
class Made:
    collection: Collection
    report: Report
    said: dict[str, list[str]]

    @property
    def everything(self) -> list[str]:
        return [sentence for sentences in self.said.values() for sentence in sentences]


@pytest.fixture(
    scope="module",
    params=[(name, seed) for name in CONDITIONS for seed in (1, 2, 3)],
    ids=lambda one: f"{one[0]} {one[1]}",
)
def made(request: pytest.FixtureRequest) -> Made:
    name, seed = request.param
    collection = simulate(**{**SMALL, **CONDITIONS[name], "seed": seed})
    if name == "copies":
        collection.runs["copy"] = collection.runs["sys1"]
    exp = fm.Experiment(collection.qrels, collection.runs, pooled=collection.pooled, workers=1)
    report = run_report(exp, exp.measures(MEASURES[seed % 3]))
    return Made(collection, report, {heading: list(told) for heading, told in story.summary(report)})


def pairs_of(made: Made, measure: str, run: str) -> dict[str, Any]:
    """The pairs of a run by the other run, from the comparison itself."""
    assert made.report.comparison is not None
    pairs = [p for p in made.report.comparison.pairs if p.measure == measure and run in (p.run_a, p.run_b)]
    return {p.run_b if p.run_a == run else p.run_a: p for p in pairs}


def judged(made: Made, runs: list[str]) -> pl.DataFrame:
    """The judgments with those of all documents of some runs added, as the truth has them."""
    truth, qrels = made.collection.truth, made.collection.qrels
    documents = pl.concat([made.collection.runs[run].select("topic", "doc") for run in runs]).unique()
    added = truth.join(documents, on=["topic", "doc"]).join(qrels, on=["topic", "doc"], how="anti")
    most = int(max(qrels["grade"].to_list()))  # grades that nobody has seen are in no range
    return pl.concat([qrels, added.with_columns(pl.col("grade").clip(upper_bound=most)).select(qrels.columns)])


def claimed_in(sentence: str, others: int) -> dict[str, tuple[int, list[str]]]:
    """By verdict: of how many systems the sentence says that the first one is better, and which it names."""
    found: dict[str, tuple[int, list[str]]] = {}
    pattern = (
        r"It is (?:better than (?:all (?P<all>\d+) others|(?P<n>\d+) of (?P<of>\d+) other systems?)|also better than "
        r"(?P<more>\d+) more)(?: \((?P<names>.*?)\))?; "
        r"(?P<verdict>certain|supported): (?P<meaning>.*?)\."
    )
    for match in re.finditer(pattern, sentence):
        assert match["meaning"] == story.MEANINGS[match["verdict"]]
        assert (match["more"] is not None) == bool(found)
        assert int(match["all"] or match["of"] or others) == others
        names = [] if match["all"] else match["names"].split(", ")
        found[match["verdict"]] = (int(match["all"] or match["n"] or match["more"]), names)
    return found


def test_each_claim_is_a_pair_of_that_verdict_and_each_such_pair_is_claimed(made: Made) -> None:
    for measure in made.report.measures:
        best = made.report.ranked(measure)[0].run
        said = [
            s
            for s in made.said["What can be claimed"]
            if re.match(rf"{best} \w+ the highest {re.escape(measure.name)}", s)
        ]
        assert len(said) == 1
        at = made.said["What can be claimed"].index(said[0])
        told = said[0] if measure is not made.report.measures[0] else made.said["What can be claimed"][at + 1]
        pairs = pairs_of(made, measure.name, best)
        claims = claimed_in(told, len(pairs))
        for verdict in ("certain", "supported"):
            names = {other for other, pair in pairs.items() if pair.verdict == verdict}
            number, listed = claims.get(verdict, (0, []))
            assert number == len(names)
            assert set(listed) == (set() if number == len(pairs) > 1 else names)
        assert ("cannot be claimed to be better than any other system" in told) == (not claims)


def test_the_highest_mean_is_shared_exactly_where_means_are_equal(made: Made) -> None:
    for measure in made.report.measures:
        means = {run.run: run.mean(measure)["score"] or 0.0 for run in made.report.evaluation.runs}
        top = max(means.values())
        best = made.report.ranked(measure)[0].run
        equal = {run for run, mean in means.items() if top - mean <= 1e-9} - {best}
        said = next(s for s in made.said["What can be claimed"] if f"the highest {measure.name}" in s)
        assert f"{top:.4f} over" in said
        shared = re.search(r" shares the highest .* with (.*?), \d", said)
        assert (set(shared[1].split(", ")) if shared else set()) == equal


def test_counts_add_up(made: Made) -> None:
    measure = made.report.measures[0]
    best = made.report.ranked(measure)[0].run
    pairs = pairs_of(made, measure.name, best)
    claimed = sum(pair.verdict in CLAIMED for pair in pairs.values())
    said = [s for s in made.said["What cannot"] if "cannot be claimed to be better than" in s]
    assert len(said) == (claimed < len(pairs))
    if said:
        total, others, rest = re.search(r"than (\d+) of (\d+) other systems?: (.*)", said[0]).groups()  # type: ignore[union-attr]
        assert int(others) == len(pairs)
        assert int(total) + claimed == len(pairs)
        parts = re.findall(r"(?:^|; )(\d+) (?:for want|because) of (\w+).*?\): ([^;]*?)(?=;|\.$)", rest)
        assert sum(int(number) for number, *_ in parts) == int(total)
        for number, why, names in parts:
            kind = "tie" if why == "equal" else why
            found = {
                n for n, p in pairs.items() if kind == (p.verdict if p.verdict == "tie" else p.reason.split(" ")[0])
            }
            assert set(names.split(", ")) <= found - {n for n, p in pairs.items() if p.verdict in CLAIMED}
            assert len(names.split(", ")) == int(number)
    of_all = made.report.pairs(measure)
    for sentence in made.said["What would help"]:
        counts = re.search(r": (\d+) of (\d+) pairs? of systems cannot be claimed: (.*)\.", sentence)
        if counts:
            assert int(counts[1]) == sum(pair.verdict not in CLAIMED for pair in of_all)
            assert int(counts[2]) == len(of_all)
            assert sum(map(int, re.findall(r"\d+", counts[3]))) == int(counts[1])


def test_the_verdict_bar_counts_what_compare_says(made: Made) -> None:
    shown = html.header(made.report)
    rows = shown.split('class="row"')[1:]
    assert len(rows) == len(made.report.measures)
    for row, measure in zip(rows, made.report.measures, strict=True):
        verdicts = Counter(pair.verdict for pair in made.report.pairs(measure))
        assert dict(re.findall(r'class="key (\w+)">(\d+) \w+<', row)) == {k: str(v) for k, v in verdicts.items()}
        missing = re.search(r"Why there is no claim: (.*?)</span>", row)
        unclaimed = len(made.report.pairs(measure)) - verdicts["certain"] - verdicts["supported"]
        assert sum(map(int, re.findall(r"\d+", missing[1]))) == unclaimed if missing else unclaimed == 0


def test_no_sentence_speaks_the_old_language(made: Made) -> None:
    for sentence in made.everything:
        assert not OLD.search(sentence), sentence
        if "settle" in sentence.replace("would probably be enough)", ""):
            assert sentence.startswith(("Judging, for", "Settled means", "The engine knows AP only")), sentence


def test_what_the_model_expects_contradicts_no_claim_and_no_other_estimate(made: Made) -> None:
    measure = made.report.measures[0]
    best = made.report.ranked(measure)[0].run
    pairs = pairs_of(made, measure.name, best)
    expected: set[str] = set()
    for sentence in made.said["What cannot"]:
        if sentence.startswith(f"That {best} stays ahead"):
            expected = set(re.findall(r"(\w+) \(\d\.\d\d\)", sentence))
            assert expected
    for other in expected:
        assert pairs[other].verdict not in CLAIMED
        assert pairs[other].reversible != "no"
        estimates = made.report.estimates
        assert estimates[other, measure.name][0] > estimates[best, measure.name][0]
    if any("leaves" in s and "in doubt" in s for s in made.said["What cannot"]):
        assert all(pair.verdict in CLAIMED for pair in pairs.values())
        assert not expected
    for sentence in made.said["What would help"]:
        for side, names in re.findall(rf"(ahead of|behind) {best}: ([^;.]*)", sentence):
            if measure.name == "AP":
                assert not expected & set(names.split(", ")) if side == "behind" else True


def test_what_is_said_of_judging_is_about_the_open_question(made: Made) -> None:
    measure = made.report.measures[0]
    best = made.report.ranked(measure)[0].run
    pairs = pairs_of(made, measure.name, best)
    reversible = {name for name, p in pairs.items() if p.verdict not in CLAIMED and p.reversible != "no"}
    found = made.report.judging
    if found is None:
        assert not reversible
        assert any("is not what is missing" in s for s in made.said["What would help"])
        return
    assert found.systems[0] == best
    assert set(found.systems[1:]) <= reversible
    assert len(found.systems) == min(5, 1 + len(reversible))
    assert all(a == 0 for a, _ in found.open_pairs)
    assert found.depth == (100 if measure.k is None else int(measure.k))
    told = next(s for s in made.said["What would help"] if s.startswith(f"Judging, for {best} against"))
    assert f"by AP of the first {found.depth} documents" in told


def test_certain_pairs_hold_when_the_documents_of_the_two_are_judged(made: Made) -> None:
    for measure in made.report.measures:
        for pair in made.report.pairs(measure):
            if pair.verdict != "certain" and pair.reversible != "no":
                continue
            runs = {name: made.collection.runs[name] for name in (pair.run_a, pair.run_b)}
            then = fm.evaluate(judged(made, list(runs)), runs, measure.name)
            scores = dict(zip(then["run"], then["score"], strict=True))
            assert (scores[pair.run_a] - scores[pair.run_b]) * pair.diff > 0


def test_the_truth_is_inside_the_range_that_is_told(made: Made) -> None:
    measure = made.report.measures[0]
    best = made.report.ranked(measure)[0].run
    then = fm.evaluate(judged(made, list(made.collection.runs)), made.collection.runs, measure.name)
    truth = then.filter(then["run"] == best)["score"].item()
    said = next(s for s in made.said["What can be claimed"] if "Its range is" in s)
    low, high = map(float, re.search(r"Its range is (\S+) to (\S+)\. Ranges: every way", said).groups())  # type: ignore[union-attr]
    assert low - 5.1e-5 <= truth <= high + 5.1e-5


def test_the_estimate_that_is_told_is_that_of_predict(made: Made) -> None:
    measure = made.report.measures[0]
    best = made.report.ranked(measure)[0].run
    exp = fm.Experiment(made.collection.qrels, made.collection.runs, pooled=made.collection.pooled, workers=1)
    rows = exp.predict([m.name for m in made.report.measures]).rows()
    row = next(row for row in rows if (row[0], row[2]) == (best, measure.name))
    expected = f"Its estimate after further judging is {row[7]:.4f} (95% interval {row[8]:.4f} to {row[9]:.4f})."
    assert expected in made.said["What can be claimed"][0]


def test_the_conditions_bring_out_all_verdicts_and_obstacles() -> None:
    """Or the tests above would be about nothing."""
    seen: Counter[str] = Counter()
    for name in ("shallow", "complete", "many ties", "copies"):
        collection = simulate(**{**SMALL, **CONDITIONS[name], "seed": 1})
        if name == "copies":
            collection.runs["copy"] = collection.runs["sys1"]
        pairs = fm.Experiment(collection.qrels, collection.runs).compare(["AP", "nDCG@10", "P@5"]).pairs
        seen.update(pair.verdict for pair in pairs)
        seen.update(pair.reason.partition(" ")[0] for pair in pairs)
    assert {"certain", "supported", "fragile", "open", "tie", "topics", "judging"} <= set(seen)
