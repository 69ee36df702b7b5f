"""Is every file sound?

Finds errors (format, duplicates), warnings (ids that match nothing, or only once written
another way, chunks against documents, ranks that contradict scores, missing topics) and notes (ties, judged share).

Exit status 1 if there are errors, with --strict also if there are warnings; 2 if a file is not there.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.experiment.check import Check
    from fathoms.experiment.finding import Finding

EXAMPLES = (
    ("are all files sound before I evaluate them?", "fathoms check qrels.txt runs/"),
    ("in a script: exit status 1 on errors and on warnings", "fathoms check qrels.txt 'submissions/*.gz' --strict"),
)
MORE = """more examples:
  fathoms check qrels.txt runs/ --corpus-ids corpus.jsonl --train-qrels train.tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    parser.add_argument(
        "--corpus-ids",
        metavar="FILE",
        help="ids of all documents of the corpus, one per line or in a column: finds judged and retrieved documents "
        "that are not in it",
    )
    parser.add_argument(
        "--train-qrels",
        metavar="FILE",
        help="judgments that systems were trained on: finds topics and judgments that are in both",
    )
    options.add_output(parser, ("table", "tsv", "json"))
    parser.add_argument(
        "--nonrelevant-grade",
        metavar="GRADE",
        dest="junk",
        type=float,
        help="a negative grade that means judged, not relevant",
    )
    options.add_quiet(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args, memory_mb=0)
    with output.progress(len(exp.runs), args.quiet) as step:
        found = exp.check(corpus_ids=args.corpus_ids, train_qrels=args.train_qrels, progress=step)
    output.present(found, args, lambda: _blocks(found))
    return 1 if found.count("error") or (args.strict and found.count("warning")) else 0


def _blocks(found: Check) -> list[Block]:
    """Errors, warnings, notes; a terminal shows one of each kind, and in how many files it is found."""
    from fathoms.cli.output import short_names, shortened
    from fathoms.cli.screen import Block, Column, table
    from fathoms.text import pluralise

    findings = found.by_severity()
    if not findings:
        return []
    kinds: dict[tuple[str, str | int], list[Finding]] = {}
    for i, finding in enumerate(findings):
        kinds.setdefault((finding.level, finding.kind or i), []).append(finding)
    names = short_names([finding.file for finding in findings])
    rows = []
    for (level, _), alike in kinds.items():
        files = len({finding.file for finding in alike})
        such = f"{pluralise(files, 'file')}, such as " if files > 1 else ""
        rows.append([level, shortened(f"{such}{alike[0].file}: {alike[0].message}", names)])
    brief = table(["level", "finding"], rows, 2, noun="finding")
    lines = [f"{finding.level:7}  {finding.file}: {finding.message}" for finding in findings]
    return [Block([Column("level    finding", lines, words=True)], brief=brief)]
