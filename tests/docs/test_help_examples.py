"""Every example of every command's help, run as it stands: by a person at a terminal, and in a pipe.

The worked examples that open each help run at a terminal by default, all others with `pytest -m slow`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from fathoms.cli.app import COMMANDS
from fathoms.data.simulate import simulate, write
from tests.support.terminals import PATIENCE, on_terminal

RUNS = ("bm25", "bm25-tuned", "dense", "main", "branch", "yesterday", "today", "a", "b")
FORWARD = 200  # simulated topics begin at 101, those of the examples at 301
SERVES = "--web"  # such a command goes on until somebody ends it
LONG_COMMANDS = ("demo", "papers", "report")  # whose examples take many seconds, and run with the studies alone
# What else may come: a gate that says no, or cannot tell; a check that finds something.
STATUS = {"gate": {0, 1, 3}, "check": {0, 1}}


def worked_examples(command: str) -> list[str]:
    """Those that open the help of a command."""
    return [example for _, example in import_module(f"fathoms.questions.{command}.command").EXAMPLES]


def all_examples(command: str) -> list[str]:
    """Those below the flags too; a comment after one is no part of it."""
    more = getattr(import_module(f"fathoms.questions.{command}.command"), "MORE", "")
    found = re.findall(r"^  (fathoms .*)$", more, re.MULTILINE)
    return worked_examples(command) + [re.sub(r" +# .*$", "", line) for line in found]


def _moved(path: Path) -> None:
    """A file with its topics' numbers made those of the examples."""
    text = path.read_text()
    path.write_text(re.sub(r'^(\{"id":")?(1\d\d)\b', lambda m: f"{m[1] or ''}{int(m[2]) + FORWARD}", text, flags=re.M))


def _three_columns(lines: list[str]) -> str:
    fields = [line.split() for line in lines]
    return "".join(f"{topic}\t{document}\t{rank}\n" for topic, _, document, rank, *_ in fields)


