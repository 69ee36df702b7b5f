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
    from fathoms.questions.rank.analysis import Ranking, Standing

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
    options.add_question(parser, "rank")
    options.add_output(parser, FORMATS)
    options.add_reading(parser, *options.ORDER, *options.UNITS, *options.RANGES, *options.READ_SUBTOPICS, *options.WORK)
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.base import charts
    from fathoms.base.errors import FathomsError
    from fathoms.cli import output

    picture = args.output is not None and args.output.suffix in PICTURES
    if picture:
        charts.require()
        if args.format == "parquet":
            raise FathomsError(f"{args.output}: is a picture; parquet needs a file of its own")
    if args.output is not None and args.output.suffix == ".html" and args.format == "table":
        args.format = "html"
    options.check_different(args.runs, "give each run once")
    exp = options.experiment(args)
    exp.spares_memory = True
    result = exp.rank(**options.arguments(args, "rank"))
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
    from fathoms.base.text import pluralise
    from fathoms.cli.screen import Block, Column, drawing
    from fathoms.questions.rank.words import span

    standings = result.of(measure)
    title = f"{measure}, {pluralise(result.topics, 'topic')}"
    columns = [Column(title, [standing.run for standing in standings], words=True)]
    if 0 < max(len(standing.group) for standing in standings) <= LONGEST_GROUP:
        columns.append(Column("group", [standing.group for standing in standings], 4, words=True))
    columns += [
        Column("score", [f"{standing.score:.4f}" for standing in standings]),
        Column("rank", [str(standing.rank) for standing in standings]),
        Column("topics", [span(standing.own_rank_low, standing.own_rank_high) for standing in standings], 1),
        Column("at once", [span(standing.rank_ci_low, standing.rank_ci_high) for standing in standings], 4),
    ]
    if standings[0].likely_rank is not None:
        columns += [
            Column("estimate", [f"{standing.estimate:.4f}" for standing in standings], 3),
            Column("at", [str(standing.likely_rank) for standing in standings], 3),
            Column("likely", [span(standing.likely_rank_low, standing.likely_rank_high) for standing in standings], 2),
        ]
    if standings[0].rank_low is not None:
        columns.append(Column("possible", [span(standing.rank_low, standing.rank_high) for standing in standings], 2))

    def draw(width: int) -> list[str]:
        return [f"1{len(standings):>{width - 1}}", *(bar(standing, len(standings), width) for standing in standings)]

    return Block([*columns, drawing(draw, 5)], noun="run")


def bar(standing: Standing, n: int, width: int = 24) -> str:
    """`──━━●━━━────`: thin the possible ranks, thick the run's own confidence set over topics, a dot the rank."""
    cells = ["·"] * width

    def place(rank: int) -> int:
        return (rank - 1) * (width - 1) // max(1, n - 1)

    for low, high, mark in (
        (standing.rank_low, standing.rank_high, "─"),
        (standing.own_rank_low, standing.own_rank_high, "━"),
    ):
        if low is not None and high is not None:
            cells[place(low) : place(high) + 1] = mark * (place(high) + 1 - place(low))
    cells[place(standing.rank)] = "●"
    return "".join(cells)


def _latex(result: Ranking) -> str:
    """A booktabs table; `3 [1-7]` is a rank and the ranks it could have, over topics, likely and possible."""
    from fathoms.base.text import latex_escape, shown_safely
    from fathoms.questions.rank.words import span

    likely = any(standing.likely_rank is not None for standing in result.standings)
    possible = any(standing.rank_low is not None for standing in result.standings)
    columns = ["Measure", "Run", "Score", "Rank [topics]"]
    columns += [*(["Likely rank"] if likely else []), *(["Possible"] if possible else [])]
    lines = [rf"\begin{{tabular}}{{ll{'r' * (len(columns) - 2)}}}", r"\toprule", " & ".join(columns) + r" \\"]
    for measure in result.measures:
        lines.append(r"\midrule")
        for standing in result.of(measure.name):
            letters = rf"\textsuperscript{{{standing.group}}}" if 0 < len(standing.group) <= LONGEST_GROUP else ""
            cells = [latex_escape(standing.measure), latex_escape(standing.run), f"{standing.score:.4f}{letters}"]
            cells.append(f"{standing.rank} [{_dash(span(standing.own_rank_low, standing.own_rank_high))}]")
            if likely:
                reach = _dash(span(standing.likely_rank_low, standing.likely_rank_high))
                cells.append("--" if standing.likely_rank is None else f"{standing.likely_rank} [{reach}]")
            if possible:
                cells.append(
                    "--" if standing.rank_low is None else f"[{_dash(span(standing.rank_low, standing.rank_high))}]"
                )
            lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {shown_safely(sentence)}" for sentence in result.sentences)]
    return "\n".join(lines) + "\n"


def _dash(text: str) -> str:
    return text.replace("-", "--")
