"""What users meet: `Experiment`, whose methods are the questions of `signatures.py`, and what makes functions of them.

This module is above all packages but `cli`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, TypeVar

from fathoms.base import choices
from fathoms.base.errors import warn
from fathoms.base.options import parameters
from fathoms.base.result import Result
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.reading import ReadingOptions
from fathoms.signatures import Questions

Answer = TypeVar("Answer", bound=Result)
Sources = tuple[Any, Any]  # judgments and runs


class Experiment(Questions, BaseExperiment):
    """Judgments, runs and how to read them, said once; every analysis is a method.

    Each run is read and ranked once for all of them, but for `check`, which looks at the files themselves. Results
    have `.frame` (polars), `.to_pandas()`, `.sentences`, `.chart()` (altair), `.notes`, and a view of their own in
    notebooks.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}}
    >>> runs = {"x": {"1": {"a": 3.0, "u": 2.0, "c": 1.0}}, "y": {"1": {"b": 3.0, "a": 2.0, "v": 1.0}}}
    >>> exp = fm.Experiment(qrels, runs)
    >>> exp.evaluate("P@2").frame["score"].to_list()
    [0.5, 0.5]
    """

    warn = True  # whether notes are raised as warnings; the command line prints them itself

    def noted(self, result: Answer, question: Callable[..., Any], given: dict[str, Any]) -> Answer:
        vars(result)["made_with"] = partial(self.provenance, question, given)
        if self.warn:
            for note in dict.fromkeys([*result.notes, *self.notes]):
                warn(note)
        return result


# -- for a single call ----------------------------------------------------------------------------------------------


def single_call(
    question: Callable[..., Any], *, frame: bool = False, without: Sequence[str] = (), memory_mb: float | None = None
) -> Callable[[Callable[..., Sources]], Callable[..., Any]]:
    """Of a function that says what judgments and runs are, one that makes an experiment of them and asks it a question.

    It takes its own arguments, then those of the question (`without` some), then those of an experiment. What it
    returns is the result, or its `frame`.
    """
    kept: dict[str, Any] = {} if memory_mb is None else {"memory_mb": memory_mb}

    def decorate(sources: Callable[..., Sources]) -> Callable[..., Any]:
        own = inspect.signature(sources).parameters
        left_out = {"progress", *without, *own}
        of_question = list(inspect.signature(question).parameters.values())[1:]  # without `self`
        more = [parameter for parameter in of_question if parameter.name not in left_out]
        both = (own.keys() & parameters(question)) - set(without)
        options = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation="Unpack[ReadingOptions]")
        returns = "pl.DataFrame" if frame else inspect.signature(question).return_annotation
        signature = inspect.Signature([*own.values(), *more, options], return_annotation=returns)

        @wraps(sources)
        def ask(*args: Any, **named: Any) -> Any:
            given = signature.bind(*args, **named).arguments
            reading = given.pop("options", {})
            _check_names(reading)
            from_sources = {name: given[name] for name in own if name in given}
            named = {name: value for name, value in given.items() if name in both or name not in own}
            qrels, runs = sources(**from_sources)
            experiment = Experiment(qrels, runs, **kept, **reading)
            result = question(experiment, **named)
            return result.frame if frame else result

        vars(ask)["__signature__"] = signature
        return ask

    return decorate


def _check_names(options: dict[str, Any]) -> None:
    """A misspelt option of a call is named."""
    from difflib import get_close_matches

    known = [*ReadingOptions.__annotations__]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            raise TypeError(f"unknown argument {name!r}; {hint}")


def two_runs(a: Any, b: Any, names: Sequence[str]) -> Any:
    """Two runs in that order: files and runs by their own names, anything else, or one thing twice, by these."""
    if choices.is_path(a) and choices.is_path(b) and os.fspath(a) != os.fspath(b):
        return [a, b]
    own = [getattr(run, "name", None) for run in (a, b)]
    named = own if all(isinstance(name, str) for name in own) and own[0] != own[1] else names
    return dict(zip(named, (a, b), strict=True))
