"""The first screen of the report: three sentences, and the leaderboard as a picture, each run with its score, how
far each doubt could move it, and a mark for what may be claimed against the first or a chosen one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from fathoms.inference.names import CLAIMED, Verdict
from fathoms.measures.base import Measure
from fathoms.questions.compare.words import topics_needed
from fathoms.reporting.parts import details, text
from fathoms.reporting.verdicts import leaders, obstacle, of_run, other_run, rivals

if TYPE_CHECKING:
    from fathoms.questions.compare.result import Pair
    from fathoms.reporting.report import Report

SHOWN = 20  # runs of the first screen; the others are a click away
LONG = 24  # characters of a name that stay
OBSTACLES = ("topics", "judging", "ties", "equal means")
# The mark of a run that is behind the one it is compared with, and of one that is ahead.
MARKS: dict[Verdict, tuple[str, str]] = {
    "certain": ("▼", "▲"),
    "supported": ("▼", "▲"),
    "fragile": ("▽", "△"),
    "open": ("·", "·"),
    "tie": ("=", "="),
}
DOUBTS = {
    "all": "any judging",
    "likely": "judging, likely",
    "topic": "other topics (95%)",
    "tied": "any order of ties",
}
LEGEND = (
    '<p class="legend"><span><i class="score"></i>score</span><span><i class="tied"></i>ties</span>'
    '<span><i class="topic"></i>topics</span><span><i class="likely"></i>judging, likely</span>'
    '<span><i class="all"></i>possible</span>'
    "<span>▼ worse</span><span>▽ only as judged</span><span>· open</span></p>"
)


def headline(report: Report, measure: Measure, named: Callable[[str], str] = str) -> list[str]:
    """Who leads and whether that may be claimed, what keeps the rest open, and what to do next; runs as `named`."""
    best, *shared = leaders(report, measure)
    score = f"{report.ranked(measure)[0].mean(measure)['score'] or 0.0:.4f}"
    pairs = of_run(report, measure, best)
    if not pairs:
        return [f"{named(best)} scores {score} by {measure.name}."]
    claimed = sum(pair.verdict in CLAIMED for pair in pairs)
    who = f"{named(best)} leads" if not shared else f"{named(best)} and {len(shared)} more lead"
    whom = {0: "but may not be called better than any other", len(pairs): "and may be called better than all others"}
    some = f"and may be called better than {claimed} of {len(pairs)} others"
    lines = [f"{who} by {measure.name} with {score}, {whom.get(claimed, some)}."]
    unclaimed = rivals(report, measure)
    if not unclaimed:
        return lines
    lacking = [obstacle(pair) for _, pair in unclaimed]
    counts = ", ".join(f"{name} ({lacking.count(name)})" for name in OBSTACLES if name in lacking)
    return [
        *lines,
        f"What keeps the other {len(unclaimed)} open: {counts}.",
        _next_step(report, measure, unclaimed, named),
    ]


def _next_step(
    report: Report, measure: Measure, unclaimed: Sequence[tuple[str, Pair]], named: Callable[[str], str]
) -> str:
    judging = report.judging.get(measure.name)
    by_judging = [name for name, pair in unclaimed if obstacle(pair) == "judging"]
    if judging is not None and judging.forecast is not None and judging.open_pairs:
        low, high = judging.forecast
        many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return f"Next: judge. About {many} documents would settle who is ahead on these topics."
    if by_judging:
        return f"Next: judge the documents of {named(by_judging[0])} and of the leader (see Judging)."
    needed = [(pair.topics_needed, name) for name, pair in unclaimed if pair.topics_needed is not None]
    if needed:
        topics, name = min(needed)
        return f"Next: more topics; {topics_needed(topics)} would probably tell {named(name)} apart."
    return "Next: nothing here would tell them apart."


def board(report: Report, i: int, measure: Measure) -> str:
    """A row a run, best first."""
    ranked = report.ranked(measure)
    means = {run.run: run.mean(measure) for run in ranked}
    top = max([1e-9, *(mean["high"] or mean["score"] or 0.0 for mean in means.values())])
    short = short_names([run.run for run in ranked])
    marks = _marks(report, measure, ranked[0].run)
    rows = []
    for place, run in enumerate(ranked, 1):
        mean = means[run.run]
        doubts = {
            "all": (mean["low"], mean["high"]),
            "likely": report.estimates.get((run.run, measure.name), (None, None, None))[1:],
            "topic": report.evaluation.interval(run.run, measure),
            "tied": (mean["tie_low"], mean["tie_high"]),
        }
        bars = "".join(_bar(kind, low, high, top) for kind, (low, high) in doubts.items())
        score = mean["score"] or 0.0
        dot = f'<i class="score" style="left:{100 * score / top:.2f}%"></i>'
        rows.append(
            f'<li data-run="{text(run.run)}"><span class="place">{place}</span>'
            f'<span class="run" title="{text(run.run)}">{text(short[run.run])}</span>'
            f'<span class="track" title="{text(_told(run.run, score, doubts))}">{bars}{dot}</span>'
            f'<span class="value">{score:.4f}</span>{marks.get(run.run, "<b></b>")}</li>'
        )
    first, rest = "".join(rows[:SHOWN]), "".join(rows[SHOWN:])
    more = details(f"{len(rows) - SHOWN:,} more runs", f'<ol class="board">{rest}</ol>') if rest else ""
    chosen = "".join(f'<option value="{text(run.run)}">{text(short[run.run])}</option>' for run in ranked)
    against = f'<label class="against">against <select data-board="{i}">{chosen}</select></label>' if marks else ""
    return f'<div class="leaders" id="board-{i}">{against}<ol class="board">{first}</ol>{more}</div>'


def _bar(kind: str, low: float | None, high: float | None, top: float) -> str:
    if low is None or high is None or high <= low:
        return ""
    left, right = (100 * min(max(value / top, 0.0), 1.0) for value in (low, high))
    return f'<i class="{kind}" style="left:{left:.2f}%;width:{right - left:.2f}%"></i>'


def _told(run: str, score: float, doubts: dict[str, tuple[float | None, float | None]]) -> str:
    parts = [f"{DOUBTS[kind]} {low:.4f} to {high:.4f}" for kind, (low, high) in doubts.items() if low is not None]
    return "; ".join([f"{run}: {score:.4f}", *parts])


def _marks(report: Report, measure: Measure, reference: str) -> dict[str, str]:
    marks = {}
    for pair in of_run(report, measure, reference):
        other = other_run(pair, reference)
        ahead = (pair.diff > 0) == (pair.run_a == other)
        missing = f" (obstacle: {obstacle(pair)})" if obstacle(pair) else ""
        tooltip = f"{pair.verdict}{missing}: {'ahead of' if ahead else 'behind'} {reference}"
        marks[other] = f'<b class="{pair.verdict}" title="{text(tooltip)}">{MARKS[pair.verdict][ahead]}</b>'
    return marks


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without the parts that all begin and end with, as long as a letter stays, and cut in the middle; whole
    where that would not tell them apart."""
    start, end = (_shared(names, turned) for turned in (False, True))
    for from_, to in ((start, end), (start, 0), (0, end), (0, 0)):
        cut = {name: _cut(name[from_ : len(name) - to]) for name in names}
        if all(map(re.compile(r"[^\W\d_]").search, cut.values())):
            break
    counts = Counter(cut.values())
    return {name: short if counts[short] == 1 else name for name, short in cut.items()}


def _shared(names: Sequence[str], turned: bool) -> int:
    """How many characters all names begin with (or end with), up to the last one that divides words."""
    if len(names) < 2:
        return 0
    first, *_, last = sorted(name[::-1] if turned else name for name in names)  # what these share, all share
    shared = takewhile(lambda two: two[0] == two[1], zip(first, last, strict=False))
    whole = re.match(r".*[\W_]", "".join(letter for letter, _ in shared))
    return len(whole.group()) if whole else 0


def _cut(name: str) -> str:
    return name if len(name) <= LONG else f"{name[: LONG // 2]}…{name[-(LONG // 2 - 1) :]}"
