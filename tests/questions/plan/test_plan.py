"""How many topics and how many judgments: closed forms against tables, simulation and scipy; resampling; depths; the
command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import fathoms as fm
from fathoms.inference.topic_set_size import (
    detectable_by_anova,
    detectable_by_t_test,
    expected_width,
    fewest,
    power_of_anova,
    power_of_t_test,
    topics_for_anova,
    topics_for_interval,
    topics_for_t_test,
)
from fathoms.questions.plan.judging_depth import imagined_residuals
from fathoms.questions.plan.known_scores import TopicScores, significant_share
from tests.support.commands import Command
from tests.support.real import collection

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")

# Cohen (1992), A Power Primer, Table 2: cases per group for power .80 and effects f = .10, .25, .40, rounded to the
# nearest; by alpha and number of groups.
COHEN = {
    0.05: {
        2: (393, 64, 26),
        3: (322, 52, 21),
        4: (274, 45, 18),
        5: (240, 39, 16),
        6: (215, 35, 14),
        7: (195, 32, 13),
    },
    0.01: {
        2: (586, 95, 38),
        3: (464, 76, 30),
        4: (388, 63, 25),
        5: (336, 55, 22),
        6: (299, 49, 20),
        7: (271, 44, 18),
    },
}


# -- closed forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", COHEN)
def test_anova_agrees_with_cohens_table(alpha: float) -> None:
    """Two means at the ends and all others halfway: f^2 = minD^2 / (2 m variance)."""
    for systems, cases in COHEN[alpha].items():
        for f, n in zip((0.10, 0.25, 0.40), cases, strict=True):
            assert topics_for_anova(f * np.sqrt(2 * systems), 1.0, systems, alpha, 0.8) in (n, n + 1)


def test_anova_of_two_systems_is_the_unpaired_t_test() -> None:
    for n, d in ((10, 0.5), (64, 0.5), (30, 1.0)):
        shift, freedom = d * np.sqrt(n / 2), 2 * (n - 1)
        critical = stats.t.ppf(0.975, freedom)
        t = stats.nct.sf(critical, freedom, shift) + stats.nct.cdf(-critical, freedom, shift)
        assert power_of_anova(n, d, 1.0, 2, 0.05) == pytest.approx(t, abs=1e-9)


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.05, 0.9), (0.01, 0.8), (0.01, 0.9)])
def test_the_paired_t_test_agrees_with_nagatas_approximation(alpha: float, power: float) -> None:
    """n = ((z_alpha/2 + z_beta) / Delta)^2 + z_alpha/2^2 / 2, as in Sakai's topic set size design."""
    z, beta = stats.norm.ppf(1 - alpha / 2), stats.norm.ppf(power)
    for effect in (0.1, 0.2, 0.3, 0.5, 0.8):
        n = topics_for_t_test(effect, 1.0, alpha, power)
        assert n is not None
        assert abs(n - (((z + beta) / effect) ** 2 + z**2 / 2)) < 1.5


def test_a_worked_example_of_the_paired_t_test() -> None:
    """Effect 0.5, alpha 0.05, beta 0.20: Nagata's 33.3 is rounded up, for 33 topics fall short of 80%."""
    assert topics_for_t_test(0.5, 1.0, 0.05, 0.8) == 34
    assert float(power_of_t_test(33, 0.5, 1.0, 0.05)) == pytest.approx(0.795, abs=5e-4)
    assert float(power_of_t_test(34, 0.5, 1.0, 0.05)) == pytest.approx(0.808, abs=5e-4)


def test_anova_agrees_with_nagatas_approximation() -> None:
    """lambda = 4.860 + 3.584 sqrt(m - 1) at alpha 0.05 and beta 0.20, and n = 2 variance lambda / minD^2: an
    approximation that Sakai's tables are made of, and corrects by a topic or two afterwards."""
    for systems in (5, 10, 20, 50, 100):
        for effect in (0.2, 0.3, 0.5):
            near = 2 * (4.860 + 3.584 * np.sqrt(systems - 1)) / effect**2
            n = topics_for_anova(effect, 1.0, systems, 0.05, 0.8)
            assert n is not None
            assert abs(n - near) < 0.015 * near + 1.5


