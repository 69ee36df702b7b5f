"""Who has ties and contradictions, and what could they change?

Counts the documents whose place the run leaves open (equal scores) or contradicts (ranks against scores), and scores
every run under the usual tie-breaking rules (trec_eval's, the file's order, the ranks', the mean over all orders) and
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
    from fathoms.cli.screen import Block
    from fathoms.comparison.tie_effects import Kind, TieReport
    from fathoms.evidence.order import Ties

EXAMPLES = (
    ("does the order of the runs depend on how ties are broken?", "fathoms ties qrels.txt runs/"),
    ("write the runs without ties, in the order of their files", "fathoms ties qrels.txt runs/ --fix fixed --ties run"),
)
MORE = """more examples:
  fathoms ties qrels.txt runs/ -m AP --show pairs --format tsv -o pairs.tsv
  fathoms ties qrels.txt runs/ -m AP -o ties.svg"""
# The rules in the order of the scores, and which a narrow terminal leaves out: the higher, the sooner.
RULES = {"trec": 1, "file": 3, "score-rank": 3, "expected": 3, "pessimistic": 2, "optimistic": 2}


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
    if draws:
        output.save_chart(report.chart(), args.output)
        args.output = None
    kind: Kind = "scores" if show == "summary" else show
    output.present(
        report,
        args,
        lambda: _summary(report) if show == "summary" else [_whole(report, kind)],
        experiment=exp,
        put_data=lambda found, args: output.put_rows(KINDS[kind], list(found.rows(kind)), args, WORDS),
    )
    return 0


# -- tables ---------------------------------------------------------------------------------------------------


def _whole(report: TieReport, kind: Kind) -> Block:
    """All rows of one kind, those of pairs that depend on the rule first."""
    from fathoms.cli.screen import table
    from fathoms.comparison.tie_effects import KINDS, WORDS

    rows = list(report.rows(kind))
    if kind == "pairs":
        first = {"changes": 0, "could change": 1}
        rows.sort(key=lambda row: first.get(row[-1], 2))
    text = [[_cell(value) for value in row] for row in rows]
    return table(KINDS[kind], text, sum(name in WORDS for name in KINDS[kind][:3]), noun=kind.removesuffix("s"))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _summary(report: TieReport) -> list[Block]:
    return [*_runs(report), *_places(report)]


def _runs(report: TieReport) -> list[Block]:
    """The runs with the most to say of, first those that contradict themselves."""
    from fathoms.cli.screen import Block, Column

    odd = [one for one in report.found if one.tied or one.contradictions or one.risen or one.rank_ties]
    odd.sort(key=lambda one: (-(one.contradictions + one.risen > 0), -one.tied / one.documents, one.run))
    if not odd:
        return []
    k = report.depth
    columns = [
        Column("run", [one.run for one in odd], words=True),
        Column("tied", [f"{one.tied:,}" for one in odd]),
        Column("share", [f"{one.tied / one.documents:.1%}" for one in odd]),
        Column(f"in top {k}", [f"{one.tied_above:,}" for one in odd], 1),
        Column(f"across {k}", [f"{one.across:,}" for one in odd], 2),
        Column("contradictions", [f"{one.contradictions:,}" for one in odd], 3),
        Column("rises", [f"{one.risen:,}" for one in odd], 4),
        Column("exponents", ["?" if one.exponents is None else f"{one.exponents:,}" for one in odd], 7),
        Column("rank ties", [f"{one.rank_ties:,}" for one in odd], 6),
        Column("upside down", ["yes" if one.upside_down else "no" for one in odd], 5),
    ]
    return [Block(columns, "Runs with ties, those whose order contradicts itself first", "run")]


def _places(report: TieReport) -> list[Block]:
    """By measure, the runs whose rank depends on the order of tied documents."""
    from fathoms.cli.screen import Block, Column

    blocks = []
    for measure in report.measures:
        scores = {row[0]: row[2:8] for row in report.rows("scores", [measure])}
        moved = [
            row
            for row in report.rows("places", [measure])
            if len({p for p in row[2:6] if p is not None}) > 1 or row[6] != row[7]
        ]
        if not moved:
            continue
        moved.sort(key=lambda row: (row[6] - row[7], row[2]))
        columns = [
            Column(measure.name, [row[0] for row in moved], words=True),
            Column("ranks", ["/".join(_cell(p) or "-" for p in row[2:6]) for row in moved]),
            Column("could be", [f"{row[6]}-{row[7]}" for row in moved]),
        ]
        for name, level in RULES.items():
            place = list(RULES).index(name)
            columns.append(Column(name, [_cell(scores[row[0]][place]) for row in moved], level))
        title = f"{measure.name}: runs whose rank depends on the rule (trec/file/score-rank/expected)"
        blocks.append(Block(columns, title, "run"))
    return blocks
