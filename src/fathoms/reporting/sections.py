"""The sections of the report, one function each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms.base import charts
from fathoms.base.text import pluralise, valid_text
from fathoms.experiment.run_scores import RunScores
from fathoms.experiment.topics import some
from fathoms.inference.correlation import correlation, swaps
from fathoms.inference.names import CLAIMED, VERDICTS
from fathoms.inference.outliers import outlying
from fathoms.inference.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS
from fathoms.measures.base import Measure
from fathoms.questions.audit.findings import as_percent
from fathoms.questions.compare.result import Comparison, Pair, verdict_boxes
from fathoms.questions.compare.words import MANY, outside_sentences, range_sentence, sentences_of
from fathoms.questions.depth.analysis import EMPHASISED, panes, reference_depth, volatility_chart
from fathoms.questions.doubt.words import shown, source_title
from fathoms.questions.eval.analysis import Likely
from fathoms.questions.eval.words import range_sentences
from fathoms.questions.rank.analysis import Standing
from fathoms.questions.rank.words import outlook, ranks_over, span
from fathoms.reporting import story
from fathoms.reporting.parts import details, drawn, figure, number, paragraphs, table, text, topic_link
from fathoms.reporting.script_data import judged_counts
from fathoms.reporting.verdicts import MEANINGS, ahead, chance_of_other, judged_shares, leaders, of_run, other_run

if TYPE_CHECKING:
    import polars as pl

    from fathoms.reporting.report import Report

SHOWN = 200  # rows of a table of findings; the commands have all


def runs(report: Report, i: int, measure: Measure) -> str:
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
    shares, standings = judged_shares(report), report.standings(measure)
    for place, (run, mean) in enumerate(zip(ranked, means, strict=True), 1):
        likely = report.estimates.get((run.run, measure.name), (None, None, None))
        counts, share = verdicts[run.run], shares.get(run.run)
        rows.append(
            [
                (str(place), place),
                run.run,
                (_bar(mean, likely, top), mean["score"] or 0.0),
                *map(number, likely),
                *(number(mean[name]) for name in ("score", "low", "high", "tie_low", "tie_high")),
                *_rank_cells(standings.get(run.run)),
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
        "Diamond and green line: estimate and its likely interval. Dot: score, with unjudged documents taken as not "
        "relevant. Pale line: its possible range. Orange: over all orders of tied documents. "
        f"{' '.join(range_sentences(replace(report.evaluation, measures=[measure])))}"
    )
    header = [
        *("", "run", f"0 to {top:.2f}", "estimate", "likely low", "likely high", "score", "low", "high"),
        *("tie low", "tie high", "ranks over topics", "likely ranks", "possible ranks"),
        *("top 10 judged", "better", "worse", "no claim"),
    ]
    about = "\n".join(
        [
            *story.about_estimates(report, measure),
            "Better, worse: how many runs it can be claimed to be better or worse than; no claim: how many neither.",
            "Estimate and likely interval as in fathoms predict, score and ranges as in fathoms eval, ranks as in "
            "fathoms rank; those over topics hold for all runs at once and assume no distribution, so they allow "
            "more than the tests of pairs.",
        ]
    )
    return (
        figure(
            drawn(charts.ranges, _labelled(frame), measure.name),
            f"ranges-{i}",
            title,
            note,
            kind=_size(len(frame)),
        )
        + table(f"runs-{i}", header, rows, words=3, note=about)
        + _rank_chart(report, i, measure)
    )


def _rank_cells(standing: Standing | None) -> list[tuple[str, float]]:
    """The ranks that a run could have over topics, likely and possible; sorted by the better end."""
    if standing is None:
        return [("", -1.0)] * 3
    ends = (
        (standing.rank_ci_low, standing.rank_ci_high),
        (standing.likely_rank_low, standing.likely_rank_high),
        (standing.rank_low, standing.rank_high),
    )
    return [(span(low, high).replace("-", "\u2013"), (low or -1) + (high or 0) / 1e6) for low, high in ends]


def _rank_chart(report: Report, i: int, measure: Measure) -> str:
    ranking = report.ranking
    if ranking is None:
        why = "there is one run only" if report.comparison is None else "ranges are not over all runs' documents"
        return paragraphs([f"Ranks are left out: {why}."])
    frame = ranking.rank_points(measure.name)
    if not len(frame):
        return paragraphs([f"There are no ranks by {measure.name}."])
    level = f"{100 * (1 - ranking.alpha):g}%"
    chart = drawn(
        charts.rank_intervals,
        frame,
        measure.name,
        f"{level} confidence set, over topics",
        f"likely ({100 * ranking.level:g}%), over judging",
    )
    first = [standing.run for standing in ranking.of(measure.name) if standing.rank_ci_low == 1]
    title = f"{pluralise(len(first), 'run')} of {len(frame):,} may be first by {measure.name} on topics like these"
    note = " ".join([*ranks_over(ranking), *outlook(ranking, measure.name)])
    shown = figure(chart, f"ranks-{i}", title, note, kind=_size(len(frame)))
    return shown if len(frame) <= charts.NAMED or not shown else details(f"Ranks of all {len(frame):,} runs", shown)


def _size(runs: int) -> str:
    """The kind of a chart that a phone shows whole, or nothing."""
    return "few" if runs <= charts.FEW else ""


def _labelled(frame: pl.DataFrame) -> pl.DataFrame:
    """With the names of the runs to label where the axis has none: the first, and those whose estimate or range is
    far from what their neighbours have."""
    import polars as pl

    names, n = frame["run"].to_list(), len(frame)
    named: set[int] = set()
    if n > charts.NAMED:
        moved = (frame["estimate"] - frame["score"]).fill_null(0.0).to_list()
        named = {0} | {place for place in outlying(frame["place"].to_list(), moved) if abs(moved[place]) > 0.005}
    labels = [name if place in named else "" for place, name in enumerate(names)]
    return frame.with_columns(label=pl.Series(labels, dtype=pl.String))


def _leading(report: Report, measure: Measure, means: Sequence[dict[str, float | None]]) -> str:
    """Who has the highest mean, and its range, where there is one."""
    first, *shared = leaders(report, measure)
    leads = f"{first} shares the highest {measure.name}" if shared else f"{first} has the highest {measure.name}"
    if len(means) == 1:
        return f"{measure.name} of {first}"
    low, high = means[0]["low"], means[0]["high"]
    return leads if low is None or high is None else f"{leads}; its range is {low:.4f} to {high:.4f}"


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
        return "<p>There is one run only.</p>"
    names = [run.run for run in report.ranked(measure)]
    frame, _ = verdict_boxes(pairs, names)
    claimed = sum(pair.verdict in CLAIMED for pair in pairs)
    title = f"{claimed:,} of {pluralise(len(pairs), 'difference')} by {measure.name} can be claimed"
    note = (
        "Each cell compares the run of its row with that of its column, both in order of score, so the matrix is "
        "the same on both sides of its diagonal. Point at a cell to see the pair; click to keep it in the table."
    )
    sentences = [] if report.comparison is None else _about_pairs(report.comparison, pairs, measure)
    shown = figure(drawn(charts.verdict_matrix, frame, names), f"matrix-{i}", title, kind="matrix")
    explained = f'{_words(pairs)}{paragraphs(sentences)}<p class="note">{text(note)}</p>'
    return f'<div class="two">{shown}<div>{explained}</div></div>'


def _about_pairs(made: Comparison, pairs: Sequence[Pair], measure: Measure) -> list[str]:
    """Pair by pair where there are few; else how they were tested, and what counts do not show."""
    if len(pairs) <= MANY:
        return [*sentences_of(made, measure.name), *outside_sentences(made, pairs)]
    correction = CORRECTION_METHODS[made.correction].title
    sentences = [
        f"{SIGNIFICANCE_TESTS[made.test].title}, {correction}-corrected over {len(pairs):,} pairs, alpha {made.alpha:g}"
    ]
    proved = sum(pair.verdict == "open" and pair.reversible == "no" for pair in pairs)
    if proved:
        sentences.append(
            f"of the open ones, no judging of the two runs' documents and no tie order reverses {proved:,} on these "
            "topics"
        )
    moved = sum(bool(pair.depths_reversed) and pair.verdict != "open" for pair in pairs)
    if moved:
        sentences.append(f"in {moved:,} of those not open the other run leads at another depth")
    return [f"{measure.name}: {'; '.join(sentences)}."]


MISSING = """<p>What keeps a pair from being claimed: <b>topics</b>, the difference is not significant;
<b>judging</b>, further judging may undo it, or may make it significant; <b>ties</b>, another order of tied documents
may undo it. Topics and judging are two questions: a difference that no judging of the two
runs' documents reverses (<i>reversible</i>: no) can
still be too uneven over topics to be significant.</p>"""


def _words(pairs: Sequence[Pair]) -> str:
    """The verdicts that occur, and what they mean, in the words of `compare`."""
    present = [verdict for verdict in VERDICTS if any(pair.verdict == verdict for pair in pairs)]
    items = "".join(
        f'<dt><span class="key {verdict}">{verdict}</span></dt><dd>{text(MEANINGS[verdict])}</dd>'
        for verdict in present
    )
    return f'<dl class="words">{items}</dl>{MISSING}'


PAIRS = """<div class="controls"><input id="pair-find" type="search" placeholder="Find one run or two ..."
aria-label="Find one run or two"><span id="pair-verdicts"></span></div><div class="box"><div class="scroll">
<table id="pairs"><thead></thead><tbody></tbody></table></div></div><p class="note" id="pair-note"></p>"""


def topics(report: Report, i: int, measure: Measure) -> str:
    import polars as pl

    evaluation = report.evaluation
    if not evaluation.same_topics:
        return "<p>The runs were scored on different topics, so they are not laid side by side.</p>"
    names = evaluation.runs[0].topics
    widths: dict[str, float] = {}
    if all(run.scores[measure].high is not None for run in evaluation.runs):
        ranges = np.stack([run.scores[measure].high - run.scores[measure].low for run in evaluation.runs])  # type: ignore[operator]
        widths = dict(zip(names, ranges.mean(axis=0).tolist(), strict=True))
    relevant, judged = judged_counts(report.qrels)
    frame = evaluation.topic_points(measure)
    order = np.argsort(-np.median([run.scores[measure].score for run in evaluation.runs], axis=0), kind="stable")
    agree = _agreement(evaluation.runs, measure)
    rows = []
    for t, point in zip(order.tolist(), frame.iter_rows(named=True), strict=True):
        at = report.qrels.index[names[t]]
        rows.append(
            [
                (f'<a href="{topic_link(names[t])}">{text(names[t])}</a>', names[t]),
                relevant[at],
                judged[at],
                *(number(point[name]) for name in ("low", "median", "high", "spread")),
                number(widths.get(names[t])),
                number(agree[t], "+.2f"),
            ]
        )
    links = [topic_link(names[t]) for t in order.tolist()]
    most = frame.row(int(frame["spread"].arg_max() or 0), named=True)
    ends = f"{measure.name} from {most['low']:.2f} to {most['high']:.2f}"
    title = f"The runs differ most on topic {most['topic']} ({ends})"
    note = "Line: all runs; bar: the middle half; dot: the median. Choose a topic to see it in detail below."
    header = ["topic", "relevant", "judged", "minimum", "median", "maximum", "SD", "mean range", "agreement"]
    linked = frame.with_columns(link=pl.Series(links, dtype=pl.String))
    odd = _odd_topics(names, agree)
    return (
        figure(drawn(charts.topic_spread, linked, measure.name), f"topics-{i}", title, note)
        + paragraphs([odd] if odd else [])
        + table(
            f"topic-table-{i}",
            header,
            rows,
            note="SD: standard deviation over runs. Mean range: high - low, on average over runs. Agreement: "
            "Kendall's tau between the order of the runs on this topic and by their means over the other topics.",
        )
    )


def _agreement(runs: Sequence[RunScores], measure: Measure) -> list[float | None]:
    """How far each topic orders the runs as all other topics together do."""
    scores = np.stack([run.scores[measure].score for run in runs])
    n = scores.shape[1]
    if n < 2 or len(runs) < 3:
        return [None] * n
    others = (scores.sum(axis=1, keepdims=True) - scores) / (n - 1)
    taus = [correlation(scores[:, t], others[:, t]) for t in range(n)]
    return [None if np.isnan(tau) else float(tau) for tau in taus]


def _odd_topics(names: Sequence[str], agreement: Sequence[float | None]) -> str:
    """The topics that turn the order of the runs around, or the one that comes closest to it."""
    against = sorted((tau, name) for tau, name in zip(agreement, names, strict=True) if tau is not None and tau < 0)
    if not against:
        known = [(tau, name) for tau, name in zip(agreement, names, strict=True) if tau is not None]
        if not known:
            return ""
        tau, name = min(known)
        return (
            "No topic orders the runs more against the other topics than with them; the lowest Kendall's tau with "
            f"the others is {tau:+.2f}, that of topic {name}."
        )
    shown = some([f"{name} ({tau:+.2f})" for tau, name in against])
    return (
        f"{pluralise(len(against), 'topic')} {'orders' if len(against) == 1 else 'order'} the runs more against "
        f"the other topics than with them (Kendall's tau below 0): {shown}."
    )


def doubt(report: Report, i: int, measure: Measure) -> str:
    """Where the doubt about the first run's score comes from."""
    of_leader = report.doubts.get(measure.name)
    if of_leader is None:
        return f"<p>{text(measure.name)} has no such parts: it is not a mean over topics.</p>"
    [budget] = of_leader.budgets
    rows = [
        [
            source_title(budget, source),
            number(source.low),
            number(source.high),
            ("" if source.share is None else f"{100 * source.share:.0f}%", source.share),
        ]
        for source in shown(budget)
    ]
    header = ["source of doubt", "low", "high", "share of the variance"]
    chart = drawn(of_leader.chart, "sounding", measure=measure.name)
    return (
        paragraphs(of_leader.answer)
        + figure(chart, f"sounding-{i}", "Each source alone, the narrowest on top")
        + table(
            f"doubt-{i}", header, rows, note="\n".join(of_leader.remarks[: -len(of_leader.about_estimates) or None])
        )
    )


