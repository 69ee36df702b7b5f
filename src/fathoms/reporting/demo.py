"""The whole story on a collection of which the truth is known: what is seen, what is claimed, what judging changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathoms.comparison.audit import run_audit
from fathoms.comparison.audit_result import Audit
from fathoms.comparison.compare import Comparison, run_comparison
from fathoms.comparison.correlation import correlation
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Runs, read_runs
from fathoms.data.simulate import Collection, simulate
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.evidence.evidence import Bools, Floats
from fathoms.experiment.base import BaseExperiment, ReadingOptions
from fathoms.experiment.evaluate import Evaluation, run_evaluation
from fathoms.judging.engine import Engine
from fathoms.judging.log import JudgingSettings
from fathoms.judging.session import known

MEASURE = "AP"


@dataclass(frozen=True, eq=False)
class JudgingOutcome:
    """A judging effort that has come to its end."""

    made: int  # judgments
    open_pairs: int
    expected: Floats  # MAP of each system, as the engine believes
    tau: float  # Kendall's, between that and the truth
    qrels: Qrels  # all judgments there are now


@dataclass(frozen=True, eq=False)
class Demo:
    collection: Collection
    qrels: Qrels
    runs: Runs
    before: Evaluation
    scores: Floats  # MAP of each system as seen
    truth: Floats  # and with everything judged
    tau: float  # between the scores seen and the truth
    compared: Comparison
    right: dict[str, tuple[int, int]]  # by verdict: pairs whose order is the true one, of how many
    audit: Audit
    documents: int  # that the systems retrieved
    inside: int  # of them judged from the start
    open_pairs: int  # before any judging
    judged: JudgingOutcome
    pooled: JudgingOutcome  # the same number of judgments in the order of a pool


def demonstrate(seed: int, budget: int) -> Demo:
    collection = simulate(systems=8, n_topics=20, n_docs=2000, depth=100, pool_depth=5, max_grade=1, seed=seed)
    how: ReadingOptions = {"pooled": collection.pooled, "groups": collection.groups, "workers": 1}
    experiment = BaseExperiment(collection.qrels, read_runs(collection.runs), **how)
    qrels, complete, runs = experiment.qrels, read_qrels(collection.truth), experiment.runs
    measures = experiment.measures(MEASURE)
    before = run_evaluation(experiment, measures)
    truth = _means(run_evaluation(BaseExperiment(complete, runs, **how), measures))
    compared = run_comparison(experiment, measures)
    audited = run_audit(experiment)
    settings = JudgingSettings()
    found = candidates(runs, settings.depth, settings.ties, settings.precision, qrels.topics)
    relevant = found.judged_by(complete, settings.rel)[1]
    judged = judge(found, qrels, relevant, truth, budget, settings.strategy)
    pooled = judge(found, qrels, relevant, truth, judged.made, "pool", to_the_end=True)
    return Demo(
        collection=collection,
        qrels=qrels,
        runs=runs,
        before=before,
        scores=_means(before),
        truth=truth,
        tau=correlation(_means(before), truth),
        compared=compared,
        right=_right(compared, dict(zip(runs, truth.tolist(), strict=True))),
        audit=audited,
        documents=len(found),
        inside=len(known(found, qrels)),
        open_pairs=judge(found, qrels, relevant, truth, 0, settings.strategy).open_pairs,
        judged=judged,
        pooled=pooled,
    )


def judge(
    found: Candidates,
    qrels: Qrels,
    relevant: Bools,
    truth: Floats,
    budget: int,
    strategy: str,
    *,
    to_the_end: bool = False,
) -> JudgingOutcome:
    """Judge by the truth until all pairs are settled or the budget is spent; `to_the_end` spends all of it."""
    engine = Engine(found, strategy, elsewhere=found.relevant_elsewhere(qrels))
    engine.load([(number, grade >= 1) for number, grade in known(found, qrels).items()])
    made: list[int] = []
    while len(made) < budget and (to_the_end or not engine.settled()):
        number = engine.next()
        if number is None:
            break
        engine.judge(number, bool(relevant[number]))
        made.append(number)
    now = Qrels(
        qrels.topics,
        np.concatenate([qrels.topic, found.topic[made]]).astype(np.int32),
        np.concatenate([qrels.documents, found.documents[made]]),
        np.concatenate([qrels.grades, relevant[made].astype(np.float64)]),
    )
    expected = engine.expected()
    return JudgingOutcome(len(made), len(engine.open_pairs()), expected, correlation(expected, truth), now)


def _means(scored: Evaluation) -> Floats:
    return np.array([run.mean(scored.measures[0])["score"] for run in scored.runs])


def _right(compared: Comparison, truth: dict[str, float]) -> dict[str, tuple[int, int]]:
    """How many of the claims are true."""
    found = {}
    for verdict in ("certain", "supported", "fragile", "open"):
        pairs = [pair for pair in compared.pairs if pair.verdict == verdict]
        found[verdict] = (sum(pair.diff * (truth[pair.run_a] - truth[pair.run_b]) > 0 for pair in pairs), len(pairs))
    return found
