"""What the papers' tables, figures and notes say about a collection, against other ways to the same figures."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.base import charts
from fathoms.data.simulate import Collection, simulate, write
from fathoms.evidence.pool import with_judgments
from fathoms.measures.parse import parse_measure
from fathoms.papers import depth, gain, rm, rm_prefixes, ties
from fathoms.papers.bench import Bench
from fathoms.papers.exhibits import Study
from fathoms.papers.output import number_gradients
from tests.experiment.test_assumed_pool import SAID
from tests.questions.audit.test_audit import plain, pooled_grades
from tests.support.commands import status

POOL = 30


@pytest.fixture(scope="module")
def made() -> Collection:
    return simulate(systems=9, n_topics=6, n_docs=600, depth=80, pool_depth=POOL, seed=4)


def read(made: Collection, pooled: Sequence[str] | None = None) -> fm.Experiment:
    groups = None if pooled is None else made.groups
    return fm.Experiment(made.qrels, made.runs, pooled=pooled, groups=groups, score_precision="float64", workers=1)


def cut(made: Collection, d: int) -> Collection:
    """The judgments that a pool of depth d would have had, by plain loops."""
    grades, rankings = plain(made)
    pool = pooled_grades(grades, rankings, made.pooled, d)
    rows = [(topic, doc, int(grade)) for topic, judged in pool.items() for doc, grade in judged.items()]
    schema = dict(zip(made.qrels.columns, made.qrels.dtypes, strict=True))
    return replace(made, qrels=pl.DataFrame(rows, schema=schema, orient="row"))


def rows_of(study: Study) -> dict[str, list[Sequence[Any]]]:
    return {one.name: [list(row) for row in one.rows] for one in study.exhibits}


def same(one: dict[str, list[Sequence[Any]]], other: dict[str, list[Sequence[Any]]]) -> list[str]:
    """The exhibits that differ."""
    assert one.keys() == other.keys()
    return [name for name in one if not _alike(one[name], other[name])]


def _alike(one: Sequence[Sequence[Any]], other: Sequence[Sequence[Any]]) -> bool:
    flat, of_other = ([cell for row in rows for cell in row] for rows in (one, other))
    return len(flat) == len(of_other) and all(
        a == pytest.approx(b, abs=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(flat, of_other, strict=True)
    )


# -- depth ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_shallower_pool_is_that_pool_in_every_table_and_figure(made: Collection) -> None:
    asked = depth.study(read(made, made.pooled), depth.DepthSettings(10, pools=()))
    by_hand = depth.study(read(cut(made, 10), made.pooled), depth.DepthSettings(10, pools=()))
    assert same(rows_of(asked), rows_of(by_hand)) == []
    whole = depth.study(read(made, made.pooled), depth.DepthSettings(POOL, pools=()))
    changed = same(rows_of(whole), rows_of(asked))
    assert {*changed} >= {"table4", "table5a", "table7", "table8", "table9", *(f"fig{i}" for i in range(2, 8))}
    kept = len(cut(made, 10).qrels)
    runs, judgments = f"{len(made.pooled)} contributing runs", f"{len(made.qrels):,} judgments"
    assert asked.collection.endswith(
        f"{kept:,} judgments, {runs}, pool depth 10 (of {judgments}, cut to it; they go to depth {POOL})"
    )
    assert whole.collection.endswith(f"{judgments}, {runs}, pool depth {POOL}")


@pytest.mark.long
@pytest.mark.parametrize("paper", ["rm", "gain", "depth"])
def test_who_contributed_is_assumed_in_so_many_words(paper: str, made: Collection) -> None:
    module: Any = {"rm": rm, "gain": gain, "depth": depth}[paper]
    few = {"settings": rm.RMSettings(shuffles=2)} if paper == "rm" else {}
    experiments = [fm.Experiment(made.qrels, made.runs, pooled=pooled) for pooled in (None, made.pooled)]
    assumed, listed = (module.study(experiment, **few) for experiment in experiments)
    (note,) = [note for note in assumed.notes if "ssumed" in note]
    assert (said := re.fullmatch(rf"{SAID}\.", note))
    assert (int(said["some"]), int(said["given"]), int(said["depth"])) == (len(made.pooled), 9, POOL)
    assert [note for note in listed.notes if "ssumed" in note] == []
    assert same(rows_of(assumed), rows_of(listed)) == []


# -- gain -----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_gain_models_see_the_pool_asked_for_and_nothing_else(made: Collection) -> None:
    asked = gain.study(read(made, made.pooled), gain.GainSettings(10))
    by_hand = gain.study(read(cut(made, 10), made.pooled), gain.GainSettings(10))
    assert same(rows_of(asked), rows_of(by_hand)) == []
    kept = len(cut(made, 10).qrels)
    assert f"Used are the {kept:,} judgments of documents that a contributing run has in its first 10." in asked.notes
    bands = [row for row in asked["fig3"].rows if row[0] == "band"]
    assert sum(row[3] for row in bands) == kept
    assert bands[-1][2] == 10


# -- rm -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", rm.MEASURES)
def test_ranges_by_the_papers_bounds_are_those_that_exact_ones_are_scaled_to(name: str, made: Collection) -> None:
    """RM's T needs no exact range, from which it comes elsewhere."""
    bench, measure = Bench(read(made, made.pooled)), parse_measure(name)
    kept = np.arange(len(bench.qrels)) % 2 == 0
    ((found,),) = rm_prefixes.ranges_under(bench, bench.others, [measure], [kept])
    for place, aligned in enumerate(bench.others.values()):
        evidence = with_judgments(aligned, bench.qrels, kept)
        expected = rm_prefixes._range(measure, evidence)
        np.testing.assert_array_equal(found.B[place], expected[0])
        np.testing.assert_array_equal(found.delta[place], expected[1])


