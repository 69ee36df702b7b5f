"""From what a model predicts to what may be said: how much of a predicted change came true in the backtests, and how
far from it the truth lay.

A model's draws make a score move for two reasons: the run's own documents turn out relevant, and R or the ideal ranking
grows. Backtests say, measure by measure, what share of each came true (`came_true`), so that

    score once judged = score + a (own documents) + b (ideal) + deviations,

with a and b drawn together for all runs, and the model's deviations widened until they explain what was seen. Where
that does no better than the score itself, the score is the estimate; the interval is still that of the draws, which is
what the backtests say of the score's errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathoms.base.tolerances import SAME
from fathoms.evidence.evidence import Bools, Floats

PRIOR_SHARE, PRIOR_SPREAD = 0.9, 0.3  # of a predicted change that comes true, before backtests
MOST_SHARE = 1.5
SHARE_SPREAD = 0.10  # of a and b together, beyond what differs from backtest to backtest
OWN_SPREAD = 0.03  # of each of them alone
# Where only the ideal changes, as in nDCG@10 once the first ten are judged, it does in a few topics with few relevant
# documents; there the model tends to expect some that are not there.
IDEAL_ONLY_SPREAD, IDEAL_ONLY_TOPICS = 0.8, 10.0
PRIOR_WIDENING, PRIOR_CASES = 1.5, 6.0
COMMON_WIDENING = 1.3  # of the deviation that all runs share, of which one collection shows little
GROWTH, TOPIC_GROWTH = 0.3, 0.4  # of widths, for each unit of log depth that lies beyond the backtests
MANY_ELSEWHERE = 0.5  # of the judged documents
MOST = 25.0  # squared standard errors that one case counts for at most

TINY = 1e-12  # so that nothing is divided by 0


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model makes of all runs and topics: [run, topic], and its draws about the mean."""

    score: Floats  # as judged
    own: Floats  # change by the runs' own documents, R and ideal being as drawn
    ideal: Floats  # change by R or the ideal ranking alone
    deviations: Floats  # [draw, run, topic]
    distance: float  # how far beyond the pool the documents lie

    @property
    def fixed(self) -> Bools:
        """Where no draw changes anything."""
        still = (np.abs(self.own) <= SAME) & (np.abs(self.ideal) <= SAME)
        return still & (np.abs(self.deviations).max(axis=0, initial=0.0) <= SAME)

    @property
    def of_ideal_only(self) -> Bools:
        """Where the run's own documents are all known."""
        return (np.abs(self.own) <= SAME) & ~self.fixed


@dataclass(frozen=True, eq=False)
class Case:
    """A backtest: what was predicted from the part, and what all judgments say."""

    predicted: Prediction
    truth: Floats  # [run, topic]

    @property
    def change(self) -> Floats:
        return self.truth - self.predicted.score


@dataclass(frozen=True)
class Selection:
    """How the judged documents were chosen, and what that says of the share of a predicted change that comes true;
    None: backtests say it."""

    name: str
    share: float | None = None
    spread: float = 0.0
    discount: float = 1.0  # of what backtests say


POOLED = Selection("pooled")
# A model learns from a random sample what holds for all documents.
SAMPLED = Selection("sampled", 1.0)


def selected(elsewhere: float) -> Selection:
    """Neither a pool nor a sample, with a share of the judged documents `elsewhere`, in no given run. Where that is
    most of them, other runs had documents judged, and what these did not find is relevant much less often: with single
    runs of TREC-8, TREC-COVID and simulated collections 0.24 to 0.39 of what was predicted came true. Where there are
    none, somebody chose among the documents of these runs, and the model holds for the rest."""
    others = min(1.0, elsewhere / MANY_ELSEWHERE)
    return Selection("selected", 1 - 0.7 * others, 0.1 + 0.1 * others)


def pooled_with_others(judged: float) -> Selection:
    """A pool of which not all runs are given: beyond its depth a share of the documents is `judged` all the same, those
    that other runs had further up, and less comes true of what the rest seems to promise. With a third judged it was
    0.7 to 1.0 on TREC-8, TREC-COVID and simulated collections, with nearly all judged about 0.3."""
    return Selection("pooled", None, 0.4 * judged, 1 - 0.6 * judged)


