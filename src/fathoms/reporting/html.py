"""The report as one HTML file: text, tables, charts, a little script, and nothing from elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from math import isfinite
from typing import Any
from urllib.parse import quote

import numpy as np

from fathoms.comparison import audit, ties
from fathoms.comparison.audit import SHARE_DEPTHS, Audit, changes
from fathoms.comparison.compare import ESTIMATE
from fathoms.comparison.correlation import swaps
from fathoms.comparison.depth import panes, reference_depth, volatility
from fathoms.comparison.sentences import CORRECTIONS, TESTS, sentences
from fathoms.data.qrels import Qrels
from fathoms.evidence.evidence import Floats
from fathoms.measures.base import Measure
from fathoms.reporting import charts, story
from fathoms.reporting.report import Informative, Report
from fathoms.text import pluralise

SHOWN = 200  # rows of a table of findings; the commands have all
MOST_CELLS = 600_000  # numbers of the drill-down by topic: more, and later measures do without
VERDICTS = ("certain", "settled", "open", "tie")
NO_CHARTS = "Charts are missing: they need the extra <code>report</code>, <code>pip install 'fathoms[report]'</code>."


# -- small parts --------------------------------------------------------------------------------------------------


def text(value: object) -> str:
    """Safe inside HTML, whatever files hold; bytes that are no UTF-8 become question marks."""
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"))


def number(value: float | None, form: str = ".4f") -> str:
    return "" if value is None or not isfinite(value) else format(value, form)


def paragraphs(told: Iterable[str]) -> str:
    return "".join(f"<p>{text(sentence)}</p>" for sentence in told)


def table(
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    words: int = 1,
    note: str = "",
    find: bool = False,
) -> str:
    """A table that can be sorted and, with `find`, searched. A cell is text, or (HTML, value to sort by)."""
    head = "".join(
        f'<th scope="col"{"" if i < words else " class=n"}><button>{text(title)}</button></th>'
        for i, title in enumerate(header)
    )
    body = []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            shown, value = cell if isinstance(cell, tuple) else (text(cell), None)
            key = "" if value is None else f' data-v="{text(value)}"'
            cells.append(f"<td{'' if i < words else ' class=n'}{key}>{shown}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    search = (
        f'<input class="find" type="search" data-for="{name}" placeholder="Find ..." aria-label="Find in the table">'
        if find and len(body) > 8
        else ""
    )
    under = f'<p class="note">{text(note)}</p>' if note else ""
    return (
        f'{search}<div class="scroll"><table id="{name}" class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>{under}"
    )


def figure(chart: Any, name: str, title: str, note: str = "", kind: str = "") -> str:
    """A chart under the sentence that says what to see in it; nothing where charts cannot be made."""
    if chart is None:
        return ""
    under = f'<p class="note">{text(note)}</p>' if note else ""
    return (
        f'<figure class="chart {kind}" id="{name}"><figcaption>{text(title)}</figcaption>'
        f'<div class="scroll">{charts.svg(chart, name)}</div>{under}</figure>'
    )


def drawn(make: Any, *args: Any, **options: Any) -> Any:
    return make(*args, **options) if charts.available() else None


def by_measure(report: Report, part: Any) -> str:
    """One block a measure, of which the page shows the one chosen."""
    return "".join(
        f'<div class="of-measure" data-measure="{i}"{" hidden" if i else ""}>{part(report, i, measure)}</div>'
        for i, measure in enumerate(report.measures)
    )


def section(name: str, title: str, lead: str, body: str) -> str:
    return f'<section id="{name}"><h2>{text(title)}</h2><p class="lead">{text(lead)}</p>{body}</section>'


def details(title: str, body: str) -> str:
    return f"<details><summary>{text(title)}</summary>{body}</details>"


def topic_link(topic: str) -> str:
    return f"#topic/{quote(topic.encode('utf-8', 'replace'), safe='')}"


# -- the data behind tables that the script fills -------------------------------------------------------------------


def rounded(values: Floats | Sequence[float | None] | None) -> list[float | None] | None:
    """Four digits, as the commands print them; nothing where there is no number, as for an interval over one topic."""
    if values is None:
        return None
    return [None if value is None or not isfinite(value) else round(float(value), 4) + 0.0 for value in values]


def data(report: Report) -> dict[str, Any]:
    """What the script shows on demand: pairs in the order of `fathoms compare`, and scores by topic."""
    runs = report.evaluation.runs
    place = {run.run: i for i, run in enumerate(runs)}
    pairs, scores, orders = [], [], []
    cells = 0
    for measure in report.measures:
        found = report.pairs(measure)
        columns = {
            name: rounded([getattr(p, name) for p in found])
            for name in ("diff", "diff_low", "diff_high", "ci_low", "ci_high")
        }
        p = {name: [float(f"{getattr(pair, name):.4g}") for pair in found] for name in ("p", "p_corrected")}
        pairs.append({**columns, **p, "verdict": "".join(pair.verdict[0] for pair in found)})
        orders.append([place[run.run] for run in report.ranked(measure)])
        cells += 3 * len(runs) * len(runs[0].topics)
        by_topic = None
        if cells <= MOST_CELLS or measure is report.measures[0]:
            by_topic = {
                name: [rounded(getattr(run.scores[measure], name)) for run in runs] for name in ("score", "low", "high")
            }
        scores.append(by_topic)
    relevant, judged = _known(report.qrels)
    telling = {} if report.judging is None else report.judging.of_topic
    return {
        "runs": [run.run for run in runs],
        "topics": runs[0].topics,
        "measures": [measure.name for measure in report.measures],
        "pairs": pairs,
        "orders": orders,
        "scores": scores,
        "relevant": [int(relevant[report.qrels.index[topic]]) for topic in runs[0].topics],
        "judged": [int(judged[report.qrels.index[topic]]) for topic in runs[0].topics],
        "telling": {topic: [_told(one) for one in found] for topic, found in telling.items() if found},
        "systems": [] if report.judging is None else report.judging.systems,
    }


def _told(one: Informative) -> list[Any]:
    return [one.document, round(one.chance, 3), round(one.max_change, 4), one.ranks]


def _known(qrels: Qrels) -> tuple[Any, Any]:
    return qrels.counts[:, qrels.levels >= 1].sum(axis=1), qrels.counts.sum(axis=1)


def script_data(found: dict[str, Any]) -> str:
    """JSON that no name inside it can end."""
    dumped = json.dumps(found, separators=(",", ":"), allow_nan=False)
    return dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- systems ------------------------------------------------------------------------------------------------------


def systems(report: Report, i: int, measure: Measure) -> str:
    import polars as pl

    ranked = report.ranked(measure)
    means = [run.mean(measure) for run in ranked]
    top = max([v["high"] or v["score"] or 0.0 for v in means] + [1e-9])
    verdicts: dict[str, Counter[str]] = {run.run: Counter() for run in ranked}
    for pair in report.pairs(measure):
        better, worse = story.ahead(pair)
        claimed = pair.verdict in story.CLAIMED
        verdicts[better]["ahead" if claimed else "open"] += 1
        verdicts[worse]["behind" if claimed else "open"] += 1
    rows, points = [], []
    shares = {} if report.audit is None else report.audit.shares
    for place, (run, mean) in enumerate(zip(ranked, means, strict=True), 1):
        guess = report.estimates.get((run.run, measure.name))
        values = [mean[name] for name in ("score", "low", "high", "tie_low", "tie_high")]
        counts = verdicts[run.run]
        share = shares.get(run.run, {}).get(10)
        rows.append(
            [
                (str(place), place),
                run.run,
                (_bar(mean, guess, top), mean["score"] or 0.0),
                *map(number, (*values, guess)),
                "" if share is None else f"{share:.0%}",
                counts["ahead"],
                counts["behind"],
                counts["open"],
            ]
        )
        told = f"{place}. {run.run}; {measure.name} {number(mean['score'])}"
        if mean["low"] is not None:
            told += f"; range {number(mean['low'])} to {number(mean['high'])}"
        if mean["tie_low"] is not None:
            told += f"; orders of ties {number(mean['tie_low'])} to {number(mean['tie_high'])}"
        told += "" if guess is None else f"; estimate {number(guess)}"
        points.append((place, run.run, *values, guess, told))
    schema: Any = {"place": pl.Int64, "run": pl.String}
    schema |= dict.fromkeys(("score", "low", "high", "tie_low", "tie_high", "estimate"), pl.Float64)
    frame = pl.DataFrame(points, schema=schema | {"tooltip": pl.String}, orient="row")
    best, rivals = ranked[0].run, 0
    if means[0]["low"] is not None:
        rivals = sum((mean["high"] or 0.0) > (means[0]["low"] or 0.0) for mean in means[1:])
    reach = f"the ranges of {pluralise(rivals, 'other system')} reach" if rivals else "no other range reaches"
    title = f"{best} leads by {measure.name}; {reach} into its own"
    note = (
        "Dot: score, with unjudged documents taken as not relevant. Line: the range it could have once every document "
        f"retrieved is judged. Orange: over all orders of tied documents. Diamond: estimate ({ESTIMATE})."
    )
    header = [
        "",
        "run",
        f"0 to {top:.2f}",
        "score",
        "low",
        "high",
        "tie low",
        "tie high",
        "estimate",
        "top 10",
        "ahead",
        "behind",
        "open",
    ]
    return figure(drawn(charts.ranges, frame, measure.name), f"ranges-{i}", title, note) + table(
        f"systems-{i}",
        header,
        rows,
        words=3,
        find=True,
        note="Scores and ranges as in fathoms eval, the estimate as in fathoms predict. Top 10: judged share. Ahead "
        "and behind: of how many systems it can be claimed; open: of how many not.",
    )


def _bar(mean: dict[str, float | None], guess: float | None, top: float) -> str:
    """A score inside its range, drawn in a cell."""

    def span(kind: str, low: float | None, high: float | None) -> str:
        if low is None or high is None:
            return ""
        return f'<i class="{kind}" style="left:{100 * low / top:.2f}%;width:{100 * (high - low) / top:.2f}%"></i>'

    score = mean["score"] or 0.0
    return (
        f'<span class="bar">{span("all", mean["low"], mean["high"])}{span("tied", mean["tie_low"], mean["tie_high"])}'
        f"{span('guess', guess, guess)}{span('score', score, score)}</span>"
    )


# -- comparisons --------------------------------------------------------------------------------------------------


def comparisons(report: Report, i: int, measure: Measure) -> str:
    import polars as pl

    pairs = report.pairs(measure)
    if not pairs:
        return "<p>There is one system only.</p>"
    names = [run.run for run in report.ranked(measure)]
    place = {name: at for at, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), "", dtype="U7")
    for pair in pairs:
        a, b = place[pair.run_a], place[pair.run_b]
        matrix[a, b] = matrix[b, a] = pair.verdict
    rows = [
        (row + 1, start + 1, stop, verdict)
        for row, line in enumerate(matrix.tolist())
        for start, stop, verdict in _stretches(line)
        if verdict
    ]
    frame = pl.DataFrame(rows, schema=["row", "start", "stop", "verdict"], orient="row")
    counts = Counter(pair.verdict for pair in pairs)
    claimed = sum(counts[verdict] for verdict in story.CLAIMED)
    title = f"{claimed:,} of {pluralise(len(pairs), 'difference')} by {measure.name} can be claimed"
    note = (
        "Each cell compares the system of its row with that of its column, both in order of score, so the matrix is "
        "the same on both sides of its diagonal. Point at a cell to see the pair; click to keep it in the table."
    )
    told = [] if report.comparison is None else story.about(measure, sentences(report.comparison))
    shown = figure(drawn(charts.verdict_matrix, frame, names), f"matrix-{i}", title, kind="matrix")
    return f'<div class="two">{shown}<div>{WORDS}{paragraphs(told)}<p class="note">{text(note)}</p></div></div>'


def _stretches(line: Sequence[str]) -> Iterable[tuple[int, int, str]]:
    """Neighbours that are the same: (first, past the last, what)."""
    start = 0
    for stop in range(1, len(line) + 1):
        if stop == len(line) or line[stop] != line[start]:
            yield start, stop, line[start]
            start = stop


WORDS = """<dl class="words"><dt><span class="key certain">certain</span></dt>
<dd>no way of judging the unjudged documents turns the difference of the means</dd>
<dt><span class="key settled">settled</span></dt>
<dd>not certain, but significant, and neither another order of ties nor the estimate turns it</dd>
<dt><span class="key open">open</span></dt><dd>not to be claimed</dd>
<dt><span class="key tie">tie</span></dt><dd>the same mean</dd></dl>"""
PAIRS = """<div class="controls"><input id="pair-find" type="search" placeholder="Find a system ..."
aria-label="Find a system"><span id="pair-verdicts"></span></div><div class="scroll"><table id="pairs"><thead></thead>
<tbody></tbody></table></div><p class="note" id="pair-note"></p>"""


# -- topics -------------------------------------------------------------------------------------------------------


def topics(report: Report, i: int, measure: Measure) -> str:
    import polars as pl

    runs = report.evaluation.runs
    names = runs[0].topics
    if any(run.topics != names for run in runs):
        return "<p>The runs were scored on different topics, so they are not laid side by side.</p>"
    scores = np.stack([run.scores[measure].score for run in runs])
    widths = None
    if all(run.scores[measure].high is not None for run in runs):
        widths = np.stack([run.scores[measure].high - run.scores[measure].low for run in runs]).mean(axis=0)  # type: ignore[operator]
    relevant, judged = _known(report.qrels)
    quartiles = np.quantile(scores, [0, 0.25, 0.5, 0.75, 1], axis=0)
    spread = scores.std(axis=0)
    order = np.argsort(-quartiles[2], kind="stable")
    rows = []
    for t in order.tolist():
        at = report.qrels.index[names[t]]
        rows.append(
            [
                (f'<a href="{topic_link(names[t])}">{text(names[t])}</a>', names[t]),
                relevant[at],
                judged[at],
                *(number(quartiles[q, t]) for q in (0, 2, 4)),
                number(spread[t]),
                "" if widths is None else number(float(widths[t])),
            ]
        )
    points = []
    for place, t in enumerate(order.tolist(), 1):
        low, q1, median, q3, high = quartiles[:, t].tolist()
        told = f"topic {names[t]}; median {median:.4f}; from {low:.4f} to {high:.4f}"
        points.append((place, names[t], low, q1, median, q3, high, told, topic_link(names[t])))
    schema = ["place", "topic", "low", "q1", "median", "q3", "high", "tooltip", "link"]
    frame = pl.DataFrame(points, schema=schema, orient="row")
    most = int(np.argmax(spread))
    span = f"{measure.name} from {quartiles[0, most]:.2f} to {quartiles[4, most]:.2f}"
    title = f"The systems differ most on topic {names[most]} ({span})"
    note = "Line: all systems; bar: the middle half; dot: the median. Choose a topic to see it in detail below."
    header = ["topic", "relevant", "judged", "least", "median", "greatest", "spread", "mean range"]
    return figure(drawn(charts.topic_spread, frame, measure.name), f"topics-{i}", title, note) + table(
        f"topic-table-{i}",
        header,
        rows,
        find=True,
        note="Spread: standard deviation over systems. Mean range: high - low, mean over systems.",
    )


# -- depth --------------------------------------------------------------------------------------------------------


def depth(report: Report, i: int, measure: Measure) -> str:
    import polars as pl

    depths = report.depths
    bare = measure.name.partition("@")[0]
    if depths is None or bare not in depths.scores:
        return f"<p>{text(measure.name)} has no depth to choose.</p>"
    matrix = volatility(depths, bare)
    cells = [(a, b, float(matrix[x, y])) for x, a in enumerate(depths.depths) for y, b in enumerate(depths.depths)]
    head = (f"{bare} depth", f"{bare} depth ", "tau")
    heat = pl.DataFrame(cells, schema=list(head), orient="row")
    means = depths.means(bare)
    curves = pl.DataFrame(
        [
            (run, d, float(means[at, s]), f"{run}; depth {d}; {bare} {means[at, s]:.4f}")
            for s, run in enumerate(depths.runs)
            for at, d in enumerate(depths.depths)
        ],
        schema=["run", "depth", "score", "tooltip"],
        orient="row",
    )
    reference = reference_depth(depths)
    last = depths.depths[-1]
    moved = swaps(means[depths.depths.index(reference)], means[-1])
    body = paragraphs(story.depth_told(report, measure))
    least = float(np.nanmin(matrix))
    chosen = [run.run for run in report.ranked(measure)[:6]]
    pair = (
        '<div class="two">'
        + figure(
            drawn(charts.volatility, heat, *head, pooled=reference),
            f"volatility-{i}",
            f"Orders of the systems at two depths agree with tau {least:.2f} at least; 0.9 and more is as good "
            "as equal",
            "Dark green: 0.9 and more. The dashed lines are the depth to which the runs are judged.",
        )
        + figure(
            drawn(charts.depth_lines, curves, chosen, bare, depths.pooled),
            f"curves-{i}",
            f"From depth {reference} to {last}, {pluralise(len(moved), 'pair')} of systems change places"
            if last != reference
            else f"{bare} of each system as more documents are read",
            f"The first {len(chosen)} systems in colour. Dashed: the depth to which the runs are judged "
            f"({depths.pooled}).",
        )
        + "</div>"
    )
    rows = [
        [
            (str(row["depth"]), row["depth"]),
            *(number(row[name]) for name in ("discrimination", "median_p", "coverage", "inversion", "tau")),
        ]
        for row in panes(depths, bare, reference)
    ]
    header = ["depth", "discrimination", "median p", "coverage", "inversion", "tau"]
    return (
        body
        + pair
        + details(f"{bare} at each depth, against depth {reference}", table(f"depth-{i}", header, rows, words=0))
    )


# -- ties ---------------------------------------------------------------------------------------------------------


def tied(report: Report, i: int, measure: Measure) -> str:
    found = report.ties
    told = story.about(measure, ties.sentences(found))
    scores = found.scores
    frame = scores.filter(scores["measure"] == measure.name).join(found.anomalies, on="run")
    moved = int(((frame["optimistic"] - frame["pessimistic"]) > 1e-9).sum())
    body = paragraphs(told)
    if moved:
        body += figure(
            drawn(charts.tie_segments, frame, measure.name),
            f"ties-{i}",
            f"Ties move the {measure.name} of {pluralise(moved, 'run')}; the higher up, the further",
            "Each run from its pessimistic to its optimistic order; circle: trec_eval's, triangle: the mean over all.",
        )
    name = measure.name
    rows = [row for row in found.rows("pairs") if row[2] == name and row[-1] == "changes"]
    if rows:
        header = ["run A", "run B", "trec", "file order", "score-rank", "expected", "least", "greatest"]
        shown = [[a, b, *(number(value, "+.4f") for value in values)] for a, b, _, *values, _ in rows[:SHOWN]]
        more = f" {len(rows) - SHOWN:,} more are in fathoms ties --show pairs." if len(rows) > SHOWN else ""
        body += f"<h3>{pluralise(len(rows), 'pair')} that the rule decides</h3>" + table(
            f"tie-pairs-{i}",
            header,
            shown,
            words=2,
            find=True,
            note=f"A's mean minus B's under each rule, and over all orders.{more}",
        )
    return body


# -- the pool -----------------------------------------------------------------------------------------------------


def pool(report: Report) -> str:
    found = report.audit
    if found is None:
        return f"<p>{text(report.audit_problem)}</p>"
    import polars as pl

    shares = []
    kinds = (("contributing runs", found.contributing), ("other runs", found.others))
    for label, names in kinds:
        means = [(k, found.share(names, k)) for k in SHARE_DEPTHS]
        shares += [(k, 100 * mean.mean, f"{label} ({len(names)})") for k, mean in means if mean is not None and names]
    schema = ["x", "y", "group", "tooltip"]
    share_frame = pl.DataFrame(
        [(k, value, label, f"{label}; {value:.1f}% of the top {k} judged") for k, value, label in shares],
        schema=schema,
        orient="row",
    )
    found_frame = pl.DataFrame(
        [(d, s.mean, "found", f"depth {d}; {s.mean:.2f} relevant a topic") for d, s in enumerate(found.found, 1)],
        schema=schema,
        orient="row",
    )
    last = next((step for step in reversed(found.steps) if step.rate is not None), None)
    at_ten = found.share(found.others or found.contributing, 10)
    whom = "runs that did not contribute" if found.others else "runs"
    body = paragraphs(audit.sentences(found)[:-1]) + '<div class="two">'
    body += figure(
        drawn(charts.curves, share_frame, ("top k (documents, log scale)", "judged, mean over runs (%)"), log=True),
        "judged-share",
        f"{0 if at_ten is None else at_ten.mean:.0%} of the top 10 of the {whom} is judged",
    )
    body += figure(
        drawn(charts.curves, found_frame, ("depth of the pool (documents)", "relevant documents a topic, mean")),
        "found-by-depth",
        "Relevant documents by pool depth"
        + ("" if last is None or last.rate is None else f": of those judged last, {last.rate:.1%} are relevant"),
    )
    body += "</div>" + _left_out(found)
    rows = [
        [name, *((f"{share:.1%}", share) if share is not None else ("", -1) for share in by.values())]
        for name, by in sorted(found.shares.items(), key=lambda item: (item[1][10] or 0.0, item[0]))
    ]
    return body + details(
        "Judged share of every run",
        table("shares", ["run", *(f"top {k}" for k in SHARE_DEPTHS)], rows, find=True, note="The least judged first."),
    )


def _left_out(found: Audit) -> str:
    import polars as pl

    if not found.run_out:
        return ""
    rows = []
    for kind, left in (("one run", found.run_out), ("a whole team", found.group_out)):
        for one in changes(left):
            percent = "" if one.percent is None else f"{one.percent.mean:+.2f}"
            rows.append([kind, one.measure, percent, number(one.median, "+.2f"), f"{one.rank.mean:.2f}"])
    measure = found.measures[0].name
    points = [
        (
            one.full,
            one.percent,
            f"{one.run}; {one.full:.4f} to {one.without:.4f} ({one.percent:+.1f}%); "
            f"place {one.rank_full} to {one.rank_without}; {one.removed:,} judgments of its own",
        )
        for one in found.run_out
        if one.measure == measure and one.percent is not None
    ]
    frame = pl.DataFrame(points, schema={"full": pl.Float64, "percent": pl.Float64, "tooltip": pl.String}, orient="row")
    worst = max((abs(p) for _, p, _ in points), default=0.0)
    header = ["left out", "measure", "mean (%)", "median (%)", "places"]
    return (
        '<div class="two">'
        + figure(
            drawn(charts.changed, frame, measure),
            "left-out",
            f"Had it not contributed, a run would see its {measure} change by up to {worst:.1f}%",
            "One dot a contributing run, scored again without the judgments that only it had brought.",
        )
        + (
            "<div><h3>Leaving out: change of score, and of place</h3>"
            f"{table('left-out-table', header, rows, words=2)}</div></div>"
        )
    )


def guidelines(report: Report) -> str:
    if report.audit is None:
        return f"<p>{text(report.audit_problem)}</p>"
    items = "".join(
        f'<li><span class="badge {one.status.split()[0]}">{text(one.status)}</span><b>{text(one.name)}</b> '
        f"{text(one.evidence)}</li>"
        for one in report.audit.guidelines
    )
    return f'<ol class="guidelines">{items}</ol>'


# -- what to judge ------------------------------------------------------------------------------------------------


def judge(report: Report) -> str:
    found = report.judging
    if found is None:
        return "<p>There is one system only, so there is nothing to tell apart.</p>"
    header = ["better than", *found.systems]
    rows = []
    for a, name in enumerate(found.systems):
        cells: list[Any] = [name]
        for b in range(len(found.systems)):
            chance = float(found.confidence[a, b])
            cells.append("" if a == b else (f'<span style="--c:{chance:.2f}" class="heat">{chance:.2f}</span>', chance))
        rows.append(cells)
    documents = [
        [
            (f'<a href="{topic_link(one.topic)}">{text(one.topic)}</a>', one.topic),
            one.document,
            ", ".join(f"{name} {rank}" for name, rank in one.ranks.items()),
            f"{one.chance:.2f}",
            f"{one.max_change:.4f}",
        ]
        for one in found.first
    ]
    body = paragraphs(story.judging_told(found))
    body += "<h3>How sure the model is that the row's system is better than the column's</h3>"
    body += table("confidence", header, rows)
    if documents:
        body += "<h3>The most telling documents</h3>" + table(
            "telling",
            ["topic", "document", "ranks", "chance of relevance", "swing of AP"],
            documents,
            words=3,
            note="Swing: how far the judgment could move two of the systems' AP of that topic apart. In the order of "
            "fathoms judge.",
        )
    return body


# -- method -------------------------------------------------------------------------------------------------------


def method(report: Report) -> str:
    made = report.comparison
    test = ""
    if made is not None:
        how = f"{TESTS[made.test]} over topics, {CORRECTIONS.get(made.correction, 'no')} correction"
        test = f"<p>Differences: {text(how)}, alpha {made.alpha:g}.</p>"
    words = """<dl>
