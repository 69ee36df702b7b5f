"""Fingerprints: equal over order, format, compression and ways of asking; others for one changed grade or score."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fathoms as fm
from fathoms.base.provenance import Provenance
from fathoms.cli.app import main
from fathoms.data.fingerprint import Content, content_of_qrels, content_of_run

QRELS = b"t1 0 d1 1\nt1 0 d2 0\nt2 0 d1 2\nt2 0 d3 -1\n"
RUN = b"t1 Q0 d1 1 2.5 a\nt1 Q0 d9 2 1.25 a\nt2 Q0 d3 1 0.1 a\n"
GRADES = {"t1": {"d1": 1, "d2": 0}, "t2": {"d1": 2, "d3": -1}}
SCORES = {"t2": {"d3": 0.1}, "t1": {"d9": 1.25, "d1": 2.5}}


def judged(source: Any) -> str:
    return content_of_qrels(fm.read_qrels(source)).fingerprint


def retrieved(source: Any) -> str:
    return content_of_run(fm.read_run(source)).fingerprint


def backwards(lines: bytes) -> bytes:
    return b"\n".join(reversed(lines.splitlines())) + b"\n"


def forms(folder: Path, name: str, lines: bytes) -> list[Path]:
    files = {f"{name}.txt": lines, f"{name}2.txt": backwards(lines), f"{name}.txt.gz": gzip.compress(lines)}
    files[f"{name}3.txt"] = lines.replace(b" ", b"\t").replace(b"\n", b"\r\n")
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return [folder / file for file in files]


def test_order_format_and_compression_do_not_matter(tmp_path: Path) -> None:
    rows = [(t, d, float(g)) for t, of in GRADES.items() for d, g in of.items()]
    frame = pl.DataFrame(rows, ["topic", "doc", "grade"], orient="row")
    (tmp_path / "q.json").write_text(json.dumps(GRADES))
    (tmp_path / "r.json").write_text(json.dumps(SCORES))
    assert (
        len({*map(judged, forms(tmp_path, "q", QRELS)), judged(GRADES), judged(frame), judged(tmp_path / "q.json")})
        == 1
    )
    assert len({*map(retrieved, forms(tmp_path, "r", RUN)), retrieved(SCORES), retrieved(tmp_path / "r.json")}) == 1


@pytest.mark.parametrize(
    "other",
    [
        QRELS.replace(b"d1 2", b"d1 1"),
        QRELS.replace(b"d2 0", b"d2 -1"),
        QRELS.replace(b"t1 0 d2", b"t2 0 d2"),
        QRELS.replace(b"d3", b"d4"),
        QRELS.replace(b"t1 0 d1 1", b"t1 0 d1 2").replace(b"t2 0 d1 2", b"t2 0 d1 1"),  # two grades exchanged
        QRELS + b"t1 0 d7 0\n",
    ],
)
def test_one_change_is_another_fingerprint(other: bytes, tmp_path: Path) -> None:
    for name, content in (("q", QRELS), ("o", other)):
        (tmp_path / name).write_bytes(content)
    assert judged(tmp_path / "q") != judged(tmp_path / "o")


def test_ranks_tags_iterations_and_repetitions_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(RUN)
    (tmp_path / "s").write_bytes(RUN.replace(b" 2 1.25 a", b" 7 1.25 b"))
    assert retrieved(tmp_path / "r") == retrieved(tmp_path / "s")
    (tmp_path / "q").write_bytes(QRELS)
    (tmp_path / "p").write_bytes(QRELS.replace(b"t1 0", b"t1 5") + QRELS.splitlines()[0] + b"\n")
    assert judged(tmp_path / "q") == judged(tmp_path / "p")


def test_parts_add_up() -> None:
    whole = content_of_run(fm.read_run(SCORES))
    parts = [content_of_run(fm.read_run({topic: of})) for topic, of in SCORES.items()]
    assert parts[0].plus(parts[1]) == whole
    assert Content(1, 2**64 - 1).plus(Content(1, 2)) == Content(2, 1)


def test_large_runs_read_in_parts_have_the_fingerprint_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fathoms.data.formats import trec

    lines = [f"t{t} Q0 d{d} {d} {1000 - d} x\n" for t in range(40) for d in range(50)]
    (tmp_path / "big").write_text("".join(lines))
    monkeypatch.setattr(trec.Trec, "part_bytes", 5_000, raising=False)
    exp = fm.Experiment({f"t{t}": {"d1": 1} for t in range(40)}, [tmp_path / "big"], memory_mb=0)
    assert len(exp.runs.parts("big")) > 5
    result = exp.evaluate("AP")
    assert result.provenance is not None
    assert result.provenance.runs == {"big": retrieved(tmp_path / "big")}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "q").write_bytes(QRELS)
    (tmp_path / "r").write_bytes(RUN)
    return tmp_path


def run_main(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


@pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")
def test_the_command_and_python_say_the_same(files: Path) -> None:
    words = (str(files / "q"), str(files / "r"), "-m", "AP", "--level", "0.9", "--topics", "intersect")
    assert run_main("eval", *words, "--format", "tsv", "-o", str(files / "o"), "--provenance", "--quiet") == 0
    result = fm.Experiment(GRADES, {"r": SCORES}, topics="intersect").evaluate("AP", level=0.9)
    assert isinstance(result.provenance, Provenance)
    record = json.loads((files / "o.provenance.json").read_text())
    assert record == result.provenance.record()
    assert record["options"] == {"measures": ["AP"], "level": 0.9, "topics": "intersect"}
    assert record["judgments"] == {"fingerprint": judged(GRADES), "topics": 2, "judgments": 4}


def test_files_have_it_inside_or_beside_and_the_same_bytes_again(files: Path) -> None:
    words = ("eval", str(files / "q"), str(files / "r"), "-m", "AP", "--quiet")
    for format in ("parquet", "latex", "json"):
        for name in ("1", "2"):
            assert run_main(*words, "--format", format, "-o", str(files / f"{name}.{format}"), "--provenance") == 0
        assert (files / f"1.{format}").read_bytes() == (files / f"2.{format}").read_bytes()
    beside = json.loads((files / "1.json.provenance.json").read_text())
    assert isinstance(json.loads((files / "1.json").read_text()), list)
    assert json.loads(pl.read_parquet_metadata(files / "1.parquet")["fathoms"]) == beside
    comment = (files / "1.latex").read_text().splitlines()[-1]
    assert json.loads(comment.removeprefix("% fathoms: ")) == beside


def test_comments_end_where_they_should() -> None:
    made = Provenance("0", "evaluate", {}, None, {"a--><b>": "0"})
    for format in ("html", "markdown"):
        comment = made.comment(format)
        assert comment.count("-->") == 1
        assert json.loads(comment.removeprefix("<!-- fathoms: ").removesuffix(" -->\n")) == made.record()


def test_judgments_that_were_not_expected_are_bad_input(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("eval", str(files / "q"), str(files / "r"), "-m", "AP", "--expect-judgments")
    assert run_main(*words, judged(GRADES)[:8]) == 0
    assert run_main(*words, "0123456789abcdef") == 2
    assert f"have the fingerprint {judged(GRADES)}, expected 0123456789abcdef" in capsys.readouterr().err
    with pytest.raises(fm.FathomsError, match="expect_judgments: expected 8 to 16 digits"):
        fm.Experiment(GRADES, {"r": SCORES}, expect_judgments="abc")


def test_scores_of_different_judgments_are_not_compared(files: Path) -> None:
    other = QRELS.replace(b"d1 2", b"d1 1")
    (files / "q2").write_bytes(other)
    for name, qrels in (("a", "q"), ("b", "q2"), ("c", "q")):
        words = ("eval", str(files / qrels), str(files / "r"), "-m", "RR", "--by-topic", "--quiet")
        assert run_main(*words, "--format", "parquet", "-o", str(files / f"{name}.parquet")) == 0
        assert run_main(*words, "--format", "tsv", "-o", str(files / f"{name}.tsv"), "--provenance") == 0
    for ending in ("parquet", "tsv"):
        with pytest.raises(fm.FathomsError, match="was scored with the judgments"):
            fm.read_scores([files / f"a.{ending}", files / f"b.{ending}"])
    with pytest.raises(fm.FathomsError, match="r, topic t1, RR has two scores"):  # the same judgments, and the same run
        fm.read_scores([files / "a.tsv", files / "c.tsv"])
