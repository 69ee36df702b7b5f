"""Estimates from judgments that are, by all signs, a random sample: against simulated truth, enumeration and plain
loops."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.simulate import simulate
from fathoms.estimate.design import SamplingDesign
from fathoms.estimate.drawn_sample import (
    APART,
    PRIOR_SPLITS,
    TOPICS,
    USUAL,
    common_widening,
    sample_scores,
    widened,
)
from fathoms.estimate.frame_documents import counted, graded, undrawn
from fathoms.estimate.mixed_logistic import MixedPrior, Outcomes, fit_mixed
from fathoms.estimate.sample_design import as_good_as, label_strata
from fathoms.estimate.sampling_frame import _falling, _flat_share, _inside, sampling_frame
from fathoms.estimate.self_check import interval
from fathoms.inference.grade_agreement import kappa
from fathoms.measures.parse import parse_measure

MEASURES = ["P@10", "nDCG@10", "RR@10", "ERR@20", "AP", "Q@20", "R@100"]


@cache
def world(seed: int) -> tuple[Any, Qrels]:
    made = simulate(systems=6, n_topics=25, n_docs=800, depth=50, pool_depth=25, unpooled=0, seed=seed, max_grade=2)
    return made.runs, read_qrels(made.qrels)


def share_of(qrels: Qrels, share: float, seed: int) -> dict[str, dict[str, float]]:
    """A random part of the judgments, as a file would have them."""
    kept = qrels.keep(np.random.default_rng(seed).random(len(qrels)) < share)
    return {topic: of for topic, of in kept.to_dict().items() if of}


def errors(seed: int, share: float, measures: list[str], **options: Any) -> dict[str, tuple[Any, Any, Any]]:
    """By measure: errors of the runs' estimated means, of their plain scores, and whether intervals cover."""
    runs, qrels = world(seed)
    known = share_of(qrels, share, seed)
    found = fm.Experiment(known, runs, workers=1).predict(measures, **options).calibrated
    assert found is not None
    assert found.frame is not None
    truth = {topic: of for topic, of in qrels.to_dict().items() if topic in known}
    whole = fm.evaluate(truth, runs, measures)
    outcome = {}
    for name in measures:
        of = whole.filter(whole["measure"] == name)
        score = dict(zip(of["run"], of["score"], strict=True))
        true = np.array([score[run] for run in found.runs])
        estimate = found[parse_measure(name)]
        low, high = interval(estimate.means, estimate.point_means)
        outcome[name] = (
            estimate.point_means - true,
            estimate.score.mean(axis=1) - true,
            (low <= true) & (true <= high),
        )
    return outcome


def test_estimates_of_every_measure_are_nearly_unbiased() -> None:
    """Before, the ideal and R were too great: -.05 and more by nDCG@10 and AP."""
    found = [errors(seed, 0.3, MEASURES, draws=60) for seed in range(2)]
    for name in MEASURES:
        off = np.array([one[name][0] for one in found])
        plain = np.array([one[name][1] for one in found])
        assert abs(off.mean()) < 0.04, name
        if name != "R@100":  # which loses little by few judgments
            assert np.sqrt((off**2).mean()) < 0.35 * np.sqrt((plain**2).mean()), name
    covered = np.mean([one[name][2] for one in found for name in MEASURES])
    assert covered > 0.85


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
def test_useless_labels_cost_next_to_nothing_and_good_ones_help() -> None:
    _runs, qrels = world(1)
    rng = np.random.default_rng(5)
    useless = {t: {d: float(rng.integers(4)) for d in of} for t, of in qrels.to_dict().items()}
    good = {t: {d: g + 0.3 * rng.standard_normal() for d, g in of.items()} for t, of in qrels.to_dict().items()}
    sizes = []
    for labels in ((), (useless,), (good,)):
        off = errors(1, 0.15, ["P@10", "nDCG@10", "AP"], labels=labels, draws=60)
        sizes.append(np.sqrt(np.mean([(one[0] ** 2).mean() for one in off.values()])))
    assert sizes[1] < 1.25 * sizes[0]
    assert sizes[2] < 0.7 * sizes[0]


