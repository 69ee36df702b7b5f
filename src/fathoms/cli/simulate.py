"""`fathoms simulate`: a test collection of which the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import options as o


def command(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write; must not exist.")],
    systems: Annotated[int, typer.Option(min=1, help="Number of runs.")] = 10,
    n_topics: Annotated[int, typer.Option(min=1, help="Number of topics.")] = 25,
    n_docs: Annotated[int, typer.Option(min=1, help="Documents in the collection.")] = 5000,
    depth: Annotated[int, typer.Option(min=1, help="Documents a run has for a topic.")] = 1000,
    pool_depth: Annotated[int, typer.Option(min=1, help="Top documents of each pooled run that are judged.")] = 20,
    max_grade: Annotated[int, typer.Option(min=1, help="Greatest grade.")] = 2,
    ties: Annotated[float, typer.Option(min=0, max=1, help="Share of documents tied with the one before.")] = 0.1,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
) -> None:
    """Make a collection: runs/, qrels.txt with pooled judgments, truth.txt with complete ones, pooled.txt.

    Example: fathoms simulate -o sim --systems 20 --seed 7
    """
    from fathoms.data.simulate import simulate, write
    from fathoms.errors import FathomsError

    if output.exists():
        raise FathomsError(f"{output} exists already; choose another folder or remove it first")
    collection = simulate(
        systems=systems,
        n_topics=n_topics,
        n_docs=n_docs,
        depth=depth,
        pool_depth=pool_depth,
        max_grade=max_grade,
        ties=ties,
        seed=seed,
    )
    write(collection, output)
    if not quiet:
        typer.echo(
            f"{output}: {systems} runs, {n_topics} topics, {len(collection.qrels):,} judgments; "
            f"try: fathoms eval {output}/qrels.txt {output}/runs",
            err=True,
        )
