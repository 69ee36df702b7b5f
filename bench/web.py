"""The judging page under load: many assessors at once, on this machine alone.

    python bench/web.py [--assessors 20] [--grades 2000] [--systems 10] [--topics 50] [--depth 100] [--think 0]
    python bench/web.py --assessors 1 --think 1 --grades 150 --systems 30 --runs RUNS --qrels QRELS

The server is a process of its own; each assessor posts a grade, gets the next document and posts again, after `--think`
seconds. Reported is the time from a grade to the next document. Then the log is compared with what was acknowledged:
no answer may be lost, and no document judged twice. The collection is a simulated one, without `--runs`; else the first
`--systems` files of that folder, and grades are those of `--qrels`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from fathoms.data.simulate import simulate, write

TOKEN = "token-for-the-bench"


class Assessor(threading.Thread):
    """Judges until there is enough."""

    def __init__(self, name: str, port: int, todo: threading.Semaphore, truth: dict[tuple[str, str], int]) -> None:
        super().__init__()
        self.name, self.todo, self.truth = name, todo, truth
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.seconds: list[float] = []
        self.acknowledged: list[tuple[str, str, int]] = []
        self.refused: list[str] = []
        self.think = 0.0

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        self.connection.request("POST", path, json.dumps({"name": self.name, **body}), headers)
        answer: dict[str, Any] = json.loads(self.connection.getresponse().read())
        return answer

    def run(self) -> None:
        task = self.post("/api/next")["document"]
        while self.todo.acquire(blocking=False):
            start = time.perf_counter()
            while task is None:
                time.sleep(0.05)
                task = self.post("/api/next")["document"]
            if self.seconds:  # waiting in vain is waiting too
                self.seconds[-1] += time.perf_counter() - start
            time.sleep(self.think)
            topic, document = task["topic"]["id"], task["document"]["id"]
            grade = self.truth.get((topic, document), 0)
            start = time.perf_counter()
            answer = self.post("/api/grade", topic=topic, document=document, grade=grade, note="")
            self.seconds.append(time.perf_counter() - start)
            if "error" in answer:
                self.refused.append(answer["error"])
                task = self.post("/api/next")["document"]
                continue
            self.acknowledged.append((topic, document, grade))
            task = answer["document"]


def grades_in(path: Path) -> dict[tuple[str, str], int]:
    lines = [line.split() for line in path.read_text().splitlines()]
    return {(topic, document): int(grade) for topic, _, document, grade in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("assessors", 20), ("grades", 2_000), ("systems", 10), ("topics", 50), ("depth", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--think", type=float, default=0.0)
    parser.add_argument("--runs", type=Path, help="a folder of runs")
    parser.add_argument("--qrels", type=Path, help="grades of their documents")
    parser.add_argument("--known", default="none", help="judgments that are there from the start")
    args, more = parser.parse_known_args()  # others are flags of `fathoms judge`
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.runs is None:
            write(
                simulate(systems=args.systems, n_topics=args.topics, depth=args.depth, max_grade=1, texts=True), folder
            )
            truth = grades_in(folder / "truth.txt")
            words = ["none", folder / "runs", "--topic-texts", folder / "topics.jsonl", "--docs", folder / "docs.jsonl"]
        else:
            truth = {} if args.qrels is None else grades_in(args.qrels)
            words = [args.known, *sorted(args.runs.iterdir())[: args.systems], "--depth", args.depth]
        log = folder / "session.db"
        words += ["--session", log, "--confidence", "0.999999", "--web", "--port", "0", *more]
        server = subprocess.Popen(
            [sys.executable, "-m", "fathoms", "judge", *map(str, words)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "FATHOMS_TOKEN": TOKEN},
        )
        assert server.stderr is not None
        port = 0
        for line in server.stderr:
            match = re.search(r":(\d+)/#token", line)
            port = int(match[1]) if match else port
            if "Ctrl-C" in line:
                break
        todo = threading.Semaphore(args.grades)
        assessors = [Assessor(f"assessor {i}", port, todo, truth) for i in range(args.assessors)]
        start = time.perf_counter()
        for assessor in assessors:
            assessor.think = args.think
            assessor.start()
        for assessor in assessors:
            assessor.join()
        took = time.perf_counter() - start
        server.send_signal(signal.SIGINT)
        server.wait()
        seconds = np.array([value for assessor in assessors for value in assessor.seconds])
        acknowledged = [answer for assessor in assessors for answer in assessor.acknowledged]
        refused = sum(len(assessor.refused) for assessor in assessors)
        connection = sqlite3.connect(log)
        logged = connection.execute("SELECT topic, document, grade FROM event WHERE kind = 'grade'").fetchall()
        connection.close()
    print(
        f"{args.assessors} assessors, {len(seconds):,} grades in {took:.1f} s ({len(seconds) / took:.0f} a second); "
        f"{args.systems} systems, {args.topics} topics, depth {args.depth}"
    )
    marks = 1e3 * np.quantile(seconds, [0.5, 0.95, 0.99, 1])
    print("grade to next document, ms: median {:.0f}, 95% {:.0f}, 99% {:.0f}, greatest {:.0f}".format(*marks))
    print(
        f"acknowledged {len(acknowledged):,}, in the log {len(logged):,}, the same: "
        f"{sorted(acknowledged) == sorted(logged)}, documents judged twice: "
        f"{len(logged) - len({row[:2] for row in logged})}, refused: {refused}"
    )


if __name__ == "__main__":
    main()
