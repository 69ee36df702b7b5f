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
    from fathoms.experiment.finding import Finding
    from fathoms.questions.check.analysis import Check

EXAMPLES = (
    ("are all files sound before I evaluate them?", "fathoms check qrels.txt runs/"),
    ("in a script: exit status 1 on errors and on warnings", "fathoms check qrels.txt 'submissions/*.gz' --strict"),
)
MORE = """more examples:
  fathoms check qrels.txt runs/ --corpus-ids corpus.jsonl --train-qrels train.tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_question(parser, "check")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    options.add_reading(parser, "junk")
    options.add_output(parser, ("table", "tsv", "json"))
    options.add_quiet(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args, memory_mb=0)
    step = output.steps(len(exp.runs), "runs")
    check = exp.check(**options.arguments(args, "check"), progress=step)
    output.present(check, args, lambda: _blocks(check))
    return 1 if check.count("error") or (args.strict and check.count("warning")) else 0


def _blocks(check: Check) -> list[Block]:
    """Errors, warnings, notes; a terminal shows one of each kind, and in how many files it is found."""
    from fathoms.base.text import pluralise
    from fathoms.cli.output import short_names, shortened
    from fathoms.cli.screen import Block, Column, table

    findings = check.by_severity()
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
