"""`fathoms predict --tune`: the constants of RM's methods that do best on the collection at hand."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from fathoms.cli import options
from fathoms.estimate.names import PREDICTORS

if TYPE_CHECKING:
    from fathoms.api import Experiment


def run_tune(args: Namespace, exp: Experiment) -> int:
    """Tune and print; `--method` may name one of the methods that have constants."""
    from fathoms.cli import output
    from fathoms.cli.screen import cell, table

    check_flags(args)
    result = exp.tune(methods=args.method or "all", **options.arguments(args, "tune"))
    rows = [list(map(cell, row)) for row in result.rows()]
    output.present(result, args, lambda: [table(result.columns, rows, 2)], experiment=exp)
    return 0


def check_flags(args: Namespace) -> None:
    """Refuse flags that play no part in tuning, rather than ignore them."""
    from fathoms.base.errors import FathomsError

    tunable = PREDICTORS[1:]
    if args.method not in (None, "all", *tunable):
        raise FathomsError(f"--tune is for --method {', '.join(tunable[:-1])} and {tunable[-1]}, found {args.method}")
    others = {"--constants": "constants", "--depth": "depth", "--labels": "labels", "--to-depth": "to_depth"}
    given = [flag for flag, name in {**others, "--by-topic": "by_topic"}.items() if getattr(args, name, None)]
    if given:
        raise FathomsError(f"--tune has no use for {', '.join(given)}")
