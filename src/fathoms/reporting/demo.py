"""The whole story on a collection of which the truth is known: what is seen, what is claimed, what judging changes.

The truth of a statement is what it would be with all documents that it is about judged: those of all runs for scores
and their order, those of two runs for their comparison. Relevant documents that no run retrieved are in neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Runs, read_runs
from fathoms.data.simulate import Collection, simulate
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.reading import ReadingOptions
from fathoms.inference.correlation import correlation
from fathoms.inference.names import VERDICTS
from fathoms.judging.documents_to_judge import known
from fathoms.judging.engine import Engine
from fathoms.judging.events import JudgingSettings
from fathoms.questions.audit.analysis import run_audit
from fathoms.questions.audit.result import Audit
from fathoms.questions.compare.analysis import run_comparison
from fathoms.questions.compare.result import Comparison
from fathoms.questions.eval.analysis import Evaluation, run_evaluation

MEASURE = "AP"
POOL_DEPTH = 5


@dataclass(frozen=True, eq=False)
class JudgingOutcome:
    """A judging effort that has come to its end."""

    made: int  # judgments
    settled: int  # pairs
    right: int  # of them, those settled the true way round
    expected: Floats  # AP of each run, as the engine believes
    qrels: Qrels  # all judgments there are now


@dataclass(frozen=True, eq=False)
class Demo:
    collection: Collection
    qrels: Qrels
    runs: Runs
    before: Evaluation
    scores: Floats  # AP of each run as seen
    truth: Floats  # with all documents of all runs judged
    complete: Floats  # with those judged too that no run retrieved
    unretrieved: int  # relevant documents among those
    compared: Comparison
    right: dict[str, tuple[int, int]]  # by verdict: pairs whose order is the true one, of how many
    audit: Audit
    documents: int  # that the runs retrieved
    inside: int  # of them judged from the start
    start: JudgingOutcome  # without further judgments
    judged: JudgingOutcome
    scores_after: Floats  # AP as seen with these judgments
    pooled: JudgingOutcome  # the same number of judgments in the order of a pool

    @property
    def below(self) -> int:
        """Runs whose AP would leave its range if documents that no run retrieved counted."""
        measure = self.before.measures[0]
        lows = [run.mean(measure)["low"] or 0.0 for run in self.before.runs]
        return int((self.complete < np.array(lows) - 1e-12).sum())

    def tau(self, scores: Floats) -> float:
        """Kendall's tau with the true order."""
        return correlation(scores, self.truth)


def demonstrate(
    seed: int, budget: int, *, systems: int = 8, n_topics: int = 20, n_docs: int = 2000, depth: int = 100
) -> Demo:
    collection = simulate(
        systems=systems,
        n_topics=n_topics,
        n_docs=n_docs,
        depth=depth,
        pool_depth=POOL_DEPTH,
        max_grade=1,
        seed=seed,
    )
    how: ReadingOptions = {"pooled": collection.pooled, "groups": collection.groups, "workers": 1}
    experiment = BaseExperiment(collection.qrels, read_runs(collection.runs), **how)
    qrels, complete, runs = experiment.qrels, read_qrels(collection.truth), experiment.runs
    measures = experiment.measures(MEASURE)

    def scored(judgments: Qrels) -> Evaluation:
        return run_evaluation(BaseExperiment(judgments, runs, **how), measures, by_topic=True)

    settings = JudgingSettings()
    pooled = candidates(runs, None, settings.ties, settings.precision, qrels.topics)
    relevant = pooled.judged_by(complete, settings.rel)[1]
    unjudged = np.flatnonzero(~pooled.judged_by(qrels, settings.rel)[0])
    of_all = scored(with_judgments(qrels, pooled, unjudged, relevant))
    truth = _means(of_all)
    before = run_evaluation(experiment, measures)
    compared = run_comparison(experiment, measures)
    differences = pair_truths(pooled, qrels, relevant, np.stack([run.scores[measures[0]].score for run in of_all.runs]))
    judged = judge(pooled, qrels, relevant, truth, budget, settings.strategy)
    return Demo(
        collection=collection,
        qrels=qrels,
        runs=runs,
        before=before,
        scores=_means(before),
        truth=truth,
        complete=_means(scored(complete)),
        unretrieved=int(pooled.relevant_elsewhere(complete, settings.rel).sum()),
        compared=compared,
        right=_right(compared, list(runs), differences),
        audit=run_audit(experiment),
        documents=len(pooled),
        inside=len(known(pooled, qrels)),
        start=judge(pooled, qrels, relevant, truth, 0, settings.strategy),
        judged=judged,
        scores_after=_means(scored(judged.qrels)),
        pooled=judge(pooled, qrels, relevant, truth, judged.made, "pool", to_the_end=True),
    )


