"""Simulated collections: what the arguments promise, and the look of a TREC collection."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.data import fake_text
from fathoms.data.runs import Run
from fathoms.data.simulate import Collection, simulate, write
from fathoms.estimate.gain_models import GAIN_MODELS
from fathoms.evidence.order import contradictions
from fathoms.evidence.pool import pool_documents
from tests.support.commands import status as fathoms

Pairs = set[tuple[str, str]]


@pytest.fixture(scope="module")
def collection() -> Collection:
    """Small, with everything in it."""
    return simulate(systems=12, n_topics=10, depth=200, ties=0.3, contradictions=0.25, texts=True, seed=1)


@pytest.fixture(scope="module")
def larger() -> Collection:
    """Enough systems and topics for averages, out of more documents than anyone looks at."""
    return simulate(systems=30, n_topics=20, n_docs=100_000, pool_depth=50, max_grade=1)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def pairs(frame: pl.DataFrame) -> Pairs:
    return set(frame.select("topic", "doc").iter_rows())


def grades(frame: pl.DataFrame) -> dict[tuple[str, str], int]:
    return {(topic, doc): grade for topic, doc, grade in frame.select("topic", "doc", "grade").iter_rows()}


def read(collection: Collection) -> dict[str, Run]:
    runs = fm.read_runs({name: frame.rename({"doc": "document"}) for name, frame in collection.runs.items()})
    return {name: runs[name] for name in runs}


def means(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.filter(pl.col("topic") == "all").select("run", "score").iter_rows())


def score(collection: Collection, judgments: pl.DataFrame, measure: str) -> dict[str, float]:
    return means(fm.evaluate(judgments.rename({"doc": "document"}), read(collection), measure))


# -- the same arguments, the same bytes ---------------------------------------------------------------------------


def test_seed_decides(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"systems": 5, "n_topics": 4, "depth": 100, "contradictions": 0.5, "texts": True}
    for name, seed in (("once", 3), ("again", 3), ("other", 4)):
        write(simulate(**settings, seed=seed), tmp_path / name)
    once, again, other = (files(tmp_path / name) for name in ("once", "again", "other"))
    assert once == again
    assert once.keys() == other.keys()
    same = {name for name in once if once[name] == other[name]}
    assert same <= {"pooled.txt", "groups.tsv"}


def test_texts_change_nothing_else(tmp_path: Path) -> None:
    for name, texts in (("plain", False), ("worded", True)):
        write(simulate(systems=4, n_topics=3, depth=50, texts=texts), tmp_path / name)
    plain, worded = files(tmp_path / "plain"), files(tmp_path / "worded")
    assert worded.keys() - plain.keys() == {"docs.jsonl", "topics.jsonl"}
    assert all(worded[name] == plain[name] for name in plain)


def test_files_hold_the_collection(collection: Collection, tmp_path: Path) -> None:
    write(collection, tmp_path)
    assert (tmp_path / "pooled.txt").read_text().split() == collection.pooled
    rows = [line.split("\t") for line in (tmp_path / "groups.tsv").read_text().splitlines()]
    assert dict(rows) == collection.groups
    assert list(collection.groups) == list(collection.runs)
    from_file = fm.evaluate(tmp_path / "qrels.txt", tmp_path / "runs", "AP")
    assert means(from_file) == score(collection, collection.qrels, "AP")


# -- judgments ----------------------------------------------------------------------------------------------------


def test_truth_is_complete(collection: Collection) -> None:
    truth = grades(collection.truth)
    assert len(truth) == len(collection.truth)
    retrieved = set().union(*(pairs(run) for run in collection.runs.values()))
    assert retrieved <= truth.keys()
    assert all(grade > 0 for pair, grade in truth.items() if pair not in retrieved)
    judged = grades(collection.qrels)
    assert judged.items() <= truth.items()
    assert len(judged) < len(truth)


def test_every_grade_in_every_topic_fewer_of_the_higher() -> None:
    truth = simulate(systems=2, n_topics=10, depth=100, max_grade=4).truth
    counts = truth.filter(pl.col("grade") > 0).group_by("topic", "grade").len()
    assert len(counts) == 40
    by_grade = counts.group_by("grade").agg(pl.col("len").sum()).sort("grade")["len"].to_list()
    assert by_grade == sorted(by_grade, reverse=True)
    assert by_grade[3] < by_grade[0] / 2


@pytest.mark.parametrize("pool_depth", [1, 20, 150])
def test_pool_is_the_top_of_the_pooled_runs_in_trec_order(pool_depth: int) -> None:
    collection = simulate(systems=9, n_topics=5, depth=200, pool_depth=pool_depth, ties=0.6, seed=2)
    runs = read(collection)
    pooled = [runs[name] for name in collection.pooled]
    expected = {(topic, doc) for topic, doc, _ in pool_documents(pooled, "trec", "float32", depth=pool_depth)}
    assert pairs(collection.qrels) == expected
    by_line = {(topic, doc) for topic, doc, _ in pool_documents(pooled, "run", "float64", depth=pool_depth)}
    assert by_line != expected  # so the order of ties mattered


# -- teams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grade", [0, 1])
def test_runs_of_a_team_retrieve_the_same_documents(larger: Collection, grade: int) -> None:
    """The same wrong ones too, and these above all."""
    of_grade = pairs(larger.truth.filter(pl.col("grade") == grade))
    tops = {name: pairs(run.filter(pl.col("rank") <= 50)) & of_grade for name, run in larger.runs.items()}
    overlaps: dict[bool, list[float]] = {True: [], False: []}
    for one, other in combinations(tops, 2):
        overlap = 2 * len(tops[one] & tops[other]) / (len(tops[one]) + len(tops[other]))
        overlaps[larger.groups[one] == larger.groups[other]].append(overlap)
    assert np.mean(overlaps[True]) > (1.3, 1.1)[grade] * np.mean(overlaps[False])


def test_two_runs_of_each_team_are_pooled_and_none_of_the_last(larger: Collection) -> None:
    teams = list(larger.groups.values())
    assert len(set(teams)) == 10
    assert len({teams.count(team) for team in teams}) > 2
    for team in set(teams):
        runs = [name for name, its in larger.groups.items() if its == team]
        pooled = [name for name in runs if name in larger.pooled]
        assert pooled == ([] if team == teams[-1] else runs[:2])


def test_a_late_team_is_judged_least(larger: Collection) -> None:
    judged = pairs(larger.qrels)
    share = {}
    for name, run in larger.runs.items():
        top = pairs(run.filter(pl.col("rank") <= 50))
        share[name] = len(top & judged) / len(top)
    late = larger.groups["sys30"]
    others = [share[name] for name in share if name not in larger.pooled and larger.groups[name] != late]
    assert share["sys30"] < np.mean(others)
    assert share["sys30"] > 0.3


@pytest.mark.parametrize(("systems", "teams", "unpooled"), [(1, None, None), (5, 5, 2), (7, 1, 0), (9, 4, 8)])
def test_numbers_of_teams_and_pooled_runs(systems: int, teams: int | None, unpooled: int | None) -> None:
    made = simulate(systems=systems, n_topics=2, n_docs=300, depth=50, teams=teams, unpooled=unpooled)
    assert len(made.runs) == systems
    assert len(set(made.groups.values())) == (teams or 1)
    assert len(made.pooled) == systems - (unpooled or 0)


# -- runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [0.0, 0.02, 0.1, 0.5, 1.0])
def test_ties_at_the_chosen_rate(ties: float) -> None:
    rates = []
    for run in simulate(systems=20, n_topics=3, depth=300, ties=ties).runs.values():
        topic, scores = run["topic"].to_numpy(), run["score"].to_numpy().astype(np.float32)
        inside = topic[1:] == topic[:-1]
        assert (np.diff(scores)[inside] <= 0).all()
        rates.append(float((np.diff(scores)[inside] == 0).mean()))
    assert np.mean(rates) == pytest.approx(ties, rel=0.15)
    if 0 < ties < 0.2:
        assert max(rates) > 3 * ties  # uneven, as in TREC
        assert np.median(rates) < ties


def test_lines_of_tied_documents_are_in_no_order() -> None:
    made = simulate(systems=3, n_topics=10, depth=500, ties=1.0)
    relevant = made.truth.filter(pl.col("grade") > 0)
    places = [run.join(relevant, on=["topic", "doc"])["rank"] for run in made.runs.values()]
    assert np.mean(pl.concat(places).to_numpy()) == pytest.approx(250, abs=30)


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.01, 1), (0.25, 3), (1.0, 12)])
def test_contradictions_in_the_chosen_share_of_runs(share: float, count: int) -> None:
    made = simulate(systems=12, n_topics=4, depth=100, contradictions=share)
    affected = {name for name, run in read(made).items() if contradictions(run).any()}
    assert len(affected) == count
    for name, frame in made.runs.items():
        for topic in frame.partition_by("topic"):
            ranks = topic["rank"].to_numpy()
            assert sorted(ranks) == list(range(1, len(ranks) + 1))
            wrong = (np.diff(ranks) < 0).mean()
            assert (0.15 < wrong < 0.55) if name in affected else wrong == 0


def test_some_runs_are_short(larger: Collection) -> None:
    lengths = {name: run.group_by("topic").len()["len"] for name, run in larger.runs.items()}
    short = [name for name, length in lengths.items() if length.min() != 1000]
    assert 1 <= len(short) <= 6
    assert all(length.n_unique() == 1 for name, length in lengths.items() if name not in short)
    assert all(lengths[name].n_unique() > 5 for name in short)


def test_quality_is_uneven(larger: Collection) -> None:
    ap = np.array(list(score(larger, larger.truth, "AP").values()))
    assert ap.min() < 0.3 * np.median(ap)
    assert np.median(ap) == pytest.approx(0.23, abs=0.1)
    assert ap.max() > 1.25 * np.median(ap)


# -- topics -------------------------------------------------------------------------------------------------------


def test_relevant_documents_by_topic() -> None:
    truth = simulate(systems=1, n_topics=50, n_docs=30_000, depth=10, max_grade=1).truth
    relevant = truth.group_by("topic").agg(pl.col("grade").sum())["grade"].to_numpy()
    assert len(relevant) == 50
    assert 5 <= relevant.min() <= 25
    assert 250 <= relevant.max() <= 1000
    assert 60 <= np.median(relevant) <= 120


def gains(collection: Collection, depth: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Mean gain of all runs by topic and rank."""
    top = pl.concat([run.filter(pl.col("rank") <= depth) for run in collection.runs.values()])
    known = top.join(collection.truth, on=["topic", "doc"], how="left")
    mean = known.group_by("topic", "rank").agg(pl.col("grade").mean()).sort("topic", "rank")
    return mean["grade"].to_numpy().astype(np.float64).reshape(-1, depth)


