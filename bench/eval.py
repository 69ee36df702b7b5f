"""Time `fathoms eval` against other evaluators on simulated collections.

    python bench/eval.py [--cases i,ii,iii] [--repeat 3] [--peers trec_eval,pytrec_eval,ir_measures,ranx] [--dir DIR]

Each tool evaluates the same files in a process of its own, the tools take turns, and the best of the repeats counts.
Seconds and peak memory are those of the whole process: start-up, parsing, evaluation. Ours computes more than the
peers do (the ranges and the tie values of every measure), but for the row of scores alone, which is `--format
trec_eval`; `numpy alone` is without the compiled kernel. `polars scan` is the floor: it reads topic, document and
score, and evaluates nothing. A peer that lives in another environment is named with its interpreter: `--peers
pytrec_eval,ranx=/path/to/python` (give ir_measures one without ranx, which it would import); the C program, which runs
on two cores, is the one on the PATH, `trec_eval=/path/to/trec_eval`, or `trec_eval=/path/to/its/sources`, which are
then built with `make`. The files are kept in DIR and used again: remove it after a change to the simulator.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import Timing, best_of, show, show_header, timed

# This process imports no large library and makes the workloads in a child: Linux counts the parent's memory
# at the moment of the start into the child's peak.

CASES = {
    "i": {"systems": 1, "n_topics": 50, "depth": 1000, "pool_depth": 100},
    "ii": {"systems": 100, "n_topics": 50, "depth": 1000, "pool_depth": 20},
    "iii": {"systems": 1, "n_topics": 7000, "depth": 1000, "pool_depth": 100},
}
PEERS = "trec_eval,pytrec_eval,ir_measures,ranx"
NAMES = {"i": "(i) 1 run, 50 x 1,000", "ii": "(ii) 100 runs, 50 x 1,000", "iii": "(iii) 1 run, 7,000 x 1,000"}
CHECKED = ("i", "ii")  # cases in which our mean AP has to be pytrec_eval's
TOLERANCE = 1e-6
OURS = [sys.executable, "-m", "fathoms"]
MEASURES = ["AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR"]

MAKE = """
import json, sys
from pathlib import Path
from fathoms.data.simulate import simulate, write
write(simulate(**json.loads(sys.argv[2])), Path(sys.argv[1]))
"""

# What each peer runs; the arguments are the qrels and the runs' folder. The first line is its start-up.
SNIPPETS = {
    "pytrec_eval": """import pytrec_eval
import json, sys
from pathlib import Path
with open(sys.argv[1]) as f:
    qrels = pytrec_eval.parse_qrel(f)
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut_10", "P_10", "recip_rank"})
means = {}
for path in sorted(Path(sys.argv[2]).iterdir()):
    with path.open() as f:
        values = evaluator.evaluate(pytrec_eval.parse_run(f)).values()
    means[path.stem] = {m: sum(v[m] for v in values) / len(values) for m in next(iter(values))}
print(json.dumps({run: mean["map"] for run, mean in means.items()}))
""",
    "ir_measures": """import ir_measures
import sys
from pathlib import Path
from ir_measures import AP, P, RBP, RR, nDCG
wanted = [AP, nDCG @ 10, P @ 10, RBP(p=0.8, rel=1), RR]
# RBP needs a further package; without it the others are timed.
measures = [m for m in wanted if ir_measures.DefaultPipeline.supports(m)]
evaluator = ir_measures.evaluator(measures, ir_measures.read_trec_qrels(sys.argv[1]))
for path in sorted(Path(sys.argv[2]).iterdir()):
    evaluator.calc_aggregate(ir_measures.read_trec_run(str(path)))
print("without", *set(wanted) - set(measures)) if len(measures) < len(wanted) else None
""",
    "ranx": """import ranx
import sys
from pathlib import Path
measures = ["map", "ndcg@10", "precision@10", "mrr", "rbp.80"]
qrels = ranx.Qrels.from_file(sys.argv[1], kind="trec")
for path in sorted(Path(sys.argv[2]).iterdir()):
    ranx.evaluate(qrels, ranx.Run.from_file(str(path), kind="trec"), measures)
""",
    "polars scan": """import polars as pl
