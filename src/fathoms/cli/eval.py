"""`fathoms eval`: score runs, with the range each score could have."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from fathoms.cli import options as o


def command(
    qrels: o.Qrels,
    runs: o.Runs,
    measure: o.MeasureNames = None,
    by_topic: Annotated[bool, typer.Option("--by-topic", "-q", help="A row for each topic too.")] = False,
    topics: Annotated[
        Literal["all", "intersect"],
        typer.Option(help="Mean over all topics of the qrels, or (as trec_eval) over those the run has too."),
    ] = "all",
    format: Annotated[
        Literal["table", "tsv", "csv", "json", "parquet", "trec_eval", "latex"], typer.Option(help="Form of output.")
    ] = "table",
    output: o.Output = None,
    ties: o.Ties = "trec",
    score_precision: o.ScorePrecision = None,
    bounds: o.Bounds = None,
    universe: o.Universe = None,
    pooled: o.Pooled = None,
    lenient: o.Lenient = False,
    junk: o.Junk = None,
    names: o.Names = "file",
    workers: o.Workers = 2,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
) -> None:
    """Score runs against judgments, each value with the range it could have.

    score counts unjudged documents as not relevant; low and high are the least and greatest value over every way of
    judging them; tie_low, tie_high and tie_expected go over all orders of documents with equal scores.

    Example: fathoms eval qrels.txt runs/ -m AP -m nDCG@10 --format tsv -o scores.tsv
    """
    from fathoms.cli import output as out
    from fathoms.data.qrels import read_qrels
    from fathoms.data.runs import scan_runs
    from fathoms.measures.evaluate import DEFAULT_MEASURES, Options, evaluation, prepare_measures

    out.check_target(format, output)
    measures = prepare_measures(measure or DEFAULT_MEASURES, bounds=bounds, universe=o.universe_of(universe))
    judgments = read_qrels(qrels, lenient=lenient, junk=junk)
    systems = scan_runs(runs, names=names, lenient=lenient)
    settings = Options(ties, score_precision, topics, o.pooled_names(pooled), workers, seed)
    with out.progress(len(systems), quiet) as step:
        result = evaluation(judgments, systems, measures, settings, by_topic=by_topic, progress=step)
    if not quiet:
        out.say_notes(result.notes)
    out.write(result, format, output, quiet=quiet)
