"""Ids that look wrong, documents outside the corpus, leaks from training: what `check` says, and when it is silent."""

from __future__ import annotations

import gzip
import json
import random
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.data.corpus_ids import read_corpus_ids
from fathoms.data.keys import document_keys
from tests.support.commands import Command
from tests.support.real import collection

Scores = dict[str, dict[str, float]]


def found(qrels: Any, run: Any, **options: Any) -> list[tuple[str, str]]:
    return [(one.level, one.message) for one in fm.check(qrels, {"x": run}, **options).findings]


def saying(words: str, findings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [one for one in findings if words in one[1]]


def retrieved(ids: list[str], topics: int = 4) -> Scores:
    return {str(t): {one: float(len(ids) - i) for i, one in enumerate(ids)} for t in range(topics)}


def judged(ids: list[str], topics: int = 4) -> dict[str, dict[str, int]]:
    return {str(t): {one: i % 2 for i, one in enumerate(ids)} for t in range(topics)}


# -- ids that match once written another way ---------------------------------------------------------------------------

PLAIN = [str(n) for n in range(1, 31)]
TITLES = ["caf\xe9", "\xfcber", "na\xefve", "r\xe9sum\xe9"]
RULES: dict[str, tuple[list[str], list[str], str]] = {
    "case": (["Doc-A", "Doc-B", "Doc-C"], ["doc-a", "doc-b", "doc-c"], "without regard to case"),
    "prefix of the run": ([f"doc_{n}" for n in PLAIN], PLAIN, "without 'doc_' in the run's ids"),
    "prefix of the judgments": (PLAIN, [f"D{n}" for n in PLAIN], "without 'D' in the judgments' ids"),
    "prefixes of both": (
        [f"doc-{n}" for n in PLAIN],
        [f"passage:{n}" for n in PLAIN],
        "without 'doc-' in the run's ids and 'passage:' in the judgments' ids",
    ),
    "zeros": ([f"{n:0>7}" for n in PLAIN], PLAIN, "without leading zeros"),
    "zeros inside": ([f"D-{n:0>7}" for n in PLAIN], [f"D-{n}" for n in PLAIN], "without leading zeros"),
    "endings": (
        [f"{n}.{'txt' if int(n) % 2 else 'html'}" for n in PLAIN],
        PLAIN,
        "without file endings",
    ),
    "suffix": ([f"{n}-v2" for n in PLAIN], PLAIN, "without '-v2' in the run's ids"),
    "URLs": (
        [f"https://www.a.org/{n}/" for n in PLAIN],
        [f"http://a.org/{n}" for n in PLAIN],
        "without the scheme and the last slash of URLs",
    ),
    "Unicode": ([unicodedata.normalize("NFD", one) for one in TITLES], TITLES, "in one Unicode form (NFC)"),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_makes_documents_match_is_named(name: str) -> None:
    ours, theirs, words = RULES[name]
    findings = found(judged(theirs), retrieved(ours))
    (level, message), *others = saying("document ids match only", findings)
    assert not others
    n = 4 * len(theirs)
    assert level == "warning"
    assert message.startswith(f"document ids match only {words}: 0 of {n} judged documents are in the run")
    assert f", {n} by that rule; the run has {ours[0]!r}, the judgments {theirs[0]!r}" in message
    assert not saying("match only", found(judged(theirs), retrieved(theirs)))
    assert not saying("match only", found(judged(ours), retrieved(ours)))


@pytest.mark.parametrize("name", [name for name in RULES if name != "case"])
def test_a_rule_that_makes_topics_match_is_named(name: str) -> None:
    ours, theirs, words = RULES[name]
    findings = found({t: {"a": 1} for t in theirs}, {t: {"a": 1.0} for t in ours})
    ((level, message),) = saying("topic ids match only", findings)
    assert level == "warning"
    assert f"only {words}: 0 of {len(theirs)} judged topics are in the run, {len(theirs)} by that rule" in message
    assert not saying("match only", found({t: {"a": 1} for t in theirs}, {t: {"a": 1.0} for t in theirs}))


def test_a_few_topics_spelled_otherwise_are_found() -> None:
    composed, decomposed = "caf\xe9", "cafe\u0301"
    for one, two, words in ((composed, decomposed, "in one Unicode form (NFC)"), ("q1 ", "q1", "without blanks at")):
        findings = found(
            {"7": {"a": 1}, "8": {"a": 1}, one: {"a": 1}}, {"7": {"a": 1.0}, "8": {"a": 1.0}, two: {"a": 1.0}}
        )
        ((_, message),) = saying("topic ids match only", findings)
        assert message.startswith(f"some topic ids match only {words}")
        assert f"2 of 3 judged topics are in the run, 3 by that rule; the run has {two!r}" in message


def test_few_that_match_by_chance_make_no_rule() -> None:
    """A bad run finds little of what is judged, and a rule adds a little by chance."""
    draw = random.Random(3)
    corpus = [f"FT{draw.randrange(900)}-{n}" for n in range(3000)]
    qrels = {str(t): dict.fromkeys(draw.sample(corpus, 100), 1) for t in range(20)}
    run = {str(t): {one: draw.random() for one in draw.sample(corpus, 100)} for t in range(20)}
    assert not saying("match only", found(qrels, run))
    assert not saying("chunks", found(qrels, run))
    # Other documents altogether, whose numbers are the same.
    other = {t: {one.replace("FT", "LA"): score for one, score in docs.items()} for t, docs in run.items()}
    assert not saying("match only", found(qrels, other))
    numbered = {str(t): dict.fromkeys(map(str, draw.sample(range(9000), 50)), 1) for t in range(20)}
    weak = {str(t): {str(n): draw.random() for n in draw.sample(range(9000), 50)} for t in range(20)}
    assert not saying("match only", found(numbered, weak))


def test_partly_matching_ids() -> None:
    """Half of the corpus was indexed in capitals."""
    theirs = [f"doc-{chr(97 + n)}" for n in range(20)]
    ours = [one.upper() if n >= 6 else one for n, one in enumerate(theirs)]
    ((_, message),) = saying("document ids match only", found(judged(theirs), retrieved(ours[::-1])))
    assert "without regard to case: 24 of 80 judged documents are in the run" in message
    assert ", 80 by that rule" in message
    run, judgment = re.findall(r"'([^']+)'", message)
    assert run != judgment
    assert run.lower() == judgment


# -- chunks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["#", "_", "-chunk-", "::", "-", "_chunk_"])
def test_chunks_and_documents_are_told_apart(fathoms: Command, separator: str) -> None:
    documents = [f"D{n}x" for n in range(12)]
    chunks = [f"{one}{separator}{n}" for n in range(3) for one in documents]
    run, qrels = retrieved(chunks), judged(documents)
    ((level, message),) = saying("chunks", found(qrels, run))
    assert level == "warning"
    assert message.startswith(
        f"the run has chunks ('D0x{separator}0') and the judgments documents ('D0x'): 0 of 48 judged documents are in "
        "the run"
    )
    assert ", 48 once chunks are rolled up: fathoms convert " in message
    # The command it names does it.
    Path("x.run").write_text("".join(f"{t} Q0 {d} 1 {s} t\n" for t, docs in run.items() for d, s in docs.items()))
    Path("j.qrels").write_text("".join(f"{t} 0 {d} {g}\n" for t, docs in qrels.items() for d, g in docs.items()))
    out = fathoms("check", "j.qrels", "x.run").out
    command = out.split("rolled up: fathoms ")[1].splitlines()[0].replace("'", "").replace("OUT", "d.run").split()
    assert fathoms(*command).status == 0
    assert not saying("chunks", found("j.qrels", "d.run"))
    ((_, message),) = saying("chunks", found(judged(chunks), retrieved(documents)))
    assert message.startswith("the run has documents ('D0x') and the judgments chunks (")
    assert "fathoms convert qrels -o OUT --roll-up max" in message


def test_chunks_judged_as_chunks_are_fine() -> None:
    chunks = [f"D{one}#{n}" for n in range(3) for one in range(12)]
    assert not saying("chunks", found(judged(chunks), retrieved(chunks)))


# -- documents that are their own query ------------------------------------------------------------------------------


def arguments(n: int = 20) -> tuple[dict[str, dict[str, int]], Scores]:
    """Queries that are documents of the corpus, found first by every second run of them, third by the others."""
    topics = [f"arg-{i}" for i in range(n)]
    qrels = {t: {f"{t}-reply": 1, **({t: 0} if i < 3 else {})} for i, t in enumerate(topics)}
    run = {}
    for i, t in enumerate(topics):
        others = {f"{t}-reply": 5.0, "other": 4.0}
        run[t] = {t: 9.0, **others} if i % 2 else {**others, t: 3.0}
    return qrels, run


def test_documents_that_are_their_own_query() -> None:
    qrels, run = arguments()
    ((level, message),) = saying("retrieves the topic itself", found(qrels, run))
    assert level == "warning"
    assert "in 20 of 20 topics, at rank 1 in 10, at ranks 1 to 3 (topics arg-0, " in message
    assert "3 of them are judged, 0 relevant. BEIR drops such documents" in message
    without = {t: {d: s for d, s in docs.items() if d != t} for t, docs in run.items()}
    assert not saying("topic itself", found(qrels, without))


def test_numbers_that_meet_by_chance_are_no_queries() -> None:
    """Topics 1 to 50 and documents 1 to 200 have nothing to do with each other, as in Cranfield."""
    draw = random.Random(1)
    names = [str(n) for n in range(1, 201)]
    run = {str(t): {one: draw.random() for one in draw.sample(names, 100)} for t in range(1, 51)}
    qrels = {str(t): dict.fromkeys(draw.sample(names, 60), 1) for t in range(1, 51)}
    assert sum(t in docs for t, docs in run.items()) > 10
    assert not saying("topic itself", found(qrels, run))


# -- the corpus --------------------------------------------------------------------------------------------------------


def test_documents_that_the_corpus_has_no_longer(tmp_path: Path) -> None:
    qrels = {"1": {"a": 1, "b": 2, "c": 0}, "2": {"d": 1, "e": 0}, "3": {"a": 1, "f 1": 1}}
    run = {"1": {"a": 2.0, "z": 1.0}, "2": {"a": 1.0}, "3": {"a": 1.0}}
    ids = tmp_path / "ids.txt"
    ids.write_text("a\nb\ne\n")
    findings = found(qrels, run, corpus_ids=ids)
    ((level, message),) = saying("judgments of 7", findings)
    assert level == "warning"
    assert message.startswith(
        f"3 judgments of 7 are of documents that are not in {ids} (grade 0: 1 of 2, grade 1: 2 of 4)"
    )
    assert "such as 'c', 'd', 'f 1'; it starts with 'a'" in message
    one_each = found({"1": {"a": 1, "c": 0}}, {"1": {"a": 2.0, "z": 1.0}}, corpus_ids=ids)
    assert saying("1 judgment of 2 is of a document that is not in", one_each)
    assert saying("1 document of 2 is not in", one_each)
    assert saying("1 topic, 2 judgments; grades", one_each)
    ((_, message),) = saying("no run can find", findings)
    assert message.startswith("2 topics of 3 have relevant documents that are not in")
    assert message.endswith("(topics 2, 3); in 1 of them all: topic 2")
    ((level, message),) = saying("document of 4", findings)
    assert level == "warning"
    assert "such as 'z' (topic 1)" in message
    ids.write_text("a\nb\nc\nd\ne\nf 1\nz\n")
    assert [level for level, _ in found(qrels, run, corpus_ids=ids)].count("warning") == 0
    assert saying("all judged documents are among the 7", found(qrels, run, corpus_ids=ids))


RECORDS = [{"_id": "a", "metadata": {"id": "q"}}, {"text": "has no tab", "_id": "b c"}, {"_id": "\xfc"}]
CORPORA = {
    "plain.txt": "a\r\n\n  b c  \n\xfc".encode(),
    "packed.gz": gzip.compress("a\nb c\n\xfc\n".encode()),
    "lines.jsonl": "\n".join(json.dumps(one, ensure_ascii=False) for one in RECORDS).encode(),
    "header.tsv": 'docid\ttext\na\tsome "words\nb c\tmore\n\xfc\tlast\n'.encode(),
    "header.csv": 'text,docno\none,a\n"two, three","b c"\nx,\xfc\n'.encode(),
    "one.qrels": b"1 0 a 1\n1 0 b 0\n",
    "one.run": b"1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n",
}


@pytest.mark.parametrize("name", CORPORA)
def test_ids_of_a_corpus_in_any_form(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / name
    path.write_bytes(CORPORA[name])
    expected = ["a", "b"] if name.startswith("one.") else ["a", "b c", "\xfc"]
    asked = [*expected, "q", "docid", "z"]
    for piece in (1 << 24, 5):  # a line at a time
        monkeypatch.setattr("fathoms.data.corpus_ids.PIECE", piece)
        corpus = read_corpus_ids(path)
        assert corpus.first == "a"
        has = corpus.has(document_keys(np.array([one.encode() for one in asked])))
        assert has.tolist() == [one in expected for one in asked]
        assert len(corpus) == len(expected)


def test_ids_of_a_corpus_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    pl.DataFrame({"docno": [7, 8], "text": ["x", "y"]}).write_parquet(path)
    assert read_corpus_ids(path).has(document_keys(np.array([b"7", b"9"]))).tolist() == [True, False]
    pl.DataFrame({"text": ["x", "y"]}).write_parquet(path)
    with pytest.raises(fm.InputError, match="has no column of document ids"):
        read_corpus_ids(path)


# -- training ----------------------------------------------------------------------------------------------------------


def test_judgments_that_were_trained_on() -> None:
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1}, "3": {"d": 1}}
    run = {"1": {"a": 1.0}, "2": {"c": 1.0}, "3": {"d": 1.0}}
    train = fm.read_qrels({"1": {"a": 1, "b": 1}, "2": {"x": 1}, "9": {"d": 1}})
    ((level, message),) = saying("has seen the answers", found(qrels, run, train_qrels=train))
    assert level == "warning"
    assert message.startswith("2 topics of 3 are in qrels too (topics 1, 2), with 2 judgments of 4, 1 of them relevant")
    assert "(such as topic 1, document a)" in message
    alike = fm.read_qrels({"001": {"b": 0}, "77": {"c": 1}})
    ((level, message),) = saying("has seen the answers", found(qrels, run, train_qrels=alike))
    assert "1 topic of 3 is in qrels too without leading zeros (such as '1' and '001'), with 1 judgment of 4" in message


def test_topics_numbered_alike_are_no_leak() -> None:
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    ((level, _),) = saying("perhaps numbered alike", found(qrels, run, train_qrels={"1": {"x": 1}}))
    assert level == "note"
    assert saying("no topic is in", found(qrels, run, train_qrels={"8": {"a": 1}}))
    assert not saying("seen the answers", found(qrels, run, train_qrels={"8": {"a": 1}}))


# -- the command -------------------------------------------------------------------------------------------------------


def test_a_run_cut_far_above_the_others_gets_a_warning() -> None:
    """Ten documents against a thousand: by measures that read deeper that is no comparison of like with like."""
    qrels = judged([f"d{i}" for i in range(20)])
    long, short = retrieved([f"d{i}" for i in range(200)]), retrieved([f"d{i}" for i in range(10)])
    runs = {"long": long, "short": short}
    said = [(one.level, one.file) for one in fm.check(qrels, runs).findings if "10 documents a topic" in one.message]
    assert said == [("warning", "short")]
    exp = fm.Experiment(qrels, runs)
    exp.warn = False
    noted = [note for note in exp.compare(["AP", "P@10"], draws=0).notes if "documents a topic" in note]
    assert len(noted) == 1
    assert noted[0].startswith("short has 10 documents a topic (median), long 200; AP reads deeper than that")
    assert not [note for note in exp.compare("P@10", draws=0).notes if "documents a topic" in note]
    near = {"long": long, "near": retrieved([f"d{i}" for i in range(21)])}
    assert not [one for one in fm.check(qrels, near).findings if "documents a topic" in one.message]


def test_the_flags_of_check(fathoms: Command) -> None:
    Path("ids.txt").write_text("a\n")
    done = fathoms("check", "qrels.txt", "good.run", "--corpus-ids", "ids.txt", "--train-qrels", "qrels.txt")
    assert done.status == 0
    assert "are not in ids.txt" in done.out
    assert "has seen the answers" in done.out
    strict = fathoms("check", "qrels.txt", "good.run", "--corpus-ids", "ids.txt", "--strict")
    assert strict.status == 1
    missing = fathoms("check", "qrels.txt", "good.run", "--corpus-ids", "nope.txt")
    assert (missing.status, "nope.txt: no such file" in missing.err) == (2, True)


def test_real_collections_raise_no_false_alarm() -> None:
    folder = collection("trec8-adhoc")
    for file in sorted((folder / "runs").iterdir())[::25]:
        findings = found(folder / "qrels.txt", file)
        for words in ("match only", "chunks", "topic itself"):
            assert not saying(words, findings), file
