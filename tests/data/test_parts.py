"""Large run files in parts: a file's scores, notes and errors are those of the file read as a whole."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import fathoms as fm
from fathoms.data import runs as runs_module
from fathoms.data import split as spans_module
from fathoms.data.convert import pack_in_parts
from fathoms.data.formats.parquet import Parquet
from fathoms.data.formats.text import TextFormat
from fathoms.data.runs import RunFile, Runs, read_run, scan_runs
from fathoms.data.split import LOOK, read_span, topic_spans
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.run_scores import Scoring
from fathoms.experiment.survey import survey
from fathoms.questions.eval.analysis import Evaluation, run_evaluation

MEASURES = ["AP", "nDCG@5", "RBP(p=0.8)", "ERR@10", "INST@10", "NumRet", "GMAP", "Judged@3"]


def lines_of(topics: list[int], seed: int, ties: bool = True) -> list[bytes]:
    rng = random.Random(seed)
    lines = []
    for topic in topics:
        documents = rng.sample(range(60), rng.randint(1, 30))
        score = 100.0
        for rank, document in enumerate(documents, 1):
            score -= rng.choice([0.0, 0.5, 1.25]) if ties else 0.5
            lines.append(b"%d Q0 doc-%d %d %s t\n" % (topic, document, rank, repr(score).encode()))
    return lines


def qrels_of(topics: list[int], seed: int) -> bytes:
    rng = random.Random(seed)
    return b"".join(
        b"%d 0 doc-%d %d\n" % (topic, document, rng.choice([0, 0, 1, 2]))
        for topic in topics
        for document in rng.sample(range(60), 20)
    )


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of three hundred bytes instead of megabytes."""
    monkeypatch.setattr(TextFormat, "part_bytes", 300)


def result(qrels: Path, runs: Runs, **settings: str) -> Evaluation:
    experiment = BaseExperiment(qrels, runs, workers=1, memory_mb=0, **settings)  # type: ignore[arg-type]
    return run_evaluation(experiment, experiment.measures(MEASURES), by_topic=True)


def assert_same(found: Evaluation, expected: Evaluation) -> None:
    for one, other in zip(found.rows(), expected.rows(), strict=True):
        assert one[:3] == other[:3]
        # Sums over another number of topics may end in another digit.
        assert [v for v in one[3:] if v is not None] == pytest.approx(
            [v for v in other[3:] if v is not None], rel=1e-13, abs=1e-15
        )


CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "as they are": lambda lines: lines,
    "shuffled": lambda lines: random.Random(1).sample(lines, len(lines)),
    "one topic in two places": lambda lines: lines[5:] + lines[:5],
    "comments and blank lines": lambda lines: [x for line in lines for x in (b"# note\n", b"\n", line)],
    "carriage returns": lambda lines: [line.replace(b"\n", b"\r\n") for line in lines],
    "tabs": lambda lines: [line.replace(b" ", b"\t") for line in lines],
    "no final newline": lambda lines: [*lines[:-1], lines[-1].rstrip()],
    "a byte order mark": lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]],
    "leading blanks": lambda lines: [b"  " + line for line in lines],
    "byte order marks in the middle": lambda lines: [
        line if line.split()[0] == above.split()[0] else b"\xef\xbb\xbf" + line
        for above, line in zip([lines[0], *lines], lines, strict=False)
    ],
    "a carriage return in the last line": lambda lines: [*lines, b"31 Q0 doc-1 1 2.5 t\r30 Q0 doc-1 1 2.5 t"],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("topics", ["all", "intersect"])
