"""The quick ways that many runs and many pairs get, held against the plain ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.data.qrels import JUDGED, Qrels
from fathoms.data.simulate import simulate
from fathoms.estimate.documents import Documents
from fathoms.evidence.align import rank
from fathoms.evidence.candidates import DocumentTable, candidates, document_table, numbered, only_top
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.order import Ties
from fathoms.evidence.pairs import RankingBlock
from fathoms.judging.grade_chances import Grades
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure
from fathoms.pairs.difference_ranges import Ranges, Universe, _places_read, _surplus, pairs_to_depth
from fathoms.pairs.differences import difference, plain_witness

MEASURES = ["AP", "AP@5", "nDCG@4", "R@6", "ERR", "RBP(p=0.5)", "GMAP", "Q"]


def tabled(seed: int, systems: int = 5, depth: int = 60) -> tuple[DocumentTable, Qrels]:
    world = simulate(systems=systems, n_topics=3, depth=depth, max_grade=2, seed=seed)
    qrels, runs = fm.read_qrels(world.qrels), fm.read_runs(world.runs)
    rankings = [rank(runs[name], qrels, "trec", "float32") for name in runs]
    return document_table(list(runs), rankings, qrels.topics), qrels


def side_by_side(measure: Measure, block: RankingBlock, a: Ints, b: Ints, others: Ints, universe: Universe) -> Floats:
    """All that A has above B relevant, with the documents of both runs in one table."""
    found = np.empty(len(a))
    for rows, pair in pairs_to_depth(measure, block, a, b, others, universe, over_ties=False):
        helpful = pair.unjudged & (pair.rank_a < pair.rank_b)
        codes = np.where(helpful, np.int16(JUDGED + len(pair.levels) - 1), pair.codes)
        none = np.zeros_like(pair.others)
        found[rows] = np.maximum(difference(measure, pair, codes, none), difference(measure, pair, codes, pair.others))
    return found


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("universe", [Universe(), Universe("all"), Universe(3), Universe("pair", 7)])
def test_a_witness_by_rankings_alone_is_that_of_pairs_side_by_side(name: str, universe: Universe) -> None:
    table, qrels = tabled(1)
    measure, every = parse_measure(name), np.arange(len(qrels.topics))
    for topics in (every, every[1:2], every[::2]):
        block = RankingBlock.of(table, qrels, topics)
        a, b = (block.rows_of(run.ravel()).ravel() for run in np.indices((5, 5)))
        others, depth = universe.others(block, a, b), _places_read(measure, block)
        counted = others if "universe" in measure.params else np.zeros_like(others)
        found = plain_witness(measure, block, a, b, depth, counted, universe.depth)
        assert found == pytest.approx(side_by_side(measure, block, a, b, others, universe), abs=1e-12)


def test_surplus_is_the_sum_over_all_documents() -> None:
    rng = np.random.default_rng(0)
    best, worst = rng.random((2, 6, 40)) * (rng.random((6, 40)) < 0.3)
    system, document = np.nonzero(best)
    found = _surplus(best[system, document], system, document, worst.T, 6)
    assert found == pytest.approx(np.maximum(best[:, None] - worst[None], 0.0).sum(axis=2))


def test_weights_are_read_as_long_as_a_sum_feels_them() -> None:
    table, qrels = tabled(2, depth=400)
    block = RankingBlock.of(table, qrels, np.array([0]))
    width = block.width
    assert 0.5**54 < np.finfo(float).eps / 2 <= 0.5**53  # of a sum of 1
    expected = {"RBP(p=0.5)": 54, "RBP(p=0.99)": width, "DCG": width, "AP": width, "P@7": 7}
    assert {name: _places_read(parse_measure(name), block) for name in expected} == expected


@pytest.mark.parametrize("name", ["AP", "nDCG@4", "RBP(p=0.5)"])
def test_pairs_of_few_systems_have_the_ranges_they_have_among_many(name: str) -> None:
    table, qrels = tabled(3, systems=24)
    measure = parse_measure(name)
    a, b = np.triu_indices(24, 1)  # more than are thought few
    some = np.array([5, 70, 200])
    means = np.linspace(0.1, 0.2, 24)
    found = [
        Ranges(table, qrels, a[rows], b[rows], Universe()).of([measure], {measure: (means[a] - means[b])[rows]}, {})
        for rows in (np.arange(len(a)), some)
    ]
    of_all, of_some = (one[measure] for one in found)
    if measure.difference_is == "exact":
        assert of_all.topic_low[some] == pytest.approx(of_some.topic_low, abs=1e-12)
        assert of_all.topic_high[some] == pytest.approx(of_some.topic_high, abs=1e-12)
    systems = np.array([3, 17, 20])
    whole, part = (RankingBlock.of(table, qrels, np.array([1]), runs) for runs in (None, systems))
    a, b = (run.ravel() for run in np.indices((3, 3)))
    assert (part.unjudged_of_both(a, b) == whole.unjudged_of_both(systems[a], systems[b])).all()
    assert (part.rank == whole.rank[systems]).all()


def test_documents_that_two_runs_leave_open_are_counted_once() -> None:
    table, _ = tabled(4)
    for depth in (None, 7):
        together = table.open_together(depth)
        for topic, a, b in np.ndindex(together.shape):
            both = {int(n) for run in (a, b) for n in table.place[run, topic, :depth] if n >= 0 and table.open[n]}
            assert together[topic, a, b] == len(both)
        listed = [{int(n) for n in table.place[:, t, :depth].ravel() if n >= 0 and table.open[n]} for t in range(3)]
        assert table.open_counts(depth).tolist() == [len(numbers) for numbers in listed]


@pytest.mark.parametrize("kind", ["S1", "S8"])  # which the kernel leaves alone, and takes
def test_documents_are_numbered_though_two_share_a_key(kind: str) -> None:
    documents, topics = np.array([b"c", b"a", b"b", b"a"], dtype=kind), np.zeros(4, dtype=np.int32)
    for pair_keys in (np.array([1, 2, 3, 2], dtype=np.uint64), np.array([2, 2, 3, 2], dtype=np.uint64)):
        found, numbers = numbered(pair_keys, topics, documents)
        assert documents[found].tolist() == [b"a", b"b", b"c"]
        assert numbers.tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize("ties", ["trec", "run", "rank", "score-rank"])
def test_the_top_of_a_run_has_its_candidates(ties: Ties, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [
        f"{topic} Q0 d{doc} {place} {rng.integers(0, 4)} r"
        for topic in ("2", "10")
        for place, doc in enumerate(rng.permutation(12), 1)
    ]
    (tmp_path / "r").write_text("\n".join(lines))
    run = fm.read_run(tmp_path / "r")
    top = only_top(run, 5, ties, "float64")
    assert len(top) == 10
    whole, part = (candidates({"r": one, "s": one}, 5, ties, "float64") for one in (run, top))
    assert (whole.documents.tolist(), whole.place.tolist()) == (part.documents.tolist(), part.place.tolist())


def test_levels_do_not_depend_on_which_others_are_wanted() -> None:
    world = simulate(systems=4, n_topics=3, depth=40, seed=5)
    block = candidates(fm.read_runs(world.runs), None, "trec", "float32").block()
    nothing = np.zeros(block.present.shape, dtype=np.int64)
    fit = Grades(block, None, np.array([0.0, 1.0])).fit(nothing > 0, nothing)
    few = block.present & (np.random.default_rng(0).random(block.present.shape) < 0.2)
    assert isinstance(fit.model.documents, Documents)
    assert (fit.levels(50, 1, few)[:, few] == fit.levels(50, 1, block.present)[:, few]).all()


# -- reading once -----------------------------------------------------------------------------------------------------


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    found: Counter[str] = Counter()
    whole = fm.Runs.__getitem__

    def reading(runs: fm.Runs, name: str) -> fm.Run:
        found[name] += 1
        return whole(runs, name)

    monkeypatch.setattr(fm.Runs, "__getitem__", reading)
    return found


def test_audit_and_judging_read_runs_once_that_stay_in_no_memory(tmp_path: Path, read: Counter[str]) -> None:
    world = simulate(systems=4, n_topics=3, depth=40, seed=6)
    given: dict[str, Any] = {"pooled": list(world.runs), "workers": 1}
    exp = fm.Experiment(world.qrels, world.runs, memory_mb=0, **given)
    audited = exp.audit("P@5", depth=10)
    assert read == dict.fromkeys(exp.runs, 1)
    assert audited.notes == fm.Experiment(world.qrels, world.runs, **given).audit("P@5", depth=10).notes
    read.clear()
    exp = fm.Experiment(world.qrels, world.runs, memory_mb=0, **given)
    exp.judge(tmp_path / "session").close()
    assert read == dict.fromkeys(exp.runs, 1)


def test_a_pass_over_the_runs_surveys_them() -> None:
    world = simulate(systems=4, n_topics=3, depth=40, seed=7)
    one, other = (fm.Experiment(world.qrels, world.runs, workers=1) for _ in range(2))
    assert one.map_ranked(lambda ranked: ranked.run.name) == list(one.runs)
    found, expected = one.surveys(), other.surveys()
    assert list(found) == list(expected)
    for name, survey in found.items():
        assert survey.judged.judged.tolist() == expected[name].judged.judged.tolist()
