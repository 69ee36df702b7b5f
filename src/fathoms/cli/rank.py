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
    from fathoms.cli.screen import Block
    from fathoms.comparison.rank import Ranking, Standing

EXAMPLES = (
    ("who is first, and who else could be?", "fathoms rank qrels.txt runs/ -m nDCG@10"),
    ("the leaderboard as a page to pass on", "fathoms rank qrels.txt runs/ -m nDCG@10 -o leaderboard.html"),
)
MORE = """more examples:
  fathoms rank qrels.txt runs/ -m AP --draws 0 -o ranks.svg
  fathoms rank qrels.txt runs/ -m AP -m P@10 --alpha 0.1 --format latex"""

FORMATS = ("table", "tsv", "csv", "json", "parquet", "latex", "html")
PICTURES = (".svg", ".png", ".pdf")
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
    from fathoms.errors import FathomsError

    picture = args.output is not None and args.output.suffix in PICTURES
    if picture:
        charts.require()
        if args.format == "parquet":
            raise FathomsError(f"{args.output}: is a picture; parquet needs a file of its own")
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
    if picture:
        output.save_chart(result.chart(), args.output)
        args.output = None
    others = {"latex": lambda: _latex(result), "html": lambda: _html(result)}
    output.present(
        result,
        args,
        lambda: [_block(result, measure.name) for measure in result.measures],
        others=others,
        experiment=exp,
    )
    return 0


def _html(result: Ranking) -> str:
    from fathoms.reporting.leaderboard import leaderboard

    return leaderboard(result)


def _block(result: Ranking, measure: str) -> Block:
    """A measure's table: ranks as spans, drawn in the last column."""
    from fathoms.cli.screen import Block, Column, drawing
    from fathoms.comparison.rank_sentences import span
    from fathoms.text import pluralise

    found = result.of(measure)
    title = f"{measure}, {pluralise(result.topics, 'topic')}"
    columns = [Column(title, [one.run for one in found], words=True)]
    if 0 < max(len(one.group) for one in found) <= LONGEST_GROUP:
        columns.append(Column("group", [one.group for one in found], 4, words=True))
    columns += [
        Column("score", [f"{one.score:.4f}" for one in found]),
        Column("rank", [str(one.rank) for one in found]),
        Column("topics", [span(one.rank_ci_low, one.rank_ci_high) for one in found], 1),
    ]
    if found[0].likely_rank is not None:
        columns += [
            Column("estimate", [f"{one.estimate:.4f}" for one in found], 3),
            Column("at", [str(one.likely_rank) for one in found], 3),
            Column("likely", [span(one.likely_rank_low, one.likely_rank_high) for one in found], 2),
        ]
    if found[0].rank_low is not None:
        columns.append(Column("possible", [span(one.rank_low, one.rank_high) for one in found], 2))

    def draw(width: int) -> list[str]:
        return [f"1{len(found):>{width - 1}}", *(bar(one, len(found), width) for one in found)]

    return Block([*columns, drawing(draw, 5)], noun="run")


def bar(one: Standing, n: int, width: int = 24) -> str:
    """`──━━●━━━────`: thin the possible ranks, thick the confidence set over topics, a dot the rank."""
    cells = ["·"] * width

    def place(rank: int) -> int:
        return (rank - 1) * (width - 1) // max(1, n - 1)

    for low, high, mark in ((one.rank_low, one.rank_high, "─"), (one.rank_ci_low, one.rank_ci_high, "━")):
        if low is not None and high is not None:
            cells[place(low) : place(high) + 1] = mark * (place(high) + 1 - place(low))
    cells[place(one.rank)] = "●"
    return "".join(cells)


def _latex(result: Ranking) -> str:
    """A booktabs table; `3 [1-7]` is a rank and the ranks it could have, over topics, likely and possible."""
    from fathoms.comparison.rank_sentences import span
    from fathoms.text import latex_escape, shown_safely

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
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {shown_safely(sentence)}" for sentence in result.sentences)]
    return "\n".join(lines) + "\n"


def _dash(text: str) -> str:
    return text.replace("-", "--")
