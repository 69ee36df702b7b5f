"""What can be read and how it is understood: every form of a run or qrels gives the same thing, and nothing is lost."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pytest
import zstandard

import fathoms as fm
from fathoms.base.files import whole_file
from fathoms.data import lines
from fathoms.data.file_names import stem
from fathoms.data.topics import topic_order

QRELS = b"1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n2 0 d 0\n"
RUN = b"1 Q0 a 1 3.0 t\n1 Q0 x 2 2.0 t\n1 Q0 c 3 1.0 t\n2 Q0 d 1 2.5 t\n2 Q0 a 2 1.5 t\n"
GRADES = {("1", "a"): 1.0, ("1", "b"): 0.0, ("1", "c"): 2.0, ("2", "a"): 1.0, ("2", "d"): 0.0}
SCORES = {("1", "a"): 3.0, ("1", "x"): 2.0, ("1", "c"): 1.0, ("2", "d"): 2.5, ("2", "a"): 1.5}


def cells(data: fm.Qrels | fm.Run) -> dict[tuple[str, str], float]:
    """{(topic, document): number}, with surrogates where bytes are no UTF-8."""
    numbers = data.grades if isinstance(data, fm.Qrels) else data.scores
    documents = [document.decode(errors="surrogateescape") for document in data.documents.tolist()]
    topics = [data.topics[i] for i in data.topic]
    found = dict(zip(zip(topics, documents, strict=True), numbers.tolist(), strict=True))
    assert len(found) == len(data)
    return found


def file(folder: Path, content: bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def run_of(folder: Path, content: bytes, **options: Any) -> fm.Run:
    return fm.read_run(file(folder, content), **options)


def qrels_of(folder: Path, content: bytes, **options: Any) -> fm.Qrels:
    return fm.read_qrels(file(folder, content), **options)


# -- forms of text ------------------------------------------------------------------------------------------------


def interleaved(text: bytes) -> bytes:
    """Lines by document, so that those of one topic do not stand together."""
    by_document = {line.split()[2] + line: line for line in text.splitlines(keepends=True)}
    return b"".join(by_document[key] for key in sorted(by_document))


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
TEXTS: dict[str, Callable[[bytes], bytes]] = PACKED | {
    "plain": lambda text: text,
    "gz in two members": lambda text: gzip.compress(text[:20]) + gzip.compress(text[20:]),
    "zst in two frames": lambda text: zstandard.compress(text[:20]) + zstandard.compress(text[20:]),
    "CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "CR": lambda text: text.replace(b"\n", b"\r"),
    "no final newline": lambda text: text[:-1],
    "blank lines": lambda text: b"\n \t\n" + text.replace(b"\n", b"\n\n"),
    "comments": lambda text: b"# topic ...\n" + text.replace(b"\n2", b"\n  # more\n2", 1) + b"#",
    "BOM": lambda text: b"\xef\xbb\xbf" + text,
    "BOM and comment": lambda text: b"\xef\xbb\xbf# a\r\n" + text,
    "tabs": lambda text: text.replace(b" ", b"\t"),
    "many blanks": lambda text: b"  " + text.replace(b" ", b" \t ").replace(b"\n", b"  \n"),
    "unsorted": lambda text: b"".join(sorted(text.splitlines(keepends=True), reverse=True)),
    "interleaved": interleaved,
    "exponents": lambda text: text.replace(b" 3.0 ", b" .3e1 ").replace(b" 1\n", b" 1e0\n").replace(b" 2\n", b" +2.\n"),
}


@pytest.mark.parametrize("form", TEXTS)
def test_every_form_of_text_reads_the_same(tmp_path: Path, form: str) -> None:
    qrels, run = qrels_of(tmp_path, TEXTS[form](QRELS)), run_of(tmp_path, TEXTS[form](RUN))
    assert cells(qrels) == GRADES
    assert cells(run) == SCORES
    assert run.tag == "t"
    assert qrels.notes == run.notes == []
    assert qrels.topics == ["1", "2"]


@pytest.mark.parametrize("piece", [1, 7, 40])
@pytest.mark.parametrize("form", ["plain", "CRLF", "no final newline", "comments"])
def test_a_file_read_in_pieces_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, piece: int
) -> None:
    monkeypatch.setattr(lines, "PIECE", piece)
    assert cells(run_of(tmp_path, TEXTS[form](RUN))) == SCORES
    with pytest.raises(fm.InputError, match=r":6: expected 6 columns .* found 2: '9 Q0'"):
        run_of(tmp_path, RUN + b"9 Q0\n")


@pytest.mark.parametrize("reader", [fm.read_run, fm.read_qrels])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, reader: Callable[[str], Any]) -> None:
    text, expected = (RUN, SCORES) if reader is fm.read_run else (QRELS, GRADES)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(gzip.compress(text))))
    assert cells(reader("-")) == expected


def test_columns_past_the_sixth_are_part_of_the_tag(tmp_path: Path) -> None:
    run = run_of(tmp_path, RUN.replace(b" t\n", b" my own run\n"))
    assert (run.tag, cells(run)) == ("my own run", SCORES)


@pytest.mark.parametrize(
    "text",
    [
        "1e3",
        "inf",
        "-inf",
        "Infinity",
        "1e400",
        "1e-400",
        "+5",
        ".5",
        "5.",
        "-0",
        "1" * 30,
        "0" * 30 + "7",
        "0.1234567890123456789",
        "9007199254740993",
        "9999999999999999999",
        "123456789.123456789",
        "-1.7976931348623157e308",
    ],
)
def test_numbers_are_read_as_float_reads_them(tmp_path: Path, text: str) -> None:
    assert run_of(tmp_path, f"1 Q0 a 1 {text} t\n".encode()).scores.tolist() == [float(text)]


def test_random_numbers_are_read_as_float_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    texts = [
        f"{rng.normal() * 10.0 ** rng.integers(-8, 9):.{rng.integers(0, 20)}{rng.choice(list('feg'))}}"
        for _ in range(3000)
    ]
    lines = "".join(f"1 Q0 d{i} {i} {text} t\n" for i, text in enumerate(texts))
    assert run_of(tmp_path, lines.encode()).scores.tolist() == [float(text) for text in texts]


NO_NUMBERS = [
    "nan",
    "NaN",
    "-nan",
    "NA",
    "abc",
    "1_000",
    "0x10",
    "1,5",
    "--1",
    "1e",
    "1d3",
    ".",
    "+",
    "-",
    "\u0661",
    "\u00bd",
]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number(tmp_path: Path, text: str) -> None:
    with pytest.raises(fm.InputError, match=r"file.txt:1: expected a number as score \(column 5\), found '"):
        run_of(tmp_path, RUN.replace(b"3.0", text.encode()))
    with pytest.raises(fm.InputError, match=r"file.txt:3: expected a finite number as grade \(column 4\), found '"):
        qrels_of(tmp_path, QRELS.replace(b"c 2", b"c " + text.encode()))


@pytest.mark.parametrize("text", ["inf", "-inf", "1e400"])
def test_a_grade_is_finite(tmp_path: Path, text: str) -> None:
    content = QRELS.replace(b"c 2", b"c " + text.encode())
    with pytest.raises(fm.InputError, match=":3: expected a finite number as grade"):
        qrels_of(tmp_path, content)
    assert ("1", "c") not in cells(qrels_of(tmp_path, content, lenient=True))


# -- ids are what they are ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "document"),
    [
        ("01", "1"),
        ("1", "01"),
        ("NA", "nan"),
        ("null", "None"),
        ('"1', 'd"x'),
        ("'", "`"),
        ("é中", "ü☃"),
        ("q,1", "a;b"),
        ("1" * 300, "x" * 300),
        ("9" * 5000, "y"),
        ("\udce9", "\udcff\udcfe"),
        ("1.0", "1e3"),
        ("a#b", "c#"),
        ("x{", "y["),
    ],
)
def test_ids_are_kept_to_the_byte(tmp_path: Path, topic: str, document: str) -> None:
    """Next to ids that a careless reader takes for the same."""
    others = [("1", "1"), (topic, document + "0"), (topic + "0", document), (topic, "0" + document)]
    pairs = dict.fromkeys([(topic, document), *others])
    run = "".join(f"{t} Q0 {d} 1 {i} tag\n" for i, (t, d) in enumerate(pairs))
    qrels = "".join(f"{t} 0 {d} {i}\n" for i, (t, d) in enumerate(pairs))
    expected = {pair: float(i) for i, pair in enumerate(pairs)}
    assert cells(run_of(tmp_path, run.encode(errors="surrogateescape"))) == expected
    read = qrels_of(tmp_path, qrels.encode(errors="surrogateescape"))
    assert cells(read) == expected
    assert len(read.to_frame()) == len(expected)
    assert cells(qrels_of(tmp_path, read.to_text().encode(errors="surrogateescape"))) == expected


def test_scores_are_compared_as_numbers_and_ranks_may_be_huge() -> None:
    run = pl.DataFrame({"topic": ["1"] * 2, "doc": ["b", "a"], "rank": [1.0, 1e30], "score": ["9", "10"]})
    assert fm.evaluate({"1": {"a": 1, "b": 0}}, run, "RR")["score"].to_list() == [1.0]


def test_topics_are_ordered_by_number_or_by_bytes() -> None:
    def ordered(topics: list[str]) -> list[str]:
        return [topics[i] for i in topic_order(topics)]

    assert ordered(["10", "9", "09", "100"]) == ["09", "9", "10", "100"]
    assert ordered(["10", "9", "q1"]) == ["10", "9", "q1"]


def test_fractional_grades_survive_writing(tmp_path: Path) -> None:
    qrels = qrels_of(tmp_path, b"1 0 a 0.12345678901\n1 0 b 2\n1 0 c 12345678\n")
    assert qrels.to_text() == "1 0 a 0.12345678901\n1 0 b 2\n1 0 c 12345678\n"
    assert qrels.levels.tolist() == [0.0, 0.12345678901, 2.0, 12345678.0]


# -- frames, dicts, JSON, parquet, ir_measures --------------------------------------------------------------------

RUN_DICT: dict[str, dict[str, Any]] = {"1": {"a": 3.0, "x": 2, "c": 1.0}, "2": {"d": 2.5, "a": np.float32(1.5)}}
QRELS_DICT = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1, "d": 0}}
PLAIN = {topic: {document: float(score) for document, score in ranking.items()} for topic, ranking in RUN_DICT.items()}


def records(number: str, data: dict[tuple[str, str], float]) -> list[dict[str, Any]]:
    return [{"query_id": topic, "doc_id": document, number: value} for (topic, document), value in data.items()]


def frame(number: str, data: dict[tuple[str, str], float]) -> pl.DataFrame:
    return pl.DataFrame(records(number, data))


def parquet(data: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    data.write_parquet(buffer)
    return buffer.getvalue()


RUN_FORMS: dict[str, Any] = {
    "dict": RUN_DICT,
    "polars": frame("score", SCORES),
    "lazy": frame("score", SCORES).lazy(),
    "polars, numbers as ids": frame("score", SCORES).with_columns(pl.col("query_id").cast(pl.Int32)),
    "polars, categories": frame("score", SCORES).with_columns(pl.col("doc_id").cast(pl.Categorical)),
    "pandas": pd.DataFrame(records("score", SCORES)),
    "pandas, PyTerrier's names": pd.DataFrame(records("score", SCORES)).rename(
        columns={"query_id": "qid", "doc_id": "docno"}
    ),
    "pandas, numbers as ids": pd.DataFrame(records("score", SCORES)).astype({"query_id": "float64"}),
    "tuples": [ir_measures.ScoredDoc(*pair, score) for pair, score in SCORES.items()],
    "records, mixed types": [row | {"query_id": int(row["query_id"])} for row in records("score", SCORES)[:2]]
    + records("score", SCORES)[2:],
}
RUN_BYTES = {
    "JSON dict": json.dumps(PLAIN).encode(),
    "JSON dict with BOM": b"\xef\xbb\xbf \n" + json.dumps(PLAIN, indent=1).encode(),
    "JSON records": json.dumps(records("score", SCORES)).encode(),
    "JSONL": "\n\n".join(map(json.dumps, records("score", SCORES))).encode(),
    "JSONL gz": gzip.compress("\n".join(map(json.dumps, records("score", SCORES))).encode()),
    "parquet": parquet(frame("score", SCORES)),
    "parquet, bytes as ids": parquet(frame("score", SCORES).with_columns(pl.col("doc_id").cast(pl.Binary))),
}


@pytest.mark.parametrize("form", [*RUN_FORMS, *RUN_BYTES])
def test_every_form_of_a_run_reads_the_same(tmp_path: Path, form: str) -> None:
    run = fm.read_run(RUN_FORMS[form]) if form in RUN_FORMS else run_of(tmp_path, RUN_BYTES[form])
    assert cells(run) == SCORES


def test_a_generator_of_tuples_is_a_run() -> None:
    runs = fm.read_runs(ir_measures.ScoredDoc(*pair, score) for pair, score in SCORES.items())
    assert cells(runs["run"]) == SCORES


@pytest.mark.parametrize(
    "form",
    [
        QRELS_DICT,
        frame("relevance", GRADES),
        frame("score", GRADES),
        pd.DataFrame(records("label", GRADES)),
        [ir_measures.Qrel(*pair, int(grade), "0") for pair, grade in GRADES.items()],
        json.dumps(QRELS_DICT).encode(),
        "\n".join(json.dumps(row) for row in records("rel", GRADES)).encode(),
        parquet(frame("grade", GRADES)),
    ],
    ids=["dict", "polars", "BEIR", "pandas", "tuples", "JSON", "JSONL", "parquet"],
)
def test_every_form_of_qrels_reads_the_same(tmp_path: Path, form: Any) -> None:
    assert cells(qrels_of(tmp_path, form) if isinstance(form, bytes) else fm.read_qrels(form)) == GRADES


def test_a_single_line_of_jsonl(tmp_path: Path) -> None:
    assert cells(run_of(tmp_path, b'{"qid": 7, "docid": "a", "score": 1}')) == {("7", "a"): 1.0}


@pytest.mark.parametrize("lazy", [False, True])
def test_a_frame_of_several_runs(lazy: bool) -> None:
    both = pl.concat([frame("score", SCORES).with_columns(run=pl.lit(name)) for name in ("x", "y")])
    for source in (both.lazy() if lazy else both, pd.DataFrame(both.to_dicts())):
        runs = fm.read_runs(source)
        assert list(runs) == ["x", "y"]
        assert cells(runs["y"]) == SCORES


def test_a_dict_of_runs_in_lists() -> None:
    rows = [(topic, document, score) for topic, ranking in RUN_DICT.items() for document, score in ranking.items()]
    topics, documents, scores = (list(column) for column in zip(*rows, strict=True))
    fields = [("qid", "U9"), ("docno", "U9"), ("score", "f8")]
    runs = fm.read_runs(
        {
            "tuples": rows,
            "columns": {"qid": topics, "docno": documents, "score": np.array(scores)},
            "fields": np.array(rows, dtype=fields),
            "arrow": pl.DataFrame({"qid": topics, "docno": documents, "score": scores}).to_arrow(),
        }
    )
    assert [cells(runs[name]) for name in runs] == [SCORES] * 4
    ranked = {topic: sorted(ranking, key=lambda d: -ranking[d]) for topic, ranking in RUN_DICT.items()}
    ranked_runs = fm.read_runs({"a": ranked, "b": ranked})
    assert list(ranked_runs) == ["a", "b"]
    assert ranked_runs["a"].to_dict() == {t: {d: len(r) - i for i, d in enumerate(r)} for t, r in ranked.items()}
    assert list(fm.read_runs(ranked)) == ["run"]


def test_a_dict_of_runs(tmp_path: Path) -> None:
    runs = fm.read_runs({"x": RUN_DICT, "y": str(file(tmp_path, RUN)), "z": frame("score", SCORES)})
    assert [cells(runs[name]) for name in runs] == [SCORES] * 3


def test_ids_of_bytes_are_text_in_every_form() -> None:
    qrels = {"1": {"é": 1, "b": 0}}
    é = "é".encode()
    forms = [
        {"1": {é: 2.0, "b": 1.0}},
        {b"1": {é: 2.0, b"b": 1.0}},
        {"1": [é, "b"]},
        [("1", é, 2.0), ("1", "b", 1.0)],
        {"topic": ["1", b"1"], "document": [é, b"b"], "score": [2, 1]},
    ]
    for form in forms:
        assert fm.evaluate(qrels, form, "AP").rows()[0][3] == 1.0, form
        assert fm.read_run(form).to_dict() == {"1": {"é": 2.0, "b": 1.0}}


def test_names_of_bytes_are_text() -> None:
    run = {"1": {"a": 2.0}}
    assert list(fm.read_runs({"é".encode(): run, "b": run})) == ["é", "b"]
    with pytest.raises(fm.FathomsError, match="two of the runs have the same name 'b'"):
        fm.read_runs({b"b": run, "b": run})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"1": {b"\xff": 1}}, r"column 'document' holds b'\\xff', which is not UTF-8"),
        ({"1": {(1, 2): 1}}, "column 'document' holds .*expected text or whole numbers"),
        ({"Score": [2], "score": [1], "topic": ["1"], "document": ["a"]}, "two columns of the same name"),
        ({}, "has no rows"),
        ({"1": {}}, "has no rows"),
        ([], "has no rows"),
        (5, "cannot read a run from int"),
        ([1, 2], "cannot read a run from list"),
        ({"1": {"a": 1}, "2": ["a"]}, r"expected {topic: {document: score}}, found list for '2'"),
        ({"1": ["a"], "2": None}, r"expected {topic: \[document, ...\]}, found NoneType for '2'"),
        ({"1": {"a": 1j}}, "expected a number as score, found '1j'"),
        ({"1": ["a", ""]}, "row 2: expected a document, found none"),
        ({"1": ["a", "b", "a"]}, r"row 3: topic 1: document a occurs twice \(first in row 1\)"),
        ({"qid": ["1"], "doc": ["a", "b"], "score": [1]}, "columns of different lengths"),
        ({"qid": ["1"], "doc": ["a"]}, "has no column for the score"),
        ([("1", "a", 2.0), ("1", "a")], "cannot read a run from list"),
        ([("1", "a", "x")], "row 1: topic 1, document a: expected a number as score, found 'x'"),
        ({"1": {"a": "x"}}, "row 1: topic 1, document a: expected a number as score, found 'x'"),
        ({"1": {"b": 1, "a": None}}, "row 2: topic 1, document a: expected a number as score, found None"),
        ({"1": {"a": float("nan")}}, "expected a number as score, found nan"),
        ({"1": {"a": "1_000"}}, "expected a number as score, found '1_000'"),
        ({"1": {"a": "0x10"}}, "expected a number as score, found '0x10'"),
        ({"1": {"a": [1]}}, "expected a number as score"),
        ({"1": {"": 1}}, "row 1: expected a document, found none"),
        ({"1": {"a": 1, "a\0": 1}}, r"row 2: expected a document, found a\\0"),
        ({"\udcff": {"a": 1}}, "not valid Unicode"),
        ([{"query_id": "\udcff", "doc_id": "a", "score": 1}], "not valid Unicode"),
        ([{"qid": 1, "docid": "a", "score": 1}] * 2, r"row 2: topic 1: document a .* \(first in row 1\)"),
        ([{"x": 1}], "no column that is known; its columns are x"),
        (pl.DataFrame({"qid": ["1"], "score": [1]}), "no column for the document .* its columns are qid, score"),
        (pl.DataFrame({"qid": ["1"], "doc": [["a"]], "score": [1]}), r"'doc' holds List\(String\), expected text"),
        (pl.DataFrame({"qid": [{"a": 1}], "doc": ["a"], "score": [1]}), "'qid' holds Struct"),
        (pl.DataFrame({"qid": ["1"], "doc": ["a"], "score": [[1]]}), r"'score' holds List\(Int64\), expected numbers"),
        (pd.DataFrame({"qid": ["1", None], "doc": ["a", "b"], "score": [1, 2]}), "row 2: expected a topic, found none"),
        (pd.DataFrame({"qid": [1, np.nan], "doc": ["a", "b"], "score": [1, 2]}), "row 2: expected a topic"),
        (pd.DataFrame({"qid": [1, 2], "doc": ["a", pd.NA], "score": [1, 2]}), "row 2: expected a document"),
        (pd.DataFrame({"qid": [1, 2], "doc": ["a", "b"], "score": [1, None]}), "row 2: .*expected a number as score"),
        (pd.DataFrame([[1, 1, "a", 2]], columns=["qid", "qid", "doc", "score"]), "two columns of the same name"),
    ],
)
def test_bad_frames_and_dicts(data: Any, message: str) -> None:
    with pytest.raises(fm.InputError, match=message):
        fm.read_run(data)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"1": {"a": 1', r"file.txt:1: is not valid JSON"),
        (b'{"1":\n {"a": oops}}', r"file.txt:2: is not valid JSON"),
        (b'{"qid": 1, "doc": "a", "score": 1}\n{"qid": }\n', "file.txt:2: is not valid JSON: Expecting value"),
        ('{"1": {"é": 1}}'.encode("latin-1"), "is not valid JSON: 'utf-8' codec"),
        (b"[" * 100_000, "is not valid JSON"),
        (b'{"1": {"a": ' + b"9" * 5000 + b"}}", "is not valid JSON"),
        (b"[1, 2]", "expected a list of records or an object"),
        (b'{"1": {"a": 1, "a": 1}}', "the key 'a' occurs twice in one object; --lenient keeps the first"),
        (b'{"1": {"a": 1}, "1": {"b": 1}}', "the key '1' occurs twice"),
        (b'{"bm25": {"1": {"a": 1}}}', "found dict for 'bm25'"),
        (b'{"1": {"\\udcff": 1}}', "not valid Unicode"),
        (b"PAR1", "is not a readable parquet file"),
        (parquet(frame("score", SCORES))[:-9], "is not a readable parquet file"),
        (parquet(frame("score", SCORES).clear()), "has no rows"),
    ],
)
def test_bad_json_and_parquet(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(fm.InputError, match=message):
        run_of(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b'{"1": {"a": 3, "a": 9, "b": 1}}', "skipped 1 bad part: 1 repeated key, kept the first"),
        (b'{"1": {"a": 3, "z": null, "b": 1}}', "skipped 1 bad row: row 2: topic 1, document z"),
        (
            b'{"qid": 1, "doc": "a", "score": 3}\n{"qid":\n{"qid": 1, "doc": "b", "score": 1}\n',
            "skipped 1 bad part: line 2",
        ),
        (b'[{"qid": 1, "doc": "a", "score": 3}, {"qid": 1, "score": 2}, {"qid": 1, "doc": "b", "score": 1}]', "row 2"),
        (
            b'{"qid": 1, "doc": "a", "score": 3}\n{"qid": 1, "doc": "b", "score": 1}\n'
            b'{"qid": 1, "doc": "a", "score": 9}',
            r"skipped 1 document that the topic had already, kept the first \(row 3",
        ),
    ],
)
def test_lenient_goes_on_in_json_too(tmp_path: Path, content: bytes, note: str) -> None:
    with pytest.raises(fm.InputError):
        run_of(tmp_path, content)
    run = run_of(tmp_path, content, lenient=True)
    assert cells(run) == {("1", "a"): 3.0, ("1", "b"): 1.0}
    assert len(run.notes) == 1
    assert re.search(note, run.notes[0]), run.notes


# -- lenient ------------------------------------------------------------------------------------------------------


def test_lenient_skips_keeps_the_first_counts_and_reports(tmp_path: Path) -> None:
    bad = b"1 Q0 y\n" + RUN + b"1 Q0 a 9 99 t\n2 Q0 a 9 99 t\n2 Q0 z 1 nan t\n2\n1 Q0 w 1 oops t\n"
    run = run_of(tmp_path, bad, lenient=True)
    assert cells(run) == SCORES
    skipped, repeated = run.notes
    assert "skipped 4 bad lines: line 1: " in skipped
    assert "line 9: expected a number as score (column 5), found 'nan'; line 10: expected 6 columns" in skipped
    assert skipped.endswith("; ...")
    assert "skipped 2 documents that the topic had already, kept the first (line 7: " in repeated

    qrels = qrels_of(tmp_path, b"x\n" + QRELS + b"1 0 a 0\n1 0 a 1\n1 0 b 2\n", lenient=True)
    assert cells(qrels) == GRADES
    assert [note.split(": ", 1)[1].split(",")[0].split(":")[0] for note in qrels.notes] == [
        "skipped 1 bad line",
        "skipped 2 judgments that another one contradicts",
        "1 judgment repeated with the same grade; each counts once",
    ]


def test_lenient_does_not_make_a_run_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(
        fm.InputError, match=r"file.txt:1: expected 6 columns .* found 4: .*looks like a qrels file \(4 more"
    ):
        run_of(tmp_path, QRELS, lenient=True)


# -- judgments ----------------------------------------------------------------------------------------------------


def test_negative_grades_and_junk(tmp_path: Path) -> None:
    content = QRELS.replace(b"c 2", b"c -2").replace(b"b 0", b"b -1")
    qrels = qrels_of(tmp_path, content)
    assert "2 judgments with a negative grade, which means unjudged" in qrels.notes[0]
    assert qrels.counts.sum() == 3
    junk = qrels_of(tmp_path, content, junk=-2)
    assert cells(junk)["1", "c"] == 0.0
    assert "1 judgment with a negative grade" in junk.notes[0]


@pytest.mark.parametrize("junk", [0, 2, float("nan")])
def test_junk_is_a_negative_grade(junk: float) -> None:
    with pytest.raises(fm.FathomsError, match="junk must be a negative grade"):
        fm.read_qrels(QRELS_DICT, junk=junk)


def test_too_many_grades_are_refused(tmp_path: Path) -> None:
    lines = b"".join(b"1 0 d%d %d\n" % (i, i) for i in range(32_001))
    with pytest.raises(fm.InputError, match="32,001 different grades, expected at most 32,000"):
        qrels_of(tmp_path, lines)


def test_ten_thousand_topics_of_one_document(tmp_path: Path) -> None:
    qrels = qrels_of(tmp_path, b"".join(b"%d 0 a %d\n" % (i, i % 2) for i in range(10_000)))
    run = run_of(tmp_path, b"".join(b"%d Q0 a 1 1 t\n" % i for i in range(10_000)))
    assert fm.evaluate(qrels, run, "AP")["score"].to_list() == [0.5]


# -- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", PACKED)
@pytest.mark.parametrize("missing", [1, 5, 20])
def test_compressed_data_cut_short_is_an_error(tmp_path: Path, form: str, missing: int) -> None:
    """Never the lines that could still be unpacked."""
    lines = b"".join(b"1 Q0 d%d %d %d t\n" % (i * 7919, i, -i) for i in range(20_000))
    with pytest.raises(fm.InputError, match="the compressed data is damaged or cut short"):
        run_of(tmp_path, PACKED[form](lines)[:-missing])


def test_a_zst_stream_cut_at_the_end_of_a_line_is_an_error(tmp_path: Path) -> None:
    """Written in blocks, as a pipe writes it: the blocks before the cut can be unpacked and are whole lines."""
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    first = packer.compress(RUN) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    with pytest.raises(fm.InputError, match="ends inside a compressed part"):
        run_of(tmp_path, first)
    assert cells(run_of(tmp_path, first + packer.flush())) == SCORES


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/bm25.run.gz", "bm25"),
        ("a.b.txt", "a.b"),
        ("x.RUN", "x"),
        ("input.bm25", "input.bm25"),
        (".run", ".run"),
        ("r.trec.tsv.zst", "r"),
        ("r.json", "r"),
        ("r.parquet", "r"),
        ("r.runs.bz2", "r"),
        ("r.res.xz", "r"),
        ("r.jsonl", "r"),
    ],
)
def test_names_lose_their_endings(path: str, name: str) -> None:
    assert stem(path) == name


def test_runs_are_named_as_shortly_as_they_can_be(tmp_path: Path) -> None:
    for folder, name in (("x", "s.run"), ("y", "s.run.gz"), ("y", "t.run"), ("y", ".hidden")):
        (tmp_path / folder).mkdir(exist_ok=True)
        file(tmp_path / folder, RUN, name)
    assert list(fm.read_runs([str(tmp_path / "x"), tmp_path / "y"])) == ["x/s", "y/s", "t"]
    assert list(fm.read_runs(str(tmp_path / "*" / "s.*"))) == ["x/s", "y/s"]
    bracket = file(tmp_path, RUN, "run[1].txt")
    assert list(fm.read_runs([str(bracket), str(bracket)])) == ["run[1]"]
    again = tmp_path / "x" / ".." / "x" / "s.run"
    assert len(fm.read_runs([tmp_path / "x" / "s.run", again])) == 2


def test_two_runs_of_one_name_are_refused() -> None:
    with pytest.raises(fm.FathomsError, match="two of the runs have the same name 'r'"):
        fm.read_runs([fm.read_run(RUN_DICT, name="r"), fm.read_run(RUN_DICT, name="r")])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope", "no such file"),
        ("a" * 300, "no such file"),
        ("*.zip", "no file matches"),
        ("empty", "holds no files"),
        ("q\0", "no such file"),
    ],
)
def test_runs_that_are_not_there(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(fm.InputError, match=message):
        fm.read_runs(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "message"),
    [("nope", "no such file"), ("a" * 300, "File name too long"), (".", "is a folder"), ("q\0", "cannot be read")],
)
def test_qrels_that_are_not_there(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(fm.InputError, match=message):
        fm.read_qrels(tmp_path / name)


def _fail_half_way(path: Path) -> None:
    path.write_text("half")
    raise OSError(28, "disk full")


def test_an_output_file_is_whole_or_not_there(tmp_path: Path) -> None:
    old = file(tmp_path, b"old", "out")
    with pytest.raises(fm.InputError, match="out: cannot be written: disk full"), whole_file(old) as path:
        _fail_half_way(path)
    assert old.read_text() == "old"
    link = tmp_path / "link"
    link.symlink_to(old)
    with whole_file(link) as path:
        path.write_text("new")
    assert link.is_symlink()
    assert old.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [link, old]


# -- line ends and compressed parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(1, 4))
@pytest.mark.parametrize("end", [b"\r", b"\r\r\n"])
def test_a_stray_carriage_return_ends_a_line(place: int, end: bytes, tmp_path: Path) -> None:
    """It once hid the following line in the tag."""

    def read(raw: bytes) -> fm.Run:
        (tmp_path / "x.run").write_bytes(raw)
        return fm.read_run(tmp_path / "x.run")

    lines = [b"1 Q0 a 1 9 t", b"1 Q0 b 2 8 t", b"1 Q0 c 3 7 t", b"1 Q0 d 4 6 t"]
    whole = fm.evaluate({"1": {"a": 1, "c": 1, "d": 1}}, {"x": read(b"\n".join(lines))}, "AP")
    mixed = b"\n".join(lines[:place]) + end + b"\n".join(lines[place:])
    found = fm.evaluate({"1": {"a": 1, "c": 1, "d": 1}}, {"x": read(mixed)}, "AP")
    assert found.equals(whole)
    broken = mixed.replace(b"1 Q0 d 4", b"1 Q0\rd 4")
    with pytest.raises(fm.InputError, match="expected 6 columns"):
        read(broken)


@pytest.mark.parametrize("packer", ["bz2", "lzma", "gzip", "zstandard"])
def test_a_later_compressed_part_that_is_damaged_is_an_error(packer: str, tmp_path: Path) -> None:
    # Without a checksum, which zstd's function leaves out, nothing shows a changed byte.
    checked = zstandard.ZstdCompressor(write_checksum=True).compress
    compress = checked if packer == "zstandard" else sys.modules[packer].compress
    first, second = (compress(part) for part in (b"1 Q0 a 1 9 t\n", b"1 Q0 b 2 8 t\n1 Q0 c 3 7 t\n"))
    path = tmp_path / "x.run"
    path.write_bytes(first + second)
    assert len(fm.read_run(path)) == 3
    flipped = bytes(byte ^ 0xFF if i == len(second) // 2 else byte for i, byte in enumerate(second))
    for damaged in (flipped, second[: len(second) // 2], b"rubbish"):
        path.write_bytes(first + damaged)
        with pytest.raises(fm.InputError, match="damaged or cut short"):
            fm.read_run(path)
    if packer == "lzma":
        path.write_bytes(first + b"\0" * 8 + second + b"\0" * 4)  # padding that the format allows
        assert len(fm.read_run(path)) == 3


@pytest.mark.parametrize("measure", ["nDCG(gain=exp)", "ERR", "DCG(gain=exp)@5", "Q(gain=exp)@5"])
def test_grades_too_large_for_a_power_of_two(measure: str) -> None:
    run = {"1": {"a": 2.0, "b": 1.0}}
    assert np.isfinite(fm.evaluate({"1": {"a": 1000, "b": 3}}, run, measure)["high"][0])
    with pytest.raises(fm.FathomsError, match=r"2\^grade is too large a number for grade 1100; use gain=linear"):
        fm.evaluate({"1": {"a": 1100, "b": 3}}, run, measure)
