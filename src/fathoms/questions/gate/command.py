"""May a candidate replace the baseline? For continuous integration.

  passes       0  no measure drops by more than --max-drop, with the asked confidence
  fails        1  a measure drops, and the drop is significant
  cannot tell  3  neither; the output says how many judgments or topics would tell, and which documents to judge first

The numbers are exit codes (2 is bad input, or a candidate with hardly any judged document). Topics count as a sample of
the queries you care about, and unjudged documents as unknown: the output says whether the outcome holds whatever they
are, or if they are as they are likely to be. So p_drop is not the p of `compare`, which takes them as not relevant.
Several measures must all pass; with --topic-groups a significant drop in any group fails too.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options
from fathoms.inference.names import GATE_RUNS

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.questions.gate.result import Gate

EXAMPLES = (
    ("may this branch be merged? the exit status says so", "fathoms gate qrels.txt main.run branch.run"),
    (
        "the same with a drop of 0.02 allowed, and a summary for the pull request",
        "fathoms gate qrels.txt main.run branch.run --max-drop 0.02 --markdown pr.md",
    ),
)
MORE = """more examples:
  fathoms gate qrels.txt main.run branch.run --topic-groups intents.tsv --junit gate.xml --judge-first todo.tsv"""

# What the table shows for each measure, and what a narrow terminal leaves out: the higher, the sooner.
SHOWN = {"diff": 0, "diff_low": 6, "diff_high": 6, "estimate": 5, "lower": 2, "upper": 2, "p_drop_corrected": 4}
TO_JUDGE = ("topic", "document", "rank_baseline", "rank_candidate", "change")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="judgments, in any format that `fathoms convert` reads")
    parser.add_argument(
        "baseline", metavar="BASELINE", help="the run to compare with: what is live, or the main branch"
    )
    parser.add_argument("candidate", metavar="CANDIDATE", help="the run with the change")
    options.add_question(parser, "gate")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="a summary for a pull request, in Markdown")
    parser.add_argument("--junit", metavar="FILE", type=Path, help="the outcomes as JUnit XML, for the build server")
    parser.add_argument(
        "--judge-first", metavar="FILE", type=Path, help="the documents to judge first, where judging would tell (tsv)"
    )
    options.add_output(parser, ("table", "tsv", "csv", "json", "markdown", "junit"))
    options.add_reading(
        parser, *options.GROUPS, *options.UNITS, *options.ORDER, *options.RANGES, *options.READ_SUBTOPICS, *options.WORK
    )
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.api import two_runs
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_not_read, check_writable
    from fathoms.cli import output

    args.runs = [args.baseline, args.candidate]
    written = [
        path for path in (args.markdown, args.junit, args.judge_first, args.output, args.sequence) if path is not None
    ]
    for path in written:
        check_writable(path)
        check_not_read(path, [args.qrels, *args.runs, *filter(None, [args.topic_groups]), *args.labels])
    twice = next((path for i, path in enumerate(written) if path in written[:i]), None)
    if twice is not None:
        raise FathomsError(f"{twice} is to hold two things at once; give each output a file of its own")
    exp = options.experiment(args, runs=two_runs(args.baseline, args.candidate, GATE_RUNS))
    result = exp.gate(**options.arguments(args, "gate"))
    if args.markdown is not None:
        output.put(output.with_provenance(result.markdown(), result, "markdown", args.markdown), args.markdown)
    if args.junit is not None:
        output.put(result.junit(), args.junit)
    if args.judge_first is not None:
        output.put(to_judge(result), args.judge_first)
    others = {"markdown": result.markdown, "junit": result.junit, "json": lambda: _json(result)}
    output.present(result, args, lambda: [_block(result)], others=others, experiment=exp)
    return result.exit_code


def _block(result: Gate) -> Block:
    from fathoms.base.text import p_cell
    from fathoms.cli.screen import Block, Column, cell

    rows = result.measured
    columns = [Column("measure", [row.measure for row in rows], words=True)]
    if result.by_group:
        columns.append(Column("group", [row.group for row in rows], words=True))
    columns += [
        Column("outcome", [row.outcome for row in rows], words=True),
        Column("basis", [row.basis for row in rows], 3, words=True),
        Column("topics", [f"{row.topics}" for row in rows], 4),
        Column("baseline", [f"{row.baseline:.4f}" for row in rows], 1),
        Column("candidate", [f"{row.candidate:.4f}" for row in rows], 1),
    ]
    for name, level in SHOWN.items():
        values = [getattr(row, name) for row in rows]
        cells = [p_cell(p) for p in values] if name == "p_drop_corrected" else [cell(diff, "+.4f") for diff in values]
        # For one measure there is nothing to correct.
        columns.append(Column(name if len(rows) > 1 else name.removesuffix("_corrected"), cells, level))
    return Block(columns)


def _json(result: Gate) -> str:
    """One object: the outcome, its exit code, a record for each measure and group, and what to judge."""
    import json
    from dataclasses import asdict

    facts = {
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        "baseline": result.baseline,
        "candidate": result.candidate,
        "max_drop": result.max_drop,
        **({} if result.look is None else {"look": asdict(result.look)}),
        "alpha": result.alpha,
        "sentences": result.findings,
        "measures": result.records(),
        "judge_first": [{name: getattr(entry, name) for name in TO_JUDGE} for entry in result.to_judge],
    }
    return json.dumps(facts, indent=1) + "\n"


def to_judge(result: Gate) -> str:
    from fathoms.cli.output import delimited

    return delimited(TO_JUDGE, [[getattr(entry, name) for name in TO_JUDGE] for entry in result.to_judge], "\t")
