"""Evaluate one run as trec_eval 9.0.8 does: the same flags, and the same bytes on standard output.

It reads all that fathoms reads (compressed files, standard input, parquet, ...), and stops with exit status 2 at input
that trec_eval would misread. For ranges, ties and several runs there is `fathoms eval`.
"""

from __future__ import annotations

import math
import os
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import FathomsError, InputError
from fathoms.cli import options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run
    from fathoms.evidence.align import Aligned
    from fathoms.questions.trec_eval.columns import Column

EXAMPLES = (
    ("what trec_eval prints, in its own layout", "fathoms trec_eval qrels.txt bm25.run"),
    (
        "topic by topic, for some measures, over all judged topics",
        "fathoms trec_eval -q -c -m map -m ndcg_cut.10,20 qrels.txt bm25.run",
    ),
)
MORE = """more examples:
  fathoms trec_eval -m all_trec -l 2 qrels.txt bm25.run.gz
  fathoms trec_eval -m 'ndcg.1=1,2=4' -M 100 qrels.txt bm25.run

measures:
  official  runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P
  set       runid num_q num_ret num_rel num_rel_ret utility set_P set_recall set_relative_P set_map set_F
  all_trec  both, and relstring recall infAP gm_bpref Rprec_mult 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut
            relative_P success num_nonrel_judged_ret
  besides   yaap
parameters follow a point: ranks (P recall ndcg_cut map_cut relative_P success), levels (iprec_at_recall Rprec_mult
11pt_avg), grade=gain pairs (G ndcg ndcg_rel Rndcg), numbers (relstring utility set_F)"""
WANTS = {
    "rel_info_format": ("qrels", "-R: fathoms reads judgments as qrels only"),
    "results_format": ("trec_results", "-T: fathoms reads results as trec_results only"),
    "zscore": (None, "-Z: fathoms does not print z-scores; `fathoms eval --by-topic` has the values to make them of"),
    "debug_level": (None, "-D: fathoms has no debugging output of trec_eval's kind"),
}
TAIL = 1 << 16  # bytes in which the last line of a run is looked for


def add_arguments(parser: ArgumentParser) -> None:
    parser.allow_abbrev = True  # as getopt_long does
    parser.add_argument("qrels", metavar="QRELS", help="judgments, lines `topic iteration document grade`; - for stdin")
    parser.add_argument("run", metavar="RUN", help="a run, lines `topic Q0 document rank score tag`; - for stdin")
    add = parser.add_argument
    add("-q", "--query_eval_wanted", action="store_true", dest="by_topic", help="values of each topic too")
    add(
        "-m",
        "--measure",
        action="append",
        dest="measures",
        metavar="MEASURE[.PARAMETERS]",
        help="a measure, such as map, P.5,10 or ndcg.1=3.5,2=9, or official (default), set or all_trec; may be "
        "repeated",
    )
    add(
        "-c",
        "--complete_rel_info_wanted",
        action="store_true",
        dest="complete",
        help="mean over all topics of the qrels; those not in the run count 0",
    )
    add(
        "-l",
        "--level_for_rel",
        metavar="GRADE",
        type=options.at_least_zero,
        default=1,
        dest="level",
        help="lowest grade that counts as relevant (1)",
    )
    add("-n", "--nosummary", action="store_true", help="no values over all topics")
    add("-J", "--Judged_docs_only", action="store_true", dest="judged_only", help="take unjudged documents out first")
    add(
        "-M",
        "--Max_retrieved_per_topic",
        metavar="N",
        type=options.at_least_one,
        dest="most",
        help="the first N documents of each topic only",
    )
    add(
        "-N",
        "--Number_docs_in_coll",
        metavar="N",
        type=options.at_least_zero,
        default=0,
        dest="collection",
        help="documents in the collection, for utility (0)",
    )
    add("-R", "--Rel_info_format", metavar="FORMAT", default="qrels", dest="rel_info_format", help="qrels, no other")
    add(
        "-T",
        "--Results_format",
        metavar="FORMAT",
        default="trec_results",
        dest="results_format",
        help="trec_results, no other",
    )
    add("-o", "--Output_old_results_format", action="store_true", help="ignored, as in trec_eval 9")
    add("-D", "--Debug_level", metavar="N", dest="debug_level", help="not supported")
    add("-Z", "--Zscore", metavar="FILE", dest="zscore", help="not supported")
    add("-v", "--version", action="version", version="fathoms, in the place of trec_eval version 9.0.8")


