"""Common checks over every registered gain model, significance test, correction, judging strategy, relevance model and
feature of it.

Whoever adds one adds its oracle to a table here, a row to its table in the docs, and its name where the command line
looks for it; what is forgotten fails here, with a message that says where it belongs.
"""

from __future__ import annotations

import ast
import itertools
import math
import pkgutil
import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

import fathoms.estimate.names
import fathoms.inference.names
import fathoms.judging.strategy_names
from fathoms.base.errors import FathomsError
from fathoms.estimate.gain_models import GAIN_MODELS, GainModel
from fathoms.estimate.predictors import PREDICTORS
from fathoms.estimate.relevance import FEATURES, RELEVANCE_MODELS, Fusion, Heights
from fathoms.inference.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS
from fathoms.judging.bandits import RecentMaxMean
from fathoms.judging.engine import Engine
from fathoms.judging.select import STRATEGIES, HedgeWeight, RBPWeight, Weight
from fathoms.questions.predict.analysis import METHODS
from tests.estimate.test_relevance import experts_by_loops, fusion_by_one_regression, some, world
from tests.judging.test_engine import Judgments, World, pair_weights
from tests.support import slow_bandits
from tests.support import slow_rtc as slow
from tests.support.paths import ROOT

Floats = NDArray[np.float64]
HERE = "tests/cli/test_common_registries.py"


def oracle(table: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in table:
        pytest.fail(f"{name} has no oracle: add a slow and plain version of it to {where} in {HERE}")
    return table[name]


# -- names, facts, docs, command line ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Registry:
    """Where a registry is shown: the modules, pages and flags that have to know each of its names."""

    entries: Mapping[str, Any]
    names: tuple[str, Sequence[str]] | None  # where the light list of names is, and the list
    page: tuple[str, str]  # file in docs, and the first cell of the table's header
    flag: tuple[str, str] | None  # command and flag


REGISTRIES = {
    "gain models": Registry(
        GAIN_MODELS,
        ("GAIN_MODELS in estimate/names.py", fathoms.estimate.names.GAIN_MODELS),
        ("predict.md", "method"),
        ("predict", "--method"),
    ),
    "relevance models": Registry(
        RELEVANCE_MODELS,
        ("RELEVANCE_MODELS in estimate/names.py", fathoms.estimate.names.RELEVANCE_MODELS),
        ("predict.md", "method"),
        ("predict", "--method"),
    ),
    "features": Registry(FEATURES, None, ("predict.md", "feature"), None),
    "significance tests": Registry(
        SIGNIFICANCE_TESTS,
        ("TESTS in inference/names.py", fathoms.inference.names.TESTS),
        ("compare.md", "`--test`"),
        ("compare", "--test"),
    ),
    "corrections": Registry(
        CORRECTION_METHODS,
        ("CORRECTIONS in inference/names.py", fathoms.inference.names.CORRECTIONS),
        ("compare.md", "`--correction`"),
        ("compare", "--correction"),
    ),
    "strategies": Registry(
        STRATEGIES,
        ("STRATEGIES in judging/strategy_names.py", fathoms.judging.strategy_names.STRATEGIES),
        ("judge.md", "`--strategy`"),
        ("judge", "--strategy"),
    ),
}


def rows_of(page: str, header: str) -> list[str]:
    """The names, in backticks, that begin the rows of all tables of a page whose header begins with that cell."""
    found, inside = [], False
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[1] == header:
            inside = True
        elif inside and (name := re.match(r"`([^`]+)`", cells[1])):
            found.append(name[1])
    return found


def choices_of(command: str, flag: str) -> list[str]:
    parser = ArgumentParser()
    import_module(f"fathoms.questions.{command}.command").add_arguments(parser)
    [action] = [action for action in parser._actions if flag in action.option_strings]
    # Words that may have parameters are listed, and not all there is.
    return list(action.choices or str(action.metavar).strip("{}").split(","))


@pytest.mark.parametrize("kind", REGISTRIES)
class TestEveryRegistry:
    def test_facts_are_there(self, kind: str) -> None:
        for name, entry in REGISTRIES[kind].entries.items():
            assert entry.name == name, f"{kind}: {entry.name!r} is registered as {name!r}"
            assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name), f"{name}: a name is lower case, with hyphens"
            assert entry.description, f"{name}: say in `description` what it does"
            if kind not in ("features",) and name != "none":
                assert entry.citation, f"{name}: say in `citation` where it is from"

    def test_the_light_list_of_names_is_complete(self, kind: str) -> None:
        known = REGISTRIES[kind].names
        if known is None:
            return
        where, names = known
        assert list(names) == list(REGISTRIES[kind].entries), f"{where} lists other {kind} than the registry"

    def test_the_docs_have_a_row_for_each(self, kind: str) -> None:
        page, header = REGISTRIES[kind].page
        missing = [name for name in REGISTRIES[kind].entries if name not in rows_of(page, header)]
        assert not missing, f"add a row for {', '.join(missing)} to the table {header} of docs/{page}"

    def test_the_docs_have_no_other_rows(self, kind: str) -> None:
        page, header = REGISTRIES[kind].page
        sharing = [registry.entries for registry in REGISTRIES.values() if registry.page == (page, header)]
        known = {name for entries in sharing for name in entries} | (set(PREDICTORS) if header == "method" else set())
        strange = [name for name in rows_of(page, header) if name not in known]
        assert not strange, f"docs/{page} has rows for {', '.join(strange)}, which no registry knows"

    def test_the_command_line_offers_each(self, kind: str) -> None:
        offered = REGISTRIES[kind].flag
        if offered is None:
            return
        command, flag = offered
        missing = [name for name in REGISTRIES[kind].entries if name not in choices_of(command, flag)]
        assert not missing, (
            f"`fathoms {command} {flag}` (src/fathoms/questions/{command}/command.py) lacks {', '.join(missing)}"
        )


