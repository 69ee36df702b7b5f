"""Is every file sound? Finds errors (format, duplicates), warnings (ids that match nothing, ranks that contradict
scores, missing topics) and notes (ties, judged share).

Exit status 1 if there are errors, with --strict also if there are warnings; 2 if a file is not there.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from fathoms.cli import options

EXAMPLES = """examples:
  fathoms check qrels.txt runs/
  fathoms check qrels.txt 'submissions/*.gz' --strict --format tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
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
    from collections import Counter
    from dataclasses import asdict

    from fathoms.cli import output
    from fathoms.data.formats import registry
    from fathoms.data.runs import expand
    from fathoms.errors import InputError
    from fathoms.evidence.check import check_files

    options.check_sources(args)
    output.check_target(args.format, args.output)
    if not (args.qrels == "-" or os.path.exists(args.qrels) or registry.of_object(args.qrels)):
        raise InputError("no such file", args.qrels)
    paths = expand(args.runs)
    with output.progress(len(paths), args.quiet) as step:
        findings = list(check_files(args.qrels, paths, junk=args.junk, progress=step))
    if args.format == "table":
        text = "".join(f"{finding.level:7}  {finding.file}: {finding.message}\n" for finding in findings)
    elif args.format == "json":
        text = output.records([asdict(finding) for finding in findings])
    else:
        rows = ((finding.level, finding.file, finding.message) for finding in findings)
        text = output.delimited(("level", "file", "message"), rows, "\t")
    output.put(text, args.output)
    counts = Counter[str](finding.level for finding in findings)
    if not args.quiet:
        levels = ("error", "warning", "note")
        total = ", ".join(f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}" for level in levels)
        print(f"fathoms: {len(paths) + 1} files: {total}", file=sys.stderr)
    return 1 if counts["error"] or (args.strict and counts["warning"]) else 0
