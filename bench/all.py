"""All benchmarks in one go, as the page docs/results/benchmarks.md.

    python bench/all.py [-o docs/results/benchmarks.md] [--peers PEERS] [--only eval,ties] [--dir DIR]

Each benchmark is a process of its own, one after the other, on an otherwise idle machine, and prints rows of one form;
this puts them into tables, with the date, the machine and the versions. Takes some twenty minutes and 6 GB in DIR.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from eval import PEERS
from timing import HEADER

from fathoms.base import kernel

HERE = Path(__file__).resolve().parent
PACKAGES = ("fathoms", "numpy", "scipy", "polars", "pytrec-eval-terrier", "ir_measures", "ranx", "pandas", "pyarrow")
INTRODUCTION = """# Benchmarks

How fast fathoms is, beside other tools. Made by `python bench/all.py` on {date}; the scripts in `bench/` say what each
case is, and measure it on your machine.

`to ours` is the other's time over ours in the same run: above 1 we are faster. Only these ratios mean much, since
seconds change with the machine. `peak MB` is the memory of all processes of a command together.

| | |
|---|---|
{machine}

"""


class Benchmark(NamedTuple):
    script: str
    title: str
    about: str
    arguments: list[str]


def benchmarks(args: argparse.Namespace) -> list[Benchmark]:
    files = ["--dir", str(args.dir)]
    collection = str(args.dir / "ii-100-50-1000-20")  # made by the first benchmark
    return [
        Benchmark(
            "eval",
            "Evaluation",
            "AP, nDCG@10, P@10, RBP(p=0.8) and RR, from files on disk to a file of means, start-up included. Ours has "
            "ranges and tie values too; `numpy alone` is ours without the compiled kernel. `trec_eval` is the C "
            "program, two at a time, without RBP. `polars scan` reads topic, document and score, and scores nothing.",
            ["--peers", args.peers, *files],
        ),
        Benchmark(
            "in_process",
            "In process",
            "`fm.Evaluator` with judgments prepared once: a run of topics x documents in memory to a dict of AP, "
            "nDCG@10, P@10 and RR by topic.",
            ["--numpy"],
        ),
        Benchmark(
            "big",
            "Large inputs",
            "The default measures on one run of 50 million lines (5,000 topics of 10,000) and on a thousand runs.",
            files,
        ),
        Benchmark(
            "convert",
            "Reading",
            "A run of 7,000 topics of 1,000 lines. Ours also checks ids, numbers topics and looks for repeated "
            "documents; the others end with a frame.",
            ["--dir", str(args.dir / "convert")],
        ),
        Benchmark(
            "depths",
            "All depths",
            "Six measures at every depth from 1 to 1,000, beside the same at one depth.",
            [],
        ),
        Benchmark(
            "compare",
            "All pairs",
            "Paired t-tests of all pairs of 129 systems, six measures, 100 depths, and the rank correlation of every "
            "two depths, beside loops over scipy's functions (extrapolated from a sample).",
            [],
        ),
        Benchmark(
            "ties",
            "Ties",
            "`fathoms ties` on a hundred runs with five measures, beside five evaluations of each run by pytrec_eval, "
            "the least it would take (extrapolated from a sample).",
            [collection],
        ),
        Benchmark(
            "report",
            "Report",
            "`fathoms report`, and how often it reads each run and looks it up among the judgments. `python "
            "bench/report.py FOLDER --before SRC` shows an older version beside it.",
            [collection],
        ),
        Benchmark(
            "waiting",
            "What people wait for",
            "Commands from start to end, beside version 0.3.0 where `--before` names its command: `python "
            "bench/waiting.py`. On a busy machine the notes on processor time say more than seconds do.",
            [*([] if args.before is None else ["--before", args.before]), *files],
        ),
        Benchmark(
            "growth",
            "Growth",
            "The same command on ten times as many topics, runs or documents; `to ours` is the time over that on the "
            "small collection, both without start-up.",
            files,
        ),
        Benchmark(
            "cluster",
            "On a cluster",
            "compare, predict and rank on a Dask cluster of processes of this machine, beside one fork, and what a "
            "large collection would take.",
            files,
        ),
        Benchmark(
            "judge",
            "Judging",
            "Mean and variance of a difference in AP over 2,000 documents, beside all pairs of documents and the "
            "paper's triple sum; then the time from a grade to the next document, ten systems at depth 1,000.",
            [],
        ),
    ]


STEPS = ("strategy", "median, ms", "greatest", "with the fit: median", "greatest", "all confidences alone", "the start")
ROW = re.compile(r"(\S.*?)\s{2,}(\S.*?)\s{2,}([\d.,e+-]+|-)\s+([\d.,]+|-)\s+([\d.,]+|-)\s*")


def section(benchmark: Benchmark, output: str) -> str:
    """A benchmark's rows as a table, what else it printed below."""
    rows, rest = [], []
    for line in output.splitlines():
        if row := ROW.fullmatch(line):
            rows.append(row.groups())
        elif line.strip() and line.split() != " ".join(HEADER).split():
            rest.append(line.strip())
    lines = [f"## {benchmark.title}", "", benchmark.about, ""]
    lines += ["| " + " | ".join(HEADER) + " |", "|---|---|--:|--:|--:|"]
    last = ""
    for case, *fields in rows:
        lines.append("| " + " | ".join(["" if case == last else case, *fields]) + " |")
        last = case
    return "\n".join([*lines, "", *notes(rest)])