def test_the_command_line_offers_nothing_else() -> None:
    assert fathoms.estimate.names.METHODS == METHODS
    assert choices_of("predict", "--method") == [*METHODS, "all"]
    assert choices_of("compare", "--test") == list(SIGNIFICANCE_TESTS)
    assert choices_of("compare", "--correction") == list(CORRECTION_METHODS)
    assert choices_of("judge", "--strategy") == list(STRATEGIES)


# -- nothing is forgotten ------------------------------------------------------------------------------------------


def concrete(base: type[Any], package: str) -> Iterator[type[Any]]:
    """All classes of a family that have no classes below them, wherever in the package they are."""
    for module in pkgutil.iter_modules([str(ROOT / "src" / "fathoms" / package)], f"fathoms.{package}."):
        import_module(module.name)
    below = [cls for cls in base.__subclasses__() if cls.__module__.startswith("fathoms.")]
    for cls in below:
        inner = list(concrete(cls, package))
        yield from inner or [cls]


def test_every_gain_model_is_registered() -> None:
    known = {type(model) for model in GAIN_MODELS.values()}
    for cls in concrete(GainModel, "estimate"):
        assert cls in known, f"{cls.__name__} is no gain model yet: put an instance into GAIN_MODELS (gain_models.py)"


def test_every_weight_belongs_to_a_strategy() -> None:
    known = {strategy.weight for strategy in STRATEGIES.values()}
    for cls in concrete(Weight, "judging"):
        assert cls in known, (
            f"no strategy has {cls.__name__}: put a Strategy with it into STRATEGIES (judging/select.py)"
        )


