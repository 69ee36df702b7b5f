"""The whole story in half a minute, on simulated data.

Simulate a small collection, score, compare and audit its runs, judge the most
informative documents, see what that changed beside the truth, and write a report to look at.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.evidence.evidence import Floats
    from fathoms.reporting.demo import Demo

EXAMPLES = (
    ("what does fathoms do? half a minute on simulated data", "fathoms demo"),
    (
        "another collection, more judging, and all files in the folder other",
        "fathoms demo -o other --seed 3 --budget 500",
    ),
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path("fathoms-demo"), help="folder to make (fathoms-demo)"
    )
    parser.add_argument(
        "--budget", metavar="N", type=options.at_least_one, default=400, help="most judgments to make (400)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=options.at_least_zero, default=9, help="another seed, another collection (9)"
    )
    options.add_quiet(parser)


def run(args: Namespace) -> int:
    from fathoms.base import charts
    from fathoms.base.errors import FathomsError
    from fathoms.cli import output
    from fathoms.data.simulate import write
    from fathoms.reporting.demo import demonstrate

    folder: Path = args.output
    if folder.exists() and not (folder / "truth.txt").is_file():
        raise FathomsError(f"{folder} exists already and is not a demo; choose another folder with -o DIR")
    demo = demonstrate(args.seed, args.budget)
    write(demo.collection, folder)
    output.put(demo.judged.qrels.to_text(), folder / "judged.txt")
    output.put(narrative(demo), None)
    if not args.quiet:
        print(f"fathoms: making {folder / 'report.html'} ...", file=sys.stderr)
    _report(folder)
    output.put(what_to_see(folder), None)
    if not charts.available() and not args.quiet:
        print("fathoms: the report has no charts; for those: pip install 'fathoms[report]'", file=sys.stderr)
    return 0


def _report(folder: Path) -> None:
    """As the command would, so that the report says how to make it again."""
    from fathoms.questions.report import command as report

    parser = ArgumentParser()
    report.add_arguments(parser)
    flags = ["--pooled", str(folder / "pooled.txt"), "--groups", str(folder / "groups.tsv"), "--quiet"]
    words = [str(folder / "qrels.txt"), str(folder / "runs"), *flags, "-o", str(folder / "report.html")]
    report.run(parser.parse_args(words))


def narrative(demo: Demo) -> str:
    from fathoms.reporting.demo import POOL_DEPTH

    pooled = demo.collection.pooled
    return "\n".join(
        [
            _heading(1, "A collection"),
            _wrapped(
                f"{len(demo.runs)} runs, {len(demo.qrels.topics)} topics. Only the first {POOL_DEPTH} documents "
                f"of {len(pooled)} runs ({', '.join(pooled)}) are judged: {len(demo.qrels):,} judgments, while the "
                f"runs retrieved {demo.documents:,} documents."
            ),
            _heading(2, "Scores and their ranges, beside the truth, which here is known"),
            _scores(demo),
            *map(_wrapped, _of_scores(demo)),
            _heading(3, "What can be claimed"),
            *map(_wrapped, demo.compared.sentences),
            *map(_wrapped, _of_claims(demo)),
            _heading(4, "Can the collection be trusted?"),
            *map(_wrapped, demo.audit.sentences),
            _wrapped(_of_outsiders(demo)),
            _heading(5, "Judging"),
            _wrapped(_of_judging(demo)),
            _heading(6, "AP before and after, beside the truth"),
            _before_and_after(demo),
            *map(_wrapped, _of_change(demo)),
        ]
    )


def _of_scores(demo: Demo) -> list[str]:
    """What the truth is, and what it leaves out."""
    from fathoms.base.text import pluralise
    from fathoms.questions.eval.words import range_sentences

    n = len(demo.runs)
    below = f"{demo.below} of {n} would then be below low" if demo.below else "all would still be in their ranges"
    return [
        *range_sentences(demo.before),
        "The truth: AP with all of these documents judged, so it lies between low and high. No run retrieved "
        f"another {pluralise(demo.unretrieved, 'relevant document')}. Ranges are not about them: if they counted too, "
        f"AP would be {demo.complete.min():.4f} to {demo.complete.max():.4f}, and {below}.",
        f"Kendall's tau between the order by score and the true one is {demo.tau(demo.scores):.2f}.",
    ]


def _of_claims(demo: Demo) -> list[str]:
    counts = [f"{right} of {of} {verdict} pairs" for verdict, (right, of) in demo.right.items() if of]
    certain, supported = (demo.right[verdict][1] for verdict in ("certain", "supported"))
    none = ["No pair is certain or supported, so nothing can be claimed yet."]
    if supported:
        none = ["No pair is certain: what can be claimed rests on estimates."]
    if certain:
        none = []
    if not counts:
        return none
    return [
        *none,
        "The truth, with all documents of the two runs of a pair judged: the run that is ahead now is then ahead "
        f"in {', '.join(counts)}.",
    ]


def _of_outsiders(demo: Demo) -> str:
    """Where the runs that did not contribute belong."""
    seen, true = _places(demo.scores), _places(demo.truth)
    outside = [i for i, run in enumerate(demo.runs) if run not in demo.collection.pooled]
    higher = sum(true[i] < seen[i] for i in outside)
    lower = sum(true[i] > seen[i] for i in outside)
    return (
        f"The truth: of {len(outside)} runs that did not contribute, {higher} belong higher in the ranking than "
        f"their scores put them, {lower} lower."
    )


def _of_judging(demo: Demo) -> str:
    start, judged, pooled, pairs = demo.start, demo.judged, demo.pooled, len(demo.compared.pairs)
    return (
        "A pair is settled when the model is at least 95% sure which of the two has the higher AP on these topics; "
        "whether it would on other topics is the question of step 3. "
        f"With the judgments so far {start.settled} of {pairs} pairs are settled, {start.right} the true way round. "
        f"Somebody who knows the truth judges the most informative of {demo.documents - demo.inside:,} unjudged "
        f"documents: after {judged.made} of them {judged.settled} are settled, {judged.right} the true way round. The "
        f"same number judged in the order of a pool settles {pooled.settled}, {pooled.right} the true way round."
    )


def _of_change(demo: Demo) -> list[str]:
    columns = (demo.scores, demo.scores_after, demo.start.expected, demo.judged.expected)
    score, score_after, expected, expected_after = (f"{demo.tau(column):.2f}" for column in columns)
    return [
        "Score: unjudged documents count as not relevant. Expected: by the model, each counts with its probability of "
        "relevance.",
        f"Kendall's tau with the true order: of the scores {score} before and {score_after} after, of the expected "
        f"values {expected} before and {expected_after} after.",
    ]


def _heading(number: int, title: str) -> str:
    return f"{number}. {title}\n"


def _wrapped(sentence: str) -> str:
    import textwrap

    return textwrap.fill(sentence, 100, break_on_hyphens=False) + "\n"


def _places(scores: Floats) -> list[int]:
    return [1 + sum(other > score for other in scores.tolist()) for score in scores.tolist()]


def _scores(demo: Demo) -> str:
    from fathoms.cli.screen import aligned_text

    places = _places(demo.truth)
    measure = demo.before.measures[0]
    rows = []
    for run, truth, place in zip(demo.before.runs, demo.truth.tolist(), places, strict=True):
        mean = run.mean(measure)
        numbers = [f"{mean[name] or 0.0:.4f}" for name in ("score", "low", "high")]
        rows.append([run.run, *numbers, f"{truth:.4f}", str(place)])
    rows.sort(key=lambda row: -float(row[1]))
    numbered = [[row[0], str(i), *row[1:]] for i, row in enumerate(rows, 1)]
    return aligned_text(["run", "place", measure.name, "low", "high", "truth", "true place"], numbered, 1)


def _before_and_after(demo: Demo) -> str:
    from fathoms.cli.screen import aligned_text

    columns = [demo.scores, demo.scores_after, demo.start.expected, demo.judged.expected, demo.truth]
    order = sorted(range(len(demo.scores)), key=lambda i: -demo.truth[i])
    rows = [[demo.before.runs[i].run, *(f"{column[i]:.4f}" for column in columns)] for i in order]
    return aligned_text(["run", "score", "score after", "expected", "expected after", "truth"], rows, 1)


def what_to_see(folder: Path) -> str:
    pooled, groups = folder / "pooled.txt", folder / "groups.tsv"
    return f"""
7. Now open {folder / "report.html"} in a browser. It knows the judgments of step 1:

- Summary: who leads, how sure that is, and what would help; Claims: sentences to copy, with their evidence;
- Runs: how wide the ranges are, and which scores the unjudged documents decide;
- Comparisons: point at the matrix; Topics: choose one to see which unjudged documents matter there;
- Pool: what becomes of a run that did not contribute to the judgments.

The same with the judgments of step 5 added; its scores are those of the column "score after":
fathoms report {folder / "judged.txt"} {folder / "runs"} --pooled {pooled} --groups {groups} -o after.html
"""
