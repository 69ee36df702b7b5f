"""The first screens of the report: the leaderboard under three sentences; a click away verdicts and what is missing as
bars, and the summary; and what may be written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os.path import basename
from typing import TYPE_CHECKING

from fathoms.base.text import pluralise
from fathoms.inference.names import CLAIMED, VERDICTS
from fathoms.measures.base import Measure
from fathoms.questions.audit.findings import as_percent
from fathoms.reporting import story
from fathoms.reporting.claims import Claim, claims
from fathoms.reporting.leaders import LEGEND, board, headline, short_names
from fathoms.reporting.parts import by_measure, details, paragraphs, text
from fathoms.reporting.verdicts import obstacles

if TYPE_CHECKING:
    from fathoms.reporting.report import Report


def summary(report: Report) -> str:
    return by_measure(report, _of_measure)


def size(report: Report) -> str:
    """How large the collection is, and how much of it is judged."""
    qrels = report.qrels
    judged, relevant = int((qrels.grades >= 0).sum()), int((qrels.grades >= 1).sum())
    parts = [f"{pluralise(judged, 'judgment')}, {relevant:,} relevant"]
    share = None if report.audit is None else report.audit.share(report.audit.shares, 10)
    if share is not None:
        parts.append(f"{as_percent(share.mean)} of the top 10 judged")
    return "; ".join([*parts, basename(str(qrels.source))])


def _listed(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(sentence)}</li>' for sentence in sentences)}</ul>"


def _of_measure(report: Report, i: int, measure: Measure) -> str:
    cards = "".join(
        f'<div class="card"><h3>{text(heading)}</h3>{_listed(sentences)}</div>'
        for heading, sentences in story.summary(report, measure)
        if sentences
    )
    short = short_names([run.run for run in report.evaluation.runs])
    lines = headline(report, measure, lambda run: f"\0{run}\0")
    headlines = "".join(f'<p class="headline">{_with_names(line, short)}</p>' for line in lines)
    below = f'{bars(report, i, measure)}<div class="cards">{cards}</div>'
    more = details("What keeps pairs open, what would help, what to trust", below)
    return f"{headlines}{LEGEND}{board(report, i, measure)}{more}"


def _with_names(line: str, short: Mapping[str, str]) -> str:
    """A sentence whose runs stand between zero bytes, each shortened, and whole on hover."""
    parts = line.split("\0")
    parts[1::2] = [f'<span title="{text(run)}">{text(short[run])}</span>' for run in parts[1::2]]
    parts[::2] = map(text, parts[::2])
    return "".join(parts)


def bars(report: Report, i: int, measure: Measure) -> str:
    """How many pairs have which verdict, and what keeps the others from being claimed."""
    pairs = report.pairs(measure)
    if not pairs:
        return ""
    counts = Counter(pair.verdict for pair in pairs)
    of_verdicts: dict[str, int] = {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}
    claimed = sum(counts[verdict] for verdict in CLAIMED)
    title = f"{measure.name}: {claimed:,} of {pluralise(len(pairs), 'pair')} of runs can be claimed"
    shown = _bar(f"verdicts-{i}", title, of_verdicts)
    missing = {name.replace(" ", "-"): number for name, number in obstacles(pairs).items()}
    if missing:
        total = sum(missing.values())
        shown += _bar(f"missing-{i}", f"What keeps {total:,} from being claimed", missing)
    return f'<div class="two">{shown}</div>'


def _bar(name: str, title: str, counts: Mapping[str, int]) -> str:
    parts = "".join(f'<i class="{kind}" style="flex-grow:{number}"></i>' for kind, number in counts.items())
    keys = "".join(
        f'<span class="key {kind}">{number:,} {text(kind.replace("-", " "))}</span>' for kind, number in counts.items()
    )
    return (
        f'<figure class="chart counts" id="{name}"><figcaption>{text(title)}</figcaption><div class="stack">{parts}'
        f'</div><p class="keys">{keys}</p></figure>'
    )


LEAD = "Sentences to copy, with their evidence."


def may_be_written(report: Report, i: int, measure: Measure) -> str:
    """The sentences, those that may be written before those that may not."""
    all_claims = claims(report, measure)
    return "".join(
        f'<h3>{heading}</h3><ol class="claims">{"".join(map(_claim, listed))}</ol>' if listed else ""
        for heading, listed in (
            ("May be written", [claim for claim in all_claims if not claim.may_not]),
            ("May not be claimed", [claim for claim in all_claims if claim.may_not]),
        )
    ) + (paragraphs(["There is one run, so nothing is compared."]) if report.comparison is None else "")


def _claim(claim: Claim) -> str:
    evidence = "".join(f"<dt>{text(label)}</dt><dd>{text(value)}</dd>" for label, value in claim.evidence)
    kind = "may-not" if claim.may_not else "may"
    return (
        f'<li class="claim {kind}"><p class="said">{text(claim.sentence)}</p><div class="tools">'
        f'<button class="copy" data-copy="{text(claim.sentence)}">Copy</button>'
        f'<button class="copy" data-copy="{text(claim.with_evidence)}">Copy with evidence</button></div>'
        f"<details><summary>Evidence</summary><dl>{evidence}</dl></details></li>"
    )
