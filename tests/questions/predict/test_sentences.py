"""What predict, depth and ties say in words: whole sentences, true ones, and which doubt they are about."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import fathoms as fm
from fathoms.questions.depth.stability import stable_from
from fathoms.questions.predict.words import ABOUT, OWN_DOUBT, POINTS

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")

# What nobody in the field would write.
ODD = re.compile(r"\bturns? it\b|\ba topic\b each|\bcannot be told\b|\bin the mean\b|\bstands? there\b|\babove depth\b")


@pytest.fixture(scope="module")
def exp() -> fm.Experiment:
    made = fm.simulate(systems=6, n_topics=12, depth=60, pool_depth=8, unpooled=2, seed=3)
    return fm.Experiment(made.qrels, made.runs)


def whole(sentences: list[str], named: list[str]) -> None:
    for sentence in sentences:
        assert sentence[0].isupper() or any(sentence.startswith(name) for name in named), sentence
        assert sentence.endswith("."), sentence
        assert not ODD.search(sentence), sentence


@pytest.mark.long
def test_sentences_are_sentences(exp: fm.Experiment) -> None:
    whole(exp.predict(["AP", "P@10"]).sentences, ["AP", "P@10"])
    whole(exp.predict("nDCG@10", "all").sentences, ["nDCG"])
    whole(exp.depth(["nDCG", "P"], "1:20").sentences, ["nDCG", "P"])
    whole(exp.ties(["AP", "nDCG@10"]).sentences, ["AP", "nDCG"])


@pytest.mark.parametrize("method", ["smoothed", "simplistic", "fusion"])
def test_predict_says_what_judging_is_estimated_to_change(exp: fm.Experiment, method: str) -> None:
    found = exp.predict("P@20", method)
    score = {row.run: row.score for row in found.estimated}
    estimate = {row.run: row.estimate for row in found.estimated}
    change = {run: estimate[run] - score[run] for run in score}
    said = found.sentences[0]
    if method == "simplistic":
        assert said == "P@20: further judging is estimated to change no mean (simplistic)."
        return
    for bound in (min(change.values()), max(change.values())):
        assert f"{bound:+.4f} (" in said
    reversed_ = sum(
        (score[a] - score[b]) * (estimate[a] - estimate[b]) < -1e-15 for a, b in itertools.combinations(score, 2)
    )
    expected = f"to reverse {reversed_} of 15 pairs of runs" if reversed_ else "to reverse no pair of runs"
    assert expected in said
    assert said.endswith(f"({method}).")
    more = OWN_DOUBT if method == "fusion" else POINTS
    assert found.sentences[-1] == f"{ABOUT} {more.format(method)}"


def test_predict_of_one_run_and_of_many_methods(exp: fm.Experiment) -> None:
    name = next(iter(exp.runs))
    alone = fm.Experiment(exp.qrels, {name: exp.runs[name]}).predict("P@20")
    (row,) = alone.rows()
    now, then = f"{row[3]:.4f}", f"{row[7]:.4f}"
    said = f"P@20: {name} scores {now} now, and an estimated {then} after further judging (calibrated)."
    assert alone.sentences[0] == said
    several = exp.predict("P@20", ["smoothed", "static", "linear"])
    by_run: dict[str, list[float]] = {}
    for line in several.rows():
        by_run.setdefault(line[0], []).append(line[7])
    widest = max(by_run, key=lambda run: np.ptp(by_run[run]))
    assert f"the 3 methods differ by up to {np.ptp(by_run[widest]):.4f}" in several.sentences[0]
    assert several.sentences[0].endswith(f"({widest}).")


def test_predict_says_how_many_estimates_were_moved(exp: fm.Experiment) -> None:
    own = fm.Experiment(exp.qrels, exp.runs, universe="run")  # narrow ranges, which this model's AP leaves
    found = own.predict("AP", ["experts", "smoothed"], by_topic=True)
    assert found.clipped["experts"]
    moved = next(sentence for sentence in found.sentences if "moved to its nearer end" in sentence)
    assert f"{found.clipped['experts']:,} by experts" in moved
    assert "(of 72 topic estimates each)" in moved


def test_the_deepest_depth_alone_is_not_stable() -> None:
    """It has only itself to agree with."""
    assert stable_from(np.array([[1.0, 0.2], [0.2, 1.0]]), [1, 2]) is None
    assert stable_from(np.array([[1.0, 0.95], [0.95, 1.0]]), [1, 2]) == 1
    assert stable_from(np.ones((1, 1)), [5]) == 5


def test_depth_counts_the_pairs_that_change_order(exp: fm.Experiment) -> None:
    found = exp.depth("P", "1:30", reference=2)
    means = found.scored.means("P")
    shallow, deep = means[1], means[-1]
    changed = sum(
        (shallow[a] - shallow[b]) * (deep[a] - deep[b]) < -1e-15 for a, b in itertools.combinations(range(6), 2)
    )
    assert changed
    said = "\n".join(found.sentences)
    assert f"P: {changed} of 15 pairs of runs change order between depth 2 and depth 30" in said
    assert "about the cut-off alone" in said


def test_ties_names_the_rule() -> None:
    qrels = {str(t): {"a": 1, "b": 0} for t in range(3)}
    runs = {
        "tied": {t: {"a": 1.0, "b": 1.0} for t in qrels},
        "half": {t: {"b": 2.0, "a": 1.0} if t == "0" else {"a": 2.0, "b": 1.0} for t in qrels},
    }
    found = fm.Experiment(qrels, runs).ties("RR")
    assert found.answer == ["RR: the tie-breaking rule decides which run is ahead in 1 of 1 pair."]
    said = found.remarks
    assert said[0].startswith("Ties: 3 of 12 documents (25.0%) have the same score as the one ranked just before")
    assert "Which run is ahead depends on the tie-breaking rule for 1 of 1 pair" in said[-1]
