"""The compiled kernel gives what numpy gives: the same arrays, the same errors, the same bytes in files.

`tests/fuzz/compiled_kernel.py` does the same with a million changed inputs, under sanitizers.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import random
import subprocess
import sys
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base import kernel
from fathoms.data import in_memory, keys, lines
from fathoms.data.qrels import read_qrels
from fathoms.data.simulate import simulate
from fathoms.evidence.align import rank
from fathoms.evidence.order import Precision, Ties
from fathoms.evidence.pairs import RankingBlock
from fathoms.evidence.universe import UnjudgedKeys, union_counts
from fathoms.pairs.differences import plain_witness
from tests.fuzz.compiled_kernel import try_one
from tests.support.kernels import both, content, numpy_alone, same

needs_kernel = pytest.mark.skipif(kernel.compiled is None, reason="there is no compiled kernel here")
POLICIES: tuple[Ties, ...] = ("trec", "run", "rank", "score-rank", "expected")


# -- which one is in use -----------------------------------------------------------------------------------------------


def version(**environment: str) -> str:
    command = [sys.executable, "-m", "fathoms", "--version"]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True).stdout


def test_the_switch() -> None:
    assert version(FATHOMS_KERNEL="0").endswith("(numpy alone, for FATHOMS_KERNEL is 0)\n")
    found = version(FATHOMS_KERNEL="1")
    built = importlib.util.find_spec("fathoms._kernel") is not None
    assert found.endswith("(compiled kernel)\n" if built else "(numpy alone, no compiled kernel)\n")


@needs_kernel
def test_plain_input_needs_no_numpy_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it would never be seen that the kernel refuses what it should take."""
    monkeypatch.setattr(lines, "byte_strings", None)
    monkeypatch.setattr(keys, "words", None)
    monkeypatch.setattr(in_memory, "_dict_columns", None)
    monkeypatch.setattr("fathoms.evidence.align.order_rows", None)
    raw = b"1 Q0 a 1 2.5 t\r\n1\tQ0  b 2 1e-3 t\n2 Q0 c 1 inf my tag"
    assert lines.parse(raw, lines.RUN, "file").number.tolist() == [2.5, 1e-3, float("inf")]
    qrels = read_qrels({"1": {"b": 1}, "2": {"d": 0}})
    run = fm.read_run({"1": {"a": 1.0, "b": np.float32(2)}, "2": defaultdict(float, c=1)})
    assert rank(run, qrels, "trec", "float32").judgment.tolist() == [0, -1, -1]


# -- lines -------------------------------------------------------------------------------------------------------------

token = st.text(st.characters(min_codepoint=33, max_codepoint=500, exclude_characters="#"), min_size=1, max_size=30)
number = st.one_of(
    st.floats().map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(r"-?[0-9]{0,22}\.?[0-9]{0,22}(e[+-]?[0-9]{1,4})?", fullmatch=True),
    token,
)
blank = st.sampled_from([" ", " ", " ", "\t", "  ", " \t"])


@st.composite
def run_text(draw: st.DrawFn) -> bytes:
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        fields = [draw(token), "Q0", draw(token), draw(number), draw(number), draw(token)]
        rows.append("".join(field + draw(blank) for field in fields[:-1]) + fields[-1])
    return draw(st.sampled_from(["\n", "\r\n"])).join(rows).encode() + draw(st.sampled_from([b"", b"\n", b"\n\n"]))


@needs_kernel
@settings(deadline=None)
@given(run_text(), st.booleans())
def test_lines(raw: bytes, lenient: bool) -> None:
    ours, theirs = both(lambda: content(lines.parse(raw, lines.RUN, "file", lenient=lenient)))
    assert same(ours, theirs)


@pytest.mark.long
@needs_kernel
@settings(deadline=None, max_examples=300)
@given(st.lists(number.filter(lambda text: text.strip() == text and text and len(text.split()) == 1), min_size=1))
def test_numbers_are_those_of_python(texts: list[str]) -> None:
    raw = "".join(f"1 0 d{i} {text}\n" for i, text in enumerate(texts)).encode()
    found = kernel.parse_lines(raw, 0, len(raw), 4, False, (0, 2, 3, -1), 1 << 30)
    assert found is not None
    for text, value in zip(texts, found.number.tolist(), strict=True):
        expected = lines.number_of(text.encode())
        assert value == expected or (value != value and expected != expected)
        assert np.signbit(value) == np.signbit(expected)


