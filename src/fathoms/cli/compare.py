"""Is A better than B, and will it stay so?

For each pair of runs (or each run and --baseline): the difference of the means, its range over every way of judging the
documents of the two runs, confidence interval, p-value, effect size, estimate, and a verdict:

  certain    supported, and no judging and no tie-breaking reverses it
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
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options
from fathoms.comparison.names import CORRECTIONS, TESTS
from fathoms.estimate.names import LEVEL

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.cli.screen import Block
    from fathoms.comparison.compare import Comparison

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

# Flags that say how runs and judgments are read, with their defaults: scores alone have nothing to do with them.
OF_RUNS: dict[str, object] = {
    "ties": "trec",
    "score_precision": None,
    "band": None,
    "bounds": None,
    "universe": None,
    "universe_depth": None,
    "topics": "all",
    "topic_groups": None,
    "group_by": None,
    "draws": None,
    "labels": [],
    "to_depth": None,
    "level": LEVEL,
    "explain": False,
    "explain_to": None,
    "pooled": None,
    "lenient": False,
    "junk": None,
    "names": "file",
}


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    options.add_choice(
        parser,
        "--test",
        choices=TESTS,
        default="t",
        help="significance test, paired by topic (t)",
    )
    options.add_choice(
        parser,
        "--correction",
        choices=CORRECTIONS,
        default="holm",
        help="for making many comparisons; each measure's pairs together (holm)",
    )
    parser.add_argument("--alpha", metavar="A", type=options.share, default=0.05, help="significance level (0.05)")
    parser.add_argument("--baseline", metavar="RUN", help="compare each run with this one only (a name, or its file)")
    parser.add_argument(
        "--draws",
        metavar="N",
        type=options.at_least_zero,
        help="how often the unjudged documents are drawn for the estimates; 0 leaves them out (200, and 0 where that "
        "would take long)",
    )
    options.add_estimates(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="for a few pairs: where the difference comes from, how many documents decide it, and which",
    )
    parser.add_argument(
        "--explain-to",
        metavar="FILE",
        type=Path,
        help="write the documents that could reverse a difference to FILE, for `fathoms judge --first`",
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet", "latex"))
    options.add_order(parser)
    options.add_band(parser)
    options.add_ranges(parser)
    options.add_topic_groups(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output
    from fathoms.data.files import check_writable

    if args.qrels == "none":
        return _run_on_scores(args)
    if args.explain_to is not None:
        check_writable(args.explain_to)
    exp = options.experiment(args)
    with output.progress(len(exp.runs), args.quiet) as step:
        result = exp.compare(
            args.measures or "AP",
            test=args.test,
            correction=args.correction,
            alpha=args.alpha,
            baseline=args.baseline,
            draws=args.draws,
            labels=args.labels,
            to_depth=args.to_depth,
            level=args.level,
            explain=args.explain or args.explain_to is not None,
            progress=step,
        )
    if args.explain_to is not None:
        decisive = [row for i in range(len(result.explained)) for row in decisive_rows(result, i)]
        output.put(output.delimited(DECISIVE, decisive, "\t"), args.explain_to)
    _present(result, args, exp)
    return 0


def _run_on_scores(args: Namespace) -> int:
    from fathoms.cli import output
    from fathoms.comparison.external_scores import comparison_of_scores
    from fathoms.errors import FathomsError

    useless = [f"--{name.replace('_', '-')}" for name, default in OF_RUNS.items() if getattr(args, name) != default]
    if useless:
        raise FathomsError(f"{', '.join(useless)} cannot change scores that are computed already; give QRELS and runs")
    options.check_sources(args)
    output.check_target(args.format, args.output)
    result = comparison_of_scores(
        args.runs,
        args.measures,
        test=args.test,
        correction=args.correction,
        alpha=args.alpha,
        baseline=args.baseline,
        seed=args.seed,
    )
    _present(result, args)
    return 0


def _present(result: Comparison, args: Namespace, exp: Experiment | None = None) -> None:
    from fathoms.cli import output

    output.present(result, args, lambda: _blocks(result), others={"latex": lambda: _latex(result)}, experiment=exp)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:+z.4f}"


def _blocks(result: Comparison) -> list[Block]:
    """A table for each measure: the best run against its closest rivals first, then the next one's pairs; with a
    baseline the runs that gain most first."""
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
                cells = [_cell(name, getattr(pair, name)) for pair in pairs]
                columns.append(Column(TITLES.get(name, name), cells, level, words=name in ("verdict", "reason")))
        blocks.append(Block(columns, noun="pair"))
    return blocks + [block for i in range(len(result.explained)) for block in explanation(result, i)]


def _cell(name: str, value: float | str | None) -> str:
    from fathoms.text import p_cell

    if value is None or isinstance(value, str):
        return value or ""
    if name.startswith("fragility"):
        return f"{value:.0f}"
    if name == "p_holds":  # a share of draws
        return f"{value:.2f}"
    return p_cell(value) if name in ("p", "p_corrected") else _number(value)


def explanation(result: Comparison, i: int) -> list[Block]:
    """One comparison topic by topic, and the documents that could reverse it, one per line as for a list of tasks."""
    from fathoms.cli.screen import table
    from fathoms.data.delimited import quoted

    told, pair = result.explained[i], result.pairs[i]
    if told is None:
        return []
    topics = sorted(told.topics, key=lambda one: -abs(one.score_a - one.score_b))
    header = ["topic", pair.run_a, pair.run_b, "diff", "diff_low", "diff_high", "unjudged"]
    rows = [
        [
            result.topic_names[one.topic],
            *(f"{value:.4f}" for value in (one.score_a, one.score_b)),
            *map(_number, (one.score_a - one.score_b, one.low, one.high)),
            str(one.unjudged),
        ]
        for one in topics
    ]
    title = f"{pair.measure}, {pair.run_a} against {pair.run_b}: topics, largest difference first"
    blocks = [table(header, rows, 1, title, "topic")]
    if told.documents:
        ahead, behind = (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)
        done = "together they reverse it" if told.high is not None else "together they do not reverse it"
        title = f"documents that would help {behind} against {ahead} most if relevant, first the most dangerous; {done}"
        lines = [[" ".join(quoted(cell, " ") for cell in row)] for row in decisive_rows(result, i)]
        blocks.append(table([f"# {' '.join(DECISIVE)}"], lines, 1, title, "document"))
    return blocks


def decisive_rows(result: Comparison, i: int) -> list[list[str]]:
    """The documents that could reverse one comparison, most dangerous first, as `fathoms judge --first` reads them."""
    rows = []
    told = result.explained[i]
    for one in () if told is None else told.documents:
        ranks = (str(rank) if rank is not None else "-" for rank in (one.rank_a, one.rank_b))
        topic, document = result.topic_names[one.topic], result.document_names[one.key]
        rows.append([topic, document, f"{one.grade:g}", *ranks, f"{one.change:+z.4f}"])
    return rows


def _latex(result: Comparison) -> str:
    """A booktabs table; the difference with its range over judgments below and above, and the caption to go with it."""
    from fathoms.text import latex_escape, shown_safely

    lines = [r"\begin{tabular}{lllrrrrl}", r"\toprule"]
    level = f"{100 * (1 - result.alpha):g}"
    lines.append(rf"A & B & Measure & A $-$ B & Range over judgments & {level}\% CI & $p$ & Verdict \\")
    lines.append(r"\midrule")
    for pair in (*result.pairs, *result.by_group):
        measure = pair.measure if pair.group == "all" else f"{pair.measure}, {pair.group}"
        ranged = "--" if pair.diff_low is None else f"[{pair.diff_low:+z.4f}, {pair.diff_high:+z.4f}]"
        p = "$<$0.0001" if pair.p_corrected < 0.0001 else f"{pair.p_corrected:.4f}"
        cells = [
            *map(latex_escape, (pair.run_a, pair.run_b, measure)),
            f"{pair.diff:+z.4f}",
            ranged,
            f"[{pair.ci_low:+z.4f}, {pair.ci_high:+z.4f}]",
            p,
            pair.verdict,
        ]
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"% {shown_safely(sentence)}" for sentence in result.sentences]
    return "\n".join(lines) + "\n"