import sys
from pathlib import Path
names = ["topic", "q0", "doc", "rank", "score", "tag"]
schema = {name: pl.Float64 if name == "score" else pl.String for name in names}
paths = sorted(Path(sys.argv[2]).iterdir())
runs = pl.scan_csv(paths, separator=" ", has_header=False, quote_char=None, schema=schema)
print("score sum", runs.select("topic", "doc", "score").collect()["score"].sum())
""",
}


# The C program takes one run; two of them at a time, as two cores allow.
TREC_EVAL = """ls -d "$2"/* | xargs -P 2 -I RUN "$0" -m map -m ndcg_cut.10 -m P.10 -m recip_rank "$1" RUN"""


def built(sources: Path, folder: Path) -> str:
    """The C program from a folder of its sources, made in a copy of them."""
    target = folder / "trec_eval-build"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(sources, target)
    done = subprocess.run(["make", "trec_eval"], cwd=target, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"trec_eval could not be built: {done.stderr.strip()[-500:]}")
    return str(target / "trec_eval")


def evaluating(tool: str, program: str, files: list[str]) -> list[str]:
    if tool == "trec_eval":
        return ["sh", "-c", TREC_EVAL, program, *files]
    return [program, "-c", SNIPPETS[tool], *files]


def starting(tool: str, program: str) -> list[str]:
    if tool == "trec_eval":
        return ["sh", "-c", 'command -v "$0"', program]
    return [program, "-c", SNIPPETS[tool].splitlines()[0]]


def workload(case: str, folder: Path, timeout: float) -> Path:
    """The folder of a case's files, made on first use and complete whenever it exists."""
    settings = CASES[case]
    target = folder / "-".join([case, *map(str, settings.values())])
    if not target.exists():
        partial = Path(tempfile.mkdtemp(dir=folder, prefix="partial-"))
        try:
            timed([sys.executable, "-c", MAKE, str(partial), json.dumps(settings)], timeout)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def disagreement(ours: Path, expected: dict[str, float]) -> float:
    """The greatest difference of a run's mean AP between our output file and theirs."""
    with ours.open(encoding="utf-8", newline="") as f:
        rows = csv.DictReader(f, delimiter="\t")
        means = {r["run"]: float(r["score"]) for r in rows if r["topic"] == "all" and r["measure"] == "AP"}
    if means.keys() != expected.keys():
        raise RuntimeError(f"runs differ: {len(means)} with a mean AP in {ours.name}, {len(expected)} expected")
    return max(abs(means[run] - expected[run]) for run in means)


def show_all(case: str, tools: list[str], timings: dict[str, Timing]) -> None:
    ours = timings["fathoms"].seconds if "fathoms" in timings else None
    for tool in tools:
        seconds, megabytes, *_ = timings.get(tool, (None, None, "", None))
        show(case, tool, seconds, ours, megabytes)


def main() -> int:
    parser = argparse.ArgumentParser(description="time fathoms eval against other evaluators")
    parser.add_argument("--cases", default=",".join(CASES), help="of i, ii and iii")
    parser.add_argument("--repeat", type=int, default=3, choices=range(1, 21), metavar="1..20")
    parser.add_argument("--peers", default=PEERS, help="NAME or NAME=PROGRAM")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "fathoms-bench")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one process")
    args = parser.parse_args()
    cases = args.cases.split(",")
    peers = [peer.partition("=") for peer in args.peers.split(",") if peer]
    programs = {name: path or ("trec_eval" if name == "trec_eval" else sys.executable) for name, _, path in peers}
    programs["polars scan"] = sys.executable
    if unknown := (set(cases) - CASES.keys()) | (programs.keys() - SNIPPETS.keys() - {"trec_eval"}):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    args.dir.mkdir(parents=True, exist_ok=True)
    if "trec_eval" in programs and Path(programs["trec_eval"]).is_dir():
        programs["trec_eval"] = built(Path(programs["trec_eval"]), args.dir)

    start = {tool: starting(tool, program) for tool, program in programs.items()}
    timing, _ = best_of(start, 1, args.timeout)
    for tool in programs.keys() - timing.keys():
        print(f"{tool}: not installed")
    start = {"fathoms": [*OURS, "--help"]} | {tool: start[tool] for tool in programs if tool in timing}
    tools = list(start)

    show_header()
    timings, notes = best_of(start, args.repeat, args.timeout)
    show_all("start-up", tools, timings)
    for case in cases:
        folder = workload(case, args.dir, args.timeout)
        files = [str(folder / "qrels.txt"), str(folder / "runs")]
        result = folder / "ours.tsv"
        flags = [word for measure in MEASURES for word in ("-m", measure)]
        ours = [*OURS, "eval", *files, *flags]
        commands = {
            "fathoms": [*ours, "--format", "tsv", "-o", str(result)],
            "fathoms, scores alone": [*ours, "--format", "trec_eval", "-o", str(folder / "ours.eval")],
            "fathoms, numpy alone": [
                *("env", "FATHOMS_KERNEL=0", *ours, "--format", "tsv", "-o", str(folder / "numpy.tsv"))
            ],
        }
        commands |= {tool: evaluating(tool, programs[tool], files) for tool in tools if tool in programs}
        timings, failures = best_of(commands, args.repeat, args.timeout)
        show_all(NAMES[case], list(commands), timings)
        notes += [f"case {case}: {line}" for line in failures]
        if {"fathoms", "fathoms, numpy alone"} <= timings.keys():
            alike = result.read_bytes() == (folder / "numpy.tsv").read_bytes()
            notes.append(f"case {case}: {'the same bytes' if alike else 'FAILED: other bytes'} with numpy alone")
        if case in CHECKED and {"fathoms", "pytrec_eval"} <= timings.keys():
            worst = disagreement(result, json.loads(timings["pytrec_eval"].output))
            verdict = "agrees" if worst <= TOLERANCE else "FAILED: differs"
            notes.append(f"case {case}: mean AP {verdict}, pytrec_eval's is at most {worst:.1e} away")
        elif case in CHECKED:
            notes.append(f"case {case}: mean AP not checked, for that takes both fathoms and pytrec_eval")
        if "without" in (text := timings["ir_measures"].output if "ir_measures" in timings else ""):
            notes.append(f"case {case}: ir_measures {text.strip()}, which its environment cannot compute")
    print(*notes, sep="\n")
    return int(any("FAILED" in note for note in notes))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"bench/eval.py: {error}")