def judge(
    pooled: Candidates,
    qrels: Qrels,
    relevant: Bools,
    truth: Floats,
    budget: int,
    strategy: str,
    *,
    to_the_end: bool = False,
) -> JudgingOutcome:
    """Judge by the truth until all pairs are settled or the budget is spent; `to_the_end` spends all of it."""
    before = list(known(pooled, qrels).items())
    elsewhere = pooled.judged_elsewhere(qrels, np.array([0.0, 1.0]))
    engine = Engine(pooled, strategy, elsewhere=elsewhere, imported=len(before))
    engine.load(before)
    made: list[int] = []
    while len(made) < budget and (to_the_end or not engine.settled()):
        number = engine.next()
        if number is None:
            break
        engine.judge(number, bool(relevant[number]))
        made.append(number)
    sure = engine.confidence() >= engine.until
    right = sure & (truth[:, None] > truth[None, :])
    now = with_judgments(qrels, pooled, np.array(made, dtype=np.int64), relevant)
    return JudgingOutcome(len(made), int(sure.sum()), int(right.sum()), engine.expected(), now)


def with_judgments(qrels: Qrels, pooled: Candidates, numbers: Ints, relevant: Bools) -> Qrels:
    """The judgments, and those of some more candidates."""
    return Qrels(
        qrels.topics,
        np.concatenate([qrels.topic, pooled.topic[numbers]]).astype(np.int32),
        np.concatenate([qrels.documents, pooled.documents[numbers]]),
        np.concatenate([qrels.grades, relevant[numbers].astype(np.float64)]),
    )


def pair_truths(pooled: Candidates, qrels: Qrels, relevant: Bools, scores: Floats) -> Floats:
    """[a, b]: the difference of AP of two runs with all documents of these two judged.

    `scores` are AP [run, topic] with the documents of all runs judged. With those of two, all that changes is the
    number of relevant documents, by which AP divides.
    """
    block = pooled.block()
    new = block.values(relevant & ~pooled.judged_by(qrels)[0])
    already = np.array([((qrels.topic == number) & (qrels.grades >= 1)).sum() for number in range(len(qrels.topics))])
    retrieved = block.rank > 0
    total = already + new.sum(axis=1)
    n = len(pooled.names)
    differences = np.zeros((n, n))
    for a in range(n):
        for b in range(n):
            of_two = already + (new & (retrieved[:, a] | retrieved[:, b])).sum(axis=1)
            differences[a, b] = ((scores[a] - scores[b]) * total / np.maximum(of_two, 1)).mean()
    return differences


def _means(scored: Evaluation) -> Floats:
    return np.array([run.mean(scored.measures[0])["score"] for run in scored.runs])


def _right(compared: Comparison, names: Sequence[str], differences: Floats) -> dict[str, tuple[int, int]]:
    """How many pairs of each verdict are in the true order; equal means have no order to be true."""
    place = {name: number for number, name in enumerate(names)}
    right: dict[str, tuple[int, int]] = {}
    for verdict in VERDICTS[:-1]:
        pairs = [pair for pair in compared.pairs if pair.verdict == verdict]
        truths = [differences[place[pair.run_a], place[pair.run_b]] for pair in pairs]
        right[verdict] = (sum(p.diff * true > 0 for p, true in zip(pairs, truths, strict=True)), len(pairs))
    return right
