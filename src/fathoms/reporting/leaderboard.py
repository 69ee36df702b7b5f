"""The leaderboard as a page of its own: sentences, and a table with the ranks of each run drawn in its row."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from fathoms.base.text import pluralise
from fathoms.questions.rank.words import about, described, leaders, outlook, span
from fathoms.reporting.parts import number, paragraphs, text

if TYPE_CHECKING:
    from fathoms.questions.rank.analysis import Ranking, Standing

# Beside the report's own style, whose bars are of scores.
STYLE = """
main { padding-block: 2rem; }
.bar { width: 16rem; }
.bar .topics { background: var(--sky); top: 2px; height: 10px; border-radius: 3px; }
.bar .all { background: var(--grey); top: 6px; height: 2px; }
.bar .likely { top: 5px; height: 4px; }
.bar .score { background: var(--ink); }
.legend span { margin-right: 1.5rem; white-space: nowrap; }
.legend i { display: inline-block; width: 1.6rem; margin-right: .4rem; vertical-align: middle; border-radius: 3px; }
"""


def leaderboard(result: Ranking) -> str:
    """The page, whole and by itself: no script, nothing from elsewhere."""
    style = (files("fathoms.reporting") / "page.css").read_text(encoding="utf-8")
    body = "".join(_section(result, i) for i in range(len(result.measures)))
    under = "".join(f'<p class="note">{text(sentence)}</p>' for sentence in [*about(result), *result.notes])
    size = f"{pluralise(len(result.runs), 'run')}, {pluralise(result.topics, 'topic')}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Leaderboard</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style}{STYLE}</style></head><body><main>"
        f'<h1>Leaderboard</h1><p class="lead">{size}</p>{body}{under}</main></body></html>\n'
    )


def _section(result: Ranking, place: int) -> str:
    measure = result.measures[place].name
    standings = result.of(measure)
    possible, likely = standings[0].rank_low is not None, standings[0].likely_rank is not None
    grouped = any(standing.group for standing in standings) and max(len(standing.group) for standing in standings) <= 8
    titles = ["rank", "run", "score", *(["group"] if grouped else []), f"1 to {len(standings)}", "over topics"]
    titles += [*(["estimate", "likely"] if likely else []), *(["possible"] if possible else [])]
    rows = []
    for standing in standings:
        cells = [str(standing.rank), text(standing.run), number(standing.score), *([standing.group] if grouped else [])]
        cells += [_bar(standing, len(standings)), span(standing.own_rank_low, standing.own_rank_high)]
        if likely:
            reach = span(standing.likely_rank_low, standing.likely_rank_high)
            alone = standing.likely_rank is None or reach == str(standing.likely_rank)
            cells += [number(standing.estimate), reach if alone else f"{standing.likely_rank} ({reach})"]
        cells += [span(standing.rank_low, standing.rank_high)] if possible else []
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    answer = " ".join([leaders(result, measure), *outlook(result, measure)])
    return (
        f"<section><h2>{text(measure)}</h2>{paragraphs([answer])}{_legend(result, likely, possible)}{table}</section>"
    )


def _legend(result: Ranking, likely: bool, possible: bool) -> str:
    marks = [("--sky", 10, f"{100 * (1 - result.alpha):g}% confidence set of each run alone, over topics")]
    marks += [("--green", 4, f"likely ({100 * result.level:g}%), over judging")] if likely else []
    marks += [("--grey", 2, "possible, over judging and ties")] if possible else []
    keys = [f'<i style="height:{height}px;background:var({colour})"></i>{name}' for colour, height, name in marks]
    keys.append('<i style="width:8px;height:8px;background:var(--ink)"></i>rank')
    return f'<p class="legend note">{"".join(f"<span>{key}</span>" for key in keys)}</p>'


def _bar(standing: Standing, n: int) -> str:
    """All ranks from left to right, each as broad as the next."""

    def part(kind: str, low: int | None, high: int | None) -> str:
        if low is None or high is None:
            return ""
        return f'<i class="{kind}" style="left:{100 * (low - 1) / n:.2f}%;width:{100 * (high - low + 1) / n:.2f}%"></i>'

    parts = part("topics", standing.own_rank_low, standing.own_rank_high) + part(
        "all", standing.rank_low, standing.rank_high
    )
    parts += part("likely", standing.likely_rank_low, standing.likely_rank_high)
    dot = f'<i class="score" style="left:{100 * (standing.rank - 0.5) / n:.2f}%"></i>'
    return f'<span class="bar" title="{text(described(standing))}">{parts}{dot}</span>'