def used_names(module: str) -> set[str]:
    """Names of a module that it reads itself, that others import from it or that they write behind its name."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name) and path.match(module):
                found.add(node.id)
            elif isinstance(node, ast.ImportFrom) and f"fathoms.{module[:-3].replace('/', '.')}" == node.module:
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found |= {node.attr} if node.value.id == Path(module).stem else set()
    return found


@pytest.mark.parametrize(
    ("module", "where"),
    [
        ("inference/significance.py", "SIGNIFICANCE_TESTS or CORRECTION_METHODS"),
        ("inference/paired_tests.py", "SIGNIFICANCE_TESTS"),
        ("estimate/relevance.py", "FEATURES"),
    ],
)
def test_every_function_is_used(module: str, where: str) -> None:
    tree = ast.parse((ROOT / "src" / "fathoms" / module).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    forgotten = sorted(functions - used_names(module))
    assert not forgotten, f"nothing uses {', '.join(forgotten)} of {module}: put an entry with it into {where} there"


# -- gain models ---------------------------------------------------------------------------------------------------

Curve = Callable[[float], float]


def weibull(k: float) -> float:
    return float(12 * (0.95 ** ((k - 1) ** 0.9) - 0.95 ** (k**0.9)))


# The gain at rank k for some parameters, and these parameters.
GAIN_ORACLES: dict[str, tuple[Curve, dict[str, float]]] = {
    "static": (lambda k: 0.5, {}),
    "constant": (lambda k: 0.3 if k <= 17 else 0.0, {"lambda_0": 0.3, "m": 17}),
    "linear": (lambda k: max(0.8 - 0.02 * k, 0.0), {"lambda_0": 0.02, "c": 0.8}),
    "zipf": (lambda k: 0.9 / k**0.7, {"height": 0.9, "c": 0.7}),
    "weibull": (weibull, {"lambda_0": 12, "lambda_1": 0.05, "c": 0.9}),
    "hybrid": (weibull, {"model": 4}),
}


@pytest.mark.parametrize("name", GAIN_MODELS)
class TestEveryGainModel:
    def test_it_finds_the_parameters_of_what_it_made(self, name: str) -> None:
        curve, parameters = oracle(GAIN_ORACLES, name, "GAIN_ORACLES")
        fit = GAIN_MODELS[name].fit(np.array([[curve(k) for k in range(1, 61)]]))
        assert not fit.at_limit[0], f"{name}: `box` is too narrow for the curve of its oracle"
        found = {key: float(value[0]) for key, value in fit.parameters().items()}
        assert found == pytest.approx(parameters, rel=1e-2), f"{name}: other parameters than those of its own curve"
        beyond = np.array([curve(k) for k in range(1, 201)])
        np.testing.assert_allclose(fit.predict(np.arange(1.0, 201))[0], beyond, atol=2e-3)

    def test_every_parameter_is_described(self, name: str) -> None:
        model = GAIN_MODELS[name]
        found = model.fit(np.full((2, 9), 0.25)).parameters()
        assert set(found) == set(model.parameters), f"{name}: `parameters` describes others than `named` gives"
        assert all(model.parameters.values()), f"{name}: say in `parameters` what each means"

    @pytest.mark.parametrize("max_gain", [1.0, 3.0])
    def test_predictions_are_gains(self, name: str, max_gain: float) -> None:
        rng = np.random.default_rng(7)
        falling = np.sort(rng.random((20, 30)), axis=1)[:, ::-1]
        gains = max_gain * np.concatenate([rng.random((20, 30)) < 0.3, falling, np.zeros((1, 30)), np.ones((1, 30))])
        weights = (rng.random(gains.shape) < 0.8).astype(np.float64)
        curves = GAIN_MODELS[name].fit(gains, max_gain, weights).predict(np.arange(1.0, 501))
        assert np.isfinite(curves).all()
        assert ((curves >= 0) & (curves <= max_gain)).all(), f"{name}: a predicted gain outside 0 to {max_gain:g}"
        if GAIN_MODELS[name].never_rises:
            assert (np.diff(curves, axis=1) <= 1e-12).all(), f"{name} says never_rises, and rises"
        else:
            assert (np.diff(curves, axis=1) > 1e-12).any(), (
                f"{name} never rises on {len(gains)} topics: say never_rises"
            )


# -- significance tests --------------------------------------------------------------------------------------------


def by_all_signs(scores: Floats, i: int, j: int) -> float:
    differences = (scores[i] - scores[j]).tolist()
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(one >= abs(sum(differences)) - 1e-12 for one in sums) / len(sums)


def by_all_resamples(scores: Floats, i: int, j: int) -> float:
    differences = (scores[i] - scores[j]).tolist()
    mean = sum(differences) / len(differences)
    moved = [d - mean for d in differences]
    sums = [abs(sum(drawn)) for drawn in itertools.product(moved, repeat=len(moved))]
    return sum(one >= abs(sum(differences)) - 1e-9 for one in sums) / len(sums)


def by_two_way_layout(scores: Floats, i: int, j: int) -> float:
    k, n = scores.shape
    rows, columns = scores.mean(axis=1), scores.mean(axis=0)
    squares = [(scores[s, t] - rows[s] - columns[t] + scores.mean()) ** 2 for s in range(k) for t in range(n)]
    error = sum(squares) / ((k - 1) * (n - 1))
    return float(stats.studentized_range.sf(abs(rows[i] - rows[j]) / math.sqrt(error / n), k, (k - 1) * (n - 1)))


def by_partial_fractions(scores: Floats, i: int, j: int) -> float:
    """Twice the smaller tail of a mean with Dirichlet(1, .., 1) weights, in exact fractions: for distinct values d the
    chance of a sum above 0 is the sum over positive d_i of d_i^(n-1) / prod (d_i - d_j). Equal ones are moved apart."""
    d = [Fraction(float(x)) + Fraction(k, 10**6) for k, x in enumerate(scores[i] - scores[j])]
    above = sum(
        (x ** (len(d) - 1) / math.prod(x - y for y in d if y is not x) for x in d if x > 0),
        start=Fraction(0),
    )
    return float(2 * min(above, 1 - above))


def by_signs(scores: Floats, i: int, j: int) -> float:
    plus, minus = int((scores[i] > scores[j]).sum()), int((scores[i] < scores[j]).sum())
    return float(stats.binomtest(plus, plus + minus).pvalue)


NOISE = 3.2  # standard errors that a share of seeded draws may be off

# p of one pair, how many topics to ask it for, and how near the test comes: some of them draw.
TEST_ORACLES: dict[str, tuple[Callable[[Floats, int, int], float], int, float]] = {
    "t": (lambda scores, i, j: stats.ttest_rel(scores[i], scores[j]).pvalue, 12, 1e-9),
    "wilcoxon": (lambda scores, i, j: stats.wilcoxon(scores[i] - scores[j]).pvalue, 20, 1e-9),
    "sign": (by_signs, 20, 1e-9),
    "randomization": (by_all_signs, 9, 1e-9),
    "bootstrap": (by_all_resamples, 5, 0.02),
    "bayes": (by_partial_fractions, 9, 0.03),
    "tukey": (by_two_way_layout, 12, 1e-9),
}


@pytest.mark.parametrize("name", SIGNIFICANCE_TESTS)
class TestEverySignificanceTest:
    @pytest.mark.parametrize("steps", [0, 2])  # without ties and zeros, and with both
    def test_it_agrees_with_its_oracle(self, name: str, steps: int) -> None:
        expected, topics, near = oracle(TEST_ORACLES, name, "TEST_ORACLES")
        for seed in range(3):
            scores = np.random.default_rng(seed).normal(size=(4, topics)) + np.arange(4)[:, None] * 0.3
            scores = np.round(scores * steps) / steps if steps else scores
            p = SIGNIFICANCE_TESTS[name].p_values(scores, seed)
            for i, j in itertools.combinations(range(4), 2):
                assert p[i, j] == pytest.approx(expected(scores, i, j), abs=near), (
                    f"{name}, pair {i} and {j}{' of scores with ties and equal ones' if steps else ''}"
                )

    @pytest.mark.parametrize("steps", [0, 4])  # with ties and zeros, and without
    def test_p_is_a_symmetric_matrix_of_probabilities(self, name: str, steps: int) -> None:
        scores = np.random.default_rng(8).random((5, 18))
        scores = np.round(scores * steps) / steps if steps else scores
        scores[4] = scores[0]
        p = SIGNIFICANCE_TESTS[name].p_values(scores, 1)
        assert ((p >= 0) & (p <= 1)).all()
        np.testing.assert_array_equal(p, p.T)
        np.testing.assert_array_equal(np.diag(p), 1)
        assert p[0, 4] == 1, f"{name}: the same run twice has p {p[0, 4]:g}"
        backwards = SIGNIFICANCE_TESTS[name].p_values(scores[::-1], 1)
        np.testing.assert_allclose(backwards[::-1, ::-1], p, atol=1e-12, err_msg="the order of the systems matters")

    def test_p_is_right_where_there_is_no_difference(self, name: str) -> None:
        """The chance of a p-value that a test can have, or a smaller one, is that p-value. A test that has only few
        (the sign test) is looked at where it has one, the greatest up to a level."""
        rng = np.random.default_rng(9)
        found = np.array([SIGNIFICANCE_TESTS[name].p_values(rng.normal(size=(2, 20)), 1)[0, 1] for _ in range(200)])
        for level in (0.05, 0.5):
            assert (found <= level).any(), f"{name}: none of {len(found)} p is at most {level}"
            p = found[found <= level].max()
            share, noise = (found <= p).mean(), NOISE * math.sqrt(p * (1 - p) / len(found))
            assert share <= p + noise, f"{name}: {share:.1%} of p are at most {p:.3g}; its p-values are too small"
            assert share >= p - noise, f"{name}: only {share:.1%} of p are at most {p:.3g}; its p-values are too large"

    def test_it_allows_for_all_pairs_if_it_says_so(self, name: str) -> None:
        """The chance of any claim about five equal systems is alpha, or far more where each pair stands alone."""
        rng, alpha, rounds = np.random.default_rng(18), 0.05, 60
        tests = [SIGNIFICANCE_TESTS[name].p_values(rng.normal(size=(5, 20)), 1) for _ in range(rounds)]
        share = np.mean([p.min() <= alpha for p in tests])
        most = alpha + NOISE * math.sqrt(alpha * (1 - alpha) / rounds)
        if SIGNIFICANCE_TESTS[name].allows_for_all_pairs:
            what = "it says allows_for_all_pairs, which switches corrections off"
            assert share <= most, f"{name} finds a difference among equal systems {share:.0%} of the time; {what}"
        else:
            assert share > most, f"{name} seems to allow for all pairs ({share:.0%}); state allows_for_all_pairs"

    def test_a_clear_difference_is_found(self, name: str) -> None:
        scores = np.random.default_rng(10).normal(size=(2, 30)) + np.array([[0], [3]])
        assert SIGNIFICANCE_TESTS[name].p_values(scores, 1)[0, 1] < 0.001


# -- corrections ---------------------------------------------------------------------------------------------------


def holm_rejects(p: Sequence[float], alpha: float) -> set[int]:
    """Down from the smallest p, until one is not small enough for the comparisons that are left."""
    rejected: set[int] = set()
    for i in sorted(range(len(p)), key=lambda i: p[i]):
        if p[i] > alpha / (len(p) - len(rejected)):
            break
        rejected.add(i)
    return rejected


def benjamini_hochberg_rejects(p: Sequence[float], alpha: float) -> set[int]:
    """As many of the smallest as can be, the greatest of them at most their share of alpha."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    most = max((n for n in range(1, len(p) + 1) if p[order[n - 1]] <= alpha * n / len(p)), default=0)
    return set(order[:most])