# -- what was sampled -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_a_sample_of_a_pool_is_seen_and_a_pool_is_none(share: float) -> None:
    runs, qrels = world(2)
    exp = fm.Experiment(share_of(qrels, share, 3), runs)
    exp.prepare()
    found = exp.documents()
    frame = sampling_frame(found, None)
    assert frame is not None
    assert frame.rate == pytest.approx(share, rel=0.25)
    judged = {(t, d) for t, of in qrels.to_dict().items() for d in of}
    names = [(found.topics[t], d.decode()) for t, d in zip(found.topic.tolist(), found.documents.tolist(), strict=True)]
    in_pool = np.array([name in judged for name in names])
    assert frame.inside[in_pool].mean() > 0.75  # documents that were up for drawing
    assert frame.inside[~in_pool].mean() < 0.15
    shallow = fm.Experiment(qrels, runs)
    shallow.prepare()
    assert sampling_frame(shallow.documents(), None) is None


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
def test_labelled_documents_are_what_was_sampled_where_judgments_are_among_them() -> None:
    runs, qrels = world(2)
    rng = np.random.default_rng(8)
    part = qrels.keep(rng.random(len(qrels)) < 0.6)  # of the pool: no mere first ranks
    labels = {t: {d: float(rng.integers(2)) for d in of} for t, of in part.to_dict().items()}
    exp = fm.Experiment(share_of(part, 0.3, 4), runs)
    found = exp.predict("P@10", labels=labels)
    assert found.calibrated is not None
    frame = found.calibrated.frame
    assert frame is not None
    assert frame.labelled
    assert frame.size == pytest.approx(sum(len(of) for of in labels.values()), rel=0.1)
    assert any("of the labelled documents" in sentence for sentence in found.sentences)


def test_a_low_first_band_does_not_stand_for_the_rate() -> None:
    n, y = np.array([166.0, 129, 125, 141, 131, 353, 658, 783]), np.array([3.0, 7, 7, 11, 5, 15, 2, 0])
    flat = y[:6].sum() / n[:6].sum()
    assert _flat_share(n, y) == pytest.approx(flat)
    inside = _inside(n, y, flat)
    assert (inside[:6] == 1).all()
    assert inside[6:] == pytest.approx([2 / 658 / flat, 0.0])


def test_falling_shares_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = rng.integers(0, 30, 6).astype(float)
        y = np.floor(n * rng.random(6))
        shares = _falling(n, y)
        assert (np.diff(shares) <= 1e-12).all()
        # Isotonic regression: the greatest of the least means of the blocks around each place.
        for i in range(6):
            worst = []
            for last in range(i, 6):
                means = [
                    y[first : last + 1].sum() / n[first : last + 1].sum()
                    for first in range(i + 1)
                    if n[first : last + 1].sum()
                ]
                if means:
                    worst.append(min(means))
            if n[i] and worst:
                assert shares[i] == pytest.approx(max(worst))
    assert _flat_share(np.array([100.0, 100, 100]), np.array([30.0, 30, 3])) == pytest.approx(0.3)


def test_documents_that_no_run_has_are_as_many_as_there_are() -> None:
    rng = np.random.default_rng(1)
    true = rng.poisson(rng.gamma(2, 5, 40))
    drawn = rng.binomial(true, 0.25)
    more = undrawn(drawn, 0.25, 0, range(300))
    assert more.sum(axis=1).mean() == pytest.approx(drawn.sum() * 3, rel=0.05)
    assert np.corrcoef(more.mean(axis=0), true - drawn)[0, 1] > 0.5
    assert not undrawn(np.zeros(5, dtype=int), 0.25, 0, range(3)).any()


def test_documents_that_nobody_names_get_grades_by_their_chances() -> None:
    number = np.tile([400, 0, 900], (200, 1))
    chances = np.array([[0.5, 0.5, 0.2], [0.1, 0.1, 0.2]])[:, None].repeat(200, axis=1)  # [step, draw, topic]
    more = graded(number, chances, [1, 3], 4, 0, range(200))
    assert (more.sum(axis=2) == number).all()
    assert more.mean(axis=0)[0] == pytest.approx([200, 160, 0, 40], abs=3)
    assert more.mean(axis=0)[2] == pytest.approx([720, 0, 0, 180], abs=3)


