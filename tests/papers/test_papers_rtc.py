"""Carterette's tables and figures: a cell of every kind again, by plain loops over the trials and by scipy."""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel, wilcoxon

import fathoms as fm
from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.data.simulate import Collection, simulate, write
from fathoms.estimate.relevance import Experts
from fathoms.papers import rtc, rtc_trials
from fathoms.papers.exhibits import Study
from fathoms.papers.output import write_study
from fathoms.papers.rtc_experts import SimilarExperts, score_chances
from tests.support.commands import status

SETTINGS = rtc.RTCSettings(
    depth=12, trials=4, systems=5, initial=2, until=0.8, methods=("MTC", "RTC"), from_scores=True, workers=1
)
LOSS = 7.0


@pytest.fixture(scope="module")
def made() -> dict[str, Collection]:
    return {f"sim{seed}": simulate(systems=7, n_topics=6, n_docs=300, depth=25, seed=seed) for seed in (5, 6)}


@pytest.fixture(scope="module")
def experiments(made: dict[str, Collection]) -> dict[str, Any]:
    return {name: fm.Experiment(one.truth, one.runs, workers=1) for name, one in made.items()}


@pytest.fixture(scope="module")
def trials(experiments: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of all trials by collection."""
    found = {}
    for name, experiment in experiments.items():
        world = rtc_trials.make_world(experiment, SETTINGS.depth, from_scores=True)
        found[name] = rtc_trials.trials(world, SETTINGS).to_dicts()
    return found


@pytest.fixture(scope="module")
def study(experiments: dict[str, Any]) -> Study:
    return rtc.study(experiments, replace(SETTINGS, worst_loss=LOSS, cap=0.9))


def rows(study: Study, name: str) -> list[dict[str, Any]]:
    return [dict(zip(study[name].columns, row, strict=True)) for row in study[name].rows]


def one(study: Study, table: str, **where: Any) -> dict[str, Any]:
    (row,) = (row for row in rows(study, table) if all(row[key] == value for key, value in where.items()))
    return row


def pairs(
    trials: dict[str, list[dict[str, Any]]], method: str
) -> Iterator[tuple[str, dict[str, Any], float, bool, Any]]:
    """Collection, trial, confidence, whether right, and (originals, similarity), of every pair of a method."""
    for name, some in trials.items():
        for trial in some:
            if trial["method"] == method:
                more = zip(trial["original"], trial["similarity"], strict=True)
                for confidence, right, about in zip(trial["confidence"], trial["right"], more, strict=True):
                    yield name, trial, confidence, right, about


def won(confidence: float, right: bool) -> float:
    return 1.0 if right else -min(LOSS, confidence / (1 - confidence) if confidence < 1 else math.inf)


def check(row: dict[str, Any], some: list[tuple[float, bool]]) -> None:
    assert row["pairs"] == len(some)
    if some:
        assert row["accuracy"] == pytest.approx(100 * statistics.fmean(right for _, right in some))
        assert row["W"] == pytest.approx(statistics.fmean(won(*pair) for pair in some))
    else:
        assert row["accuracy"] is row["W"] is None


@pytest.mark.long
def test_table_1_counts(study: Study, made: dict[str, Collection]) -> None:
    for name, collection in made.items():
        row = one(study, "table1", collection=name)
        grades = collection.truth["grade"].to_list()
        assert (row["topics"], row["runs"], row["judged"]) == (6, 7, len(grades))
        assert row["relevant"] == sum(grade > 0 for grade in grades)


@pytest.mark.long
def test_table_2_is_of_all_collections(study: Study, trials: dict[str, Any]) -> None:
    for method in ("MTC", "RTC", "RTC scores"):
        every = [(confidence, right) for _, _, confidence, right, _ in pairs(trials, method)]
        assert len(every) == 2 * 4 * 10
        check(one(study, "table2", method=method, confidence="all"), every)
        inside = [pair for pair in every if 0.6 <= pair[0] < 0.7]
        row = one(study, "table2", method=method, confidence="0.6 - 0.7")
        check(row, inside)
        assert row["percent_in_bin"] == pytest.approx(100 * len(inside) / len(every))
        check(one(study, "table2", method=method, confidence="1.0"), [pair for pair in every if pair[0] >= 0.99])


def test_table_2b_has_each_collection_and_all(study: Study, trials: dict[str, Any]) -> None:
    def of(name: str, column: str) -> list[float]:
        return [t[column] for one in trials if name in (one, "all") for t in trials[one] if t["method"] == "RTC"]

    for name in ("all", "sim5", "sim6"):
        row = one(study, "table2b", collection=name, method="RTC", figure="median judged")
        assert row["value"] == statistics.median(of(name, "judged"))
        assert row["low"] <= row["value"] <= row["high"]
        row = one(study, "table2b", collection=name, method="RTC", figure="mean tau")
        assert row["value"] == pytest.approx(statistics.fmean(of(name, "tau")))
    every = [won(confidence, right) for _, _, confidence, right, _ in pairs(trials, "RTC")]
    assert one(study, "table2b", collection="all", method="RTC", figure="W")["value"] == pytest.approx(
        statistics.fmean(every)
    )


def test_w_and_calibration_follow_from_the_files(study: Study, tmp_path: Path) -> None:
    """What is written of the trials is enough to make Tables 2 and 2b again."""
    write_study(replace(study, exhibits=[e for e in study.exhibits if e.is_table]), tmp_path)
    with (tmp_path / "pairs.tsv").open() as file:
        kept = list(csv.DictReader(file, delimiter="\t"))
    with (tmp_path / "trials.tsv").open() as file:
        of_trials = list(csv.DictReader(file, delimiter="\t"))
    for method in ("MTC", "RTC"):
        found = [(float(row["confidence"]), row["right"] == "1") for row in kept if row["method"] == method]
        check(one(study, "table2", method=method, confidence="all"), found)
        check(one(study, "table2", method=method, confidence="0.8 - 0.9"), [p for p in found if 0.8 <= p[0] < 0.9])
        W = statistics.fmean(won(*pair) for pair in found)
        assert one(study, "table2b", collection="all", method=method, figure="W")["value"] == pytest.approx(W)
        mine = [row for row in of_trials if row["method"] == method]
        tau = one(study, "table2b", collection="all", method=method, figure="mean tau")["value"]
        assert tau == pytest.approx(statistics.fmean(float(row["tau"]) for row in mine))
        judged = one(study, "table2b", collection="all", method=method, figure="mean judged")["value"]
        assert judged == pytest.approx(statistics.fmean(float(row["judged"]) for row in mine))


def test_tables_3_and_4_split_the_pairs(study: Study, trials: dict[str, Any]) -> None:
    for table, method in (("table3", "RTC"), ("table3b", "MTC")):
        for group, number in (("two original", 2), ("one original", 1), ("no original", 0)):
            some = [(c, right) for _, _, c, right, about in pairs(trials, method) if about[0] == number]
            check(one(study, table, method=method, group=group, confidence="all"), some)
            high = [pair for pair in some if 0.8 <= pair[0] < 0.9]
            check(one(study, table, method=method, group=group, confidence="0.8 - 0.9"), high)
    total = 0
    for low in range(10):
        some = [
            (c, right) for _, _, c, right, (_, similarity) in pairs(trials, "RTC") if int(similarity * 10 + 1e-9) == low
        ]
        found = [row for row in rows(study, "table4") if row["similarity"] == f"{low / 10:g} – {(low + 1) / 10:g}"]
        if found:
            check(next(row for row in found if row["confidence"] == "all"), some)
        total += len(some) if found else 0
    assert total == 80, "every pair is in a group"


def test_a_copy_is_in_the_last_group_of_table_4(made: dict[str, Collection]) -> None:
    collection = made["sim5"]
    runs = {name: collection.runs[name] for name in list(collection.runs)[:3]}
    settings = rtc.RTCSettings(depth=10, trials=1, systems=4, methods=("MTC",), workers=1)
    study = rtc.study(fm.Experiment(collection.truth, {**runs, "copy": next(iter(runs.values()))}, workers=1), settings)
    last = [row for row in rows(study, "table4") if row["similarity"] == "0.9 – 1" and row["confidence"] == "all"]
    assert last[0]["pairs"] == 1
    assert list(dict.fromkeys(row["similarity"] for row in rows(study, "table4")))[:2] == ["0 – 0.1", "0.1 – 0.2"]


def test_tenths_of_similarity() -> None:
    similarity = np.array([[0.0, 0.0999, 0.1, 0.3, 0.7, 0.95, 1.0]])
    nothing: Any = np.zeros(0)
    outcome = rtc_trials.Outcome(nothing, nothing, nothing, similarity, nothing, nothing)
    assert outcome.tenths.tolist() == [[0, 0, 1, 3, 7, 9, 9]]


def test_table_5_has_collections_side_by_side(study: Study, trials: dict[str, Any]) -> None:
    for name in trials:
        mine = [(c, right) for where, _, c, right, _ in pairs(trials, "RTC") if where == name]
        check(one(study, "table5", collection=name, method="RTC", confidence="all"), mine)
    printed = study["table5"].printed()
    assert [column.head for column in printed.columns] == ["Confidence", "sim5", "sim6"]
    assert [row[0].text for row in printed.rows][-3:] == ["mean W", "median judged", "mean τ"]
    judged = [t["judged"] for t in trials["sim6"] if t["method"] == "RTC"]
    assert printed.rows[-2][2].text == f"{statistics.median(judged):,.0f}"
    bin_of_one = one(study, "table5", collection="sim5", method="RTC", confidence="0.5 - 0.6")["accuracy"]
    assert printed.rows[0][1].text == ("–" if bin_of_one is None else f"{bin_of_one:.1f}%")
    assert {row["method"] for row in rows(study, "table5b")} == {"MTC", "RTC scores"}


def test_figure_2_averages_pairs(study: Study, trials: dict[str, Any]) -> None:
    every = [(c, right) for _, _, c, right, _ in pairs(trials, "RTC")]
    (row,) = (row for row in rows(study, "fig2") if row["method"] == "RTC")  # fewer than 200 pairs are one point
    assert row["confidence"] == pytest.approx(statistics.fmean(c for c, _ in every))
    assert row["accuracy"] == pytest.approx(statistics.fmean(right for _, right in every))
    assert {row["method"] for row in rows(study, "fig2")} == {"MTC", "RTC", "RTC scores"}, "the ideal is no method"


@pytest.mark.parametrize(("pairs", "points"), [(40, 1), (450, 4), (900, 5), (4500, 9), (45_000, 25)])
def test_figure_2_has_points_of_500_pairs_or_at_least_5(pairs: int, points: int) -> None:
    assert rtc._points(pairs) == points


@pytest.mark.skipif(not charts.available(), reason="needs the extra report")
def test_figure_2_is_drawn_from_04_with_the_ideal_as_a_line(study: Study) -> None:
    chart = study["fig2"].chart
    assert chart is not None
    ideal, curves = chart.chart().to_dict()["layer"]
    assert curves["encoding"]["y"]["scale"]["domain"][0] == 0.4
    assert ideal["mark"]["type"] == "line"
    assert "color" not in ideal["encoding"]


def test_side_results(study: Study, trials: dict[str, Any]) -> None:
    def value(method: str, figure: str) -> Any:
        return one(study, "tableA", method=method, figure=figure)["value"]

    every = list(pairs(trials, "MTC"))
    assert value("MTC", "mean judged") == pytest.approx(statistics.fmean(trial["judged"] for _, trial, *_ in every))
    capped = [won(min(c, 0.9), right) for _, _, c, right, _ in every]
    assert value("MTC", "W with confidence capped at 0.9") == pytest.approx(statistics.fmean(capped))
    before = [trial["judged"] for _, trial, c, right, _ in every if c >= 0.9 and not right]
    found = value("MTC", "mean judgments before a wrong prediction at 0.9 and above")
    assert found == (pytest.approx(statistics.fmean(before)) if before else None)
    few = [won(c, right) for _, trial, c, right, _ in every if trial["judged"] <= 100]
    assert value("MTC", "W of those") == (pytest.approx(statistics.fmean(few)) if few else None)
    unlike = [right for _, _, _, right, (_, similarity) in pairs(trials, "IP") if similarity < 0.1]
    found = value("IP", "accuracy of pairs with less than 10% in common")
    assert found == (pytest.approx(100 * statistics.fmean(unlike)) if unlike else None)


@pytest.mark.parametrize(("right", "word"), [(9, "more often than"), (6, "as often as"), (2, "less often than")])
def test_pooling_on_unlike_pairs_is_set_beside_the_paper(right: int, word: str) -> None:
    hits = np.array([[True] * right + [False] * (10 - right)])
    flat = np.full((1, 10), 0.6)
    outcome = rtc_trials.Outcome(flat, hits, np.zeros((1, 10), int), flat - 0.6, np.ones(1), np.ones(1))
    collection: Any = rtc.Collection("c", None, None, {"RTC": outcome}, outcome)  # type: ignore[arg-type]
    results = rtc.Results([collection], rtc.RTCSettings(methods=("RTC",)))
    (said,) = rtc._unlike_pairs(results, {"IP": 10.0 * right, "RTC": 90.0})
    assert (
        f"On the 10 pairs with less than 10% of their documents in common, incremental pooling is right {word}" in said
    )
    assert f"in {10 * right:.1f}% here, 60% there. RTC is right in 90.0% (the paper: 87.6%)." in said


def test_paired_tests_are_scipys(study: Study, trials: dict[str, Any]) -> None:
    def of(method: str, column: str) -> list[float]:
        return [t[column] for some in trials.values() for t in some if t["method"] == method]

    row = one(study, "tableB", method="MTC", other="RTC", figure="tau", test="ttest_rel")
    assert row["p"] == pytest.approx(ttest_rel(of("MTC", "tau"), of("RTC", "tau")).pvalue)
    row = one(study, "tableB", method="MTC", other="RTC", figure="judged", test="wilcoxon")
    assert row["p"] == pytest.approx(wilcoxon(of("MTC", "judged"), of("RTC", "judged")).pvalue)


def test_daggers_are_the_tests(study: Study) -> None:
    printed = study["table2"].printed()
    groups = [column.group for column in printed.columns]
    for label, figure, test in (("median judged", "judged", "wilcoxon"), ("mean τ", "tau", "ttest_rel")):
        (row,) = (row for row in printed.rows if row[0].text == label)
        for method in ("RTC", "RTC scores"):
            cell = row[max(i for i, group in enumerate(groups) if group == method)]
            p = [t["p"] for t in rows(study, "tableB") if (t["method"], t["other"]) == ("MTC", method)
                 and (t["figure"], t["test"]) == (figure, test)]  # fmt: skip
            assert bool(cell.mark) == bool(p and p[0] < 0.05)


def test_figure_1_is_the_model_at_work(study: Study, experiments: dict[str, Any]) -> None:
    """Ranks are the runs'; q* falls with them; the logit of p is linear in both experts' q (eq. 2)."""
    found = rows(study, "fig1")
    assert [row["letter"] for row in found] == [letter for letter in "ABCDEF" for _ in range(2)]
    world = rtc_trials.make_world(experiments["sim5"], SETTINGS.depth)
    for row in found:
        place = world.candidates.place[world.candidates.names.index(row["expert"])]
        topic = world.candidates.topics.index(row["topic"])
        number = world.candidates.find(row["topic"], row["document"])
        assert place[topic, row["rank"] - 1] == number
    by_document = list(zip(found[::2], found[1::2], strict=True))
    logits = [math.log(a["p"] / (1 - a["p"])) for a, _ in by_document]
    design = np.array([[1.0, a["q"], b["q"]] for a, b in by_document])
    solution = np.linalg.lstsq(design, np.array(logits), rcond=None)
    np.testing.assert_allclose(design @ solution[0], logits, atol=1e-9)
    coefficients = dict(zip(("", " q1", " q2"), solution[0], strict=True))
    for name, coefficient in coefficients.items():
        assert f"{abs(coefficient):.2f}{name}" in study["fig1"].note
    assert {row["judged"] for row in found} == {"no"}
    of_topic = sorted((row["rank"], -row["q_star"]) for row in found if row["topic"] == found[0]["topic"])
    assert of_topic == sorted(of_topic, key=lambda pair: (pair[1], pair[0])), "q* falls with the rank"


def test_the_example_has_the_likeliest_the_least_likely_and_the_most_disputed_document() -> None:
    """Of two topics, with the most and the fewest relevant documents among those judged."""
    rng = np.random.default_rng(4)
    ranks = np.array([[rng.permutation(9) + 1 for _ in range(2)] for _ in range(4)])
    ranks[:, 1, 8] = 0  # which only the first expert ranks
    probability = rng.random((4, 9))
    judged = np.zeros((4, 9), dtype=bool)
    judged[:, :2] = True
    relevant = np.zeros((4, 9), dtype=bool)
    relevant[1, :2] = relevant[2, 0] = relevant[3, 1] = True
    judged[3, :6], relevant[3, :6] = True, True  # of which no three documents are left
    shown = rtc._example_documents(ranks, judged, relevant, probability)
    assert list(shown) == [1, 0]
    for topic, columns in shown.items():
        open_columns = sorted(range(2, 8), key=probability[topic].__getitem__)
        dispute = {c: abs(int(ranks[topic, 0, c]) - int(ranks[topic, 1, c])) for c in open_columns[1:-1]}
        assert {open_columns[0], open_columns[-1]} < set(columns)
        (disputed,) = set(columns) - {open_columns[0], open_columns[-1]}
        assert dispute[disputed] == max(dispute.values())
        assert [ranks[topic, 0, c] for c in columns] == sorted(ranks[topic, 0, c] for c in columns)


@pytest.mark.parametrize(("judged", "number"), [([9, 600, 4000], 1), ([9, 40, 30], 1), ([500, 9, 900], 0)])
def test_the_example_is_a_trial_that_calibrates_experts(judged: list[int], number: int) -> None:
    none = np.zeros((3, 1))
    outcome = rtc_trials.Outcome(none, none > 0, none.astype(int), none, np.array(judged), np.zeros(3))
    assert rtc._example_trial(outcome) == number


# -- probabilities from scores ----------------------------------------------------------------------------------------


def test_score_mixture_is_an_exponential_and_a_normal() -> None:
    """It finds the relevant part of scores drawn from such a mixture, and a ranking's length does not matter."""
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.exponential(0.12, 170), rng.normal(0.8, 0.08, 30)])
    order = np.argsort(-scores)
    padded = np.append(scores[order], [np.nan] * 5)[None, None, :]
    chances = score_chances(padded)[0, 0]
    is_normal = (order >= 170).astype(float)
    assert abs(chances[:200].sum() - 30) < 6
    assert chances[:200][is_normal == 1].mean() > 0.85
    assert chances[:200][is_normal == 0].mean() < 0.06
    assert (np.diff(chances[:200]) <= 1e-12).all(), "never rises down the ranking"
    assert (chances[200:] == 0).all()
    np.testing.assert_allclose(score_chances(3 * padded[..., :200] - 50)[0, 0], chances[:200], atol=1e-6)
    assert np.ptp(score_chances(np.ones((1, 1, 4)))) == 0


