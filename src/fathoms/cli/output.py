"""How results leave: tables for people, TSV and friends for programs, trec_eval's layout, LaTeX."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.data.arrays import frame_of_rows
from fathoms.data.files import check_writable, whole_file
from fathoms.data.qrels import Qrels
from fathoms.errors import FathomsError
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.evaluate import COLUMNS, Evaluation, RunScores
from fathoms.experiment.result import Result
from fathoms.measures.base import Measure
from fathoms.measures.parse import trec_eval_name
from fathoms.text import pluralise

SHOWN = {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}  # what ids may hold, in tables for people
BAR = 24  # characters in which a range is drawn


def check_target(format: str, output: Path | None) -> None:
    """Find out before the work, not after it, that its result could not be written."""
    if format == "parquet" and output is None:
        raise FathomsError("parquet is not for the screen; name a file with -o")
    if output is not None:
        check_writable(output)


def warn(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"fathoms: warning: {note}", file=sys.stderr)


def say_notes(experiment: BaseExperiment, result: Result, args: Namespace) -> None:
    """What a careful reader should know of the files and of the numbers."""
    if not args.quiet:
        warn(dict.fromkeys([*result.notes, *experiment.notes]))


def say_sentences(result: Result, args: Namespace) -> None:
    if not args.quiet:
        for sentence in result.sentences:
            print(f"fathoms: {sentence}", file=sys.stderr)


@contextmanager
def progress(total: int, quiet: bool, what: str = "runs") -> Iterator[Callable[[str], None]]:
    """A bar on a terminal where there is something to wait for; nothing elsewhere."""
    if quiet or total < 5 or not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # Drawn when something is done, for a thread that draws would keep the work from being shared with forks.
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(what, total=total)
        yield lambda name: bar.update(task, advance=1, refresh=True)


def write(result: Evaluation, args: Namespace) -> None:
    """Scores in the form asked for."""
    if args.format == "trec_eval":
        put(trec_eval(result), args.output)
    elif args.format == "latex":
        put(latex(result), args.output)
    elif args.format == "table":
        put(table(result, wide=args.output is not None, quiet=args.quiet), args.output)
    else:
        put_result(result, args)


def put_result(result: Result, args: Namespace) -> None:
    """A result for programs: tsv, csv, json or parquet."""
    if args.format == "parquet":
        with whole_file(args.output) as path:
            result.frame.write_parquet(path)
    else:
        put_rows(result.columns, list(result.rows()), args, result.words)


def put_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], args: Namespace, words: Sequence[str] = ()) -> None:
    """Rows for programs: tsv, csv, json or parquet; `words` names the columns that hold text."""
    if args.format == "parquet":
        with whole_file(args.output) as path:
            frame_of_rows(columns, rows, words).write_parquet(path)
    elif args.format == "json":
        put(records([dict(zip(columns, row, strict=True)) for row in rows]), args.output)
    else:
        put(delimited(columns, rows, "," if args.format == "csv" else "\t"), args.output)


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


def aligned_text(header: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int) -> str:
    """Columns of text side by side, the first ones flush left and the numbers flush right."""
    rows = [[cell.translate(SHOWN) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i < numbers_from else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    return "\n".join(map(line, (header, *rows))) + "\n"


def records(rows: list[dict[str, Any]]) -> str:
    import json

    return json.dumps(rows, indent=1) + "\n"


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


# -- LaTeX ----------------------------------------------------------------------------------------------------


def latex(result: Evaluation) -> str:
    """A booktabs table, runs by rows; `0.3170 +0.0060` is a score and how much higher it could be."""
    measures = result.measures
    lines = [r"\begin{tabular}{l" + "r" * len(measures) + "}", r"\toprule"]
    lines.append(" & ".join(["Run", *(latex_escape(measure.name) for measure in measures)]) + r" \\")
    lines.append(r"\midrule")
    for run in result.runs:
        if result.by_topic:
            for i, topic in enumerate(run.topics):
                cells = [_latex_cell(measure, _topic_values(run, measure, i)) for measure in measures]
                lines.append(" & ".join([latex_escape(f"{run.run}, topic {topic}"), *cells]) + r" \\")
        by_measure = {} if result.groups is None else {m: run.group_means(m, result.groups) for m in measures}
        for group in by_measure.get(measures[0], ()):
            of_group = [_latex_cell(m, by_measure[m][group]) for m in measures]
            lines.append(" & ".join([latex_escape(f"{run.run}, {group}"), *of_group]) + r" \\")
        cells = [_latex_cell(measure, run.mean(measure)) for measure in measures]
        lines.append(" & ".join([latex_escape(run.run), *cells]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _latex_cell(measure: Measure, values: dict[str, float | None]) -> str:
    score, low, high = values["score"], values["low"], values["high"]
    if score is None:
        return "--"
    if measure.aggregate == "sum":
        return f"{score:.0f}"
    if low is None or high is None:
        return f"{score:.4f}"
    below = f" $-${score - low:.4f}" if score - low >= 0.00005 else ""
    return f"{score:.4f} +{max(high - score, 0):.4f}{below}"


def latex_escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def _topic_values(run: RunScores, measure: Measure, i: int) -> dict[str, float | None]:
    scores = run.scores[measure]
    columns = {name: getattr(scores, name) for name in COLUMNS[3:]}
    return {name: None if column is None else float(column[i]) for name, column in columns.items()}


# -- the table ------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A title and a table under it; text columns come first, and a drawing may be the last one."""

    title: str
    header: list[str]
    rows: list[list[str]]
    words: int  # text columns
    drawn: bool


