"""Runs and judgments through every format and back: nothing changes that the format can carry, and the rest is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.files import PACKED_ENDINGS, compress
from fathoms.data.columns import BLOCK, fixed_width
from fathoms.data.convert import content, losses
from fathoms.data.formats import registry
from fathoms.data.sniff import kind_of
from fathoms.evidence.order import Ties, default_precision, order_rows
from tests.data.test_reading import GRADES, QRELS, RUN, SCORES, cells
from tests.support.commands import Command

FORMATS = [format.name for format in registry.writable()]

Row = tuple[str, str, float | None, float]

# -- round trips --------------------------------------------------------------------------------------------------

ids = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Z"), exclude_characters="#{[\ufeff"), min_size=1, max_size=20
).filter(lambda id: id != "all")  # which names the mean, and no topic
scores = st.floats(allow_nan=False, width=64) | st.integers(-3, 3).map(float)
ranks = st.integers(-5, 10**6).map(float) | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def runs(draw: st.DrawFn) -> fm.Run:
    """Rows in any order, ties, infinities, ids of any script, with or without ranks."""
    pairs = draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=30, unique=True))
    has_ranks = draw(st.booleans())
    rows = [
        {"topic": t, "document": d, "score": draw(scores), "tag": "my tag"}
        | ({"rank": draw(ranks)} if has_ranks else {})
        for t, d in pairs
    ]
    return fm.read_run(rows, name="drawn")


def rows_of(run: fm.Run) -> list[Row]:
    places = [None] * len(run) if run.ranks is None else run.ranks.tolist()
    documents = [document.decode(errors="surrogateescape") for document in run.documents.tolist()]
    return list(zip([run.topics[i] for i in run.topic], documents, places, run.scores.tolist(), strict=True))


def by_topic(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return found


def ordered(run: fm.Run, ties: Ties) -> dict[str, list[str]]:
    """Each topic's documents in a policy's order."""
    order, _ = order_rows(run, np.arange(len(run)), run.topic, ties, default_precision(ties))
    rows = rows_of(run)
    return {topic: [row[1] for row in found] for topic, found in by_topic([rows[i] for i in order]).items()}


def again(data: fm.Run | fm.Qrels, to: str, folder: Path, rows: Any = None) -> Any:
    path = folder / "again"
    path.write_bytes(content(data, to, rows))
    return fm.read_run(path, name="drawn") if isinstance(data, fm.Run) else fm.read_qrels(path)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(runs())
def test_a_run_comes_back_from_trec_and_parquet(tmp_path_factory: pytest.TempPathFactory, run: fm.Run) -> None:
    folder = tmp_path_factory.mktemp("f")
    for to in ("trec", "parquet"):
        back = again(run, to, folder)
        assert [row[3] for row in rows_of(back)] == [row[3] for row in rows_of(run)], to  # float64, exactly
        assert back.tag == run.tag
        if run.ranks is not None or to == "parquet":
            assert rows_of(back) == rows_of(run), to
        for ties in ("trec", "run") if run.ranks is None else ("trec", "run", "rank", "score-rank"):
            assert ordered(back, ties) == ordered(run, ties), (to, ties)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(runs())
def test_a_run_comes_back_from_json(tmp_path_factory: pytest.TempPathFactory, run: fm.Run) -> None:
    folder = tmp_path_factory.mktemp("f")
    if np.isinf(run.scores).any():
        for to in ("json", "jsonl"):
            with pytest.raises(fm.InputError, match="infinite numbers, which json"):
                content(run, to)
        return
    assert rows_of(again(run, "jsonl", folder)) == rows_of(run)
    back = again(run, "json", folder)
    without = {topic: [(t, d, None, s) for t, d, _, s in rows] for topic, rows in by_topic(rows_of(run)).items()}
    assert by_topic(rows_of(back)) == without
    assert content(run, "beir") == content(run, "json")
    for ties in ("trec", "run"):
        assert ordered(back, ties) == ordered(run, ties)
    assert rows_of(fm.read_run(run.to_frame())) == rows_of(run)
    assert rows_of(fm.read_run(run.to_pandas())) == rows_of(run)
    assert by_topic(rows_of(fm.read_run(run.to_dict()))) == without


@settings(max_examples=60, deadline=None)
@given(runs(), st.sampled_from(["trec", "run", "rank", "score-rank"]))
def test_a_runs_order_comes_back_from_ms_marco(
    tmp_path_factory: pytest.TempPathFactory, run: fm.Run, ties: Ties
) -> None:
    if run.ranks is None and "rank" in ties:
        return
    rows, _ = order_rows(run, np.arange(len(run)), run.topic, ties, default_precision(ties))
    back = again(run, "msmarco", tmp_path_factory.mktemp("f"), rows)
    for policy in ("trec", "run", "rank", "score-rank"):
        assert ordered(back, policy) == ordered(run, ties)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.tuples(ids, ids), st.integers(-2, 5) | st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=20
    )
)
def test_judgments_come_back(tmp_path_factory: pytest.TempPathFactory, grades: dict[tuple[str, str], float]) -> None:
    folder = tmp_path_factory.mktemp("f")
    qrels = fm.read_qrels(
        [{"topic": t, "document": d, "grade": grade} for (t, d), grade in grades.items()], lenient=True
    )
    for to in ("trec", "parquet", "json", "jsonl"):
        assert cells(again(qrels, to, folder)) == grades, to
    assert cells(fm.read_qrels(qrels.to_pandas())) == cells(fm.read_qrels(qrels.to_dict())) == grades
    if all(float(grade).is_integer() for grade in grades.values()):
        text = content(qrels, "beir")
        assert text.startswith(b"query-id\tcorpus-id\tscore\n")
        assert cells(again(qrels, "beir", folder)) == grades
    else:
        with pytest.raises(fm.InputError, match="BEIR takes whole grades only"):
            content(qrels, "beir")


def test_ids_that_are_no_utf8_and_ranks_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(b"\xe9 Q0 d\xff 1 1.5 t\n\xe9 Q0 b first 1.25 t\n")
    run = fm.read_run(path)
    for to in ("trec", "parquet"):
        back = again(run, to, tmp_path)
        assert (back.topics, back.documents.tolist()) == (["\udce9"], [b"d\xff", b"b"])
        assert (back.scores.tolist(), str(back.ranks)) == ([1.5, 1.25], "[ 1. nan]")
    for form in ("json", "jsonl"):
        with pytest.raises(fm.InputError, match="not valid UTF-8, so json"):
            content(run, form)
    assert run.to_frame()["document"].to_list() == ["d\\xff", "b"]
    assert list(run.to_dict()) == ["\\xe9"]


@pytest.mark.parametrize(
    ("topic", "document", "message"),
    [
        ("1", "a b", "the document 'a b' has a blank in it, so trec cannot carry it; csv, jsonl, json and parquet can"),
        ("1\n", "a", "the topic '1.n' has a blank in it"),
        ("#1", "a", "the topic '#1' would be read as a comment"),
        ("{1", "a", "the topic '{1' would be read as the start of JSON"),
    ],
)
def test_ids_that_text_cannot_hold(tmp_path: Path, topic: str, document: str, message: str) -> None:
    run = fm.read_run({topic: {document: 1.0}})
    with pytest.raises(fm.InputError, match=message):
        content(run, "trec")
    assert cells(again(run, "parquet", tmp_path)) == cells(again(run, "json", tmp_path)) == {(topic, document): 1.0}


def test_a_run_without_ranks_gets_places_by_score(tmp_path: Path) -> None:
    run = fm.read_run({"1": {"a": 1.0, "b": 3.0, "c": 3.0}, "2": {"a": 0.5}})
    assert content(run, "trec") == b"1 Q0 a 3 1.0 run\n1 Q0 b 1 3.0 run\n1 Q0 c 2 3.0 run\n2 Q0 a 1 0.5 run\n"
    assert losses(run, "trec") == [
        "run: has no ranks; places by descending score are written",
        "run: has no tag; the name run is written",
    ]


def test_iterations_are_not_kept_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    for text, found in (
        (b"1 0 a 1\n1 Q0 b 0\n", ""),
        (b"# 1 2 3 4\n\n1 0 a 1\n1 0 b 0\n 2\t 7 a 1\n", "7"),
        (b"1 01 a 1\r\n", "01"),
        (b"query-id corpus-id score n\n1 a 1 3\n", ""),
        (b'{"1": {"a": 1}}', ""),
    ):
        path.write_bytes(text)
        qrels = fm.read_qrels(path)
        said = f"{path}: the iteration column is not kept (found {found}); "
        assert losses(qrels, "trec") == ([said + "trec has 0 in its place"] if found else [])
        assert losses(qrels, "json") == ([said + "json does not carry it"] if found else [])
    assert losses(fm.read_qrels({"1": {"a": 1}}), "trec") == []


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"# ir_metadata.start\n# tag: t\n# ir_metadata.end\n" + RUN)
    run = fm.read_run(path)
    lost = {to: losses(run, to) for to in FORMATS}
    assert lost["trec"] == []
    assert lost["parquet"] == [f"{path}: parquet does not carry ir_metadata"]
    assert lost["json"] == [f"{path}: json does not carry ranks, the tag, ir_metadata"]
    assert "scores, and with them ties" in lost["msmarco"][0]
    assert content(run, "trec").startswith(b"# ir_metadata.start\n# tag: t\n# ir_metadata.end\n1 Q0 a 1 3.0 t\n")


# -- byte strings -------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=30), max_size=40))
def test_fixed_width_text(texts: list[str]) -> None:
    for column in (pl.Series(texts, dtype=pl.String), pl.Series([text.encode() for text in texts], dtype=pl.Binary)):
        found, proper = fixed_width(column)
        assert proper <= all(texts)
        assert found.tolist() == [text.encode() for text in texts]
        assert found.dtype.itemsize % 8 == 0


def test_more_rows_than_a_block(tmp_path: Path) -> None:
    n = BLOCK + 1000
    table = pl.DataFrame({"topic": ["q"] * n, "document": [f"d{i}" for i in range(n)], "score": np.arange(n) / 7})
    table.write_parquet(tmp_path / "run.parquet")
    run = fm.read_run(tmp_path / "run.parquet")
    assert run.documents.tolist() == [f"d{i}".encode() for i in range(n)]
    assert run.scores.tolist() == table["score"].to_list()


# -- forms of other tools -----------------------------------------------------------------------------------------


def file(folder: Path, text: str | bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_ms_marco_runs(tmp_path: Path) -> None:
    path = file(tmp_path, "7\td9\t1\n7\td1\t2\n8\td9\t1\n")
    run = fm.read_run(path)
    assert rows_of(run) == [("7", "d9", 1.0, -1.0), ("7", "d1", 2.0, -2.0), ("8", "d9", 1.0, -1.0)]
    for ties in ("trec", "run", "rank", "score-rank"):
        assert ordered(run, ties) == {"7": ["d9", "d1"], "8": ["d9"]}
    with pytest.raises(fm.InputError, match=r"file:3: expected 3 columns \(topic document rank\), found 2: '8.td9'"):
        fm.read_run(file(tmp_path, "7\td9\t1\n7\td1\t2\n8\td9\n"))


@pytest.mark.parametrize("text", ["1 Q0 5\n", "1\tQ0\t5\n", "7 d9 1\n", "7\td9\tx\n", "7\td9\t1.5\n"])
def test_what_is_no_ms_marco_run(tmp_path: Path, text: str) -> None:
    with pytest.raises(fm.InputError, match="file:1: expected 6 columns"):
        fm.read_run(file(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\n",
        "# c\n\nquery-id corpus-id score\n",
        "\ufeffqid docid relevance\n",
        "Q_ID Doc_ID rel\n",
    ],
)
def test_judgments_whose_first_line_names_the_columns(tmp_path: Path, text: str) -> None:
    lines = "".join(f"{topic}\t{document}\t{grade:g}\n" for (topic, document), grade in GRADES.items())
    assert cells(fm.read_qrels(file(tmp_path, text + lines))) == GRADES
    at = text.count("\n") + len(GRADES) + 1
    with pytest.raises(fm.InputError, match=f"file:{at}: expected a finite number as grade .column 3., found 'x'"):
        fm.read_qrels(file(tmp_path, text + lines + "9\td\tx\n"))


def test_a_run_whose_first_line_names_the_columns(tmp_path: Path) -> None:
    run = fm.read_run(file(tmp_path, "tag rank qid docno score\nt 2 1 a 0.5\nt 1 1 b 0.75\n"))
    assert rows_of(run) == [("1", "a", 2.0, 0.5), ("1", "b", 1.0, 0.75)]
    assert run.tag == ""
    assert fm.read_run(file(tmp_path, "qid docno score tag\n1 a 0.5 mine\n")).tag == "mine"


MTEB = {
    "mteb_model_meta": {"model_name": "m", "revision": "r"},
    "default": {
        "test": {
            topic: dict(ranking)
            for topic, ranking in fm.read_run([{"qid": t, "docid": d, "score": s} for (t, d), s in SCORES.items()])
            .to_dict()
            .items()
        }
    },
}


def test_mteb_predictions(tmp_path: Path) -> None:
    path = file(tmp_path, json.dumps(MTEB), "Task_predictions.json")
    assert cells(fm.read_run(path)) == cells(fm.read_run(MTEB)) == cells(fm.read_mteb(path)) == SCORES
    assert cells(fm.read_run({"default": MTEB["default"]})) == SCORES  # four levels, and no model
    assert fm.evaluate({"1": {"a": 1}, "2": {"a": 1}}, MTEB, "P@1")["score"].to_list() == [0.5]
    assert fm.read_mteb(path).name == "Task_predictions"
    several = MTEB | {"en": {"dev": {"1": {"a": 1.0}}, "test": {"1": {"a": 2.0}}}}
    with pytest.raises(fm.InputError, match=r"2 subsets of MTEB's predictions \(default, en\), expected one; choose"):
        fm.read_run(several)
    with pytest.raises(fm.InputError, match=r"2 splits of MTEB's predictions \(dev, test\)"):
        fm.read_mteb(several, subset="en")
    with pytest.raises(fm.InputError, match="has no split 'train'; those it has: dev, test"):
        fm.read_mteb(several, subset="en", split="train")
    assert fm.read_mteb(several, subset="en", split="dev", name="x").scores.tolist() == [1.0]
    with pytest.raises(fm.InputError, match="found int"):
        fm.read_mteb({"mteb_model_meta": {}, "en": 3})
    for text, message in (("{", "is not valid JSON"), ("[]", "expected an object as MTEB writes, found list")):
        with pytest.raises(fm.InputError, match=message):
            fm.read_mteb(file(tmp_path, text))


def test_hugging_face_rows(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"query-id": t, "corpus-id": d, "score": g} for (t, d), g in GRADES.items()]
    assert cells(fm.read_qrels(rows)) == GRADES
    assert cells(fm.read_qrels(file(tmp_path, "\n".join(map(json.dumps, rows))))) == GRADES
    rows = [{"query_id": t, "corpus_id": d, "score": s, "text": "..."} for (t, d), s in SCORES.items()]
    assert cells(fm.read_run(iter(rows))) == SCORES


def test_ranx() -> None:
    ranx = pytest.importorskip("ranx")
    run = fm.read_run(ranx.Run({"1": {"a": 3.0, "x": 2.0, "c": 1.0}, "2": {"d": 2.5, "a": 1.5}}, name="mine"))
    qrels = fm.read_qrels(ranx.Qrels({"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1, "d": 0}}))
    assert (cells(run), cells(qrels)) == (SCORES, GRADES)
    assert run.to_ranx().to_dict() == run.to_dict()
    assert qrels.to_ranx().to_dict() == qrels.to_dict()
    assert run.to_ranx().name == "mine"
    assert fm.read_run(ranx.Run({"1": {"a": 3.0}})).name == "run"
    with pytest.raises(fm.InputError, match=r"ranx takes whole grades only, found 0\.5"):
        fm.read_qrels({"1": {"a": 0.5}}).to_ranx()


@pytest.mark.parametrize("package", ["ranx", "pandas"])
def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(fm.FathomsError, match=f"`pip install {package}` adds it"):
        getattr(fm.read_run({"1": {"a": 1.0}}), f"to_{package}")()


def test_frames_have_their_columns() -> None:
    run = fm.read_run({"1": {"a": 1.0}})
    assert run.to_frame().schema == {
        "topic": pl.String,
        "document": pl.String,
        "rank": pl.Int64,
        "score": pl.Float64,
        "tag": pl.String,
    }
    assert list(run.to_pandas().columns) == ["topic", "document", "rank", "score", "tag"]
    assert isinstance(run.to_pandas(), pd.DataFrame)
    qrels = fm.read_qrels({"1": {"a": 1, "b": 0.5}})
    assert qrels.to_frame().rows() == [("1", "a", 1.0), ("1", "b", 0.5)]
    assert qrels.to_dict() == {"1": {"a": 1, "b": 0.5}}
    assert isinstance(qrels.to_dict()["1"]["a"], int)


# -- kinds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (RUN, "run"),
        (QRELS, "qrels"),
        (gzip.compress(RUN, mtime=0), "run"),
        (b"# a\n\n" + QRELS, "qrels"),
        (b"7\td\t1\n", "run"),
        (b"qid docid rel\n1 a 1\n", "qrels"),
        (b"qid docid score rank\n1 a 1 1\n", "run"),
        (b"query-id\tcorpus-id\tscore\n1\ta\t1\n", None),
        (b'{"1": {"a": 1}}', None),
        (b'{"qid": 1, "rel": 2}', "qrels"),
        (json.dumps(MTEB).encode(), "run"),
        (b"1 2 3\n", None),
        (b"", None),
        (b"PAR1 and then nothing", None),
    ],
)
def test_kinds_are_told_where_it_is_safe(tmp_path: Path, text: bytes, kind: str | None) -> None:
    assert kind_of(str(file(tmp_path, text))) == kind


def test_kinds_of_parquet(tmp_path: Path) -> None:
    for data, kind in ((fm.read_run({"1": {"a": 1.0}}), "run"), (fm.read_qrels({"1": {"a": 1}}), "qrels")):
        assert kind_of(str(file(tmp_path, content(data, "parquet")))) == kind


# -- the command --------------------------------------------------------------------------------------------------


def test_the_command_goes_by_endings(fathoms: Command) -> None:
    for target in ("r.parquet", "r.json", "r.jsonl", "r.run.gz", "r.trec.zst", "r.txt.bz2", "r.res.xz"):
        done = fathoms("convert", "good.run", "-o", target)
        assert (done.status, done.out) == (0, ""), done.err
        assert f"fathoms: {target}: 5 documents of 2 topics as" in done.err
        assert cells(fm.read_run(target)) == SCORES
    assert Path("r.run.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert Path("r.trec.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert fathoms("convert", "qrels.txt", "-o", "q.tsv").status == 0
    assert Path("q.tsv").read_text().splitlines()[:2] == ["query-id\tcorpus-id\tscore", "1\ta\t1"]
    done = fathoms("convert", "good.run", "-o", "r.tsv")
    assert "warning: good.run: msmarco does not carry scores" in done.err
    assert Path("r.tsv").read_text() == "1\ta\t1\n1\tx\t2\n1\tc\t3\n2\td\t1\n2\ta\t2\n"
    assert fathoms("convert", "r.json", "-o", "back.run", "--kind", "run", "--quiet").err == ""


def test_ties_of_ms_marco(fathoms: Command) -> None:
    Path("tied.run").write_text("1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n1 Q0 c 3 5 t\n")
    for ties, order in (("trec", "cba"), ("run", "abc"), ("score-rank", "abc")):
        fathoms("convert", "tied.run", "-o", "t.tsv", "--ties", ties)
        assert Path("t.tsv").read_text() == "".join(f"1\t{d}\t{i}\n" for i, d in enumerate(order, 1))


def test_several_files_to_a_folder(fathoms: Command) -> None:
    Path("other.run").write_bytes(RUN)
    assert fathoms("convert", "good.run", "other.run", "-o", "out", "--to", "parquet").status == 0
    assert fathoms("convert", "qrels.txt", "-o", "out/", "--to", "json").status == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["good.parquet", "other.parquet", "qrels.json"]
    assert cells(fm.read_run("out/other.parquet")) == SCORES


def test_a_broken_input_leaves_no_output(fathoms: Command) -> None:
    Path("bad.run").write_bytes(RUN + b"1 Q0 y\n")
    Path("out.parquet").write_text("as it was")
    done = fathoms("convert", "bad.run", "-o", "out.parquet")
    assert (done.status, done.out) == (2, "")
    assert "bad.run:6: expected 6 columns" in done.err
    assert Path("out.parquet").read_text() == "as it was"
    assert fathoms("convert", "bad.run", "-o", "out.parquet", "--lenient").status == 0
    assert cells(fm.read_run("out.parquet")) == SCORES


@pytest.mark.parametrize("ending", PACKED_ENDINGS)
def test_damaged_data_is_named(fathoms: Command, ending: str) -> None:
    whole = compress(np.random.default_rng(1).bytes(3000), ending)
    Path(f"bad{ending}").write_bytes(whole[:40] + bytes(200) + whole[240:])
    for kind in ([], ["--kind", "run"]):
        done = fathoms("convert", f"bad{ending}", "-o", "x.parquet", *kind)
        assert (done.status, done.out) == (2, "")
        assert f"bad{ending}:" in done.err
        assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("good.run -o x", "x: its ending names no format; say --to"),
        ("good.run -o x.parquet.gz", "parquet is compressed in itself"),
        ("good.run qrels.txt -o out", "say --to, such as --to parquet"),
        ("good.run qrels.txt -o x.run --to trec", "x.run: is the name of a file, expected a folder for 2 files; say x"),
        ("good.run qrels.txt -o plain --to json", "plain: is a file, expected a folder to write to"),
        ("good.run -o good.run", "good.run: is one of the files to read"),
        ("good.run -o ./ --to trec", "good.run: is one of the files to read"),
        ("sub/good.run good.run -o out --to json", "sub/good.run and good.run would both be good"),
        ("d.json -o x.run", "d.json: could be a run or judgments; say --kind run or --kind qrels"),
        ("- -o x.run", "standard input can be read once only; say --kind"),
        ("qrels.txt -o x.tsv --to msmarco --kind qrels", "msmarco is a format of runs"),
        ("good.run -o no/x.run", "there is no folder no"),
        ("good.run -o no/x/ --to trec", "no/x: the folder cannot be made"),
        ("none.run -o x.run", "none.run: no such file"),
        ("irds:no-such-thing -o x.txt", "irds:no-such-thing: "),
        ("m.json -o x.run", r"m.json: holds 2 splits"),
        ("m.json -o x.run --split nope", "has no split 'nope'"),
    ],
)
def test_bad_usage(fathoms: Command, words: str, message: str) -> None:
    Path("sub").mkdir()
    Path("sub/good.run").write_bytes(RUN)
    Path("plain").write_text("as it was")
    Path("d.json").write_text('{"1": {"a": 1}}')
    Path("m.json").write_text(json.dumps({"mteb_model_meta": {}, "d": {"a": {"1": {"a": 1}}, "b": {"1": {"a": 2}}}}))
    done = fathoms("convert", *words.split())
    assert done.status == 2
    assert message in done.err
    assert not Path("x.run").exists()


def test_mteb_by_the_command(fathoms: Command) -> None:
    Path("m.json").write_text(json.dumps({"mteb_model_meta": {}, "d": {"a": {"1": {"a": 1}}, "b": {"1": {"a": 2}}}}))
    assert fathoms("convert", "m.json", "-o", "x.run", "--split", "b").status == 0
    assert Path("x.run").read_text() == "1 Q0 a 1 2.0 m\n"


def test_one_judgment_is_not_several(fathoms: Command) -> None:
    Path("q.txt").write_text("1 0 a 1\n")
    assert "q.csv: 1 judgment of 1 topic as csv" in fathoms("convert", "q.txt", "-o", "q.csv").err
