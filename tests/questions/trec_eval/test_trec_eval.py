"""`fathoms trec_eval` against trec_eval: its values through pytrec_eval, printed as it prints, and its very output.

trec_eval.json holds a small collection, flags, and what trec_eval 9.0.8 printed for them. Where a trec_eval is
installed, it is asked about random collections too.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval

import fathoms as fm
from fathoms.evidence.align import Alignment
from fathoms.measures.parse import parse_measure, trec_eval_name
from fathoms.questions.trec_eval import command
from fathoms.questions.trec_eval.columns import UNSUPPORTED, columns_of, values_of
from fathoms.questions.trec_eval.measures import GROUPS, KNOWN
from tests.measures.test_collections import TREC_EVAL, plain_qrels, plain_run
from tests.support.commands import finished
from tests.support.paths import ROOT
from tests.support.real import collection

GOLDEN = json.loads((Path(__file__).parent / "trec_eval.json").read_text(encoding="utf-8"))
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in a folder with the small collection, as q and r: status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("\n".join(GOLDEN["qrels"]) + "\n")
    Path("r").write_text("\n".join(GOLDEN["run"]) + "\n")

    def run(*words: str) -> tuple[int, str, str]:
        return finished(capsys, "trec_eval", *words)

    return run


# -- what trec_eval printed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: " ".join(case["flags"]) or "official")
def test_prints_what_trec_eval_printed(case: dict[str, Any], call: Call) -> None:
    status, out, _ = call(*case["flags"], "q", "r")
    assert status == 0
    assert out.splitlines() == case["printed"]
    assert call("q", *case["flags"], "r")[1] == out  # flags may stand anywhere


def random_collection(rng: random.Random) -> tuple[Qrels, Run]:
    """Ties, some of them among floats only, topics on one side alone, pooled documents without a grade."""
    documents = [f"d{i}" for i in range(rng.choice([4, 12, 40]))]
    top = rng.choice([1, 2, 4, 12])
    qrels: Qrels = {}
    run: Run = {}
    for topic in (f"t{i}" for i in range(rng.randint(2, 6))):
        grades = {d: rng.choice([-1, 0, 0, 0, *range(1, top + 1)]) for d in rng.sample(documents, 4)}
        grades |= {d: rng.choice([0, 0, 1]) for d in rng.sample(documents, rng.randint(1, len(documents)))}
        if rng.random() < 0.9:
            qrels[topic] = grades
        least, step = rng.choice([(0, 0.25), (0, 1e-9), (1, 1e-7)])
        if rng.random() < 0.9:
            ranked = rng.sample(documents, rng.randint(1, len(documents)))
            run[topic] = {d: least + step * round(rng.random() / step) for d in ranked}
    qrels["t0"] = {documents[0]: 1, documents[1]: 0}
    run["t0"] = {documents[1]: 2.0, documents[0]: 1.0}
    return qrels, run


def write(qrels: Qrels, run: Run) -> None:
    Path("q").write_text("".join(f"{t} 0 {d} {g}\n" for t, grades in qrels.items() for d, g in grades.items()))
    Path("r").write_text("".join(f"{t} Q0 {d} 1 {s!r} tag\n" for t, ranked in run.items() for d, s in ranked.items()))


FLAGS = [
    ["-q", "-m", "all_trec", "-m", "yaap"],
    ["-q", "-c", "-m", "all_trec"],
    ["-q", "-J", "-l", "2", "-m", "all_trec"],
    ["-M", "3", "-q", "-m", "official"],
    ["-q", "-m", "ndcg.1=0.25,2=0.5", "-m", "G.1=3,0=0.1", "-m", "Rndcg.1=2,2=2", "-m", "ndcg_rel.2=-1,-1=0.5"],
]


@pytest.mark.skipif(shutil.which("trec_eval") is None, reason="no trec_eval is installed")
@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_prints_what_an_installed_trec_eval_prints(flags: list[str], call: Call) -> None:
    rng = random.Random(5)
    for _ in range(40):
        write(*random_collection(rng))
        theirs = subprocess.run(["trec_eval", *flags, "q", "r"], capture_output=True, text=True, check=True)
        assert call(*flags, "q", "r")[1] == theirs.stdout


# -- its values, printed as it prints ---------------------------------------------------------------------------------


def expected(
    qrels: Qrels,
    run: Run,
    tag: str,
    *,
    complete: bool = False,
    level: int = 1,
    judged: bool = False,
    summary: bool = True,
) -> str:
    """The output of `-q -m all_trec` from pytrec_eval's values."""
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"all_trec"}, level, judged).evaluate(run)
    names = [column.name for column in columns_of(["all_trec"], [])]
    assert set(names) == set(next(iter(theirs.values())))
    topics = sorted(theirs, key=str.encode)
    lines = []
    for topic in topics:
        for name in names:
            if name == "relstring":
                lines.append((name, topic, f"'{relstring(qrels[topic], run[topic], judged)}'"))
            elif name not in ("runid", "num_q") and not name.startswith("gm_"):
                lines.append((name, topic, shown(name, theirs[topic][name])))
    n = len(qrels) if complete else len(topics)
    for name in names if summary else ():
        total = 0.0
        for topic in topics:
            total += theirs[topic][name]
        if name == "runid":
            lines.append((name, "all", tag))
        elif name == "num_q":
            lines.append((name, "all", str(n)))
        elif name == "num_rel" and complete:
            lines.append((name, "all", str(sum(g > 0 for grades in qrels.values() for g in grades.values()))))
        elif name.startswith("gm_"):
            missing = (n - len(topics)) * math.log(0.00001)
            lines.append((name, "all", f"{math.exp((total + missing) / n):6.4f}"))
        elif name != "relstring":
            lines.append((name, "all", shown(name, total if name.startswith("num_") else total / n)))
    return "".join(f"{name:<22}\t{topic}\t{value}\n" for name, topic, value in lines)