@needs_kernel
def test_long_numbers_are_rounded_right() -> None:
    """Half way between two doubles and a little off it, with as many digits as fit."""
    texts = []
    for whole in (2**53, 2**53 + 1, 2**54 + 2, 2**60 + 2**7, 2**63 - 1, 10**19 - 1):
        for tens in range(20):
            digits = f"{whole:020d}"
            texts.append(f"{digits[: 20 - tens]}.{digits[20 - tens :]}".lstrip("0").rstrip("."))
    texts += [f"{0.1 + i * 2**-56:.19f}"[1:] for i in range(64)]
    texts += [f"{2**53 + i}.{'0' * zeros}" for i in range(1, 9) for zeros in (1, 2, 3)]  # half way, to even and odd
    raw = "".join(f"1 0 d {text}\n" for text in texts).encode()
    found = kernel.parse_lines(raw, 0, len(raw), 4, False, (0, 2, 3, -1), 1 << 30)
    assert found is not None
    assert found.number.tolist() == [float(text) for text in texts]


@needs_kernel
@pytest.mark.parametrize("size", [0, 1, 62, 63, 64, 65, 127, 128, 129])
def test_texts_that_end_anywhere_in_a_block(size: int) -> None:
    raw = (b"1 0 d 1\n" * 20)[:size]
    ours, theirs = both(lambda: content(lines.parse(raw, lines.QRELS, "file")))
    assert same(ours, theirs)


# -- dicts -------------------------------------------------------------------------------------------------------------

ids = st.one_of(st.text(max_size=20), st.integers(0, 9), st.sampled_from(["a", "b", "c", "\udcff", "", "x\0"]))
values = st.one_of(
    st.floats(), st.integers(-(2**80), 2**80), st.sampled_from([np.float32(0.1), np.int64(3), True, None, "1", 1j])
)
rankings = st.dictionaries(ids, values, max_size=6)


@needs_kernel
@settings(deadline=None)
@given(st.dictionaries(ids, rankings, max_size=4), st.sampled_from([dict, OrderedDict, lambda d: defaultdict(dict, d)]))
def test_dicts(data: dict[Any, Any], kind: Any) -> None:
    ours, theirs = both(lambda: fm.read_run(kind(data), lenient=True))
    assert same(ours, theirs)
    ours, theirs = both(lambda: read_qrels(kind(data), lenient=True))
    assert same(ours, theirs)


@needs_kernel
@settings(deadline=None)
@given(st.lists(ids))
def test_lists_of_ids(data: list[Any]) -> None:
    ours, theirs = kernel.list_ids(data), in_memory._joined_ids(data)
    assert (ours is None) == (theirs is None)
    assert ours is None or same(ours, theirs)


# -- order and look-up -------------------------------------------------------------------------------------------------


@st.composite
def collection(draw: st.DrawFn) -> tuple[fm.Run, fm.Qrels]:
    """Few topics, documents and scores, so that many meet; and sometimes more than are sorted in one way."""
    n = draw(st.sampled_from([5, 5, 60, 200]))
    random_ = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = [float("inf"), 0.0, -0.0, 1e-300, 0.1, 0.1 + 1e-12, 1e39, *range(draw(st.integers(1, 300)))]
    width = draw(st.sampled_from([1, 3, 9, 30]))
    rows = [
        {"topic": str(t), "document": f"{d:0{width}d}", "score": float(random_.choice(pool)), "rank": int(r)}
        for t in random_.permutation(4)
        for d, r in zip(random_.permutation(n), random_.integers(1, 9, n), strict=True)
    ]
    random_.shuffle(cast(Any, rows)) if draw(st.booleans()) else None
    judged = {str(t): {f"{d:0{width}d}": int(d % 3) - 1 for d in random_.choice(n, n // 2)} for t in range(1, 6)}
    return fm.read_run(rows), read_qrels(judged)


@needs_kernel
@settings(deadline=None, max_examples=60)
@given(collection(), st.sampled_from(POLICIES), st.sampled_from(["float32", "float64"]))
def test_ranking(data: tuple[fm.Run, fm.Qrels], policy: Ties, precision: Precision) -> None:
    run, qrels = data
    ours, theirs = both(lambda: rank(run, qrels, policy, precision))
    assert same(ours, theirs)


@needs_kernel
@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=40).filter(lambda id: 0 not in id), min_size=1), st.integers(1, 5))
def test_keys(documents: list[bytes], n_topics: int) -> None:
    text = np.array(documents, dtype=f"S{8 * -(-max(map(len, documents)) // 8)}")
    ours, theirs = both(lambda: keys.document_keys(text))
    assert same(ours, theirs)
    scattered = np.arange(len(documents), dtype=np.int32) % n_topics
    for topic in (scattered, np.sort(scattered)):
        table = lines.Table(text, text, np.zeros(len(text)), "file")
        ours, theirs = both(functools.partial(keys.first_rows, table, keys.document_keys(text), topic))
        assert same(ours, theirs)