def test_gain_falls_with_rank_as_the_weibull_does(larger: Collection) -> None:
    empirical = gains(larger, 100)
    fit = GAIN_MODELS["weibull"].fit(empirical)
    assert fit.rmse.mean() < 0.07
    for other in ("static", "constant", "linear"):
        assert fit.rmse.mean() < GAIN_MODELS[other].fit(empirical).rmse.mean()
    first, last = empirical[:, :3].mean(), empirical[:, 90:].mean()
    assert 0.35 < first < 0.85
    assert 0.02 < last < 0.2
    curves = fit.predict(np.array([1.0, 10.0, 100.0]))
    assert (curves[:, 0].max() - curves[:, 0].min()) > 0.3  # topics differ
    assert (curves.mean(axis=0)[:-1] > curves.mean(axis=0)[1:]).all()


# -- texts --------------------------------------------------------------------------------------------------------


def test_texts_of_all_retrieved_documents_and_of_no_others(collection: Collection) -> None:
    assert collection.docs is not None
    assert collection.topics is not None
    retrieved = {doc for run in collection.runs.values() for doc in run["doc"]}
    assert collection.docs["id"].to_list() == sorted(retrieved)
    assert collection.topics["id"].to_list() == [str(101 + i) for i in range(10)]
    assert collection.topics["title"].n_unique() == 10
    assert simulate(systems=1, n_topics=1, depth=5).docs is None


