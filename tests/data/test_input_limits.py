"""Limits of what is read: beyond them there is an error that names the place, never a silent change or endless work."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import zstandard

import fathoms as fm
from fathoms.base import choices, files, kernel
from fathoms.base.parallel import cluster
from fathoms.data import columns, lines, metadata, texts, widths
from fathoms.data.corpus_ids import read_corpus_ids
from fathoms.data.formats import parquet
from fathoms.data.qrels import MOST_LEVELS
from fathoms.data.runs import expand
from fathoms.judging.web import limits as page_limits
from fathoms.judging.web import look_ahead, server, service
from fathoms.measures.gains import LARGEST_EXPONENT
from tests.data.test_reading import RUN
from tests.support.commands import Command
from tests.support.paths import ROOT

# -- long ids ----------------------------------------------------------------------------------------------------------

LONG, LONGER = "x" * widths.MOST_ID, "x" * (widths.MOST_ID + 1)
RUN_FORMS: dict[str, Callable[[str], Any]] = {
    "trec": lambda id: f"1 Q0 a 1 3 t\n1 Q0 {id} 2 2 t\n",
    "comments": lambda id: f"# a comment\n1 Q0 {id} 2 2 t\n",
    "csv": lambda id: f"topic,document,score\n1,{id},2\n",
    "csv, no UTF-8": lambda id: f"topic,document,score\n1,{id},2\n1,\udce9,1\n",
    "json": lambda id: f'{{"1": {{"a": 3, "{id}": 2}}}}',
    "jsonl": lambda id: f'{{"topic": "1", "document": "{id}", "score": 2}}\n',
    "topic": lambda id: f"{id} Q0 a 1 3 t\n",
    "topic of a dict": lambda id: {id: {"a": 1.0}},
    "dict": lambda id: {"1": {id: 1.0, "b": 2.0}},
    "columns": lambda id: {"topic": ["1"], "document": [id], "score": [1.0]},
    "frame": lambda id: pl.DataFrame({"topic": ["1"], "document": [id], "score": [1.0]}),
}


def given(folder: Path, data: Any) -> Any:
    if not isinstance(data, str):
        return data
    (folder / "given").write_bytes(data.encode(errors="surrogateescape"))
    return folder / "given"


@pytest.fixture(params=["kernel", "numpy"])
def both_kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "numpy":
        monkeypatch.setattr(kernel, "compiled", None)


@pytest.mark.usefixtures("both_kernels")
@pytest.mark.parametrize("form", RUN_FORMS)
def test_the_longest_id_is_read_and_a_longer_one_is_an_error(tmp_path: Path, form: str) -> None:
    run = fm.read_run(given(tmp_path, RUN_FORMS[form](LONG)))
    assert LONG in [*run.topics, *(document.decode(errors="replace") for document in run.documents.tolist())]
    with pytest.raises(fm.InputError, match=r"(topic|document) id has 8,193 bytes; the limit is 8,192"):
        fm.read_run(given(tmp_path, RUN_FORMS[form](LONGER)))


def test_the_line_of_an_id_that_is_too_long(fathoms: Command) -> None:
    Path("long.run").write_bytes(RUN + f"2 Q0 {LONGER} 3 1 t\n2 Q0 b 4 1 t\n".encode())
    done = fathoms("eval", "qrels.txt", "long.run")
    assert done.status == 2
    assert done.err.startswith("fathoms: long.run:6: document id has 8,193 bytes; the limit is 8,192")
    done = fathoms("eval", "qrels.txt", "long.run", "-m", "AP", "--lenient")
    assert done.status == 0
    assert "skipped 1 bad line: line 6" in done.err


@pytest.mark.usefixtures("both_kernels")
@pytest.mark.parametrize("form", ["trec", "pieces", "dict", "csv", "ltr"])
def test_a_long_id_among_many_short_ones_is_refused_before_all_are_as_wide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(widths, "ALWAYS", 1 << 14)
    if form == "pieces":
        monkeypatch.setattr(lines, "PIECE", 400)
    if form == "dict" and kernel.compiled is not None:  # which has a limit of its own that is not lowered here
        monkeypatch.setattr(kernel, "dict_columns", lambda *data: None)
        monkeypatch.setattr(kernel, "list_ids", lambda ids: None)
    ids = [f"d{i}" for i in range(100)]
    ids[60] = "x" * 900
    forms = {
        "trec": "".join(f"1 0 {id} 1\n" for id in ids),
        "pieces": "".join(f"1 0 {id} 1\n" for id in ids),
        "csv": "topic,document,grade\n" + "".join(f"1,{id},1\n" for id in [*ids, "\udce9"]),
        "ltr": "".join(f"1 qid:1 1:0.5 # {id}\n" for id in ids),
        "dict": {"1": dict.fromkeys(ids, 1)},
    }
    with pytest.raises(fm.InputError, match=r"id has 9\d\d bytes among \d+ rows of much shorter ones") as found:
        fm.read_qrels(given(tmp_path, forms[form]))
    assert found.value.line in (61, 62) or "row 61" in str(found.value)


def test_a_document_of_one_run_does_not_widen_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widths, "ALWAYS", 1 << 14)
    runs = {"A": {"1": {f"d{i}": 1.0 for i in range(100)}}, "B": {"1": {"x" * 900: 1.0}}}
    with pytest.raises(fm.FathomsError, match="in all runs together: document id has 9"):
        fm.Experiment(None, runs).pool(depth=100)


def test_the_kernel_and_numpy_have_the_same_limits() -> None:
    source = (ROOT / "src" / "fathoms" / "_kernel.c").read_text(encoding="utf-8")
    for name, value in (
        ("MOST_ID", f"{widths.MOST_ID}"),
        ("TIMES", f"{widths.TIMES}"),
        ("ALWAYS", f"((size_t)1 << {widths.ALWAYS.bit_length() - 1})"),
    ):
        assert f"\n#define {name} {value}\n" in source
    assert widths.ALWAYS.bit_count() == 1
    if kernel.compiled is None:
        pytest.skip("no compiled kernel")
    assert kernel.list_ids([LONG]) is not None
    assert kernel.list_ids([LONGER]) is None
    rows = widths.ALWAYS // widths.width_for(len(LONG))
    assert kernel.list_ids(["x"] * rows + [LONG]) is None
    raw = b"1 0 a 1\n"
    assert kernel.parse_lines(raw, 0, len(raw), 4, False, (0, 2, 3, -1), 8) is not None
    assert kernel.parse_lines(raw, 0, len(raw), 4, False, (0, 2, 3, -1), 7) is None


@pytest.mark.usefixtures("both_kernels")
@pytest.mark.parametrize("column", ["score", "rank"])
def test_a_number_of_many_digits_widens_nothing(tmp_path: Path, column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of any length are read; they once made the text of all of them as wide."""
    seen: list[int] = []
    read = lines.byte_strings

    def noted(padded: bytes, start: lines.Ints, length: lines.Ints) -> lines.Text:
        found = read(padded, start, length)
        seen.append(found.dtype.itemsize)
        return found

    monkeypatch.setattr(lines, "byte_strings", noted)
    long = "0." + "1" * 10_000
    score, rank = (long, "1") if column == "score" else ("0.5", long)
    run = fm.read_run(given(tmp_path, f"# numbers\n1 Q0 a {rank} {score} t\n1 Q0 b 2 0.1 t\n"))
    assert run.ranks is not None
    assert (run.scores[0] if column == "score" else run.ranks[0]) == float(long)
    assert not np.isnan(run.ranks).any()
    assert max(seen, default=0) <= 64


