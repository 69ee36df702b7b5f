"""Can labels of language models, classifiers or other people stand in for human judgments?

For each file of labels (lines `topic document value`; a qrels file will do): how many documents it covers, how well it
agrees with the human grades (kappa, alpha), what it misses and what it lets through, grade by grade, and how many human
judgments would be worth having. With runs also what its labels in place of the judgments do to their scores and their
order, and whether a run looks as if it had been reranked by the judge itself. Intervals are over topics.

Files of six columns among the labels are taken as runs.

With --min-kappa, --min-labels, --max-bias or --max-circularity the exit status says whether all sources are known to
meet what is asked: 0 they do, 1 one does not, 3 cannot tell (2 is bad input). The output says how many more human
labels would tell.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.questions.labels.result import LabelAudit, SourceAudit

EXAMPLES = (
    ("how well do the labels of two models agree with people?", "fathoms labels qrels.txt gpt.txt llama.txt"),
    ("and would they order the runs as people do?", "fathoms labels qrels.txt gpt.txt --runs runs/ -m nDCG@10"),
)
MORE = """more examples:
  fathoms labels qrels.txt gpt.txt --min-kappa 0.4 --min-labels 200 --markdown judge.md
  fathoms labels qrels.txt scores.tsv --runs runs/ --format tsv -o audit.tsv"""
# Figures of agreement with their titles, and which a narrow terminal leaves out: the higher, the sooner.
FIGURES = {
    "kappa": ("kappa", 0),
    "kappa_quadratic": ("weighted", 3),
    "alpha_ordinal": ("ordinal", 4),
    "alpha_nominal": ("nominal", 6),
    "sensitivity": ("sensitivity", 1),
    "specificity": ("specificity", 1),
    "bias": ("bias", 2),
    "auc": ("AUC", 5),
    "spearman": ("spearman", 7),
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "qrels", metavar="QRELS", help="human judgments, lines `topic iteration document grade`; - for stdin"
    )
    parser.add_argument(
        "labels",
        metavar="LABELS",
        nargs="+",
        help="labels, lines `topic document value`, as qrels, CSV or umbrela's JSONL: files, folders or quoted globs",
    )
    parser.add_argument(
        "--runs", metavar="RUN", nargs="+", action="extend", help="runs: files, folders or quoted globs"
    )
    options.add_question(parser, "labels")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="what was asked and found, in Markdown")
    parser.add_argument("--junit", metavar="FILE", type=Path, help="the same as JUnit XML, for the build server")
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet", "markdown", "junit"))
    options.add_reading(parser, "topics", *options.GROUPS, *options.ORDER, *options.READ, *options.WORK)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base.files import check_not_read, check_writable
    from fathoms.cli import output
    from fathoms.experiment.topics import some

    labels, as_runs = _told_apart(args)
    args.runs = [*(args.runs or ()), *as_runs] or None
    for path in (args.markdown, args.junit, args.output):
        if path is not None:
            check_writable(path)
            check_not_read(path, [args.qrels, *labels, *filter(None, [args.docs]), *(args.runs or ())])
    exp = options.experiment(args)
    result = exp.labels(labels, **options.arguments(args, "labels"))
    if as_runs and not args.quiet:
        output.say([f"fathoms: taken as runs, going by their columns: {some(as_runs, 6)}"])
    if args.markdown is not None:
        output.put(output.with_provenance(result.markdown(), result, "markdown", args.markdown), args.markdown)
    if args.junit is not None:
        output.put(result.junit(), args.junit)
    others = {"markdown": result.markdown, "junit": result.junit}
    output.present(result, args, lambda: _blocks(result), others=others, experiment=exp)
    return result.exit_code


def _told_apart(args: Namespace) -> tuple[list[str], list[str]]:
    """Files of labels, and those among them that are runs."""
    from fathoms.base.errors import FathomsError
    from fathoms.data.runs import expand
    from fathoms.data.sniff import is_run_not_labels
    from fathoms.experiment.topics import some

    if [args.qrels, *args.labels, *(args.runs or ())].count("-") > 1:
        raise FathomsError("only one of QRELS, LABELS and RUN can be standard input")
    labels: list[str] = []
    runs: list[str] = []
    for path in expand(args.labels):
        (runs if path != "-" and is_run_not_labels(path) else labels).append(path)
    if not labels:
        raise FathomsError(
            f"no labels given: {some(runs, 6)} {'looks' if len(runs) == 1 else 'look'} like a run; labels have lines "
            "`topic document value`, or those of a qrels file"
        )
    return labels, runs


def _blocks(result: LabelAudit) -> list[Block]:
    blocks = [_figures(result)]
    for source in result.sources:
        blocks.append(_confusion(source))
        if source.effects:
            blocks.append(_runs(result, source))
            if any(effect.swaps for effect in source.effects):
                blocks.append(_swaps(source))
    return blocks


def _figures(result: LabelAudit) -> Block:
    """One row a source; its interval below each figure."""
    from fathoms.cli.screen import Block, Column, cell

    sources = result.sources
    columns = [
        Column("source", [cell for source in sources for cell in (source.name, "")], words=True),
        Column("documents", [cell for source in sources for cell in (f"{len(source.labelled):,}", "")]),
    ]
    for name, (title, level) in FIGURES.items():
        cells = []
        for source in sources:
            estimate = source.figures[name]
            cells += [
                cell(estimate.value, ".3f"),
                "" if estimate.low is None else f"{estimate.low:.2f}..{estimate.high:.2f}",
            ]
        columns.append(Column(title, cells, level))
    return Block(columns, "Agreement with people, with 95% intervals over topics")


def _confusion(source: SourceAudit) -> Block:
    from fathoms.cli.screen import table
    from fathoms.questions.labels.words import with_interval

    labelled = source.labelled
    rows = [
        [
            f"{grade:g}",
            *(f"{int(cell):,}" for cell in cells),
            with_interval(source.by_grade[float(grade)], percent=True),
        ]
        for grade, cells in zip(labelled.grades, labelled.total, strict=True)
    ]
    header = ["grade", *(f"label {label:g}" for label in labelled.labels), "labelled relevant"]
    return table(header, rows, 1, f"{source.name}: documents by human grade and label", "grade")


def _runs(result: LabelAudit, source: SourceAudit) -> Block:
    """Scores by people and by labels, best by people first, and how far each run follows the labels."""
    from fathoms.base.text import p_cell
    from fathoms.cli.screen import Block, Column, cell

    best = sorted(range(len(result.runs)), key=lambda i: (-float(source.effects[0].human[i]), result.runs[i]))
    columns = [Column("run", [result.runs[i] for i in best], words=True)]
    for place, effect in enumerate(source.effects):
        columns += [
            Column(effect.measure, [f"{effect.human[i]:.4f}" for i in best], 3 * place),
            Column("labels", [f"{effect.labels[i]:.4f}" for i in best], 3 * place),
            Column("gain", [f"{effect.gains[i]:+z.4f}" for i in best], 3 * place + 1),
        ]
    followed = [source.followings[i] for i in best]
    columns += [
        Column("follows", [cell(following.correlation, ".3f") for following in followed], 2),
        Column("excess", [cell(following.excess, ".3f") for following in followed], 90),
        Column("p", ["" if following.p is None else p_cell(following.p) for following in followed], 90),
    ]
    if any(following.suspect for following in followed):
        columns.append(Column("", ["circular?" if following.suspect else "" for following in followed]))
    title = f"{source.name}: scores by people and by labels of the same documents; gain over the median run"
    return Block(columns, title, "run")


def _swaps(source: SourceAudit) -> Block:
    from fathoms.base.text import p_cell
    from fathoms.cli.screen import table

    swaps = [(effect.measure, swap) for effect in source.effects for swap in effect.swaps]
    swaps.sort(key=lambda pair: -pair[1].human)
    rows = [
        [swap.ahead, swap.behind, measure, f"{swap.human:+z.4f}", f"{swap.labels:+z.4f}", p_cell(swap.p)]
        for measure, swap in swaps
    ]
    header = ["ahead by people", "behind", "measure", "people", "labels", "p"]
    return table(header, rows, 3, f"{source.name}: pairs that change places", "pair")
