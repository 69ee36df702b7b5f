"""Can this collection be trusted, and reused for systems that did not contribute to its pool?

How fast pooling finds relevant documents, what it leaves unjudged, what would become of a run's scores and rank if it,
or all runs of its team, had not contributed, how much of each run is judged, and the seven guidelines of Lu, Moffat and
Culpepper, one by one.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.questions.audit.findings import Spread
    from fathoms.questions.audit.result import Audit

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
    options.add_question(parser, "audit")
    options.add_reading(parser, "groups", *options.POOL, *options.ORDER, *options.READ_SUBTOPICS, *options.WORK)
    options.add_output(parser, ("table", "tsv", "json"))
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    exp = options.experiment(args, memory_mb=0)
    result = exp.audit(**options.arguments(args, "audit"))
    output.present(result, args, lambda: _blocks(result), experiment=exp)
    return 0


def _pm(spread: Spread | None, digits: int = 1) -> str:
    return "n/a" if spread is None else f"{spread.mean:.{digits}f} ± {spread.deviation:.{digits}f}"


def _blocks(result: Audit) -> list[Block]:
    blocks = [
        *([_left_out(result)] if result.run_out else []),
        _shares(result),
        _new_relevant(result),
        _pooling(result),
    ]
    blocks += [_calls(result)] if result.calls else []
    return [*blocks, *([_extended(result)] if result.extended else []), _guidelines(result)]


def _new_relevant(result: Audit) -> Block:
    from fathoms.cli.screen import table

    rows = []
    for step in result.steps:
        rate = "" if step.rate is None else f"{step.rate:.1%}"
        rows.append([str(step.deep), f"{result.relevant[step.deep - 1].mean:.2f}", f"{step.judged:,}", rate])
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
    from fathoms.base.text import pluralise
    from fathoms.cli.screen import Block, Column
    from fathoms.questions.audit.findings import changes

    columns = [Column("measure", [measure.name for measure in result.measures], words=True)]
    for level, (kind, left) in enumerate((("run", result.run_out), ("group", result.group_out))):
        if left:
            by_measure = changes(left)
            percents = ["" if change.percent is None else f"{change.percent.mean:+z.2f}" for change in by_measure]
            medians = ["" if change.median is None else f"{change.median:+z.2f}" for change in by_measure]
            columns += [
                Column(f"{kind} out: %", percents, level),
                Column("median", medians, level + 2),
                Column("ranks", [f"{change.rank.mean:.2f}" for change in by_measure], level),
            ]
    of = pluralise(len(result.contributing), "run")
    of += f", {pluralise(len(result.groups), 'group')}" if result.groups else ""
    title = f"Leaving out, {of}: mean change of score, mean absolute change of rank"
    return Block(columns, title, "measure", under="" if result.groups else "--groups FILE leaves out whole teams too")


def _shares(result: Audit) -> Block:
    from fathoms.cli.screen import cell, table
    from fathoms.questions.audit.findings import SHARE_DEPTHS

    rows = []
    for label, names in (("contributing runs", result.contributing), ("other runs", result.others)):
        if names:
            means = [result.share(names, k) for k in SHARE_DEPTHS]
            rows.append([f"{label} ({len(names)})", *(cell(None if m is None else m.mean, ".1%") for m in means)])
    worst = sorted(result.shares, key=lambda name: (result.shares[name][10] or 0.0, name))
    rows += [[name, *(cell(result.shares[name][k], ".1%") for k in SHARE_DEPTHS)] for name in worst]
    header = ["run", *(f"@{k}" for k in SHARE_DEPTHS)]
    return table(header, rows, 1, "Judged share of the top k, means, then the least judged runs first", "run")


def _calls(result: Audit) -> Block:
    from fathoms.cli.screen import table

    rows = [
        [
            calls.measure,
            f"{calls.low:.0%} to {calls.high:.0%}",
            f"{calls.pairs:,}",
            f"{calls.confidence:.1%}",
            f"{calls.right / calls.pairs:.1%}",
        ]
        for calls in result.calls
    ]
    header = ["measure", "confidence", "pairs", "mean", "right"]
    return table(header, rows, 2, "Pairs with a run left out, by the confidence of the estimate", "row")


def _extended(result: Audit) -> Block:
    from fathoms.cli.screen import cell, table

    rows = [
        [
            extended.measure,
            cell(extended.judged, ".1%"),
            cell(extended.tau, ".3f"),
            cell(extended.coverage, ".3f"),
            cell(extended.inversion, ".3f"),
        ]
        for extended in result.extended
    ]
    header = ["measure", "judged deeper", "tau", "coverage", "inversion"]
    title = f"Measures that read deeper than the pool, compared with themselves cut at depth {result.depth}"
    return table(header, rows, 1, title, "measure")


def _guidelines(result: Audit) -> Block:
    from fathoms.cli.screen import Block, Column

    guidelines = sorted(
        result.guidelines, key=lambda guideline: guideline.status != "warn"
    )  # what to look at comes first
    columns = [
        Column("guideline", [f"{guideline.number} {guideline.name}" for guideline in guidelines], words=True),
        Column("status", [guideline.status for guideline in guidelines], words=True),
        Column("evidence", [guideline.evidence for guideline in guidelines], 1, words=True),
    ]
    return Block(columns, "Guidelines (Lu, Moffat and Culpepper, section 5)", "guideline")
