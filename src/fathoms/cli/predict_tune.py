"""`fathoms predict --tune`: the constants of RM's methods that do best on the collection at hand."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathoms.estimate.names import PREDICTORS

if TYPE_CHECKING:
    from fathoms.api import Experiment

LEFT_OUT = "for --tune: score each run as if it had not contributed to the pool"


def run_tune(args: Namespace, exp: Experiment, measures: Sequence[Any]) -> int:
    """Tune and print; `--method` may name one of the methods that have constants."""
    from fathoms.cli import output
    from fathoms.cli.screen import table

    check_flags(args)
    left_out = getattr(args, "left_out", False)
    with output.progress(len(exp.runs), args.quiet) as progress:
        result = exp.tune(measures, args.method or "all", left_out=left_out, progress=progress)
    rows = [_cells(row) for row in result.rows()]
    output.present(result, args, lambda: [table(result.columns, rows, 2)], experiment=exp)
    return 0


def check_flags(args: Namespace) -> None:
    """Refuse what has no part in tuning, rather than leave it unused."""
    from fathoms.errors import FathomsError

    tunable = PREDICTORS[1:]
    if args.method not in (None, "all", *tunable):
        raise FathomsError(f"--tune is for --method {', '.join(tunable[:-1])} and {tunable[-1]}, found {args.method}")
    others = {"--constants": "constants", "--depth": "depth", "--labels": "labels", "--to-depth": "to_depth"}
    given = [flag for flag, name in {**others, "--by-topic": "by_topic"}.items() if getattr(args, name, None)]
    if given:
        raise FathomsError(f"--tune has no use for {', '.join(given)}")


def _cells(row: Sequence[Any]) -> list[str]:
    return ["" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row]
