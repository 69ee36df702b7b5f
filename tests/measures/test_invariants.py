"""What must hold for any input: ranges hold their scores, judgments narrow them, and order and names do not count."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError, FathomsWarning, InputError
from fathoms.data import lines
from fathoms.measures.base import Measure
from fathoms.measures.params import Param
from fathoms.measures.registry import MEASURES
from tests.measures.test_enumeration import (
    CONDENSED,
    EXACT,
    EXACT_IF_BINARY,
    EXACT_OF_POOL,
    EXACT_OF_UNIVERSE,
    SOUND,
    VALUES,
    of_universe,
)
from tests.support import slow
from tests.support.blocks import block, random_case
from tests.support.slow import Case, Doc

SLACK = 1e-9
FEW = settings(max_examples=40, deadline=None)
MANY = settings(max_examples=300, deadline=None)


@st.composite
def cases(draw: st.DrawFn, gmax: int) -> Case:
    """A ranking of up to ten documents with ties, and up to four documents outside."""
    grade = st.none() | st.just(-1.0) | st.integers(0, gmax).map(float)
    pooled_at = st.none() | st.integers(1, 8)
    ranking: list[Doc] = []
    for same_group in draw(st.lists(st.booleans(), max_size=10)):
        above = ranking[-1].group if ranking else 0
        place = len(ranking) + 1
        ranking.append(Doc(draw(grade), above + (not same_group), draw(st.none() | st.integers(1, place))))
    outside = draw(st.lists(st.builds(Doc, grade, st.just(0), pooled_at), max_size=4))
    return Case(tuple(ranking), tuple(outside), gmax)


# Scores and ranges


@pytest.mark.long
@FEW
@given(st.integers(2, 3).flatmap(lambda gmax: st.lists(cases(gmax), min_size=1, max_size=8)))
def test_scores_lie_in_their_ranges(sample: list[Case]) -> None:
    if sample[0].gmax == 3:
        measures = [name for name in VALUES + CONDENSED if "gains=" not in name]
    else:
        measures = VALUES + CONDENSED
    evidence = block(sample)
    for name in measures:
        scores = fm.parse_measure(name).scores(evidence)
        assert scores.tie_low is not None
        assert scores.tie_high is not None
        assert scores.tie_expected is not None
        assert (scores.tie_low <= scores.score + SLACK).all(), name
        assert (scores.tie_high >= scores.score - SLACK).all(), name
        assert (scores.tie_low <= scores.tie_expected + SLACK).all(), name
        assert (scores.tie_high >= scores.tie_expected - SLACK).all(), name
        assert (scores.low is None) == (scores.high is None), name
        if scores.low is not None and scores.high is not None:
            assert (scores.low <= scores.score + SLACK).all(), name
            assert (scores.high >= scores.score - SLACK).all(), name


EXACT_MEASURES = [*EXACT, *EXACT_OF_POOL, *map(of_universe, EXACT_OF_UNIVERSE), "GMAP(universe=given)"]
EXACT_MEASURES.remove("INST(T=1,gain=exp)@3")  # the tail of a gain between 0 and 1 is a long sum


@st.composite
def judged_further(draw: st.DrawFn, gmax: int) -> tuple[Case, Case]:
    """A case, and the same with one of its unjudged documents judged."""
    before = draw(cases(gmax))
    everything = list(before.ranking + before.outside)
    unjudged = [place for place, doc in enumerate(everything) if not doc.judged]
    assume(unjudged)
    place = draw(st.sampled_from(unjudged))
    everything[place] = replace(everything[place], grade=float(draw(st.integers(0, gmax))))
    n = len(before.ranking)
    return before, replace(before, ranking=tuple(everything[:n]), outside=tuple(everything[n:]))


@pytest.mark.long
@FEW
@given(st.integers(1, 3).flatmap(lambda gmax: st.lists(judged_further(gmax), min_size=1, max_size=8)))
def test_a_judgment_never_widens_an_exact_range(pairs: list[tuple[Case, Case]]) -> None:
    gmax = pairs[0][0].gmax
    all_grades = Case(tuple(Doc(float(grade)) for grade in range(gmax + 1)), (), gmax)
    evidence = block([case for pair in pairs for case in pair] + [all_grades])
    measures = [name for name in EXACT_MEASURES if "gains=" not in name or gmax == 2]
    if gmax == 1:
        measures += map(of_universe, EXACT_IF_BINARY)
    for name in measures:
        scores = fm.parse_measure(name).scores(evidence)
        assert scores.low is not None
        assert scores.high is not None
        assert (scores.low[1:-1:2] >= scores.low[:-1:2] - SLACK).all(), name
        assert (scores.high[1:-1:2] <= scores.high[:-1:2] + SLACK).all(), name


@pytest.mark.parametrize("measure", [*EXACT_OF_POOL, *EXACT_OF_UNIVERSE, *SOUND])
def test_ranges_hold_grades_that_nobody_gave_yet(measure: str) -> None:
    """An unjudged document may have any grade up to the greatest, here 1, though all judgments are 0 or 2."""
    if "gains=" in measure:
        pytest.skip("gains for each grade")
    rng = np.random.default_rng(9)
    sample = [without_ones(random_case(rng, gmax=2)) for _ in range(100)]
    evidence = block(sample)
    assert evidence.levels.tolist() == [0, 2]
    pooled = measure in EXACT_OF_POOL
    scores = fm.parse_measure(measure if pooled else of_universe(measure)).scores(evidence)
    expected = np.array([slow.bounds(measure, case) for case in sample])
    assert scores.low is not None
    assert scores.high is not None
    assert (scores.low <= expected[:, 0] + SLACK).all()
    assert (scores.high >= expected[:, 1] - SLACK).all()


def without_ones(case: Case) -> Case:
    ranking, outside = (
        tuple(replace(doc, grade=2.0) if doc.grade == 1 else doc for doc in docs)
        for docs in (case.ranking, case.outside)
    )
    return replace(case, ranking=ranking, outside=outside)


# Runs and judgments as people have them

MEASURED = ["AP", "nDCG@3", "RBP(p=0.8)", "ERR@5", "RR", "Q@4", "Bpref", "infAP", "Judged@3", "NumRelRet"]
Topics = dict[str, dict[str, float]]
DOCUMENTS = st.sampled_from([f"d{i}" for i in range(8)] + ["D-1", "é", "d10", "a-much-longer-name"])


def topics_of(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Topics]:
    rankings = st.dictionaries(DOCUMENTS, numbers, min_size=1, max_size=8)
    return st.dictionaries(st.sampled_from(["1", "2", "10"]), rankings, min_size=1)


RUNS = topics_of(st.sampled_from([3.0, 2.0, 1.0, 1.0000000001, -1e-5]))
QRELS = topics_of(st.sampled_from([-1.0, 0.0, 1.0, 2.0]))


def evaluated(qrels: Any, runs: Any, **options: Any) -> pl.DataFrame:
    """All of it by topic; topics that are missing or unknown are no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FathomsWarning)
        return fm.evaluate(qrels, runs, MEASURED, by_topic=True, **options)