def test_a_corpus_with_an_id_that_is_too_long(fathoms: Command) -> None:
    for name, text in {"list": f"a\n{LONGER}\n", "tsv": f"docno\ttext\na\tx\n{LONGER}\ty\n"}.items():
        Path(name).write_text(text)
        done = fathoms("check", "qrels.txt", "good.run", "--corpus-ids", name)
        assert "document id has 8,193 bytes" in done.out + done.err, name


# -- compressed files -------------------------------------------------------------------------------------------------

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


def bomb(packer: str, size: int) -> bytes:
    """A run of one document, and then nothing but blank lines."""
    return PACKERS[packer](b"1 Q0 a 1 1 t\n" + b"\n" * size)


@pytest.mark.parametrize("packer", PACKERS)
def test_what_unpacks_to_too_much_is_refused_without_unpacking_it(
    fathoms: Command, monkeypatch: pytest.MonkeyPatch, packer: str
) -> None:
    monkeypatch.delenv(files.MAX_UNPACKED, raising=False)
    monkeypatch.setattr(files, "UNPACKED", 1 << 20)
    Path(f"bomb.{packer}").write_bytes(bomb(packer, (40 if packer == "xz" else 100) << 20))
    tracemalloc.start()
    done = fathoms("eval", "qrels.txt", f"bomb.{packer}")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert done.status == 2
    assert re.search(r"unpacks to more than [\d,]+ bytes, from [\d,]+; if it is sound .* --max-unpacked 8GB", done.err)
    assert most < 80 << 20
    # Judgments, texts, lists of runs and ids of a corpus go the same way.
    assert "unpacks to more than" in fathoms("eval", f"bomb.{packer}", "good.run").err
    assert "unpacks to more than" in fathoms("check", "qrels.txt", "good.run", "--corpus-ids", f"bomb.{packer}").err
    with pytest.raises(fm.InputError, match="unpacks to more than"):
        texts._content(f"bomb.{packer}")