def test_documents_are_counted_by_topic_and_level() -> None:
    levels = np.array([[0, 1, 2, 1], [2, 2, 0, 0]], dtype=np.int16)
    topic = np.array([0, 0, 1, 1])
    assert counted(levels, topic, (2, 3)).tolist() == [[[1, 1, 0], [0, 1, 1]], [[0, 0, 2], [2, 0, 0]]]


# -- halves of a sample -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "thin"), [(0.1, True), (0.5, False)])
def test_no_verdict_rests_on_a_thin_sample(share: float, thin: bool) -> None:
    runs, qrels = world(3)
    compared = fm.Experiment(share_of(qrels, share, 3), runs, workers=1).compare("P@10")
    assert all((pair.p_holds is None) == thin for pair in compared.pairs)
    assert any("no verdict rests on them" in sentence for sentence in compared.sentences) == thin
    assert not (thin and {pair.verdict for pair in compared.pairs} & {"supported", "certain"})


def sample_of(known: Any, runs: Any, **options: Any) -> Any:
    """What an estimate works with."""
    samples: list[Any] = []

    def kept(sample: Any, *args: Any) -> Any:
        samples.append(sample)
        return sample_scores(sample, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fathoms.estimate.estimates.sample_scores", kept)
        fm.Experiment(known, runs, workers=1).predict("AP", draws=8, **options)
    [sample] = samples
    return sample


def test_halves_are_of_each_topic_and_make_the_whole() -> None:
    runs, qrels = world(0)
    whole = sample_of(share_of(qrels, 0.3, 0), runs)
    judged = np.flatnonzero(whole.documents.judged & ~whole.documents.outside)
    for split in range(2):
        parts = whole.halves(split)
        own = [np.flatnonzero(part.documents.judged & ~part.documents.outside) for part in parts]
        assert np.array_equal(np.sort(np.concatenate(own)), judged)
        assert np.array_equal(parts[0].elsewhere + parts[1].elsewhere, whole.elsewhere)
        sizes = [np.bincount(part.documents.topic[part.documents.judged], minlength=25) for part in parts]
        assert np.abs(sizes[0] - sizes[1]).max() <= 1
        assert all(part.rate == pytest.approx(0.15, rel=0.4) for part in parts)


def test_uncertain_coefficients_and_effects_leave_the_chances_of_the_fit() -> None:
    runs, qrels = world(0)
    sample = sample_of(share_of(qrels, 0.3, 0), runs)
    model = sample.fitted()
    documents, fit, rng = sample.documents, model.fits[0], np.random.default_rng(0)
    rows = np.arange(0, len(documents), 7)
    features, topic = documents.features(rows).astype(float), documents.topic[rows]
    sloped = features[:, list(documents.sloped)]
    logits = features @ fit.coefficients + (sloped * fit.effects[topic]).sum(axis=1)
    away = rng.multivariate_normal(np.zeros(len(fit.shared)), fit.shared, 2000)
    following = np.einsum("nj,njp,dp->dn", sloped, fit.coupling[topic], away)
    own = np.stack([rng.multivariate_normal(np.zeros(len(block)), block, 2000) for block in fit.own])
    drawn = logits + away @ features.T - following + np.einsum("ndj,nj->dn", own[topic], sloped)
    drawn += model.sharpening(features.astype(np.float32), topic)[0]
    chance = 1 / (1 + np.exp(-logits))
    assert (1 / (1 + np.exp(-drawn))).mean(axis=0) == pytest.approx(chance, abs=0.03)


def test_drawn_chances_are_those_of_the_fit_for_documents_of_no_run_too() -> None:
    runs, qrels = world(0)
    sample = sample_of(share_of(qrels, 0.3, 0), runs)
    model = sample.fitted()
    documents = sample.documents
    features, topic = documents.typical_others
    fits = [
        features @ fit.coefficients + (features[:, documents.sloped] * fit.effects).sum(axis=1) for fit in model.fits
    ]
    expected = np.cumprod(1 / (1 + np.exp(-np.array(fits))), axis=0)
    chances = model.sampler(np.arange(3), 400, 0).chances((features, topic)).mean(axis=1)
    assert chances.mean() == pytest.approx(expected.mean(), abs=0.02)


def test_draws_are_widened_to_what_halves_show() -> None:
    """Means of samples without replacement: (1 - rate) / 4 of the halves' squared difference is their variance."""
    rng = np.random.default_rng(3)
    n, rate = 4000, 0.3
    values = rng.random((n, 6)) + rng.random((n, 1))
    real, guessed = [], []
    for _ in range(300):
        sample = rng.permutation(n)[: int(rate * n)]
        order = rng.permutation(len(sample))
        first, second = np.array_split(sample[order], 2)
        real.append(values[sample].mean(axis=0))
        guessed.append((1 - rate) / 4 * (values[first].mean(axis=0) - values[second].mean(axis=0)) ** 2)
    assert np.mean(guessed) == pytest.approx(np.var(real, axis=0).mean(), rel=0.15)
    shared = 0.01 * rng.standard_normal((400, 1))
    apart = 0.2 * rng.standard_normal((200, 1, 1)) * np.array([[[0.5], [-0.5]]]) + np.zeros((200, 2, 6))
    assert common_widening(shared, apart, 0.0, 1.5) == pytest.approx(10, rel=0.2)
    few = common_widening(shared, 0 * apart[:5], 0.0, 4.0)  # halves say nothing, and count for five splits
    assert few == pytest.approx(np.sqrt(4 * PRIOR_SPLITS / (5 + PRIOR_SPLITS)))
    assert common_widening(0 * shared, apart, 0.0, 1.5) == 1.0


def test_widened_draws_have_the_same_mean_and_leave_what_is_known() -> None:
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((300, 3, 7)) * np.array([0, 1, 2, 0.5, 1, 0, 3])
    after = widened(draws, np.zeros((5, 2, 3)), 0.2, True)
    assert after.mean(axis=0) == pytest.approx(draws.mean(axis=0))
    assert (after[:, :, [0, 5]] == draws[:, :, [0, 5]]).all()
    means, wider = draws.mean(axis=2), after.mean(axis=2)
    by_hand = max(1.0, np.sqrt(PRIOR_SPLITS * USUAL[True] / (5 + PRIOR_SPLITS)))
    assert wider.mean(axis=1).std() == pytest.approx(by_hand * means.mean(axis=1).std())
    assert (wider[:, 0] - wider[:, 1]).std() == pytest.approx(APART[True] * (means[:, 0] - means[:, 1]).std())
    own = draws[:, 0, 6] - means[:, 0] * draws[:, 0, 6].std() / draws[:, 0].std(axis=0).mean()
    assert (
        after[:, 0, 6] - wider[:, 0] * draws[:, 0, 6].std() / draws[:, 0].std(axis=0).mean()
    ).std() == pytest.approx(TOPICS * own.std())


def test_effects_of_topics_have_the_posterior_of_a_fine_grid() -> None:
    """One topic with nothing relevant: its effect is skewed, which a normal distribution is not."""
    y = np.concatenate([np.zeros(12), np.tile([1.0, 0.0], 10)])
    topic = np.repeat([0, 1], [12, 20])
    X, Z = np.ones((32, 1)), np.ones((32, 1))
    prior = MixedPrior(np.zeros(1), np.array([1e6]), np.eye(1) * 4.0, 1e6)
    fit = fit_mixed(X, Z, y, topic, 2, prior)
    outcomes = Outcomes(X, Z, y, topic, np.ones(32))
    rng = np.random.default_rng(0)
    _, effects = fit.closer_samples(4000, rng, outcomes, range(4000), (0, 1))
    grid = np.linspace(-15, 10, 5001)
    density = np.exp(-12 * np.logaddexp(0, grid) - grid**2 / 8)
    density /= density.sum()
    drawn = effects[:, 0, 0]
    assert drawn.mean() == pytest.approx(float((grid * density).sum()), abs=0.1)
    chance = float((density / (1 + np.exp(-grid))).sum())
    assert (1 / (1 + np.exp(-drawn))).mean() == pytest.approx(chance, rel=0.1)


# -- samples by label -------------------------------------------------------------------------------------------------


def test_strata_by_label_and_by_disagreement() -> None:
    one = np.array([[0.0], [2.0], [1.0], [np.nan], [2.0]])
    stratum, names = label_strata(one)
    assert [names[i] for i in stratum] == ["label 1 of 3", "label 3 of 3", "label 2 of 3", "no label", "label 3 of 3"]
    several = np.array([[0, 0], [1, 0], [1, 3], [0, np.nan]], dtype=float)
    stratum, names = label_strata(several)
    assert [names[i] for i in stratum] == ["no source", "sources disagree", "every source", "no source"]


def test_what_strata_save_is_what_they_save() -> None:
    """The variances of the share of relevant documents and of kappa, over many samples of a population."""
    rng = np.random.default_rng(6)
    sizes, drawn, chance = np.array([1200, 500, 300]), np.array([60, 50, 40]), np.array([0.08, 0.4, 0.85])
    stratum = np.repeat(np.arange(3), sizes)
    relevant = np.concatenate([np.arange(n) < round(p * n) for n, p in zip(sizes, chance, strict=True)])
    positive = stratum == 2
    share, of_kappa = as_good_as(sizes, drawn, chance)

    def figures(rows: Any, weight: Any) -> tuple[float, float]:
        table = np.zeros((2, 2))
        np.add.at(table, (relevant[rows].astype(int), positive[rows].astype(int)), weight)
        return float(table[1].sum() / table.sum()), float(kappa(table, 1 - np.eye(2)))

    stratified, plain = [], []
    for _ in range(1500):
        rows = np.concatenate([rng.choice(np.flatnonzero(stratum == h), drawn[h], replace=False) for h in range(3)])
        stratified.append(figures(rows, (sizes / drawn)[stratum[rows]]))
        plain.append(figures(rng.choice(2000, 150, replace=False), 1.0))
    own, alone = np.var(stratified, axis=0), np.var(plain, axis=0)
    for place, n in ((0, share), (1, of_kappa)):
        # Of a simple random sample the variance is v (1 / n - 1 / N).
        v = alone[place] / (1 / 150 - 1 / 2000)
        assert n == pytest.approx(1 / (own[place] / v + 1 / 2000), rel=0.15)


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
def test_kappa_of_a_sample_by_label_is_unbiased_with_weights_only() -> None:
    _runs, qrels = world(3)
    rng = np.random.default_rng(7)
    grades = {t: {d: int(g) for d, g in of.items()} for t, of in qrels.to_dict().items()}
    labels = {
        t: {d: float((g > 0) if rng.random() < 0.85 else rng.random() < 0.2) for d, g in of.items()}
        for t, of in grades.items()
    }

    def kappa_of(known: Any, **options: Any) -> float:
        return fm.Experiment(known, None).labels(labels, **options).sources[0].figures["kappa"].value or 0.0

    whole = kappa_of(qrels)
    weighted, plain = [], []
    listed = [(t, d, 0.6 if labels[t][d] else 0.1) for t, of in grades.items() for d in of]
    topics = list(grades)
    for seed in range(10):
        sampled = np.random.default_rng(seed).random(len(listed)) < [chance for *_, chance in listed]
        known: dict[str, dict[str, int]] = {}
        for (topic, document, _), use in zip(listed, sampled.tolist(), strict=True):
            if use:
                known.setdefault(topic, {})[document] = grades[topic][document]
        design = SamplingDesign(
            topics,
            np.array([topics.index(topic) for topic, *_ in listed], dtype=np.int32),
            np.array([document.encode() for _, document, _ in listed]),
            probability=np.array([chance for *_, chance in listed]),
        )
        weighted.append(kappa_of(known, sampled=design))
        plain.append(kappa_of(known))
    assert abs(np.mean(weighted) - whole) < 0.025
    assert abs(np.mean(plain) - whole) > 3 * abs(np.mean(weighted) - whole)