# What is claimed at a level alpha, by the procedure as its authors describe it.
CORRECTION_ORACLES: dict[str, Callable[[Sequence[float], float], set[int]]] = {
    "none": lambda p, alpha: {i for i, one in enumerate(p) if one <= alpha},
    "bonferroni": lambda p, alpha: {i for i, one in enumerate(p) if one <= alpha / len(p)},
    "holm": holm_rejects,
    "bh": benjamini_hochberg_rejects,
}


@pytest.mark.parametrize("name", CORRECTION_METHODS)
class TestEveryCorrection:
    def test_it_claims_what_its_oracle_claims(self, name: str) -> None:
        rejects = oracle(CORRECTION_ORACLES, name, "CORRECTION_ORACLES")
        rng = np.random.default_rng(11)
        for n in (1, 2, 5, *[12] * 20):
            p = 0.5 * rng.random(n) ** 2
            adjusted = CORRECTION_METHODS[name].adjust(p)
            for alpha in rng.random(50):
                claimed = set(np.flatnonzero(adjusted <= alpha).tolist())
                assert claimed == rejects(p.tolist(), float(alpha)), f"{name}: p {p.tolist()}, alpha {alpha}"

    def test_it_gives_probabilities_in_the_same_order(self, name: str) -> None:
        p = np.array([0.5, 0.01, 1.0, 0.01, 0.0, 0.3])
        adjusted = CORRECTION_METHODS[name].adjust(p)
        assert ((adjusted >= p) & (adjusted <= 1)).all()
        assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
        assert len(CORRECTION_METHODS[name].adjust(np.empty(0))) == 0


