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

from fathoms.cli import options
from fathoms.cli.output import PICTURES

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.evidence.order import Ties
    from fathoms.questions.ties.effects import Kind, TieReport

EXAMPLES = (
    ("does the order of the runs depend on how ties are broken?", "fathoms ties qrels.txt runs/"),
    ("write the runs without ties, in the order of their files", "fathoms ties qrels.txt runs/ --fix fixed --ties run"),
)
MORE = """more examples:
  fathoms ties qrels.txt runs/ -m AP --show pairs --format tsv -o pairs.tsv
  fathoms ties qrels.txt runs/ -m AP -o ties.svg"""
# The rules in the order of the scores, and which a narrow terminal leaves out: the higher, the sooner.
SCORES_SHOWN = {  # title and level of each
    **{"trec": ("trec", 1), "file_order": ("file", 3), "score_rank": ("score-rank", 3), "expected": ("expected", 3)},
    **{"pessimistic": ("pessimistic", 2), "optimistic": ("optimistic", 2)},
}


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_question(parser, "ties")
    options.add_choice(
        parser,
        "--show",
        choices=("summary", "runs", "scores", "pairs", "places"),
        help="what to show: a summary of everything (default of the table), what is odd about each run, each run's "
        "scores (default of the other formats), pairs of runs, or places",
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
    options.add_reading(parser, "score_precision", "band", *options.RANGES, *options.READ_SUBTOPICS, *options.WORK)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base import charts
    from fathoms.base.errors import FathomsError
    from fathoms.base.text import pluralise
    from fathoms.cli import output
    from fathoms.questions.ties.analysis import fix_runs
    from fathoms.questions.ties.effects import KINDS, WORDS

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
    report = exp.ties(**options.arguments(args, "ties"))
    if draws:
        output.save_chart(report.chart(), args.output)
        args.output = None
    kind: Kind = "scores" if show == "summary" else show
    output.present(
        report,
        args,
        lambda: _summary(report) if show == "summary" else [_whole(report, kind)],
        experiment=exp,
        put_data=lambda report, args: output.put_rows(KINDS[kind], list(report.rows(kind)), args, WORDS),
    )
    return 0


# -- tables ---------------------------------------------------------------------------------------------------


def _whole(report: TieReport, kind: Kind) -> Block:
    """All rows of one kind, those of pairs that depend on the rule first."""
    from fathoms.cli.screen import cell, table
    from fathoms.questions.ties.effects import KINDS, WORDS

    rows = list(report.rows(kind))
    if kind == "pairs":
        first = {"changes": 0, "could change": 1}
        rows.sort(key=lambda row: first.get(row[-1], 2))
    text = [[cell(value, whole=",") for value in row] for row in rows]
    return table(KINDS[kind], text, sum(name in WORDS for name in KINDS[kind][:3]), noun=kind.removesuffix("s"))


def _summary(report: TieReport) -> list[Block]:
    return [*_runs(report), *_places(report)]


def _runs(report: TieReport) -> list[Block]:
    """The runs with the most to say of, first those that contradict themselves."""
    from fathoms.cli.screen import Block, Column

    odd = [
        of_run for of_run in report.by_run if of_run.tied or of_run.contradictions or of_run.risen or of_run.rank_ties
    ]
    odd.sort(
        key=lambda of_run: (-(of_run.contradictions + of_run.risen > 0), -of_run.tied / of_run.documents, of_run.run)
    )
    if not odd:
        return []
    k = report.depth
    columns = [
        Column("run", [of_run.run for of_run in odd], words=True),
        Column("tied", [f"{of_run.tied:,}" for of_run in odd]),
        Column("share", [f"{of_run.tied / of_run.documents:.1%}" for of_run in odd]),
        Column(f"in top {k}", [f"{of_run.tied_above:,}" for of_run in odd], 1),
        Column(f"across {k}", [f"{of_run.across:,}" for of_run in odd], 2),
        Column("contradictions", [f"{of_run.contradictions:,}" for of_run in odd], 3),
        Column("rises", [f"{of_run.risen:,}" for of_run in odd], 4),
        Column("exponents", ["?" if of_run.exponents is None else f"{of_run.exponents:,}" for of_run in odd], 7),
        Column("rank ties", [f"{of_run.rank_ties:,}" for of_run in odd], 6),
        Column("upside down", ["yes" if of_run.upside_down else "no" for of_run in odd], 5),
    ]
    return [Block(columns, "Runs with ties, those whose order contradicts itself first", "run")]


def _places(report: TieReport) -> list[Block]:
    """By measure, the runs whose rank depends on the order of tied documents."""
    from fathoms.cli.screen import Block, Column, cell

    blocks = []
    for measure in report.measures:
        scores = {row["run"]: row for row in report.records("scores", [measure])}
        moved = [
            row
            for row in report.records("places", [measure])
            if len(set(_ranks(row)) - {None}) > 1 or row["best"] != row["worst"]
        ]
        if not moved:
            continue
        moved.sort(key=lambda row: (row["best"] - row["worst"], _ranks(row)[0]))
        columns = [
            Column(measure.name, [row["run"] for row in moved], words=True),
            Column("ranks", ["/".join(cell(rank, whole=",") or "-" for rank in _ranks(row)) for row in moved]),
            Column("could be", [f"{row['best']}-{row['worst']}" for row in moved]),
        ]
        for name, (title, level) in SCORES_SHOWN.items():
            columns.append(Column(title, [cell(scores[row["run"]][name]) for row in moved], level))
        heading = f"{measure.name}: runs whose rank depends on the rule (trec/file/score-rank/expected)"
        blocks.append(Block(columns, heading, "run"))
    return blocks


def _ranks(row: dict[str, Any]) -> list[int | None]:
    """A run's rank under each rule; None where the rule has none."""
    from fathoms.questions.ties.effects import RULES

    return [row[rule] for rule in RULES]
