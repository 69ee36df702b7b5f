"""Chunks rolled up to documents, against plain loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError
from tests.support.commands import Command

SEPARATORS = ("#", "_", "-chunk-", "::")
# Documents whose own ids have separators and blanks in them, and letters of several bytes.
documents = st.sampled_from(["a", "b", "a_b", "\xfc c", "d#1", "x::y"])
chunk = st.tuples(documents, st.integers(0, 12))
runs = st.dictionaries(
    st.sampled_from(["1", "topic 2"]),
    st.dictionaries(chunk, st.integers(-2, 3), min_size=1, max_size=8),
    min_size=1,
)


# Time is noisy where many tests run at once.
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)


def ids(lists: dict[str, dict[tuple[str, int], Any]], separator: str) -> dict[str, dict[str, Any]]:
    return {t: {f"{doc}{separator}{n}": value for (doc, n), value in docs.items()} for t, docs in lists.items()}


def ranked(run: fm.Run) -> dict[str, list[tuple[str, float]]]:
    """Documents with scores by the rank column, which counts from 1."""
    found: dict[str, list[tuple[float, str, float]]] = {}
    for row in run.to_frame().iter_rows(named=True):
        found.setdefault(row["topic"], []).append((row["rank"], row["document"], row["score"]))
    for docs in found.values():
        assert [rank for rank, *_ in sorted(docs)] == list(range(1, len(docs) + 1))
    return {topic: [(doc, score) for _, doc, score in sorted(docs)] for topic, docs in found.items()}


@relaxed
@given(runs, st.sampled_from(SEPARATORS))
def test_the_best_chunk_counts(lists: dict[str, dict[tuple[str, int], int]], separator: str) -> None:
    rolled = ranked(fm.roll_up(ids(lists, separator), separator=separator))
    for topic, chunks in lists.items():
        best: dict[str, int] = {}
        for (doc, _), score in chunks.items():
            best[doc] = max(best.get(doc, score), score)
        by_bytes = sorted(best, key=lambda doc: doc.encode(), reverse=True)
        assert rolled[topic] == [(doc, best[doc]) for doc in sorted(by_bytes, key=lambda doc: -best[doc])]


@relaxed
@given(runs, st.sampled_from(SEPARATORS), st.sampled_from(["trec", "run"]))
def test_the_first_chunk_counts(lists: dict[str, dict[tuple[str, int], int]], separator: str, ties: Any) -> None:
    rolled = ranked(fm.roll_up(ids(lists, separator), "first", separator=separator, ties=ties))
    for topic, chunks in ids(lists, separator).items():
        order = list(chunks)
        if ties == "trec":
            order = sorted(sorted(order, key=lambda one: one.encode(), reverse=True), key=lambda one: -chunks[one])
        first: dict[str, float] = {}
        for one in order:
            first.setdefault(one.rpartition(separator)[0], chunks[one])
        assert rolled[topic] == list(first.items())


@relaxed
@given(runs, st.sampled_from(SEPARATORS))
def test_judgments_get_the_greatest_grade(lists: dict[str, dict[tuple[str, int], int]], separator: str) -> None:
    qrels = fm.read_qrels(ids(lists, separator))
    rolled = fm.roll_up(qrels, separator=separator)
    for topic, chunks in lists.items():
        best: dict[str, int] = {}
        for (doc, _), grade in chunks.items():
            best[doc] = max(best.get(doc, grade), grade)
        assert rolled.to_dict()[topic] == best


def test_how_the_two_differ() -> None:
    """Under ties: by id, or as the chunks come. Where ranks and not scores order: by score, or as the chunks come."""
    tied = {"1": {"a#1": 2.0, "b#0": 2.0, "a#0": 1.0}}
    assert [doc for doc, _ in ranked(fm.roll_up(tied))["1"]] == ["b", "a"]
    assert [doc for doc, _ in ranked(fm.roll_up(tied, "first", ties="run"))["1"]] == ["a", "b"]
    reranked = {"1": {"a#1": 1.0, "b#0": 3.0}}
    assert [doc for doc, _ in ranked(fm.roll_up(reranked))["1"]] == ["b", "a"]
    in_file_order = fm.roll_up(reranked, "first", ties="run")
    assert ranked(in_file_order)["1"] == [("a", 1.0), ("b", 3.0)]
    assert "read it with --ties rank" in in_file_order.notes[0]
    assert not fm.roll_up({"1": {"a#1": 3.0, "b#0": 1.0}}, "first").notes


def test_ids_without_a_separator_stay() -> None:
    assert fm.roll_up({"1": {"a#1": 3.0, "b": 1.0, "#2": 0.5}}).to_dict() == {"1": {"a": 3.0, "b": 1.0, "#2": 0.5}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"how": "mean"}, "how: expected one of max, first, found 'mean'"),
        ({"separator": ""}, "separator: expected what stands between"),
        ({"separator": "::"}, "no document id has '::' in it, found 'a#1'; name another separator"),
        ({"ties": "expected"}, "roll_up needs one order"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(FathomsError, match=message):
        fm.roll_up({"1": {"a#1": 1.0}}, **options)


def test_convert_rolls_up(fathoms: Command) -> None:
    Path("p.run").write_text("1 Q0 d2_3 1 5 t\n1 Q0 d1_1 2 4 t\n1 Q0 d2_9 3 3 t\n2 Q0 d1_1 1 1 t\n")
    done = fathoms("convert", "p.run", "-o", "d.run", "--roll-up", "max", "--chunk-separator", "_")
    assert done.status == 0
    assert Path("d.run").read_text() == "1 Q0 d2 1 5.0 t\n1 Q0 d1 2 4.0 t\n2 Q0 d1 1 1.0 t\n"
    fathoms("convert", "p.run", "-o", "d.tsv", "--roll-up", "first", "--chunk-separator", "_")
    assert Path("d.tsv").read_text() == "1\td2\t1\n1\td1\t2\n2\td1\t1\n"
    Path("p.qrels").write_text("1 0 d2_3 0\n1 0 d2_9 2\n")
    fathoms("convert", "p.qrels", "-o", "d.qrels", "--roll-up", "max", "--chunk-separator", "_")
    assert Path("d.qrels").read_text() == "1 0 d2 2\n"
    wrong = fathoms("convert", "p.run", "-o", "e.run", "--roll-up", "max")
    assert wrong.status == 2
    assert "no document id has '#' in it, found 'd2_3'" in wrong.err
    assert not Path("e.run").exists()
