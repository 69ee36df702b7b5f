"""Tables as papers print them: places, marks, alignment, captions; compiled where there is LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import fathoms as fm
from fathoms.base.paper_table import FRAGILE, HOLDS, Cell, PaperTable

ODD = "50% of_b&c <x> | 文"


def table(*rows: tuple[str, list[Cell]]) -> PaperTable:
    return PaperTable(["AP", "NumRet"], rows, ["What it is: 5% of a_b."], "tab:x")


TABLE = table(
    ("a", [Cell(0.31249), Cell(12, whole=True)]),
    ("b", [Cell(0.31248, mark=HOLDS), Cell(1000, whole=True)]),
    ("c", [Cell(0.2, mark=FRAGILE), Cell(7, whole=True)]),
    ("d", [Cell(None), Cell(1000, whole=True)]),
)


def test_what_prints_alike_shares_a_place() -> None:
    assert TABLE.places() == [[1, 2], [1, 1], [2, 0], [0, 1]]
    assert table(("alone", [Cell(1.0), Cell(1.0)])).places() == [[0, 0]]


def test_latex() -> None:
    assert TABLE.latex().splitlines()[9:13] == [
        r"a & \textbf{0} & \textbf{.3125} & \underline{12} &  \\",
        r"b & \textbf{0} & \textbf{.3125}$^{\dagger}$ & \textbf{1,000} &  \\",
        r"c & \underline{0} & \underline{.2000}$^{\circ}$ & 7 &  \\",
        r"d & \textendash{} &  & \textbf{1,000} &  \\",
    ]
    assert r"\caption{What it is: 5\% of a\_b.}" in TABLE.latex()


def test_markdown_and_html() -> None:
    assert TABLE.markdown().splitlines()[2:5] == [
        "| a | **0.3125** | <u>12</u> |",
        "| b | **0.3125**† | **1,000** |",
        "| c | <u>0.2000</u>∘ | 7 |",
    ]
    odd = table((ODD, [Cell(1.0), Cell(2.0)]))
    assert odd.markdown().splitlines()[2].startswith(r"| 50% of\_b&c \<x\> \| 文 |")
    assert "<td>50% of_b&amp;c &lt;x&gt; | 文</td>" in odd.html()
    assert '<td style="text-align: right"><b>0.3125</b><sup>†</sup></td>' in TABLE.html()


QRELS = {str(t): {"a": 1, "b": 0, "c": 0} for t in range(12)}
GOOD = {topic: {"a": 3.0, "b": 2.0, "c": 1.0} for topic in QRELS}
BAD = {topic: {"b": 3.0, "c": 2.0, "a": 1.0} for topic in QRELS}
OPEN = {topic: {"x": 3.0, "y": 2.0, "a": 1.0} for topic in QRELS}  # x and y are unjudged


def test_marks_tell_claims_from_what_judging_may_undo() -> None:
    exp = fm.Experiment(QRELS, {"open": OPEN, "good": GOOD, "bad": BAD})
    compared = exp.compare(["RR", "P@2"], baseline="good")
    verdicts = {(pair.run_a, pair.measure): pair.verdict for pair in compared.pairs}
    assert verdicts["bad", "RR"] in ("certain", "supported")
    rows = dict(re.findall(r"^\| (\w+) \| (\S+) \|", compared.table("md"), re.MULTILINE))
    assert list(rows) == ["Run", "good", "open", "bad"]  # the baseline first
    assert rows["good"] == "**1.0000**"
    assert rows["bad"] == "<u>0.3333</u>†"
    assert rows["open"] == "<u>0.3333</u>" + ("∘" if verdicts["open", "RR"] == "fragile" else "†")
    caption = compared.table("md").splitlines()[-1]
    # Two of three documents of one run in three are unjudged, and measures read two places or all.
    for said in ("12 topics", "from good", "paired t-test, Holm-corrected, alpha 0.05", f"fathoms {fm.__version__}."):
        assert said in caption
    assert "66.7% of the first 2 documents are judged" in caption


def test_without_a_baseline_marks_are_against_the_best() -> None:
    found = fm.Experiment(QRELS, {"bad": BAD, "good": GOOD}).compare("RR", draws=0)
    assert re.search(r"^\| bad \| <u>0.3333</u>[†∘] \|$", found.table("md"), re.MULTILINE)
    assert "the best of its column" in found.table("md")
    with pytest.raises(fm.FathomsError, match="form: expected one of latex, md, html, found 'pdf'"):
        found.table("pdf")  # type: ignore[arg-type]


def test_a_table_of_scores_has_rows_of_topics_below() -> None:
    text = fm.Experiment(QRELS, {"good": GOOD, "bad": BAD}).evaluate("RR", by_topic=True).table("latex")
    ranked, parts = text.split(r"\midrule")[1:]
    assert r"\textbf{1} & \textbf{.0000}" in ranked
    assert parts.count("good, topic") == 12
    assert "textbf" not in parts


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_it_compiles(tmp_path: Path) -> None:
    odd = table(("50% of_b&c <x> [a]* -- \\ ~^", [Cell(1.0, mark=FRAGILE), Cell(2.0)]))
    body = TABLE.latex() + odd.latex()
    document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "t.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="latin-1", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
