"""The leaderboard: ranks against every way of judging, sets over topics against slow versions and known truth."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.data.simulate import simulate
from fathoms.evidence.evidence import Bools, Floats
from fathoms.inference.rank_sets import (
    RESAMPLES,
    letters,
    own_ranks,
    rank_sets,
    ranks,
    significantly_better,
    topics_needed,
)
from fathoms.questions.rank.analysis import Ranking, Standing
from tests.support import brute, real, slow
from tests.support.brute import Topic
from tests.support.commands import Command

MEASURES = ["P@3", "RBP(p=0.8)", "RR", "nDCG@3", "AP", "ERR@4", "Q@3", "R@3"]
NEARLY = 1e-9


# -- possible ranks --------------------------------------------------------------------------------------------------


def all_values(measure: str, topic: Topic, gmax: int) -> Floats:
    """[way, run]: the values of all runs in every way of judging all their documents and every order of ties."""
    listed = {document for ranking in topic.rankings.values() for document, _ in ranking}
    open_ = sorted(document for document, grade in topic.grades.items() if grade is None and document in listed)
    known = {document: grade for document, grade in topic.grades.items() if grade is not None}
    found = []
    for order in brute.orders(topic, *topic.rankings):
        arranged = [brute.arranged(ranking, order) for ranking in topic.rankings.values()]
        for grades in product(range(gmax + 1), repeat=len(open_)):
            judged = known | dict(zip(open_, grades, strict=True))
            found.append([value(measure, ranking, judged, gmax) for ranking in arranged])
    return np.array(found)


def value(measure: str, ranking: list[str], grades: dict[str, int], gmax: int) -> float:
    docs = [slow.Doc(float(grades[name])) for name in ranking]
    known = [slow.Doc(float(grade)) for grade in grades.values()]
    return slow.evaluate(slow.parse(measure), slow.Case(tuple(docs), (), gmax), docs, known)


def possible_and_true(seed: int, ties: float) -> tuple[int, int]:
    """Hold possible ranks against all that can happen; how many ends are equal, of how many."""
    rng = np.random.default_rng(seed)
    gmax = int(rng.integers(1, 3))
    topics = [brute.random_topic(rng, list("ABCD"), gmax, 2, ties, most=5) for _ in range(1 if ties else 2)]
    qrels, runs = brute.collection(topics)
    result = fm.Experiment(qrels, runs, workers=1, universe="all").rank(MEASURES, draws=0)
    named = dict(zip(MEASURES, (measure.name for measure in result.measures), strict=True))
    equal = 0
    for measure in MEASURES:
        ways = all_values(measure, topics[0], gmax)
        for topic in topics[1:]:
            ways = (ways[:, None] + all_values(measure, topic, gmax)[None]).reshape(-1, ways.shape[1])
        true = ranks(ways / len(topics))
        for one in result.of(named[measure]):
            place = list(topics[0].rankings).index(one.run)
            low, high = int(true[:, place].min()), int(true[:, place].max())
            assert one.rank_low is not None
            assert one.rank_high is not None
            assert one.rank_low <= low <= one.rank <= high <= one.rank_high, (seed, one, low, high)
            equal += (one.rank_low == low) + (one.rank_high == high)
    return equal, 8 * len(MEASURES)


@pytest.mark.long
@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_no_judging_and_no_order_of_ties_leaves_the_possible_ranks(ties: float) -> None:
    counts = np.array([possible_and_true(seed, ties) for seed in range(8)]).sum(axis=0)
    assert counts[0] / counts[1] > 0.85  # pair by pair is nearly all there is to say


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*--ranges all makes them")
@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_the_quick_bounds_of_many_runs_hold_too(ties: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BEST", "BEST_QUADRATIC", "PAIRS"):
        monkeypatch.setattr(f"fathoms.pairs.difference_ranges.{name}", 0)
    counts = np.array([possible_and_true(100 + seed, ties) for seed in range(5)]).sum(axis=0)
    assert counts[0] / counts[1] > 0.6


def test_copies_share_their_ranks_whatever_is_judged() -> None:
    qrels = {str(t): {"a": 1, "b": 0, "c": 0} for t in range(8)}
    one = {str(t): {"a": 3.0, "u": 2.0, "b": 1.0} for t in range(8)}
    other = {str(t): {"c": 3.0, "b": 2.0} for t in range(8)}
    result = fm.Experiment(qrels, {"x": one, "y": one, "z": other}).rank("P@2", draws=0)
    assert [(s.run, s.rank, s.rank_low, s.rank_high, s.rank_ci_low) for s in result.standings] == [
        ("x", 1, 1, 1, 1),
        ("y", 1, 1, 1, 1),
        ("z", 3, 3, 3, 3),
    ]
    assert "x and y share the first rank" in result.answer[0]
    whatever = "Whatever the unjudged documents of the two runs compared turn out to be"
    assert f"{whatever}, on these topics x and y are first." in result.remarks


def test_what_other_runs_brought_in_counts_if_asked_for() -> None:
    """Judging the documents of C lowers the AP of A and B alike, and may put C first."""
    qrels = {"1": {"r": 1, "n": 0}}
    runs = {"A": {"1": {"r": 2.0}}, "B": {"1": {"n": 2.0, "r": 1.0}}, "C": {"1": {"u": 2.0, "n": 1.0}}}
    result = fm.Experiment(qrels, runs, universe="all").rank("AP", draws=0)
    assert [(s.run, s.rank_low, s.rank_high) for s in result.standings] == [("A", 1, 1), ("B", 2, 3), ("C", 1, 3)]


# -- over topics -----------------------------------------------------------------------------------------------------


def slowly_better(scores: Floats, alpha: float, seed: int) -> Bools:
    """The same pair by pair and resample by resample, with t statistics."""
    n_runs, n = scores.shape
    needed = next(k for k in range(1, 99) if 2.0 ** (1 - k) < alpha / (n_runs * (n_runs - 1) / 2))
    pairs = [
        (a, b)
        for a in range(n_runs)
        for b in range(n_runs)
        if a != b and (np.abs(scores[a] - scores[b]) > 1e-9).sum() >= needed
    ]
    times = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)

    def t(differences: Floats, center: float) -> float:
        mean, sd = differences.mean() - center, differences.std(ddof=1)
        return 0.0 if abs(mean) < 1e-12 else float(np.sign(mean) * np.inf) if sd < 1e-9 else mean / sd * n**0.5

    observed = {(a, b): t(scores[a] - scores[b], 0.0) for a, b in pairs}
    drawn = {
        (a, b): [t(np.repeat(scores[a] - scores[b], count), (scores[a] - scores[b]).mean()) for count in times]
        for a, b in pairs
    }
    better = np.zeros((n_runs, n_runs), dtype=bool)
    while True:
        left = [(a, b) for a, b in pairs if not better[a, b] and not better[b, a]]
        counted = [pair for pair in left if observed[pair] > -(np.log(n) ** 0.5)]
        if not counted:
            return better
        greatest = sorted(max(0.0, *(drawn[pair][i] for pair in counted)) for i in range(RESAMPLES))
        critical = greatest[int(np.ceil((1 - alpha) * (RESAMPLES + 1))) - 1]
        new = [pair for pair in left if observed[pair] > critical * (1 + 1e-9)]
        if not new:
            return better
        for a, b in new:
            better[a, b] = True


@pytest.mark.parametrize("seed", range(3))
def test_claims_over_topics_are_those_of_the_slow_version(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((4, 16)) + np.array([[0.0], [0.1], [0.6], [0.9]]) * (seed + 1) / 2, 1)
    scores[1] = np.where(np.arange(16) < 4, scores[1], scores[0])  # which differs on a few topics only
    found = significantly_better(scores, 0.05, seed)
    assert (found == slowly_better(scores, 0.05, seed)).all()
    assert found.any()


def test_runs_and_topics_may_come_in_any_order() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random((6, 25)) + np.arange(6)[:, None] / 6
    order = rng.permutation(6)
    assert (significantly_better(scores)[np.ix_(order, order)] == significantly_better(scores[order])).all()


def test_equal_runs_and_few_topics_are_never_told_apart() -> None:
    one = np.random.default_rng(0).random(30)
    assert not significantly_better(np.stack([one, one])).any()
    nearly = one + np.where(np.arange(30) < 5, 0.5, 0.0)
    assert not significantly_better(np.stack([one, nearly])).any()  # five topics cannot, whatever they say
    above = np.stack([one, one + 0.1])
    assert significantly_better(above).tolist() == [[False, False], [True, False]]
    assert topics_needed(2, 0.05) == 6
    assert not significantly_better(above[:, :5]).any()
    assert significantly_better(above[:, :6])[1, 0]


def test_own_ranks_are_the_central_part_of_the_ranks_of_resampled_topics() -> None:
    rng = np.random.default_rng(7)
    scores = np.round(rng.random((5, 12)) + np.arange(5)[:, None] / 8, 1)
    low, high = own_ranks(scores, 0.1, seed=3)
    times = np.random.default_rng(3).multinomial(12, np.full(12, 1 / 12), size=RESAMPLES)
    drawn = []
    for count in times:
        means = [Fraction(int(count @ np.rint(10 * row).astype(int)), 120) for row in scores]
        drawn.append([1 + sum(other > mean for other in means) for mean in means])
    for run, ordered in enumerate(np.sort(drawn, axis=0).T.tolist()):
        below, above = ordered.index(low[run]) if low[run] in ordered else 0, ordered[::-1].index(high[run])
        assert below <= 0.05 * RESAMPLES
        assert above <= 0.05 * RESAMPLES
        assert ordered[int(0.05 * (RESAMPLES - 1))] == low[run] or ordered[0] > low[run]


def test_own_ranks_hold_the_rank_here_and_few_topics_leave_all_open() -> None:
    scores = np.random.default_rng(2).random((6, 8))
    low, high = own_ranks(scores)
    assert (low <= ranks(scores.mean(axis=1))).all()
    assert (high >= ranks(scores.mean(axis=1))).all()
    above = np.arange(6)[:, None] + scores  # the same order on every topic
    assert [end.tolist() for end in own_ranks(above[:, :1])] == [[1] * 6, [6] * 6]
    assert [end.tolist() for end in own_ranks(above[:, :5])] == [[1] * 6, [6] * 6]  # 2^-4 is more than 5%
    assert [end.tolist() for end in own_ranks(above[:, :6])] == [[6, 5, 4, 3, 2, 1]] * 2


def test_own_ranks_cover_each_run_and_not_all_at_once() -> None:
    """Twelve runs whose true means differ by a tenth of the spread of a topic: each is covered in 90% of the samples or
    more, and the sets are narrower than those that hold at once."""
    rng = np.random.default_rng(11)
    means, covered, widths = np.arange(12) / 10, [], []
    for seed in range(60):
        scores = means[:, None] + rng.normal(0, 1, (12, 40))
        low, high = own_ranks(scores, 0.05, seed)
        covered.append((low <= ranks(means)) & (ranks(means) <= high))
        first, last = rank_sets(significantly_better(scores, 0.05, seed))
        widths.append(((high - low).mean(), (last - first).mean()))
    assert 0.9 <= np.mean(covered) <= 1.0
    assert np.mean(covered) < 1.0
    assert np.mean(widths, axis=0)[0] < 0.75 * np.mean(widths, axis=0)[1]


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("runs", [2, 3, 6, 20, 129])
def test_as_many_topics_are_needed_as_the_sign_test_says(runs: int, alpha: float) -> None:
    needed, pairs = topics_needed(runs, alpha), runs * (runs - 1) / 2
    assert 2.0 ** (1 - needed) < alpha / pairs <= 2.0 ** (2 - needed)


@pytest.mark.long
@pytest.mark.parametrize("topics", [12, 25])
def test_sets_over_topics_cover_the_true_ranks_of_all_runs_at_once(topics: int) -> None:
    """Discrete, skewed scores from a population in which four of six runs are exactly as good as another."""
    rng = np.random.default_rng(topics)
    hard = rng.beta(0.7, 1.2, size=2000)
    population = rng.binomial(10, np.clip(hard + np.array([0, 0.02, 0.1, 0.1, 0.2, 0.3])[:, None], 0, 1)) / 10
    swapped = population[[1, 0, 3, 2, 4, 5]]
    population = np.concatenate([population, swapped], axis=1)
    true = ranks(population.mean(axis=1))
    covered = narrow = 0
    for seed in range(200):
        low, high = rank_sets(significantly_better(population[:, rng.choice(4000, topics)], 0.05, seed))
        covered += bool(((low <= true) & (true <= high)).all())
        narrow += bool((high - low < 5).any())
    assert covered >= 184  # of 200 at 95%, with less than one chance in 50 of fewer
    assert narrow > (20 if topics < 20 else 150)  # and something is said


@pytest.mark.long
def test_sets_over_half_of_real_topics_cover_the_ranks_by_all() -> None:
    folder = real.collection("trec8-adhoc")
    found = fm.Experiment(folder / "qrels.txt", folder / "runs").evaluate("P@10", by_topic=True, scores_only=True)
    scores = np.stack([one.scores[found.measures[0]].score for one in found.runs])
    rng, covered = np.random.default_rng(0), 0
    for seed in range(40):
        some = scores[rng.choice(len(scores), 20, replace=False)]
        low, high = rank_sets(significantly_better(some[:, rng.choice(50, 25, replace=False)], 0.05, seed))
        true = ranks(some.mean(axis=1))
        covered += bool(((low <= true) & (true <= high)).all())
    assert covered >= 38


# -- ranks, sets, letters --------------------------------------------------------------------------------------------


def test_equal_scores_share_the_better_rank() -> None:
    assert ranks(np.array([0.3, 0.5, 0.3, 0.1, 0.5 + 1e-12])).tolist() == [3, 1, 3, 5, 1]
    assert ranks(np.array([[1.0, 2.0], [2.0, 1.0]])).tolist() == [[2, 1], [1, 2]]


@settings(max_examples=60)
@given(st.integers(1, 9), st.integers(0, 2**36), st.floats(0, 1))
def test_runs_share_a_letter_exactly_if_they_are_not_told_apart(n: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    better = np.triu(rng.random((n, n)) < share, 1)
    order = rng.permutation(n)
    told = letters(better, order)
    for a in range(n):
        for b in range(n):
            assert bool(set(told[a]) & set(told[b])) == (not better[a, b] and not better[b, a])
    assert told[order[0]].startswith("a")


def test_no_letters_are_better_than_too_few() -> None:
    apart = np.triu(np.ones((60, 60), dtype=bool), 1)
    assert set(letters(apart, np.arange(60))) == {""}


# -- likely ranks ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_likely_ranks_contain_the_true_ones() -> None:
    covered = []
    for seed in range(3):
        made = simulate(systems=8, n_topics=20, n_docs=2000, depth=100, pool_depth=6, seed=40 + seed)
        result = fm.Experiment(made.qrels, made.runs).rank(["P@10", "AP"])
        for measure, depth in result.to_depth.items():
            pool = fm.pool(made.runs, depth=depth).select("topic", doc="document")
            judged = pl.concat([pool, made.qrels.select("topic", "doc")]).unique()
            scores = fm.evaluate(made.truth.join(judged, on=["topic", "doc"], how="semi"), made.runs, measure)
            true = dict(zip(scores["run"], ranks(scores["score"].to_numpy()).tolist(), strict=True))
            for one in result.of(measure):
                assert one.rank_low is not None
                assert one.rank_high is not None
                assert one.likely_rank_low is not None
                assert one.likely_rank is not None
                assert one.likely_rank_high is not None
                assert one.rank_low <= one.likely_rank_low <= one.likely_rank <= one.likely_rank_high <= one.rank_high
                assert one.rank_low <= true[one.run] <= one.rank_high  # for certain
                covered.append(one.likely_rank_low <= true[one.run] <= one.likely_rank_high)
    assert np.mean(covered) >= 0.9


# -- what is said ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> Ranking:
    made = simulate(systems=7, n_topics=20, n_docs=1000, depth=50, pool_depth=10, seed=3)
    return fm.Experiment(made.qrels, made.runs).rank(["P@5", "AP"])


def test_columns(result: Ranking) -> None:
    assert result.frame.columns == [
        *("run", "measure", "score", "rank", "rank_low", "rank_high", "estimate", "likely_rank", "likely_rank_low"),
        *("likely_rank_high", "rank_ci_low", "rank_ci_high", "group"),
        *("own_rank_low", "own_rank_high"),
    ]
    assert result.frame["rank"].dtype == pl.Int64
    scores = result.frame.filter(measure="AP")["score"].to_list()
    assert scores == sorted(scores, reverse=True)


def named(standings: list[Standing], column: str) -> str:
    runs = [one.run for one in standings if getattr(one, column) == 1]
    if len(runs) > 6:
        return f"{', '.join(runs[:5])} and {len(runs) - 5} more"
    return " and ".join(filter(None, [", ".join(runs[:-1]), runs[-1]]))


def test_sentences_name_those_who_might_be_first(result: Ranking) -> None:
    for measure, answer in zip(("P@5", "AP"), result.answer, strict=True):
        found = result.of(measure)
        assert answer.startswith(f"{measure}: {found[0].run} is first with {found[0].score:.4f} (as judged, on these ")
        number = sum(one.rank_ci_low == 1 for one in found)
        if 1 < number < len(found):
            assert f"{number} of 7 runs might be the best: {named(found, 'rank_ci_low')} (" in answer
        number = sum(one.likely_rank_low == 1 for one in found)
        if 1 < number < len(found):
            said = f"likely to be first: {named(found, 'likely_rank_low')}, {number} of 7 runs"
            assert any(said in one for one in result.remarks)
        own = np.mean([one.own_rank_high - one.own_rank_low + 1 for one in found])
        at_once = np.mean([one.rank_ci_high - one.rank_ci_low + 1 for one in found])
        assert any(
            one.startswith(
                f"{measure}: on other topics of this kind, an average run could have {own:.1f} of the 7 ranks, or "
                f"{at_once:.1f} if the sets of all runs are to hold at once."
            )
            for one in result.remarks
        )
        assert not any("settled" in one for one in result.sentences)
    assert any("might be the best: " in answer for answer in result.answer)


def test_the_possible_ranks_say_how_many_documents_they_are_over() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 0}}
    runs = {"x": {"1": {"a": 3.0, "u": 2.0}, "2": {"v": 1.0}}, "y": {"1": {"u": 3.0, "w": 2.0}, "2": {"b": 1.0}}}
    said = fm.Experiment(qrels, runs).rank("P@1", draws=0).remarks[0]
    assert said.startswith("Possible ranks: every way of judging the 3 unjudged documents of these 2 runs, and every")


def test_measures_without_a_range_have_no_possible_ranks() -> None:
    qrels, runs = {"1": {"a": 1, "b": 0}}, {"x": {"1": {"a": 1.0}}, "y": {"1": {"b": 1.0}}}
    frame = fm.rank(qrels, runs, ["Bpref", "P@1"], draws=0)
    assert frame.select("measure", "rank_low").rows() == [("Bpref", None), ("Bpref", None), ("P@1", 1), ("P@1", 2)]
    assert fm.rank(qrels, runs, "AP", draws=0, bounds="rm")["rank_high"].to_list() == [None, None]


def test_too_few_topics_are_said_to_be_so() -> None:
    qrels, runs = {"1": {"a": 1, "b": 0}}, {"x": {"1": {"a": 1.0}}, "y": {"1": {"b": 1.0}}}
    said = fm.Experiment(qrels, runs).rank("P@1", draws=0).answer[0]
    assert "1 topic cannot tell any of 2 runs apart; it takes at least 6 (95% confidence)." in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"universe": "run"}, "universe: run is for single runs; "),
    ],
)
def test_a_ranking_is_not_over_the_documents_of_one_run(options: dict[str, str], message: str) -> None:
    exp = fm.Experiment({"1": {"a": 1}}, {"x": {"1": {"a": 1.0}}, "y": {"1": {"b": 1.0}}}, **options)  # type: ignore[arg-type]
    for measure in ("AP", "P@1"):
        with pytest.raises(FathomsError, match=message):
            exp.rank(measure)


def test_the_documents_of_each_pair_are_the_default() -> None:
    qrels, runs = {"1": {"a": 1}}, {"x": {"1": {"a": 1.0, "c": 0.5}}, "y": {"1": {"b": 1.0}}}
    assert fm.rank(qrels, runs, "AP", draws=0, universe="pair").equals(fm.rank(qrels, runs, "AP", draws=0))


def test_nothing_is_said_of_judging_where_nothing_is_unjudged() -> None:
    qrels, runs = {"1": {"a": 1, "b": 0}}, {"x": {"1": {"a": 1.0}}, "y": {"1": {"b": 1.0}}}
    said = fm.Experiment(qrels, runs).rank("P@1", draws=0).remarks[0]
    assert said.startswith("Possible ranks: every order of tied documents; nothing that these 2 runs have is unjudged.")


def test_one_run_is_no_ranking() -> None:
    with pytest.raises(FathomsError, match="a ranking needs at least two runs"):
        fm.rank({"1": {"a": 1}}, {"x": {"1": {"a": 1.0}}})


def test_unseen_documents_widen_the_possible_ranks() -> None:
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
    runs = {"x": {"1": {"a": 1.0}, "2": {"a": 1.0}}, "y": {"1": {"b": 1.0}, "2": {"b": 1.0}}}
    assert fm.rank(qrels, runs, "AP", draws=0)["rank_low"].to_list() == [1, 2]
    assert fm.rank(qrels, runs, "AP", draws=0, universe=2)["rank_low"].to_list() == [1, 2]
    without_end = fm.Experiment(qrels, runs, universe=float("inf")).rank("AP", draws=0)
    # As many relevant documents as one likes bring both to 0, and so to the same rank, but never y ahead.
    assert without_end.frame["rank_low"].to_list() == [1, 1]
    assert without_end.frame["rank_high"].to_list() == [1, 2]
    assert "of these 2 runs and any number of unseen ones per topic, and every order" in without_end.remarks[0]


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path) -> None:
    (tmp_path / "bad.run").write_text("1 Q0 d9 1 2 t\n2 Q0 d9 1 2 t\n")


@pytest.mark.usefixtures("runs")
def test_formats_of_the_command(fathoms: Command) -> None:
    words = ("rank", "qrels.txt", "good.run", "bad.run", "-m", "P@1", "--draws", "0")
    table = fathoms(*words).out
    assert table.startswith("P@1: good is first with ")
    assert "●" in table
    rows = json.loads(fathoms(*words, "--format", "json").out)
    assert [(row["run"], row["rank"]) for row in rows] == [("good", 1), ("bad", 2)]
    assert fathoms(*words, "--format", "tsv").out.splitlines()[0].startswith("run\tmeasure\tscore\trank\trank_low")
    latex = fathoms(*words, "--format", "latex").out
    assert r"P@1 & good & " in latex
    assert "1 [1--2]" in latex
    assert fathoms(*words, "--format", "parquet", "-o", "x.parquet").status == 0
    assert pl.read_parquet("x.parquet")["rank"].to_list() == [1, 2]
    assert pl.read_parquet("x.parquet")["rank"].dtype == pl.Int64


def test_a_run_given_twice(fathoms: Command) -> None:
    Path("q.txt").write_text("1 0 a 1\n")
    Path("a.run").write_text("1 Q0 a 1 3 t\n")
    Path("b.run").write_text("1 Q0 b 1 3 t\n")
    done = fathoms("rank", "q.txt", "a.run", "b.run", "./a.run")
    assert (done.status, done.err) == (2, "fathoms: a.run and ./a.run are the same file; give each run once\n")


@pytest.mark.usefixtures("runs")
def test_page_and_chart(fathoms: Command) -> None:
    words = ("rank", "qrels.txt", "good.run", "bad.run", "-m", "P@1", "--draws", "0")
    assert fathoms(*words, "-o", "board.html").out == ""
    page = Path("board.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "good is first with" in page
    assert page.count("<tr>") == 3
    assert "http" not in page
    assert "<script" not in page
    done = fathoms(*words, "-o", "ranks.svg")
    assert done.out.startswith("P@1: good is first with")
    assert "95% confidence sets over topics, all runs at once" in Path("ranks.svg").read_text()


def test_names_are_safe_on_the_page() -> None:
    from fathoms.reporting.leaderboard import leaderboard

    runs = {"<b>x": {"1": {"a": 1.0}}, "y&": {"1": {"b": 1.0}}}
    page = leaderboard(fm.Experiment({"1": {"a": 1, "b": 0}}, runs).rank("P@1", draws=0))
    assert "<b>" not in page
    assert "y&amp;" in page
