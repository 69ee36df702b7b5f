"""Ids that look wrong: they match only when written another way, or they belong to chunks, or to the topic itself."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fathoms.data.keys import document_keys
from fathoms.data.qrels import JUDGED, Qrels
from fathoms.data.runs import Run
from fathoms.evidence.align import Ranked
from fathoms.experiment.finding import Finding, listed

Pairs = list[tuple[str, str]]  # (topic, id)
Written = Callable[[str], str]  # an id written another way

LOOKED_AT = 5_000  # documents of a run, in whole topics, in which ids are compared
FIRST = 10  # ranks of which some documents ought to be judged
TWICE = 2  # a rule must make this many times as many ids match
PART = 0.05  # of the ids, which a rule must add; a few may match by chance
# Where a chunk's number begins; longer ones first, since they hold shorter ones.
CHUNKS = ("-chunk-", "_chunk_", "-chunk", "_chunk", "::", "#", "_", "-", ":", "/", ".", "@")
SELF = 3  # topics in which a run has the document of their own id, at least; and times as many as chance would give


class Rule(NamedTuple):
    """Another way of writing ids, under which they may match: what it does to the run's ids, and to the others'."""

    words: str
    ours: Written
    others: Written
    separator: str = ""  # of chunks
    chunks_ours: bool = True


class Match(NamedTuple):
    """What a rule does: how many ids match without it and with it, and an example of two that match."""

    rule: Rule
    before: int
    after: int
    example: tuple[str, str]


def _same(text: str) -> str:
    return text


def _without_zeros(text: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", text)


def _without_ending(text: str) -> str:
    return re.sub(r"(?i)\.(?:txt|html?|xml|json|md|pdf)$", "", text)


def _without_scheme(text: str) -> str:
    return re.sub(r"(?i)^[a-z][a-z0-9+.-]*://(?:www\.)?", "", text).rstrip("/")


SPELLINGS = (
    Rule("without regard to case", str.casefold, str.casefold),
    Rule("without blanks at their ends", str.strip, str.strip),
    Rule(
        "in one Unicode form (NFC)",
        lambda text: unicodedata.normalize("NFC", text),
        lambda text: unicodedata.normalize("NFC", text),
    ),
    Rule(
        "in one Unicode form (NFKC)",
        lambda text: unicodedata.normalize("NFKC", text),
        lambda text: unicodedata.normalize("NFKC", text),
    ),
    Rule("without leading zeros", _without_zeros, _without_zeros),
)
FORMS = (
    *SPELLINGS,
    Rule("without file endings", _without_ending, _without_ending),
    Rule("without the scheme and the last slash of URLs", _without_scheme, _without_scheme),
)


def _affixes(ours: Sequence[str], others: Sequence[str], names: tuple[str, str]) -> Iterator[Rule]:
    """Rules that drop what all ids of one side begin or end with, if the other side does not have it."""
    for common, drop in ((_prefixes, str.removeprefix), (_suffixes, str.removesuffix)):
        for our_affix in ["", *common(ours)]:
            for other_affix in ["", *common(others)]:
                if our_affix == other_affix:
                    continue
                dropped = [
                    f"{affix!r} in {name}" for affix, name in zip((our_affix, other_affix), names, strict=True) if affix
                ]
                yield Rule(
                    f"without {' and '.join(dropped)}",
                    _dropping(drop, our_affix),
                    _dropping(drop, other_affix),
                )


def _dropping(drop: Callable[[str, str], str], affix: str) -> Written:
    return lambda text: drop(text, affix)


def _start(ids: Sequence[str]) -> str:
    """What all ids begin with; nothing if there is only one."""
    if len(ids) < 2:
        return ""
    first, last = min(ids), max(ids)
    differ = (i for i, (letter, other) in enumerate(zip(first, last, strict=False)) if letter != other)
    return first[: next(differ, len(first))]


def _prefixes(ids: Sequence[str]) -> list[str]:
    """What all ids begin with: up to the last sign that is neither letter nor digit, and up to the last digits."""
    common = _start(ids)
    prefixes = [re.sub(r"[^\W_]*$", "", common), re.sub(r"\d*$", "", common)]
    return [prefix for prefix in dict.fromkeys(prefixes) if prefix]


def _suffixes(ids: Sequence[str]) -> list[str]:
    suffix = re.sub(r"^[^\W_]*", "", _start([text[::-1] for text in ids])[::-1])
    return [suffix] if suffix else []


def _chunk_rules() -> Iterator[Rule]:
    for separator in CHUNKS:
        # Two signs stand between document and chunk and nowhere else; after the others there must be a number.
        after = r"[^#:]+$" if separator in ("#", "::") else r"\d+$"
        tail = re.compile(re.escape(separator) + after)

        def parent(text: str, tail: re.Pattern[str] = tail) -> str:
            return tail.sub("", text)

        yield Rule("", parent, _same, separator)
        yield Rule("", _same, parent, separator, chunks_ours=False)


def best_rule(ours: Pairs, others: Pairs, rules: Sequence[Rule]) -> Match | None:
    """The rule under which most of the others' ids are among ours, if it makes much of a difference."""
    known, wanted = dict.fromkeys(ours), dict.fromkeys(others)  # in order, so that examples are always the same
    before = len(known.keys() & wanted.keys())
    needed = max(TWICE * before, before + PART * min(len(known), len(wanted)), 1)
    best: Match | None = None
    if TWICE * before >= len(wanted):
        return None
    for rule in rules:
        written = {(topic, rule.ours(text)): text for topic, text in reversed(known)}
        hits = [(topic, text) for topic, text in wanted if (topic, rule.others(text)) in written]
        if len(hits) >= needed and (best is None or len(hits) > best.after):
            topic, text = next((hit for hit in hits if hit not in known), hits[0])  # one that needs the rule
            best = Match(rule, before, len(hits), (written[topic, rule.others(text)], text))
    return best


