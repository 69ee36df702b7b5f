"""The leaderboard: each run's rank, and the ranks it could have.

  possible  over every way of judging the unjudged documents of all runs and every order of ties: proved
  likely    over further judging: from the estimates of `fathoms predict`, in 95 of 100 cases (--level)
  topics    simultaneous confidence sets: with these topics as a sample, the true ranks of all runs are in their sets
            with 95% confidence (--alpha)

Runs share a letter in `group` exactly if the topics do not tell them apart. Equal scores share the better rank.

-o FILE takes .svg, .png and .pdf for a chart of the first measure, and .html for the leaderboard as a page.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.output import Block
    from fathoms.comparison.rank import Ranking, Standing

EXAMPLES = """examples:
  fathoms rank qrels.txt runs/
  fathoms rank qrels.txt runs/ -m nDCG@10 -o leaderboard.html
  fathoms rank qrels.txt runs/ -m AP --draws 0 -o ranks.svg
  fathoms rank qrels.txt runs/ -m AP -m P@10 --alpha 0.1 --format latex"""

FORMATS = ("table", "tsv", "csv", "json", "parquet", "latex", "html")
PICTURES = (".svg", ".png", ".pdf")
BAR = 24  # characters in which ranks are drawn
LONGEST_GROUP = 8  # letters that a table shows


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    parser.add_argument(
        "--alpha", metavar="A", type=options.share, default=0.05, help="of the confidence sets over topics (0.05)"
    )
    parser.add_argument(
        "--draws",
        metavar="N",
        type=options.at_least_zero,
        help="how often the unjudged documents are drawn for the likely ranks; 0 leaves them out (200, and 0 where "
        "that would take long)",
    )
    options.add_estimates(parser)
    options.add_output(parser, FORMATS)
    options.add_order(parser)
    options.add_ranges(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms import charts
    from fathoms.cli import output

    picture = args.output is not None and args.output.suffix in PICTURES
    if picture:
        charts.require()
    if args.output is not None and args.output.suffix == ".html" and args.format == "table":
        args.format = "html"
    options.check_different(args.runs, "give each run once")
    exp = options.experiment(args)
    with output.progress(len(exp.runs), args.quiet) as step:
        result = exp.rank(
            args.measures or "AP",
            alpha=args.alpha,
            draws=args.draws,
            labels=args.labels,
            to_depth=args.to_depth,
            level=args.level,
            progress=step,
        )
    output.say_notes(exp, result, args)
    if picture:
        output.save_chart(result.chart(), args.output)
        output.say_sentences(result, args)
    elif args.format == "table":
        answers, remarks = ([], []) if args.quiet else (result.answers, result.remarks)
        blocks = [_block(result, measure.name) for measure in result.measures]
        output.put(output.blocks_text(blocks, answers, remarks, wide=args.output is not None), args.output)
    elif args.format == "latex":
        output.put(_latex(result), args.output)
    elif args.format == "html":
        from fathoms.reporting.leaderboard import leaderboard

        output.put(leaderboard(result), args.output)
    else:
        output.put_result(result, args)
    return 0


def _block(result: Ranking, measure: str) -> Block:
    """A measure's table: ranks as spans, drawn in the last column."""
    from fathoms.cli.output import Block
    from fathoms.comparison.rank_sentences import span
    from fathoms.text import pluralise

    found = result.of(measure)
    grouped = 0 < max(len(one.group) for one in found) <= LONGEST_GROUP
    possible, likely = found[0].rank_low is not None, found[0].likely_rank is not None
    header = ["run", *(["group"] if grouped else []), "score", "rank", "topics"]
    header += [*(["estimate", "at", "likely"] if likely else []), *(["possible"] if possible else [])]
    rows = []
    for one in found:
        cells = [one.run, *([one.group] if grouped else []), f"{one.score:.4f}", str(one.rank)]
        cells.append(span(one.rank_ci_low, one.rank_ci_high))
        if likely:
            cells += [f"{one.estimate:.4f}", str(one.likely_rank), span(one.likely_rank_low, one.likely_rank_high)]
        if possible:
            cells.append(span(one.rank_low, one.rank_high))
        rows.append([*cells, bar(one, len(found))])
    words = 2 if grouped else 1
    title = f"{measure}, {pluralise(len(found), 'run')}, {pluralise(result.topics, 'topic')}"
    ends = f"1{len(found):>{BAR - 1}}"
    return Block(title, [*header, ends], rows, words, True)


def bar(one: Standing, n: int) -> str:
    """`──━━●━━━────`: thin the possible ranks, thick the confidence set over topics, a dot the rank."""
    cells = ["·"] * BAR

    def place(rank: int) -> int:
        return (rank - 1) * (BAR - 1) // max(1, n - 1)

    for low, high, mark in ((one.rank_low, one.rank_high, "─"), (one.rank_ci_low, one.rank_ci_high, "━")):
        if low is not None and high is not None:
            cells[place(low) : place(high) + 1] = mark * (place(high) + 1 - place(low))
    cells[place(one.rank)] = "●"
    return "".join(cells)


def _latex(result: Ranking) -> str:
    """A booktabs table; `3 [1-7]` is a rank and the ranks it could have, over topics, likely and possible."""
    from fathoms.cli.output import latex_escape
    from fathoms.comparison.rank_sentences import span

    likely = any(one.likely_rank is not None for one in result.standings)
    possible = any(one.rank_low is not None for one in result.standings)
    columns = ["Measure", "Run", "Score", "Rank [topics]"]
    columns += [*(["Likely rank"] if likely else []), *(["Possible"] if possible else [])]
    lines = [rf"\begin{{tabular}}{{ll{'r' * (len(columns) - 2)}}}", r"\toprule", " & ".join(columns) + r" \\"]
    for measure in result.measures:
        lines.append(r"\midrule")
        for one in result.of(measure.name):
            letters = rf"\textsuperscript{{{one.group}}}" if 0 < len(one.group) <= LONGEST_GROUP else ""
            cells = [latex_escape(one.measure), latex_escape(one.run), f"{one.score:.4f}{letters}"]
            cells.append(f"{one.rank} [{_dash(span(one.rank_ci_low, one.rank_ci_high))}]")
            if likely:
                reach = _dash(span(one.likely_rank_low, one.likely_rank_high))
                cells.append("--" if one.likely_rank is None else f"{one.likely_rank} [{reach}]")
            if possible:
                cells.append("--" if one.rank_low is None else f"[{_dash(span(one.rank_low, one.rank_high))}]")
            lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {sentence}" for sentence in result.sentences)]
    return "\n".join(lines) + "\n"


def _dash(text: str) -> str:
    return text.replace("-", "--")