def test_scores_of_equal_chances_are_ranks_no_more(made: dict[str, Collection]) -> None:
    """Other scores in the same order leave RTC as it is, and change RTC with probabilities from scores."""
    collection = made["sim6"]
    bent = {n: run.with_columns(pl.col("score").rank() ** 3) for n, run in collection.runs.items()}
    settings = replace(SETTINGS, trials=2, methods=("RTC",))
    found = []
    for runs in (collection.runs, bent):
        world = rtc_trials.make_world(fm.Experiment(collection.truth, runs, ties="run"), 12, from_scores=True)
        rows = rtc_trials.trials(world, settings).to_dicts()
        found.append({(row["trial"], row["method"]): row["confidence"] for row in rows})
    assert found[0][0, "RTC"] == found[1][0, "RTC"]
    assert found[0][0, "RTC scores"] != found[1][0, "RTC scores"]


# -- section 6 --------------------------------------------------------------------------------------------------------


def test_similarity_is_the_mean_cosine_with_relevant_documents(tmp_path: Path) -> None:
    made = simulate(systems=4, n_topics=3, n_docs=120, depth=15, seed=4, texts=True)
    write(made, tmp_path)
    world = rtc_trials.make_world(fm.Experiment(made.truth, made.runs), 8, docs=str(tmp_path / "docs.jsonl"))
    found, texts = world.candidates, world.texts
    assert texts is not None
    assert made.docs is not None
    block = found.block()
    model = SimilarExperts(block, texts=texts)
    relevant = block.values(world.relevant)
    similar = model._similarity(relevant)[:, :, 0]
    words = {row["id"]: re.findall(r"\w+", f"{row['title']} {row['text']}".lower()) for row in made.docs.to_dicts()}
    names = sorted({document.decode() for document in found.documents})
    in_documents = Counter(word for name in names for word in set(words[name]))

    def vector(name: str) -> dict[str, float]:
        counts = Counter(words[name])
        raw = {w: (1 + math.log(n)) * math.log(len(names) / in_documents[w]) for w, n in counts.items()}
        length = math.sqrt(sum(x * x for x in raw.values()))
        return {w: x / length for w, x in raw.items()}

    def name_at(topic: int, column: int) -> str:
        return found.documents[block.number[topic, column]].decode()

    for topic in range(3):
        columns = np.flatnonzero(block.present[topic]).tolist()
        for column in columns[:6]:
            others = [name_at(topic, c) for c in columns if relevant[topic, c] and c != column]
            mine = vector(name_at(topic, column))
            cosines = [sum(x * mine.get(w, 0.0) for w, x in vector(other).items()) for other in others]
            assert similar[topic, column] == pytest.approx(statistics.fmean(cosines) if cosines else 0.0)
    with_texts = model.fit(relevant, relevant).features.shape[2]
    assert with_texts == Experts(block).fit(relevant, relevant).features.shape[2] + 1