@dataclass(frozen=True)
class Widening:
    """By how much deviations of runs' means, and of single topics, are widened."""

    of_means: float
    of_topics: float

    def __call__(self, deviations: Floats, at_least: float, beyond: float) -> Floats:
        """Wider deviations [draw, run, topic], of documents that lie so far `beyond` those of the backtests."""
        common, of_means, of_topics = parts(deviations)
        means = max(at_least, self.of_means) * (1 + GROWTH * beyond)
        topics = max(at_least, self.of_topics) * (1 + TOPIC_GROWTH * beyond)
        return COMMON_WIDENING * common + means * of_means + topics * of_topics


@dataclass(frozen=True)
class Margins:
    """By how much intervals are widened where the collection's own check found them too narrow."""

    of_means: float = 1.0
    of_topics: float = 1.0

    def __call__(self, drawn: Floats) -> Floats:
        """Draws [draw, run, topic] farther from their mean: those of runs' means, and what topics deviate from them."""
        if self == Margins():
            return drawn
        center = drawn.mean(axis=0)
        of_means = (drawn - center).mean(axis=-1, keepdims=True)
        return np.asarray(center + self.of_means * of_means + self.of_topics * (drawn - center - of_means))


@dataclass(frozen=True, eq=False)
class Calibration:
    """What backtests say of a measure."""

    own: float  # share of a change by own documents that comes true
    ideal: float  # and of one by the ideal
    ideal_only: float  # the same where own documents are all known
    ideal_only_spread: float  # of that, from topic to topic
    ideal_only_helps: bool  # whether that comes closer than the score itself
    spread: float  # of these, from backtest to backtest
    widening: Widening  # of deviations
    ideal_only_widening: Widening  # the same where own documents are all known
    distance: float  # of the backtests
    model_error: float  # root mean square over runs and topics, out of sample
    plain_error: float
    cases: tuple[Case, ...]
    selection: Selection

    @property
    def uses_model(self) -> bool:
        """Whether the model does better than the score itself; where no backtest tells, nothing speaks against it."""
        return self.selection.share is not None or not self.cases or self.model_error < self.plain_error

    def without(self, i: int) -> Calibration:
        """What all other backtests say, for a look at one out of sample."""
        selection = replace(self.selection, discount=1.0)  # what is hidden was in the pool
        return calibrate([case for j, case in enumerate(self.cases) if j != i], selection)

    def draws(self, predicted: Prediction, seed: int) -> Floats:
        """Scores once judged, [draw, run, topic]."""
        n = len(predicted.deviations)
        rng = np.random.default_rng((seed, n, 2))
        beyond = max(0.0, predicted.distance - self.distance)
        spread = np.hypot(SHARE_SPREAD, self.spread) * (1 + GROWTH * beyond)
        together, of_own, of_ideal = rng.standard_normal((3, n, 1, 1))
        own = self.own + spread * together + OWN_SPREAD * of_own
        only, n_topics = predicted.of_ideal_only, predicted.score.shape[1]
        ideal = np.where(only, self.ideal_only, self.ideal)
        by_topic = self.ideal_only_spread * (together + rng.standard_normal((n, 1, n_topics)))
        moved = np.where(only, by_topic, spread * together + OWN_SPREAD * of_ideal)
        # No less than what comes true of the mean: that nothing changes is to stay possible.
        away = self.widening(np.where(only, 0.0, predicted.deviations), self.own, beyond)
        if only.any():
            away += self.ideal_only_widening(np.where(only, predicted.deviations, 0.0), self.ideal_only, beyond)
        drawn = predicted.score + own * predicted.own + (ideal + moved) * predicted.ideal + away
        return np.where(predicted.fixed, predicted.score, drawn)

    def point(self, predicted: Prediction, drawn: Floats) -> Floats:
        """The estimate, [run, topic]: the mean of the draws, or the score where that came closer in the backtests."""
        if not self.uses_model:
            return predicted.score
        as_it_is = predicted.fixed
        if not self.ideal_only_helps:
            as_it_is = as_it_is | predicted.of_ideal_only
        return np.where(as_it_is, predicted.score, drawn.mean(axis=0))