@pytest.mark.usefixtures("small_parts")
def test_parts_give_what_the_whole_gives(tmp_path: Path, change: str, topics: str) -> None:
    # Topics 1 and 11 begin alike, 40 is not judged, 30 and 31 are not in the run.
    path, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    path.write_bytes(b"".join(CHANGES[change](lines_of([1, 11, 2, 40, 7, 3, 12, 9], seed=4))))
    qrels.write_bytes(qrels_of([30, 1, 11, 2, 7, 3, 12, 9, 31], seed=5))
    scanned = scan_runs([str(path)])
    if change == "as they are":
        assert len(scanned.parts("a")) > 3
    whole = result(qrels, Runs({"a": read_run(path, name="a")}), topics=topics)
    parts = result(qrels, scanned, topics=topics)
    assert_same(parts, whole)
    assert sorted(parts.notes) == sorted(whole.notes)
    for found, expected in zip(parts.runs, whole.runs, strict=True):
        assert (found.tag, found.unjudged, found.read, found.lacking.tolist()) == (
            expected.tag,
            expected.unjudged,
            expected.read,
            expected.lacking.tolist(),
        )
        assert found.rank_order_differs == expected.rank_order_differs
        assert sorted(found.unknown) == sorted(expected.unknown)


@pytest.mark.parametrize(
    ("bad", "at"),
    [(b"7 Q0 d 1\n", 40), (b"7 Q0 d 1 high t\n", 60), (b"1 Q0 doc-1 1 2.5 t\n1 Q0 doc-1 1 2.5 t\n", 90), (b"\0\n", 70)],
)
@pytest.mark.usefixtures("small_parts")
def test_errors_in_a_part_are_those_of_the_file(tmp_path: Path, bad: bytes, at: int) -> None:
    path, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    lines = lines_of([1, 11, 2, 40, 7, 3, 12, 9], seed=4)
    path.write_bytes(b"".join([*lines[:at], bad, *lines[at:]]))
    qrels.write_bytes(qrels_of([1, 11, 2, 7], seed=5))
    with pytest.raises(fm.InputError) as whole:
        read_run(path)
    with pytest.raises(fm.InputError) as parts:
        result(qrels, scan_runs([str(path)]))
    assert str(parts.value) == str(whole.value)
    if b"\0" not in bad:
        lenient = result(qrels, scan_runs([str(path)], lenient=True))
        expected = result(qrels, Runs({"a": read_run(path, name="a", lenient=True)}))
        assert list(lenient.rows()) == list(expected.rows())
        assert lenient.notes == expected.notes
        assert any("skipped" in note for note in lenient.notes)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("other", [b"30\tdoc-1\t1\n30\tdoc-2\t2\n", b"topic document score\n30 doc-1 2.5\n"])
@pytest.mark.usefixtures("small_parts")
def test_two_forms_in_one_file_are_an_error(tmp_path: Path, other: bytes, turned: bool) -> None:
    path, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    trec = b"".join(lines_of([1, 11, 2, 40], seed=4))
    path.write_bytes(other * 15 + trec if turned else trec + other)
    qrels.write_bytes(qrels_of([1, 11, 2, 30], seed=5))
    assert len(scan_runs([str(path)]).parts("a")) > 2
    with pytest.raises(fm.InputError) as whole:
        read_run(path)
    with pytest.raises(fm.InputError) as parts:
        result(qrels, scan_runs([str(path)]))
    assert str(parts.value) == str(whole.value)