def test_earlier_documents_are_judged_alone(tmp_path: Path, made: dict[str, Collection]) -> None:
    collection = made["sim5"]
    names = sorted({doc for run in collection.runs.values() for doc in run["doc"]})
    dates = {name: f"2020-01-{1 + i % 28:02}" for i, name in enumerate(names)}
    (tmp_path / "dates.tsv").write_text("".join(f"{name}\t{date}\n" for name, date in dates.items()))
    experiment = fm.Experiment(collection.truth, collection.runs, workers=1)
    world = rtc_trials.make_world(experiment, 6, dates=str(tmp_path / "dates.tsv"))
    earlier = world.earlier
    assert earlier is not None
    cut = statistics.median(int(date[-2:]) for date in dates.values())
    early = {name for name, date in dates.items() if int(date[-2:]) <= cut}
    assert earlier.share == pytest.approx(len(early) / len(names))
    assert earlier.undated == 0
    for system, name in enumerate(earlier.candidates.names):
        for topic, topic_name in enumerate(earlier.candidates.topics):
            run = collection.runs[name].filter(pl.col("topic") == topic_name).sort("score", "doc", descending=True)
            expected = [doc for doc in run["doc"] if doc in early][:6]
            place = [n for n in earlier.candidates.place[system, topic].tolist() if n >= 0]
            assert [earlier.candidates.documents[n].decode() for n in place] == expected
    for number, document in enumerate(earlier.candidates.documents.tolist()):
        now = int(earlier.now[number])
        assert now < 0 or world.candidates.documents[now] == document
    settings = rtc.RTCSettings(
        depth=6, trials=2, systems=4, until=0.8, methods=("MTC", "RTC"), dates=str(tmp_path / "dates.tsv"), workers=1
    )
    study = rtc.study(experiment, settings)
    assert {(row["method"], row["judged_documents"]) for row in rows(study, "tableC")} == {
        (method, which) for method in ("MTC", "RTC") for which in ("all", "earlier")
    }
    trials = rtc_trials.trials(world, settings).to_dicts()
    judged = [trial["judged"] for trial in trials if trial["method"] == "RTC, grown"]
    found = one(study, "tableC", method="RTC", judged_documents="earlier")
    assert found["median_judged"] == statistics.median(judged)
    whole = [trial["tau"] for trial in trials if trial["method"] == "MTC"]
    assert one(study, "tableC", method="MTC", judged_documents="all")["mean_tau"] == pytest.approx(
        statistics.fmean(whole)
    )
    (tmp_path / "bad.tsv").write_text("nothing\t2020-01-01\n")
    with pytest.raises(FathomsError, match="has a date of no document of the runs"):
        rtc_trials.make_world(experiment, 6, dates=str(tmp_path / "bad.tsv"))