def test_relevant_documents_name_the_subject_and_others_do_not(collection: Collection) -> None:
    assert collection.docs is not None
    assert collection.topics is not None
    text = {doc: f"{title} {text}".lower() for doc, title, text in collection.docs.iter_rows()}
    thing_and_issue = {
        topic: title.rsplit(" in ", 1)[0].split(" and ") for topic, title, _ in collection.topics.iter_rows()
    }
    relevant = [pair for pair, grade in grades(collection.truth).items() if grade > 0 and pair[1] in text]
    other = [pair for pair, grade in grades(collection.truth).items() if grade == 0 and pair[1] in text]

    def named(pair: tuple[str, str]) -> bool:
        return all(words in text[pair[1]] for words in thing_and_issue[pair[0]])

    assert len(relevant) > 100
    assert all(map(named, relevant))
    assert np.mean([named(pair) for pair in other]) < 0.02


def test_texts_are_readable(collection: Collection) -> None:
    assert collection.docs is not None
    assert collection.topics is not None
    for _, title, text in collection.docs.iter_rows():
        sentences = text.split(". ")
        assert 2 <= len(sentences) <= fake_text.LONGEST
        assert text.endswith(".")
        assert all(sentence[0].isupper() for sentence in (title, *sentences))
        assert not set("{}") & set(title + text)
        assert "  " not in text
    assert all(words[-1] in ".?" for words in collection.topics["description"])
    assert collection.docs["text"].n_unique() > 0.9 * len(collection.docs)