FIGURES = re.compile(r"\s([\d.]+)(?=[,;]|$)")


def notes(rest: list[str]) -> list[str]:
    """What a benchmark said beside its rows: a list, with what holds of several cases once, and a table of steps."""
    notes_of: dict[str, list[str]] = {}
    steps = []
    for line in rest:
        case, _, words = line.rpartition(": ")
        figures = FIGURES.findall(words)
        if len(figures) == len(STEPS) - 1:
            steps.append([case, *figures])
        else:
            notes_of.setdefault(words, []).append(case)
    lines = [f"- {', '.join(filter(None, cases))}: {words}".replace("- : ", "- ") for words, cases in notes_of.items()]
    if steps:
        lines += ["", "| " + " | ".join(STEPS) + " |", "|---|" + "--:|" * (len(STEPS) - 1)]
        lines += ["| " + " | ".join(step) + " |" for step in steps]
    return [*lines, ""] if lines else []


def machine() -> dict[str, str]:
    """What the numbers were had on."""
    cpuinfo = Path("/proc/cpuinfo")
    cpu = re.search(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else None
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    facts = {
        "machine": f"{cpu[1] if cpu else platform.processor()}, {os.cpu_count()} cores, {memory:.0f} GB",
        "system": f"{platform.system()}, Python {platform.python_version()}",
    }
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return facts | {"versions": ", ".join(versions), "kernel": kernel.description()}


def main() -> int:
    parser = argparse.ArgumentParser(description="all benchmarks as one page")
    parser.add_argument("-o", "--output", type=Path, default=HERE.parent / "docs" / "results" / "benchmarks.md")
    parser.add_argument("--peers", default=PEERS, help="of bench/eval.py: NAME or NAME=PROGRAM, separated by commas")
    parser.add_argument("--before", help="of bench/waiting.py: the command of an older version")
    parser.add_argument("--only", help="names of benchmarks, separated by commas; printed, not written")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "fathoms-bench")
    args = parser.parse_args()
    chosen = [bench for bench in benchmarks(args) if not args.only or bench.script in args.only.split(",")]
    sections = []
    for benchmark in chosen:
        print(f"-- {benchmark.title}", file=sys.stderr, flush=True)
        command = [sys.executable, str(HERE / f"{benchmark.script}.py"), *benchmark.arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        print(done.stdout, file=sys.stderr, flush=True)
        sections.append(section(benchmark, done.stdout))
    if args.only:
        print("\n".join(sections))
        return 0
    rows = "\n".join(f"| {name} | {value} |" for name, value in machine().items())
    head = INTRODUCTION.format(date=datetime.now(UTC).strftime("%Y-%m-%d"), machine=rows)
    args.output.write_text(head + "\n".join(sections).rstrip() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