# -- settings and the command -----------------------------------------------------------------------------------------


def test_settings_are_checked() -> None:
    for wrong in ({"initial": 1}, {"systems": 2}, {"until": 0.5}, {"cap": 1.0}):
        with pytest.raises(FathomsError):
            rtc.RTCSettings(**wrong)


@pytest.mark.long
def test_flags_folders_and_a_truth_that_is_too_shallow(
    tmp_path: Path,
    made: dict[str, Collection],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)
    for name, collection in made.items():
        write(collection, tmp_path / name)
        (tmp_path / name / "truth.txt").rename(tmp_path / name / "qrels.txt")
    shallow = simulate(systems=6, n_topics=5, n_docs=300, depth=30, pool_depth=5, seed=8, unpooled=0)
    write(shallow, tmp_path / "shallow")
    words = ["--trials", "1", "--systems", "4", "--judged-first", "3", "--confidence", "0.7", "--cap", "0.8"]
    words += ["--worst-loss", "9", "--depth", "12", "--workers", "1", "-o", str(tmp_path / "out")]
    folders = [tmp_path / name for name in ("sim5", "sim6", "shallow")]
    assert status("papers", "rtc", *folders, *words) == 0
    page, said = (tmp_path / "out" / "index.md").read_text(), capsys.readouterr().err
    assert "draw 4 systems and judge 3 of them to 70% confidence; depth 12" in page
    assert "Losses are capped at 9" in page
    assert "W with confidence capped at 0.8" in page
    assert "| Confidence | accuracy sim5 | accuracy sim6 | accuracy shallow |" in page
    warning = "shallow: the judgments go to depth 5, and the rankings are read to 12"
    assert f"**Warning**: {warning}" in page
    assert f"warning: {warning}" in said
    assert "sim5: the judgments" not in page
    assert status("papers", "rtc", *folders, *words, "--quiet") == 0, "also into a folder that is there"
    assert (tmp_path / "out" / "index.md").read_text() == page
