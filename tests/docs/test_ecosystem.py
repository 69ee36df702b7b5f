"""Other tools: our measures in ir_measures and PyTerrier, ir_datasets' judgments, trec_eval's output, ir_metadata."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import polars as pl
import pytest
import zstandard
from scipy import stats

import fathoms as fm
from fathoms import irm
from fathoms.data import metadata
from fathoms.data.simulate import write
from fathoms.measures.registry import MEASURES
from tests.data.test_reading import GRADES, QRELS, RUN, cells
from tests.support.commands import Command, status
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judgments with holes, three runs with ties, one of which lacks a topic."""
    folder = tmp_path_factory.mktemp("collection")
    write(fm.simulate(systems=3, n_topics=6, n_docs=300, depth=60, seed=2), folder)
    path = folder / "runs" / "sys3.run"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.split()[0] != lines[0].split()[0]))
    return folder


# -- ir_measures --------------------------------------------------------------------------------------------------

NAMES = [
    "AP",
    "AP(variant=b)@20",
    "nDCG@10",
    "nDCG(gain=exp,discount=zipf)@10",
    "RBP(p=0.8)",
    "RBP(p=0.95)@100",
    "Q@20",
    "SDCG@20",
    "INST(T=2)@100",
    "ERR@20",
    "nERR@10",
    "RR",
    "R@20",
    "P@10",
    "Bpref",
    "infAP",
    "GMAP",
    "NumRel",
    "NumRet",
    "SetF",
    "IPrec@0.1",
    "AP(universe=inf)",
    "AP(judged_only=True)",
    "DCG(gains={0:0,1:1,2:3})@10",
]


def value_of(name: str, value: str) -> Any:
    """Our measure of that name as a value of ir_measures."""
    ours = fm.parse_measure(name)
    given = {p: getattr(ours, p) for p, param in ours.params.items() if getattr(ours, p) != param.default}
    if "gains" in given:
        given["gains"] = dict(given["gains"])
    measure = getattr(irm, type(ours).__name__)(**given, value=value)
    return measure if ours.k is None else measure @ (ours.k if ours.cutoff == "recall" else int(ours.k))


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
@pytest.mark.parametrize("value", irm.VALUES)
@pytest.mark.parametrize("run", ["sys1", "sys3"])
def test_values_are_those_of_evaluate(collection: Path, run: str, value: str) -> None:
    qrels, path = str(collection / "qrels.txt"), str(collection / "runs" / f"{run}.run")
    table = fm.evaluate(qrels, path, NAMES, by_topic=True)
    if value == "residual":
        table = table.with_columns(residual=pl.col("high") - pl.col("low"))
    ours = {(topic, name): number for topic, name, number in table.select("topic", "measure", value).iter_rows()}
    has = [name for name in NAMES if ours["all", fm.parse_measure(name).name] is not None]
    has = [name for name in has if name != "GMAP" or value not in ("residual", "tie_expected")]
    assert len(has) > 15
    measures = {value_of(name, value): fm.parse_measure(name).name for name in has}
    rows = (list(ir_measures.read_trec_qrels(qrels)), list(ir_measures.read_trec_run(path)))
    for measure, number in ir_measures.calc_aggregate(measures, *rows).items():
        assert number == pytest.approx(ours["all", measures[measure]], rel=1e-12), measure
    found = {
        (metric.query_id, measures[metric.measure]): metric.value for metric in ir_measures.iter_calc(measures, *rows)
    }
    assert found == {key: ours[key] for key in ours if key[0] != "all" and key[1] in measures.values()}


@pytest.mark.parametrize("name", NAMES)
def test_a_measure_prints_parses_compares_and_hashes_as_itself(name: str) -> None:
    measure = value_of(name, "tie_high")
    again = ir_measures.parse_measure(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert again.measure == fm.parse_measure(name)
    assert again != value_of(name, "score")
    assert str(measure).startswith("fm_")


def test_names() -> None:
    assert str(irm.AP(variant="b") @ 20) == "fm_AP(variant='b')@20"
    assert str(irm.AP(rel=2, variant="b")) == str(irm.AP(variant="b", rel=2)) == "fm_AP(variant='b',rel=2)"
    assert str(irm.RBP) == str(irm.RBP(p=0.8)) == "fm_RBP(p=0.8)"
    assert irm.RBP != ir_measures.RBP
    assert set(irm.__all__) == {*MEASURES, "provider"}
    assert all(f"fm_{name}" in ir_measures.measures.registry for name in MEASURES)
    assert ir_measures.providers.registry["fathoms"] is irm.provider
    assert not irm.provider.supports(ir_measures.AP)  # theirs stay theirs


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("fm_AP(variant='z')", "variant must be one of a, b, c"),
        ("fm_P", "P needs a cut-off"),
        ("fm_AP(nope=1)", "fm_AP has no parameter 'nope'; it takes cutoff, variant"),
        ("fm_Bpref(value='low')", "Bpref has no range, so there is no low"),
        ("fm_AP(judged_only=True,value='residual')", "has no range, so there is no residual"),
        ("fm_GMAP(value='tie_expected')", "no geometric mean"),
        ("fm_AP(variant='c')@10", "depends on other runs"),
        ("fm_AP(universe='given')", "depends on other runs"),
    ],
)
def test_what_cannot_be_asked(measure: str, message: str) -> None:
    with pytest.raises(fm.FathomsError, match=message):
        ir_measures.calc_aggregate([ir_measures.parse_measure(measure)], {"1": {"a": 1}}, {"1": {"a": 1.0}})


