"""What changed between two runs: every figure against plain loops, every sentence against the truth."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.inference.rank_overlap import rank_biased_overlap, rbo
from fathoms.questions.diff.score_changes import PARTS
from tests.support.commands import Command
from tests.support.real import collection

Lists = dict[str, list[str]]
# Time is noisy where many tests run at once.
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40)


def scored(lists: Lists) -> dict[str, dict[str, float]]:
    """A run with these rankings."""
    return {topic: {doc: float(len(docs) - i) for i, doc in enumerate(docs)} for topic, docs in lists.items()}


def diff(a: Lists, b: Lists, qrels: Any = None, **options: Any) -> Any:
    return fm.diff(scored(a), scored(b), qrels, **options)


def row(found: Any, topic: str) -> dict[str, Any]:
    return found.frame.row(by_predicate=pl.col("topic") == topic, named=True)


rankings = st.permutations("abcdefgh").flatmap(lambda docs: st.integers(1, 8).map(lambda n: list(docs[:n])))
some_lists = st.dictionaries(st.sampled_from(["1", "2", "3"]), rankings, min_size=1)


# -- rank-biased overlap -------------------------------------------------------------------------------------------


def by_depth(x: list[str], y: list[str], p: float, depth: int = 200) -> float:
    """RBO of long lists by its definition, cut where nothing is left to see."""
    seen_x: set[str] = set()
    seen_y: set[str] = set()
    total = 0.0
    for d in range(1, depth + 1):
        seen_x |= set(x[d - 1 : d])
        seen_y |= set(y[d - 1 : d])
        total += (1 - p) * p ** (d - 1) * len(seen_x & seen_y) / d
    return total


def bounds(x: list[str], y: list[str], p: float) -> tuple[float, float, float]:
    shared = [max(x.index(doc), y.index(doc)) + 1 for doc in x if doc in y]
    found = rank_biased_overlap(
        np.zeros(len(shared), dtype=np.int64),
        np.array(shared, dtype=np.int64),
        np.array([len(x)]),
        np.array([len(y)]),
        p,
    )
    return float(found.ext[0]), float(found.min[0]), float(found.max[0])


@given(rankings, rankings, st.sampled_from([0.3, 0.8, 0.9]))
@relaxed
def test_extrapolated_rbo_is_that_of_the_other_function(x: list[str], y: list[str], p: float) -> None:
    extrapolated, low, high = bounds(x, y, p)
    assert extrapolated == pytest.approx(rbo(x, y, p).ext, abs=1e-9)
    assert low <= extrapolated <= high


@pytest.mark.long
@given(rankings, rankings, st.sampled_from([0.3, 0.7]), st.randoms())
@relaxed
def test_no_continuation_leaves_the_bounds_of_rbo(x: list[str], y: list[str], p: float, random: Any) -> None:
    _, low, high = bounds(x, y, p)
    more = [str(i) for i in range(90)]

    def continued(docs: list[str], others: list[str]) -> list[str]:
        tail = [d for d in others if d not in docs] + [d for d in more if random.random() < 0.8]
        random.shuffle(tail)
        return docs + tail

    value = by_depth(continued(x, y), continued(y, x), p)
    assert low - 1e-9 <= value <= high + 1e-9


@given(rankings, rankings, st.sampled_from([0.3, 0.7]))
@relaxed
def test_the_bounds_of_rbo_are_reached(x: list[str], y: list[str], p: float) -> None:
    _, low, high = bounds(x, y, p)
    apart = by_depth(x + [f"x{i}" for i in range(200)], y + [f"y{i}" for i in range(200)], p)
    assert low == pytest.approx(apart, abs=1e-9)
    # The shorter one goes on with what only the longer one has, in its order; then each shows what it lacks.
    short, long = (x, y) if len(x) <= len(y) else (y, x)
    missing = [d for d in long if d not in short]
    grown = short + missing[: len(long) - len(short)]
    tails = [d for d in long if d not in grown], [d for d in grown if d not in long]
    common = [f"z{i}" for i in range(300)]
    assert high == pytest.approx(by_depth(grown + tails[0] + common, long + tails[1] + common, p), abs=1e-9)


# -- rankings ------------------------------------------------------------------------------------------------------


@pytest.mark.long
@given(some_lists, some_lists, st.integers(1, 9))
@relaxed
def test_changes_are_those_of_a_plain_loop(a: Lists, b: Lists, k: int) -> None:
    assume({*a} & {*b})  # runs on different topics are refused
    found = diff(a, b, depth=k)
    for topic in {*a, *b}:
        x, y = a.get(topic, []), b.get(topic, [])
        top_x, top_y = x[:k], y[:k]
        one = row(found, topic)
        assert one["overlap"] == pytest.approx(len({*top_x} & {*top_y}) / max(len(top_x), len(top_y)))
        assert one["overlap_all"] == pytest.approx(len({*x} & {*y}) / max(len(x), len(y)))
        assert one["gained"] == len({*top_y} - {*top_x})
        assert one["new"] == len({*top_y} - {*x})
        assert one["lost"] == len({*top_x} - {*top_y})
        assert one["gone"] == len({*top_x} - {*y})
        shifts = [x.index(d) - y.index(d) for d in {*x} & {*y} if d in top_x or d in top_y]
        assert one["mean_shift"] == (pytest.approx(np.mean(np.abs(shifts))) if shifts else None)
        assert one["largest_rise"] == max([0, *shifts])
        assert one["largest_fall"] == max([0, *(-s for s in shifts)])
        assert (one["rbo"] is None) == (not x or not y)
        if x and y:
            assert (one["rbo"], one["rbo_min"], one["rbo_max"]) == pytest.approx(bounds(x, y, 0.9), abs=1e-9)
    both = [row(found, topic) for topic in {*a} & {*b}]
    everything = row(found, "all")
    assert everything["gained"] == sum(row(found, topic)["gained"] for topic in {*a, *b})
    assert everything["overlap"] == (pytest.approx(np.mean([one["overlap"] for one in both])) if both else None)
    changed = sum(a.get(topic, [])[:k] != b.get(topic, [])[:k] for topic in {*a, *b})
    total = len({*a, *b})
    topics = f"{total} topic{'s' if total > 1 else ''}"
    if changed:
        assert found.sentences[0].startswith(f"B changes the first {k} in {changed} of {topics}")
        moved = sum({*a.get(t, [])[:k]} == {*b.get(t, [])[:k]} and a[t][:k] != b[t][:k] for t in {*a, *b})
        assert ("order only" in found.sentences[0]) == (moved > 0)
    else:
        assert found.sentences[0] == (
            f"B has the same first {k} as A in {f'all {topics}' if total > 1 else 'the only topic'}."
        )
        assert found.sentences[1].startswith("The runs rank the same" if a == b else "They differ further down")
    alone = " ".join(found.sentences)
    assert ("Only A answers" in alone) == bool({*a} - {*b})
    assert ("Only B answers" in alone) == bool({*b} - {*a})


def test_most_changed_topics_come_first() -> None:
    a = {"1": list("abcd"), "2": list("abcd"), "3": list("abcd"), "4": list("abcd")}
    b = {"1": list("abcd"), "2": list("abxy"), "3": list("badc"), "4": list("wxyz")}
    assert diff(a, b, depth=4).frame["topic"].to_list() == ["4", "2", "3", "1", "all"]


def test_documents_side_by_side() -> None:
    found = diff({"1": list("abcd")}, {"1": list("caxb")}, {"1": {"a": 2, "c": 0}}, depth=2)
    table = found.topic_frame("1").select("document", "change", "rank_a", "rank_b", "shift", "grade").rows()
    assert table == [
        ("c", "gained", 3, 1, 2, 0.0),
        ("a", "down", 1, 2, -1, 2.0),
        ("b", "lost", 2, 4, -2, None),
        ("x", "deeper", None, 3, None, None),
        ("d", "deeper", 4, None, None, None),
    ]
    assert found.documents["document"].to_list() == ["c", "a", "b"]
    with pytest.raises(FathomsError, match="topic '7' is in neither run; they have 1"):
        found.topic_frame("7")


# -- with judgments ------------------------------------------------------------------------------------------------

judgments = st.dictionaries(
    st.sampled_from(["1", "2", "3"]), st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1)
).filter(bool)
MEASURES = ["P@3", "nDCG@4", "RBP(p=0.8)", "AP", "DCG@5", "RR"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")
@given(some_lists, some_lists, judgments, st.integers(1, 5))
@relaxed
def test_scores_and_their_parts(a: Lists, b: Lists, qrels: dict[str, dict[str, int]], k: int) -> None:
    assume({*a} & {*b} and {*a} & {*qrels} and {*b} & {*qrels})
    found = diff(a, b, qrels, measures=MEASURES, depth=k)
    exp = fm.Experiment(qrels, {"A": scored(a), "B": scored(b)})
    exp.warn = False
    true = {
        (r["run"], r["topic"], r["measure"]): r["score"]
        for r in exp.evaluate(MEASURES, by_topic=True).frame.rows(named=True)
    }
    compared = {r["measure"]: r for r in exp.compare(MEASURES, draws=0).frame.rows(named=True)}
    for one in found.scores.rows(named=True):
        topic, measure = one["topic"], one["measure"]
        before, after = true["A", topic, measure], true["B", topic, measure]
        assert (one["score_a"], one["score_b"]) == pytest.approx((before, after))
        assert one["diff"] == pytest.approx(after - before)
        parts = [one[f"from_{part}"] for part in PARTS]
        if measure in ("AP", "RR"):
            assert parts == [None] * 4
        else:
            assert sum(parts) == pytest.approx(after - before)
            if topic != "all" and measure in ("P@3", "RBP(p=0.8)"):
                assert parts == pytest.approx(plain_parts(a.get(topic, []), b.get(topic, []), qrels[topic], k, measure))
        if topic == "all":
            pair = compared[measure]
            assert (one["diff_low"], one["diff_high"]) == pytest.approx((-pair["diff_high"], -pair["diff_low"]))
    counted = {word: [0, 0, 0] for word in ("gained", "lost")}
    for topic in {*a, *b}:
        top_a, top_b = {*a.get(topic, [])[:k]}, {*b.get(topic, [])[:k]}
        for word, docs in (("gained", top_b - top_a), ("lost", top_a - top_b)):
            for doc in docs:
                grade = qrels.get(topic, {}).get(doc)
                counted[word][2 if grade is None else 1 if grade < 1 else 0] += 1
    everything = row(found, "all")
    for word, numbers in counted.items():
        kinds = ("relevant", "nonrelevant", "unjudged")
        assert [everything[f"{word}_{kind}"] for kind in kinds] == numbers


def plain_parts(x: list[str], y: list[str], grades: dict[str, int], k: int, measure: str) -> list[float]:
    def weight(docs: list[str], doc: str) -> float:
        if doc not in docs:
            return 0.0
        rank = docs.index(doc)
        return float(rank < 3) / 3 if measure == "P@3" else 0.2 * 0.8**rank

    parts = dict.fromkeys(PARTS, 0.0)
    for doc in {*x, *y}:
        change = (weight(y, doc) - weight(x, doc)) * (grades.get(doc, 0) >= 1)
        inside = doc in x[:k], doc in y[:k]
        parts[{(0, 1): "gained", (1, 0): "lost", (1, 1): "moved", (0, 0): "deeper"}[inside]] += change
    return list(parts.values())


CASES = {
    # B's first two are relevant and A's are not: nothing left to judge.
    "better by P@2 on these topics, and no judging of their documents": (
        ["n", "m"],
        ["r", "s"],
        {"r": 1, "s": 1, "n": 0, "m": 0},
    ),
    "worse by P@2 on these topics, and no judging of their documents": (
        ["r", "s"],
        ["n", "m"],
        {"r": 1, "s": 1, "n": 0, "m": 0},
    ),
    # One of A's is relevant; both of B's are unjudged.
    "whether that is better by P@2 cannot be said yet": (["r", "n"], ["u", "v"], {"r": 1, "n": 0}),
    # A has one relevant document and B one unjudged: equal at best.
    "worse by P@2 as judged; judging may make them equal": (["r", "n"], ["u", "n"], {"r": 1, "n": 0}),
    "better by P@2 as judged; judging may make them equal": (["u", "n"], ["r", "n"], {"r": 1, "n": 0}),
    "as good as before by P@2 as judged, which judging may change": (["n", "m"], ["u", "m"], {"n": 0, "m": 0}),
    "no difference by P@2 on any judged topic, however documents are judged.": (
        ["n", "m"],
        ["m", "n"],
        {"n": 0, "m": 0, "r": 1},
    ),
}


@pytest.mark.parametrize("words", CASES)
def test_the_first_sentence_is_true(words: str) -> None:
    a, b, grades = CASES[words]
    found = diff({"1": a}, {"1": b}, {"1": grades}, measures="P@2", depth=2)
    assert words in found.sentences[0]
    unjudged = sorted({*a, *b} - {*grades})

    def p2(docs: list[str], judged: dict[str, int]) -> float:
        return sum(judged.get(doc, 0) for doc in docs[:2]) / 2

    signs = set()
    for extra in product((0, 1), repeat=len(unjudged)):
        judged = grades | dict(zip(unjudged, extra, strict=True))
        signs.add(np.sign(p2(b, judged) - p2(a, judged)))
    if "no judging" in words:
        assert signs == {1.0 if words.startswith("better") else -1.0}
    elif "cannot be said" in words:
        assert {-1.0, 1.0} <= signs
    elif "make them equal" in words:
        assert 0.0 in signs
        assert len(signs) == 2
    elif "may change" in words:
        assert len(signs) > 1
    else:
        assert signs == {0.0}


def test_the_first_sentence_goes_by_a_measure_that_sees_the_change() -> None:
    a, b, grades = {"1": ["r", "n"]}, {"1": ["n", "r"]}, {"1": {"r": 1, "n": 0}}
    for measures in (None, ["P@2", "nDCG@2"]):
        found = diff(a, b, grades, measures=measures, depth=2)
        assert "the order only: worse by nDCG@2 on these topics" in found.sentences[0]
    cancelled = diff(a | {"2": ["n", "r"]}, b | {"2": ["r", "n"]}, grades | {"2": grades["1"]}, depth=2)
    assert "as good as before on average by nDCG@2" in cancelled.sentences[0]


def test_averages_say_which_topics_they_leave_out() -> None:
    with pytest.warns(fm.FathomsWarning, match="B lacks 2"):
        found = diff({"1": ["a"], "2": ["a"]}, {"1": ["a"]}, {"1": {"a": 1}, "2": {"a": 1}}, measures="P@1", depth=1)
    assert any("On average, over the 1 topic that both answer, the runs share 100%" in s for s in found.sentences)
    assert any("; from lost documents -0.5000" in s for s in found.sentences)
    assert any("nothing that the two runs have there is unjudged" in s for s in found.sentences)
    same = diff({"1": ["a"], "2": ["a"]}, {"1": ["a"], "2": ["a"]})
    assert same.sentences[0] == "B has the same first 10 as A in all 2 topics."


def test_what_ties_decide_is_said() -> None:
    qrels = {"1": {"r": 1, "n": 0}}
    found = fm.diff({"1": {"n": 3.0, "r": 2.0}}, {"1": {"r": 2.0, "n": 2.0}}, qrels, "P@1", depth=1)
    assert "better by P@1, but that depends on the tie-breaking rule" in found.sentences[0]
    assert any(s.startswith("Equal scores on both sides of rank 1: B in 1 topic") for s in found.sentences)
    assert (
        fm.diff({"1": {"n": 3.0, "r": 2.0}}, {"1": {"r": 2.0, "n": 2.0}}, qrels, "P@1", depth=1, ties="run").frame[
            "overlap"
        ][0]
        == 0
    )
    with pytest.raises(FathomsError, match="diff needs one order"):
        fm.diff({"1": {"a": 1.0}}, {"1": {"b": 1.0}}, ties="expected")


def test_topics_without_judgments_change_but_are_not_scored() -> None:
    with pytest.warns(fm.FathomsWarning, match="topics not in"):
        found = diff({"1": ["a"], "9": ["a"]}, {"1": ["a"], "9": ["b"]}, {"1": {"a": 1}}, measures="P@1", depth=1)
    assert found.scores["topic"].to_list() == ["1", "all"]
    assert found.frame["topic"].to_list() == ["9", "1", "all"]
    assert row(found, "all")["gained_unjudged"] == 1


def test_measures_need_judgments_and_diff_two_runs() -> None:
    with pytest.raises(FathomsError, match="measures need judgments"):
        diff({"1": ["a"]}, {"1": ["b"]}, measures="AP")
    runs = {name: scored({"1": ["a"]}) for name in "xyz"}
    with pytest.raises(FathomsError, match="diff takes two runs, found 3: x, y, z"):
        fm.Experiment(None, runs).diff()
    with pytest.raises(FathomsError, match="'w' is not among the runs: x, y, z"):
        fm.Experiment(None, runs).diff("x", "w")
    with pytest.raises(FathomsError, match="both are x"):
        fm.Experiment(None, runs).diff("x", "x")
    assert fm.Experiment(None, runs).diff("z", "x").run_a == "z"


def test_chart_has_the_counts() -> None:
    found = diff(
        {"1": list("abc"), "2": list("abc")},
        {"1": list("xyc"), "2": list("abx")},
        {"1": {"x": 1, "a": 0}, "2": {"a": 1}},
        depth=3,
    )
    rows = found.chart().to_dict()["datasets"]
    drawn = [one for data in rows.values() for one in data if "kind" in one]
    of_first = {(one["kind"], one["stop"] > 0): abs(one["stop"] - one["start"]) for one in drawn if one["topic"] == "1"}
    assert of_first == {
        ("relevant", True): 1,
        ("unjudged", True): 1,
        ("not relevant", False): 1,
        ("unjudged", False): 1,
    }


# -- the command ---------------------------------------------------------------------------------------------------


def test_the_command(fathoms: Command, tmp_path: Path) -> None:
    Path("a.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 a 1 1 t\n")
    Path("b.run").write_text("1 Q0 b 1 3 t\n1 Q0 \xfc 2 2 t\n2 Q0 a 1 1 t\n", encoding="utf-8")
    done = fathoms("diff", "a.run", "b.run", "--depth", "2")
    assert done.status == 0
    assert done.out.startswith("b changes the first 2 in 1 of 2 topics: 1 document gained, 1 lost; whether that is")
    assert "\n--topic 1 shows the most changed topic in full\n" in done.out
    rows = json.loads(fathoms("diff", "a.run", "b.run", "--depth", "2", "--format", "json").out)
    assert [one["topic"] for one in rows] == ["1", "2", "all"]
    Path("j.txt").write_text("1 0 b 1\n")
    tsv = fathoms("diff", "j.txt", "a.run", "b.run", "-m", "P@1", "--show", "scores", "--format", "tsv").out
    assert tsv.splitlines()[1].split("\t")[:5] == ["1", "P@1", "0.0", "1.0", "1.0"]
    old = fathoms("diff", "a.run", "b.run", "--qrels", "j.txt", "-m", "P@1", "--show", "scores", "--format", "tsv")
    assert (old.out, "give the judgments first" in old.err) == (tsv, True)
    assert fathoms("diff", "j.txt", "a.run", "b.run", "--qrels", "j.txt").status == 2
    Path("docs.tsv").write_text("b\tbees\x1b[2J and honey\n")
    shown = fathoms("diff", "a.run", "b.run", "--topic", "1", "--docs", "docs.tsv", "--depth", "2").out
    assert "bees\N{REPLACEMENT CHARACTER}[2J and honey" in shown
    assert "(no text)" in shown
    # Of two documents, the lost one is unjudged, and the gained one too once its grade is gone.
    for judged, unjudged in (("1 0 \xfc 1\n", "1"), ("1 0 b 1\n", "2")):
        Path("j2.txt").write_text(judged, encoding="utf-8")
        lines = fathoms("diff", "j2.txt", "a.run", "b.run", "--depth", "2", "-m", "P@2").out.splitlines()
        names = next(line.split() for line in lines if line.startswith("topic"))
        cells = next(line.split() for line in lines if line.startswith("all "))
        assert cells[names.index("unjudged")] == unjudged
    fathoms("diff", "a.run", "b.run", "--topic", "1", "--format", "parquet", "-o", "t.parquet")
    assert pl.read_parquet("t.parquet")["document"].to_list() == ["b", "a", "\xfc"]
    fathoms("diff", "a.run", "b.run", "-o", "c.svg", "--quiet")
    assert Path("c.svg").read_text().startswith("<svg")


def test_awkward_topics(fathoms: Command) -> None:
    for name, documents in (("a.csv", "xy"), ("b.csv", "yx")):
        rows = [f"{topic},{doc},{2 - i}" for topic in ("star wars", '"two\nlines"') for i, doc in enumerate(documents)]
        Path(name).write_text("\n".join(["topic,document,score", *rows]) + "\n")
    done = fathoms("diff", "a.csv", "b.csv")
    assert "--topic 'star wars' shows the most changed topic in full" in done.out
    heading = fathoms("diff", "a.csv", "b.csv", "--topic", "two\nlines").out.splitlines()[0]
    assert heading.startswith("Topic two\\nlines: the first 10")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("diff a.run a.run", "a.run is given twice; diff takes two runs"),
        ("diff a.run ./a.run", "a.run and ./a.run are the same file; diff takes two runs"),
        ("diff a.run nope", "nope: no such file or folder"),
        ("diff a.run b.run --topic 8", "topic '8' is in neither run; they have 1"),
        ("diff a.run b.run --docs x", "--docs has the texts for --topic T"),
        ("diff a.run b.run -m AP", "measures need judgments"),
        ("diff a.run b.run -p 1", "expected a number between 0 and 1, found '1'"),
        ("diff a.run b.run --depth 0", "expected a whole number from 1 on"),
    ],
)
def test_bad_words(fathoms: Command, words: str, message: str) -> None:
    Path("a.run").write_text("1 Q0 a 1 3 t\n")
    Path("b.run").write_text("1 Q0 b 1 3 t\n")
    done = fathoms(*words.split())
    assert done.status == 2
    assert message in done.err


def test_real_runs_differ_as_compare_says() -> None:
    folder = collection("trec8-adhoc")
    files = sorted((folder / "runs").iterdir())[:2]
    exp = fm.Experiment(folder / "qrels.txt", files)
    exp.warn = False
    found, compared = exp.diff(measures=["P@10", "nDCG@10"]), exp.compare(["P@10", "nDCG@10"], draws=0).frame
    everything = found.scores.filter(pl.col("topic") == "all")
    assert everything["diff"].to_list() == pytest.approx((-compared["diff"]).to_list())
    assert everything["diff_low"].to_list() == pytest.approx((-compared["diff_high"]).to_list())
    assert sum(everything[f"from_{part}"][0] for part in PARTS) == pytest.approx(everything["diff"][0])


# -- the report ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_report_shows_both_rankings(tmp_path: Path) -> None:
    a, b = ["<i>1", "x2", "x3"], ["x4", "<i>1", "x3"]
    runs = {"old & slow": scored({"1": a, "2": a}), "new": scored({"1": b, "2": a})}
    docs, topics, page = tmp_path / "docs.jsonl", tmp_path / "topics.tsv", tmp_path / "report.html"
    docs.write_text(
        '{"_id": "x4", "text": "<script>alert(1)</script> dams in rivers"}\n{"_id": "x2", "text": "none"}\n'
    )
    topics.write_text("1\tdams & floods\n")
    qrels = {"1": {"<i>1": 1, "x2": 0}, "2": {"x3": 1}}
    fm.report(qrels, runs, page, "P@2", diff=("old & slow", "new"), docs=docs, topic_texts=topics)
    html = page.read_text()
    section = html.split('<section id="changes">')[1].split("</section>")[0]
    assert "What changed from old &amp; slow to new" in section
    assert "new changes the first 10 in 1 of 2 topics" in section
    assert "Topic 1: dams &amp; floods (1 gained, 1 lost)" in section
    assert "Topic 2" not in section  # nothing changed there
    assert "&lt;script&gt;alert(1)&lt;/script&gt; <mark>dams</mark> in rivers" in section
    assert "<script>alert" not in html
    left, right = section.split('<div class="rankings">')[1].split("<h4>B:")
    items = [part.split("</li>")[0] for part in left.split("<li ")[1:]]
    assert [item.split('class="')[1].split('"')[0] for item in items] == ["moved", "lost", "same"]
    assert "down 1" in items[0]
    assert "grade 1" in items[0]
    assert "lost, not in B" in items[1]
    items = [part.split("</li>")[0] for part in right.split("<li ")[1:]]
    assert [item.split('class="')[1].split('"')[0] for item in items] == ["gained", "moved", "same"]
    assert "unjudged" in items[0]
    assert "gained, not in A" in items[0]
    fm.report(qrels, runs, page, "P@2")
    assert 'id="changes"' not in page.read_text()


@pytest.mark.long
def test_the_report_names_its_command(fathoms: Command) -> None:
    Path("b.run").write_text("1 Q0 x 1 3 t\n2 Q0 a 1 1 t\n")
    done = fathoms("report", "qrels.txt", "good.run", "b.run", "-m", "P@2", "--diff", "good", "b.run", "-o", "r.html")
    assert done.status == 0
    assert "--diff good b.run" in Path("r.html").read_text()