def shown(name: str, value: float) -> str:
    if math.isnan(value):
        return "  -nan"
    return str(int(value)) if name.startswith("num_") else f"{value:6.4f}"


def relstring(grades: dict[str, int], ranked: dict[str, float], judged: bool) -> str:
    order = sorted(ranked, key=lambda d: (np.float32(ranked[d]), d.encode()), reverse=True)
    marks = [
        "-" if d not in grades else "." if grades[d] < 0 else ">" if grades[d] > 9 else str(grades[d]) for d in order
    ]
    return "".join([mark for mark in marks if not judged or mark not in "-."][:10])


SETTINGS: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["-c"], {"complete": True}),
    (["-l", "2"], {"level": 2}),
    (["-J"], {"judged": True}),
    (["-c", "-J", "-l", "2", "-n"], {"complete": True, "judged": True, "level": 2, "summary": False}),
]


@pytest.mark.long
@pytest.mark.parametrize(("flags", "settings"), SETTINGS, ids=[" ".join(flags) or "plain" for flags, _ in SETTINGS])
def test_values_of_random_collections(flags: list[str], settings: dict[str, Any], call: Call) -> None:
    rng = random.Random(11)
    for _ in range(30):
        qrels, run = random_collection(rng)
        write(qrels, run)
        assert call("-q", "-m", "all_trec", *flags, "q", "r")[1] == expected(qrels, run, "tag", **settings)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "step", "flags", "settings"),
    [
        ("trec8-adhoc", 13, [], {}),
        ("trec8-adhoc", 60, ["-c", "-J"], {"complete": True, "judged": True}),
        ("trec-covid-r1", 40, ["-l", "2"], {"level": 2}),
    ],
)
def test_values_of_collections(name: str, step: int, flags: list[str], settings: dict[str, Any], call: Call) -> None:
    folder = collection(name)
    qrels = plain_qrels(folder / "qrels.txt")
    for path in sorted((folder / "runs").iterdir())[::step]:
        with gzip.open(path, "rt", encoding="latin-1") as lines:
            tag = next(lines).split()[5]
        status, out, _ = call("-q", "-m", "all_trec", *flags, str(folder / "qrels.txt"), str(path))
        assert status == 0
        assert out == expected(qrels, plain_run(path), tag, **settings), path.name


def test_first_documents_only(call: Call) -> None:
    """-M cuts the ranking before -J takes documents out of it."""
    qrels, run = random_collection(random.Random(3))
    cut = {
        topic: dict(sorted(ranked.items(), key=lambda item: (np.float32(item[1]), item[0]), reverse=True)[:3])
        for topic, ranked in run.items()
    }
    write(qrels, run)
    assert call("-q", "-M", "3", "-m", "all_trec", "q", "r")[1] == expected(qrels, cut, "tag")
    assert call("-q", "-JM3", "-m", "all_trec", "q", "r")[1] == expected(qrels, cut, "tag", judged=True)


def test_our_measures_are_these() -> None:
    """The same names mean the same: what `fathoms eval` scores differs by rounding at most."""
    rng = random.Random(2)
    measures = {trec_eval_name(measure): measure for measure in map(parse_measure, TREC_EVAL)}
    columns = [column for column in columns_of(["all_trec"], []) if column.name in measures]
    assert len(columns) == len(measures)
    for _ in range(20):
        qrels, run = random_collection(rng)
        evidence = Alignment(fm.read_qrels(qrels))(fm.read_runs({"r": run})["r"]).evidence
        evidence = evidence.select(evidence.lengths > 0)
        for column, values in zip(columns, values_of(evidence, columns), strict=True):
            ours = measures[column.name].value(evidence)
            np.testing.assert_allclose(values, ours, rtol=0, atol=1e-12, err_msg=column.name)


# -- the command ------------------------------------------------------------------------------------------------------