def test_every_form_of_input_and_an_evaluator_used_twice() -> None:
    qrels = [ir_measures.Qrel(*pair, int(grade)) for pair, grade in GRADES.items()]
    run = {"1": {"a": 3.0, "x": 2.0, "c": 1.0}, "2": {"d": 2.5, "a": 1.5}}
    docs = [ir_measures.ScoredDoc(t, d, s) for t, ranking in run.items() for d, s in ranking.items()]
    measures = [irm.AP, irm.AP(value="high"), ir_measures.P @ 1]
    evaluator = ir_measures.evaluator(measures, iter(qrels))
    expected = {irm.AP: 2 / 3, irm.AP(value="high"): 0.75, ir_measures.P @ 1: 0.5}
    for form in (run, docs, iter(docs), pd.DataFrame(docs)):
        assert evaluator.calc_aggregate(form) == pytest.approx(expected)
    assert irm.AP.calc_aggregate(pd.DataFrame(qrels), run) == pytest.approx(2 / 3)
    empty = pd.DataFrame([], columns=["query_id", "doc_id", "score"])
    assert ir_measures.calc_aggregate([irm.RBP(p=0.5), irm.RBP(p=0.5, value="residual")], qrels, empty) == {
        irm.RBP(p=0.5): 0.0,
        irm.RBP(p=0.5, value="residual"): 1.0,
    }


def test_what_is_wrong_with_the_judgments_is_said() -> None:
    qrels = [ir_measures.Qrel("1", "a", 1), ir_measures.Qrel("1", "b", -1)]
    with pytest.warns(fm.FathomsWarning, match="1 judgment with a negative grade"):
        assert irm.P(value="high") @ 2 in ir_measures.calc_aggregate(
            [irm.P(value="high") @ 2], qrels, {"1": {"a": 1.0}}
        )


def test_without_ir_measures() -> None:
    code = "import sys; sys.modules['ir_measures'] = None\nimport fathoms.irm"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "fathoms.irm needs the package ir_measures: pip install ir_measures" in done.stderr


# -- PyTerrier ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pyterrier(collection: Path) -> None:
    pt = pytest.importorskip("pyterrier")
    measures = [irm.RBP(p=0.8), irm.RBP(p=0.8, value="residual"), irm.AP(variant="b") @ 20, irm.nDCG @ 10]
    names = ["sys1", "sys2", "sys3"]
    qrels = fm.read_qrels(collection / "qrels.txt").to_pandas()
    qrels = qrels.rename(columns={"topic": "qid", "document": "docno", "grade": "label"}).astype({"label": int})
    runs = [fm.read_run(collection / "runs" / f"{name}.run").to_pandas() for name in names]
    runs = [run.rename(columns={"topic": "qid", "document": "docno"}) for run in runs]
    topics = pd.DataFrame({"qid": qrels["qid"].unique(), "query": "words"})
    found = pt.Experiment(runs, topics, qrels, eval_metrics=[*measures, "map"], names=names).set_index("name")
    ours = fm.evaluate(collection / "qrels.txt", collection / "runs", [measure.measure for measure in measures])
    for run, _, name, score, low, high, *_ in ours.iter_rows():
        for measure in measures:
            if measure.measure.name == name:
                expected = high - low if measure.value == "residual" else score
                assert found.loc[run, str(measure)] == pytest.approx(expected, rel=1e-12)
    assert found["map"].notna().all()
    by_topic = pt.Experiment(runs, topics, qrels, eval_metrics=measures[:2], names=names, perquery=True)
    assert len(by_topic) == 3 * 6 * 2