<dt>score</dt><dd>with unjudged documents taken as not relevant, as other tools do</dd>
<dt>low, high</dt><dd>the least and greatest value over every way of judging the unjudged documents</dd>
<dt>tie low, tie high</dt><dd>the least and greatest value over every order of documents with equal scores</dd>
<dt>estimate</dt><dd>where in its range the score will probably end up; verdicts use it too</dd></dl>"""
    versions = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    rows = [[one.role, one.path, one.sha256 or "not a file"] for one in report.sources]
    items = "".join(f"<li>{text(note)}</li>" for note in report.notes)
    notes = f"<h3>Warnings</h3><ul>{items}</ul>" if items else ""
    command = f"<pre><code>{text(report.command)}</code></pre>" if report.command else ""
    settings = f"Ties: {report.options.ties}. Estimates: {ESTIMATE}. Seed: {report.options.seed}."
    return f"<p>{text(settings)} {text(versions)}.</p>{test}{command}{words}{notes}" + details(
        "Files read, and their checksums", table("sources", ["what", "file", "SHA-256"], rows, words=3)
    )


# -- the page -----------------------------------------------------------------------------------------------------


def header(report: Report) -> str:
    qrels = report.qrels
    judged = int((qrels.grades >= 0).sum())
    relevant = int((qrels.grades >= 1).sum())
    tiles = [
        (f"{len(report.evaluation.runs):,}", "systems"),
        (f"{len(qrels.topics):,}", "topics"),
        (f"{judged:,}", f"judgments, {relevant:,} relevant"),
    ]
    if report.audit is not None:
        share = report.audit.share(report.audit.shares, 10)
        if share is not None:
            tiles.append((f"{share.mean:.0%}", "of the systems' top 10 judged"))
    shown = "".join(f"<div class=tile><b>{text(value)}</b><span>{text(label)}</span></div>" for value, label in tiles)
    bars = "".join(_verdict_bar(report, measure) for measure in report.measures if report.comparison is not None)
    if bars:
        total = len(report.pairs(report.measures[0]))
        of = f"What can be claimed of {pluralise(total, 'pair')} of systems"
        bars = f'<div class="verdicts"><p class="note">{of}</p>{bars}</div>'
    return f'<div class="tiles">{shown}</div>{bars}'


def _verdict_bar(report: Report, measure: Measure) -> str:
    counts = Counter(pair.verdict for pair in report.pairs(measure))
    present = [verdict for verdict in VERDICTS if counts[verdict]]
    parts = "".join(f'<i class="{verdict}" style="flex-grow:{counts[verdict]}"></i>' for verdict in present)
    key = " ".join(f'<span class="key {verdict}">{counts[verdict]:,} {verdict}</span>' for verdict in present)
    return f'<div class="row"><b>{text(measure.name)}</b><div class="stack">{parts}</div><span>{key}</span></div>'


SECTIONS = (
    ("summary", "Summary"),
    ("systems", "Systems"),
    ("comparisons", "Comparisons"),
    ("topics", "Topics"),
    ("depth", "Depth"),
    ("ties", "Ties"),
    ("pool", "Pool"),
    ("guidelines", "Guidelines"),
    ("judge", "Judging"),
    ("method", "Method"),
)


def page(report: Report) -> str:
    """The whole file."""
    here = files("fathoms.reporting")
    style, script = ((here / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    title = f"{pluralise(len(report.evaluation.runs), 'system')} on {pluralise(len(report.qrels.topics), 'topic')}"
    source = text(report.qrels.source)
    cards = "".join(
        f'<div class="card"><h3>{text(heading)}</h3><ul>{"".join(f"<li>{text(one)}</li>" for one in told)}</ul></div>'
        for heading, told in story.summary(report)
        if told
    )
    measures = "".join(
        f'<button data-measure="{i}" aria-pressed="{"false" if i else "true"}">{text(measure.name)}</button>'
        for i, measure in enumerate(report.measures)
    )
    links = "".join(f'<a href="#{name}">{label}</a>' for name, label in SECTIONS)
    missing = "" if charts.available() else f'<p class="missing">{NO_CHARTS}</p>'
    tie_told = ties.sentences(report.ties)
    of_measures = {one for measure in report.measures for one in story.about(measure, tie_told)}
    files_told = paragraphs(one for one in tie_told if one not in of_measures)
    parts = [
        f'<section id="summary">{header(report)}{missing}<div class="cards">{cards}</div></section>',
        section(
            "systems",
            "The systems and their ranges",
            "Every score with the range it could have.",
            by_measure(report, systems),
        ),
        section(
            "comparisons",
            "Comparisons",
            "Which differences are certain, settled, open or none.",
            by_measure(report, comparisons) + (PAIRS if report.comparison is not None else ""),
        ),
        section(
            "topics",
            "Topics",
            "Where the systems differ, and which unjudged documents matter there.",
            by_measure(report, topics) + '<div id="topic-detail"></div>',
        ),
        section(
            "depth",
            "Depth of evaluation",
            "How much hangs on how far down the rankings are read.",
            by_measure(report, depth),
        ),
        section(
            "ties",
            "Ties",
            "What another order of documents with equal scores could change.",
            files_told + by_measure(report, tied),
        ),
        section(
            "pool",
            "The pool and its reuse",
            "How complete the judgments are, and whether new systems can be scored.",
            pool(report),
        ),
        section(
            "guidelines",
            "Guidelines",
            "Seven rules for sound reporting (Lu, Moffat and Culpepper 2016), checked.",
            guidelines(report),
        ),
        section("judge", "What to judge next", "What it would take to tell the first systems apart.", judge(report)),
        section("method", "Method", "How to make this report again.", method(report)),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="fathoms {text(report.versions["fathoms"])}">
<title>{text(title)}: fathoms report</title>
<style>
{style}</style>
</head>
<body>
<nav><div class="inner"><div class="links">{links}</div>
<div class="measures" role="group" aria-label="Measure">{measures}</div></div></nav>
<main>
<header><h1>{text(title)}</h1>
<p class="lead">What can be said, what cannot, and what would settle it. Judgments: {source}</p></header>
{"".join(parts)}
</main>
<footer><p>Made with fathoms {text(report.versions["fathoms"])}. Everything is in this file.</p></footer>
<div id="tip" role="status"></div>
<script type="application/json" id="data">{script_data(data(report))}</script>
<script>
{script}</script>
</body>
</html>
"""
