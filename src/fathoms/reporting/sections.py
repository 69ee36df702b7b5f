"""The sections of the report, one function each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms import charts
from fathoms.comparison import audit_sentences, tie_sentences
from fathoms.comparison.audit_findings import SHARE_DEPTHS, changes
from fathoms.comparison.audit_result import Audit
from fathoms.comparison.compare import ESTIMATE, verdict_boxes
from fathoms.comparison.correlation import swaps
from fathoms.comparison.depth import panes, reference_depth, volatility
from fathoms.comparison.sentences import sentences_of
from fathoms.comparison.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS
from fathoms.experiment.remarks import range_sentences
from fathoms.measures.base import Measure
from fathoms.reporting import story
from fathoms.reporting.parts import details, drawn, figure, number, paragraphs, table, text, topic_link
from fathoms.reporting.script_data import judged_counts
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.reporting.report import Report

SHOWN = 200  # rows of a table of findings; the commands have all


def systems(report: Report, i: int, measure: Measure) -> str:
    ranked = report.ranked(measure)
    means = [run.mean(measure) for run in ranked]
    top = max([v["high"] or v["score"] or 0.0 for v in means] + [1e-9])
    verdicts: dict[str, Counter[str]] = {run.run: Counter() for run in ranked}
    for pair in report.pairs(measure):
        better, worse = story.ahead(pair)
        claimed = pair.verdict in story.CLAIMED
        verdicts[better]["ahead" if claimed else "open"] += 1
        verdicts[worse]["behind" if claimed else "open"] += 1
    rows = []
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
    estimates = {run: value for (run, name), value in report.estimates.items() if name == measure.name}
    frame = report.evaluation.range_points(measure, estimates)
    best, rivals = ranked[0].run, 0
    if means[0]["low"] is not None:
        rivals = sum((mean["high"] or 0.0) > (means[0]["low"] or 0.0) for mean in means[1:])
    reach = f"the ranges of {pluralise(rivals, 'other system')} reach" if rivals else "no other range reaches"
    title = f"{best} leads by {measure.name}; {reach} into its own"
    note = (
        "Dot: score, with unjudged documents taken as not relevant. Line: the range it could have. Orange: over all "
        f"orders of tied documents. Diamond: estimate ({ESTIMATE}). {' '.join(range_sentences(report.evaluation))}"
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


def comparisons(report: Report, i: int, measure: Measure) -> str:
    pairs = report.pairs(measure)
    if not pairs:
        return "<p>There is one system only.</p>"
    names = [run.run for run in report.ranked(measure)]
    frame, _ = verdict_boxes(pairs, names)
    counts = Counter(pair.verdict for pair in pairs)
    claimed = sum(counts[verdict] for verdict in story.CLAIMED)
    title = f"{claimed:,} of {pluralise(len(pairs), 'difference')} by {measure.name} can be claimed"
    note = (
        "Each cell compares the system of its row with that of its column, both in order of score, so the matrix is "
        "the same on both sides of its diagonal. Point at a cell to see the pair; click to keep it in the table."
    )
    said = [] if report.comparison is None else sentences_of(report.comparison, measure.name)
    shown = figure(drawn(charts.verdict_matrix, frame, names), f"matrix-{i}", title, kind="matrix")
    return f'<div class="two">{shown}<div>{WORDS}{paragraphs(said)}<p class="note">{text(note)}</p></div></div>'


WORDS = """<dl class="words"><dt><span class="key certain">certain</span></dt>
<dd>no way of judging the unjudged documents turns the difference of the means</dd>
<dt><span class="key settled">settled</span></dt>
<dd>not certain, but significant, and neither another order of ties nor the estimate turns it</dd>
<dt><span class="key open">open</span></dt><dd>not to be claimed</dd>
<dt><span class="key tie">tie</span></dt><dd>the same mean</dd></dl>"""
PAIRS = """<div class="controls"><input id="pair-find" type="search" placeholder="Find a system ..."
aria-label="Find a system"><span id="pair-verdicts"></span></div><div class="scroll"><table id="pairs"><thead></thead>
<tbody></tbody></table></div><p class="note" id="pair-note"></p>"""


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
    relevant, judged = judged_counts(report.qrels)
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
        tooltip = f"topic {names[t]}; median {median:.4f}; from {low:.4f} to {high:.4f}"
        points.append((place, names[t], low, q1, median, q3, high, tooltip, topic_link(names[t])))
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
    body = paragraphs(story.depth_sentences(report, measure))
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


def tied(report: Report, i: int, measure: Measure) -> str:
    found = report.ties
    said = [tie_sentences.of_measure(found, measure)]
    scores = found.scores
    frame = scores.filter(scores["measure"] == measure.name).join(found.anomalies, on="run")
    moved = int(((frame["optimistic"] - frame["pessimistic"]) > 1e-9).sum())
    body = paragraphs(said)
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
    body = paragraphs(audit_sentences.sentences(found)[:-1]) + '<div class="two">'
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
    body = paragraphs(story.judging_sentences(found))
    body += "<h3>How sure the model is that the row's system is better than the column's</h3>"
    body += table("confidence", header, rows)
    if documents:
        body += "<h3>The most informative documents</h3>" + table(
            "informative",
            ["topic", "document", "ranks", "chance of relevance", "largest change of AP"],
            documents,
            words=3,
            note="Swing: how far the judgment could move two of the systems' AP of that topic apart. In the order of "
            "fathoms judge.",
        )
    return body


def method(report: Report) -> str:
    made = report.comparison
    test = ""
    if made is not None:
        correction = CORRECTION_METHODS[made.correction].title
        how = f"{SIGNIFICANCE_TESTS[made.test].title} over topics, {correction} correction"
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