def without_run(frame: pl.DataFrame, run: str) -> pl.DataFrame:
    return frame.filter(pl.col("run") == run).drop("run")


@pytest.mark.long
@FEW
@given(qrels=QRELS, run=RUNS, seed=st.integers(0, 1000))
def test_order_of_lines_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, qrels: Topics, run: Topics, seed: int
) -> None:
    assume(qrels.keys() & run.keys())
    folder = tmp_path_factory.getbasetemp()
    shuffled = random.Random(seed)
    run_lines = [
        f"{t} Q0 {d} {shuffled.randint(0, 9)} {s!r} tag\n" for t, scores in run.items() for d, s in scores.items()
    ]
    qrels_lines = [f"{t} 0 {d} {grade:g}\n" for t, grades in qrels.items() for d, grade in grades.items()]

    def from_files() -> pl.DataFrame:
        paths: list[Path] = []
        for name, written in (("qrels", qrels_lines), ("run", run_lines)):
            paths.append(folder / f"{name}.txt")
            paths[-1].write_text("".join(written), encoding="utf-8")
        return evaluated(*paths, ties="trec")

    as_written = from_files()
    shuffled.shuffle(run_lines)
    shuffled.shuffle(qrels_lines)
    assert from_files().equals(as_written)


@pytest.mark.long
@FEW
@given(qrels=QRELS, runs=st.lists(RUNS, min_size=2, max_size=3), ties=st.sampled_from(["trec", "run", "expected"]))
def test_company_and_names_do_not_matter(qrels: Topics, runs: list[Topics], ties: str) -> None:
    """Where each run's range is over its own documents."""
    assume(all(qrels.keys() & run.keys() for run in runs))
    named = {f"run {i}": run for i, run in enumerate([*runs, runs[0]])}
    together = evaluated(qrels, named, ties=ties, universe="run")
    for name, run in named.items():
        alone = evaluated(qrels, {"another name": run}, ties=ties, universe="run")
        assert without_run(alone, "another name").equals(without_run(together, name))
    assert without_run(together, "run 0").equals(without_run(together, f"run {len(runs)}"))


