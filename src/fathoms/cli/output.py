"""How results leave: tables for people, TSV and friends for programs, trec_eval's layout, LaTeX.

All commands go through `present`. Answers, tables and the notes under them go to standard output; where that holds data
for programs, sentences go to standard error, as warnings and progress always do, and `--quiet` silences them.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.base import progress
from fathoms.base.arrays import frame_of_rows
from fathoms.base.choices import PAPER_FORMS, is_path
from fathoms.base.errors import FathomsError
from fathoms.base.files import check_writable, whole_file
from fathoms.base.provenance import ENDING, KEY, Provenance
from fathoms.base.result import Result
from fathoms.base.text import pluralise, shown_safely
from fathoms.cli import screen
from fathoms.cli.screen import Block, Column, Size, drawing
from fathoms.data.qrels import Qrels
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.run_scores import RunScores
from fathoms.experiment.topics import IN_NO_RUN
from fathoms.measures.base import Measure, Scores
from fathoms.measures.parse import trec_eval_name
from fathoms.questions.eval.analysis import ENDS, Evaluation

if TYPE_CHECKING:
    import polars as pl

    from fathoms.questions.compare.result import Comparison

OF_OFFICES = (".doc", ".docx", ".odt", ".rtf", ".xls", ".xlsx", ".ods", ".ppt", ".pptx")  # nothing of ours opens there
PICTURES = (".svg", ".png", ".pdf", ".html")  # what a chart is saved as

# What no screen leaves out: over which documents ranges are, and which pool is assumed.
ESSENTIAL = ("Ranges", "Possible ranks", "Assumed pool", "Pool", "No pool")
FEW = 5  # warnings that are shown; `--verbose` shows all

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a formula begins with in a spreadsheet


def check_target(format: str, output: Path | None, *, beside: bool = False) -> None:
    """Find out before the work, not after it, that its result could not be written."""
    if beside and output is None:
        raise FathomsError("--provenance writes a file beside that of the result; name that one with -o")
    if format == "parquet" and output is None:
        raise FathomsError("parquet is not for the screen; name a file with -o")
    if output is not None:
        if output.suffix.lower() in OF_OFFICES:
            raise FathomsError(f"{output}: {output.suffix} is not written; name a .csv, .tsv, .html or .txt file")
        check_writable(output)


class Said(Result):
    """Words beside data that no analysis has made a result of."""

    def __init__(self, answer: Sequence[str], remarks: Sequence[str] = (), notes: Sequence[str] = ()) -> None:
        self._answer, self._remarks, self.notes = list(answer), list(remarks), list(notes)

    @property
    def answer(self) -> list[str]:
        return self._answer

    @property
    def remarks(self) -> list[str]:
        return self._remarks


def present(
    result: Result,
    args: Namespace,
    blocks: Callable[[], list[Block]],
    notes: Iterable[str] = (),
    others: Mapping[str, Callable[[], str]] | None = None,
    experiment: BaseExperiment | None = None,
    put_data: Callable[[Any, Namespace], None] | None = None,
) -> None:
    """A result in the form asked for: a page for people, or data with the sentences beside it.

    `blocks` makes the tables of the page; `others` makes the text of formats that are neither that nor rows; `put_data`
    writes rows where those of the result will not do; `notes` are warnings beside those of the result and the
    experiment.
    """
    sentences = result.sentences
    all_notes = [*result.notes, *([] if experiment is None else experiment.notes), *notes]
    warnings = [note for note in dict.fromkeys(all_notes) if not _is_said(note, sentences)]
    urgent = [note for note in warnings if note.startswith(IN_NO_RUN)]
    files = {} if experiment is None else _short_names(experiment)
    before = [] if args.quiet else warning_lines(urgent, args, files)
    after = [] if args.quiet else warning_lines([note for note in warnings if note not in urgent], args, files)
    say(before)
    if args.format == "table":
        size = None if args.output is not None or args.all else screen.terminal()
        remarks = result.remarks
        if size is not None:
            talk = sum(len(screen.wrapped(line, size.columns)) for line in before + after)  # on the same screen
            size = Size(size.columns, size.lines - talk)
            remarks.sort(key=lambda remark: not remark.startswith(ESSENTIAL))
        put(screen.page(result.answer, blocks(), remarks, size), args.output)
    else:
        if others is not None and args.format in others:
            put(with_provenance(others[args.format](), result, args.format, args.output), args.output)
        else:
            (put_data or put_result)(result, args)
        say([] if args.quiet else [f"fathoms: {sentence}" for sentence in sentences])
    if getattr(args, "provenance", False) and result.provenance is not None:
        put(json_text(result.provenance.record()), args.output.with_name(args.output.name + ENDING))
    say(after)
    if getattr(args, "verbose", False) and experiment is not None:
        say(_contributors(experiment))


def _contributors(experiment: BaseExperiment) -> list[str]:
    """All runs taken as contributors to the pool, where the result rests on that."""
    pool = experiment.pool_used
    return [] if pool is None else [f"fathoms: taken as contributors: {', '.join(pool.names)}"]


def say(lines: Iterable[str]) -> None:
    """Talk: what is no result."""
    for line in lines:
        print(shown_safely(line), file=sys.stderr)


def warn(notes: Iterable[str], args: Namespace) -> None:
    if not args.quiet:
        say(warning_lines(notes, args))


def warning_lines(notes: Iterable[str], args: Namespace, files: Mapping[str, str] | None = None) -> list[str]:
    """A few lines, the most severe first as they come; what is said of several files, in the same words but for the
    figures, is said once. All of it with `--verbose`."""
    notes = list(dict.fromkeys(notes))
    alike: dict[str, list[str]] = {}
    for note in notes:
        source, colon, message = note.partition(": ")
        alike.setdefault(re.sub(r"\d[\d,.]*", "0", message) if colon and " " not in source else note, []).append(note)
    lines = [same[0] if len(same) == 1 else f"{len(same):,} files, such as {same[0]}" for same in alike.values()]
    more = len(lines) - FEW if len(lines) > FEW + 1 else 0
    if getattr(args, "verbose", False):
        lines, more = notes, 0
    shown = [shortened(line, files or {}) for line in lines[: len(lines) - more]]
    counted = [f"fathoms: {pluralise(more, 'more warning')}; --verbose lists all"] if more else []
    return [*(f"fathoms: warning: {line}" for line in shown), *counted]


def _is_said(note: str, sentences: Iterable[str]) -> bool:
    """Whether a sentence says just that, such as which pool is assumed."""
    return any(sentence.rstrip(".").casefold() == note.casefold() for sentence in sentences)


def _short_names(experiment: BaseExperiment) -> dict[str, str]:
    """What to call files on a terminal: as seen from the current folder, or by their name alone where one has it."""
    if not sys.stderr.isatty():
        return {}
    source = experiment.qrels_source
    paths = [os.fspath(source)] if is_path(source) else []
    if experiment.has_runs:
        paths += [experiment.runs.file_of(name) for name in experiment.runs]
    return short_names(paths)


def short_names(paths: Sequence[str]) -> dict[str, str]:
    names = Counter(os.path.basename(path) for path in dict.fromkeys(paths))
    return {
        path: os.path.basename(path)
        if names[os.path.basename(path)] == 1
        else min(os.path.relpath(path), path, key=len)
        for path in paths
    }


def shortened(line: str, files: Mapping[str, str]) -> str:
    """A line with files called by their short names."""
    for path in sorted(files, key=len, reverse=True):
        line = line.replace(path, files[path])
    return line


def steps(of: int, what: str) -> Callable[[str], None]:
    """What to call at the end of each step, for whoever waits on a terminal."""
    done = count(1)
    return lambda name: progress.say(what, next(done), of)


def put_result(result: Result, args: Namespace) -> None:
    """A result for programs: tsv, csv, json or parquet."""
    if args.format == "parquet":
        _put_parquet(result.frame, args.output, result.provenance)
    else:
        put_rows(result.columns, list(result.rows()), args, result.words)


def put_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], args: Namespace, words: Sequence[str] = ()) -> None:
    """Rows for programs: tsv, csv, json or parquet; `words` names the columns that hold text."""
    if args.format == "parquet":
        _put_parquet(frame_of_rows(columns, rows, words), args.output)
    elif args.format == "json":
        put(records([dict(zip(columns, row, strict=True)) for row in rows]), args.output)
    else:
        if args.format == "csv":
            put(delimited(columns, guarded(columns, rows, words), ","), args.output)
        else:
            put(delimited(columns, rows, "\t"), args.output)


def with_provenance(text: str, result: Result, format: str, output: Path | None) -> str:
    """The text of a file, with what it was made with in a comment; on the screen nobody needs that."""
    provenance = None if output is None else result.provenance
    return text if provenance is None else text + provenance.comment(format)


def _put_parquet(frame: pl.DataFrame, output: Path, provenance: Provenance | None = None) -> None:
    """By way of memory: polars has errors of its own for files that cannot be written."""
    from io import BytesIO

    buffer = BytesIO()
    frame.write_parquet(buffer, metadata=None if provenance is None else {KEY: provenance.text()})
    with whole_file(output) as path:
        path.write_bytes(buffer.getvalue())


def put(text: str, output: Path | None) -> None:
    """To standard output, or to a file that appears whole or not at all."""
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        with whole_file(output) as path:
            path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")


def qrels_text(qrels: Qrels, output: Path | None) -> str:
    """Judgments in the format that the file's name asks for, TREC's where it asks for none."""
    from fathoms.data.convert import content
    from fathoms.data.formats import registry

    format = registry.by_ending(str(output), "qrels") if output is not None else None
    if format is None or format.name == "trec":
        return qrels.to_text()
    if format.compressed:
        raise FathomsError(f"{output}: judgments go there as text; `fathoms convert` makes {format.name} of it")
    return content(qrels, format.name).decode(errors="surrogateescape")


def save_chart(chart: Any, path: Path) -> None:
    """A picture in the form that the file's name asks for; HTML that needs no network."""
    with whole_file(path) as temporary:
        chart.save(temporary, **({"inline": True} if path.suffix == ".html" else {}))


