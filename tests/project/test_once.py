"""What an experiment has, nobody makes again: runs are brought into line, surveyed and scored once, whoever asks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.evidence.align import Alignment, Ranked, Ranking
from fathoms.evidence.evidence import Evidence
from fathoms.experiment import survey as surveys
from fathoms.measures.base import Measure

MEASURES = ["AP", "nDCG@10"]
RUNS = ("sys1", "sys2", "sys3")
Calls = Counter[tuple[str, str, bytes]]  # what was made, of what, from which evidence


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """How often a run was surveyed and brought into line, by the order it is in, and a measure scored evidence, by what
    that says of the places and of the universe: another order, judgments that are hidden, or the documents of a run
    alone, are other evidence."""
    counted: Calls = Counter()
    of, survey, scores = Alignment.of, surveys.survey, Measure.scores

    def counted_of(self: Alignment, ranked: Ranking, **how: Any) -> Any:
        counted["align", ranked.name, b"".join(ranked.documents.tolist()) + ranked.codes.tobytes()] += 1
        return of(self, ranked, **how)

    def counted_survey(ranked: Ranked, qrels: fm.Qrels) -> Any:
        counted["survey", ranked.name, ranked.codes.tobytes()] += 1
        return survey(ranked, qrels)

    def counted_scores(self: Measure, evidence: Evidence, **how: Any) -> Any:
        others = evidence.unjudged_in_universe
        universe = b"" if others is None else others.tobytes()
        counted["score", self.name, evidence.codes.tobytes() + evidence.counts.tobytes() + universe] += 1
        return scores(self, evidence, **how)

    monkeypatch.setattr(Alignment, "of", counted_of)
    monkeypatch.setattr("fathoms.experiment.base.survey", counted_survey)
    monkeypatch.setattr(Measure, "scores", counted_scores)
    return counted


@pytest.fixture(scope="module")
def experiment_of() -> Any:
    simulated = simulate(systems=3, n_topics=12, n_docs=400, depth=60, pool_depth=8, seed=2)

    def fresh() -> fm.Experiment:
        return fm.Experiment(
            fm.read_qrels(simulated.qrels), dict(zip(RUNS, simulated.runs.values(), strict=True)), workers=1
        )

    return fresh


def made(calls: Calls) -> dict[str, int]:
    """How many of each kind were made, none of them twice."""
    assert set(calls.values()) == {1}
    return dict(Counter(kind for kind, _, _ in calls))


EACH_ONCE = {"align": len(RUNS), "survey": len(RUNS), "score": len(RUNS) * len(MEASURES)}


@pytest.mark.filterwarnings("ignore:assumed pool")
def test_a_report_aligns_surveys_and_scores_each_run_once(experiment_of: Any, calls: Calls, tmp_path: Path) -> None:
    experiment_of().report(tmp_path / "report.html", measures=MEASURES)
    # The audit looks at one run in the order of its file, and says how wide another one's range is by itself.
    assert made(calls) == EACH_ONCE | {"align": len(RUNS) + 1, "score": len(RUNS) * len(MEASURES) + 1}


@pytest.mark.parametrize("question", ["evaluate", "compare", "rank", "predict"])
def test_a_question_aligns_surveys_and_scores_each_run_once(question: str, experiment_of: Any, calls: Calls) -> None:
    getattr(experiment_of(), question)(MEASURES)
    assert made(calls) == EACH_ONCE


def test_questions_share_what_an_experiment_has(experiment_of: Any, calls: Calls) -> None:
    experiment = experiment_of()
    for question in ("compare", "evaluate", "rank", "ties", "predict", "depth"):
        getattr(experiment, question)(MEASURES if question != "depth" else ["AP"])
    assert made(calls) == EACH_ONCE


def test_other_judgments_are_other_evidence(experiment_of: Any, calls: Calls) -> None:
    experiment = experiment_of()
    experiment.evaluate("AP")
    qrels = experiment.qrels
    experiment.with_qrels(qrels.keep(qrels.grades > 0)).evaluate("AP")
    assert made(calls) == {"align": 2 * len(RUNS), "survey": 2 * len(RUNS), "score": 2 * len(RUNS)}


def test_scores_are_the_same_whoever_made_them(experiment_of: Any) -> None:
    alone = experiment_of().compare(MEASURES, draws=50).frame
    after = experiment_of()
    evaluated = after.evaluate(MEASURES, by_topic=True).frame
    assert after.compare(MEASURES, draws=50).frame.equals(alone)
    assert after.evaluate(MEASURES, by_topic=True).frame.equals(evaluated)