@pytest.mark.parametrize(("n", "d", "variance", "alpha"), [(20, 0.1, 0.04, 0.05), (50, 0.05, 0.03, 0.01)])
def test_power_of_the_t_test_is_what_happens(n: int, d: float, variance: float, alpha: float) -> None:
    rng = np.random.default_rng(1)
    drawn = rng.normal(d, np.sqrt(variance), size=(20_000, n))
    found = float((stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < alpha).mean())
    assert float(power_of_t_test(n, d, variance, alpha)) == pytest.approx(found, abs=0.012)


def test_power_of_the_t_test_is_an_integral() -> None:
    """Over the mean's normal distribution, of the chance that the variance is small enough; scipy's series and ours."""
    z = np.linspace(-9, 9, 20_001)
    weight = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    for n in (2, 3, 5, 20, 300):
        for alpha in (0.05, 0.001):
            critical = stats.t.ppf(1 - alpha / 2, n - 1)
            for shift in (0.5, 3, 29.9, 30.1, 100, 700):
                exact = stats.chi2.cdf((n - 1) * ((shift + z) / critical) ** 2, n - 1) @ weight
                assert float(power_of_t_test(n, shift / np.sqrt(n), 1.0, alpha)) == pytest.approx(exact, abs=1e-6)


def test_power_of_anova_is_what_happens() -> None:
    n, d, variance, systems = 30, 0.2, 0.04, 5
    means = np.array([-d / 2, 0, 0, 0, d / 2])
    rng = np.random.default_rng(2)
    drawn = rng.normal(0, np.sqrt(variance), size=(systems, n, 10_000)) + means[:, None, None]
    found = float((stats.f_oneway(*drawn, axis=0).pvalue < 0.05).mean())
    assert power_of_anova(n, d, variance, systems, 0.05) == pytest.approx(found, abs=0.015)
    rising = np.linspace(-d / 2, d / 2, systems)  # any other place of the means between has more power
    drawn += (rising - means)[:, None, None]
    assert float((stats.f_oneway(*drawn, axis=0).pvalue < 0.05).mean()) > found