# Names of measures

NUMBERS = st.integers(1, 1000) | st.floats(1e-6, 1e6)


def values_of(name: str, parameter: Param) -> st.SearchStrategy[Any]:
    """Values that a parameter may have."""
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    if parameter.check == "share":
        return st.floats(0, 1, exclude_min=True, exclude_max=True)
    if parameter.check == "base":
        return st.none() | st.floats(1, 1e6, exclude_min=True)
    if parameter.check == "positive":
        return NUMBERS if parameter.default is not None else st.none() | NUMBERS
    if name == "universe":
        return st.sampled_from(["auto", "run", "pair", "given", float("inf")]) | st.integers(0, 10**7).map(float)
    if name == "gains":
        rising = st.lists(NUMBERS.map(float), max_size=4, unique=True).map(sorted)
        return st.none() | st.tuples(rising, rising).map(lambda both: ((0.0, 0.0), *zip(*both, strict=False)))
    assert isinstance(parameter.default, bool), name
    return st.booleans()


@st.composite
def any_measure(draw: st.DrawFn) -> Measure:
    cls = draw(st.sampled_from(list(MEASURES.values())))
    chosen = {name: draw(values_of(name, each)) for name, each in cls.params.items() if draw(st.booleans())}
    levels, depths = st.floats(0, 1), st.integers(1, 10**6)
    cuts = {"none": st.none(), "recall": levels, "required": depths, "optional": st.none() | depths}
    try:
        return cls(k=draw(cuts[cls.cutoff]), **chosen)
    except FathomsError:
        assume(False)
        raise


@pytest.mark.long
@MANY
@given(any_measure())
def test_a_name_says_all_of_a_measure(measure: Measure) -> None:
    assert fm.parse_measure(measure.name) == measure


# The reader of TREC text


def plain_rows(raw: bytes) -> list[tuple[bytes, bytes, float, float]]:
    """Topic, document, score and rank of each line."""
    lines = (line.split() for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    used = [line for line in lines if line and not line[0].startswith(b"#")]
    return [(line[0], line[2], float(line[4]), float(line[3])) for line in used]


IDS = st.lists(st.integers(33, 255), min_size=1, max_size=40).map(bytes)
NUMERALS = (
    st.from_regex(rb"[+-]?([0-9]{1,22}(\.[0-9]{0,22})?|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?", fullmatch=True)
    | st.floats(allow_nan=False).map(lambda number: repr(number).encode())
    | st.integers(0, 2**70).map(lambda number: str(number).encode())
)
BLANKS = st.just(b" ") | st.text(" \t", min_size=1, max_size=3).map(str.encode)
ENDS = st.sampled_from([b"\n", b"\r\n", b" \n"])


@st.composite
def run_text(draw: st.DrawFn) -> bytes:
    parts = [draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))]
    plain = draw(st.booleans())  # most files have one blank between columns and nothing else
    for _ in range(draw(st.integers(1, 8))):
        kind = "line" if plain else draw(st.sampled_from(["line", "line", "line", "blank", "comment"]))
        if kind == "line":
            columns = [draw(IDS), b"Q0", draw(IDS), draw(NUMERALS), draw(NUMERALS), draw(IDS)]
            if plain:
                parts += [b" ".join(columns), b"\n"]
                continue
            columns += draw(st.lists(IDS, max_size=2))
            parts += [draw(st.just(b"") | BLANKS), columns[0]]
            parts += [piece for column in columns[1:] for piece in (draw(BLANKS), column)]
        elif kind == "comment":
            parts += [draw(st.just(b"") | BLANKS), b"# ", draw(IDS)]
        parts.append(draw(ENDS))
    raw = b"".join(parts)
    return raw.rstrip(b"\r\n") if draw(st.booleans()) else raw


