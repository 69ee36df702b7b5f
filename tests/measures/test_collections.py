"""Real collections: trec_eval's values for every run, published scores, and what must hold on real data.

`FATHOMS_DATA` names the folder that holds the collections (trec8-adhoc, trec-covid-r1, ...); without it, or where a
collection is not there, its tests are skipped.
"""

from __future__ import annotations

import csv
import gzip
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import fathoms as fm
from fathoms.evidence.align import Alignment
from fathoms.evidence.order import Precision
from fathoms.measures.means import aggregate
from fathoms.measures.parse import trec_eval_name
from tests.support.real import collection

CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TREC_EVAL = [
    "AP",
    "nDCG",
    "RR",
    "Rprec",
    "Bpref",
    "infAP",
    "SetP",
    "SetR",
    "SetF",
    "NumRet",
    "NumRel",
    "NumRelRet",
    *(f"{name}@{k}" for name in ("AP", "nDCG", "P", "R") for k in CUTS),
    *(f"Success@{k}" for k in (1, 5, 10)),
    *(f"IPrec@{level / 10:g}" for level in range(11)),
]


def plain_run(path: Path) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    with gzip.open(path, "rt", encoding="latin-1") as lines:
        for line in lines:
            topic, _, document, _, score, _ = line.split()
            run.setdefault(topic, {})[document] = float(score)
    return run


def plain_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    with path.open() as lines:
        for line in lines:
            topic, _, document, grade = line.split()
            qrels.setdefault(topic, {})[document] = int(grade)
    return qrels


def means(frame: pl.DataFrame) -> dict[str, float]:
    """The mean of each run, of a frame with one measure."""
    return dict(frame.filter(pl.col("topic") == "all").select("run", "score").iter_rows())


def trec8_means(precision: Precision | None) -> dict[str, str]:
    folder = collection("trec8-adhoc")
    frame = fm.evaluate(folder / "qrels.txt", folder / "runs", "AP", score_precision=precision)
    return {run.removeprefix("input."): f"{score:.4f}" for run, score in means(frame).items()}


@pytest.mark.long
@pytest.mark.parametrize(("name", "n_runs"), [("trec8-adhoc", 129), ("trec-covid-r1", 143)])
def test_all_runs_score_as_in_trec_eval(name: str, n_runs: int) -> None:
    folder = collection(name)
    align = Alignment(fm.read_qrels(folder / "qrels.txt"))
    measures = {trec_eval_name(measure): measure for measure in map(fm.parse_measure, TREC_EVAL)}
    families = {theirs.rstrip("0123456789.").rstrip("_") for theirs in measures}
    theirs_on = pytrec_eval.RelevanceEvaluator(plain_qrels(folder / "qrels.txt"), families | {"gm_map"})
    geometric = fm.parse_measure("GMAP")
    paths = sorted((folder / "runs").iterdir())
    assert len(paths) == n_runs
    for path in paths:
        theirs = theirs_on.evaluate(plain_run(path))
        evidence = align(fm.read_runs(path)[path.stem]).evidence
        assert set(evidence.topics) == set(theirs)
        for their_name, measure in measures.items():
            expected = [theirs[topic][their_name] for topic in evidence.topics]
            ours = measure.value(evidence)
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-6, err_msg=f"{path.name}: {measure}")
        mean = np.exp(np.mean([topic["gm_map"] for topic in theirs.values()]))  # of logarithms
        assert aggregate(geometric, geometric.value(evidence)) == pytest.approx(mean, abs=1e-6)


@pytest.mark.long
def test_published_map_of_trec8() -> None:
    """The track's table holds with scores as floats, the list of its runs' MAP with doubles; one run differs."""
    folder = collection("trec8-adhoc")
    with (folder / "official_scores.tsv").open() as lines:
        table = {row["run"]: row["value"] for row in csv.DictReader(lines, delimiter="\t") if row["measure"] == "map"}
    rescored = dict(line.split() for line in (folder / "reference" / "official-scores.map").read_text().splitlines())
    assert len(table) == len(rescored) == 129
    floats, doubles = trec8_means(None), trec8_means("float64")
    assert floats == table
    assert doubles == rescored
    assert {run for run in floats if floats[run] != doubles[run]} == {"uwmt8a0"}
    assert (floats["uwmt8a0"], doubles["uwmt8a0"]) == ("0.2143", "0.2142")


@pytest.mark.parametrize(
    ("precision", "ndcg", "ap"), [("float32", "0.1731", "0.0653"), ("float64", "0.1736", "0.0652")]
)
def test_published_scores_of_a_run_that_floats_tie(precision: Precision, ndcg: str, ap: str) -> None:
    folder = collection("trec-covid-r1")
    frame = fm.evaluate(folder / "qrels.txt", folder / "runs" / "BERT.gz", ["nDCG@10", "AP"], score_precision=precision)
    assert [f"{score:.4f}" for score in frame["score"]] == [ndcg, ap]
    with (folder / "reference" / "leaderboard.round1.csv").open() as lines:
        published = next(row for row in csv.DictReader(lines) if row["run"] == "BERT")
    assert ((published["ndcg@10"], published["MAP"]) == (ndcg, ap)) == (precision == "float32")