# -- strategies ----------------------------------------------------------------------------------------------------

Weights = dict[int, float]  # of unjudged candidates


def of_pairs(which: str) -> Callable[[World, Judgments, Floats], Weights]:
    return lambda world, made, p: pair_weights(world, made, [(0, 1)], which, p)


def unjudged(weight: Callable[[World, int], float]) -> Callable[[World, Judgments, Floats], Weights]:
    return lambda world, made, p: {i: weight(world, i) for i in range(len(world)) if i not in dict(made)}


def summed_rbp(world: World, number: int) -> float:
    topic, doc = world.place[number]
    return sum(RBPWeight.p ** ranking.index(doc) for ranking in world.rankings(topic) if doc in ranking)


def hedged(world: World, made: Judgments, p: Floats) -> Weights:
    def weight(world: World, number: int) -> float:
        topic, doc = world.place[number]
        known = world.known(made, topic)
        return slow.hedge_weight(world.rankings(topic), world.candidates.depth, known, HedgeWeight.rate, doc)

    return unjudged(weight)(world, made, p)


def moved_to_front(world: World, made: Judgments, p: Floats) -> Weights:
    """1 for what the ranking in front would give next, 0 for all else; which topic comes next is left open."""
    topics = [slow.MoveToFront(world.rankings(t)) for t in range(world.n_topics)]
    for number, relevant in made:
        topic, doc = world.place[number]
        topics[topic].judge(doc, relevant)
    return unjudged(lambda world, i: float(world.place[i][1] in topics[world.place[i][0]].allowed()))(world, made, p)


