"""All of it on one page: a report that opens in a browser without a network and can be passed on as one file.

A summary in sentences, then the systems and their ranges, comparisons, topics, depth, ties, the pool and its reuse,
guidelines, what to judge next, and how to make the report again.
"""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from fathoms.cli import options

EXAMPLES = (
    ("everything on one page", "fathoms report qrels.txt runs/ -o report.html"),
    (
        "the same where the runs and teams that made the pool are known",
        "fathoms report qrels.txt runs/ --pooled pooled.txt --groups groups.tsv",
    ),
)
MORE = """more examples:
  fathoms report qrels.txt runs/ --diff bm25 bm25-tuned --docs corpus.jsonl --topic-texts topics.tsv -o report.html"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_question(parser, "report")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("report.html"), help="file to write (report.html)"
    )
    reading = (*options.RANGES, *options.GROUPS, *options.READ_SUBTOPICS, *options.WORK)
    options.add_reading(parser, "groups", *options.ORDER, *reading)
    options.add_talk(parser)
    parser.set_defaults(format="html", parser=parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args)
    exp.spares_memory = True
    question = options.arguments(args, "report")
    report = exp.report(args.output, **question, command=command_line(args))
    output.warn([*report.notes, *exp.notes], args)
    if not args.quiet:
        print(f"fathoms: {args.output} is ready; open it in a browser", file=sys.stderr)
    return 0


def command_line(args: Namespace) -> str:
    """What to type for the same report: the files, and the flags that are not as by default."""
    words = ["fathoms", "report", args.qrels, *args.runs]
    for action in args.parser._actions:
        value = getattr(args, action.dest, None)
        if not action.option_strings or value is None or value == action.default:
            continue
        if action.nargs == 2:
            words += [action.option_strings[0], *value]
            continue
        for item in value if isinstance(value, list) else [value]:
            words += [action.option_strings[0]] if item is True else [action.option_strings[0], str(item)]
    if args.output == args.parser.get_default("output"):
        words += ["-o", str(args.output)]
    return shlex.join(words)
