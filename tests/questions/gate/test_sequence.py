"""Looking every week: false alarms of 26 looks without a change, and the file that keeps the looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.evidence.evidence import Floats
from fathoms.inference.non_inferiority import p_above
from fathoms.inference.spending import level_of_look

WEEKS, TOPICS, YEARS = 26, 40, 1500


def weekly(rng: np.random.Generator, shared: float) -> Floats:
    """Differences [year, week, topic] without a change on average; such a share of the variance is that of the topics,
    the same every week."""
    own = rng.normal(size=(YEARS, WEEKS, TOPICS))
    return np.asarray(np.sqrt(shared) * rng.normal(size=(YEARS, 1, TOPICS)) + np.sqrt(1 - shared) * own)


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_false_alarms_of_half_a_year(shared: float) -> None:
    """At most alpha with shared alpha, however much the weeks have in common; without it in up to 7 of 10 years."""
    p = p_above(-weekly(np.random.default_rng(1), shared), 0.0)
    alarms = (p < level_of_look(0.05, WEEKS)).any(axis=1).mean()
    assert alarms <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / YEARS)
    assert (p < 0.05).any(axis=1).mean() > (0.6 if shared == 0 else 0.1)


def test_a_real_drop_is_found() -> None:
    weeks = weekly(np.random.default_rng(2), 0.5)[:, :1] - 0.8
    p = p_above(-weeks, 0.0)
    assert (p < level_of_look(0.05, WEEKS)).mean() > 0.9


def world() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(3)
    qrels = {str(t): {f"d{i}": int(i < 5) for i in range(20)} for t in range(12)}

    def run(strength: float) -> dict[str, Any]:
        return {
            t: {d: float(rng.normal() + strength * grade) for d, grade in grades.items()} for t, grades in qrels.items()
        }

    return qrels, run(1.0), run(0.25)


def test_looks_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    qrels, good, worse = world()

    def look(candidate: Any, **options: Any) -> fm.Gate:
        return fm.Experiment(qrels, {"good": good, "new": candidate}).gate("AP", sequence=log, looks=3, **options)

    first = look(good)
    assert first.outcome == "passes"
    second = look(worse)
    assert second.look is not None
    assert (second.look.number, second.look.level) == (2, 0.05 / 3)
    [row] = second.measured
    assert second.outcome == ("fails" if row.p_drop_corrected < 0.05 / 3 else "cannot tell")
    assert any(line.startswith("Look 2 of 3: alarms are raised at 0.017") for line in second.findings)
    again = look(worse)
    assert again.look is not None
    assert (again.look.number, again.look.again) == (2, True)
    assert len(log.read_text().splitlines()) == 2
    with pytest.raises(fm.FathomsError, match=r"was begun with alpha 0\.05 for 3 looks"):
        look(worse, alpha=0.1)
    shifted = {topic: dict(reversed(list(documents.items()))) for topic, documents in good.items()}
    shifted["0"] = {d: -s for d, s in good["0"].items()}
    look(shifted)
    with pytest.raises(fm.FathomsError, match="has 3 looks, and alpha was shared by 3"):
        look(good | {"1": worse["1"]})
    kept = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["number"] for one in kept] == [1, 2, 3]
    assert all(one["level"] == pytest.approx(0.05 / 3) for one in kept)


def test_an_alarm_needs_its_share_and_passing_does_not(tmp_path: Path) -> None:
    """Between the shared level and alpha a gate by itself fails, and one of many looks does not."""
    qrels, good, worse = world()
    pair = {"good": good, "new": worse}
    alone = fm.Experiment(qrels, pair).gate("AP")
    p = alone.measured[0].p_drop_corrected
    assert alone.outcome == "fails"
    looks = int(0.05 / p) + 2
    one_of_many = fm.Experiment(qrels, pair).gate("AP", sequence=tmp_path / "log", looks=looks)
    assert one_of_many.outcome == "cannot tell"
    assert any("A gate by itself, at 0.05, would fail here" in line for line in one_of_many.findings)
    enough = fm.Experiment(qrels, pair).gate("AP", sequence=tmp_path / "other", looks=max(1, int(0.05 / p)))
    assert enough.outcome == "fails"


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    log.write_text('{"number": 1}\n')
    qrels, good, worse = world()
    with pytest.raises(fm.FathomsError, match="is not a look of a gate"):
        fm.Experiment(qrels, {"good": good, "new": worse}).gate("AP", sequence=log)
