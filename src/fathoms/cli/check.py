"""`fathoms check`: is every file sound?"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from fathoms.cli import options as o


def command(
    qrels: o.Qrels,
    runs: o.Runs,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on warnings too.")] = False,
    format: Annotated[Literal["table", "tsv", "json"], typer.Option(help="Form of output.")] = "table",
    junk: o.Junk = None,
    quiet: o.Quiet = False,
) -> None:
    """Look for errors (format, duplicates), warnings (ids that match nothing, contradictions) and notes (ties, judged share).

    Exits with 1 if there are errors, with --strict also if there are warnings.

    Example: fathoms check qrels.txt runs/*.run
    """
    import csv
    import json
    import sys
    from collections import Counter
    from dataclasses import asdict

    from fathoms.cli.output import progress
    from fathoms.data.runs import expand
    from fathoms.evidence.check import check_files

    paths = expand(runs)
    with progress(len(paths), quiet) as step:
        findings = list(check_files(qrels, paths, junk=junk, progress=step))
    if format == "json":
        print(json.dumps([asdict(finding) for finding in findings], indent=1))
    elif format == "tsv":
        writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
        writer.writerow(("level", "file", "message"))
        writer.writerows((finding.level, finding.file, finding.message) for finding in findings)
    else:
        for finding in findings:
            print(f"{finding.level:7}  {finding.file}: {finding.message}")
    counts = Counter(finding.level for finding in findings)
    if not quiet:
        total = ", ".join(f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}" for level in ("error", "warning", "note"))
        print(f"fathoms: {len(paths) + 1} files: {total}", file=sys.stderr)
    if counts["error"] or (strict and counts["warning"]):
        raise typer.Exit(1)
