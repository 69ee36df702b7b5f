"""Can this collection be trusted, and reused for systems that did not contribute to its pool?

How fast pooling finds relevant documents, what it leaves unjudged, what would become of a run's scores and rank if it,
or all runs of its team, had not contributed, how much of each run is judged, and the seven guidelines of Lu, Moffat and
Culpepper, one by one.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.comparison.audit_findings import Spread
    from fathoms.comparison.audit_result import Audit

EXAMPLES = (
    ("can new systems be scored with these judgments, and what speaks against it?", "fathoms audit qrels.txt runs/"),
    (
        "the same where the runs and teams that made the pool are known",
        "fathoms audit qrels.txt runs/ --pooled pooled.txt --groups groups.tsv",
    ),
)
MORE = """more examples:
  fathoms audit qrels.txt runs/ --pooled pooled.txt --depth 10 -m 'AP(variant=b)@10' -m 'RBP(p=0.8)' --format tsv"""


def add_arguments(parser: ArgumentParser) -> None:
    options.add_files(parser)
    options.add_measures(parser)
    parser.add_argument(
        "--depth",
        metavar="D",
        type=options.at_least_one,
        help="depth of the pool (default: inferred from what is judged); less looks at a shallower pool's judgments",
    )
    options.add_pooled(parser)
    parser.add_argument(
        "--groups", metavar="FILE", type=Path, help="each run's team, lines `run<TAB>team`; to leave out whole teams"
    )
    options.add_output(parser, ("table", "tsv", "json"))
    options.add_order(parser)
    options.add_reading(parser)
    options.add_work(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args, memory_mb=0)
    with output.progress(len(exp.runs), args.quiet) as step:
        result = exp.audit(args.measures, depth=args.depth, progress=step)
    output.present(result, args, lambda: _blocks(result), experiment=exp)
    return 0


def _pm(spread: Spread | None, digits: int = 1) -> str:
    return "n/a" if spread is None else f"{spread.mean:.{digits}f} ± {spread.deviation:.{digits}f}"


def _blocks(result: Audit) -> list[Block]:
    blocks = [*([_left_out(result)] if result.run_out else []), _shares(result), _found(result), _pooling(result)]
    return [*blocks, *([_extended(result)] if result.extended else []), _guidelines(result)]


def _found(result: Audit) -> Block:
    from fathoms.cli.screen import table

    rows = []
    for step in result.steps:
        rate = "" if step.rate is None else f"{step.rate:.1%}"
        rows.append([str(step.deep), f"{result.found[step.deep - 1].mean:.2f}", f"{step.judged:,}", rate])
    header = ["depth", "relevant per topic", "new judged", "of them relevant"]
    return table(header, rows, 0, "New relevant documents by pool depth", "depth")


def _pooling(result: Audit) -> Block:
    from fathoms.cli.screen import table

    rows = [
        [
            "all" if pool.depth is None else f"d = {pool.depth}",
            *map(_pm, (pool.rel_in_pool, pool.rank_unjudged, pool.rel_past)),
        ]
        for pool in result.pooling
    ]
    title = "Pooling outcomes, mean ± SD over contributing runs and topics"
    return table(["pool", "RelInPool", "RankUnj", "NumRelPast"], rows, 1, title, "pool")


def _left_out(result: Audit) -> Block:
    from fathoms.cli.screen import Block, Column
    from fathoms.comparison.audit_findings import changes
    from fathoms.text import pluralise

    columns = [Column("measure", [measure.name for measure in result.measures], words=True)]
    for level, (kind, left) in enumerate((("run", result.run_out), ("group", result.group_out))):
        if left:
            found = changes(left)
            percents = ["" if one.percent is None else f"{one.percent.mean:+z.2f}" for one in found]
            medians = ["" if one.median is None else f"{one.median:+z.2f}" for one in found]
            columns += [
                Column(f"{kind} out: %", percents, level),
                Column("median", medians, level + 2),
                Column("ranks", [f"{one.rank.mean:.2f}" for one in found], level),
            ]
    of = pluralise(len(result.contributing), "run")
    of += f", {pluralise(len(result.groups), 'group')}" if result.groups else ""
    title = f"Leaving out, {of}: mean change of score, mean absolute change of rank"
    return Block(columns, title, "measure", under="" if result.groups else "--groups FILE leaves out whole teams too")


def _shares(result: Audit) -> Block:
    from fathoms.cli.screen import table
    from fathoms.comparison.audit_findings import SHARE_DEPTHS

    def percent(share: float | None) -> str:
        return "" if share is None else f"{share:.1%}"

    rows = []
    for label, names in (("contributing runs", result.contributing), ("other runs", result.others)):
        if names:
            means = [result.share(names, k) for k in SHARE_DEPTHS]
            rows.append([f"{label} ({len(names)})", *(percent(None if m is None else m.mean) for m in means)])
    worst = sorted(result.shares, key=lambda name: (result.shares[name][10] or 0.0, name))
    rows += [[name, *(percent(result.shares[name][k]) for k in SHARE_DEPTHS)] for name in worst]
    header = ["run", *(f"@{k}" for k in SHARE_DEPTHS)]
    return table(header, rows, 1, "Judged share of the top k, means, then the least judged runs first", "run")


def _extended(result: Audit) -> Block:
    from fathoms.cli.screen import table

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    rows = [
        [
            one.measure,
            "" if one.judged is None else f"{one.judged:.1%}",
            number(one.tau),
            number(one.coverage),
            number(one.inversion),
        ]
        for one in result.extended
    ]
    header = ["measure", "judged deeper", "tau", "coverage", "inversion"]
    title = f"Measures that read deeper than the pool, compared with themselves cut at depth {result.depth}"
    return table(header, rows, 1, title, "measure")


def _guidelines(result: Audit) -> Block:
    from fathoms.cli.screen import Block, Column

    found = sorted(result.guidelines, key=lambda one: one.status != "warn")  # what to look at comes first
    columns = [
        Column("guideline", [f"{one.number} {one.name}" for one in found], words=True),
        Column("status", [one.status for one in found], words=True),
        Column("evidence", [one.evidence for one in found], 1, words=True),
    ]
    return Block(columns, "Guidelines (Lu, Moffat and Culpepper, section 5)", "guideline")