def test_other_kinds_of_files(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = call("q", "r")[1]
    Path("r.gz").write_bytes(gzip.compress(Path("r").read_bytes()))
    gone = call("q", "r.gz")[1]
    assert gone.replace("\tfirst\n", "\tlast\n") == plain  # a compressed run is named by its first line
    text = io.TextIOWrapper(io.BytesIO(Path("r").read_bytes()))
    monkeypatch.setattr("sys.stdin", text)
    assert call("q", "-")[1] == gone
    Path("r").write_bytes(Path("r").read_bytes().rstrip(b"\n").replace(b"\n", b"\r\n") + b" more words\r\n\r\n")
    assert call("q", "r")[1] == plain


def test_grades_are_cut_as_trec_eval_cuts_them(call: Call) -> None:
    plain = call("-m", "all_trec", "q", "r")[1]
    Path("q").write_text("\n".join(f"{line}.7" for line in GOLDEN["qrels"]) + "\n")
    status, out, err = call("-m", "all_trec", "q", "r")
    assert (status, out) == (0, plain)
    assert "q: grades are cut to whole numbers" in err
    Path("q").write_text("b 0 d1 -0.5\nb 0 d2 1\n")
    Path("r").write_text("b Q0 d1 1 2 x\nb Q0 d2 2 1 x\n")
    assert "'01'" in call("-q", "-m", "relstring", "q", "r")[1]


def test_says_which_topics_do_not_count(call: Call) -> None:
    _, _, err = call("q", "r")
    assert "topics not in the run are left out of the mean (-c counts them as 0): missing" in err
    assert "topics not in the qrels are ignored: other" in err
    assert "left out" not in call("-c", "q", "r")[2]


def test_says_what_it_ignores(call: Call) -> None:
    _, out, err = call("-m", "map.5", "-m", "P.5", "-m", "P.10", "q", "r")
    assert [line.split()[0] for line in out.splitlines()] == ["map", "P_5"]
    assert "-m map.5: map takes no parameters" in err
    assert "-m P.10: ignored, as trec_eval does, since -m P.5 stands before it" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "nonsense", "q", "r"], "has no measure 'nonsense'. The list is in"),
        (["-m", "mapp", "q", "r"], "did you mean map?"),
        (["-m", "nDCG@10", "q", "r"], "`fathoms eval` takes names such as nDCG@10"),
        (["-m", "prefs_simp", "q", "r"], "needs preferences between documents"),
        (["-m", "qrels_jg", "q", "r"], "needs judgments of several assessors"),
        (["-m", "P.", "q", "r"], "expected parameters after the point"),
        (["-m", "P.0", "q", "r"], "expected ranks, whole numbers from 1 on"),
        (["-m", "P.5,5", "q", "r"], "expected each cut-off once"),
        (["-m", "P.x", "q", "r"], "found 'x'"),
        (["-m", "ndcg.1", "q", "r"], "expected grade=gain, such as -m ndcg.1=3.5,2=9; found '1'"),
        (["-m", "ndcg.1=2,1=3", "q", "r"], "expected each grade once"),
        (["-m", "utility.1,2", "q", "r"], "expected four numbers, found 2"),
        (["-m", "11pt_avg.0.5,0.2", "q", "r"], "in ascending order"),
        (["-R", "prefs", "q", "r"], "reads judgments as qrels only"),
        (["-T", "other", "q", "r"], "reads results as trec_results only"),
        (["-Z", "z", "q", "r"], "does not print z-scores"),
        (["-D", "1", "q", "r"], "no debugging output"),
        (["-l", "x", "q", "r"], "expected a whole number from 0 on, found 'x'"),
        (["-x", "q", "r"], "unrecognized arguments: -x"),
        (["q"], "required: RUN"),
        (["q", "r", "r"], "unrecognized arguments: r"),
        (["-", "-"], "cannot both be standard input"),
        (["q", "none"], "none: no such file"),
        (["q", "q"], "this looks like a qrels file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_an_error(words: list[str], message: str, call: Call) -> None:
    status, out, err = call(*words)
    assert (status, out) == (2, "")
    assert message in err


def test_a_document_twice_is_an_error(call: Call) -> None:
    with Path("r").open("a") as file:
        file.write(GOLDEN["run"][0] + "\n")
    status, out, err = call("q", "r")
    assert (status, out) == (2, "")
    assert "occurs twice" in err
    assert "That flag is one of `fathoms eval`; trec_eval would stop here too" in err


def test_no_topic_in_common_is_an_error(call: Call) -> None:
    Path("q").write_text("x 0 d1 1\n")
    status, out, err = call("q", "r")
    assert (status, out) == (2, "")
    assert "q and r have no topic in common: their first ones are 'x' and 'b'" in err


def test_ends_well_where_nobody_reads_on(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 t\n")
    code = "from fathoms.cli.app import main; main(['trec_eval', 'q', 'r'])"
    here, there = os.pipe()
    os.close(here)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=there, stderr=subprocess.PIPE, check=False, cwd=tmp_path, env=buffered
        )
    finally:
        os.close(there)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_help_lists_every_measure() -> None:
    listed = set(re.findall(r"[\w]+", command.MORE))
    assert set(KNOWN) | set(GROUPS) <= listed


def test_the_page_lists_every_measure() -> None:
    page = (ROOT / "docs" / "trec_eval.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert [(name, about) for name, about, _ in rows] == [(known.name, known.about) for known in KNOWN.values()]
    assert {name for name in UNSUPPORTED if f"`{name}`" not in page} == set()
