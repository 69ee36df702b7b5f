"""Arguments and flags that mean the same in every command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Qrels = Annotated[
    str, typer.Argument(metavar="QRELS", help="Judgments: lines `topic iteration document grade`; - for stdin.")
]
Runs = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Runs: files, folders or quoted globs; gz, zst, bz2, xz; - for stdin."),
]
MeasureNames = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", metavar="MEASURE", help="Such as AP, nDCG@10, 'RBP(p=0.8)'; may be repeated."),
]
Ties = Annotated[
    Literal["trec", "run", "rank", "score-rank", "expected"],
    typer.Option(
        "--ties",
        help="Order of equal scores: trec (document id descending, as trec_eval), run (file order), rank (the rank "
        "column alone), score-rank (score, then rank), expected (mean over all orders).",
    ),
]
ScorePrecision = Annotated[
    Literal["float32", "float64"] | None,
    typer.Option(help="How scores are compared; float32 (as trec_eval) under trec and expected, else float64."),
]
Lenient = Annotated[bool, typer.Option("--lenient", help="Skip bad lines and later duplicates, and say how many.")]
Junk = Annotated[
    float | None,
    typer.Option(metavar="GRADE", help="A negative grade that means judged and not relevant, such as -2 for spam."),
]
Names = Annotated[Literal["file", "tag"], typer.Option(help="Name runs by their file or by their tag.")]
Pooled = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Names of the runs that contributed to the pool, one a line (default: all)."),
]
Bounds = Annotated[
    Literal["exact", "rm"] | None,
    typer.Option(help="How ranges of AP, nDCG and Q are made: exact, or Ravana and Moffat's approximation."),
]
Universe = Annotated[
    str | None,
    typer.Option(
        metavar="run|given|N|inf",
        help="Unjudged documents outside the places read that may turn out relevant: the run's own, those of all "
        "given runs, a number, or any number.",
    ),
]
Workers = Annotated[int, typer.Option(min=1, help="Runs read and scored at a time.")]
Seed = Annotated[int, typer.Option(help="Seed of everything that is drawn at random.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No warnings and no progress, results only.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write here instead of stdout.")]


def universe_of(text: str | None) -> str | float | None:
    """The flag's text as the measures' parameter."""
    if text is None or text in ("run", "given"):
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected run, given, a number or inf, found {text!r}") from None


def pooled_names(path: Path | None) -> tuple[str, ...] | None:
    """Run names from a list of them, whether written as names or as files."""
    if path is None:
        return None
    from fathoms.data.files import read_bytes, stem
    from fathoms.errors import InputError

    names = [line.strip() for line in read_bytes(path).decode(errors="surrogateescape").splitlines()]
    chosen = tuple(stem(name) for name in names if name and not name.startswith("#"))
    if not chosen:
        raise InputError("names no run; expected the contributing runs, one a line", str(path))
    return chosen
