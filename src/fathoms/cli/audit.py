"""Can this collection be trusted, and reused for systems that did not contribute to its pool?

How fast pooling finds relevant documents, what it leaves unjudged, what becomes of a run's scores and rank if it, or
all runs of its team, had not contributed, how much of each run is judged, and the seven guidelines of Lu, Moffat and
Culpepper, one by one.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.comparison.audit_findings import Spread
    from fathoms.comparison.audit_result import Audit

EXAMPLES = """examples:
  fathoms audit qrels.txt runs/ --pooled pooled.txt --groups groups.tsv
  fathoms audit qrels.txt runs/ --pooled pooled.txt --depth 10 -m 'AP(variant=b)@10' -m 'RBP(p=0.8)' --format tsv"""
LEAST_JUDGED = 5  # runs shown in the table; the other formats have all


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
    output.say_notes(exp, result, args)
    if args.format == "table":
        output.put(_table(result), args.output)
    else:
        output.put_result(result, args)
    return 0


def _pm(spread: Spread | None, digits: int = 1) -> str:
    return "n/a" if spread is None else f"{spread.mean:.{digits}f} ± {spread.deviation:.{digits}f}"


def _table(result: Audit) -> str:
    from fathoms.comparison.audit_sentences import sentences

    parts = ["\n".join(sentences(result)), _found(result), _pooling(result)]
    if result.run_out:
        parts.append(_left_out(result))
    parts.append(_shares(result))
    if result.extended:
        parts.append(_extended(result))
    parts.append(_guidelines(result))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _found(result: Audit) -> str:
    from fathoms.cli.output import aligned_text

    rows = []
    for step in result.steps:
        rate = "" if step.rate is None else f"{step.rate:.1%}"
        rows.append([str(step.deep), f"{result.found[step.deep - 1].mean:.2f}", f"{step.judged:,}", rate])
    header = ["depth", "relevant per topic", "new judged", "of them relevant"]
    return "New relevant documents by pool depth\n" + aligned_text(header, rows, numbers_from=0)


def _pooling(result: Audit) -> str:
    from fathoms.cli.output import aligned_text

    rows = [
        [
            "all" if pool.depth is None else f"d = {pool.depth}",
            *map(_pm, (pool.rel_in_pool, pool.rank_unjudged, pool.rel_past)),
        ]
        for pool in result.pooling
    ]
    return "Pooling outcomes, mean ± SD over contributing runs and topics\n" + aligned_text(
        ["pool", "RelInPool", "RankUnj", "NumRelPast"], rows, numbers_from=1
    )


def _left_out(result: Audit) -> str:
    from fathoms.cli.output import aligned_text
    from fathoms.comparison.audit_findings import changes
    from fathoms.text import pluralise

    header = ["measure"]
    rows = [[measure.name] for measure in result.measures]
    for kind, left in (("run", result.run_out), ("group", result.group_out)):
        if left:
            header += [f"{kind} out: %", "median", "ranks"]
            for row, found in zip(rows, changes(left), strict=True):
                percent = "" if found.percent is None else f"{found.percent.mean:+z.2f}"
                row += [percent, "" if found.median is None else f"{found.median:+z.2f}", f"{found.rank.mean:.2f}"]
    of = f"{len(result.contributing)} runs"
    of += f", {pluralise(len(result.groups), 'group')}" if result.groups else "; for whole teams give --groups FILE"
    title = f"Leaving out: mean change of score and mean absolute change of rank ({of})"
    return f"{title}\n{aligned_text(header, rows, numbers_from=1)}"


def _shares(result: Audit) -> str:
    from fathoms.cli.output import aligned_text
    from fathoms.comparison.audit_findings import SHARE_DEPTHS

    def percent(share: float | None) -> str:
        return "" if share is None else f"{share:.1%}"

    rows = []
    for label, names in (("contributing runs", result.contributing), ("other runs", result.others)):
        if names:
            means = [result.share(names, k) for k in SHARE_DEPTHS]
            rows.append([f"{label} ({len(names)})", *(percent(None if m is None else m.mean) for m in means)])
    worst = sorted(result.shares, key=lambda name: (result.shares[name][10] or 0.0, name))[:LEAST_JUDGED]
    rows += [[name, *(percent(result.shares[name][k]) for k in SHARE_DEPTHS)] for name in worst]
    text = aligned_text(["run", *(f"@{k}" for k in SHARE_DEPTHS)], rows, numbers_from=1)
    return f"Judged share of the top k, means and the least judged runs\n{text}"


def _extended(result: Audit) -> str:
    from fathoms.cli.output import aligned_text

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
    return f"{title}\n{aligned_text(header, rows, numbers_from=1)}"


def _guidelines(result: Audit) -> str:
    width = max(len(one.status) for one in result.guidelines)
    lines = [f"{one.number}  {one.status:<{width}}  {one.name}: {one.evidence}" for one in result.guidelines]
    return "Guidelines (Lu, Moffat and Culpepper, section 5)\n" + "\n".join(lines) + "\n"
