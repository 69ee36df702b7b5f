"""The whole story in half a minute: simulate a small collection, score, compare and audit its systems, judge the most
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

EXAMPLES = """examples:
  fathoms demo
  fathoms demo -o other --seed 3 --budget 500"""


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
    from fathoms import charts
    from fathoms.cli import output
    from fathoms.data.simulate import write
    from fathoms.errors import FathomsError
    from fathoms.reporting.demo import demonstrate

    folder: Path = args.output
    if folder.exists() and not (folder / "truth.txt").is_file():
        raise FathomsError(f"{folder} exists already and is no demo; choose another folder with -o DIR")
    found = demonstrate(args.seed, args.budget)
    try:
        write(found.collection, folder)
    except OSError as error:
        raise FathomsError(f"{folder}: cannot be written: {error.strerror or error}") from None
    output.put(found.judged.qrels.to_text(), folder / "judged.txt")
    output.put(told(found), None)
    if not args.quiet:
        print(f"fathoms: making {folder / 'report.html'} ...", file=sys.stderr)
    _report(folder)
    output.put(what_to_see(folder), None)
    if not charts.available() and not args.quiet:
        print("fathoms: the report has no charts; for those: pip install 'fathoms[report]'", file=sys.stderr)
    return 0


def _report(folder: Path) -> None:
    """As the command would, so that the report says how to make it again."""
    from fathoms.cli import report

    parser = ArgumentParser()
    report.add_arguments(parser)
    flags = ["--pooled", str(folder / "pooled.txt"), "--groups", str(folder / "groups.tsv"), "--quiet"]
    words = [str(folder / "qrels.txt"), str(folder / "runs"), *flags, "-o", str(folder / "report.html")]
    report.run(parser.parse_args(words))


def told(found: Demo) -> str:
    from fathoms.comparison.audit_sentences import sentences as of_audit
    from fathoms.comparison.sentences import sentences as of_comparison
    from fathoms.text import pluralise

    pooled, judged = found.collection.pooled, found.judged
    right = ", ".join(f"{right} of {of} {verdict} pairs" for verdict, (right, of) in found.right.items() if of)
    end = "every pair is settled" if not judged.open_pairs else f"{pluralise(judged.open_pairs, 'pair')} still open"
    return "\n".join(
        [
            _heading(1, "A collection"),
            _wrapped(
                f"{len(found.runs)} systems, {len(found.qrels.topics)} topics. Only the top {found.audit.depth} of "
                f"{len(pooled)} systems ({', '.join(pooled)}) are judged: {len(found.qrels):,} judgments, while the "
                f"systems retrieved {found.documents:,} documents."
            ),
            _heading(2, "Scores, with the range they could have, and the truth, which here is known"),
            _scores(found),
            _wrapped(f"Kendall's tau between the order seen and the true one is {found.tau:.2f}."),
            _heading(3, "What can be claimed"),
            *map(_wrapped, of_comparison(found.compared)),
            _wrapped(f"The order seen is the true one in {right}."),
            _heading(4, "Can the collection be trusted?"),
            *map(_wrapped, of_audit(found.audit)),
            _heading(5, "Judging"),
            _wrapped(
                f"{found.open_pairs} of {len(found.compared.pairs)} pairs are open at 0.95 confidence. Somebody who "
                f"knows the truth judges the most informative of {found.documents - found.inside:,} unjudged "
                f"documents: after {judged.made} of them {end}. In the order of a pool the same number would have left "
                f"{pluralise(found.pooled.open_pairs, 'pair')} open."
            ),
            _heading(6, "Before and after, beside the truth"),
            _before_and_after(found),
            _wrapped(f"Kendall's tau with the true order: {found.tau:.2f} before, {judged.tau:.2f} after."),
        ]
    )


def _heading(number: int, title: str) -> str:
    return f"{number}. {title}\n"


def _wrapped(sentence: str) -> str:
    import textwrap

    return textwrap.fill(sentence, 100, break_on_hyphens=False) + "\n"


def _places(scores: Floats) -> list[int]:
    return [1 + sum(other > score for other in scores.tolist()) for score in scores.tolist()]


def _scores(found: Demo) -> str:
    from fathoms.cli.output import aligned_text

    places = _places(found.truth)
    measure = found.before.measures[0]
    rows = []
    for run, truth, place in zip(found.before.runs, found.truth.tolist(), places, strict=True):
        mean = run.mean(measure)
        numbers = [f"{mean[name] or 0.0:.4f}" for name in ("score", "low", "high")]
        rows.append([run.run, *numbers, f"{truth:.4f}", str(place)])
    rows.sort(key=lambda row: -float(row[1]))
    numbered = [[row[0], str(i), *row[1:]] for i, row in enumerate(rows, 1)]
    return aligned_text(["run", "place", measure.name, "low", "high", "truth", "true place"], numbered, 1)


def _before_and_after(found: Demo) -> str:
    from fathoms.cli.output import aligned_text

    columns = [found.scores, found.judged.expected, found.truth]
    places = [_places(column) for column in columns]
    order = sorted(range(len(found.scores)), key=lambda i: places[2][i])
    rows = [
        [
            found.before.runs[i].run,
            *(
                text
                for column, place in zip(columns, places, strict=True)
                for text in (f"{column[i]:.4f}", str(place[i]))
            ),
        ]
        for i in order
    ]
    return aligned_text(["run", "before", "place", "after", "place", "truth", "place"], rows, 1)


def what_to_see(folder: Path) -> str:
    return f"""
7. Now open {folder / "report.html"} in a browser:

- the summary says what can be claimed, what cannot, and what would settle it;
- Systems: how wide the ranges are, and whose scores the unjudged documents decide;
- Comparisons: point at the matrix; Topics: choose one to see which unjudged documents matter there;
- Pool: what becomes of a system that did not contribute to the judgments.

With the judgments made above: fathoms report {folder / "judged.txt"} {folder / "runs"} -o after.html
"""