def test_names_of_columns_that_stand_far_down_are_heeded(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    note = b"# a long story\n" * (LOOK // 10)
    path.write_bytes(note + b"topic Q0 document score rank tag\n" + b"1 Q0 a 3.5 1 t\n2 Q0 b 2.5 1 t\n" * (1 << 18))
    assert len(topic_spans(str(path))) > 1
    assert len(scan_runs([str(path)]).parts("a")) == 1


def test_lines_longer_than_what_is_looked_at_are_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans_module, "LOOK", 50)
    path = tmp_path / "a.run"
    long = b" t" + b" 5" * 100 + b"\n"
    path.write_bytes(b"".join(line.replace(b" t\n", long) for line in lines_of([1, 2, 3], seed=4)))
    spans = topic_spans(str(path), 300)
    assert [read_span(str(path), span).split()[0] for span in spans] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("seed", range(5))
def test_parts_cover_the_file_and_cut_no_topic(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"".join(lines_of(random.Random(seed).sample(range(100), 12), seed)))
    spans = topic_spans(str(path), 200)
    assert len(spans) > 3
    assert b"".join(read_span(str(path), span) for span in spans) == path.read_bytes()
    topics = [{line.split()[0] for line in read_span(str(path), span).splitlines()} for span in spans]
    assert all(not first & second for i, first in enumerate(topics) for second in topics[i + 1 :])


@pytest.mark.parametrize("ending", [".gz", ".parquet", ".json"])
@pytest.mark.usefixtures("small_parts")
def test_what_is_no_plain_text_is_one_part(tmp_path: Path, ending: str) -> None:
    import gzip
    import json

    path = tmp_path / f"a{ending}"
    lines = lines_of([1, 2, 3, 4, 5, 6], seed=1)
    if ending == ".gz":
        path.write_bytes(gzip.compress(b"".join(lines)))
    elif ending == ".json":
        path.write_text(json.dumps({"1": {f"d{i}": i for i in range(99)}}))
    else:
        columns = {"topic": ["1"] * 99, "document": [f"d{i}" for i in range(99)], "score": range(99)}
        pl.DataFrame(columns).write_parquet(path)
    assert path.stat().st_size > 300
    assert len(scan_runs([str(path)]).parts("a")) == 1


@pytest.mark.usefixtures("small_parts")
def test_the_error_of_what_was_simulated_is_kept_for_the_parts_that_have_one(tmp_path: Path) -> None:
    path, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    tied = b"".join(b"1 Q0 doc-%d %d 1.0 t\n" % (i, i) for i in range(1, 31))
    path.write_bytes(tied + b"".join(lines_of([2, 3, 4], seed=1, ties=False)))
    qrels.write_bytes(qrels_of([1, 2, 3, 4, 5], seed=2))
    scores = result(qrels, scan_runs([str(path)])).runs[0].scores[fm.parse_measure("INST@10")]
    assert scores.tie_error is not None
    assert scores.tie_error[0] > 0
    assert scores.tie_error[1:].tolist() == [0, 0, 0, 0]


FORMS: dict[str, Callable[[list[bytes]], bytes]] = {
    "MS MARCO": lambda lines: b"".join(b"%b\t%b\t%b\n" % tuple(line.split()[i] for i in (0, 2, 3)) for line in lines),
    "a line of names": lambda lines: (
        b"qid\tdocid\tscore\n" + b"".join(b"%b\t%b\t%b\n" % tuple(line.split()[i] for i in (0, 2, 4)) for line in lines)
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("small_parts")
def test_other_text_comes_in_parts_too(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    path.write_bytes(FORMS[form](lines_of([1, 11, 2, 40, 7, 3, 12, 9], seed=4)))
    qrels.write_bytes(qrels_of([1, 11, 2, 7, 3, 12, 9], seed=5))
    scanned = scan_runs([str(path)])
    assert len(scanned.parts("a")) > 2
    whole = result(qrels, Runs({"a": read_run(path, name="a")}))
    monkeypatch.setattr(runs_module, "read_run", None)  # the parts are enough
    assert_same(result(qrels, scanned), whole)


@pytest.mark.usefixtures("small_parts")
def test_text_is_cut_only_where_the_topic_is_the_first_column(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    lines = [line.split() for line in lines_of([1, 11, 2, 40, 7, 3, 12, 9], seed=4)]
    for names, columns, parts in ((b"qid docid score", (0, 2, 4), True), (b"docid qid score", (2, 0, 4), False)):
        rows = (b" ".join(line[i] for i in columns) for line in lines)
        path.write_bytes(b"\n".join([names, *rows, b""]))
        assert (len(scan_runs([str(path)]).parts("a")) > 2) == parts


def test_parquet_comes_in_parts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, qrels = tmp_path / "a.parquet", tmp_path / "qrels.txt"
    text = tmp_path / "a.run"
    text.write_bytes(b"".join(lines_of([1, 11, 2, 40, 7, 3, 12, 9], seed=4)))
    qrels.write_bytes(qrels_of([1, 11, 2, 7, 3, 12, 9], seed=5))
    read_run(text).to_frame().write_parquet(path)
    monkeypatch.setattr(Parquet, "part_bytes", path.stat().st_size // 3)
    scanned = scan_runs([str(path)])
    assert len(scanned.parts("a")) == 3
    whole = result(qrels, Runs({"a": read_run(path, name="a")}))
    monkeypatch.setattr(runs_module, "read_run", None)
    assert_same(result(qrels, scanned), whole)


@pytest.mark.parametrize("change", ["as they are", "carriage returns", "a byte order mark"])
@pytest.mark.usefixtures("small_parts")
def test_a_large_run_is_packed_part_by_part(tmp_path: Path, change: str) -> None:
    path, target = tmp_path / "a.run", tmp_path / "a.parquet"
    path.write_bytes(b"".join(CHANGES[change](lines_of([1, 11, 2, 40, 7, 3, 12, 9], seed=4))))
    whole = read_run(path)
    assert pack_in_parts(RunFile(str(path), "a", lenient=False), "parquet", target) == (len(whole), 8, [])
    assert pl.read_parquet(target).equals(whole.to_frame())
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.parametrize(
    "odd", [b"1 Q0 late 99 0.5 t\n", b"bad line\n", b"50 Q0 caf\xe9 1 2.5 t\n", b"50 Q0 a x 2.5 t\n"]
)
@pytest.mark.usefixtures("small_parts")
def test_what_cannot_be_packed_part_by_part_is_left_to_the_whole(tmp_path: Path, odd: bytes) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"".join([*lines_of([1, 11, 2, 40, 7, 3, 12, 9], seed=4), odd]))
    packed = pack_in_parts(RunFile(str(path), "a", lenient=False), "parquet", tmp_path / "a.parquet")
    assert packed is None if b" x " not in odd else packed is not None and packed[0] == len(read_run(path))
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


FORKED = """
import sys
from fathoms.base.parallel import parallel_map
from fathoms.base.parallel.local import may_fork
from fathoms import InputError
assert may_fork()
import os
import pickle
{body}
assert "polars" not in sys.modules
"""


def forked(body: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", FORKED.format(body=body)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def is_running(process: int) -> bool:
    """What has ended and is only remembered has no command line."""
    line = Path(f"/proc/{process}/cmdline")
    return line.exists() and line.read_bytes() != b""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads do the work")
class TestForks:
    @pytest.mark.parametrize(
        ("before", "safe"),
        [
            ("pass", True),
            ("import numpy; numpy.ones((500, 500)) @ numpy.ones((500, 500))", True),
            ("import polars", False),
            ("import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()", False),
        ],
        ids=["nothing", "linear algebra", "polars", "a thread"],
    )
    def test_only_threads_that_are_prepared_for_it_may_run(self, before: str, safe: bool) -> None:
        code = f"from fathoms.base.parallel.local import may_fork; {before}; print(may_fork())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout == f"{safe}\n"

    def test_results_come_in_order_from_other_processes(self) -> None:
        done = forked(
            "found = parallel_map(lambda i: (i * i, os.getpid()), range(40), workers=3)\n"
            "assert [square for square, _ in found] == [i * i for i in range(40)]\n"
            "assert os.getpid() not in {pid for _, pid in found}"
        )
        assert done.returncode == 0, done.stderr

    def test_an_error_is_that_of_the_first_item_that_has_one(self) -> None:
        done = forked(
            "def work(i):\n"
            "    if i > 3:\n"
            "        raise InputError('is bad', f'file{i}', i)\n"
            "try:\n"
            "    parallel_map(work, range(40), workers=3)\n"
            "except InputError as error:\n"
            "    print(error, error.line)"
        )
        assert done.stdout == "file4:4: is bad 4\n", done.stderr

    def test_what_a_killed_process_left_is_done_here(self) -> None:
        done = forked(
            "import signal\n"
            "here = os.getpid()\n"
            "def work(i):\n"
            "    if i == 7 and os.getpid() != here:\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return i\n"
            "seen = []\n"
            "assert parallel_map(work, range(20), workers=2, progress=seen.append) == list(range(20))\n"
            "assert seen == list(range(20))"
        )
        assert done.returncode == 0, done.stderr

    def test_what_a_process_was_sending_when_it_was_killed_is_done_here(self) -> None:
        done = forked(
            "import signal\n"
            "from multiprocessing.connection import Connection\n"
            "here = os.getpid()\n"
            "def half(pipe, content):\n"
            "    os.write(pipe.fileno(), b'\\0\\0\\1\\0half')\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "def work(i):\n"
            "    if i == 7 and os.getpid() != here:\n"
            "        Connection._send_bytes = half\n"
            "    return i\n"
            "assert parallel_map(work, range(20), workers=2) == list(range(20))"
        )
        assert done.returncode == 0, done.stderr

    def test_an_interrupt_ends_it_without_a_traceback_of_the_forks(self) -> None:
        code = FORKED.format(
            body="import time\n"
            "print('ready', flush=True)\n"
            "try:\n"
            "    parallel_map(lambda i: time.sleep(30), range(40), workers=2)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')"
        )
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert out == "interrupted\n"
        assert "Traceback" not in err

    def test_a_second_interrupt_does_not_keep_it_from_ending(self) -> None:
        done = forked(
            "import multiprocessing, signal, time\n"
            "from fathoms.base.parallel.local import _Fork\n"
            "end = _Fork.end\n"
            "def interrupted(fork):\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    end(fork)\n"
            "_Fork.end = interrupted\n"
            "def work(i):\n"
            "    time.sleep(10 if i else 0)\n"
            "def stop(i):\n"
            "    raise KeyboardInterrupt\n"
            "try:\n"
            "    parallel_map(work, range(40), workers=2, progress=stop)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted', multiprocessing.active_children())"
        )
        assert (done.stdout, done.returncode) == ("interrupted []\n", 0), done.stderr

    @pytest.mark.parametrize("killed_by", [signal.SIGTERM, signal.SIGKILL])
    def test_no_fork_outlives_the_process(self, killed_by: signal.Signals) -> None:
        code = FORKED.format(
            body="import time\n"
            "def work(i):\n"
            "    os.write(1, b'%d\\n' % os.getpid())\n"
            "    time.sleep(60)\n"
            "parallel_map(work, range(2), workers=2)"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        forks = [int(process.stdout.readline()) for _ in range(2)]
        assert process.pid not in forks
        process.send_signal(killed_by)
        process.wait()
        give_up = time.monotonic() + 10
        while (left := [fork for fork in forks if is_running(fork)]) and time.monotonic() < give_up:
            time.sleep(0.02)
        for fork in left:
            os.kill(fork, signal.SIGKILL)
        process.stdout.close()
        assert not left


def test_what_is_known_of_a_part_does_not_grow_with_the_topics_of_others() -> None:
    """Each part once named all topics that it lacks: a million of them, for each of many parts."""
    topics = [f"topic{i}" for i in range(5000)]
    experiment = fm.Experiment({topic: {"a": 1} for topic in topics}, {"x": {topics[7]: {"a": 1.0}}})
    measures = experiment.measures("AP")
    ranked = experiment.ranked("x")
    found = Scoring(experiment, measures, experiment.alignment(measures, [])).score(ranked)
    assert len(pickle.dumps(found)) < 10_000
    assert len(pickle.dumps(survey(ranked, experiment.qrels))) < 10_000
