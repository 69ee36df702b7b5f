"""The report's sentences on simulated collections, by every measure: against verdicts, truth, and each other."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
import pytest

import fathoms as fm
from fathoms.data.simulate import Collection, simulate
from fathoms.inference.names import CLAIMED
from fathoms.measures.base import Measure
from fathoms.reporting import story, summary
from fathoms.reporting.claims import Claim, claims
from fathoms.reporting.report import Report, run_report

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")
SMALL = {"systems": 6, "n_topics": 12, "n_docs": 250, "depth": 30, "max_grade": 1}
CONDITIONS: dict[str, dict[str, Any]] = {
    "shallow": {"pool_depth": 3},
    "shallow, grades": {"pool_depth": 4, "max_grade": 3},
    "unpooled runs": {"pool_depth": 10, "unpooled": 3},
    # Few ties, of which all orders are tried: "many ties" has them, and too many for that.
    "deep": {"pool_depth": 25, "unpooled": 0, "n_topics": 30, "ties": 0.01},
    "complete": {"pool_depth": 30, "unpooled": 0, "n_topics": 30, "ties": 0.01},
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
    said: dict[Measure, dict[str, list[str]]]
    claims: dict[Measure, list[Claim]]

    @property
    def everything(self) -> list[str]:
        told = [one for said in self.said.values() for sentences in said.values() for one in sentences]
        return told + [claim.sentence for found in self.claims.values() for claim in found]

    @cached_property
    def truth(self) -> dict[str, dict[str, float]]:
        """Scores by measure and run once all documents of all runs are judged."""
        names = [measure.name for measure in self.report.measures]
        then = fm.evaluate(judged(self, list(self.collection.runs)), self.collection.runs, names)
        found: dict[str, dict[str, float]] = {name: {} for name in names}
        for row in then.iter_rows(named=True):
            found[row["measure"]][row["run"]] = row["score"]
        return found


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((name, seed), marks=pytest.mark.slow if seed == 2 else ())
        for name in CONDITIONS
        for seed in (1, 2, 3)
    ],
    ids=lambda one: f"{one[0]} {one[1]}",
)
def made(request: pytest.FixtureRequest) -> Made:
    name, seed = request.param
    collection = simulate(**{**SMALL, **CONDITIONS[name], "seed": seed})
    if name == "copies":
        collection.runs["copy"] = collection.runs["sys1"]
    exp = fm.Experiment(collection.qrels, collection.runs, pooled=collection.pooled, workers=1)
    report = run_report(exp, exp.measures(MEASURES[seed % 3]))
    said = {m: {heading: list(told) for heading, told in story.summary(report, m)} for m in report.measures}
    return Made(collection, report, said, {m: claims(report, m) for m in report.measures})


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


def test_the_highest_mean_is_shared_exactly_where_means_are_equal(made: Made) -> None:
    for measure in made.report.measures:
        means = {run.run: run.mean(measure)["score"] or 0.0 for run in made.report.evaluation.runs}
        top = max(means.values())
        best = made.report.ranked(measure)[0].run
        equal = {run for run, mean in means.items() if top - mean <= 1e-9} - {best}
        claim = made.claims[measure][0]
        assert claim.about == "score"
        assert f"{top:.4f} with unjudged documents counted as not relevant" in claim.sentence
        shared = re.search(r"topics?, (.*?) share the highest", claim.sentence)
        assert (set(shared[1].split(", ")) if shared else {best}) == equal | {best}


def test_counts_add_up(made: Made) -> None:
    for measure, told in made.said.items():
        best = made.report.ranked(measure)[0].run
        pairs = pairs_of(made, measure.name, best)
        claimed = sum(pair.verdict in CLAIMED for pair in pairs.values())
        said = [claim.sentence for claim in made.claims[measure] if claim.about == "best"]
        assert len(said) == (claimed < len(pairs))
        if said:
            number, why, names = re.search(
                r"(\d+) differences? from other runs cannot be claimed \((.*?); .*\): (.*)\.$", said[0]
            ).groups()  # type: ignore[union-attr]
            assert int(number) + claimed == len(pairs)
            assert sum(map(int, re.findall(r"\d+", why))) == int(number)
            assert set(names.split(", ")) == {n for n, p in pairs.items() if p.verdict not in CLAIMED}
        of_all = made.report.pairs(measure)
        for sentence in told["What would help"]:
            counts = re.search(r": (\d+) of (\d+) pairs? of runs cannot be claimed: (.*)\.", sentence)
            if counts:
                assert int(counts[1]) == sum(pair.verdict not in CLAIMED for pair in of_all)
                assert int(counts[2]) == len(of_all)
                assert sum(map(int, re.findall(r"\d+", counts[3]))) == int(counts[1])


def test_the_bars_count_what_compare_says(made: Made) -> None:
    for i, measure in enumerate(made.report.measures):
        shown = summary.bars(made.report, i, measure)
        verdicts, _, missing = shown.partition(f'id="missing-{i}"')
        counts = Counter(pair.verdict for pair in made.report.pairs(measure))
        assert dict(re.findall(r'class="key (\w+)">(\d+) \w+<', verdicts)) == {k: str(v) for k, v in counts.items()}
        unclaimed = len(made.report.pairs(measure)) - counts["certain"] - counts["supported"]
        assert sum(map(int, re.findall(r'class="key [\w-]+">(\d+) ', missing))) == unclaimed
        assert sum(map(int, re.findall(r"flex-grow:(\d+)", missing))) == unclaimed


def test_no_sentence_speaks_the_old_language(made: Made) -> None:
    for sentence in made.everything:
        assert not OLD.search(sentence), sentence
        if "settle" in sentence:
            assert sentence.startswith(("Judging, for", "Settled means")), sentence


def test_what_the_model_expects_contradicts_no_claim_and_no_other_estimate(made: Made) -> None:
    for measure, said in made.said.items():
        best = made.report.ranked(measure)[0].run
        pairs = pairs_of(made, measure.name, best)
        stays = [claim.sentence for claim in made.claims[measure] if claim.about == "stays"]
        expected = {name for sentence in stays for name in re.findall(r"(\w+) \(\d\.\d\d\)", sentence)}
        assert len(stays) == bool(expected)
        for other in expected:
            assert pairs[other].verdict not in CLAIMED
            assert pairs[other].reversible != "no"
            estimates = made.report.estimates
            assert estimates[other, measure.name][0] > estimates[best, measure.name][0]
        for sentence in said["What would help"]:
            settled = re.search(r"Settled: (.*?)\. ?", sentence)
            for side, names in re.findall(rf"{best} is (ahead of|behind) ([^;.]*)", settled[1] if settled else ""):
                if side == "ahead of":
                    assert not expected & set(names.split(", "))
                else:
                    claimed = {name for name, pair in pairs.items() if pair.verdict in CLAIMED}
                    assert not claimed & set(names.split(", "))


def test_what_is_said_of_judging_is_about_the_open_question(made: Made) -> None:
    for measure, said in made.said.items():
        best = made.report.ranked(measure)[0].run
        pairs = pairs_of(made, measure.name, best)
        unclaimed = {name: p for name, p in pairs.items() if p.verdict not in CLAIMED}
        reversible = {name for name, p in unclaimed.items() if p.reversible != "no"}
        found = made.report.judging.get(measure.name)
        if found is None:
            assert not reversible
            missing = any(p.reason.startswith("judging") for p in unclaimed.values())
            start = "Judging can do one thing" if missing else "Judging is not what is missing"
            assert any(s.startswith(start) for s in said["What would help"])
            continue
        assert found.runs[0] == best
        assert set(found.runs[1:]) <= reversible
        assert len(found.runs) == min(5, 1 + len(reversible))
        assert all(a == 0 for a, _ in found.open_pairs)
        assert found.depth == (100 if measure.k is None else int(measure.k))
        told = next(s for s in said["What would help"] if s.startswith(f"Judging, for {best} against"))
        assert f"by {measure.name}" in told


def test_where_judging_can_only_add_significance_the_documents_are_named() -> None:
    options: dict[str, Any] = {**SMALL, "systems": 3, "n_topics": 15, "pool_depth": 15, "unpooled": 1, "seed": 13}
    collection = simulate(**options)
    exp = fm.Experiment(collection.qrels, collection.runs, pooled=collection.pooled, workers=1)
    report = run_report(exp, exp.measures(["nDCG@10"]))
    measure = report.measures[0]
    sentence, documents = story.judging_sentences(report, measure)
    best = report.ranked(measure)[0].run
    [rival] = [name for name in collection.runs if sentence.endswith(f"those from {name} may become significant.")]
    assert documents.startswith(f"For {rival} judge the unjudged documents of {best} and {rival} down to rank 30. ")
    assert "--missing --depth 30 --qrels FILE" in documents


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
    for measure, found in made.claims.items():
        best = made.report.ranked(measure)[0].run
        low, high = map(float, dict(found[0].evidence)["possible range over judging"].split(" to "))
        assert low - 5.1e-5 <= made.truth[measure.name][best] <= high + 5.1e-5


def test_the_estimate_that_is_told_is_that_of_predict(made: Made) -> None:
    exp = fm.Experiment(made.collection.qrels, made.collection.runs, pooled=made.collection.pooled, workers=1)
    rows = exp.predict([m.name for m in made.report.measures]).rows()
    for measure in made.report.measures:
        best = made.report.ranked(measure)[0].run
        row = next(row for row in rows if (row[0], row[2]) == (best, measure.name))
        estimate, interval = f"{row[7]:.4f}", f"95% interval {row[8]:.4f} to {row[9]:.4f}"
        claim = made.claims[measure][0]
        assert f" is estimated at {estimate} ({interval})" in claim.sentence or "is the same" in claim.sentence
        assert ("estimate", f"{estimate}, {interval}") in claim.evidence


# -- what may be written ----------------------------------------------------------------------------------------------


def test_claims_are_few_and_complete(made: Made) -> None:
    for measure, found in made.claims.items():
        assert 4 <= len(found) <= 10
        assert [claim.may_not for claim in found] == sorted(claim.may_not for claim in found)
        for claim in found:
            assert claim.may_not == claim.sentence.startswith("May not be claimed: ")
            assert claim.sentence.endswith(".")
            assert re.search(r"\d+ topics?\b", claim.sentence), claim.sentence
            name = measure.name if claim.about != "depth" else measure.name.partition("@")[0]
            assert name in claim.sentence or claim.about == "measures", claim.sentence
            assert claim.evidence
            assert all(label and value for label, value in claim.evidence)
            assert all(value in claim.with_evidence for _, value in claim.evidence)


def test_a_pair_is_claimed_exactly_by_its_verdict(made: Made) -> None:
    """The figures of each sentence are those of the comparison and of the scores."""
    topics, seen = len(made.report.qrels.topics), 0
    for measure, found in made.claims.items():
        ranked = [run.run for run in made.report.ranked(measure)]
        scores = {run.run: f"{run.mean(measure)['score'] or 0.0:.4f}" for run in made.report.evaluation.runs}
        pairs = pairs_of(made, measure.name, ranked[0])
        about = [claim for claim in found if claim.about == "rival"]
        assert len(about) == 3
        for claim in about:
            names = re.search(r"(?:, |that )(\w+) (?:has higher \S+ than|and) (\w+)", claim.sentence)
            assert names is not None
            better, worse = names.groups()
            pair = pairs[worse if better == ranked[0] else better]
            assert ranked[0] in (better, worse)
            assert {better, worse} <= set(ranked[:4])
            assert claim.may_not == (pair.verdict not in CLAIMED)
            assert f"{scores[better]}" in claim.sentence
            assert f"n {topics} topics" in claim.sentence
            evidence = dict(claim.evidence)
            assert evidence["verdict"] == pair.verdict
            if pair.verdict == "tie":
                continue
            p = "< 0.0001" if pair.p_corrected < 0.0001 else f"= {pair.p_corrected:.4f}"
            total = len(made.report.pairs(measure))
            assert (
                f"{scores[better]} vs {scores[worse]}; paired t-test, Holm-corrected over {total} pairs, p {p}"
                in claim.sentence
            )
            assert ("not significant" in claim.sentence) == (pair.verdict == "open")
            if pair.verdict in CLAIMED:
                share = re.search(
                    r"with (more than )?(\d+)% probability the difference is still significant", claim.sentence
                )
                assert share is not None
                assert int(share[2]) / 100 <= (pair.p_holds or 0.0) + 1e-9
                assert ("reverses the sign" in claim.sentence) == (pair.verdict == "certain")
            if pair.reversible == "yes" and "fragility" in evidence:
                assert pair.fragility_low is not None
                assert (
                    f"{int(pair.fragility_low):,}" in evidence["fragility"] or pair.fragility_low == pair.fragility_high
                )
            seen += 1
    assert seen


def test_nothing_that_is_claimed_of_a_pair_contradicts_its_range(made: Made) -> None:
    """With the documents of the two judged, the one that is said to stay ahead is ahead."""
    for measure, found in made.claims.items():
        for claim in found:
            if claim.about != "rival":
                continue
            stays = re.search(r"On these topics (\w+) stays ahead", claim.sentence)
            names = re.search(r"that (\w+) has higher \S+ than (\w+)", claim.sentence)
            if stays and names:
                runs = {name: made.collection.runs[name] for name in names.groups()}
                then = fm.evaluate(judged(made, list(runs)), runs, measure.name)
                scores = dict(zip(then["run"], then["score"], strict=True))
                assert max(scores, key=lambda run: scores[run]) == stays[1]


def test_how_many_are_worse_and_who_may_be_best(made: Made) -> None:
    for measure, found in made.claims.items():
        best = made.report.ranked(measure)[0].run
        verdicts = Counter(pair.verdict for pair in pairs_of(made, measure.name, best).values())
        claimed, others = verdicts["certain"] + verdicts["supported"], verdicts.total()
        all_others = [claim.sentence for claim in found if claim.about == "all"]
        assert len(all_others) == (claimed > 0)
        if claimed:
            whom = f"all {others} other runs" if claimed == others else f"{claimed} of the {others} other runs"
            assert f"{best} has higher {measure.name} than {whom} (" in all_others[0]
            assert ("reverses" in all_others[0]) == (verdicts["certain"] > 0)
        assert any(claim.about == "best" for claim in found) == (claimed < others)
        (ranks,) = [claim for claim in found if claim.about == "ranks"]
        standings = made.report.standings(measure)
        first = [run for run, one in standings.items() if one.rank_ci_low == 1]
        assert ranks.may_not == (len(first) == len(standings))
        if not ranks.may_not and len(first) > 1:
            assert f"is one of {len(first)} (" in ranks.sentence
            assert f"{best} is among the first {standings[best].rank_ci_high} (" in ranks.sentence


def test_possible_ranks_hold_the_true_ones(made: Made) -> None:
    for measure in made.report.measures:
        truth = made.truth[measure.name]
        for run, one in made.report.standings(measure).items():
            if one.rank_low is None or one.rank_high is None:
                continue
            true = 1 + sum(score > truth[run] + 1e-9 for score in truth.values())
            assert one.rank_low <= true <= one.rank_high


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
