"""Who has ties and contradictions, and what could they change?

Counts the documents whose place the run leaves open (equal scores) or contradicts (ranks against scores), and scores
every run under the rules people break ties by (trec_eval's, the file's order, the ranks', the mean over all orders) and
in the worst and the best order. Then it says which pairs of runs, and whose rank, depend on the tie-breaking rule.

-o FILE with .svg, .png, .pdf or .html draws the first measure: each run from its worst to its best order. --fix DIR
writes the runs without ties, in the order of --ties; the files they come from stay as they are.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fathoms import choices
from fathoms.cli import options
from fathoms.cli.depth import PICTURES

if TYPE_CHECKING:
    from fathoms.comparison.tie_effects import Kind, TieReport
    from fathoms.evidence.order import Ties

EXAMPLES = """examples:
  fathoms ties qrels.txt runs/
  fathoms ties qrels.txt runs/ -m AP --show pairs --format tsv -o pairs.tsv
  fathoms ties qrels.txt runs/ -m AP -o ties.svg
  fathoms ties qrels.txt runs/ --fix fixed --ties run"""
FEW = 5  # rows of a measure's table in the summary
SOME = 15  # runs there
MANY = 60  # pairs in a table; the other formats have all


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    options.add_choice(
        parser,
        "--show",
        choices=("summary", "runs", "scores", "pairs", "places"),
        help="what to show: a summary of everything (default of the table), what is odd about each run, each run's "
        "scores (default of the other formats), pairs of runs, or places",
    )
    parser.add_argument(
        "--depth",
        metavar="K",
        type=options.at_least_one,
        help="count ties among the first K ranks and across rank K (the deepest cut-off of the measures, or 10)",
    )
    parser.add_argument("--fix", metavar="DIR", type=Path, help="write the runs without ties to this folder")
    options.add_choice(
        parser,
        "--ties",
        choices=("trec", "run", "rank", "score-rank"),
        help="the order that --fix writes: trec (default; score, then document id descending), run (that of the file), "
        "rank (the rank column), score-rank (score, then rank)",
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet"))
    options.add_choice(
        parser,
        "--score-precision",
        choices=choices.PRECISIONS,
        help="how scores are compared; default float32, as trec_eval, but float64 under score-rank and in the counts",
    )
    options.add_band(parser)
    options.add_ranges(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms import charts
    from fathoms.cli import output
    from fathoms.comparison.tie_effects import KINDS, WORDS
    from fathoms.comparison.ties import fix_runs
    from fathoms.errors import FathomsError
    from fathoms.experiment.evaluate import DEFAULT_MEASURES
    from fathoms.text import pluralise

    if args.ties is not None and args.fix is None:
        raise FathomsError("--ties says in which order --fix DIR writes runs; the analysis looks at all rules")
    if args.fix is not None and args.band is not None:
        raise FathomsError("--fix writes runs without ties, and --band makes ties; `fathoms band` writes banded runs")
    rule: Ties = args.ties or "trec"
    args.ties = "trec"
    draws = args.output is not None and args.output.suffix in PICTURES
    if draws:
        charts.require()
    if draws and args.format == "parquet":
        raise FathomsError(f"{args.output}: is a picture; parquet needs a file of its own")
    show: Kind | Literal["summary"] = args.show or ("summary" if args.format == "table" else "scores")
    if show == "summary" and args.format != "table":
        raise FathomsError(f"the summary is a table; for {args.format} choose --show {', '.join(KINDS)}")
    exp = options.experiment(args, memory_mb=0)
    if args.fix is not None:
        written = fix_runs(exp.runs, args.fix, rule, args.score_precision, keep=[args.qrels])
        if not args.quiet:
            print(
                f"fathoms: {pluralise(len(written), 'run')} in the order {rule} written to {args.fix}", file=sys.stderr
            )
    with output.progress(len(exp.runs), args.quiet) as step:
        report = exp.ties(args.measures or DEFAULT_MEASURES, depth=args.depth, progress=step)
    output.say_notes(exp, report, args)
    if draws:
        output.save_chart(report.chart(), args.output)
        args.output = None
    if show == "summary":
        output.put(_summary(report), args.output)
    elif args.format == "table":
        output.put(_whole(report, show), args.output)
    else:
        output.put_rows(KINDS[show], list(report.rows(show)), args, WORDS)
    return 0


# -- tables ---------------------------------------------------------------------------------------------------


def _whole(report: TieReport, kind: Kind) -> str:
    """All rows of one kind; of pairs those that the rule decides or could."""
    from fathoms.cli.output import aligned_text
    from fathoms.comparison.tie_effects import KINDS, WORDS

    rows = list(report.rows(kind))
    rest = ""
    if kind == "pairs":
        concerned = [row for verdict in ("changes", "could change") for row in rows if row[-1] == verdict]
        shown = concerned[:MANY]
        more = f"{len(concerned) - len(shown):,} more of these, and " if len(concerned) > len(shown) else ""
        rest = f"\n{more}{len(rows) - len(concerned):,} pairs that no order of tied documents reverses; tsv has all.\n"
        rows = shown
    text = [[_cell(value) for value in row] for row in rows]
    return aligned_text(KINDS[kind], text, numbers_from=sum(name in WORDS for name in KINDS[kind][:3])) + rest


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _summary(report: TieReport) -> str:

    parts = ["\n".join(report.sentences), _runs(report), _places(report)]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _runs(report: TieReport) -> str:
    """The runs with the most to say of, first those that contradict themselves."""
    from fathoms.cli.output import aligned_text

    odd = [one for one in report.found if one.tied or one.contradictions or one.risen or one.rank_ties]
    odd.sort(key=lambda one: (-(one.contradictions + one.risen > 0), -one.tied / one.documents, one.run))
    rows = [
        [
            one.run,
            f"{one.tied:,}",
            f"{one.tied / one.documents:.1%}",
            f"{one.tied_above:,}",
            f"{one.across:,}",
            f"{one.contradictions:,}",
            f"{one.risen:,}",
            "?" if one.exponents is None else f"{one.exponents:,}",
            f"{one.rank_ties:,}",
            "yes" if one.upside_down else "no",
        ]
        for one in odd[:SOME]
    ]
    if not rows:
        return ""
    k = report.depth
    header = [
        "run",
        "tied",
        "share",
        f"in top {k}",
        f"across {k}",
        "contradictions",
        "rises",
        "exponents",
        "rank ties",
        "upside down",
    ]
    more = len(odd) - len(rows)
    rest = f"and {more} more runs with ties; --show runs has all\n" if more else ""
    return f"Runs with ties, those whose order contradicts itself first\n{aligned_text(header, rows, 1)}{rest}"


def _places(report: TieReport) -> str:
    """By measure, the runs whose rank depends on the order of tied documents."""
    from fathoms.cli.output import aligned_text

    parts = []
    for measure in report.measures:
        places = [row for row in report.rows("places") if row[1] == measure.name]
        scores = {row[0]: row for row in report.rows("scores") if row[1] == measure.name}
        moved = [row for row in places if len({p for p in row[2:6] if p is not None}) > 1 or row[6] != row[7]]
        moved.sort(key=lambda row: (row[6] - row[7], row[2]))
        if not moved:
            continue
        rows = []
        for run, _, *taken, best, worst in moved[:FEW]:
            _, _, trec, file_order, score_rank, expected, pessimistic, optimistic, *_ = scores[run]
            numbers = (pessimistic, trec, file_order, score_rank, expected, optimistic)
            rows.append([run, *map(_cell, numbers), "/".join(_cell(p) or "-" for p in taken), f"{best}-{worst}"])
        header = ["run", "pessimistic", "trec", "file", "score-rank", "expected", "optimistic", "ranks", "could be"]
        more = f"and {len(moved) - FEW} more; --show places has all\n" if len(moved) > FEW else ""
        parts.append(
            f"{measure.name}: runs whose rank depends on the tie-breaking rule; ranks under trec/file/score-rank/"
            f"expected\n{aligned_text(header, rows, 1)}{more}"
        )
    return "\n".join(parts)
