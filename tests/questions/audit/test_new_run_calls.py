"""Runs that are left out, and how the collection would have called them: made again from plain dicts and draws."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.data.simulate import Collection, simulate
from fathoms.estimate.backtest import folds
from fathoms.questions.audit.new_run_calls import EDGES

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")


@pytest.fixture(scope="module")
def made() -> Collection:
    return simulate(systems=7, n_topics=8, depth=40, pool_depth=10, unpooled=1, ties=0.0, seed=5)


def test_pairs_are_called_as_by_predict_without_their_judgments(made: Collection) -> None:
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    calls = exp.audit("AP", new_runs=True).calls
    names = [name for name in exp.by_content() if name in made.pooled]
    runs = {name: fm.read_runs({name: made.runs[name]})[name].to_dict() for name in names}
    top = {
        name: {(t, d) for t, of in run.items() for d in sorted(of, key=lambda d, of=of: -of[d])[:10]}  # type: ignore[misc]
        for name, run in runs.items()
    }
    known = fm.read_qrels(made.qrels).to_dict()
    truth = {row["run"]: row["score"] for row in fm.evaluate(made.qrels, made.runs, "AP").iter_rows(named=True)}
    counted = {low: [0, 0] for low in EDGES[:-1]}
    for fold in folds(np.ones(len(names), dtype=bool), names, 0):
        left = {name for name, gone in zip(names, fold.tolist(), strict=True) if gone}
        rest = [name for name in names if name not in left]
        only = set().union(*(top[name] for name in left)).difference(*(top[name] for name in rest))
        cut = {t: {d: g for d, g in of.items() if (t, d) not in only} for t, of in known.items()}
        found = fm.Experiment(cut, {name: made.runs[name] for name in names}, pooled=rest).predict("AP")
        means = dict(zip(names, found.draws("AP").mean(axis=2).T, strict=True))
        for a, b in combinations(names, 2):
            if not {a, b} & left:
                continue
            better = np.mean(means[a] > means[b] + 1e-9) + np.mean(np.abs(means[a] - means[b]) <= 1e-9) / 2
            low = max(edge for edge in EDGES[:-1] if edge <= max(better, 1 - better))
            counted[low][0] += 1
            counted[low][1] += (better > 0.5) == (truth[a] > truth[b])
    assert {calls.low: [calls.pairs, calls.right] for calls in calls} == {k: v for k, v in counted.items() if v[0]}


def test_sentences_say_what_was_counted(made: Collection) -> None:
    audit = fm.Experiment(made.qrels, made.runs, pooled=made.pooled).audit(["AP", "P@10"], new_runs=True)
    said = [sentence for sentence in audit.sentences if sentence.startswith("New runs by ")]
    assert len(said) == 2
    for sentence, measure in zip(said, ("AP", "P@10"), strict=True):
        of_measure = [calls for calls in audit.calls if calls.measure == measure]
        match = re.search(r"of ([\d,]+) pairs with one of them", sentence)
        assert match is not None
        assert int(match[1]) == sum(calls.pairs for calls in of_measure)
        assert sentence.startswith(f"New runs by {measure}: had a third of the contributing runs not been there")
    rows = [row for row in audit.rows() if row[0] == "new-runs"]
    assert sum(row[3] for row in rows if row[2] == "AP") == sum(c.pairs for c in audit.calls if c.measure == "AP")  # type: ignore[misc]


def test_it_is_made_only_where_asked_and_possible(made: Collection) -> None:
    assert fm.Experiment(made.qrels, made.runs, pooled=made.pooled).audit("AP").calls == []
    assert fm.Experiment(made.qrels, made.runs, pooled=made.pooled[:3]).audit("AP", new_runs=True).calls == []
    with pytest.raises(FathomsError, match="needs one order of tied documents"):
        fm.Experiment(made.qrels, made.runs, ties="expected").audit("AP", new_runs=True)