@pytest.mark.long
def test_without_other_runs_the_contributing_ones_are_not_called_others(made: Collection) -> None:
    own = replace(made, runs={name: made.runs[name] for name in made.pooled})
    study = rm.study(read(own, own.pooled), rm.RMSettings(shuffles=2))
    text = " ".join([study.collection, *study.notes, *(one.note for one in study.exhibits)])
    assert "that did not contribute (" not in text
    con, non = len(own.pooled), len(made.runs) - len(made.pooled)
    assert study.collection.endswith(f"judgments; {con} contributing runs ({con}-con)")
    assert sum("all tables and figures are about the contributing ones" in note for note in study.notes) == 1
    assert {row[0] for name in ("fig1", "table1a", "table2", "fig5") for row in study[name].rows} == {f"{con}-con"}
    with_others = rm.study(read(made, made.pooled), rm.RMSettings(shuffles=2))
    assert with_others.collection.endswith(
        f"{con} contributing runs ({con}-con) and {non} runs that did not contribute ({non}-non)"
    )
    for name in ("fig1", "table1d", "table2", "tableA", "fig4", "fig5"):
        assert {row[0] for row in with_others[name].rows} == {f"{con}-con", f"{non}-non"}


# -- ties -----------------------------------------------------------------------------------------------------------


def test_means_are_of_the_systems_kept(made: Collection) -> None:
    study = ties.study(fm.read_qrels(made.qrels), fm.scan_runs(made.runs))
    frame = fm.evaluate(made.qrels, made.runs, "AP", ties="run", score_precision="float64")
    by_trec = fm.evaluate(made.qrels, made.runs, "AP").sort("score", descending=True)["run"].to_list()
    kept = by_trec[: round(9 * 80 / 103)]
    mean = statistics.fmean(frame.filter(pl.col("run").is_in(kept))["score"].to_list())
    (note,) = [note for note in study.notes if "Means" in note]
    assert note.startswith("Means over the systems kept and all topics")
    assert f"AP {mean:.4f}" in note


# -- the command ----------------------------------------------------------------------------------------------------


def test_a_pool_of_no_depth_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], made: Collection) -> None:
    nothing = made.qrels.with_columns(pl.col("doc") + "x")
    write(replace(made, qrels=nothing), tmp_path / "sim")
    files = [str(tmp_path / "sim" / "qrels.txt"), str(tmp_path / "sim" / "runs"), "-o", str(tmp_path / "out")]
    for paper in ("depth", "gain"):
        assert status("papers", paper, *files) == 2
        assert "give the pool's depth (--depth)" in capsys.readouterr().err


PAPERS: dict[str, list[str]] = {
    "rm": [],
    "gain": [],
    "depth": [],
    "ties": [],
    "rtc": ["--trials", "2", "--depth", "10"],
}


