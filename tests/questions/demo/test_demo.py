"""The demo: everything it prints against a truth computed here, on many collections."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.base import charts
from fathoms.questions.demo.command import narrative
from fathoms.reporting.demo import Demo, demonstrate
from tests.support.commands import status as run

SEEDS = 20


def judged_with(demo: Demo, runs: list[str]) -> pl.DataFrame:
    """The first judgments and the truth of all documents of these runs."""
    qrels, truth = demo.collection.qrels, demo.collection.truth
    documents = pl.concat([demo.collection.runs[run].select("topic", "doc") for run in runs]).unique()
    added = truth.join(documents, on=["topic", "doc"]).join(qrels, on=["topic", "doc"], how="anti")
    return pl.concat([qrels, added.select(qrels.columns)])


def ap(qrels: object, demo: Demo, runs: list[str] | None = None) -> dict[str, float]:
    chosen = {name: demo.collection.runs[name] for name in runs or demo.collection.runs}
    frame = fm.evaluate(qrels, chosen, "AP")
    return dict(zip(frame["run"], frame["score"], strict=True))


def tau(a: dict[str, float], b: dict[str, float]) -> float:
    pairs = list(combinations(a, 2))
    return float(sum(np.sign(a[x] - a[y]) * np.sign(b[x] - b[y]) for x, y in pairs) / len(pairs))


def places(scores: dict[str, float]) -> dict[str, int]:
    return {run: 1 + sum(other > score for other in scores.values()) for run, score in scores.items()}


@pytest.fixture(scope="module", params=range(SEEDS))
def demo(request: pytest.FixtureRequest) -> Demo:
    return demonstrate(request.param, 25, systems=6, n_topics=8, n_docs=300, depth=30)


@pytest.fixture(scope="module")
def said(demo: Demo) -> str:
    """The text with its lines joined, and tables left as they are."""
    return " ".join(narrative(demo).split())


@pytest.fixture(scope="module")
def truth(demo: Demo) -> dict[str, float]:
    return ap(judged_with(demo, list(demo.collection.runs)), demo)


def pool_of(demo: Demo, depth: int) -> pl.DataFrame:
    """The first documents of the contributing runs, in the order of trec_eval: by score, then by id, from the last."""
    runs = [demo.collection.runs[name].sort("score", "doc", descending=True) for name in demo.collection.pooled]
    return pl.concat([frame.group_by("topic").head(depth).select("topic", "doc") for frame in runs]).unique()


def found(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match.groups()


def table(demo: Demo, first: str) -> dict[str, list[float]]:
    """Rows of the table whose header begins like this, by run."""
    lines = narrative(demo).splitlines()
    at = next(i for i, line in enumerate(lines) if re.match(first, line))
    rows = [line.split() for line in lines[at + 1 : at + 1 + len(demo.runs)]]
    return {row[0]: [float(value) for value in row[1:]] for row in rows}


@pytest.mark.long
def test_the_collection_is_described(demo: Demo, said: str) -> None:
    runs, pooled = demo.collection.runs, demo.collection.pooled
    documents = pl.concat([frame.select("topic", "doc") for frame in runs.values()]).unique()
    judgments, retrieved = found(r"are judged: ([\d,]+) judgments, while the runs retrieved ([\d,]+) documents", said)
    assert int(judgments.replace(",", "")) == len(demo.collection.qrels)
    assert int(retrieved.replace(",", "")) == len(documents)
    top = pool_of(demo, 5)
    assert len(top.join(demo.collection.qrels, on=["topic", "doc"], how="anti")) == 0
    assert len(demo.collection.qrels.join(top, on=["topic", "doc"], how="anti")) == 0
    assert f"first 5 documents of {len(pooled)} runs ({', '.join(pooled)}) are judged" in said


def test_truths_are_inside_their_ranges(demo: Demo, said: str, truth: dict[str, float]) -> None:
    seen, true = places(ap(demo.collection.qrels, demo)), places(truth)
    rows = table(demo, r"run +place +AP ")
    assert list(rows) == sorted(rows, key=lambda name: seen[name])
    for name, (place, _, low, high, shown, true_place) in rows.items():
        assert low <= shown <= high
        assert shown == pytest.approx(truth[name], abs=5.1e-5)
        assert (place, true_place) == (seen[name], true[name])
    complete = ap(demo.collection.truth, demo)
    below = sum(complete[name] < row[2] - 5e-5 for name, row in rows.items())
    documents = pl.concat([frame.select("topic", "doc") for frame in demo.collection.runs.values()]).unique()
    relevant = demo.collection.truth.filter(pl.col("grade") > 0).join(documents, on=["topic", "doc"], how="anti")
    number, low_text, high_text, rest = found(
        r"No run retrieved another ([\d,]+) relevant documents?\. .* AP would be (\S+) to (\S+), and (.*?)\. K", said
    )
    assert int(number.replace(",", "")) == len(relevant)
    assert (low_text, high_text) == (f"{min(complete.values()):.4f}", f"{max(complete.values()):.4f}")
    assert rest == (f"{below} of 6 would then be below low" if below else "all would still be in their ranges")
    assert found(r"order by score and the true one is (-?\d\.\d\d)", said) == (
        f"{tau(ap(demo.collection.qrels, demo), truth):.2f}",
    )


@pytest.mark.long
def test_claims_are_counted_against_the_truth_of_their_two_systems(demo: Demo, said: str) -> None:
    right: dict[str, list[bool]] = {}
    made = demo.collection
    for pair in fm.Experiment(made.qrels, made.runs, pooled=made.pooled, groups=made.groups).compare("AP").pairs:
        then = ap(judged_with(demo, [pair.run_a, pair.run_b]), demo, [pair.run_a, pair.run_b])
        difference = then[pair.run_a] - then[pair.run_b]
        right.setdefault(pair.verdict, []).append(pair.diff * difference > 0)
        assert pair.diff_low is not None
        assert pair.diff_high is not None
        assert pair.diff_low - 1e-9 <= difference <= pair.diff_high + 1e-9
    assert all(right.get("certain", []))
    assert ("No pair is certain" in said) == ("certain" not in right)
    counted = re.findall(r"(\d+) of (\d+) (certain|supported|fragile|open) pairs", said)
    assert {verdict: (int(a), int(b)) for a, b, verdict in counted} == {
        verdict: (sum(found), len(found)) for verdict, found in right.items() if verdict != "tie"
    }


def test_systems_that_did_not_contribute(demo: Demo, said: str, truth: dict[str, float]) -> None:
    seen, true = places(ap(demo.collection.qrels, demo)), places(truth)
    outside = [name for name in demo.collection.runs if name not in demo.collection.pooled]
    higher, lower = sum(true[n] < seen[n] for n in outside), sum(true[n] > seen[n] for n in outside)
    assert (
        f"of {len(outside)} runs that did not contribute, {higher} belong higher in the ranking than their scores "
        f"put them, {lower} lower."
    ) in said


def test_a_deeper_pool_finds_more_where_the_audit_says_so(demo: Demo, said: str) -> None:
    """`probably many more` of the pool of depth 5: against one of depth 10 by the same runs."""
    if "a deeper pool would probably find many more" not in said:
        return
    relevant = demo.collection.truth.filter(pl.col("grade") > 0)
    sizes = [len(pool_of(demo, depth).join(relevant, on=["topic", "doc"])) for depth in (5, 10)]
    assert sizes[1] > 1.1 * sizes[0]


def test_settled_pairs_are_counted_and_held_against_the_truth(demo: Demo, said: str, truth: dict[str, float]) -> None:
    numbers = found(
        r"so far (\d+) of 15 pairs are settled, (\d+) the true way round\. .* most informative of ([\d,]+) unjudged "
        r"documents: after (\d+) of them (\d+) are settled, (\d+) the true way round\. The same number judged in "
        r"the order of a pool settles (\d+), (\d+) the true way round",
        said,
    )
    start, start_right, unjudged, made, after, after_right, pool, pool_right = (
        int(number.replace(",", "")) for number in numbers
    )
    assert unjudged == demo.documents - len(demo.collection.qrels)
    assert made <= 25
    for outcome, settled, right in (
        (demo.start, start, start_right),
        (demo.judged, after, after_right),
        (demo.pooled, pool, pool_right),
    ):
        assert 0 <= right <= settled <= 15
        # A settled pair is in the order of the expected values, so those in the true order are no fewer.
        expected = dict(zip(demo.runs, outcome.expected.tolist(), strict=True))
        agree = sum((expected[a] - expected[b]) * (truth[a] - truth[b]) > 0 for a, b in combinations(truth, 2))
        assert right <= agree
        assert settled - right <= 15 - agree
    grades = {(topic, doc): grade for topic, doc, grade in demo.collection.truth.iter_rows()}
    for outcome in (demo.judged, demo.pooled):
        lines = [line.split() for line in outcome.qrels.to_text().splitlines()]
        assert len(lines) == len({(topic, doc) for topic, _, doc, _ in lines}) == len(demo.qrels) + made
        assert all(grades[topic, doc] == int(grade) for topic, _, doc, grade in lines)


def test_before_and_after_are_the_same_quantities(demo: Demo, said: str, truth: dict[str, float]) -> None:
    rows = table(demo, r"run +score +score after")
    before, after = ap(demo.collection.qrels, demo), ap(demo.judged.qrels, demo)
    assert list(rows) == sorted(rows, key=lambda name: -truth[name])
    for name, row in rows.items():
        assert [row[0], row[1], row[4]] == pytest.approx([before[name], after[name], truth[name]], abs=5.1e-5)
        place = list(demo.runs).index(name)
        assert row[2:4] == pytest.approx([demo.start.expected[place], demo.judged.expected[place]], abs=5.1e-5)
    expected = [dict(zip(demo.runs, o.expected.tolist(), strict=True)) for o in (demo.start, demo.judged)]
    shown = found(
        r"of the scores (\S+) before and (\S+) after, of the expected values (\S+) before and (\S+) after\.", said
    )
    assert shown == tuple(f"{tau(scores, truth):.2f}" for scores in (before, after, *expected))


def test_no_word_has_two_meanings(demo: Demo, said: str) -> None:
    """Pairs are open for `compare` only, and settled for judging only."""
    claims, judging = (
        found(r"3\. What can be claimed (.*) 4\. Can", said)[0],
        found(r"5\. Judging (.*) 6\. AP", said)[0],
    )
    assert "settle" not in claims
    assert "open" not in judging


@pytest.mark.long
def test_the_demo_stops_when_all_is_settled() -> None:
    found = demonstrate(seed=9, budget=1000)
    assert found.judged.made < 1000
    assert found.judged.settled == 28


@pytest.mark.long
def test_the_demo_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)  # the extra is not needed
    folder = tmp_path / "demo"
    for _ in range(2):  # a second time into the same folder
        assert run("demo", "-o", str(folder), "--budget", "20") == 0
        out, err = capsys.readouterr()
        assert str(folder / "report.html") in out
        assert "pip install" in err
    assert "<svg" not in (folder / "report.html").read_text(encoding="utf-8")
    assert (
        len((folder / "judged.txt").read_text().splitlines())
        == len((folder / "qrels.txt").read_text().splitlines()) + 20
    )
    assert run("demo", "-o", str(tmp_path)) == 2
    assert "is not a demo" in capsys.readouterr().err


@pytest.mark.long
def test_the_report_of_the_last_command_has_the_scores_that_were_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its best run is the one of the column `score after`."""
    monkeypatch.setattr(charts, "available", lambda: False)
    folder = tmp_path / "demo"
    assert run("demo", "-o", str(folder), "--budget", "20", "--quiet") == 0
    out = capsys.readouterr().out
    words = next(line for line in out.splitlines() if line.startswith("fathoms report")).split()[1:]
    after = {
        row.split()[0]: row.split()[2] for row in re.split(r"run +score +score after.*\n", out)[1].splitlines()[:8]
    }
    assert run(*words[:-1], str(tmp_path / "after.html"), "--quiet") == 0
    text = (tmp_path / "after.html").read_text(encoding="utf-8")
    best = max(after, key=lambda name: float(after[name]))
    assert re.search(rf"On 20 topics, {best}\b[^.]* the highest AP of the 8 runs, {after[best]} with", text)