def test_the_width_of_an_interval_is_what_happens() -> None:
    n, variance = 12, 0.05
    drawn = np.random.default_rng(3).normal(0, np.sqrt(variance), size=(40_000, n))
    half = stats.t.ppf(0.975, n - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(n)
    assert expected_width(n, variance, 0.05) == pytest.approx(2 * half.mean(), rel=0.005)


PROBABLE = {
    "d": st.floats(0.01, 0.5),
    "variance": st.floats(0.001, 0.2),
    "alpha": st.sampled_from((0.05, 0.01, 0.001)),
    "power": st.sampled_from((0.5, 0.8, 0.95)),
}


@given(**PROBABLE, systems=st.integers(2, 30))
@settings(max_examples=20, deadline=None)
def test_answers_fit_each_other(d: float, variance: float, alpha: float, power: float, systems: int) -> None:
    n = topics_for_t_test(d, variance, alpha, power)
    assert n is not None
    assert float(power_of_t_test(n, d, variance, alpha)) >= power
    assert n == 2 or float(power_of_t_test(n - 1, d, variance, alpha)) < power
    least = detectable_by_t_test(n, variance, alpha, power)
    assert least <= d * (1 + 1e-6)
    assert float(power_of_t_test(n, least, variance, alpha)) == pytest.approx(power, abs=1e-6)
    assert detectable_by_t_test(n + 5, variance, alpha, power) < least
    m = topics_for_anova(d, variance, systems, alpha, power)
    assert m is not None
    assert detectable_by_anova(m, variance, systems, alpha, power) <= d * (1 + 1e-6)
    assert m == 2 or detectable_by_anova(m - 1, variance, systems, alpha, power) > d * (1 - 1e-6)
    assert m < 20 or (topics_for_anova(d, variance, systems + 1, alpha, power) or 0) >= m
    w = topics_for_interval(d, variance, alpha)
    assert w is not None
    assert expected_width(w, variance, alpha) <= d
    assert w == 2 or expected_width(w - 1, variance, alpha) > d


@given(n=st.integers(2, 3000), shift=st.floats(0, 200), alpha=st.floats(1e-6, 0.3))
@settings(max_examples=100, deadline=None)
def test_power_is_a_probability_that_rises(n: int, shift: float, alpha: float) -> None:
    at = power_of_t_test(n, np.array([0.0, shift, shift + 0.5, shift + 5]) / np.sqrt(n), 1.0, alpha)
    assert ((at >= 0) & (at <= 1)).all()
    assert at[0] == pytest.approx(alpha, rel=1e-6)
    assert (np.diff(at) >= -1e-7).all()


def test_extremes_of_power() -> None:
    assert topics_for_t_test(1e-6, 1.0, 0.05, 0.8) is None
    assert float(power_of_t_test(10, 0.1, 0.0, 0.05)) == pytest.approx(1.0)
    assert float(power_of_t_test(10, 0.0, 0.0, 0.05)) == pytest.approx(0.05)
    assert power_of_anova(10, 0.1, 0.0, 3, 0.05) == 1.0
    assert detectable_by_t_test(10, 0.0, 0.05, 0.8) == 0.0
    assert fewest(lambda n: n >= 7) == 7
    assert fewest(lambda n: True) == 2
    assert fewest(lambda n: False, most=100) is None


# -- from scores ------------------------------------------------------------------------------------------------------


def made_scores(runs: int = 8, topics: int = 40, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    hard = rng.normal(0.4, 0.2, size=topics)
    level = rng.normal(0, 0.04, size=(runs, 1))
    return np.asarray(hard + level + rng.normal(0, 0.1, size=(runs, topics)))


def test_variances_are_those_of_the_analyses_of_variance() -> None:
    values = made_scores()
    scores = TopicScores(values)
    pairs = [(values[a] - values[b]).var(ddof=1) for a in range(8) for b in range(a)]
    assert scores.variance == pytest.approx(np.mean(pairs))
    assert sorted(scores.pair_variances) == pytest.approx(sorted(pairs))
    assert scores.mean_deviation == pytest.approx(np.mean(np.sqrt(pairs)))
    assert scores.system_variance == pytest.approx(np.mean([row.var(ddof=1) for row in values]))
    copied = TopicScores(np.vstack([values, values[:1]]))
    assert len(copied.pair_variances) == 9 * 8 // 2 - 1
    assert not TopicScores(np.vstack([values[:1], values[:1]])).varies


def test_pairs_like_a_difference() -> None:
    scores = TopicScores(made_scores(runs=30))
    like = scores.like(0.05)
    assert ((scores.pair_differences[like] >= 0.025) & (scores.pair_differences[like] <= 0.1)).all()
    few = scores.like(0.9)
    assert len(few) == 10  # the nearest ones
    assert scores.pair_differences[few].min() == np.sort(scores.pair_differences)[-10]
    shifted = scores.shifted(0.07)
    assert shifted.mean(axis=1) == pytest.approx(0.07)
    assert sorted(shifted.var(axis=1, ddof=1)) == pytest.approx(sorted(scores.pair_variances[scores.like(0.07)]))


def test_resampling_counts_significant_tests() -> None:
    values = np.random.default_rng(4).normal(0.1, 0.25, size=(5, 30))
    rng = np.random.default_rng([9, 20])
    count = rng.multinomial(20, np.full(30, 1 / 30), size=50)
    found = [
        stats.ttest_1samp(np.repeat(row, times), 0.0).pvalue < 0.05 for row in values for times in count
    ]  # the same draws, as lists of topics
    assert significant_share(values, 20, 0.05, seed=9, draws=50) == pytest.approx(np.mean(found))


def test_power_by_pairs_is_what_resampling_achieves_for_normal_scores() -> None:
    scores = TopicScores(made_scores(runs=12, topics=200))
    for n in (20, 50):
        assert scores.power(n, 0.05, 0.05) == pytest.approx(scores.resampled_power(n, 0.05, 0.05, seed=1), abs=0.03)


def test_topics_needed_and_detectable_fit() -> None:
    scores = TopicScores(made_scores(runs=12))
    n = scores.topics_needed(0.05, 0.05, 0.8)
    assert n is not None
    assert scores.power(n, 0.05, 0.05) >= 0.8 > scores.power(n - 1, 0.05, 0.05)
    assert scores.detectable(n, 0.05, 0.8) == pytest.approx(0.05, rel=0.03)
    assert scores.detectable(4 * n, 0.05, 0.8) < scores.detectable(n, 0.05, 0.8)
    drawn = scores.resampled_topics(0.05, 0.05, 0.8, seed=0, most=1000)
    assert drawn is not None
    assert abs(drawn - n) < 0.2 * n


def test_the_uncertainty_of_the_variance_covers() -> None:
    """Of two runs with normal differences, whose true variance is known."""
    rng, held, trials = np.random.default_rng(5), 0, 150
    for trial in range(trials):
        values = np.vstack([rng.normal(0, 0.2, size=40), np.zeros(40)])
        low, high = TopicScores(values).variance_interval(trial)
        estimate = values[0].var(ddof=1)
        held += estimate * low <= 0.04 <= estimate * high
    assert 0.9 * trials <= held


@pytest.mark.long
def test_predicted_power_is_achieved_on_trec8() -> None:
    """Power predicted from all topics, and from random halves of them, against that achieved on resamples of all 50 by
    the pairs of runs that differ by what was asked for: within 5 points."""
    folder = collection("trec8-adhoc")
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs")
    found = exp.evaluate(["AP", "P@10"], scores_only=True)
    rng = np.random.default_rng(0)
    for measure in found.measures:
        values = np.stack([run.scores[measure].score for run in found.runs])
        a, b = np.triu_indices(len(values), 1)
        differences = values[a] - values[b]
        size = np.abs(differences.mean(axis=1))
        whole = TopicScores(values)
        halves = [TopicScores(values[:, rng.permutation(values.shape[1])[:25]]) for _ in range(8)]
        for d in (0.05, 0.1):
            near = differences[(size > 0.9 * d) & (size < 1.1 * d)][::2]
            for n in (25, 50):
                achieved = significant_share(near, n, 0.05, seed=1, draws=1000)
                assert whole.power(n, d, 0.05) == pytest.approx(achieved, abs=0.05), (measure.name, d, n)
                assert whole.resampled_power(n, d, 0.05, 1) == pytest.approx(achieved, abs=0.05)
                from_half = np.mean([half.power(n, d, 0.05) for half in halves])
                assert from_half == pytest.approx(achieved, abs=0.05), (measure.name, d, n)


# -- depth ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "epsilon", "depth"), [(0.5, 0.05, 5), (0.8, 0.05, 14), (0.8, 0.01, 21), (0.95, 0.05, 59)]
)
def test_rbp_leaves_p_to_the_depth(p: float, epsilon: float, depth: int) -> None:
    """By hand: the least d with p^d <= epsilon, d = ceil(ln epsilon / ln p)."""
    found = fm.plan(measures=f"RBP(p={p})", epsilon=epsilon).depths[0]
    assert found.enough is not None
    assert found.enough.depth == depth == int(np.ceil(np.log(epsilon) / np.log(p)))
    assert [one.residual for one in found.points] == pytest.approx([p**one.depth for one in found.points])


def test_residuals_of_an_imagined_ranking() -> None:
    p10, rr, sdcg = (fm.parse_measure(name) for name in ("P@10", "RR@10", "SDCG@10"))
    depths = [1, 3, 7, 10, 20]
    assert imagined_residuals(p10, depths)[0] == pytest.approx([0.9, 0.7, 0.3, 0, 0])
    assert imagined_residuals(rr, depths)[0] == pytest.approx([1 / 2, 1 / 4, 1 / 8, 0, 0])
    discount = 1 / np.log2(np.arange(2, 12))
    left = [discount[d:].sum() / discount.sum() for d in depths]
    assert imagined_residuals(sdcg, depths)[0] == pytest.approx(left)


def test_cut_offs_that_a_pool_serves() -> None:
    p = fm.plan(measures="P@10", depth=18, epsilon=0.1).depths[0]
    assert p.reach == 20  # (20 - 18) / 20
    rbp = fm.plan(measures="RBP(p=0.8)", depth=20, epsilon=0.05).depths[0]
    assert rbp.reach == 14
    assert fm.plan(measures="RBP(p=0.8)", depth=10, epsilon=0.05).depths[0].reach is None


RUNS = {
    "x": {"1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "2": {"a": 2.0, "b": 1.0}},
    "y": {"1": {"b": 4.0, "e": 3.0, "a": 2.0, "f": 1.0}, "2": {"c": 2.0, "a": 1.0}},
}


def test_a_pool_of_runs_by_hand() -> None:
    """At depth 1 topic 1 has a and b judged, topic 2 a and c. x has a b known of a b c d; y has b, a of b e a f."""
    found = fm.plan(None, RUNS, "P@4", epsilon=0.3).depths[0]
    first = found.points[0]
    assert (first.depth, first.judgments) == (1, 4)
    # Unjudged in the first four, over 4: x has 2 and 1 in its topics, y has 2 and 0.
    assert first.residual == pytest.approx(np.mean([(2 / 4 + 1 / 4) / 2, (2 / 4 + 0) / 2]))
    assert first.largest == pytest.approx(3 / 8)
    assert [one.judgments for one in found.points][:2] == [4, 3 + 3]
    assert found.enough is not None
    assert found.enough.depth == 2


def test_ids_that_are_no_utf8_are_pooled(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_bytes(b"1 Q0 caf\xe9 1 3 x\n1 Q0 b 2 2 x\n")
    (tmp_path / "y.run").write_bytes(b"1 Q0 b 1 3 y\n1 Q0 caf\xe9 2 2 y\n")
    found = fm.plan(None, [str(tmp_path / "x.run"), str(tmp_path / "y.run")], "P@2").depths[0]
    assert found.points[0].judgments == 2
    assert found.points[0].residual == 0


def test_the_assumed_pool_is_stated(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    plan = fm.plan(folder / "qrels.txt", folder / "runs", "P@5")
    assert sum("ssumed pool" in sentence for sentence in [*plan.sentences, *plan.notes]) == 1
    named = fm.plan(folder / "qrels.txt", folder / "runs", "P@5", pooled=folder / "pooled.txt")
    assert not any("ssumed pool" in sentence for sentence in [*named.sentences, *named.notes])


def test_new_judgments_are_told_from_those_there_are() -> None:
    qrels = {"1": {"a": 1, "b": 0, "z": 2}, "2": {"a": 0}}
    found = fm.plan(qrels, RUNS, "P@4", pooled=["x", "y"], variance=0.1).depths[0]
    assert [(one.judgments, one.new) for one in found.points[:2]] == [(4, 1), (6, 3)]


def test_residuals_by_judgments_are_those_of_eval(simulated: Callable[..., Path]) -> None:
    """Cut back to a pool of depth 3, each run on its own documents."""
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    runs = fm.read_runs(folder / "runs")
    exp = fm.Experiment(folder / "qrels.txt", runs, pooled=folder / "pooled.txt")
    point = next(one for one in exp.plan("nDCG@10").depths[0].points if one.depth == 3)
    cut = exp.pool(depth=3).frame
    shallow = fm.Experiment(
        cut,
        {name: runs[name] for name in exp.contributing()},
        universe="run",
    )
    rows = shallow.evaluate("nDCG@10").frame.filter(pl.col("topic") == "all")
    widths = (rows["high"] - rows["low"]).to_numpy()
    assert point.residual == pytest.approx(widths.mean())
    assert point.largest == pytest.approx(widths.max())
    assert point.judgments == len(cut)


def test_a_sample_is_large_enough(simulated: Callable[..., Path]) -> None:
    """Documents judged at random, with the true grades, many times: Horvitz and Thompson's sum varies as planned."""
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    truth, runs = fm.read_qrels(folder / "truth.txt").to_dict(), fm.read_runs(folder / "runs")
    exp = fm.Experiment(folder / "truth.txt", runs, pooled=list(runs))
    one = exp.plan("P@10", interval_width=0.1).depths[0].sample
    assert one is not None
    assert one.depth == 10
    documents = fm.pool(runs, depth=10)
    assert one.documents == len(documents)
    rng, variances = np.random.default_rng(0), []
    place = {pair: i for i, pair in enumerate(documents.select("topic", "document").iter_rows())}
    drawn = rng.random((4000, len(place))) < one.judgments / one.documents
    for run in runs:
        worth = np.zeros(len(place))
        for topic, listed in runs[run].to_dict().items():
            for document in sorted(listed, key=lambda d: (-listed[d], d))[:10]:
                if (topic, document) in place:
                    worth[place[topic, document]] += (truth[topic].get(document, 0) >= 1) / 10 / 8
        variances.append((drawn @ worth / (one.judgments / one.documents)).var())
    assert 2 * 1.96 * np.sqrt(np.mean(variances)) == pytest.approx(0.1, rel=0.06)
    worst = fm.plan(None, runs, "P@10", interval_width=0.1).depths[0].sample
    assert worst is not None
    assert worst.worst
    assert worst.judgments > one.judgments


@pytest.mark.long
def test_likely_intervals_shrink_with_depth(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    found = fm.plan(folder / "qrels.txt", folder / "runs", "P@10", likely=True, interval_width=0.2, workers=1)
    likely = [one for one in found.depths[0].points if one.likely is not None]
    assert likely[0].likely is not None
    assert likely[-1].likely is not None
    assert likely[0].likely > likely[-1].likely
    assert likely[0].likely <= likely[0].residual + 1e-9 or likely[0].largest is not None
    assert all(0 <= (one.clear or 0) <= 1 for one in likely)
    assert any("likely intervals" in line for line in found.sentences)
    assert any("sure who is ahead" in line for line in found.sentences)


# -- words, frames, charts, the command -------------------------------------------------------------------------------


def test_stated_variances() -> None:
    one = fm.plan(variance=0.03, n_topics=50, systems=10, interval_width=0.05).topics[0]
    assert one.answer("t").topics == topics_for_t_test(0.05, 0.03, 0.05, 0.8) == 97
    assert one.answer("t").detectable == pytest.approx(detectable_by_t_test(50, 0.03, 0.05, 0.8))
    assert one.answer("t_all_pairs").topics == topics_for_t_test(0.05, 0.03, 0.05 / 45, 0.8)
    assert one.answer("anova").topics == topics_for_anova(0.05, 0.015, 10, 0.05, 0.8)
    assert one.topics_for_width == topics_for_interval(0.05, 0.03, 0.05)
    other = fm.plan(system_variance=0.03).topics[0]
    assert (other.variance, other.system_variance) == (0.06, 0.03)
    both = fm.plan(variance=0.02, system_variance=0.03).topics[0]
    assert (both.variance, both.system_variance) == (0.02, 0.03)
    with pytest.raises(fm.FathomsError, match="no answer of 'resampled'"):
        both.answer("resampled")


def test_a_plan_from_scores_is_that_from_the_files(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    frame = fm.evaluate(folder / "qrels.txt", folder / "runs", ["AP"], by_topic=True)
    scores = fm.plan(from_scores=frame.select("run", "topic", "measure", "score")).topics[0]
    assert scores == fm.plan(folder / "qrels.txt", folder / "runs", "AP").topics[0]
    assert scores.measure == "AP"


def test_frame_and_charts(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    found = fm.plan(folder / "qrels.txt", folder / "runs", ["AP", "RBP(p=0.8)"], interval_width=0.1, depth=5)
    frame = found.frame
    assert frame["question"].unique().sort().to_list() == [
        *("curve", "cutoff", "depth", "interval", "sample", "topics")
    ]
    t = frame.filter(pl.col("question") == "topics", pl.col("method") == "t", pl.col("measure") == "AP").row(
        0, named=True
    )
    assert t["topics"] == found.topics[0].answer("t").topics
    curve = frame.filter(pl.col("question") == "curve", pl.col("method") == "t", pl.col("measure") == "AP")
    assert (curve["power"].diff().drop_nulls() >= -1e-9).all()
    assert (curve["width"].diff().drop_nulls() < 0).all()
    points = found.power_points("AP")
    assert points.filter(pl.col("method") == "paired t-test")["power"].to_list() == curve["power"].to_list()
    assert found.depth_points()["measure"].unique().sort().to_list() == ["AP", "RBP(p=0.8)"]
    assert "topics" in found.chart().to_json()
    assert "residual" in found.depth_chart().to_json()
    with pytest.raises(fm.FathomsError, match="nothing here on topics for P@3"):
        found.chart("P@3")
    with pytest.raises(fm.FathomsError, match="nothing here on depths"):
        fm.plan(variance=0.1).depth_chart()
    assert "power" in found._repr_html_()


def test_the_command_answers_first(fathoms: Command) -> None:
    done = fathoms("plan", "--variance", "0.03", "--n-topics", "50")
    lines = done.out.splitlines()
    assert done.status == 0
    assert lines[0] == (
        "It takes 97 topics to find a difference of 0.05 between two systems with power 80% (paired t-test, alpha "
        "0.05)."
    )
    assert "50 topics find a difference of 0.0700 with power 80%, and one of 0.05 with power 52%." in lines
    rows = json.loads(fathoms("plan", "--variance", "0.03", "--format", "json").out)
    assert next(row["topics"] for row in rows if row["question"] == "topics" and row["method"] == "t") == 97


def test_the_command_without_judgments(fathoms: Command, simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    done = fathoms("plan", "none", str(folder / "runs"), "-m", "RBP(p=0.8)", "-m", "AP", "--chart", "left.svg")
    assert done.status == 0
    assert "judgments for 4 runs" in done.out
    assert "the residual of AP depends on how many relevant documents there are" in done.err
    assert Path("left.svg").read_text().startswith("<svg")
    to_judge = fm.pool(folder / "runs", depth=1)
    assert f"\n    1  {len(to_judge):9,}" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to plan from: state the variance"),
        (["qrels.txt"], "QRELS without RUN"),
        (["--variance", "0"], "argument --variance: expected a number above 0, found '0'"),
        (["--variance", "0.1", "--power", "1"], "argument --power: expected a number between 0 and 1"),
        (["--variance", "0.1", "--power", "0.01"], "power: expected more than alpha, 0.05, found 0.01"),
        (["--variance", "0.1", "--systems", "1"], "argument --systems: expected a whole number from 2 on, found '1'"),
        (["--variance", "0.1", "--n-topics", "1"], "argument --n-topics: expected a whole number from 2 on"),
        (["--variance", "0.1", "--chart", "x.gif"], "x.gif: expected a name that ends in .svg, .png, .pdf, .html"),
        (["--variance", "0.1", "--likely"], "likely: likely intervals need judgments and runs"),
        (["--variance", "0.1", "--from-scores", "a.eval"], "variance: give either a variance or scores"),
        (["qrels.txt", "good.run"], "variance: one run shows nothing about differences"),
        (["-m", "AP"], "the residual of AP depends on how many relevant documents there are"),
        (["-m", "DCG"], "DCG reads to the end of a run; name a cut-off, such as DCG@20"),
        (["--from-scores", "nowhere.eval"], "nowhere.eval"),
        (["qrels.txt", "good.run", "--ties", "expected", "--variance", "0.1"], "ties: plan needs one order"),
    ],
)
def test_bad_requests(fathoms: Command, words: list[str], message: str) -> None:
    done = fathoms("plan", *words)
    assert done.status == 2
    assert message in done.err


def test_gmap_is_told_as_a_ratio(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=4, n_topics=8, n_docs=200, depth=40, seed=3)
    found = fm.plan(folder / "qrels.txt", folder / "runs", "GMAP", min_difference=0.5)
    assert "to find a ratio of 1.649 between two systems" in found.sentences[0]
    least = found.topics[0].answer("t").detectable
    assert least is not None
    assert f"find a ratio of {np.exp(least):.4g} with power 80%, and a ratio of 1.649" in found.remarks[1]


def test_too_little_to_see_a_variance() -> None:
    same = {"x": {"1": {"a": 1.0}, "2": {"a": 1.0}, "3": {"a": 1.0}}}
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    with pytest.raises(fm.FathomsError, match="no two runs differ by more on one topic than on another"):
        fm.plan(qrels, {**same, "y": same["x"]}, "P@1")
    with pytest.raises(fm.FathomsError, match="2 topics are too few"):
        fm.plan({"1": {"a": 1}, "2": {"a": 1}}, {**same, "y": {"1": {"b": 1.0}}}, "P@1")