# -- ir_datasets --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dataset of local files in the real registry, one without judgments, and one that cannot be fetched."""
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels

    class Local:
        def __init__(self, content: bytes | None) -> None:
            self.content = content

        def stream(self) -> Any:
            import io

            if self.content is None:
                raise ConnectionError("the network is down")
            return io.BytesIO(self.content)

    grades = {0: "no", 1: "yes", 2: "very"}
    for name, parts in {
        "fathoms-test": [],
        "fathoms-test/judged": [TrecQrels(Local(QRELS), grades)],
        "fathoms-test/offline": [TrecQrels(Local(None), grades)],
    }.items():
        ir_datasets.registry.register(name, Dataset(*parts))
    yield "fathoms-test/judged"
    for name in ("fathoms-test", "fathoms-test/judged", "fathoms-test/offline"):
        del ir_datasets.registry._registered[name]


def test_judgments_of_a_dataset(fathoms: Command, dataset: str) -> None:
    assert cells(fm.read_qrels(f"irds:{dataset}")) == cells(fm.read_qrels(dataset)) == GRADES
    plain = fathoms("eval", "qrels.txt", "good.run", "-m", "AP", "--format", "tsv").out
    assert fathoms("eval", f"irds:{dataset}", "good.run", "-m", "AP", "--format", "tsv").out == plain
    assert fathoms("eval", dataset, "good.run", "-m", "AP", "--format", "tsv").out == plain
    assert fathoms("check", dataset, "good.run").status == 0
    assert fathoms("compare", dataset, "good.run", "good.run", "-m", "AP").status == 2  # one run, not two
    assert fathoms("convert", f"irds:{dataset}", "-o", "judged.txt").status == 0
    assert Path("judged.txt").read_bytes() == QRELS


def test_a_file_goes_before_a_dataset(fathoms: Command, dataset: str) -> None:
    Path(dataset).parent.mkdir()
    Path(dataset).write_text("9 0 z 1\n")
    assert cells(fm.read_qrels(dataset)) == {("9", "z"): 1.0}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "irds:fathoms-test/jugded",
            "ir_datasets knows no dataset 'fathoms-test/jugded'; did you mean fathoms-test/judged",
        ),
        ("irds:zzzzzzzzzzzzzzzzzzzz", "; `ir_datasets list` shows those it knows"),
        ("irds:fathoms-test", "the dataset fathoms-test has no judgments; these have: fathoms-test/judged"),
        ("irds:fathoms-test/offline", r"could not fetch the judgments \(ConnectionError: the network is down\)"),
        ("fathoms-test/jugded", "no such file"),
    ],
)
def test_datasets_that_give_no_judgments(dataset: str, name: str, message: str) -> None:
    with pytest.raises(fm.InputError, match=message):
        fm.read_qrels(name)


def test_without_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(
        fm.InputError, match="irds:x: the package ir_datasets is not installed; `pip install ir_datasets`"
    ):
        fm.read_qrels("irds:x")
    with pytest.raises(fm.InputError, match="vaswani: no such file"):
        fm.read_qrels("vaswani")


# -- scores -------------------------------------------------------------------------------------------------------