def depth(report: Report, i: int, measure: Measure) -> str:
    depths = report.depths
    bare = measure.name.partition("@")[0]
    matrix = report.volatility(bare)
    if depths is None or matrix is None:
        return f"<p>{text(measure.name)} has no depth to choose.</p>"
    means = depths.means(bare)
    reference = reference_depth(depths)
    last = depths.depths[-1]
    moved = swaps(means[depths.depths.index(reference)], means[-1])
    body = paragraphs(story.depth_sentences(report, measure))
    least = float(np.nanmin(matrix))
    chosen = [valid_text(run.run) for run in report.ranked(measure)[:EMPHASISED]]
    pair = (
        '<div class="two">'
        + figure(
            drawn(volatility_chart, depths.volatility_points(bare, matrix=matrix), reference),
            f"volatility-{i}",
            f"Kendall's tau between the orders of the runs at two depths: {least:.2f} at the lowest",
            f"Dark green: 0.9 or more, taken for equivalent. Dashed: depth {reference}, the closest to the pool's.",
        )
        + figure(
            drawn(charts.depth_lines, depths.score_points(bare), chosen, bare, depths.pooled),
            f"curves-{i}",
            f"From depth {reference} to {last}, {pluralise(len(moved), 'pair')} of runs "
            f"{'changes' if len(moved) == 1 else 'change'} order"
            if last != reference
            else f"{bare} of each run as more documents are read",
            f"The first {len(chosen)} runs in colour. Dashed: {depths.pool}.",
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
    import polars as pl

    ties = report.ties
    scores = ties.scores
    frame = scores.filter(scores["measure"] == measure.name).join(ties.anomalies, on="run")
    moved = int(((frame["optimistic"] - frame["pessimistic"]) > 1e-9).sum())
    body = ""
    if moved:
        widths = (frame["optimistic"] - frame["pessimistic"]).to_list()
        named = outlying(frame["trec"].to_list(), [log10(max(width, 1e-6)) for width in widths])
        named = {place for place in named if widths[place] > 1e-6}
        labels = [run if place in named else "" for place, run in enumerate(frame["run"].to_list())]
        body += figure(
            drawn(charts.tie_segments, frame.with_columns(label=pl.Series(labels, dtype=pl.String)), measure.name),
            f"ties-{i}",
            f"Ties move the {measure.name} of {pluralise(moved, 'run')}; the higher up, the further",
            "Each run from its pessimistic to its optimistic order; circle: trec_eval's, triangle: the mean over all.",
        )
    rows = [row for row in ties.rows("pairs", [measure]) if row[-1] == "changes"]
    if rows:
        header = ["run A", "run B", "trec", "file order", "score-rank", "expected", "minimum", "maximum"]
        shown = [[a, b, *(number(value, "+.4f") for value in values)] for a, b, _, *values, _ in rows[:SHOWN]]
        more = f" {len(rows) - SHOWN:,} more are in fathoms ties --show pairs." if len(rows) > SHOWN else ""
        body += f"<h3>{pluralise(len(rows), 'pair')} that the rule decides</h3>" + table(
            f"tie-pairs-{i}",
            header,
            shown,
            words=2,
            note=f"A's mean minus B's under each rule, and over all orders.{more}",
        )
    return body


def guidelines(report: Report) -> str:
    if report.audit is None:
        return f"<p>{text(report.audit_problem)}</p>"
    items = "".join(
        f'<li><span class="badge {guideline.status.split()[0]}">{text(guideline.status)}</span>'
        f"<b>{text(guideline.name)}</b> {text(guideline.evidence)}</li>"
        for guideline in report.audit.guidelines
    )
    return f'<ol class="guidelines">{items}</ol>'


def judge(report: Report, i: int, measure: Measure) -> str:
    judging = report.judging.get(measure.name)
    if report.comparison is None:
        return "<p>There is only one run, so there is nothing to compare.</p>"
    body = paragraphs(story.judging_sentences(report, measure))
    if judging is None:
        return body
    body += f"<p>To go on there:</p><pre><code>{text(judging.command)}</code></pre>"
    first, *others = judging.runs
    chances = {other_run(pair, first): 1 - chance_of_other(pair, first) for pair in of_run(report, measure, first)}
    estimated = any(pair.p_better is not None for pair in of_run(report, measure, first))
    header = ["run", "estimate", "likely low", "likely high", "P(first ahead), estimate", "P(first ahead), judge"]
    rows: list[list[Any]] = []
    for b, name in enumerate(judging.runs):
        likely = report.estimates.get((name, measure.name), (None, None, None))
        cells = (
            ["", ""] if not b else [_heat(chances[name]) if estimated else "", _heat(float(judging.confidence[0, b]))]
        )
        rows.append([name, *map(number, likely), *cells])
    documents = [
        [
            (f'<a href="{topic_link(document.topic)}">{text(document.topic)}</a>', document.topic),
            document.document,
            ", ".join(f"{name} {rank}" for name, rank in document.ranks.items()),
            f"{document.chance:.2f}",
            f"{document.max_change:.4f}",
        ]
        for document in judging.first
    ]
    body += f"<h3>Is {text(first)} ahead of {text(some(others))} by {text(measure.name)}, on these topics?</h3>"
    note = (
        "Estimate and its probability: the documents of all runs judged, as everywhere in this report. Judge: what "
        f"fathoms judge knows from the documents of these {len(judging.runs)} runs in the first {judging.depth} "
        "places, by which it chooses the next one and stops."
    )
    body += table(f"confidence-{i}", header, rows, note=note)
    if documents:
        body += "<h3>The most informative documents</h3>" + table(
            f"informative-{i}",
            ["topic", "document", "ranks", "chance of relevance", f"largest change of {measure.name}"],
            documents,
            words=3,
            note="Largest change: how far the judgment could move two of the runs apart on that topic. In the order "
            "of fathoms judge.",
        )
    return body


def _heat(chance: float) -> tuple[str, float]:
    return f'<span style="--c:{chance:.2f}" class="heat">{chance:.2f}</span>', chance


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
the table of runs, and its likely interval</dd></dl>"""
    versions = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    rows = [[source.role, source.path, source.sha256 or "not a file"] for source in report.sources]
    items = "".join(f"<li>{text(note)}</li>" for note in report.notes)
    notes = f"<h3>Warnings</h3><ul>{items}</ul>" if items else ""
    command = f"<pre><code>{text(report.command)}</code></pre>" if report.command else ""
    settings = f"Ties: {report.options.ties}. Seed: {report.options.seed}."
    return f"<p>{text(settings)} {text(versions)}.</p>{test}{command}{words}{notes}" + details(
        "Files read, and their checksums", table("sources", ["what", "file", "SHA-256"], rows, words=3)
    )