@settings(deadline=None)
@given(st.lists(st.lists(st.lists(st.integers(0, 30), max_size=9), min_size=3, max_size=3), min_size=1, max_size=5))
def test_distinct_documents_of_several_runs(runs: list[list[list[int]]]) -> None:
    parts = [
        UnjudgedKeys(
            np.array([n for topic in run for n in dict.fromkeys(topic)], dtype=np.uint64),
            np.array([len(set(topic)) for topic in run]),
        )
        for run in runs
    ]
    expected = [len(set().union(*(run[topic] for run in runs))) for topic in range(3)]
    ours, theirs = both(lambda: union_counts(parts))
    assert ours.tolist() == theirs.tolist() == expected


@needs_kernel
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([b"a", b"b", b"a longer id"]))))
def test_documents_are_numbered(given: list[tuple[int, int, bytes]]) -> None:
    keys = np.array([key for key, _, _ in given], dtype=np.uint64)
    topics = np.array([topic for _, topic, _ in given], dtype=np.int32)
    found = kernel.number_documents(keys, topics, np.array([text for _, _, text in given], dtype="S16"))
    assert found is not None
    distinct = list(dict.fromkeys(given))
    assert found[0].tolist() == [given.index(document) for document in distinct]
    assert found[1].tolist() == [distinct.index(document) for document in given]


@needs_kernel
@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 2), min_size=3, max_size=3)), max_size=9))
def test_levels_are_counted(documents: list[tuple[int, list[int]]]) -> None:
    levels = np.array([drawn for _, drawn in documents], dtype=np.int16).reshape(-1, 3).T
    counts = kernel.count_levels(levels, np.array([topic for topic, _ in documents], dtype=np.int64), 4, 3)
    assert counts is not None
    for cell in np.ndindex(counts.shape):
        draw, topic, level = cell
        assert counts[cell] == sum(of == topic and drawn[draw] == level for of, drawn in documents)


@needs_kernel
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4), st.sampled_from([0.5, 5.0, 30.0, 800.0]))
def test_levels_are_drawn(seed: int, steps: int, draws: int, width: float) -> None:
    """By the rule itself: a document is at each step whose chance is above its lot."""
    rng, n, topics, slopes = np.random.default_rng(seed), 40, 3, 2
    topic, owner = np.sort(rng.integers(0, topics, n)), rng.integers(0, 2, n)
    lots, shared = rng.random((draws, n)), rng.normal(0, width, (steps, draws, n)).astype(np.float32)
    effects, features = rng.normal(size=(steps, slopes, draws, topics)), rng.random((slopes, n), dtype=np.float32)
    sharper, drifts, distances = rng.normal(size=(steps, n)), rng.normal(size=(draws, topics)), rng.random(n)
    of_owners, inside = rng.normal(size=(draws, 2)), rng.choice([1.0, 0.7, 0.0], n)
    numbers = [*range(1, steps + 1)]
    drawn = kernel.draw_levels(
        lots, shared, effects, features, sharper, drifts, distances, of_owners, inside, topic, owner, numbers
    )
    assert drawn is not None
    for draw, document in np.ndindex(drawn.shape):
        chance, level = inside[document], 0
        for step in range(steps):
            logit = shared[step, draw, document] + sharper[step, document]
            logit += effects[step, :, draw, topic[document]] @ features[:, document]
            if step == 0:
                logit += drifts[draw, topic[document]] * distances[document] + of_owners[draw, owner[document]]
            chance /= 1 + np.exp(-max(float(logit), -700.0))
            if lots[draw, document] >= chance:
                break
            level = step + 1
        assert drawn[draw, document] == level


