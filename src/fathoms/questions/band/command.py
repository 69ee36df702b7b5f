"""How precise do document scores need to be?

Documents are put into geometric bands of ranks, inside which their order is left open: band g holds ranks b_g to
b_{g+1} - 1, with b_1 = 1 and b_{g+1} = ceil(rho b_g) (Yang, Moffat, Turpin 2016).

Without runs: how much of a score bands can cost at worst, for each --rho; or with --loss the largest rho that is safe.
With runs: -o DIR writes them banded, as TREC files with score 1/g; --qrels QRELS shows what it costs them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.data.runs import Runs
    from fathoms.measures.base import Measure


FORMS = {"rho": "g"}  # all other numbers have four digits
WORDS = ("run", "measure")


class Bound(NamedTuple):
    """The most that bands can cost by a measure."""

    measure: str
    rho: float
    safe_depth: int | None
    worst_loss: float


class Loss(NamedTuple):
    """What bands cost a run."""

    run: str
    measure: str
    rho: float
    score: float
    banded: float
    loss: float
    worst_loss: float | None


DEFAULT_MEASURES = ("RR", "RBP(p=0.5)", "RBP(p=0.85)")
EXAMPLES = (
    ("what can bands that grow by 40% cost a score at worst?", "fathoms band -m RR --rho 1.4"),
    ("what do they cost these runs?", "fathoms band runs/ --qrels qrels.txt -m AP --rho 1.4"),
)
MORE = """more examples:
  fathoms band -m RR -m 'RBP(p=0.85)' --rho 1.1 --rho 1.4
  fathoms band -m RR --loss 0.05
  fathoms band runs/ --rho 1.4 -o banded"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="*", help="runs: files, folders or quoted globs")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--rho", metavar="RHO", type=rho, action="append", help="growth of the bands; may be repeated")
    how.add_argument("--loss", metavar="X", type=loss, help="find the largest rho that costs X at worst")
    options.add_measures(parser, f"default {', '.join(DEFAULT_MEASURES)}, with --qrels AP too")
    parser.add_argument("--qrels", metavar="QRELS", help="judgments: show what banding costs each run")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help="write the banded runs to this folder")
    parser.add_argument(
        "--ties",
        choices=("run", "trec", "rank", "score-rank"),
        default="run",
        help="the order that is banded: the file's (default), trec_eval's, by rank, or by score and then rank",
    )
    parser.add_argument(
        "--format", choices=("table", "tsv", "csv", "json"), default="table", help="form of what is shown (table)"
    )
    options.add_reading(parser, *options.READ)
    options.add_all(parser)
    options.add_talk(parser)


def rho(text: str) -> Fraction:
    from fathoms.base.errors import FathomsError
    from fathoms.evidence.banding import parse_rho

    try:
        return parse_rho(text)
    except FathomsError as error:
        raise ArgumentTypeError(str(error)) from None


