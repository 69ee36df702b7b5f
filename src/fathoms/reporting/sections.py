"""The sections of the report, one function each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms import charts
from fathoms.comparison import audit_sentences, tie_sentences
from fathoms.comparison.audit_findings import SHARE_DEPTHS, as_percent, changes
from fathoms.comparison.audit_result import Audit
from fathoms.comparison.compare import Pair, verdict_boxes
from fathoms.comparison.correlation import swaps
from fathoms.comparison.depth import panes, reference_depth, volatility
from fathoms.comparison.sentences import MANY, outside_sentences, range_sentence, sentences_of
from fathoms.comparison.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS
from fathoms.experiment.evaluate import Likely
from fathoms.experiment.remarks import range_sentences
from fathoms.measures.base import Measure
from fathoms.reporting import story
from fathoms.reporting.parts import details, drawn, figure, number, paragraphs, table, text, topic_link
from fathoms.reporting.script_data import judged_counts
from fathoms.reporting.verdicts import CLAIMED, VERDICTS, ahead, leaders
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
        better, worse = ahead(pair)
        claimed = pair.verdict in CLAIMED
        verdicts[better]["better" if claimed else "neither"] += 1
        verdicts[worse]["worse" if claimed else "neither"] += 1
    rows = []
    shares = {} if report.audit is None else report.audit.shares
    for place, (run, mean) in enumerate(zip(ranked, means, strict=True), 1):
        likely = report.estimates.get((run.run, measure.name), (None, None, None))
        values = [mean[name] for name in ("score", "low", "high", "tie_low", "tie_high")]
        counts = verdicts[run.run]
        share = shares.get(run.run, {}).get(10)
        rows.append(
            [
                (str(place), place),
                run.run,
                (_bar(mean, likely, top), mean["score"] or 0.0),
                *map(number, (*values[:1], *likely, *values[1:])),
                ("", -1) if share is None else (as_percent(share), share),
                counts["better"],
                counts["worse"],
                counts["neither"],
            ]
        )
    estimates = {run: likely for (run, name), likely in report.estimates.items() if name == measure.name}
    frame = report.evaluation.range_points(measure, estimates)
    title = _leading(report, measure, means)
    note = (
        "Dot: score, with unjudged documents taken as not relevant. Line: its range. Orange: over all orders of tied "
        "documents. Diamond and green line: estimate and its likely interval. "
        f"{' '.join(range_sentences(replace(report.evaluation, measures=[measure])))}"
    )
    header = [
        "",
        "run",
        f"0 to {top:.2f}",
        "score",
        "estimate",
        "likely low",
        "likely high",
        "low",
        "high",
        "tie low",
        "tie high",
        "top 10",
        "better",
        "worse",
        "no claim",
    ]
    return figure(drawn(charts.ranges, frame, measure.name), f"ranges-{i}", title, note) + table(
        f"systems-{i}",
        header,
        rows,
        words=3,
        find=True,
        note=f"Scores and ranges as in fathoms eval, the estimate and its likely interval as in fathoms predict. "
        f"{' '.join(_about_estimates(report, measure))} Top 10: the "
        "share that is judged. Better, worse: how many systems it can be claimed to be better or worse than; no claim: "
        "how many neither.",
    )


def _about_estimates(report: Report, measure: Measure) -> list[str]:
    """What is said of the estimates, without the checks of other measures."""
    others = tuple(f"{m.name}{mark}" for m in report.measures for mark in ",:" if m.name != measure.name)
    return [line for line in report.about_estimates if not line.startswith(others)]


def _leading(report: Report, measure: Measure, means: Sequence[dict[str, float | None]]) -> str:
    """Who has the highest mean, and how many ranges overlap with its own, where there are ranges."""
    first, *shared = leaders(report, measure)
    leads = f"{first} shares the highest {measure.name}" if shared else f"{first} has the highest {measure.name}"
    if len(means) == 1:
        return f"{measure.name} of {first}"
    highs = [mean["high"] for mean in means[1:]]
    low = means[0]["low"]
    if low is None or any(high is None for high in highs):
        return leads
    overlapping = sum(high >= low for high in highs if high is not None)
    return f"{leads}; the ranges of {overlapping} of {pluralise(len(highs), 'other system')} overlap with its own"


def _bar(mean: dict[str, float | None], likely: Likely, top: float) -> str:
    """A score and an estimate inside their ranges, drawn in a cell."""

    def span(kind: str, low: float | None, high: float | None) -> str:
        if low is None or high is None:
            return ""
        return f'<i class="{kind}" style="left:{100 * low / top:.2f}%;width:{100 * (high - low) / top:.2f}%"></i>'

    score, (guess, likely_low, likely_high) = mean["score"] or 0.0, likely
    return (
        f'<span class="bar">{span("all", mean["low"], mean["high"])}{span("likely", likely_low, likely_high)}'
        f"{span('tied', mean['tie_low'], mean['tie_high'])}{span('guess', guess, guess)}"
        f"{span('score', score, score)}</span>"
    )


def comparisons(report: Report, i: int, measure: Measure) -> str:
    pairs = report.pairs(measure)
    if not pairs:
        return "<p>There is one system only.</p>"
    names = [run.run for run in report.ranked(measure)]
    frame, _ = verdict_boxes(pairs, names)
    claimed = sum(pair.verdict in CLAIMED for pair in pairs)
    title = f"{claimed:,} of {pluralise(len(pairs), 'difference')} by {measure.name} can be claimed"
    note = (
        "Each cell compares the system of its row with that of its column, both in order of score, so the matrix is "
        "the same on both sides of its diagonal. Point at a cell to see the pair; click to keep it in the table."
    )
    said = [] if report.comparison is None else sentences_of(report.comparison, measure.name)
    if report.comparison is not None and len(pairs) <= MANY:
        said += outside_sentences(report.comparison, pairs)
    shown = figure(drawn(charts.verdict_matrix, frame, names), f"matrix-{i}", title, kind="matrix")
    return f'<div class="two">{shown}<div>{_words(pairs)}{paragraphs(said)}<p class="note">{text(note)}</p></div></div>'


MISSING = """<p>What keeps a pair from being claimed: <b>topics</b>, the difference is not significant;
<b>judging</b>, further judging may undo it, or may make it significant; <b>ties</b>, another order of tied documents
may undo it. Topics and judging are two questions: a difference that no judging reverses (<i>reversible</i>: no) can
still be too uneven over topics to be significant.</p>"""


def _words(pairs: Sequence[Pair]) -> str:
    """The verdicts that occur, and what they mean."""
    present = [verdict for verdict in VERDICTS if any(pair.verdict == verdict for pair in pairs)]
    items = "".join(
        f'<dt><span class="key {verdict}">{verdict}</span></dt><dd>{text(story.MEANINGS[verdict])}</dd>'
        for verdict in present
    )
    return f'<dl class="words">{items}</dl>{MISSING}'


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
    header = ["topic", "relevant", "judged", "minimum", "median", "maximum", "SD", "mean range"]
    return figure(drawn(charts.topic_spread, frame, measure.name), f"topics-{i}", title, note) + table(
        f"topic-table-{i}",
        header,
        rows,
        find=True,
        note="SD: standard deviation over systems. Mean range: high - low, on average over systems.",
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
            f"Kendall's tau between the orders of the systems at two depths: {least:.2f} at the lowest",
            f"Dark green: 0.9 or more, taken for equivalent. Dashed: depth {reference}, the closest to the pool's.",
        )
        + figure(
            drawn(charts.depth_lines, curves, chosen, bare, depths.pooled),
            f"curves-{i}",
            f"From depth {reference} to {last}, {pluralise(len(moved), 'pair')} of systems "
            f"{'changes' if len(moved) == 1 else 'change'} order"
            if last != reference
            else f"{bare} of each system as more documents are read",
            f"The first {len(chosen)} systems in colour. Dashed: {depths.pool}.",
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
    rows = [row for row in found.rows("pairs", [measure]) if row[-1] == "changes"]
    if rows:
        header = ["run A", "run B", "trec", "file order", "score-rank", "expected", "minimum", "maximum"]
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
        [(d, s.mean, "found", f"depth {d}; {s.mean:.2f} relevant per topic") for d, s in enumerate(found.found, 1)],
        schema=schema,
        orient="row",
    )
    last = next((step for step in reversed(found.steps) if step.rate is not None), None)
    at_ten = found.share(found.others or found.contributing, 10)
    whom = "runs that did not contribute" if found.others else "runs"
    judged = (
        "Judged share of the top k"
        if at_ten is None
        else f"{as_percent(at_ten.mean)} of the top 10 of the {whom} is judged"
    )
    body = paragraphs(audit_sentences.sentences(found)[:-1]) + '<div class="two">'
    body += figure(
        drawn(charts.curves, share_frame, ("top k (documents, log scale)", "judged, mean over runs (%)"), log=True),
        "judged-share",
        judged,
    )
    body += figure(
        drawn(charts.curves, found_frame, ("depth of the pool (documents)", "relevant documents per topic")),
        "found-by-depth",
        "Relevant documents by pool depth"
        + ("" if last is None or last.rate is None else f": of those judged last, {last.rate:.1%} are relevant"),
    )
    body += "</div>" + _left_out(found)
    rows = [
        [name, *((as_percent(share), share) if share is not None else ("", -1) for share in by.values())]
        for name, by in sorted(
            found.shares.items(), key=lambda item: (-1.0 if item[1][10] is None else item[1][10], item[0])
        )
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
            percent = "" if one.percent is None else f"{one.percent.mean:+z.2f}"
            rows.append([kind, one.measure, percent, number(one.median, "+.2f"), f"{one.rank.mean:.2f}"])
    measure = found.measures[0].name
    points = [
        (
            one.full,
            one.percent,
            f"{one.run}; {one.full:.4f} to {one.without:.4f} ({one.percent:+z.1f}%); "
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
            "One dot per contributing run, scored again without the judgments that only it had brought.",
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
    if report.comparison is None:
        return "<p>There is only one system, so there is nothing to compare.</p>"
    body = paragraphs(story.judging_sentences(report))
    if found is None:
        return body
    first, *others = found.systems
    header = ["system", f"AP@{found.depth}, expected", f"P({first} is ahead)"]
    rows: list[list[Any]] = [[first, number(float(found.expected[0])), ""]]
    for b, name in enumerate(others, 1):
        chance = float(found.confidence[0, b])
        heat = f'<span style="--c:{chance:.2f}" class="heat">{chance:.2f}</span>'
        rows.append([name, number(float(found.expected[b])), (heat, chance)])
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
    body += f"<h3>What the model expects, by AP of the first {found.depth} documents on these topics</h3>"
    note = (
        f"From the documents of these {len(found.systems)} systems; the estimates above are from those of all systems."
    )
    body += table("confidence", header, rows, note=note)
    if documents:
        body += "<h3>The most informative documents</h3>" + table(
            "informative",
            ["topic", "document", "ranks", "chance of relevance", "largest change of AP"],
            documents,
            words=3,
            note="Largest change: how far the judgment could move two of the systems' AP of that topic apart. In the "
            "order of fathoms judge.",
        )
    return body


def method(report: Report) -> str:
    made = report.comparison
    test = ""
    if made is not None:
        spans = text(range_sentence(made))
        correction = CORRECTION_METHODS[made.correction].title
        how = f"{SIGNIFICANCE_TESTS[made.test].title} over topics, {correction} correction"
        test = f"<p>Differences: {text(how)}, alpha {made.alpha:g}. {spans}</p>"
    words = """<dl>
<dt>score</dt><dd>with unjudged documents taken as not relevant, as other tools do</dd>
<dt>low, high</dt><dd>the lowest and highest value over every way of judging the unjudged documents</dd>
<dt>tie low, tie high</dt><dd>the lowest and highest value over every order of documents with equal scores</dd>
<dt>estimate, likely low, likely high</dt><dd>the score to expect once judging has gone to the depth named under
the table of systems, and its 95% interval</dd></dl>"""
    versions = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    rows = [[one.role, one.path, one.sha256 or "not a file"] for one in report.sources]
    items = "".join(f"<li>{text(note)}</li>" for note in report.notes)
    notes = f"<h3>Warnings</h3><ul>{items}</ul>" if items else ""
    command = f"<pre><code>{text(report.command)}</code></pre>" if report.command else ""
    settings = f"Ties: {report.options.ties}. Seed: {report.options.seed}."
    return f"<p>{text(settings)} {text(versions)}.</p>{test}{command}{words}{notes}" + details(
        "Files read, and their checksums", table("sources", ["what", "file", "SHA-256"], rows, words=3)
    )