@needs_kernel
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 30), st.integers(1, 3), st.sampled_from([0, 7]))
def test_bounds_of_pairs(seed: int, depth: int, more: int, pool_depth: int, others: int) -> None:
    """Equal but for rounding, for sums go another way."""
    world = simulate(systems=4, n_topics=3, n_docs=depth + more, depth=depth, pool_depth=pool_depth, seed=seed)
    experiment = fm.Experiment(world.qrels, world.runs, workers=1, universe=others or "auto")

    def ends() -> list[tuple[float | None, float | None, str | None]]:
        pairs = experiment.compare("AP", draws=0).pairs
        return [(pair.diff_low, pair.diff_high, pair.reversible) for pair in pairs]

    for ours, theirs in zip(*both(ends), strict=True):
        assert ours[:2] == pytest.approx(theirs[:2], abs=1e-12)
        assert ours[2] == theirs[2]


@needs_kernel
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 30), st.integers(1, 3), st.sampled_from([0, 7]))
def test_witnesses_of_pairs(seed: int, depth: int, more: int, pool_depth: int, others: int) -> None:
    world = simulate(systems=4, n_topics=3, n_docs=depth + more, depth=depth, pool_depth=pool_depth, seed=seed)
    experiment = fm.Experiment(world.qrels, world.runs, workers=1)
    block = RankingBlock.of(experiment.documents(), experiment.qrels, np.arange(3))
    a, b = (block.rows_of(np.array(runs)).ravel() for runs in np.triu_indices(4, 1))
    unseen = np.full(len(a), others)
    measure = fm.parse_measure("AP")
    found = measure.of_pairs(block, a, b, unseen, witnesses=True)
    assert found == pytest.approx(plain_witness(measure, block, a, b, block.width, unseen, None), abs=1e-12)


# -- nothing is believed -----------------------------------------------------------------------------------------------


def plan_arguments(cut: int = 1, divisors: int = 1, worth: int = 2) -> tuple[Any, ...]:
    """Two measures of which only the first has all numbers, unless there are as many of each."""
    kinds, cuts = np.array([0, 1]), np.array([1, cut])
    plan = kinds, cuts, np.ones(2), np.ones(worth), np.ones(2 * divisors)
    return {"1": {"a": 1.0}}, (dict,), (), {"1": 0}, [{"a": 1}], True, *plan, bytearray(16)


def precision_arguments(
    documents: int = 2,
    ranks: bytes = bytes(4),
    place: bytes = bytes(4),
    holds: bytes = bytes(1),
    ties: tuple[bytes, bytes, bytes] = (b"", b"", bytes(1)),
    row: int = 0,
) -> tuple[Any, ...]:
    """A ranking of one place against itself."""
    pair = np.array([row]), np.array([0]), np.array([0]), bytearray(16)
    return False, documents, ranks, place, holds, np.ones(1), *ties, *pair


SHARED = bytearray(16)


def draw_arguments(topics: int = 1, owner: int = 0, lots: int = 1, steps: int = 1) -> tuple[Any, ...]:
    """One draw of one document, of one step; everything is 0."""
    shared = np.zeros(steps, dtype=np.float32), np.zeros(steps), bytes(4), np.zeros(steps)
    rest = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), np.array([0]), np.array([owner])
    return topics, 1, np.zeros(lots), *shared, *rest, np.ones(steps, dtype=np.int64), bytearray(2)