@pytest.mark.parametrize("packer", PACKERS)
def test_the_limit_on_what_is_unpacked_can_be_raised(
    fathoms: Command, monkeypatch: pytest.MonkeyPatch, packer: str
) -> None:
    monkeypatch.setattr(files, "UNPACKED", 1000)
    monkeypatch.setattr(files, "UNPACKED_TIMES", 1)
    monkeypatch.setenv(files.MAX_UNPACKED, "1kB")
    Path("large.run").write_bytes(bomb(packer, 100_000))
    assert fathoms("eval", "qrels.txt", "large.run", "-m", "AP").status == 2
    assert fathoms("eval", "qrels.txt", "large.run", "-m", "AP", "--max-unpacked", "1MB").status == 0
    monkeypatch.setenv(files.MAX_UNPACKED, "0.2 MB")
    assert len(fm.read_run("large.run")) == 1
    monkeypatch.setenv(files.MAX_UNPACKED, "much")
    with pytest.raises(
        fm.FathomsError, match=r"FATHOMS_MAX_UNPACKED: expected a size such as 500MB or 8GB, found 'much'"
    ):
        fm.read_run("large.run")


def test_parquet_of_more_rows_than_may_be_unpacked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of one value takes some bytes, however many rows it has."""
    path = tmp_path / "x.parquet"
    rows = pl.select(
        topic=pl.repeat("1", 1_000_000), document=pl.repeat("d", 1_000_000), score=pl.repeat(1.0, 1_000_000)
    )
    rows.write_parquet(path)
    assert path.stat().st_size < 100_000
    monkeypatch.setenv(files.MAX_UNPACKED, "10MB")
    with pytest.raises(fm.InputError, match="unpacks to more than 10,000,000 bytes"):
        fm.read_run(path)


@pytest.mark.parametrize(("text", "size"), [("8GB", 8 * 10**9), ("2GiB", 2 << 30), ("500 mb", 5 * 10**8), ("70", 70)])
def test_sizes(text: str, size: int) -> None:
    assert choices.size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "0", "1e3", "8XB", "inf", "nan", "8GBs"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(fm.FathomsError, match="expected a size such as 500MB or 8GB"):
        choices.size(text)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_corpus_in_several_compressed_parts_is_read_to_its_end(tmp_path: Path, packer: str) -> None:
    """Of zstd only the first part was read, and of bz2 and xz what was damaged after it was left out."""
    pack = PACKERS[packer]
    path = tmp_path / "ids"
    path.write_bytes(pack(b"a\nb\n") + pack(b"c\n" + b"d\n" * 100_000) + pack(b"e\n"))
    assert len(read_corpus_ids(path)) == 5
    path.write_bytes(pack(b"a\nb\n") + pack(b"c\n")[:-3])
    with pytest.raises(fm.InputError, match="damaged or cut short"):
        read_corpus_ids(path)


@pytest.mark.parametrize("packer", PACKERS)
def test_large_files_come_out_of_every_packer_as_they_went_in(packer: str) -> None:
    raw = np.random.default_rng(1).integers(0, 60, 3_000_000, dtype=np.uint8).tobytes() + b"z" * 3_000_000
    parts = raw[:10], raw[10:1_000_000], raw[1_000_000:]
    assert files.decompress(b"".join(map(PACKERS[packer], parts)), "x") == raw


# -- globs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.run", ["a/b/y.run", "a/x.run", "top.run"]),
        ("a/**/*.run", ["a/b/y.run", "a/x.run"]),
        ("a/**", ["a/b/y.run", "a/b/z.txt", "a/x.run"]),
        ("**/b/*.run", ["a/b/y.run"]),
        ("**/b/**/y*", ["a/b/y.run"]),
        ("?/**/*.txt", ["a/b/z.txt"]),
        ("[ab]/b/*.run", ["a/b/y.run"]),
        ("./**/x.run", ["./a/x.run"]),
    ],
)
def test_two_stars_go_into_each_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, expected: list[str]
) -> None:
    """Links that lead upwards once made this endless: 160,000 names in 15 seconds, and no end to it."""
    monkeypatch.chdir(tmp_path)
    Path("a/b").mkdir(parents=True)
    Path(".hidden").mkdir()
    for name in ("top.run", "a/x.run", "a/b/y.run", "a/b/z.txt", ".hidden/h.run"):
        Path(name).write_bytes(RUN)
    for link, target in {"self": ".", "a/b/up": "..", "a/b/again": "../../a"}.items():
        Path(link).symlink_to(target)
    assert expand([pattern]) == expected


def test_a_link_to_a_folder_elsewhere_is_followed(tmp_path: Path) -> None:
    for folder in ("here", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "elsewhere" / "x.run").write_bytes(RUN)
    (tmp_path / "here" / "link").symlink_to(tmp_path / "elsewhere")
    assert expand([f"{tmp_path}/here/**/*.run"]) == [f"{tmp_path}/here/link/x.run"]


# -- memory -----------------------------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
from fathoms.cli.app import main
import numpy, polars, scipy.stats, fathoms.api, fathoms.reporting.report, fathoms.data.columns
polars.DataFrame({"a": ["x"]})
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are those of Linux")
@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("eval q {} -m AP", "gz"),
        ("report q {} good.run -o page.html", "run"),
        pytest.param("convert {} --to parquet -o page.html", "gz", marks=pytest.mark.slow),
    ],
)
def test_where_memory_runs_out_it_is_said_for_what(tmp_path: Path, words: str, form: str) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "good.run").write_text("1 Q0 a 1 1 t\n")
    raw = b"".join(b"1 Q0 document-%d 1 %d t\n" % (i, i) for i in range(400_000))
    (tmp_path / f"large.{form}").write_bytes(gzip.compress(raw, 1) if form == "gz" else raw)
    call = [sys.executable, "-c", LIMITED, "8", *words.format(f"large.{form}").split()]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert re.fullmatch(
        rf"fathoms: not enough memory for (reading large\.{form}|fathoms \w+)( \(.*\))?; give fewer .*memory\n",
        done.stderr,
    )
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory for fathoms eval; give fewer"),
        (
            MemoryError("Unable to allocate 4 GiB"),
            r"not enough memory for fathoms eval \(Unable to allocate 4 GiB\); give",
        ),
        (RuntimeError("can't start new thread"), "not enough memory for fathoms eval; give fewer"),
        (ImportError("x.so: failed to map segment from shared object"), "not enough memory for fathoms eval; give"),
    ],
)
def test_every_way_of_saying_that_memory_ran_out(
    fathoms: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("fathoms.questions.eval.command.run", fails)
    done = fathoms("eval", "qrels.txt", "good.run")
    assert done.status == 2
    assert re.match(f"fathoms: {said}", done.err)
    monkeypatch.setattr("fathoms.questions.eval.command.run", lambda args: no_such_name)  # type: ignore[name-defined]  # noqa: F821
    with pytest.raises(NameError):  # a fault of ours is not taken for one
        fathoms("eval", "qrels.txt", "good.run")


# -- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_of_limits_has_the_numbers_of_the_code() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", page, re.MULTILINE))
    limits = page_limits.ConnectionLimits()
    mebi = widths.ALWAYS >> 30, files.UNPACKED >> 20, metadata.MOST_HEAD >> 20
    expected = {
        "length of a topic's or document's id": f"{widths.MOST_ID:,} bytes",
        "one long id among many short ones": f"at most {widths.TIMES} times the file's size, or {mebi[0]} GiB",
        "ids that are numbers (JSON, parquet, frames)": f"up to 2^{columns.MOST_WHOLE.bit_length() - 1}",
        "different grades": f"{MOST_LEVELS:,}",
        "grades with `gain=exp` and ERR": f"grades up to {LARGEST_EXPONENT:,}",
        "what a compressed file unpacks to": f"{mebi[1]} MiB, or {files.UNPACKED_TIMES} times its size",
        "rows of a parquet file": f"{parquet.CELL} bytes a cell",
        "whole numbers in JSON": f"{sys.get_int_max_str_digits():,} digits",
        "comments that are searched for ir_metadata": f"the first {mebi[2]} MiB",
        "connections": f"{limits.in_all} in all, {limits.of_one} from one address",
        "headers of a request, TLS handshake": f"{limits.headers:g} s",
        "body of a request": f"{limits.body:g} s, {server.LARGEST_REQUEST:,} bytes",
        "time between requests": f"{limits.idle:g} s",
        "a response the client is slow to read": f"{page_limits.LEAST_READ >> 10} KiB in {limits.unread:g} s",
        "wrong tokens in a minute": f"{page_limits.WRONG_OF_ONE} from one address, {page_limits.WRONG_OF_ALL} in all",
        "lines of a kind on the terminal": f"{page_limits.FIRST} in a minute",
        "text of a document": f"{texts.LONGEST >> 20} MiB are read, {server.LONGEST_TEXT:,} characters",
        "names of assessors, notes": f"{service.LONGEST_NAME}, {server.LONGEST_NOTE:,} characters",
        "documents chosen ahead": f"{look_ahead.AHEAD} to {look_ahead.MOST_AHEAD} for each assessor",
        "time without any worker": f"{choices.PATIENCE} s",
        "connecting to a scheduler": f"{cluster.CONNECT_SECONDS} s",
    }
    for name, value in expected.items():
        assert value in rows[name], name


@pytest.mark.parametrize("measure", ["nDCG(gain=exp)", "ERR"])
def test_the_largest_grade_with_a_power_of_two(measure: str) -> None:
    run = {"1": {"a": 1.0}}
    assert np.isfinite(fm.evaluate({"1": {"a": LARGEST_EXPONENT}}, run, measure)["score"][0])
    with pytest.raises(fm.FathomsError, match=f"too large a number for grade {LARGEST_EXPONENT + 1}"):
        fm.evaluate({"1": {"a": LARGEST_EXPONENT + 1}}, run, measure)