@pytest.mark.parametrize(
    ("official", "measure"),
    [
        ("Q", "Q(variant=b)@10"),
        ("nERR", "nERR(gains={0:0,1:0.2,2:0.4,3:0.6,4:0.8})@10"),  # g / (gmax + 1)
        ("MSnDCG", "nDCG@10"),
    ],
)
def test_official_scores_of_ntcir13_by_topic(official: str, measure: str) -> None:
    folder = collection("ntcir13-www-rmit")
    ours = fm.evaluate(folder / "qrels.txt", folder / "runs", measure, by_topic=True).filter(pl.col("topic") != "all")
    with (folder / "reference" / f"wwwE.official.{official}@0010.topic-by-run.csv").open() as lines:
        table = {row[""]: row for row in csv.DictReader(lines)}
    published = [float(table[topic][run]) for run, topic in ours.select("run", "topic").iter_rows()]
    assert len(published) == 400
    np.testing.assert_allclose(ours["score"], published, rtol=0, atol=0.5001e-4)


@pytest.mark.long
@pytest.mark.parametrize("run", ["input.UB99T.gz", "input.cirtrc82.gz", "input.CL99XT.gz"])
def test_order_of_lines_does_not_matter(run: str, tmp_path: Path) -> None:
    folder = collection("trec8-adhoc")
    measures = ["AP", "nDCG@10", "RBP(p=0.8)", "ERR@20", "Bpref", "infAP"]
    shuffled = random.Random(1)
    for source in (folder / "qrels.txt", folder / "runs" / run):
        raw = source.read_bytes()
        lines = (gzip.decompress(raw) if run == source.name else raw).splitlines()
        shuffled.shuffle(lines)
        (tmp_path / source.name.removesuffix(".gz")).write_bytes(b"\n".join(lines) + b"\n")
    as_given = fm.evaluate(folder / "qrels.txt", folder / "runs" / run, measures, by_topic=True)
    mixed = fm.evaluate(tmp_path / "qrels.txt", tmp_path / run.removesuffix(".gz"), measures, by_topic=True)
    assert as_given.equals(mixed)


@pytest.mark.slow
def test_scores_of_trec8_lie_in_their_ranges() -> None:
    folder = collection("trec8-adhoc")
    measures = [
        "AP",
        "AP@100",
        "AP(variant=b)@20",
        "nDCG",
        "nDCG@10",
        "P@10",
        "RBP(p=0.8)",
        "RR",
        "ERR@20",
        "Rprec",
        "R@100",
        "Q@20",
        "SetF",
        "INST(T=1)@100",
        "SDCG@100",
        "Success@1",
    ]
    frame = fm.evaluate(folder / "qrels.txt", folder / "runs", measures, by_topic=True)
    assert frame["run"].n_unique() == 129
    assert frame.null_count().row(0) == (0,) * 9
    slack = 1e-12
    for low, high in (("low", "high"), ("tie_low", "tie_high")):
        outside = frame.filter((pl.col(low) > pl.col("score") + slack) | (pl.col(high) < pl.col("score") - slack))
        assert outside.is_empty(), f"{low}..{high}: {outside}"
    for low, high in (("low", "high"), ("tie_low", "tie_high")):
        assert (frame[high] - frame[low]).max() > 0.1  # type: ignore[operator]


@pytest.mark.long
def test_rm_table_2_on_trec8() -> None:
    """Separability at 1,000 judgments and at all, and reversals, of an independent computation (file order)."""
    from fathoms.papers.rm import RMSettings, study

    folder = collection("trec8-adhoc")
    pooled = (folder / "pooled.txt").read_text().split()
    experiment = fm.Experiment(folder / "qrels.txt", folder / "runs", pooled=pooled, score_precision="float64")
    table = study(experiment, RMSettings(prefix_order="file"))["table2"]
    found = {row[1:3]: [round(x, 1) for x in row[5:8]] for row in table.rows if row[:2] == ("58-non", "P@10")}
    assert found == {
        ("P@10", "simplistic"): [38.2, 48.1, 3.4],
        ("P@10", "interpolated"): [38.4, 47.7, 1.6],
        ("P@10", "smoothed"): [38.5, 47.4, 2.0],
    }


@pytest.mark.long
def test_lmc_depth_table_6_on_trec8() -> None:
    """LMC-depth Table 6, row TREC8: tau 0.990 between two tie rules, and a median of 10% of ties in the top 20.

    The tau needs scores compared as doubles (as floats it is 0.989). The median is over the run-topics that have a tie
    there, and counts every document of a tie group.
    """
    from fathoms.evidence.align import Alignment
    from fathoms.inference.correlation import correlation

    folder = collection("trec8-adhoc")
    qrels = fm.read_qrels(folder / "qrels.txt")
    measure = fm.parse_measure("RBP(p=0.8)")
    means: dict[str, list[float]] = {"trec": [], "run": []}
    shares = []
    for run in fm.read_runs(folder / "runs").values():
        for ties in ("trec", "run"):
            evidence = Alignment(qrels, ties, "float64")(run).evidence
            means[ties].append(float(measure.value(evidence).mean()))
        tied = evidence.tied[:, :20]
        member = tied.copy()
        member[:, :-1] |= tied[:, 1:]
        shares.append(member.sum(axis=1) / 20)
    assert f"{correlation(np.array(means['trec']), np.array(means['run'])):.3f}" == "0.990"
    share = np.concatenate(shares)
    assert np.median(share[share > 0]) == pytest.approx(0.10)
