"""Time `fathoms eval` against other evaluators on simulated collections.

    python bench/eval.py [--cases i,ii,iii] [--repeat 3] [--peers pytrec_eval,ir_measures,ranx] [--dir DIR]

Each tool evaluates the same files in a process of its own, the tools take turns, and the best of the repeats
counts. Seconds and peak memory are those of the whole process: start-up, parsing, evaluation. Ours computes
more than the peers do (the ranges and the tie values of every measure). `polars scan` is the floor: it reads
topic, document and score, and evaluates nothing. A peer that lives in another environment is named with its
interpreter: `--peers pytrec_eval,ranx=/path/to/python`. The files are kept in DIR and used again: remove it
after a change to the simulator.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

# This process imports no large library and makes the workloads in a child: Linux counts the parent's memory
# at the moment of the start into the child's peak.

CASES = {
    "i": {"systems": 1, "n_topics": 50, "depth": 1000, "pool_depth": 100},
    "ii": {"systems": 100, "n_topics": 50, "depth": 1000, "pool_depth": 20},
    "iii": {"systems": 1, "n_topics": 7000, "depth": 1000, "pool_depth": 100},
}
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


class Timing(NamedTuple):
    seconds: float
    megabytes: float
    output: str


def timed(command: list[str], timeout: float) -> Timing:
    """Run a command to its end; its wall time, its own peak memory, and what it printed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        # wait4 gives the usage of this one child; getrusage only the greatest of all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            why = f"killed after {timeout:g} s" if seconds >= timeout else f"exit status {process.returncode}"
            raise RuntimeError(f"{why}: {err.read().strip()[-500:]}")
        unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # ru_maxrss: bytes there, KiB elsewhere
        return Timing(seconds, usage.ru_maxrss / unit, out.read())


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


def disagreement(ours: Path, theirs: dict[str, float]) -> float:
    """The greatest difference of a run's mean AP between our output file and theirs."""
    with ours.open(encoding="utf-8", newline="") as f:
        rows = csv.DictReader(f, delimiter="\t")
        means = {r["run"]: float(r["score"]) for r in rows if r["topic"] == "all" and r["measure"] == "AP"}
    if means.keys() != theirs.keys():
        raise RuntimeError(f"runs differ: {len(means)} with a mean AP in {ours.name}, {len(theirs)} expected")
    return max(abs(means[run] - theirs[run]) for run in means)


def best_of(commands: dict[str, list[str]], repeat: int, timeout: float) -> tuple[dict[str, Timing], list[str]]:
    """The fastest of the repeats of each command, run in turn; and a line for each command that failed."""
    best: dict[str, Timing] = {}
    failed: dict[str, str] = {}
    for _ in range(repeat):
        for tool, command in commands.items():
            if tool not in failed:
                try:
                    timing = timed(command, timeout)
                    best[tool] = min(best.get(tool, timing), timing)
                except RuntimeError as error:
                    failed[tool] = str(error)
    return {t: v for t, v in best.items() if t not in failed}, [f"{t} FAILED: {e}" for t, e in failed.items()]


def show(case: str, tools: list[str], timings: dict[str, Timing]) -> None:
    base = timings.get("fathoms")
    for tool in tools:
        if tool in timings:
            seconds, megabytes, _ = timings[tool]
            ratio = f"{seconds / base.seconds:.2f}" if base else "-"
            print(f"{case:<9} {tool:<12} {seconds:9.2f} {ratio:>9} {megabytes:9.0f}", flush=True)
        else:
            print(f"{case:<9} {tool:<12} {'-':>9} {'-':>9} {'-':>9}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="time fathoms eval against other evaluators")
    parser.add_argument("--cases", default=",".join(CASES), help="of i, ii and iii")
    parser.add_argument("--repeat", type=int, default=3, choices=range(1, 21), metavar="1..20")
    parser.add_argument("--peers", default="pytrec_eval,ir_measures,ranx", help="NAME or NAME=INTERPRETER")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "fathoms-bench")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one process")
    args = parser.parse_args()
    cases = args.cases.split(",")
    peers = [peer.partition("=") for peer in args.peers.split(",") if peer]
    pythons = {name: python or sys.executable for name, _, python in peers}
    pythons["polars scan"] = sys.executable
    if unknown := (set(cases) - CASES.keys()) | (pythons.keys() - SNIPPETS.keys()):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    args.dir.mkdir(parents=True, exist_ok=True)

    start = {tool: [python, "-c", SNIPPETS[tool].splitlines()[0]] for tool, python in pythons.items()}
    found, _ = best_of(start, 1, args.timeout)
    for tool in pythons.keys() - found.keys():
        print(f"{tool}: not installed")
    start = {"fathoms": [*OURS, "--help"]} | {tool: start[tool] for tool in pythons if tool in found}
    tools = list(start)

    print(f"{'case':<9} {'tool':<12} {'seconds':>9} {'to ours':>9} {'peak MB':>9}")
    timings, notes = best_of(start, args.repeat, args.timeout)
    show("start-up", tools, timings)
    for case in cases:
        folder = workload(case, args.dir, args.timeout)
        files = [str(folder / "qrels.txt"), str(folder / "runs")]
        result = folder / "ours.tsv"
        flags = [word for measure in MEASURES for word in ("-m", measure)]
        commands = {"fathoms": [*OURS, "eval", *files, *flags, "--format", "tsv", "-o", str(result)]}
        commands |= {tool: [pythons[tool], "-c", SNIPPETS[tool], *files] for tool in tools if tool in pythons}
        timings, failures = best_of(commands, args.repeat, args.timeout)
        show(case, tools, timings)
        notes += [f"case {case}: {line}" for line in failures]
        if case in CHECKED and {"fathoms", "pytrec_eval"} <= timings.keys():
            worst = disagreement(result, json.loads(timings["pytrec_eval"].output))
            verdict = "agrees" if worst <= TOLERANCE else "FAILED: differs"
            notes.append(f"case {case}: mean AP {verdict}, pytrec_eval's is at most {worst:.1e} away")
        elif case in CHECKED:
            notes.append(f"case {case}: mean AP not checked, for that takes both fathoms and pytrec_eval")
        if "without" in (said := timings["ir_measures"].output if "ir_measures" in timings else ""):
            notes.append(f"case {case}: ir_measures {said.strip()}, which its environment cannot compute")
    print(*notes, sep="\n")
    return int(any("FAILED" in note for note in notes))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"bench/eval.py: {error}")