def make(folder: Path) -> None:
    """All files that the examples name, small."""
    write(simulate(systems=len(RUNS), n_topics=8, n_docs=300, depth=30, max_grade=2, texts=True, seed=7), folder)
    for path in [folder / name for name in ("qrels.txt", "truth.txt", "topics.jsonl")] + [*(folder / "runs").iterdir()]:
        _moved(path)
    old = sorted((folder / "runs").iterdir())
    for path, name in zip(old, RUNS, strict=True):
        path.rename(folder / "runs" / f"{name}.run")
        shutil.copy(folder / "runs" / f"{name}.run", folder)
    for own, name in (("mine", "dense"), ("baseline", "bm25")):
        for copy in (folder / f"{own}.run", folder / "runs" / f"{own}.run"):
            shutil.copy(folder / f"{name}.run", copy)
    for name in ("groups.tsv", "pooled.txt"):
        text = (folder / name).read_text()
        for path, name_of_run in zip(old, RUNS, strict=True):
            text = re.sub(rf"^{path.stem}\b", name_of_run, text, flags=re.M)
        (folder / name).write_text(text)
    for name, copied in (("mine", "bm25"), ("baseline", "b")):
        shutil.copy(folder / f"{copied}.run", folder / f"{name}.run")
    run = (folder / "bm25.run").read_text()
    qrels = (folder / "qrels.txt").read_text().splitlines()
    judged = [line.split() for line in qrels]
    topics = list(dict.fromkeys(topic for topic, *_ in judged))
    (folder / "submissions").mkdir()
    for path in (folder / "bm25.run.gz", folder / "submissions" / "one.gz", folder / "submissions" / "two.gz"):
        path.write_bytes(gzip.compress(run.encode()))
    (folder / "dev.tsv").write_text(_three_columns(run.splitlines()))
    scores: dict[str, dict[str, float]] = {}
    for line in run.splitlines():
        topic, _, document, _, score, _ = line.split()
        scores.setdefault(topic, {})[document] = float(score)
    (folder / "predictions.json").write_text(json.dumps({"default": {"test": scores, "dev": scores}}))
    (folder / "passages.run").write_text(
        "".join(
            f"{topic} Q0 {document}#{i % 3} {i + 1} {100 - i} passages\n"
            for topic, found in scores.items()
            for i, document in enumerate(found)
        )
    )
    (folder / "ratings.csv").write_text("query,docid,rating\n" + "".join(f"{t},{d},{g}\n" for t, _, d, g in judged))
    (folder / "corpus.jsonl").write_bytes((folder / "docs.jsonl").read_bytes())
    (folder / "train.tsv").write_text("900\t0\tDOC-0000001\t1\n")
    (folder / "topics.tsv").write_text("".join(f"{topic}\twhat is {topic}?\n" for topic in topics))
    (folder / "intents.tsv").write_text("".join(f"{topic}\t{'ab'[i % 2]}\n" for i, topic in enumerate(topics)))
    for name, every in (("gpt", 5), ("llama", 3)):
        changed = (f"{t} 0 {d} {(int(g) + (i % every == 0)) % 3}\n" for i, (t, _, d, g) in enumerate(judged))
        (folder / f"{name}.txt").write_text("".join(changed))
    labels = (f"{t}\t{d}\t{g}\n" for t, _, d, g in map(str.split, (folder / "truth.txt").read_text().splitlines()))
    (folder / "llm.tsv").write_text("".join(labels))
    values = (f"{t}\t{d}\t{int(g) + i % 7 / 10}\n" for i, (t, _, d, g) in enumerate(judged))
    (folder / "scores.tsv").write_text("".join(values))
    for name in ("a", "b"):
        scores_of = "".join(f"map\t{topic}\t{(int(topic) * len(name) + ord(name)) % 10 / 10}\n" for topic in topics)
        (folder / f"{name}.eval").write_text(scores_of)
    (folder / "names.txt").write_text("Ann\nBen\n")
    (folder / "grades.txt").write_text("0 not relevant\n1 relevant\n")
    (folder / "guide.md").write_text("Read the topic first.\n")
    words = ["--sample", "20", "--oracle", "truth.txt", "--export", "judged.txt", "--session", "sample.db", "--quiet"]
    subprocess.run([sys.executable, "-m", "fathoms", "judge", "none", "runs", *words], cwd=folder, check=True)
    (folder / "judged.txt.sample.tsv").rename(folder / "sample.tsv")
    first = next(line.split() for line in (folder / "b.run").read_text().splitlines())
    (folder / "decisive.txt").write_text(f"{first[0]} {first[2]}\n")
    (folder / ".config" / "fish" / "completions").mkdir(parents=True)
    for name in ("trec8", "robust04", "clueweb10"):
        (folder / name).mkdir()
        shutil.copytree(folder / "runs", folder / name / "runs")
        shutil.copy(folder / "qrels.txt", folder / name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "files"
    make(folder)
    return folder


def environment(home: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": path, "HOME": str(home), "PYTHONIOENCODING": "utf-8"}


def in_pipe(words: list[str], folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout


def run_example(example: str, folder: Path, terminal: bool) -> tuple[int, str]:
    """The status and all that is shown. What asks questions is told to end; what serves a page is ended."""
    ended = f"timeout --preserve-status --signal INT --kill-after 30 5 {example}" if SERVES in example else example
    words = ["bash", "-c", ended]
    if terminal:
        return on_terminal(words, folder, environment(folder), typed=b"q\n" if " judge " in example else b"")
    return in_pipe(words, folder)


def troubles(examples: Sequence[str], made: Path, folder: Path, terminal: bool) -> list[str]:
    """What went wrong with examples that are tried in order in a folder with the files they name. An example that goes
    on with what was begun finds it there; any other begins anew."""
    failed = []
    for i, example in enumerate(examples):
        if i == 0 or (" judge " in example and not re.search(r"--(resume|salvage)\b", example)):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(made, folder)
        if "--resume" in example and not (folder / "fathoms-judging.db").exists():
            run_example(example.replace(" --resume", ""), folder, terminal)  # what it goes on with
        status, shown = run_example(example, folder, terminal)
        if status not in STATUS.get(example.split()[1], {0}) or "Traceback" in shown:
            failed.append(f"{example}\nended with {status}:\n{shown}")
    return failed


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in LONG_COMMANDS])
def test_worked_examples_run_at_a_terminal(command: str, made: Path, tmp_path: Path) -> None:
    failed = troubles(worked_examples(command), made, tmp_path / "files", terminal=True)
    assert not failed, "\n\n".join(failed)


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
@pytest.mark.parametrize("command", COMMANDS)
def test_all_examples_run(command: str, terminal: bool, made: Path, tmp_path: Path) -> None:
    failed = troubles(all_examples(command), made, tmp_path / "files", terminal)
    assert not failed, "\n\n".join(failed)


def test_a_terminal_is_one(tmp_path: Path) -> None:
    """Both ends of it, so that the tests above see what a person sees."""
    asked = "import sys; print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty()); sys.exit(5)"
    assert on_terminal([sys.executable, "-c", asked], tmp_path, os.environ) == (5, "True True True\n")