@pytest.mark.long
@MANY
@given(run_text(), st.sampled_from([lines.PIECE, 100, 8]))
@example(b"1 Q0 d 1 9999999999999999999 tag\n", lines.PIECE)
@example(b"1 Q0 d 1 1 tag\n# a comment past the first piece\n2 Q0 d 1 1 tag\n", 8)
def test_reader_sees_what_a_plain_loop_sees(raw: bytes, piece: int) -> None:
    expected = plain_rows(raw)
    assume(expected)
    with patch.object(lines, "PIECE", piece):  # pieces as small as a line
        table = lines.parse(raw, lines.RUN, "run.txt")
    assert table.rank is not None
    rows = zip(table.topic.tolist(), table.document.tolist(), table.number.tolist(), table.rank.tolist(), strict=True)
    assert list(rows) == expected


@FEW
@given(st.sampled_from([b"", b"\n\n", b"# nothing\n", b"1 Q0 d 1\n", b" \t\r\n", b"1 Q0 d 1 score tag\n"]))
def test_a_file_without_rows_is_an_error_that_says_so(raw: bytes) -> None:
    with pytest.raises(InputError, match=r"run\.txt"):
        lines.parse(raw, lines.RUN, "run.txt")


def test_reader_keeps_line_numbers() -> None:
    table = lines.parse(b"# head\n1 Q0 a 1 2 t\n\n1  Q0 b 2 1 t", lines.RUN, "run.txt")
    assert [table.line(row) for row in range(2)] == [2, 4]
    assert np.array_equal(table.number, [2, 1])


DIGITS = st.text("0123456789", min_size=0, max_size=22)
DECIMALS = st.builds(
    lambda sign, whole, point, part: sign + whole + point + part,
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
)
ODD_NUMBERS = st.sampled_from(["1e-7", "-2.5E+10", "inf", "-Infinity", "1_0", "1..2", ".", "-", "--1", "0x10", "1,5"])


@pytest.mark.long
@MANY
@given(st.lists(DECIMALS | ODD_NUMBERS | st.floats(allow_nan=False).map(repr), min_size=1, max_size=20))
def test_numbers_are_rounded_as_python_does(texts: list[str]) -> None:
    def number(text: str) -> float:
        try:
            return float("nan") if "_" in text else float(text)
        except ValueError:
            return float("nan")

    raw = [text.encode() for text in texts if text]
    if raw:
        width = -(-max(map(len, raw)) // 8) * 8
        found = lines._numbers(np.array(raw, dtype=f"S{width}"), np.array([len(text) for text in raw], dtype=np.int32))
        assert list(map(repr, found.tolist())) == [repr(number(text)) for text in texts if text]


@pytest.mark.parametrize("seed", range(3))
def test_numbers_half_way_between_two_doubles_are_rounded_to_even(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wholes = rng.integers(1 << 52, 1 << 53, size=2000).tolist()
    halves = [f"{whole}.5" for whole in wholes] + [f"{whole // 4}.{whole % 4 * 250 + 125:03d}" for whole in wholes]
    text = np.array([half.encode() for half in halves], dtype="S24")
    found = lines._numbers(text, np.array([len(half) for half in halves], dtype=np.int32))
    assert found.tolist() == [float(half) for half in halves]
