"""Yang, Moffat and Turpin's tables: cells of every kind again by plain loops and scipy; ties broken by other keys."""

from __future__ import annotations

import statistics
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import kendalltau, ttest_rel

import fathoms as fm
from fathoms.base import charts
from fathoms.base.errors import FathomsWarning, InputError
from fathoms.data.simulate import Collection, simulate, write
from fathoms.data.tie_keys import read_tie_key
from fathoms.measures.banding import worst_loss
from fathoms.measures.parse import parse_measure
from fathoms.papers import ties
from fathoms.papers.exhibits import Study
from tests.support.commands import status


@pytest.fixture(scope="module")
def made() -> Collection:
    return simulate(systems=8, n_topics=6, n_docs=300, depth=60, pool_depth=20, seed=9)


@pytest.fixture(scope="module")
def folder(made: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ties") / "sim"
    write(made, path)
    return path


@pytest.fixture(scope="module")
def key(folder: Path) -> Path:
    """The length of each document, by a rule that has nothing to do with its id; some have none."""
    documents = sorted({d for run in fm.read_runs(folder / "runs").values() for d in run.documents.tolist()})
    lines = [f"{d.decode()} {int(d[-3:]) * 7919 % 101}" for d in documents if int(d[-2:]) % 9]
    (folder / "lengths.txt").write_text("\n".join(lines) + "\n")
    return folder / "lengths.txt"


@pytest.fixture(scope="module")
def study(folder: Path, key: Path) -> Study:
    return ties.study(
        fm.read_qrels(folder / "qrels.txt"), fm.scan_runs(folder / "runs"), ties.TiesSettings(tie_key=key)
    )


def rows(study: Study, name: str) -> list[dict[str, Any]]:
    exhibit = study[name]
    return [dict(zip(exhibit.columns, row, strict=True)) for row in exhibit.rows]


def scores(folder: Path, source: Any, measure: str, how: str, systems: list[str]) -> list[list[float]]:
    """[system][topic], in the order of a policy."""
    found = fm.evaluate(folder / "qrels.txt", source, measure, ties=how, by_topic=True)  # type: ignore[arg-type]
    of = found.filter(pl.col("topic") != "all").sort("topic")
    return [of.filter(pl.col("run") == name)["score"].to_list() for name in systems]


@pytest.mark.long
def test_table_1_counts_lines_out_of_rank_order(study: Study, folder: Path) -> None:
    fallen = documents = topics = systems = 0
    runs = sorted((folder / "runs").glob("*"))
    for path in runs:
        above: dict[str, int] = {}
        bad = set()
        for line in path.read_text().splitlines():
            topic, _, _, rank, *_ = line.split()
            documents += 1
            if topic in above and int(rank) < above[topic]:
                fallen += 1
                bad.add(topic)
            above[topic] = int(rank)
        topics += len(bad)
        systems += bool(bad)
    (row,) = (row for row in rows(study, "table1") if row["what"] == "lines out of rank order")
    assert row["documents"] == pytest.approx(100 * fallen / documents)
    assert row["systems"] == pytest.approx(100 * systems / len(runs))


@pytest.mark.parametrize("measure", ["AP", "RBP(p=0.85)", "nDCG", "ERR"])
def test_losses_and_significance_from_written_bands(measure: str, study: Study, folder: Path, tmp_path: Path) -> None:
    systems = [row["run"] for row in rows(study, "fig2")]
    runs = [next((folder / "runs").glob(f"{name}.*")) for name in systems]
    assert status("band", *runs, "--rho", "1.4", "-o", tmp_path / "b", "--quiet") == 0
    before = scores(folder, folder / "runs", measure, "run", systems)
    after = scores(folder, tmp_path / "b", measure, "expected", systems)
    lost = max(x - y for a, b in zip(before, after, strict=True) for x, y in zip(a, b, strict=True))
    (row,) = (row for row in rows(study, "table2") if (row["rho"], row["measure"]) == ("1.4", measure))
    assert row["greatest_loss_here"] == pytest.approx(lost)
    assert row["worst_loss"] >= lost - 1e-12
    if measure not in ties.MEASURES:
        return
    kept = [
        ttest_rel(b, [0.97 * x for x in a], alternative="greater").pvalue <= 0.05
        for a, b in zip(before, after, strict=True)
    ]
    (row,) = (row for row in rows(study, "table3") if (row["percent"], row["rho"]) == (97, "1.4"))
    assert row[measure] == sum(kept)
    pairs = list(combinations(range(len(systems)), 2))
    was, now = ([ttest_rel(s[i], s[j]).pvalue for i, j in pairs] for s in (before, after))
    (row,) = (row for row in rows(study, "tableA") if (row["measure"], row["rho"]) == (measure, "1.4"))
    found = [sum(q <= 0.05 for q in now), sum(q <= 0.05 < p for p, q in zip(was, now, strict=True))]
    assert [row["discrimination"], row["false_positives"]] == pytest.approx([100 * n / len(pairs) for n in found])
    points = [row for row in rows(study, "fig4") if row["measure"] == measure]
    assert [row["p_banded"] for row in points] == pytest.approx([max(p, 1e-6) for p in now])


def test_tables_are_laid_out_as_in_the_paper(study: Study) -> None:
    groups = {name: [group for group, _ in study[name].printed().groups] for name in ("table1", "table2", "table3")}
    assert groups == {
        "table1": ["", "Percentage affected"],
        "table2": ["", "Worst case", "Greatest loss here"],
        "table3": ["", *(f"Relative to {percent}% of original score" for percent in (99, 97, 95))],
    }
    table = study["table2"].printed()
    printed = {row[0].text: [cell.text for cell in row[1:4]] for row in table.rows}
    assert printed["1.4"] == ["0.0417", "0.0429", "0.0482"]  # as in the paper


def test_ties_broken_by_another_key(study: Study, folder: Path, key: Path) -> None:
    value = {word.split()[0]: float(word.split()[1]) for word in key.read_text().splitlines()}
    judged = {
        (topic, doc): grade
        for topic, _, doc, grade in (line.split() for line in (folder / "qrels.txt").read_text().splitlines())
    }
    systems = [row["run"] for row in rows(study, "fig2")]
    means = []
    for name in systems:
        lists: dict[str, list[tuple[float, float, int, str]]] = {}
        path = next((folder / "runs").glob(f"{name}.*"))
        for number, line in enumerate(path.read_text().splitlines()):
            topic, _, doc, _, score, _ = line.split()
            lists.setdefault(topic, []).append((-float(score), -value.get(doc, float("-inf")), number, doc))
        of_topics = []
        for topic in {topic for topic, _ in judged}:
            found = precisions = 0.0
            for place, (*_, doc) in enumerate(sorted(lists.get(topic, [])), 1):
                if int(judged.get((topic, doc), 0)) >= 1:
                    found += 1
                    precisions += found / place
            R = sum(int(grade) >= 1 for (t, _), grade in judged.items() if t == topic)
            of_topics.append(precisions / R if R else 0.0)
        means.append(statistics.fmean(of_topics))
    table = {row["rule"]: row for row in rows(study, "tableB")}
    assert table["tie_key"]["mean_ap"] == pytest.approx(statistics.fmean(means))
    assert table["tie_key"]["ties_broken_by"] == "by lengths.txt, greatest first"
    trec = [row["trec"] for row in rows(study, "fig2")]
    assert table["tie_key"]["greatest_change"] == pytest.approx(
        max(abs(a - b) for a, b in zip(means, trec, strict=True))
    )
    assert table["tie_key"]["tau"] == pytest.approx(kendalltau(means, trec).statistic)
    assert table["tie_key"]["mean_ap"] != pytest.approx(table["trec"]["mean_ap"], abs=1e-9)


def test_what_a_tie_key_may_hold(tmp_path: Path) -> None:
    path = tmp_path / "dates"
    path.write_text("7 a 2020-03-01\n7 b 2021-01-01\n8 a 2019-01-01\n")
    found = read_tie_key(path)
    assert found.by_topic
    assert found.values[b"7", b"b"] > found.values[b"7", b"a"] > found.values[b"8", b"a"]
    for text, said in (
        ("a soon\n", "line 1: expected a number or a date such as 2020-03-01, found 'soon'"),
        ("a 1\n7 b 2\n", "line 2: expected `topic document value` or `document value` on every line, found 3 words"),
        ("a nan\n", "line 1: nan orders nothing"),
        ("# nothing\n", "has no line"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match="^.*" + said.replace("`", "`")):
            read_tie_key(path)


def test_only_contributing_runs(
    made: Collection, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)  # drawing takes most of the time
    words = ["papers", "ties", folder / "qrels.txt", folder / "runs", "--quiet"]
    assert status(*words, "--pooled", folder / "pooled.txt", "-o", tmp_path / "out") == 0
    kept = {line.split("\t")[0] for line in (tmp_path / "out" / "fig2.tsv").read_text().splitlines()[1:]}
    assert kept <= {*made.pooled}
    assert f"{len(made.pooled)} contributing runs" in (tmp_path / "out" / "index.md").read_text()


def test_bands_before_any_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("band", folder / "runs", "--rho", "1.4", "-o", tmp_path / "b", "--quiet") == 0
    judged, banded = folder / "qrels.txt", tmp_path / "b"
    for how in ("run", "expected"):
        with pytest.warns(FathomsWarning, match="runs are banded with rho = 1.4, in the order of --ties run"):
            found = fm.evaluate(judged, folder / "runs", "AP", ties=how, band="1.4")
        assert found.equals(fm.evaluate(judged, banded, "AP", ties=how))
    with pytest.warns(FathomsWarning, match="banded"):
        compared = fm.compare(judged, folder / "runs", "AP", ties="expected", draws=0, band=1.4)
    assert compared.equals(fm.compare(judged, banded, "AP", ties="expected", draws=0))
    capsys.readouterr()
    assert status("ties", folder / "qrels.txt", folder / "runs", "-m", "AP", "--band", "2", "--show", "runs") == 0
    told = capsys.readouterr()
    assert "runs are banded with rho = 2, in the order of --ties trec" in told.err
    assert status("ties", folder / "qrels.txt", folder / "runs", "--band", "2", "--fix", tmp_path / "f") == 2


@pytest.mark.long
def test_stratified_judging(folder: Path) -> None:
    qrels, runs = fm.read_qrels(folder / "qrels.txt"), fm.scan_runs(folder / "runs")
    study = ties.study(qrels, runs, ties.TiesSettings(stratify=(1.0, 0.5)))
    everything, half = rows(study, "tableC")
    assert (everything["judgments"], everything["saved_percent"]) == (len(qrels), 0)
    assert everything["rmse"] == pytest.approx(0, abs=1e-5)  # but for the smoothing of xinfAP
    assert (everything["false_positives"], everything["false_negatives"]) == (0, 0)
    least: dict[tuple[str, str], int] = {}
    for name in runs:
        places: dict[str, int] = {}
        for line in next((folder / "runs").glob(f"{name}.*")).read_text().splitlines():
            topic, _, doc, *_ = line.split()
            places[topic] = places.get(topic, 0) + 1
            least[topic, doc] = min(least.get((topic, doc), 10**6), places[topic])
    judged = [tuple(line.split()[::2]) for line in (folder / "qrels.txt").read_text().splitlines()]
    assert everything["judgments"] == len(judged)
    starts = [1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 79]  # of bands with rho = 1.4
    cells: dict[tuple[str, int], int] = {}
    for topic, doc in judged:
        cell = (topic, sum(start <= least[topic, doc] for start in starts))
        cells[cell] = cells.get(cell, 0) + 1
    wanted = sum(n if starts[band - 1] <= 10 else min(n, max(2, round(n / 2))) for (_, band), n in cells.items())
    assert half["judgments"] == wanted
    assert half["saved_percent"] == pytest.approx(100 * (1 - wanted / len(judged)))
    assert 0 < half["rmse"] < 0.2


def test_no_loss_is_beyond_the_worst_case_of_a_graded_collection() -> None:
    """ERR's worst case grows with the greatest grade, which is the collection's."""
    qrels = {str(t): {f"d{t}{i}": 3 if i == 2 else 0 for i in range(12)} for t in range(4)}
    runs = {
        name: {str(t): {f"d{t}{(i + 2 * (name == 'a')) % 12}": 12.0 - i for i in range(12)} for t in range(4)}
        for name in ("a", "b")
    }
    study = ties.study(fm.read_qrels(qrels), fm.read_runs(runs))
    losses = [row for row in rows(study, "table2") if row["measure"] == "ERR"]
    assert all(row["greatest_loss_here"] <= row["worst_loss"] + 1e-12 for row in losses)
    err = parse_measure("ERR")
    assert [row["worst_loss"] for row in losses] == [worst_loss(err, Fraction(row["rho"]), 3) for row in losses]
