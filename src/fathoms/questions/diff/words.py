"""What changed between two runs, in plain words: the answer first."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

import numpy as np

from fathoms.base.text import capitalised, pluralise
from fathoms.base.tolerances import SAME
from fathoms.data.qrels import JUDGED
from fathoms.experiment.topics import some

if TYPE_CHECKING:
    from fathoms.questions.diff.result import Diff
    from fathoms.questions.diff.score_changes import ScoreChange


def remarks(diff: Diff) -> list[str]:
    """How alike the runs are, what is known of the documents that came and went, and what that did to scores."""
    sentences = [*([] if diff.changed.any() else _deeper(diff)), *_alike(diff)]
    if diff.qrels is not None:
        sentences += _judged(diff)
        sentences += [_score(change, diff) for change in diff.scores_of]
        sentences += _over(diff)
    return [*sentences, *_alone(diff), *_tied(diff)]


def headline(diff: Diff) -> str:
    """Which topics change, what comes and goes, and whether anybody can call it an improvement."""
    total, changed = int(diff.answered.sum()), int(diff.changed.sum())
    k = diff.depth
    of = pluralise(total, "topic")
    if not changed:
        where = "the only topic" if total == 1 else f"all {of}"
        return f"{diff.run_b} has the same first {k} as {diff.run_a} in {where}."
    reordered = int((diff.rankings.reordered & diff.changed).sum())
    gained, lost = int(diff.rankings.gained.sum()), int(diff.rankings.lost.sum())
    sentence = f"{diff.run_b} changes the first {k} in {changed:,} of {of}"
    if reordered == changed:
        sentence += ", the order only"
    elif reordered:
        sentence += f" ({reordered:,} in order only)"
    if gained or lost:
        sentence += f": {pluralise(gained, 'document')} gained, {lost:,} lost"
    return sentence + _whether_better(diff) + "."


def _whether_better(diff: Diff) -> str:
    if diff.main is None:
        return "; whether that is better, only judgments can say"
    sentence = ""
    for word in ("gained", "lost"):
        unjudged = int(diff.judged_as[f"{word}_unjudged"].sum())
        if unjudged and not sentence:
            sentence = f"; of the {word} ones {unjudged:,} {_are(unjudged)} unjudged"
    return f"{sentence}: {_verdict(diff.main)}"


def _verdict(change: ScoreChange) -> str:
    """Better or worse by one measure, and whether judging or ties may undo it."""
    name, equal = change.measure.name, abs(change.mean) <= SAME
    same = np.abs(change.diff).max(initial=0.0) <= SAME
    level = "as good as before" + ("" if same else " on average")
    word = level if equal else "better" if change.mean > 0 else "worse"
    if change.low is None or change.high is None:
        return f"{word} by {name} as judged, for which there is no range"
    low, high = float(change.low.mean()), float(change.high.mean())
    if equal and same and max(-low, high) <= SAME:
        return f"no difference by {name} on any judged topic, however documents are judged"
    if equal:
        return f"{word} by {name}" + (" as judged, which judging may change" if max(-low, high) > SAME else "")
    if change.reversible == "no":
        return f"{word} by {name} on these topics, and no judging of their documents and no tie-breaking undoes that"
    if change.doubt == "ties":
        could = "depends" if change.reversible == "yes" else "may depend"
        return f"{word} by {name}, but that {could} on the tie-breaking rule"
    if (change.mean > 0 and low > -SAME) or (change.mean < 0 and high < SAME):
        return f"{word} by {name} as judged; judging may make them equal, but cannot reverse it"
    if change.reversible == "yes":
        return f"whether that is better by {name} cannot be said yet"
    return f"{word} by {name} as judged, and it is not known whether judging can undo that"


def _deeper(diff: Diff) -> list[str]:
    """Whether anything changes below the first places."""
    a, b = diff.sides
    same = np.array_equal(a.ranked.keys, b.ranked.keys) and np.array_equal(a.ends, b.ends)
    return ["The runs rank the same documents in the same order throughout."] if same else ["They differ further down."]


def _alike(diff: Diff) -> list[str]:
    both = diff.both
    if not both.any():
        return ["No topic is answered by both runs."]
    rankings, k = diff.rankings, diff.depth
    low, high = (float(values[both].mean()) for values in (rankings.rbo.min, rankings.rbo.max))
    over = (
        ""
        if both.sum() == diff.answered.sum()
        else f", over the {pluralise(int(both.sum()), 'topic')} that both answer,"
    )
    sentence = (
        f"On average{over} the runs share {rankings.overlap[both].mean():.0%} of the first {k} and "
        f"{rankings.overlap_all[both].mean():.0%} of all documents; RBO (p = {diff.p:g}) is "
        f"{rankings.rbo.ext[both].mean():.3f}"
    )
    if high - low >= 0.001:
        sentence += f", between {low:.3f} and {high:.3f} whatever follows the last document"
    shifts = rankings.mean_shift[both]
    shifts = shifts[~np.isnan(shifts)]
    if len(shifts) and shifts.any():
        sentence += (
            f". Documents that both have, at least one of them in its first {k}, move by {shifts.mean():.1f} ranks"
        )
    across = int((rankings.gained - rankings.new).sum()), int((rankings.lost - rankings.gone).sum())
    if any(across):
        sentence += (
            f". Across rank {k}, {across[0]:,} {_come(across[0])} up from below and {across[1]:,} "
            f"{'falls' if across[1] == 1 else 'fall'} below"
        )
    return [sentence + "."]


def _judged(diff: Diff) -> list[str]:
    """What is known about the documents that came and went."""
    parts = []
    for word in ("gained", "lost"):
        relevant, other, unjudged = (
            int(diff.judged_as[f"{word}_{kind}"].sum()) for kind in ("relevant", "nonrelevant", "unjudged")
        )
        total = relevant + other + unjudged
        if total:
            parts.append(
                f"of the {pluralise(total, f'{word} document')} {relevant:,} {_are(relevant)} relevant, {other:,} not "
                f"relevant, {unjudged:,} unjudged"
            )
    sentence = "; ".join(parts)
    return [f"{capitalised(sentence)}."] if parts else []


def _score(change: ScoreChange, diff: Diff) -> str:
    name, log = change.measure.name, change.measure.aggregate == "geometric"
    mean = f"{exp(change.mean):.4f} times" if log else signed(change.mean)
    sentence = f"{name}: {change.average(change.score_a):.4f} to {change.average(change.score_b):.4f}, {mean}"
    up, down = int((change.diff > SAME).sum()), int((change.diff < -SAME).sum())
    sentence += f"; {pluralise(up, 'topic')} better, {down:,} worse"
    if change.parts is not None and abs(change.diff).max(initial=0.0) > SAME:
        words = {
            "gained": ("gained documents", ""),
            "lost": ("lost documents", "lost ones"),
            "moved": (f"documents in both first {diff.depth}", f"those in both first {diff.depth}"),
            "deeper": ("deeper documents", "deeper ones"),
        }
        shown = {part: float(values.mean()) for part, values in change.parts.items() if np.abs(values).max() > SAME}
        sentence += "; from " + ", ".join(
            f"{words[part][min(i, 1)]} {signed(value)}" for i, (part, value) in enumerate(shown.items())
        )
    if change.low is None or change.high is None:
        return f"{sentence}; there is no range over judgments."
    low, high = float(change.low.mean()), float(change.high.mean())
    ends = f"{exp(low):.4f} to {exp(high):.4f} times" if log else f"{signed(low)} to {signed(high)}"
    return f"{sentence}; over every way of judging {ends}."


def _over(diff: Diff) -> list[str]:
    """What the ranges are over, and what they leave out."""
    if not any(change.low is not None for change in diff.scores_of):
        return []
    assert diff.qrels is not None
    kind, depth, unjudged = diff.universe.kind, diff.universe.depth, unjudged_of_both(diff)
    if kind == "pair" and depth is None:
        whose = f"the {pluralise(unjudged, 'unjudged document')} of the two runs"
    else:
        whose = "the unjudged documents of " + ("the two runs" if kind == "pair" else "all given runs")
        if not isinstance(kind, str):
            whose += " and " + ("any number of" if kind == float("inf") else f"{kind:,.0f}") + " unseen ones per topic"
        whose += "" if depth is None else f" in the first {depth:,} ranks of either run"
    topics = pluralise(len(diff.qrels.topics), "judged topic")
    ranges = f"ranges: every way of judging {whose}"
    if kind == "pair" and depth is None and not unjudged:
        ranges = "nothing that the two runs have there is unjudged"
    return [
        f"Differences are {diff.run_b} minus {diff.run_a}, means over {topics}; {ranges}. fathoms compare tests "
        "whether they would hold on other topics."
    ]


def unjudged_of_both(diff: Diff) -> int:
    """How many unjudged documents of judged topics the two runs have, each once."""
    assert diff.qrels is not None
    judged = len(diff.qrels.topics)
    a, b = diff.sides
    own = (b.ranked.codes < JUDGED) & (b.topic < judged)
    more = (a.ranked.codes < JUDGED) & (a.topic < judged) & (a.other == 0)
    return int(own.sum() + more.sum())


def _alone(diff: Diff) -> list[str]:
    """Topics that only one run answers; all their documents count as gained or lost."""
    return [
        f"Only {name} answers {pluralise(len(topics), 'topic')}: {some(topics)}. What it has there counts as {word}."
        for name, topics, word in ((diff.run_a, diff.only(0), "lost"), (diff.run_b, diff.only(1), "gained"))
        if topics
    ]


def _tied(diff: Diff) -> list[str]:
    """Where equal scores lie on both sides of the cut, the rule for ties decides which come above it."""
    tied = []
    for name, side in zip((diff.run_a, diff.run_b), diff.sides, strict=True):
        topics = int((side.ranked.tied & (side.rank == diff.depth + 1)).sum())
        if topics:
            tied.append(f"{name} in {pluralise(topics, 'topic')}")
    if not tied:
        return []
    return [
        f"Equal scores on both sides of rank {diff.depth}: {' and '.join(tied)}; there the tie-breaking rule (--ties) "
        "decides which documents are above it."
    ]


def signed(value: float) -> str:
    """A difference with its sign; none where it rounds to 0."""
    shown = f"{value:+z.4f}"
    return "0.0000" if float(shown) == 0 else shown


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _come(n: int) -> str:
    return "comes" if n == 1 else "come"