def by_bandit(values: Callable[[int], Any]) -> Callable[[World, Judgments, Floats], Weights]:
    """1 for what the best arm of a topic with the fewest judgments would give next, 0 for all else."""

    def weigh(world: World, made: Judgments, p: Floats) -> Weights:
        topics = [slow_bandits.SlowBandit(world.rankings(t), values(t)) for t in range(world.n_topics)]
        for number, relevant in made:
            topic, doc = world.place[number]
            topics[topic].judge(doc, bool(relevant))
        fewest = min(len(bandit.judged) for bandit in topics if bandit.allowed())

        def weight(world: World, number: int) -> float:
            topic, doc = world.place[number]
            return float(len(topics[topic].judged) == fewest and doc in topics[topic].allowed())

        return unjudged(weight)(world, made, p)

    return weigh


# Weights of the unjudged candidates of two systems by plain loops, from judgments in order and probabilities.
STRATEGY_ORACLES: dict[str, Callable[[World, Judgments, Floats], Weights]] = {
    "fusion": of_pairs("variance"),
    "expected": of_pairs("expected"),
    "rtc": of_pairs("mtc"),
    "mtc": of_pairs("mtc"),
    "pool": unjudged(lambda world, i: -world.least_rank(i)),
    "depth": unjudged(lambda world, i: -1000 * world.place[i][0] - world.least_rank(i)),
    "mtf": moved_to_front,
    "hedge": hedged,
    "rbp": unjudged(summed_rbp),
    "maxmean": by_bandit(lambda topic: slow_bandits.maxmean),
    "maxmean-ns": by_bandit(lambda topic: slow_bandits.recent(RecentMaxMean.rate)),
    "thompson": by_bandit(slow_bandits.thompson),
    "find-all": lambda world, made, p: {i: float(p[i]) for i in range(len(world)) if i not in dict(made)},
}