@pytest.fixture
def evals(collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return collection


def eval_to(collection: Path, name: str, *words: str) -> Path:
    """What `fathoms eval --by-topic` writes."""
    files = [str(collection / "qrels.txt"), str(collection / "runs")]
    assert status("eval", *files, "-q", "-m", "AP", "-m", "P@10", "--quiet", "-o", name, *words) == 0
    return Path(name)


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
@pytest.mark.parametrize("form", ["tsv", "csv", "json", "parquet"])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomization", "bootstrap", "tukey"])
def test_p_values_are_those_of_compare(evals: Path, form: str, test: Any) -> None:
    scores = eval_to(evals, f"scores.{form}", "--format", form)
    found = fm.compare_scores(scores, "AP", test=test)
    expected = fm.compare(evals / "qrels.txt", evals / "runs", "AP", test=test)
    same = ["run_a", "run_b", "measure", "diff", "ci_low", "ci_high", "p", "p_corrected"]
    assert found.select(same).rows() == expected.select(same).rows()
    assert found["diff_low"].null_count() == found["diff_high"].null_count() == 3
    assert set(found["verdict"]) <= {"significant", "open", "tie"}


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
def test_four_digits_of_trec_eval(evals: Path) -> None:
    qrels = evals / "qrels.txt"
    texts = {}
    for name in ("sys1", "sys2"):
        table = fm.evaluate(qrels, evals / "runs" / f"{name}.run", ["AP", "P@10"], by_topic=True)
        texts[name] = [
            (topic, measure, score) for topic, measure, score in table.select("topic", "measure", "score").rows()
        ]
        theirs = {"AP": "map", "P@10": "P_10"}
        lines = [f"{theirs[measure]:<22}\t{topic}\t{score:.4f}\n" for topic, measure, score in texts[name]]
        Path(f"{name}.eval").write_text(f"runid                 \tall\t{name}\n" + "".join(lines))
        Path(f"{name}.txt").write_text("".join(f"{t}\t{m}\t{s:.4f}\n" for t, m, s in texts[name]))  # ir_measures -q
    found = fm.read_scores(["sys1.eval", "sys2.eval"])
    assert found.columns == ["run", "topic", "measure", "score"]
    assert found.rows() == fm.read_scores(["sys1.txt", "sys2.txt"]).rows()
    assert found.filter(run="sys1").rows() == [("sys1", t, m, float(f"{s:.4f}")) for t, m, s in texts["sys1"]]
    row = fm.compare_scores("sys*.eval", "map").row(0, named=True)
    a, b = (
        found.filter(pl.col("topic") != "all", run=run, measure="AP")["score"].to_numpy() for run in ("sys1", "sys2")
    )
    assert row["p"] == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_ir_measures_lines(evals: Path) -> None:
    qrels, run = evals / "qrels.txt", evals / "runs" / "sys1.run"
    for form in ("tsv", "jsonl"):
        words = [sys.executable, "-m", "ir_measures", str(qrels), str(run), "AP P@10", "-q", "-o", form]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        Path("sys1.txt").write_text(done.stdout)
        found = fm.read_scores("sys1.txt").filter(topic="all").select("run", "measure", "score").rows()
        expected = fm.evaluate(qrels, run, ["AP", "P@10"]).select("run", "measure", "score").rows()
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        assert [row[2] for row in found] == pytest.approx([row[2] for row in expected], abs=5.1e-5)


def test_topics_that_not_all_runs_have(tmp_path: Path) -> None:
    one, two = tmp_path / "a.eval", tmp_path / "b.eval"
    one.write_text("map 1 0.5\nmap 2 0.4\nmap 3 0.6\nmap all 0.5\n")
    two.write_text("map 3 0.3\nmap 1 0.4\n")
    with pytest.warns(fm.FathomsWarning, match="AP: left out 1 topic without a score of every run: 2"):
        table = fm.compare_scores([one, two])
    assert table["diff"].to_list() == pytest.approx([0.2])  # paired by topic, in whatever order
    two.write_text("map 7 0.3\n")
    with pytest.raises(fm.FathomsError, match="AP: no topic has a score of every run"):
        fm.compare_scores([one, two])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("map 1 0.5 4\n", "a.eval:1: expected `measure topic score` as `trec_eval -q` prints"),
        ("map 1 x\n", "a.eval:1: expected a number as score, found 'x'"),
        ("map 1 0.5\nmap 1 0.6\n", "run a, topic 1, AP has two scores"),
        ("map all 0.5\n", "at least two runs"),
        ("[1]", "expected records with topic, measure and score"),
        ("{", "is not valid JSON"),
        ('[{"topic": "1"}]', "row 1: expected topic, measure and score, found topic"),
        ("PAR1", "is not a readable parquet file"),
    ],
)
def test_bad_scores(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.eval"
    path.write_text(content)
    with pytest.raises(fm.FathomsError, match=message):
        fm.compare_scores(path)


def test_compare_without_judgments(fathoms: Command) -> None:
    for run, shift in (("a", 0), ("b", -3)):
        Path(f"{run}.eval").write_text("".join(f"map\t{i}\t0.{50 + i % 3 + shift * (1 + i % 2)}\n" for i in range(9)))
    done = fathoms("compare", "none", "a.eval", "b.eval")
    assert done.status == 0
    answer, table, remarks = (part.splitlines() for part in done.out.split("\n\n"))
    (row,) = table[1:]
    assert row.split()[:2] == ["a", "b"]
    assert row.split()[3] == "significant"
    assert answer == [f"AP: a is ahead of b; the difference, {float(row.split()[2]):.4f}, is significant (p < 0.0001)."]
    assert remarks[0] == "Tested: paired t-test, alpha 0.05, over 9 topics."
    assert remarks[1].startswith("Scores alone do not say what unjudged documents and ties could change")
    assert fathoms("compare", "none", "a.eval", "b.eval", "--quiet").out == done.out
    assert fathoms("compare", "none", "a.eval", "b.eval", "--baseline", "b", "--format", "latex").status == 0
    found = json.loads(fathoms("compare", "none", "a.eval", "b.eval", "--format", "json").out)
    assert [(pair["verdict"], pair["diff_low"]) for pair in found] == [("significant", None)]
    assert (
        "there are no scores of nDCG@10; there are those of AP"
        in fathoms("compare", "none", "a.eval", "b.eval", "-m", "nDCG@10").err
    )
    assert fathoms("compare", "none", "a.eval", "b.eval", "--baseline", "b.eval").status == 0
    refused = fathoms("compare", "none", "a.eval", "b.eval", "--ties", "run", "--lenient")
    assert refused.status == 2
    assert "--ties, --lenient cannot change scores that are computed already" in refused.err
    assert "is not among the runs: a, b" in fathoms("compare", "none", "a.eval", "b.eval", "--baseline", "c").err


# -- ir_metadata --------------------------------------------------------------------------------------------------

BLOCK = b"# ir_metadata.start\n# tag: bm25\n# actor:\n#   team: The Team\n#   role: student\n# ir_metadata.end\n"
FOUND = {"tag": "bm25", "actor": {"team": "The Team", "role": "student"}}


@pytest.mark.parametrize(
    "content",
    [
        BLOCK + RUN,
        b"\xef\xbb\xbf# first\n\n" + BLOCK + RUN,
        BLOCK.replace(b"\n", b"\r\n") + RUN,
        BLOCK.replace(b"# ", b"#") + RUN,
        gzip.compress(BLOCK + RUN),
        zstandard.compress(BLOCK + RUN),
        BLOCK + b"# x\n" * 100_000 + RUN,
    ],
    ids=["plain", "BOM and comment", "CRLF", "no blank", "gz", "zst", "many comments"],
)
def test_metadata_is_read(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "a.run"
    path.write_bytes(content)
    run = fm.read_run(path)
    assert run.metadata == FOUND
    assert len(run) == 5


@pytest.mark.parametrize(
    "content",
    [RUN, b"# a\n" + RUN, RUN + BLOCK, BLOCK[:-20] + b"\n" + RUN, b"", b"\x1f\x8bcut", b"# ir_metadata.start\n"],
)
def test_files_without_metadata(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(content)
    assert metadata.header(str(path)) == b""


def test_runs_that_are_no_files_have_no_metadata() -> None:
    assert fm.read_run({"1": {"a": 1.0}}).metadata == {}


@pytest.mark.parametrize(
    ("block", "level", "message"),
    [
        (BLOCK, "note", "ir_metadata: tag bm25, team The Team, describes actor"),
        (b"# ir_metadata.start\n# ir_metadata.end\n", "note", "ir_metadata: describes nothing"),
        (b"# ir_metadata.start\n# a: [\n# ir_metadata.end\n", "warning", "its ir_metadata is not valid YAML"),
        (b"# ir_metadata.start\n# words\n# ir_metadata.end\n", "warning", "holds str, expected keys and values"),
    ],
)
def test_check_shows_metadata(fathoms: Command, block: bytes, level: str, message: str) -> None:
    pytest.importorskip("yaml")
    Path("a.run").write_bytes(block + RUN)
    lines = fathoms("check", "qrels.txt", "a.run").out.splitlines()
    assert any(line.startswith(f"{level}  ") and message in line for line in lines), lines


def test_without_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(BLOCK + RUN)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(fm.FathomsError, match=r"a.run: its ir_metadata is YAML, .* pip install 'fathoms\[metadata\]'"):
        _ = fm.read_run(path).metadata


def test_convert_keeps_metadata_in_trec(fathoms: Command) -> None:
    Path("a.run").write_bytes(BLOCK + RUN)
    assert fathoms("convert", "a.run", "-o", "b.run.gz").status == 0
    assert gzip.decompress(Path("b.run.gz").read_bytes()).startswith(BLOCK)
    assert "does not carry ir_metadata" in fathoms("convert", "a.run", "-o", "b.parquet").err


# -- trackers -------------------------------------------------------------------------------------------------------


def test_mlflow_takes_what_the_page_logs(collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the store that needs no database
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    exp = fm.Experiment(collection / "qrels.txt", collection / "runs" / "sys1.run")
    metrics = exp.evaluate(["nDCG@10", "RBP(p=0.8)"]).metrics("sys1")
    page = (ROOT / "docs" / "how-to" / "trackers.md").read_text(encoding="utf-8")
    exec(page.split("## MLflow\n\n```py\n")[1].split("```")[0], {"metrics": metrics, "exp": exp})
    [run] = mlflow.MlflowClient().search_runs(["0"])
    assert run.data.metrics == metrics
    logged = mlflow.artifacts.load_dict(f"runs:/{run.info.run_id}/fathoms.json")
    assert logged["judgments"]["topics"] == 6
