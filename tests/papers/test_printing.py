"""Tables of studies as LaTeX, Markdown and HTML, from one layout; LaTeX is compiled where there is a compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import fathoms as fm
from fathoms.base import charts
from fathoms.base.text import latex_escape
from fathoms.papers import printing
from fathoms.papers.exhibits import InPaper, Study, chart, panes
from fathoms.papers.output import write_study
from fathoms.papers.printing import Column
from fathoms.questions.rank import command as rank

WHICH: tuple[printing.Best, ...] = ("lowest", "highest", "lowest", "highest")
NAMES = ("run_name", "judged", "ap", "ap_sd", "mark", "change")
ROWS = [
    ("a_b & c", 12345, 0.31456, 0.1, "†", -0.25),
    ("<d>", 7, 0.2, 0.05, None, 3.0),
    ("e", None, None, None, "", 0.0),
]
LAYOUT = (
    Column("Run", "run_name"),
    Column("Judged", "judged", group="Pool"),
    Column("AP", "ap", 3, deviation="ap_sd", group="Score", best_of_row="highest", mark="mark"),
    Column("Change", "change", 1, unit="%", group="Score", signed=True, best_of_row="highest"),
)


def test_cells_have_digits_deviations_marks_and_the_best_in_bold() -> None:
    found = printing.printed(NAMES, ROWS, LAYOUT)
    shown = [[cell.plain for cell in row] for row in found.rows]
    assert shown == [
        ["a_b & c", "12,345", "0.315 ± 0.100†", "-0.2%"],
        ["<d>", "7", "0.200 ± 0.050", "+3.0%"],
        ["e", "", "", "+0.0%"],
    ]
    assert [[cell.bold for cell in row] for row in found.rows] == [
        [False, False, True, False],
        [False, False, False, True],
        [False] * 4,
    ]
    assert found.is_number == [False, True, True, True]
    assert found.groups == [("", 1), ("Pool", 1), ("Score", 2)]


def test_the_best_of_each_row() -> None:
    """Half of them may be the best, but not more."""
    layout = [Column("k", "k"), *(Column(name, name, 2, best_of_row="lowest") for name in "abcd")]
    values = [(1, 0.5, 0.25, 0.3, 0.4), (2, 0.1, 0.1, 0.75, 0.4), (3, 0.5, 0.5, 0.5, 0.6)]
    found = printing.printed("kabcd", values, layout)
    assert [[cell.bold for cell in row] for row in found.rows] == [
        [False, False, True, False, False],
        [False, True, True, False, False],
        [False] * 5,
    ]


def test_the_best_of_a_row_among_some_columns() -> None:
    """What is printed alike is as good, and where all are, none is the best."""
    names = ("error", "share", "other", "other_share")
    layout = [
        Column("", n, 2 if n in ("error", "other") else 0, best_of_row=w) for n, w in zip(names, WHICH, strict=True)
    ]
    found = printing.printed(
        names, [(0.101, 30.0, 0.102, 45.0), (0.2, 45.4, 0.1, 45.1), (0.3, 5.0, None, None)], layout
    )
    assert [[cell.bold for cell in row] for row in found.rows] == [
        [False, False, False, True],
        [False, False, True, False],
        [False] * 4,
    ]


def test_no_sign_stands_in_the_head_over_two_columns_around_it() -> None:
    layout = [Column("k", "k", group="one"), Column("mean", "mean", 1, deviation="sd")]
    text = printing.latex(printing.printed(("k", "mean", "sd"), [(1, 2.0, 0.5)], layout), "caption", "tab:x")
    assert r"\multicolumn{1}{c}{one} & \multicolumn{2}{c}{} \\" in text


def test_without_a_layout_every_column_is_there() -> None:
    found = printing.printed(NAMES, ROWS)
    assert [column.head for column in found.columns] == ["run name", "judged", "ap", "ap sd", "mark", "change"]
    assert [cell.plain for cell in found.rows[0]] == ["a_b & c", "12,345", "0.3146", "0.1000", "†", "-0.2500"]


def test_latex_is_a_table_with_heads_over_columns() -> None:
    lines = printing.latex(printing.printed(NAMES, ROWS, LAYOUT), "Runs & their scores", "tab:x-1").splitlines()
    assert lines[:6] == [
        r"\begin{table}[htbp]",
        r"\centering",
        r"\caption{Runs \& their scores}",
        r"\label{tab:x-1}",
        r"\begin{tabular}{lrr@{\,$\pm$\,}lr}",
        r"\toprule",
    ]
    assert lines[6] == r" & \multicolumn{1}{c}{Pool} & \multicolumn{3}{c}{Score} \\"
    assert lines[7] == r"\cmidrule(lr){2-2}\cmidrule(lr){3-5}"
    assert lines[8] == r"Run & Judged & \multicolumn{2}{c}{AP} & Change \\"
    assert lines[10] == r"a\_b \& c & 12,345 & \textbf{0.315}\rlap{$^{\dagger}$} & 0.100 & $-$0.2\% \\"
    assert lines[11] == r"$<$d$>$ & 7 & 0.200 & 0.050 & \textbf{+3.0\%} \\"
    assert lines[-1] == r"\end{table}"


def test_markdown_and_html_say_the_same() -> None:
    found = printing.printed(NAMES, ROWS, LAYOUT)
    assert printing.markdown(found).splitlines()[:3] == [
        "| Run | Pool Judged | Score AP | Score Change |",
        "|---|---:|---:|---:|",
        "| a_b & c | 12,345 | **0.315 ± 0.100†** | -0.2% |",
    ]
    page = printing.html(found)
    assert '<tr><th colspan="1"></th><th colspan="1">Pool</th><th colspan="2">Score</th></tr>' in page
    assert "<td>&lt;d&gt;</td>" in page
    assert '<td class="n"><b>0.315 ± 0.100†</b></td>' in page


def example() -> Study:
    study = Study("A paper (2016), On & on", "some_judgments: 7 judgments", short="x", notes=["One < two."])
    theirs = InPaper("Robust04", ["k", "ap"], [(1, 0.5)])
    study.add("table1a", "runs and scores", NAMES, ROWS, layout=LAYOUT, in_paper=theirs)
    wide = [f"c{i}" for i in range(14)]
    study.add("table2", "a wide table", wide, [[i / 7 for i in range(14)]] * 3)
    rows = [("one", 1, 0.5), ("one", 2, 0.7), ("two", 1, 0.2)]
    how = {"x": "x", "y": "y", "group": "what", "axes": ("depth", "value")}
    panels = [chart("lines", rows, ["what", "x", "y"], title=f"Pane {letter}", **how) for letter in "abc"]
    study.add("fig1", "three panes", ["what", "x", "y"], rows, chart=panes(panels, "Three", across=2))
    return study


@pytest.mark.long
@pytest.mark.skipif(not charts.available(), reason="needs the extra report")
def test_a_study_in_all_formats(tmp_path: Path) -> None:
    assert write_study(example(), tmp_path) == []
    figure, table = ("pdf", "png", "svg", "tsv"), ("tex", "tsv")
    files = {f"fig1.{ending}" for ending in figure} | {f"table{n}.{ending}" for n in ("1a", "2") for ending in table}
    assert {one.name for one in tmp_path.iterdir()} == files | {"index.html", "index.md", "tables.tex"}
    assert (tmp_path / "fig1.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "fig1.png").read_bytes().startswith(b"\x89PNG")
    svg, page, index = ((tmp_path / name).read_text() for name in ("fig1.svg", "index.html", "index.md"))
    assert all(f"Pane {letter}" in svg for letter in "abc")
    assert svg in page
    assert "On &amp; on" in page
    for text in (page, index):
        assert "Table 1a: runs and scores" in text
        assert "In the paper, for Robust04 (another collection):" in text
        assert "Figure 1: three panes" in text
    assert r"\label{tab:x-1a}" in (tmp_path / "table1a.tex").read_text()


NASTY = "a\tb\nc\rd \\ { } # $ % & _ ^ ~ [e] *f g--h | < > \x00 \x1b \x7f Järvelin œ ß \udcff \\input{x}"
SET = (
    r"a b c d \textbackslash{} \{ \} \# \$ \% \& \_ \textasciicircum{} \textasciitilde{} {[}e] {*}f g-{}-h "
    r"\textbar{} $<$ $>$ {[}U+0000] {[}U+001B] {[}U+007F] J\"{a}rvelin \oe{} \ss{} {[}0xFF] "
    r"\textbackslash{}input\{x\}"
)


def nasty_tables() -> dict[str, str]:
    """A table of each command that makes some, with a run and a topic of that name."""
    topic = "t_1\n\x1b"
    runs = {NASTY: {topic: {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}, "[b": {topic: {"b": 1.0}, "2": {"b": 1.0}}}
    exp = fm.Experiment({topic: {"a": 1}, "2": {"a": 1, "b": 1}}, runs, workers=1)
    exp.warn = False
    measures = ["AP", "P@1"]
    paper = printing.latex(printing.printed([f"x {NASTY}"], [[NASTY]]), NASTY, "tab:x")
    return {
        "eval": exp.evaluate(measures, by_topic=True).table(),
        "compare": exp.compare(measures).table(),
        "rank": rank._latex(exp.rank(measures)),
        "paper": paper,
    }


def test_names_of_all_characters_are_set_in_every_table() -> None:
    assert latex_escape(NASTY) == SET
    assert latex_escape("日本 語\u202e\uffff") == "日本 語{[}U+202E]{[}U+FFFF]"
    for made, table in nasty_tables().items():
        assert SET in table, made
        assert made != "eval" or r"topic t\_1 {[}U+001B]" in table
        code = [line for line in table.split("\n") if not line.startswith("% ")]
        assert all(line.isascii() and line.isprintable() for line in code), made
        assert sum(line.endswith(r"\\") for line in code) >= 2
        begin, end = code.index(r"\midrule"), code.index(r"\bottomrule")
        assert all(line.endswith(r"\\") or line == r"\midrule" for line in code[begin:end]), made


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_names_of_all_characters_compile(tmp_path: Path) -> None:
    text = "\\documentclass{article}\\usepackage{booktabs,graphicx}\\begin{document}\n"
    text += "\n\n".join(nasty_tables().values()) + "\n\\end{document}\n"
    (tmp_path / "all.tex").write_text(text, encoding="utf-8", errors="backslashreplace")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-1500:]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_tables_compile(tmp_path: Path) -> None:
    study = example()
    study.exhibits = [exhibit for exhibit in study.exhibits if exhibit.is_table]
    write_study(study, tmp_path)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-1500:]
    assert b"Overfull" not in done.stdout