@pytest.mark.parametrize("name", STRATEGIES)
class TestEveryStrategy:
    def test_it_picks_what_its_oracle_weighs_most(self, name: str) -> None:
        weigh = oracle(STRATEGY_ORACLES, name, "STRATEGY_ORACLES")
        for seed in range(3):
            made_up = World(seed, k=2)
            engine = Engine(made_up.candidates, name, seed=seed)
            made: Judgments = []
            while (number := engine.next()) is not None:
                p = np.zeros(len(made_up))
                numbers, chances = engine.probabilities()
                p[numbers] = chances
                weights = weigh(made_up, made, p)
                assert number in weights, f"{name} picked a document that is judged"
                best = max(weights.values())
                assert weights[number] == pytest.approx(best, rel=1e-9, abs=1e-12), f"{name}, judgment {len(made)}"
                engine.judge(number, made_up.truth[number])
                made.append((number, made_up.truth[number]))

    def test_it_ends_when_all_is_judged_and_is_the_same_again(self, name: str) -> None:
        made_up = World(3, k=4)
        orders = []
        for _ in range(2):
            engine = Engine(made_up.candidates, name, seed=5)
            order: list[int] = []
            while (number := engine.next()) is not None:
                assert len(order) < len(made_up), f"{name} does not end"
                engine.judge(number, made_up.truth[number])
                order.append(number)
            orders.append(order)
        assert orders[0] == orders[1], f"{name}: the same seed chose otherwise"
        assert sorted(orders[0]) == list(range(len(made_up))), f"{name} left documents out"


def test_an_unknown_strategy_is_answered_with_those_there_are() -> None:
    with pytest.raises(FathomsError, match=f"expected one of {', '.join(STRATEGIES)} or "):
        Engine(World(0).candidates, "guess")


# -- relevance models and their features ---------------------------------------------------------------------------


def by_experts(block: Any, judged: Any, relevant: Any) -> Floats:
    features, coefficients, _ = experts_by_loops(block, judged, relevant)
    return expit(features @ coefficients)


def by_one_regression(block: Any, judged: Any, relevant: Any) -> Floats:
    columns, coefficients, _ = fusion_by_one_regression(block, judged, relevant)
    return expit(columns @ coefficients)


RELEVANCE_ORACLES: dict[str, Callable[[Any, Any, Any], Floats]] = {"experts": by_experts, "fusion": by_one_regression}


