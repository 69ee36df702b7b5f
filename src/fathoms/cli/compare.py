"""Is A better than B, and will it stay so?

For each pair of runs (or each run and --baseline): the difference of the means, its range over every way of judging the
documents of the two runs, confidence interval, p-value, effect size, estimate, and a verdict:

  certain    supported, and no judging and no tie-breaking reverses it
  supported  significant, and very likely to remain so under further judging
  fragile    significant as judged, but judging or tie-breaking may well undo it
  open       not significant; the reason says what would help
  tie        the means are equal

--explain says where a difference comes from, topic by topic, and which documents could reverse it.

With `none` as QRELS the files are scores by topic that some tool has computed (`trec_eval -q`, `ir_measures -q`, tsv,
csv, json or parquet of `fathoms eval --by-topic`): differences, intervals and p-values, but nothing of ranges and ties.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options
from fathoms.comparison.names import CORRECTIONS, TESTS
from fathoms.estimate.names import LEVEL

if TYPE_CHECKING:
    from fathoms.comparison.compare import Comparison

EXAMPLES = """examples:
  fathoms compare qrels.txt a.run b.run
  fathoms compare qrels.txt a.run b.run -m nDCG@10 --explain
  fathoms compare qrels.txt a.run b.run -m AP --explain-to decisive.txt
  fathoms compare qrels.txt runs/ -m AP -m 'RBP(p=0.8)' --baseline bm25 --correction holm
  fathoms compare qrels.txt runs/ -m nDCG@10 --test randomization --format latex
  fathoms compare qrels.txt a.run b.run -m nDCG@10 --topic-groups intents.tsv
  fathoms compare none a.eval b.eval -m map"""


# What the table shows beside runs, measure, verdict and reason, where there is any of it.
DECISIVE = ("topic", "document", "grade", "rank_a", "rank_b", "change")
SHOWN = (
    *("diff", "diff_low", "diff_high", "ci_low", "ci_high", "p", "p_corrected", "effect"),
    *("estimate", "likely_low", "likely_high", "p_holds", "fragility_low", "fragility_high", "reversible"),
)
TITLES = {
    "p_corrected": "p_corr",
    "likely_low": "likely",
    "likely_high": "to",
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
    output.say_notes(exp, result, args)
    if args.explain_to is not None:
        decisive = [row for i in range(len(result.explained)) for row in decisive_rows(result, i)]
        output.put(output.delimited(DECISIVE, decisive, "\t"), args.explain_to)
    _write(result, args)
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
    if not args.quiet:
        output.warn(result.notes)
    _write(result, args)
    return 0


def _write(result: Comparison, args: Namespace) -> None:
    from fathoms.cli import output

    if args.format == "table":
        output.put(_table(result, [] if args.quiet else result.sentences), args.output)
    elif args.format == "latex":
        output.put(_latex(result), args.output)
    else:
        output.put_result(result, args)


def _number(value: float | None, signed: bool = True) -> str:
    if value is None:
        return ""
    return f"{value:+z.4f}" if signed else "<.0001" if value < 0.0001 else f"{value:.4f}"


def _table(result: Comparison, sentences: list[str]) -> str:
    from fathoms.cli.output import aligned_text

    shown = [name for name in SHOWN if any(getattr(pair, name) is not None for pair in result.pairs)]
    words = ["run_a", "run_b", "measure", *(["group"] if result.by_group else []), "verdict"]
    header = [*words, *(TITLES.get(name, name) for name in shown), "reason"]
    rows = [
        [
            *(getattr(pair, name) for name in words),
            *(_cell(name, getattr(pair, name)) for name in shown),
            pair.reason,
        ]
        for pair in (*result.pairs, *result.by_group)
    ]
    parts = [aligned_text(header, rows, numbers_from=len(words)), "\n".join(sentences)]
    parts += [explanation(result, i) for i in range(len(result.explained))]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part)


def _cell(name: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if name.startswith("fragility"):
        return f"{value:.0f}"
    return _number(value, signed=not name.startswith("p"))


def explanation(result: Comparison, i: int) -> str:
    """One comparison topic by topic, and the documents that could reverse it, one per line as for a list of tasks."""
    from fathoms.cli.output import aligned_text
    from fathoms.data.delimited import quoted

    told, pair = result.explained[i], result.pairs[i]
    if told is None:
        return ""
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
    head = f"{pair.measure}, {pair.run_a} against {pair.run_b}: topics, largest difference first\n"
    text = head + aligned_text(header, rows, numbers_from=1)
    if not told.documents:
        return text
    ahead, behind = (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)
    done = "together they reverse it" if told.high is not None else "together they do not reverse it"
    lines = [
        f"\ndocuments that would help {behind} against {ahead} most if relevant, first the most dangerous; {done}",
        f"# {' '.join(DECISIVE)}",
        *(" ".join(quoted(cell, " ") for cell in row) for row in decisive_rows(result, i)),
    ]
    return text + "\n".join(lines) + "\n"


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
    from fathoms.cli.output import latex_escape

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
    lines += [f"% {sentence}" for sentence in result.sentences]
    return "\n".join(lines) + "\n"