@needs_kernel
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("parse_lines", (b"1 0 a 1\n", 0, 99, 4, False, (0, 2, 3, -1), 1 << 30)),
        ("parse_lines", (b"1 0 a 1\n", 5, 2, 4, False, (0, 2, 3, -1), 1 << 30)),
        ("parse_lines", (b"1 0 a 1\n", 0, 8, 4, False, (0, 2, 4, -1), 1 << 30)),
        ("parse_lines", (b"1 0 a 1\n", 0, 8, 4, False, (0, -1, 3, -1), 1 << 30)),
        ("parse_lines", (b"1 0 a 1\n", 0, 8, 4, False, (0, 2, 3, -1), -1)),
        ("cut_ids", (b"abc", np.array([1, 1], dtype=np.uint32))),
        ("document_keys", (bytes(16), 1, bytearray(8))),
        ("document_keys", (bytes(16), 0, bytearray(8))),
        ("has_repeats", (bytes(9), bytes(4))),
        ("has_repeats", (bytes(8), bytes(8))),
        ("number_documents", (0, bytes(8), bytes(4), bytes(8), bytearray(8), bytearray(8))),
        ("number_documents", (1, bytes(8), bytes(4), bytes(8), bytearray(8), bytearray(16))),
        ("count_distinct", ([bytes(16)], np.array([0, 3]))),
        ("count_distinct", ([bytes(16)], np.array([-1, 1]))),
        ("count_distinct", ([bytes(16)], np.array([0, 1, 1]))),
        ("place_sums", (0, 1, np.array([0, 2]), np.array([1]), np.array([0]), np.ones(1), np.ones(1), bytearray(8))),
        ("place_sums", (0, 1, np.array([0, 1]), np.array([2]), np.array([0]), np.ones(1), np.ones(1), bytearray(8))),
        ("place_sums", (0, 1, np.array([0, 1]), np.array([1]), np.array([1]), np.ones(1), np.ones(1), bytearray(8))),
        ("place_sums", (0, 1, np.array([0, 1]), np.array([1]), np.array([0]), np.ones(1), np.ones(1), bytearray(7))),
        ("count_levels", (1, 2, np.array([1], dtype=np.int16), np.array([1]), bytearray(16))),
        ("count_levels", (1, 2, np.array([2], dtype=np.int16), np.array([0]), bytearray(16))),
        ("count_levels", (1, 2, np.array([1, 1], dtype=np.int16), np.array([0]), bytearray(16))),
        ("count_levels", (1, 0, np.array([1], dtype=np.int16), np.array([0]), bytearray(16))),
        ("count_levels", (2, 1, np.zeros(2, dtype=np.int16), SHARED, SHARED)),  # counting would change the topics
        ("draw_levels", draw_arguments(topics=0)),
        ("draw_levels", draw_arguments(owner=1)),
        ("draw_levels", draw_arguments(owner=-1)),
        ("draw_levels", draw_arguments(lots=2)),
        ("draw_levels", draw_arguments(steps=65)),
        ("score_dict", plan_arguments(cut=-1)),
        ("score_dict", plan_arguments(divisors=2)),
        ("score_dict", plan_arguments(worth=3)),
        ("precision_pairs", (True, *precision_arguments(ties=(b"", bytes(4), bytes(1)))[1:-1], bytearray(8))),
        ("precision_pairs", precision_arguments(row=1)),
        ("precision_pairs", precision_arguments(row=-1)),
        ("precision_pairs", precision_arguments(ranks=bytes(3))),
        ("precision_pairs", precision_arguments(documents=0)),
        ("precision_pairs", precision_arguments(place=b"\2\0\0\0", holds=b"\2")),
        ("precision_pairs", precision_arguments(ties=(bytes(4), b"", bytes(1)))),
        ("precision_pairs", precision_arguments(ties=(b"", bytes(8), bytes(1)))),
        ("precision_pairs", precision_arguments(ties=(b"", b"\1\0\0\0", bytes(1)))),
        ("precision_pairs", precision_arguments(ties=(b"", b"\xff\xff\xff\xff", bytes(1)))),
        ("index_judgments", (np.array([3], dtype=np.int32), bytes(8), 2)),
        ("index_judgments", (np.array([-1], dtype=np.int32), bytes(8), 2)),
    ],
)
def test_wrong_arguments_are_refused(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        getattr(kernel.compiled, name)(*arguments)


@needs_kernel
def test_changed_inputs() -> None:
    for i in range(400):
        try_one(random.Random(i))


# -- the same bytes out ------------------------------------------------------------------------------------------------


@pytest.mark.long
@needs_kernel
@pytest.mark.parametrize("format", ["tsv", "trec_eval", "json"])
def test_files_are_the_same(format: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fathoms"]
    where = tmp_path / "small"
    subprocess.run([*command, "simulate", "-o", where, "--systems", "3", "--n-topics", "5"], check=True)
    found = []
    for switch in ("0", "1"):
        out = tmp_path / switch
        arguments: list[str | Path] = [
            "eval",
            where / "qrels.txt",
            where / "runs",
            "--format",
            format,
            "--by-topic",
            "-o",
            out,
        ]
        done = subprocess.run(
            [*command, *arguments], env=os.environ | {"FATHOMS_KERNEL": switch}, check=True, capture_output=True
        )
        found.append((out.read_bytes(), done.stderr))
    assert found[0] == found[1]


def test_an_evaluator_gives_the_same_without_it() -> None:
    collection = fm.simulate(systems=2, n_topics=6, depth=50, seed=3)
    run = fm.read_run(next(iter(collection.runs.values()))).to_dict()
    qrels = read_qrels(collection.qrels).to_dict()
    with numpy_alone():
        expected = fm.Evaluator(qrels, ["AP", "nDCG@10", "RR"], ranges=True).evaluate(run)
    assert fm.Evaluator(qrels, ["AP", "nDCG@10", "RR"], ranges=True).evaluate(run) == expected