def parts(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Values [..., run, topic] as a sum: of what all runs and topics share, of each run's mean, of the rest."""
    means = values.mean(axis=-1, keepdims=True)
    common = means.mean(axis=-2, keepdims=True)
    return common, means - common, values - means


UNKNOWN = Widening(PRIOR_WIDENING, PRIOR_WIDENING)


def calibrate(cases: Sequence[Case], selection: Selection = POOLED) -> Calibration:
    """What backtests say of one measure. Where the `selection` of what is judged says what share of a change comes
    true, backtests widen deviations only."""
    share = PRIOR_SHARE if selection.share is None else selection.share
    calibration = Calibration(
        own=share,
        ideal=share,
        ideal_only=share,
        ideal_only_spread=IDEAL_ONLY_SPREAD,
        ideal_only_helps=True,
        spread=float(np.hypot(SHARE_SPREAD, selection.spread)),
        widening=UNKNOWN,
        ideal_only_widening=UNKNOWN,
        distance=0.0,
        model_error=np.nan,
        plain_error=np.nan,
        cases=tuple(cases),
        selection=selection,
    )
    if not cases:
        return calibration
    widening, ideal_only_widening = _widening(cases)
    distance = float(np.mean([case.predicted.distance for case in cases]))
    calibration = replace(calibration, widening=widening, ideal_only_widening=ideal_only_widening, distance=distance)
    if selection.share is not None:
        return replace(calibration, spread=selection.spread)
    own, ideal = _came_true(cases)
    only, only_spread = _came_true_of_ideal(cases, ideal)
    model_error, plain_error = _errors(cases)
    shares = [_came_true([case])[0] for case in cases]
    discount = selection.discount
    spread = float(np.std(shares)) if len(cases) > 1 else SHARE_SPREAD
    return replace(
        calibration,
        own=discount * own,
        ideal=discount * ideal,
        ideal_only=discount * only,
        ideal_only_spread=only_spread,
        ideal_only_helps=_ideal_only_helps(cases),
        spread=float(np.hypot(spread, selection.spread)),
        model_error=model_error,
        plain_error=plain_error,
    )


def _came_true(cases: Sequence[Case]) -> tuple[float, float]:
    """Shares of predicted changes that came true, by least squares over topics and over means of runs alike, with a
    prior; where the run's own documents are all known, another number is used.

    Runs share their documents, so all of them together count as one.
    """
    A, b, change_squares, cells = np.zeros((2, 2)), np.zeros(2), 0.0, 0.0
    for case in cases:
        use = ~case.predicted.of_ideal_only & ~case.predicted.fixed
        columns = [np.where(use, part, 0.0) for part in (case.predicted.own, case.predicted.ideal, case.change)]
        n_runs, n_topics = max(1, int(use.any(axis=1).sum())), use.shape[1]
        for weight, (own, ideal, change) in (
            (1.0 / n_runs, columns),
            (float(n_topics) / n_runs, [column.mean(axis=1) for column in columns]),
        ):
            M = np.stack([own.ravel(), ideal.ravel()])
            A += weight * (M @ M.T)
            b += weight * (M @ change.ravel())
            change_squares += weight * float(change.ravel() @ change.ravel())
        cells += 2 * use.any(axis=0).sum()
    shares = np.full(2, PRIOR_SHARE)
    for _ in range(2):  # how noisy it is, is seen once shares are known
        residual_squares = change_squares - 2 * shares @ b + shares @ A @ shares
        prior = max(residual_squares / max(1.0, cells), TINY) / PRIOR_SPREAD**2
        shares = np.linalg.solve(A + prior * np.eye(2), b + prior * PRIOR_SHARE)
    own, ideal = np.clip(shares, 0.0, MOST_SHARE).tolist()
    return own, ideal


def _came_true_of_ideal(cases: Sequence[Case], otherwise: float) -> tuple[float, float]:
    """The same where only the ideal changes, and how that varies from topic to topic."""
    predicted = np.concatenate([case.predicted.ideal[case.predicted.of_ideal_only] for case in cases])
    change = np.concatenate([case.change[case.predicted.of_ideal_only] for case in cases])
    if not len(predicted):
        return otherwise, IDEAL_ONLY_SPREAD
    size = max(float(predicted @ predicted), TINY)
    share = min(max(float(predicted @ change) / size, 0.0), 1.0)
    residual = change - share * predicted
    topics = sum(int(case.predicted.of_ideal_only.any(axis=0).sum()) for case in cases)
    spread = float(residual @ residual) / size
    pooled = (topics * spread + IDEAL_ONLY_TOPICS * IDEAL_ONLY_SPREAD**2) / (topics + IDEAL_ONLY_TOPICS)
    return share, float(np.sqrt(pooled))


def _ideal_only_helps(cases: Sequence[Case]) -> bool:
    """Whether, where only the ideal changes, what the other backtests say comes closer by a tenth than the score."""
    model, plain = 0.0, 0.0
    for i, case in enumerate(cases):
        use, others = case.predicted.of_ideal_only, [*cases[:i], *cases[i + 1 :]]
        share = _came_true_of_ideal(others, PRIOR_SHARE)[0] if others else PRIOR_SHARE
        model += float(((case.change - share * case.predicted.ideal)[use] ** 2).sum())
        plain += float((case.change[use] ** 2).sum())
    return np.sqrt(model) <= 0.9 * np.sqrt(plain)


def _errors(cases: Sequence[Case]) -> tuple[float, float]:
    """Root mean square errors of model and score, each backtest by what the others say; topics and runs' means count
    alike, as both are estimated."""
    model, plain = [], []
    for i, case in enumerate(cases):
        own, ideal = (PRIOR_SHARE, PRIOR_SHARE) if len(cases) == 1 else _came_true([*cases[:i], *cases[i + 1 :]])
        others = [*cases[:i], *cases[i + 1 :]]
        only = _came_true_of_ideal(others, ideal)[0] if others else ideal
        of_ideal = np.where(case.predicted.of_ideal_only, only, ideal)
        error = case.change - own * case.predicted.own - of_ideal * case.predicted.ideal
        model.append(np.mean(error**2) + np.mean(error.mean(axis=1) ** 2))
        plain.append(np.mean(case.change**2) + np.mean(case.change.mean(axis=1) ** 2))
    return float(np.sqrt(np.mean(model))), float(np.sqrt(np.mean(plain)))


def _widening(cases: Sequence[Case]) -> tuple[Widening, Widening]:
    """What 95% of what was seen asks for; where only the ideal changes, by itself."""
    squares: list[list[Floats]] = [[], [], [], []]
    for i, case in enumerate(cases):
        others = [*cases[:i], *cases[i + 1 :]]
        own, ideal = _came_true(others) if others else (PRIOR_SHARE, PRIOR_SHARE)
        only = _came_true_of_ideal(others, ideal)[0] if others else ideal
        predicted, alone = case.predicted, case.predicted.of_ideal_only
        error = case.change - own * predicted.own - np.where(alone, only, ideal) * predicted.ideal
        for place, use in ((0, ~alone), (2, alone)):
            _, mean_error, topic_error = parts(np.where(use, error, 0.0))
            _, means, topics = parts(np.where(use, predicted.deviations, 0.0))
            squares[place].append(_squares(mean_error, means))
            squares[place + 1].append(_squares(topic_error, topics)[use[_moves(topics)]])
    factors = [_factor(np.concatenate(parts_squares)) for parts_squares in squares]
    return Widening(factors[0], factors[1]), Widening(factors[2], factors[3])


def _moves(deviations: Floats) -> Bools:
    return np.asarray((deviations**2).mean(axis=0) > SAME**2)


def _squares(errors: Floats, deviations: Floats) -> Floats:
    """Squared errors in standard deviations, where draws deviate at all."""
    some = _moves(deviations)
    return np.minimum(errors[some] ** 2 / (deviations**2).mean(axis=0)[some], MOST)


def _factor(squares: Floats) -> float:
    """At least 1: the greater of the root mean square and of the 95% quantile over that of a normal distribution, with
    some cases of prior."""
    prior = PRIOR_WIDENING**2
    mean = (squares.sum() + PRIOR_CASES * prior) / (len(squares) + PRIOR_CASES)
    if not len(squares):
        return float(np.sqrt(mean))
    share = len(squares) / (len(squares) + PRIOR_CASES)
    tail = share * np.quantile(squares, 0.95) / 1.96**2 + (1 - share) * prior
    return float(max(1.0, np.sqrt(max(mean, tail))))
