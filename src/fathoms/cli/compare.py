"""Is A better than B, and will it stay so?

For each pair of runs (or each run and --baseline): the difference of the means, its range over all ways of judging the
unjudged documents, confidence interval, p-value, and a verdict: certain (no judgment can turn it), settled
(significant, and neither ties nor the point estimate turn it), tie, or open.

With `none` as QRELS the files are scores by topic that some tool has computed (`trec_eval -q`, `ir_measures -q`, tsv,
csv, json or parquet of `fathoms eval --by-topic`): differences, intervals and p-values, but nothing of ranges and ties.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from fathoms.cli import options
from fathoms.comparison.names import CORRECTIONS, TESTS

if TYPE_CHECKING:
    from fathoms.comparison.compare import Comparison

EXAMPLES = """examples:
  fathoms compare qrels.txt a.run b.run
  fathoms compare qrels.txt runs/ -m AP -m 'RBP(p=0.8)' --baseline bm25 --correction holm
  fathoms compare qrels.txt runs/ -m nDCG@10 --test randomization --format latex
  fathoms compare none a.eval b.eval -m map"""


# Flags that say how runs and judgments are read, with their defaults: scores alone have nothing to do with them.
OF_RUNS = {
    "ties": "trec",
    "score_precision": None,
    "bounds": None,
    "universe": None,
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
    options.add_output(parser, ("table", "tsv", "csv", "json", "parquet", "latex"))
    options.add_order(parser)
    options.add_ranges(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    if args.qrels == "none":
        return _run_on_scores(args)
    exp = options.experiment(args, memory_mb=0)
    with output.progress(len(exp.runs), args.quiet) as step:
        result = exp.compare(
            args.measures or "AP",
            test=args.test,
            correction=args.correction,
            alpha=args.alpha,
            baseline=args.baseline,
            progress=step,
        )
    output.say_notes(exp, result, args)
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
    return f"{value:+.4f}" if signed else "<.0001" if value < 0.0001 else f"{value:.4f}"


def _table(result: Comparison, sentences: list[str]) -> str:
    from fathoms.cli.output import aligned_text

    header = [
        "run_a",
        "run_b",
        "measure",
        "verdict",
        "diff",
        "diff_low",
        "diff_high",
        "ci_low",
        "ci_high",
        "p",
        "p_corr",
    ]
    rows = [
        [
            pair.run_a,
            pair.run_b,
            pair.measure,
            pair.verdict,
            *map(_number, (pair.diff, pair.diff_low, pair.diff_high, pair.ci_low, pair.ci_high)),
            _number(pair.p, signed=False),
            _number(pair.p_corrected, signed=False),
        ]
        for pair in result.pairs
    ]
    text = aligned_text(header, rows, numbers_from=4)
    return text + "\n" + "\n".join(sentences) + "\n" if sentences else text


def _latex(result: Comparison) -> str:
    """A booktabs table; the difference with its range over judgments below and above, and the caption to go with it."""
    from fathoms.cli.output import latex_escape

    lines = [r"\begin{tabular}{lllrrrrl}", r"\toprule"]
    level = f"{100 * (1 - result.alpha):g}"
    lines.append(rf"A & B & Measure & A $-$ B & Range over judgments & {level}\% CI & $p$ & Verdict \\")
    lines.append(r"\midrule")
    for pair in result.pairs:
        ranged = "--" if pair.diff_low is None else f"[{pair.diff_low:+.4f}, {pair.diff_high:+.4f}]"
        p = "$<$0.0001" if pair.p_corrected < 0.0001 else f"{pair.p_corrected:.4f}"
        cells = [
            *map(latex_escape, (pair.run_a, pair.run_b, pair.measure)),
            f"{pair.diff:+.4f}",
            ranged,
            f"[{pair.ci_low:+.4f}, {pair.ci_high:+.4f}]",
            p,
            pair.verdict,
        ]
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"% {sentence}" for sentence in result.sentences]
    return "\n".join(lines) + "\n"