def loss(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0 <= share < float("inf"):
        raise ArgumentTypeError(f"expected a loss of 0 or more, such as 0.05, found {text!r}")
    return share


def run(args: Namespace) -> int:
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_folder
    from fathoms.cli.output import warn
    from fathoms.data.runs import scan_runs

    if not args.runs:
        if args.qrels is not None or args.output is not None:
            raise FathomsError("--qrels and -o are for runs, and none is given")
        notes: list[str] = []
        rows = _bounds(args, notes)
        _present(Bound._fields, rows, args, _at_worst(rows), notes)
        return 0
    if args.rho is None:
        raise FathomsError("--loss is for bounds, without runs; band runs with --rho")
    if args.output is None and args.qrels is None:
        raise FathomsError("say where to write the banded runs (-o DIR), or judge what they lose (--qrels QRELS)")
    if args.output is not None and len(args.rho) > 1:
        raise FathomsError(f"-o writes runs of one banding, found {len(args.rho)} times --rho")
    if args.output is not None:
        check_folder(args.output)
    options.check_sources(args)
    runs = scan_runs(args.runs, names=args.names, lenient=args.lenient)
    notes = []
    losses = [] if args.qrels is None else _losses(args, runs, notes)
    if args.output is not None:
        _write(args, runs, notes)
    if args.qrels is not None:
        _present(Loss._fields, losses, args, _lost(losses), notes)
    else:
        warn(notes, args)
    return 0


def _at_worst(bounds: Sequence[Bound]) -> list[str]:
    """What bands can cost, by each measure."""
    by_measure: dict[str, list[str]] = {}
    for bound in bounds:
        by_measure.setdefault(bound.measure, []).append(f"{bound.worst_loss:.4f} with rho {bound.rho:g}")
    return [f"{measure}: bands cost at most {', '.join(of)}." for measure, of in by_measure.items()]


def _lost(losses: Sequence[Loss]) -> list[str]:
    """What bands do cost these runs, by each measure and rho."""
    by_loss: dict[tuple[str, float], list[tuple[float, str]]] = {}
    for of_run in losses:
        by_loss.setdefault((of_run.measure, of_run.rho), []).append((of_run.loss, of_run.run))
    lines = []
    for (measure, rho), of in by_loss.items():
        most, run = max(of)
        mean = sum(lost for lost, _ in of) / len(of)
        average = "" if len(of) == 1 else f", the most, and {mean:+z.4f} on average over {len(of):,} runs"
        lines.append(f"{measure}, rho {rho:g}: bands cost {run} {most:+z.4f}{average}.")
    return lines


def _measures(args: Namespace, default: tuple[str, ...]) -> list[Measure]:
    from fathoms.experiment.base import prepare_measures

    return prepare_measures(args.measures or default)


def _bounds(args: Namespace, notes: list[str]) -> list[Bound]:
    from fathoms.base.errors import FathomsError
    from fathoms.evidence.banding import safe_depth
    from fathoms.measures.banding import LARGEST, largest_rho, worst_loss

    bounds = []
    for measure in _measures(args, DEFAULT_MEASURES):
        for banding in args.rho or [largest_rho(measure, args.loss)]:
            worst = 0.0 if banding == 1 else worst_loss(measure, banding)
            if worst is None:
                raise FathomsError(
                    f"{measure.name} has no worst case that follows from the bands alone; RR, RBP, ERR and, with a "
                    "cut-off, AP, nDCG and DCG do. See what it loses on judged runs with --qrels"
                )
            depth = None if banding == 1 else safe_depth(banding)
            bounds.append(Bound(measure.name, float(banding), depth, worst))
            if args.rho is None and banding == LARGEST:
                notes.append(f"{measure.name}: not looked for past rho = {LARGEST}")
    return bounds


def _losses(args: Namespace, runs: Runs, notes: list[str]) -> list[Loss]:
    """Of each run: the mean score, the mean over all orders inside bands, and what is lost."""
    from dataclasses import replace

    from fathoms.data.qrels import read_qrels
    from fathoms.evidence.align import Aligned, Alignment
    from fathoms.experiment.topics import topic_notes
    from fathoms.measures.banding import banded_score, worst_loss

    measures = _measures(args, (*DEFAULT_MEASURES, "AP"))
    qrels = read_qrels(args.qrels, lenient=args.lenient, junk=args.junk)
    notes += qrels.notes
    align = Alignment(qrels, args.ties)
    worst = {(m, r): worst_loss(m, r, qrels.max_grade) for m in measures for r in args.rho}
    losses = []
    known: list[Aligned] = []
    for name in runs:
        run = runs[name]
        notes += run.notes
        aligned = align(run)
        evidence = aligned.evidence
        known.append(replace(aligned, evidence=evidence.select([])))  # its topics are all that is needed later
        for measure in measures:
            score = float(measure.value(measure.prepared(evidence)).mean())
            for banding in args.rho:
                after = float(banded_score(measure, evidence, banding).mean())
                lost = score - after
                losses.append(Loss(name, measure.name, float(banding), score, after, lost, worst[measure, banding]))
    notes += topic_notes(known, qrels, "all", lenient=args.lenient)
    return losses


def _write(args: Namespace, runs: Runs, notes: list[str]) -> None:
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import whole_file
    from fathoms.base.text import pluralise
    from fathoms.evidence.banding import banded_run

    files = {name: args.output / f"{name.replace('/', '_')}.run" for name in runs}
    if len(set(files.values())) < len(files):
        raise FathomsError("two of the runs would be written to the same file; give them different names")
    args.output.mkdir(parents=True, exist_ok=True)
    for name, path in files.items():
        run = runs[name]
        notes += run.notes
        text = banded_run(run, args.rho[0], args.ties).to_bytes()
        with whole_file(path) as temporary:
            temporary.write_bytes(text)
    if not args.quiet:
        print(f"fathoms: {pluralise(len(files), 'banded run')} written to {args.output}", file=sys.stderr)


def _present(
    columns: tuple[str, ...],
    rows: Sequence[Bound] | Sequence[Loss],
    args: Namespace,
    answer: list[str],
    notes: list[str],
) -> None:
    from fathoms.cli import output
    from fathoms.cli.screen import Block, Column, cell

    def block() -> Block:
        shown = [row._asdict() for row in rows]
        shown.sort(key=lambda row: -row.get("loss", 0.0))
        return Block(
            [
                Column(name, [cell(row[name], FORMS.get(name, ".4f")) for row in shown], words=name in WORDS)
                for name in columns
            ]
        )

    def put_data(_: Any, args: Namespace) -> None:
        output.put_rows(columns, rows, args)

    here = Namespace(**{**vars(args), "output": None})
    output.present(output.Said(answer, (), notes), here, lambda: [block()], put_data=put_data)