def run(args: Namespace) -> int:
    from fathoms.questions.trec_eval.columns import columns_of, values_of

    for name, (accepted, message) in WANTS.items():
        if getattr(args, name) != accepted:
            raise FathomsError(message)
    if args.qrels == "-" and args.run == "-":
        raise FathomsError("QRELS and RUN cannot both be standard input")
    notes: list[str] = []
    columns = columns_of(args.measures or ["official"], notes)

    from fathoms.data.qrels import read_qrels
    from fathoms.data.runs import read_run
    from fathoms.evidence.align import Alignment

    try:
        qrels = _whole_grades(read_qrels(args.qrels), notes)
        ranked = read_run(args.run)
    except InputError as error:
        if "--lenient" not in str(error):
            raise
        raise FathomsError(f"{error}. That flag is one of `fathoms eval`; trec_eval would stop here too") from None
    aligned = Alignment(qrels)(ranked)
    evidence = aligned.evidence
    rows = [row for row, length in enumerate(evidence.lengths.tolist()) if length]
    if not rows:
        raise FathomsError(
            f"{qrels.source} and {ranked.source} have no topic in common: their first ones are {qrels.topics[0]!r} and "
            f"{ranked.topics[0]!r}"
        )
    rows.sort(key=lambda row: qrels.topics[row].encode(errors="surrogateescape"))  # strcmp's order
    if rows != list(range(len(evidence))):
        evidence = evidence.select(rows)
    values = values_of(
        evidence,
        columns,
        level=args.level,
        judged_only=args.judged_only,
        most=args.most,
        collection=args.collection,
    )
    notes += _topic_notes(aligned, qrels, args.complete)
    if notes:
        from fathoms.cli.output import say

        say(f"fathoms: warning: {note}" for note in notes)
    if args.by_topic:
        from fathoms.cli.output import check_topics

        check_topics(evidence.topics)
        sys.stdout.write(_by_topic(evidence.topics, columns, values))
    if not args.nosummary:
        sys.stdout.write(_summary(qrels, columns, values, _runid(args.run, ranked), args.complete))
    sys.stdout.flush()  # here, where errors are reported
    return 0


def _whole_grades(qrels: Qrels, notes: list[str]) -> Qrels:
    """trec_eval reads a grade up to its decimal point."""
    import numpy as np

    whole = np.trunc(qrels.grades)
    if (whole == qrels.grades).all():
        return qrels
    notes.append(f"{qrels.source}: grades are cut to whole numbers, as trec_eval does; `fathoms eval` uses them as is")
    return replace(qrels, grades=whole)


def _topic_notes(aligned: Aligned, qrels: Qrels, complete: bool) -> list[str]:
    if not len(aligned.lacking) and not aligned.unknown:
        return []
    from fathoms.experiment.topics import some

    notes = []
    if len(aligned.lacking) and not complete:
        missing = [qrels.topics[i] for i in aligned.lacking]
        notes.append(f"topics not in the run are left out of the mean (-c counts them as 0): {some(missing)}")
    if aligned.unknown:
        notes.append(f"topics not in the qrels are ignored: {some(aligned.unknown)}")
    return notes


def _runid(path: str, run: Run) -> str:
    """The last line's tag, up to a blank; the first line's if the file does not end in a line of a run."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - TAIL))
            lines = file.read().splitlines()
        words = next((line for line in reversed(lines) if line.strip()), b"").decode(errors="surrogateescape").split()
        if len(words) > 5 and words[0] in run.topics:
            return words[5]
    return run.tag.split(maxsplit=1)[0] if run.tag else ""


def _by_topic(topics: list[str], columns: list[Column], values: list[NDArray[Any]]) -> str:
    shown = [
        (f"{column.name:<22}\t", [_shown(column, value) for value in of_topics.tolist()])
        for column, of_topics in zip(columns, values, strict=True)
        if column.known.by_topic
    ]
    return "".join([f"{name}{topic}\t{texts[i]}\n" for i, topic in enumerate(topics) for name, texts in shown])


def _summary(qrels: Qrels, columns: list[Column], values: list[NDArray[Any]], runid: str, complete: bool) -> str:
    from fathoms.questions.trec_eval.columns import over_topics

    lines = []
    for column, of_topics in zip(columns, values, strict=True):
        if column.known.over == "nothing":
            continue
        if column.known.over == "runid":
            text = runid
        elif complete and column.name == "num_rel":  # whatever -l says
            text = str(int((qrels.grades > 0).sum()))
        else:
            text = _shown(column, over_topics(column, of_topics, len(qrels.topics) if complete else len(of_topics)))
        lines.append(f"{column.name:<22}\tall\t{text}\n")
    return "".join(lines)


def _shown(column: Column, value: Any) -> str:
    if column.known.over in ("sum", "topics"):
        return str(int(value))
    if column.known.over == "nothing":
        return str(value)
    if value != value:
        return "  -nan" if math.copysign(1.0, value) < 0 else "   nan"
    return f"{value:6.4f}"