def test_subjects_are_different() -> None:
    subjects = fake_text.subjects(7000, np.random.default_rng(0))
    assert len(set(subjects)) == 7000
    for pick in range(100):
        assert fake_text.astray(subjects[0], pick).issue != subjects[0].issue


# -- the command --------------------------------------------------------------------------------------------------


def test_command_takes_every_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sim"
    settings = {
        "systems": 6,
        "n_topics": 3,
        "n_docs": 400,
        "depth": 60,
        "pool_depth": 7,
        "max_grade": 3,
        "teams": 3,
        "unpooled": 2,
        "ties": 0.4,
        "contradictions": 0.3,
        "seed": 5,
    }
    flags = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]
    assert fathoms("simulate", "-o", folder, *flags, "--texts") == 0
    assert "6 runs, 3 topics" in capsys.readouterr().err
    write(simulate(**settings, texts=True), tmp_path / "expected")  # type: ignore[arg-type]
    assert files(folder) == files(tmp_path / "expected")
    for name, keys in (("docs", ["id", "title", "text"]), ("topics", ["id", "title", "description"])):
        rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        assert all(list(row) == keys for row in rows)
    assert fathoms("simulate", "-o", folder, "--quiet") == 2
    assert "exists already" in capsys.readouterr().err


def test_command_without_options_is_the_function_without_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fathoms("simulate", "-o", tmp_path / "sim", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    write(simulate(), tmp_path / "expected")
    assert files(tmp_path / "sim") == files(tmp_path / "expected")
    assert len(list((tmp_path / "sim" / "runs").iterdir())) == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"systems": 0}, "systems: expected a whole number from 1 on, found 0"),
        ({"n_topics": "x"}, "n_topics: expected a whole number from 1 on, found 'x'"),
        ({"systems": 3, "teams": 4}, "teams must be from 1 to 3"),
        ({"teams": 0}, "teams: expected a whole number from 1 on, found 0"),
        ({"unpooled": 10}, "one run has to be pooled"),
        ({"ties": 1.5}, "ties must be from 0 to 1"),
        ({"contradictions": -0.1}, "contradictions must be from 0 to 1"),
        ({"seed": -1}, "seed: expected a whole number from 0 on, found -1"),
        ({"texts": "no"}, "texts: expected True or False, found 'no'"),
    ],
)
def test_impossible_arguments(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(FathomsError, match=message):
        simulate(**settings)
