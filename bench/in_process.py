"""Time `fm.Evaluator` against pytrec_eval and ir_measures inside one Python process: runs in memory, values out.

    python bench/in_process.py [--cases 10x10,50x100,1000x100,50x1000,1000x1000] [--repeat 7] [--numpy]

The judgments are prepared once, as people do it in notebooks and training loops; what is timed is a call with a run:
a dict {topic: {document: score}}, or a frame. All give AP, nDCG@10, P@10 and RR of each topic. The tools take turns,
and the best of the repeats counts. `--numpy` shows fathoms without its compiled kernel too. All values of dicts are
compared with those of pytrec_eval.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import show, show_header

import fathoms as fm
from fathoms.base import kernel

CASES = "10x10,50x100,1000x100,50x1000,1000x1000"
MEASURES = {"AP": "map", "nDCG@10": "ndcg_cut_10", "P@10": "P_10", "RR": "recip_rank"}
DOCUMENTS, JUDGED, TOLERANCE = 200_000, 100, 1e-6
SECONDS = 0.2  # that a timing takes at least: quick calls are repeated

Nested = dict[str, dict[str, Any]]


def collection(topics: int, depth: int, seed: int = 0) -> tuple[Nested, Nested]:
    """Judgments of the first documents of each topic and of some others, and a run with a few ties."""
    rng = np.random.default_rng(seed)
    qrels: Nested = {}
    run: Nested = {}
    for topic in range(101, 101 + topics):
        documents = [f"DOC-{n:07d}" for n in rng.permutation(DOCUMENTS)[: depth + JUDGED // 2]]
        scores = np.sort(rng.normal(20, 5, depth).round(4))[::-1].tolist()
        run[str(topic)] = dict(zip(documents, scores, strict=False))
        grades = rng.choice([0, 0, 0, 1, 2], JUDGED + JUDGED // 2).tolist()
        judged = documents[: min(JUDGED, depth)] + documents[depth:]
        qrels[str(topic)] = dict(zip(judged, grades, strict=False))
    return qrels, run


def best(calls: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """The least seconds a call takes, all taking turns."""
    seconds = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            number, start = 0, time.perf_counter()
            while number == 0 or (time.perf_counter() - start < SECONDS / repeat and number < 100):
                call()
                number += 1
            seconds[name] = min(seconds[name], (time.perf_counter() - start) / number)
    return seconds


def without_kernel(call: Callable[[], object]) -> Callable[[], object]:
    def work() -> object:
        compiled, kernel.compiled = kernel.compiled, None
        try:
            return call()
        finally:
            kernel.compiled = compiled

    return work


def dicts(case: str, qrels: Nested, run: Nested, args: argparse.Namespace) -> str:
    """Rows of dicts, and how far values are from those of pytrec_eval."""
    ours, ranges = fm.Evaluator(qrels, list(MEASURES)), fm.Evaluator(qrels, list(MEASURES), ranges=True)
    calls: dict[str, Callable[[], object]] = {
        "fathoms": lambda: ours.evaluate(run),
        "fathoms, ranges and ties": lambda: ranges.evaluate(run),
    }
    if args.numpy:
        calls["fathoms, numpy alone"] = without_kernel(calls["fathoms"])
    note = f"{case}: values not checked, for that takes pytrec_eval"
    try:
        import pytrec_eval
    except ImportError:
        pass
    else:
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values()))
        calls["pytrec_eval"] = lambda: evaluator.evaluate(run)
        scores, expected = ours.evaluate(run), evaluator.evaluate(run)
        worst = max(
            abs(float(scores[topic][name] or 0.0) - values[other])
            for topic, values in expected.items()
            for name, other in MEASURES.items()
        )
        verdict = "agree" if worst <= TOLERANCE else "FAILED: differ"
        note = f"{case}: values {verdict}, those of pytrec_eval are at most {worst:.1e} away"
    timings = best(calls, args.repeat)
    for name, seconds in timings.items():
        show(f"{case}, dicts", name, seconds, timings["fathoms"])
    return note


def frames(case: str, qrels: Nested, run: Nested, args: argparse.Namespace) -> None:
    import polars as pl

    def rows(data: Nested, number: str) -> pl.DataFrame:
        triples = [(topic, document, n) for topic, ranking in data.items() for document, n in ranking.items()]
        return pl.DataFrame(triples, schema=["query_id", "doc_id", number], orient="row")

    judgments, ranked = rows(qrels, "relevance"), rows(run, "score")
    ours = fm.Evaluator(judgments, list(MEASURES))
    calls: dict[str, Callable[[], object]] = {"fathoms, polars": lambda: ours.evaluate(ranked)}
    try:
        import ir_measures
        import pandas as pd
    except ImportError:
        pass
    else:
        theirs_in = pd.DataFrame(judgments.to_dict(as_series=False))
        frame = pd.DataFrame(ranked.to_dict(as_series=False))
        evaluator = ir_measures.evaluator([ir_measures.parse_measure(name) for name in MEASURES], theirs_in)
        calls["fathoms, pandas"] = lambda: ours.evaluate(frame)
        calls["ir_measures, pandas"] = lambda: list(evaluator.iter_calc(frame))
    timings = best(calls, min(3, args.repeat))
    for name, seconds in timings.items():
        show(f"{case}, frames", name, seconds, timings.get("fathoms, pandas", timings["fathoms, polars"]))


def main() -> int:
    parser = argparse.ArgumentParser(description="time fathoms inside a process against other evaluators")
    parser.add_argument("--cases", default=CASES, help="topics x documents")
    parser.add_argument("--repeat", type=int, default=7, choices=range(1, 101), metavar="1..100")
    parser.add_argument("--numpy", action="store_true", help="also without the compiled kernel")
    args = parser.parse_args()
    show_header()
    notes = [f"kernel: {kernel.description()}"]
    for case in args.cases.split(","):
        topics, depth = map(int, case.split("x"))
        qrels, run = collection(topics, depth)
        name = f"{topics:,} x {depth:,}"
        notes.append(dicts(name, qrels, run, args))
        if topics * depth <= 100_000:
            frames(name, qrels, run, args)
    print(*notes, sep="\n")
    return int(any("FAILED" in note for note in notes))


if __name__ == "__main__":
    sys.exit(main())