@pytest.mark.parametrize("name", RELEVANCE_MODELS)
class TestEveryRelevanceModel:
    def test_it_agrees_with_its_oracle(self, name: str) -> None:
        expected = oracle(RELEVANCE_ORACLES, name, "RELEVANCE_ORACLES")
        rng = np.random.default_rng(12)
        block, relevant = world(rng)
        judged = some(rng, block, 0.5)
        found = RELEVANCE_MODELS[name](block).fit(judged, relevant)
        np.testing.assert_allclose(found.probability, expected(block, judged, relevant), atol=1e-3)

    def test_probabilities_are_some_and_of_other_documents_the_same(self, name: str) -> None:
        rng = np.random.default_rng(13)
        block, relevant = world(rng, k=5, n_topics=6, n=40, depth=25)
        found = RELEVANCE_MODELS[name](block).fit(some(rng, block, 0.4), relevant)
        assert found.probability.shape == block.number.shape
        assert ((found.probability >= 0) & (found.probability <= 1)).all()
        np.testing.assert_allclose(found.of(block, np.arange(6)), found.probability, atol=1e-12)

    def test_relevant_documents_are_mostly_above_others(self, name: str) -> None:
        rng = np.random.default_rng(14)
        block, relevant = world(rng, k=6, n_topics=8, n=60, depth=40)
        judged = some(rng, block, 0.3)
        p = RELEVANCE_MODELS[name](block).fit(judged, relevant).probability
        new = block.present & ~judged
        above = p[new & relevant][:, None] > p[new & ~relevant]
        assert above.mean() > 0.7, f"{name}: of two documents the relevant one has more in {above.mean():.0%} of cases"


def height(rank: int, depth: int) -> float:
    return 1 - math.log(rank) / math.log(depth + 1)


# The value for a document with these ranks (None: not retrieved), one a system, in rankings of that depth.
FEATURE_ORACLES: dict[str, Callable[[list[int | None], int], float]] = {
    "share": lambda ranks, depth: math.sqrt(sum(r is not None for r in ranks) / len(ranks)),
    "height": lambda ranks, depth: math.sqrt(sum(height(r, depth) for r in ranks if r is not None) / len(ranks)),
    "intercept": lambda ranks, depth: 1.0,
}


@pytest.mark.parametrize("name", FEATURES)
class TestEveryFeature:
    def test_it_agrees_with_its_oracle(self, name: str) -> None:
        value = oracle(FEATURE_ORACLES, name, "FEATURE_ORACLES")
        block, _ = world(np.random.default_rng(15))
        found = FEATURES[name].values(Heights.of(block))
        for topic, column in np.argwhere(block.present).tolist():
            ranks = [int(rank) or None for rank in block.rank[topic, :, column]]
            assert found[topic, column] == pytest.approx(value(ranks, block.depth)), f"{name}: ranks {ranks}"

    def test_it_is_finite_and_one_a_document(self, name: str) -> None:
        block, _ = world(np.random.default_rng(16), k=4, n_topics=5, n=30, depth=20)
        found = FEATURES[name].values(Heights.of(block))
        assert found.shape == block.number.shape, f"{name}: {found.shape} is not [topic, column]"
        assert np.isfinite(found).all()
        assert np.abs(found).max() <= 2, f"{name}: values far from 0 to 1 do not suit the priors"

    def test_the_model_uses_it_with_its_prior(self, name: str) -> None:
        block, _ = world(np.random.default_rng(17))
        model, place = Fusion(block), list(FEATURES).index(name)
        np.testing.assert_array_equal(model.features[:, :, place], FEATURES[name].values(Heights.of(block)))
        assert model.prior.mean[place] == FEATURES[name].prior_mean
        assert model.prior.precision[place] == pytest.approx(1 / FEATURES[name].prior_spread ** 2)
        assert FEATURES[name].prior_spread >= 0.5, f"{name}: a prior so narrow is not moved by judgments"


# -- papers name their own -----------------------------------------------------------------------------------------


def test_a_new_entry_changes_no_paper() -> None:
    from fathoms.papers import gain, rtc

    assert gain.MODELS == ("static", "constant", "linear", "zipf", "weibull")
    assert tuple(model.name for model in GAIN_MODELS["hybrid"].models) == gain.MODELS  # type: ignore[attr-defined]
    assert tuple(rtc.METHODS) == ("MTC", "RTC literal", "RTC", "RTC uncertain", "fusion")
    for module in (gain, rtc):
        used = set(vars(module)) & {"GAIN_MODELS", "MODEL_NAMES", "RELEVANCE_MODELS", "TESTS", "SIGNIFICANCE_TESTS"}
        assert not used, f"{module.__name__} goes through {', '.join(used)}; name the entries that the paper uses"
