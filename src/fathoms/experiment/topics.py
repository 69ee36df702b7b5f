"""Which topics runs and judgments share, and what the notes say where they do not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fathoms.base import choices
from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.data.file_names import run_named
from fathoms.data.qrels import Qrels

IN_NO_RUN = "judged topics in no run"  # how the gravest notes begin


class RunTopics(Protocol):
    """What is known of a run's topics."""

    @property
    def run(self) -> str: ...

    @property
    def lacking(self) -> NDArray[np.int64]: ...  # judged topics that the run does not answer, as numbered in the qrels

    @property
    def unknown(self) -> list[str]: ...  # topics of the run without judgments


def unanswered(runs: Sequence[RunTopics], qrels: Qrels, lenient: bool = False) -> list[str]:
    """The judged topics that no run answers. A run that answers none of them is an error: it belongs to other topics,
    or spells them another way, and would score 0 whatever it retrieved. `lenient` goes on if others answer some."""
    return [qrels.topics[i] for i in _nowhere(runs, qrels, lenient)]


def _nowhere(runs: Sequence[RunTopics], qrels: Qrels, lenient: bool) -> NDArray[np.int64]:
    stray = _stray(runs, qrels)
    if len(stray) == len(runs):
        raise no_topic_matches(list(dict.fromkeys(topic for run in runs for topic in run.unknown)), qrels)
    if stray and not lenient:
        raise FathomsError(
            f"{_not_judged(stray, qrels)}; give its topics the ids of the judgments, leave it out, or have it score 0 "
            "with --lenient"
        )
    nowhere = runs[0].lacking
    for run in runs[1:]:
        nowhere = np.intersect1d(nowhere, run.lacking, assume_unique=True)
    return nowhere


def _stray(runs: Sequence[RunTopics], qrels: Qrels) -> list[RunTopics]:
    """The runs that answer no judged topic."""
    return [run for run in runs if len(run.lacking) == len(qrels.topics)]


def _not_judged(stray: Sequence[RunTopics], qrels: Qrels) -> str:
    name, others = stray[0].run, f", nor of {pluralise(len(stray) - 1, 'other run')}" if len(stray) > 1 else ""
    return (
        f"no topic of {name} is judged{others}: {name} has {some(stray[0].unknown, 3)}; {qrels.source} has "
        f"{some(qrels.topics, 3)}"
    )


def no_topic_matches(of_runs: Sequence[str], qrels: Qrels) -> FathomsError:
    return FathomsError(
        f"no topic of the runs is judged: the runs have {some(list(of_runs), 3)}; {qrels.source} has "
        f"{some(qrels.topics, 3)}"
    )


def left_out(nowhere: Sequence[str], qrels: Qrels) -> str:
    """What `topics=intersect` did to the topics that no run answers."""
    return _in_no_run(nowhere, qrels, "were left out (--topics intersect)")


def _in_no_run(nowhere: Sequence[str], qrels: Qrels, effect: str) -> str:
    return f"{IN_NO_RUN}, {len(nowhere):,} of {len(qrels.topics):,}, {effect}: {some(nowhere)}"


def topic_notes(runs: Sequence[RunTopics], qrels: Qrels, topics: str, means: str = "", *, lenient: bool) -> list[str]:
    """Which topics runs and judgments do not share; first those that no run answers, with what the mean would be
    without them."""
    notes = []
    numbers = _nowhere(runs, qrels, lenient)
    if stray := _stray(runs, qrels):
        notes.append(f"{_not_judged(stray, qrels)}; it scores 0")
    nowhere = [qrels.topics[i] for i in numbers]
    if nowhere and topics == "all":
        notes.append(_in_no_run(nowhere, qrels, f"count 0{means}; --topics intersect leaves them out"))
    elif nowhere:
        notes.append(left_out(nowhere, qrels))
    others = [(run.run, np.setdiff1d(run.lacking, numbers, assume_unique=True)) for run in runs]
    lacking = [(run, [qrels.topics[i] for i in missing]) for run, missing in others if len(missing)]
    if lacking:
        effect = "are left out of the mean (--topics intersect)" if topics != "all" else "count 0"
        shown = "; ".join(f"{run} lacks {some(missing)}" for run, missing in lacking[:3])
        more = f"; and {len(lacking) - 3} more runs" if len(lacking) > 3 else ""
        notes.append(f"topics without documents {effect}: {shown}{more}")
    strange = [run for run in runs if run.unknown]
    if strange:
        shown = "; ".join(f"{some(run.unknown)} of {run.run}" for run in strange[:3])
        more = f"; and {len(strange) - 3} more runs" if len(strange) > 3 else ""
        notes.append(f"topics not in {qrels.source} are ignored: {shown}{more}")
    return notes


def some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def chosen_run(what: str, run: str, names: Sequence[str]) -> str:
    """A run among those given, by name, file or the end of its name; an error says `what` was looked for."""
    chosen = run_named(os.fspath(run), names) if choices.is_path(run) else None
    if chosen is not None:
        return chosen
    near = get_close_matches(str(run), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise FathomsError(f"{what} {run!r} is not among the runs: {some(names)}{hint}")