# -- documents -----------------------------------------------------------------------------------------------------


def check_documents(run: Run, qrels: Qrels, ranked: Ranked, file: str) -> Iterator[Finding]:
    """Document ids of a run and of the judgments that would match if they were written the same way."""
    judged, first = ranked.judgment >= 0, ranked.rank <= FIRST
    # Most judged documents match as they are, or most of what the run has is judged.
    if TWICE * judged.sum() >= len(qrels) or TWICE * (judged & first).sum() >= first.sum():
        return
    ours, judged_ids, topics = _sampled(run, qrels, ranked)
    plain_ours, plain_judged = [text for _, text in ours], [text for _, text in judged_ids]
    rules = [*FORMS, *_affixes(plain_ours, plain_judged, ("the run's ids", "the judgments' ids")), *_chunk_rules()]
    match = best_rule(ours, judged_ids, rules)
    if match is None:
        return
    rule, (in_run, in_judgments) = match.rule, match.example
    counts = f"{match.before:,} of {len(set(judged_ids)):,} judged documents are in the run ({topics})"
    if not rule.separator:
        yield Finding(
            "warning",
            file,
            f"document ids match only {rule.words}: {counts}, {match.after:,} by that rule; the run has {in_run!r}, "
            f"the judgments {in_judgments!r}",
            f"document ids match only {rule.words}",
        )
        return
    has, other = (
        ("the run has chunks", "the judgments documents")
        if rule.chunks_ours
        else (
            "the run has documents",
            "the judgments chunks",
        )
    )
    source = file if rule.chunks_ours else qrels.source
    command = (
        f"fathoms convert {shlex.quote(source)} -o OUT --roll-up max --chunk-separator={shlex.quote(rule.separator)}"
    )
    yield Finding(
        "warning",
        file,
        f"{has} ({in_run!r}) and {other} ({in_judgments!r}): {counts}, {match.after:,} once chunks are rolled up: "
        f"{command}",
        f"{has} and {other}",
    )


def misspelled(ranked: Ranked, qrels: Qrels, topics: np.ndarray, depth: int) -> Match | None:
    """A spelling under which documents that a run ranks first in some topics, now unjudged, would be judged."""
    run = ranked.run
    rows = ranked.rows[(ranked.rank <= depth) & (ranked.judgment < 0) & np.isin(ranked.topic, topics)]
    judged = np.isin(qrels.topic, topics)
    ours, judged_ids = _texts(run.documents[rows]), _texts(qrels.documents[judged])
    # Most ids are already written as these rules would write them, and then there are no pairs to look at.
    ids = (set(ours), set(judged_ids))
    rules = [
        rule
        for rule in SPELLINGS
        if any(
            text != write(text)
            for write, of_side in zip((rule.ours, rule.others), ids, strict=True)
            for text in of_side
        )
    ]
    if not rules:
        return None
    return best_rule(
        [(run.topics[t], text) for t, text in zip(run.topic[rows].tolist(), ours, strict=True)],
        [(qrels.topics[t], text) for t, text in zip(qrels.topic[judged].tolist(), judged_ids, strict=True)],
        rules,
    )


