"""Is A better than B, and will it stay so?

For each pair of runs (or each run and --baseline): the difference of the means, its range over every way of judging the
documents of the two runs, confidence interval, p-value, effect size, estimate, and a verdict:

  certain    supported, and no judging of the two runs' documents and no tie-breaking reverses it
  supported  significant, and very likely to remain so under further judging
  fragile    significant as judged, but judging or tie-breaking may well undo it
  open       not significant; the reason says what would help
  tie        the means are equal

--explain says where a difference comes from, topic by topic, and which documents could reverse it.

With `none` as QRELS the files are scores by topic from any tool (`trec_eval -q`, `ir_measures -q`, tsv, csv, json or
parquet of `fathoms eval --by-topic`): differences, intervals and p-values, but no ranges and no ties.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.base.choices import PAPER_FORMS
from fathoms.cli import options
from fathoms.experiment.reading import Reading
from fathoms.signatures import Questions

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.cli.screen import Block
    from fathoms.questions.compare.result import Comparison

EXAMPLES = (
    ("is A better than B, and would further judging undo it?", "fathoms compare qrels.txt a.run b.run -m nDCG@10"),
    ("which runs beat the baseline?", "fathoms compare qrels.txt runs/ -m AP --baseline bm25"),
)
MORE = """more examples:
  fathoms compare qrels.txt a.run b.run -m nDCG@10 --explain
  fathoms compare qrels.txt a.run b.run -m AP --explain-to decisive.txt
  fathoms compare qrels.txt runs/ -m nDCG@10 --test randomization --format latex
  fathoms compare qrels.txt a.run b.run -m nDCG@10 --topic-groups intents.tsv
  fathoms compare none a.eval b.eval -m map"""


SIGNED = "+z.4f"  # the form of differences
DECISIVE = ("topic", "document", "grade", "rank_a", "rank_b", "change")
# What the table shows beside the two runs, where there is any of it, and what a narrow terminal leaves out: the higher,
# the sooner.
SHOWN = {
    **{"diff": 0, "verdict": 0, "p_corrected": 1, "ci_low": 2, "ci_high": 2},
    **{"estimate": 3, "likely_low": 3, "likely_high": 3, "p_holds": 7, "reason": 4},
    **{"diff_low": 5, "diff_high": 5, "fragility_low": 6, "fragility_high": 6, "reversible": 8, "p": 9, "effect": 9},
}
TITLES = {
    "p_corrected": "p_corr",
    "fragility_low": "fragility",
    "fragility_high": "at_most",
}

# What can be compared with scores alone; everything else is about judgments and the documents of runs.
OF_SCORES = ("measures", "test", "correction", "alpha", "baseline")


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_question(parser, "compare")
    parser.add_argument(
        "--explain-to",
        metavar="FILE",
        type=Path,
        help="write the documents that could reverse a difference to FILE, for `fathoms judge --first`",
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet", *PAPER_FORMS))
    options.add_reading(
        parser,
        *options.ORDER,
        "band",
        *options.RANGES,
        *options.GROUPS,
        *options.UNITS,
        *options.READ_SUBTOPICS,
        *options.WORK,
    )
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base.files import check_writable
    from fathoms.cli import output

    if args.qrels == "none":
        return _run_on_scores(args)
    if args.explain_to is not None:
        check_writable(args.explain_to)
        args.explain = True
    exp = options.experiment(args)
    exp.spares_memory = True
    result = exp.compare(**options.arguments(args, "compare"))
    if args.explain_to is not None:
        decisive = [row for i in range(len(result.explained)) for row in decisive_rows(result, i)]
        output.put(output.delimited(DECISIVE, decisive, "\t"), args.explain_to)
    _present(result, args, exp)
    return 0


def _run_on_scores(args: Namespace) -> int:
    from fathoms.base.errors import FathomsError
    from fathoms.cli import output
    from fathoms.questions.compare.score_files import comparison_of_scores

    useless = [
        *options.changed(args, Questions.compare, *OF_SCORES),
        *options.changed(args, Reading.__init__, *options.WORK),
        *(["--explain-to"] if args.explain_to is not None else []),
    ]
    if useless:
        raise FathomsError(f"{', '.join(useless)} cannot change scores that are computed already; give QRELS and runs")
    options.check_sources(args)
    output.check_target(args.format, args.output)
    how = {name: value for name, value in options.arguments(args, "compare").items() if name in OF_SCORES}
    result = comparison_of_scores(args.runs, seed=args.seed, **how)
    _present(result, args)
    return 0


def _present(result: Comparison, args: Namespace, exp: Experiment | None = None) -> None:
    from fathoms.cli import output

    output.present(result, args, lambda: _blocks(result), others=output.paper_forms(result), experiment=exp)


def _blocks(result: Comparison) -> list[Block]:
    """A table for each measure: the best run against its closest rivals first, then the next one's pairs; with a
    baseline, the runs that gain most first."""
    from fathoms.cli.screen import Block, Column

    blocks = []
    for measure in dict.fromkeys(pair.measure for pair in result.pairs):
        pairs = result.in_order(measure)
        columns = [
            Column(measure, [pair.run_a for pair in pairs], words=True),
            Column("against", [pair.run_b for pair in pairs], words=True),
        ]
        if result.by_group:
            columns.append(Column("group", [pair.group for pair in pairs], words=True))
        for name, level in SHOWN.items():
            if name == "reason" or any(getattr(pair, name) not in (None, "") for pair in pairs):
                cells = _cells(name, [getattr(pair, name) for pair in pairs])
                columns.append(Column(TITLES.get(name, name), cells, level, words=name in ("verdict", "reason")))
        blocks.append(Block(columns, noun="pair"))
    return blocks + [block for i in range(len(result.explained)) for block in explanation(result, i)]


def _cells(name: str, values: Sequence[float | str | None]) -> list[str]:
    from fathoms.base.text import p_cell

    shown: Callable[[float], str] = f"{{:{SIGNED}}}".format
    if name.startswith("fragility"):
        shown = "{:.0f}".format
    elif name == "p_holds":  # a share of draws
        shown = "{:.2f}".format
    elif name in ("p", "p_corrected"):
        shown = p_cell
    return [value or "" if value is None or isinstance(value, str) else shown(value) for value in values]


def explanation(result: Comparison, i: int) -> list[Block]:
    """One comparison topic by topic, and the documents that could reverse it, one per line as for a list of tasks."""
    from fathoms.cli.screen import cell, table
    from fathoms.data.delimited import quoted

    pair_fragility, pair = result.explained[i], result.pairs[i]
    if pair_fragility is None:
        return []
    topics = sorted(pair_fragility.topics, key=lambda topic: -abs(topic.score_a - topic.score_b))
    header = ["topic", pair.run_a, pair.run_b, "diff", "diff_low", "diff_high", "unjudged"]
    rows = [
        [
            result.topic_names[topic.topic],
            *(f"{value:.4f}" for value in (topic.score_a, topic.score_b)),
            *(cell(value, SIGNED) for value in (topic.score_a - topic.score_b, topic.low, topic.high)),
            str(topic.unjudged),
        ]
        for topic in topics
    ]
    title = f"{pair.measure}, {pair.run_a} against {pair.run_b}: topics, largest difference first"
    blocks = [table(header, rows, 1, title, "topic")]
    if pair_fragility.documents:
        ahead, behind = (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)
        done = "together they reverse it" if pair_fragility.high is not None else "together they do not reverse it"
        title = f"documents that would help {behind} against {ahead} most if relevant, first the most dangerous; {done}"
        lines = [[" ".join(quoted(cell, " ") for cell in row)] for row in decisive_rows(result, i)]
        blocks.append(table([f"# {' '.join(DECISIVE)}"], lines, 1, title, "document"))
    return blocks


def decisive_rows(result: Comparison, i: int) -> list[list[str]]:
    """The documents that could reverse one comparison, most dangerous first, as `fathoms judge --first` reads them."""
    rows = []
    pair_fragility = result.explained[i]
    for decisive in () if pair_fragility is None else pair_fragility.documents:
        ranks = (str(rank) if rank is not None else "-" for rank in (decisive.rank_a, decisive.rank_b))
        topic, document = result.topic_names[decisive.topic], result.document_names[decisive.key]
        rows.append([topic, document, f"{decisive.grade:g}", *ranks, f"{decisive.change:+z.4f}"])
    return rows