def table(result: Evaluation, *, wide: bool, quiet: bool) -> str:
    """One block a measure, best run first, the range drawn; under it what else a reader should know."""
    blocks = [_block(result, measure) for measure in result.measures]
    return blocks_text(blocks, [], [] if quiet else result.sentences, wide=wide)


def blocks_text(blocks: list[Block], above: Sequence[str], sentences: Sequence[str], *, wide: bool) -> str:
    """Tables between the sentences above them and those below."""
    on_terminal = sys.stdout.isatty() and not wide
    texts = [*above, *sentences, *(cell for block in blocks for row in block.rows for cell in row[: block.words])]
    # Terminals have a width and fat letters, and other letters than these may be wider or none; rich knows of all that.
    if on_terminal or not all(text.isascii() and text.isprintable() for text in texts):
        return _by_rich(blocks, above, sentences, on_terminal)
    head = "".join(f"{sentence}\n" for sentence in above) + ("\n" if above else "")
    return head + "\n".join([*map(_plain, blocks), ""]) + "".join(f"{sentence}\n" for sentence in sentences)


def _block(result: Evaluation, measure: Measure) -> Block:
    rows = _table_rows(result, measure)
    words = ["run", "topic"] if result.by_topic else ["run"] if result.groups is None else ["run", "group"]
    if measure.aggregate == "sum":
        names, has_range, greatest = ["score"], any(values["high"] is not None for _, _, values in rows), 0.0
    else:
        names = [name for name in COLUMNS[3:] if any(values[name] is not None for _, _, values in rows)]
        has_range = "high" in names
        greatest = max([1.0] + [values["high"] or values["score"] or 0 for _, _, values in rows])
    header = [*words, *names, *([f"0{'':{BAR - 2}}{greatest:g}"] if has_range else [])]
    cells = [
        [
            *(run, topic)[: len(words)],
            *(_digits(values[name], measure) for name in names),
            *([_bar(values, greatest)] if has_range else []),
        ]
        for run, topic, values in rows
    ]
    return Block(f"{measure.name}, {_over(measure, result)}", header, cells, len(words), has_range)


def _plain(block: Block) -> str:
    lines = [block.header, *block.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    last = len(widths) - block.drawn

    def line(cells: list[str]) -> str:
        return "  ".join(
            cell.rjust(width) if block.words <= i < last else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )

    return "".join(f"{text}\n" for text in (block.title, *map(line, lines)))


def _by_rich(blocks: list[Block], above: Sequence[str], sentences: Sequence[str], on_terminal: bool) -> str:
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    buffer = io.StringIO()
    # Names are data, so nothing in them is markup; and what goes to a file is never cut to fit.
    console = Console(
        file=buffer,
        force_terminal=on_terminal,
        width=None if on_terminal else 10_000,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for sentence in above:
        console.print(sentence, soft_wrap=True)
    if above:
        console.print()
    for block in blocks:
        console.print(block.title, style="bold")
        grid = Table(box=None, pad_edge=False)
        for i, name in enumerate(block.header):
            if i < block.words:
                grid.add_column(name, overflow="fold")
            else:
                drawn = block.drawn and i == len(block.header) - 1
                grid.add_column(name, justify="left" if drawn else "right", no_wrap=True)
        for row in block.rows:
            grid.add_row(*(Text(cell) if i >= block.words else cell for i, cell in enumerate(row)))
        console.print(grid)
        console.print()
    for sentence in sentences:
        console.print(sentence, soft_wrap=True)
    return buffer.getvalue()


def _over(measure: Measure, result: Evaluation) -> str:
    counts = [len(run.topics) for run in result.runs]
    least, most = min(counts), max(counts)
    topics = pluralise(most, "topic") if least == most else f"{least:,} to {most:,} topics"
    how = {"mean": "mean over", "sum": "sum over", "geometric": "geometric mean over"}[measure.aggregate]
    return f"{how} {topics}"


def _table_rows(result: Evaluation, measure: Measure) -> list[tuple[str, str, dict[str, float | None]]]:
    rows = []
    for run in sorted(result.runs, key=lambda run: -(run.mean(measure)["score"] or 0.0)):
        if result.by_topic:
            rows += [(run.run, topic, _topic_values(run, measure, i)) for i, topic in enumerate(run.topics)]
        if result.groups is not None:
            means = run.group_means(measure, result.groups)
            rows += [(run.run, group, values) for group, values in means.items()]
        rows.append((run.run, "all", run.mean(measure)))
    return rows


def _digits(value: float | None, measure: Measure) -> str:
    return "" if value is None else f"{value:,.0f}" if measure.aggregate == "sum" else f"{value:.4f}"


def _bar(values: dict[str, float | None], greatest: float) -> str:
    """`···├──●────┤···`: where in 0..greatest the score and its range lie."""
    score, low, high = values["score"], values["low"], values["high"]
    if score is None or low is None or high is None:
        return ""
    at = [min(BAR - 1, int(value / greatest * BAR)) for value in (low, score, high)]
    cells = ["·"] * BAR
    cells[at[0] : at[2] + 1] = "─" * (at[2] + 1 - at[0])
    if at[0] < at[2]:
        cells[at[0]], cells[at[2]] = "├", "┤"
    cells[at[1]] = "●"
    return "".join(cells)