def _sampled(run: Run, qrels: Qrels, ranked: Ranked) -> tuple[Pairs, Pairs, str]:
    """Documents of the run and judged documents of the same topics, from as many topics as are quick to look at."""
    lengths = ranked.lengths
    answered = np.flatnonzero(lengths)
    chosen = answered[np.cumsum(lengths[answered]) <= max(LOOKED_AT, int(lengths[answered[0]]))]
    rows = ranked.rows[np.isin(ranked.topic, chosen)]
    of_run = [
        (run.topics[t], text) for t, text in zip(run.topic[rows].tolist(), _texts(run.documents[rows]), strict=True)
    ]
    judged = np.isin(qrels.topic, chosen)
    of_qrels = [
        (qrels.topics[t], text)
        for t, text in zip(qrels.topic[judged].tolist(), _texts(qrels.documents[judged]), strict=True)
    ]
    n = len(chosen)
    looked = "in all topics that both have" if n == len(answered) else f"in the first {n:,} topics"
    return of_run, of_qrels, looked


def _texts(ids: np.ndarray) -> list[str]:
    return [raw.decode(errors="surrogateescape") for raw in ids.tolist()]


# -- topics --------------------------------------------------------------------------------------------------------


def check_topics(run: Run, qrels: Qrels, file: str) -> Iterator[Finding]:
    """Topic ids that would match if they were written the same way."""
    ours: Pairs = [("", topic) for topic in run.topics]
    judged_topics: Pairs = [("", topic) for topic in qrels.topics]
    rules = [*FORMS, *_affixes(run.topics, qrels.topics, ("the run's ids", "the judgments' ids"))]
    match = best_rule(ours, judged_topics, rules)
    if match is None:  # a few spelled differently from the rest
        common = set(ours) & set(judged_topics)
        left = [[pair for pair in pairs if pair not in common] for pairs in (ours, judged_topics)]
        of_few = best_rule(left[0], left[1], SPELLINGS)
        match = None if of_few is None else of_few._replace(before=len(common), after=len(common) + of_few.after)
    if match is not None:
        in_run, in_judgments = match.example
        which = "some topic ids" if match.before else "topic ids"
        yield Finding(
            "warning",
            file,
            f"{which} match only {match.rule.words}: {match.before:,} of {len(qrels.topics):,} judged topics are in "
            f"the run, {match.after:,} by that rule; the run has {in_run!r}, the judgments {in_judgments!r}",
            f"topics match only {match.rule.words}",
        )


# -- documents that are their own query ------------------------------------------------------------------------------


def check_self(ranked: Ranked, qrels: Qrels, file: str) -> Iterator[Finding]:
    """Topics for which a run has the document of the same id, as in BEIR's ArguAna and Quora, whose queries are in the
    corpus. Numbered topics and documents meet by chance, so there must be many more than of other topics' ids."""
    run = ranked.run
    ids = document_keys(np.array([topic.encode(errors="surrogateescape") for topic in qrels.topics]))
    documents = run.keys[ranked.rows]
    own = documents == ids[ranked.topic]
    n_own = int(own.sum())
    by_chance = float(np.isin(documents, ids).sum()) / len(qrels.topics)
    if n_own < SELF or n_own <= SELF * by_chance:
        return
    ranks, topics = ranked.rank[own], [qrels.topics[i] for i in ranked.topic[own]]
    codes = ranked.codes[own]
    judged = codes >= JUDGED
    relevant = int((qrels.levels[codes[judged] - JUDGED] > 0).sum())
    answered = len(ranked.answered)
    known = (
        f"{int(judged.sum()):,} of them are judged, {relevant:,} relevant" if judged.any() else "none of them is judged"
    )
    yield Finding(
        "warning",
        file,
        f"retrieves the topic itself (a document with the topic's id) in {n_own:,} of {answered:,} topics, at rank 1 "
        f"in {int((ranks == 1).sum()):,}, at ranks {int(ranks.min()):,} to {int(ranks.max()):,} ({listed(topics)}); "
        f"{known}. BEIR drops such documents before it scores, here they count",
        "topics among documents",
    )
