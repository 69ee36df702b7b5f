"""A gate used week after week: its looks, kept in a file, share one chance of a false alarm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fathoms.base.errors import InputError
from fathoms.data.fingerprint import content_of_qrels
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.spending import level_of_look


@dataclass(frozen=True)
class Look:
    """One look: which of how many that share alpha, at which level it raises an alarm, and what it looked at."""

    number: int
    looks: int
    alpha: float
    level: float
    judgments: str  # fingerprints
    runs: dict[str, str]
    again: bool = False  # the same files were looked at before


FIELDS = ("number", "looks", "alpha", "level", "judgments", "runs")


def next_look(path: Path, experiment: BaseExperiment, alpha: float, looks: int) -> Look:
    """The look that is due. Looking at the same files again is not another look."""
    before = read_looks(path)
    judgments = content_of_qrels(experiment.qrels).fingerprint
    runs = {name: experiment.content(name).fingerprint for name in experiment.runs}
    for look in before:
        if (look["alpha"], look["looks"]) != (alpha, looks):
            raise InputError(
                f"was begun with alpha {look['alpha']:g} for {look['looks']} looks, and this is alpha {alpha:g} for "
                f"{looks}; a sequence keeps both, and another one begins with a new file",
                str(path),
            )
        if (look["judgments"], list(look["runs"].values())) == (judgments, list(runs.values())):
            return Look(look["number"], looks, alpha, look["level"], judgments, runs, again=True)
    if len(before) >= looks:
        raise InputError(
            f"has {len(before)} looks, and alpha was shared by {looks}; begin a new file, which has its own alpha",
            str(path),
        )
    return Look(len(before) + 1, looks, alpha, level_of_look(alpha, looks), judgments, runs)


def read_looks(path: Path) -> list[dict[str, Any]]:
    """The looks in a file, a JSON object a line; none if there is no file yet."""
    if not path.exists():
        return []
    looks = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            look = json.loads(line)
        except ValueError:
            look = None
        if not isinstance(look, Mapping) or not all(name in look for name in FIELDS):
            raise InputError("is not a look of a gate; expected a file that --sequence wrote", str(path), number)
        looks.append(dict(look))
    return looks


def keep_look(path: Path, look: Look, outcome: str, p_drop: float) -> None:
    """Add a look, and its outcome, to the file."""
    if look.again:
        return
    record = {name: asdict(look)[name] for name in FIELDS} | {"outcome": outcome, "p_drop_corrected": p_drop}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