@pytest.mark.long
@pytest.mark.parametrize("paper", PAPERS)
def test_topics_that_no_run_answers(
    paper: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    made: Collection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They count 0 and are named, or are left out as if they had not been judged."""
    monkeypatch.setattr(charts, "available", lambda: False)  # drawing takes most of the time
    one_more = made.qrels.head(20).with_columns(pl.lit("999").alias("topic"))
    systems = {f"{name}{again}": run for name, run in made.runs.items() for again in ("", "b")}  # rtc takes ten
    pooled = [f"{name}{again}" for name in made.pooled for again in ("", "b")]
    for folder, qrels in (("plain", made.qrels), ("more", pl.concat([made.qrels, one_more]))):
        write(replace(made, qrels=qrels, runs=systems, pooled=pooled), tmp_path / folder)
    words = PAPERS[paper] or ["--pooled", str(tmp_path / "plain" / "pooled.txt")]

    def told(folder: str, *flags: str) -> tuple[dict[str, str], str]:
        out = tmp_path / f"{folder}{len(flags)}"
        files = (tmp_path / folder / "qrels.txt", tmp_path / "plain" / "runs")
        assert status("papers", paper, *files, *words, *flags, "-o", out) == 0
        return {path.stem: path.read_text() for path in sorted(out.glob("*.tsv"))}, capsys.readouterr().err

    plainly, _ = told("plain")
    left_out, said = told("more", "--topics", "intersect")
    assert re.search(r"in no run.*left out \(--topics intersect\): 999", said)
    changed = {name for name in plainly if plainly[name] != left_out[name].replace("more", "plain")}
    assert changed == set()
    _, said = told("more")
    assert re.search(r"in no run.*count 0.*--topics intersect.*: 999", said.splitlines()[0])


@pytest.mark.parametrize("command", [["audit"], *(["papers", paper] for paper in PAPERS)])
def test_no_topic_in_common(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], made: Collection
) -> None:
    write(replace(made, qrels=made.qrels.with_columns(("T" + pl.col("topic")).alias("topic"))), tmp_path / "sim")
    files = [tmp_path / "sim" / "qrels.txt", tmp_path / "sim" / "runs"]
    output = ["-o", tmp_path / "out"] if command[0] == "papers" else []
    for flags in ([], ["--topics", "intersect"]):
        assert status(*command, *files, *output, *flags) == 2
        assert "no topic of the runs is judged: the runs have 101, 102, 103" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# -- drawing --------------------------------------------------------------------------------------------------------


def test_gradients_are_numbered_through_all_figures() -> None:
    first, following = number_gradients('<a fill="url(#gradient_7)"/><b id="gradient_7"/><b id="gradient_9"/>', 0)
    assert first == '<a fill="url(#gradient_0)"/><b id="gradient_0"/><b id="gradient_1"/>'
    assert following == 2
    assert number_gradients('<b id="gradient_0"/>', following) == ('<b id="gradient_2"/>', 3)
    assert number_gradients("<text>gradient_4 of 5</text>", 3) == ("<text>gradient_4 of 5</text>", 3)


@pytest.mark.slow
@pytest.mark.skipif(not charts.available(), reason="needs the extra report")
def test_figures_do_not_depend_on_the_workers(tmp_path: Path) -> None:
    """In processes of their own, for this one has threads and may not fork."""
    program = """
import sys
from pathlib import Path
from fathoms.papers.exhibits import Study, chart
from fathoms.papers.output import write_study

rows, how = [(0.0, 0.0, 1.0), (1.0, 0.0, 2.0)], dict(x="a", y="b", value="c", title="", best=(0.0, 0.0))
study = Study("paper", "collection")
for name in ("fig1", "fig2", "fig3"):
    study.add(name, name, "abc", rows, chart=chart("surface", rows, "abc", **how))
assert "polars" not in sys.modules
write_study(study, Path(sys.argv[1]), int(sys.argv[2]))
"""
    for workers in ("1", "3"):
        subprocess.run([sys.executable, "-c", program, str(tmp_path / workers), workers], check=True)
    kept = (".svg", ".png", ".tsv", ".md", ".html")  # a PDF has its date
    found = [
        {one.name: one.read_bytes() for one in (tmp_path / workers).iterdir() if one.suffix in kept}
        for workers in ("1", "3")
    ]
    assert found[0] == found[1]
    assert [re.findall(rb'id="gradient_(\d+)"', found[0][f"fig{n}.svg"]) for n in (1, 2, 3)] == [[b"0"], [b"1"], [b"2"]]


@pytest.mark.long
def test_a_folder_that_is_there_is_written_to_again(made: Collection, tmp_path: Path) -> None:
    """It once had to be new, though an interrupted study goes on in it."""
    write(made, tmp_path / "sim")
    files = (tmp_path / "sim" / "qrels.txt", tmp_path / "sim" / "runs")
    words = ("papers", "ties", *files, "-o", tmp_path / "out", "--quiet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "available", lambda: False)
        assert [status(*words), status(*words)] == [0, 0]