def records(rows: list[dict[str, Any]]) -> str:
    return json_text(rows)


def json_text(value: Any) -> str:
    import json

    return json.dumps(value, indent=1) + "\n"


def guarded(columns: Sequence[str], rows: Iterable[Sequence[Any]], words: Sequence[str]) -> Iterator[list[Any]]:
    """Rows for a spreadsheet, which would take text that begins like a formula for one."""
    texts = {i for i, name in enumerate(columns) if name in words}
    for row in rows:
        yield [
            f"'{cell}" if i in texts and isinstance(cell, str) and cell.startswith(FORMULA) else cell
            for i, cell in enumerate(row)
        ]


def delimited(columns: Sequence[str], rows: Iterable[Sequence[Any]], separator: str) -> str:
    """Full precision: the shortest text that reads back as the same number; nothing where there is no value."""
    import csv
    import io

    buffer = io.StringIO()
    rows = list(rows)
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    text = buffer.getvalue()
    if "\r" in text:  # which the writer does not take for the end of a line, and readers do
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(columns)
        csv.writer(buffer, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
        text = buffer.getvalue()
    return text


def paper_forms(result: Evaluation | Comparison) -> dict[str, Callable[[], str]]:
    """What writes the table for a paper, by `--format`."""
    return {form: partial(result.table, form) for form in PAPER_FORMS}


# -- trec_eval ------------------------------------------------------------------------------------------------


def trec_eval(result: Evaluation) -> str:
    """trec_eval's names and layout: topic by topic, then `all`, which starts with the run's tag."""
    lines = []
    for run in result.runs:
        if result.by_topic:
            check_topics(run.topics)
            for i, topic in enumerate(run.topics):
                lines += [
                    _trec_line(measure, topic, float(run.scores[measure].score[i])) for measure in result.measures
                ]
        lines.append(f"{'runid':<22}\tall\t{run.tag or run.run}")
        for measure in result.measures:
            score = run.mean(measure)["score"]
            lines.append(_trec_line(measure, "all", 0.0 if score is None else score))
    return "\n".join(lines) + "\n"


def check_topics(topics: Sequence[str]) -> None:
    """Ids with a blank in them would make more columns of trec_eval's three."""
    broken = next((topic for topic in topics if any(character <= " " for character in topic)), None)
    if broken is not None:
        raise FathomsError(
            f"the topic {broken!r} has a blank in it, so trec_eval's layout cannot carry it; `fathoms eval --by-topic` "
            "with --format tsv, csv, json or parquet can"
        )


def _trec_line(measure: Measure, topic: str, score: float) -> str:
    value = f"{score:.0f}" if measure.aggregate == "sum" else f"{score:6.4f}"
    return f"{trec_eval_name(measure):<22}\t{topic}\t{value}"


def _topic_values(run: RunScores, measure: Measure, i: int) -> dict[str, float | None]:
    scores = run.scores[measure]
    columns = {name: getattr(scores, name) for name in Scores.COLUMNS}
    return {name: None if column is None else float(column[i]) for name, column in columns.items()}


# -- the table ------------------------------------------------------------------------------------------------

LIKELY = ("estimate", "likely_low", "likely_high", "combined_low", "combined_high")
TIES = ("tie_low", "tie_high", "tie_expected")
SHOWN = ("score", *ENDS, "low", "high", *LIKELY, *TIES)  # as the screen has them
# Which columns a narrow terminal shows, beside run, topic and score: the higher, the sooner they go.
LEVELS = {
    **dict.fromkeys(("low", "high"), 1),
    **dict.fromkeys(LIKELY[:3], 2),
    **dict.fromkeys((*ENDS, *LIKELY[3:]), 3),
    "bar": 8,
    **dict.fromkeys(TIES, 9),
}
Values = dict[str, float | None]


def score_blocks(
    result: Evaluation, likely: Mapping[tuple[str, str, str], Sequence[float | None]] | None
) -> list[Block]:
    """A table for each measure, best run first, the range drawn; `likely` has the estimate and its interval by run,
    topic and measure."""
    return [_score_block(result, measure, likely or {}) for measure in result.measures]


def _score_block(
    result: Evaluation, measure: Measure, likely: Mapping[tuple[str, str, str], Sequence[float | None]]
) -> Block:
    rows = _table_rows(result, measure)
    for run, topic, values in rows:
        values |= dict(zip(ENDS, result.interval(run, measure, topic), strict=True))
        values |= dict(zip(LIKELY, likely.get((run, topic, measure.name), (None,) * len(LIKELY)), strict=True))
    shown = [name for name in SHOWN if any(values[name] is not None for _, _, values in rows)]
    if measure.aggregate == "sum":
        shown = [name for name in ("score", *ENDS) if name in shown]
    text = {name: [_digits(values[name], measure) for _, _, values in rows] for name in shown}
    tied = [name for name in TIES if name in text]
    if all(text[name] == text["score"] for name in tied):  # nothing to see
        shown = [name for name in shown if name not in tied]
    columns = [Column(f"{measure.name}, {_over(result)}", [run for run, _, _ in rows], words=True)]
    if result.by_topic or result.groups is not None:
        what = "topic" if result.by_topic else "group"
        columns.append(Column(what, [topic for _, topic, _ in rows], words=True))
    columns += [Column(name, text[name], LEVELS.get(name, 0)) for name in shown]
    if any(values["high"] is not None for _, _, values in rows) and measure.aggregate != "sum":
        most = max([1.0, *(values["high"] or values["score"] or 0 for _, _, values in rows)])

        def draw(width: int) -> list[str]:
            return [f"0{f'{most:g}':>{width - 1}}", *(_bar(values, most, width) for _, _, values in rows)]

        columns.append(drawing(draw, LEVELS["bar"]))
    several = result.by_topic or result.groups is not None
    return Block(columns, noun="row" if several else "run")


def _over(result: Evaluation) -> str:
    counts = [len(run.topics) for run in result.runs]
    least, most = min(counts), max(counts)
    return pluralise(most, "topic") if least == most else f"{least:,} to {most:,} topics"


def _table_rows(result: Evaluation, measure: Measure) -> list[tuple[str, str, Values]]:
    rows = []
    for run in result.ranked(measure):
        if result.by_topic:
            rows += [(run.run, topic, _topic_values(run, measure, i)) for i, topic in enumerate(run.topics)]
        if result.groups is not None:
            means = run.group_means(measure, result.groups)
            rows += [(run.run, group, values) for group, values in means.items()]
        rows.append((run.run, "all", run.mean(measure)))
    return rows


def _digits(value: float | None, measure: Measure) -> str:
    return "" if value is None else f"{value:,.0f}" if measure.aggregate == "sum" else f"{value:.4f}"


def _bar(values: Values, greatest: float, width: int) -> str:
    """`···├──●────┤···`: where in 0..greatest the score and its range lie."""
    score, low, high = values["score"], values["low"], values["high"]
    if score is None or low is None or high is None:
        return ""
    at = [min(width - 1, int(value / greatest * width)) for value in (low, score, high)]
    cells = ["·"] * width
    cells[at[0] : at[2] + 1] = "─" * (at[2] + 1 - at[0])
    if at[0] < at[2]:
        cells[at[0]], cells[at[2]] = "├", "┤"
    cells[at[1]] = "●"
    return "".join(cells)
