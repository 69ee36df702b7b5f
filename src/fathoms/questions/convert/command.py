"""Write runs or judgments in another format. parquet is the fastest to read.

The format is that of OUT's ending, or --to; .gz, .zst, .bz2 and .xz after it compress. Several IN go to a folder. What
a format cannot carry is said; numbers are the same to the last bit.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathoms.base import choices
from fathoms.base.text import pluralise
from fathoms.cli import options
from fathoms.data.formats import registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.column_names import Kind
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

WHAT = {"run": "document", "qrels": "judgment"}  # that a file has
WHOSE = {"run": "runs", "qrels": "judgments"}
EXAMPLES = (
    ("a run that reads several times faster", "fathoms convert bm25.run.gz -o bm25.parquet"),
    ("MS MARCO's three columns to a TREC run", "fathoms convert dev.tsv -o dev.run"),
)
MORE = """more examples:
  fathoms convert runs/ -o fast/ --to parquet
  fathoms convert qrels.txt -o test.tsv         # BEIR's judgments
  fathoms convert predictions.json -o model.run --split test
  fathoms convert passages.run -o documents.run --roll-up max --chunk-separator '#'
  fathoms convert ratings.csv -o qrels.rre.json # Quepid's ratings to the Rated Ranking Evaluator
  fathoms convert judged.txt -o judged.sample_eval --sampled sample.tsv"""


def _formats() -> str:
    """The formats that can be written, with their endings, for the end of the help."""
    lines = []
    for format in registry.writable():
        kinds = registry.kinds_of_ending(format)
        only = f", of {WHOSE[kinds[0]]}" if len(kinds) == 1 else ""
        lines.append(f"  {format.name:<15}{' '.join(format.endings)}{only}\n")
    return "formats:\n" + "".join(lines)


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = f"{_formats()}\n{MORE}"
    parser.add_argument(
        "sources", metavar="IN", nargs="+", help="files, folders or quoted globs; - for stdin; irds:ID for judgments"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="file to write; a folder where it ends in / or IN are several",
    )
    parser.add_argument(
        "--to",
        choices=[format.name for format in registry.writable()],
        help="format, where OUT's ending does not say it",
    )
    parser.add_argument("--kind", choices=("run", "qrels"), help="what IN is, if its content does not say")
    parser.add_argument("--subset", metavar="NAME", help="of MTEB's predictions, where they have several")
    parser.add_argument("--split", metavar="NAME", help="of MTEB's predictions, where they have several")
    parser.add_argument(
        "--sampled",
        metavar="FILE",
        help="the sample that judgments are, as `pool --sample` wrote it, for --to sample-eval",
    )
    parser.add_argument(
        "--ties",
        choices=("trec", "run", "rank", "score-rank"),
        default="trec",
        help="order in which msmarco has documents of equal scores, and in which --roll-up first goes through chunks "
        "(trec); the other formats carry documents as they are",
    )
    options.add_choice(
        parser,
        "--roll-up",
        choices=choices.ROLL_UPS,
        help="chunks to documents, each once: max, ranked by the score of the best chunk; first, in the order in which "
        "their first chunks come; judgments get the greatest grade either way",
    )
    parser.add_argument(
        "--chunk-separator",
        metavar="TEXT",
        default="#",
        help="what separates document and chunk in an id (#); the last one in an id counts",
    )
    parser.add_argument("--lenient", action="store_true", help="skip bad lines and later duplicates, and say how many")
    options.add_talk(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output

    sources = _sources(args.sources)
    folder = _folder(args, sources)
    for source in sources:
        target, rows, notes = _convert(source, folder, args)
        if not args.quiet:
            output.warn(notes, args)
            print(f"fathoms: {target}: {rows}", file=sys.stderr)
    return 0


def _sources(patterns: list[str]) -> list[str]:
    """Files, and ids of datasets as they are."""
    from fathoms.data.runs import expand

    sources: list[str] = []
    for pattern in patterns:
        sources += [pattern] if registry.of_object(pattern) else expand([pattern])
    return list(dict.fromkeys(sources))


def _name(source: str) -> str:
    from fathoms.data.file_names import stem

    return "stdin" if source == "-" else stem(source)


def _folder(args: Namespace, sources: list[str]) -> Path | None:
    """The folder to write to, made where it is not there; None for a single file. What is wrong is said here, before
    anything is read."""
    from fathoms.base.errors import FathomsError, InputError
    from fathoms.base.files import PACKED_ENDINGS, check_folder, check_writable

    by_ending = registry.by_ending(args.output, "run") or registry.by_ending(args.output, "qrels")
    is_folder = args.output.endswith("/") or os.path.isdir(args.output)
    if len(sources) == 1 and not is_folder:
        if args.to is None and by_ending is None:
            known = ", ".join(registry.endings())
            raise FathomsError(f"{args.output}: its ending names no format; say --to, or end in one of {known}")
        format = by_ending if args.to is None else registry.by_name(args.to)
        if format is not None and format.compressed and args.output.lower().endswith(PACKED_ENDINGS):
            raise FathomsError(f"{args.output}: {format.name} is compressed in itself; leave the last ending out")
        check_writable(Path(args.output))
        return None
    if by_ending is not None and not is_folder:
        raise FathomsError(
            f"{args.output}: is the name of a file, expected a folder for {len(sources)} files; say {args.output}/ for "
            "a folder of that name"
        )
    if args.to is None:
        raise FathomsError(f"{args.output}: the name of a folder says no format; say --to, such as --to parquet")
    check_folder(args.output)
    seen: dict[str, str] = {}
    for source in sources:
        if (other := seen.setdefault(_name(source), source)) != source:
            raise FathomsError(f"{other} and {source} would both be {_name(source)}; convert them one by one")
    folder = Path(args.output)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder cannot be made: {error.strerror}", str(folder)) from None
    return folder


def _convert(source: str, folder: Path | None, args: Namespace) -> tuple[Path, str, list[str]]:
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_not_read, compress, whole_file
    from fathoms.data import convert
    from fathoms.data.runs import RunFile
    from fathoms.evidence.chunks import roll_up

    kind = _kind(source, args)
    format = registry.by_ending(args.output, kind) if args.to is None else registry.by_name(args.to)
    if format is None:
        raise FathomsError(f"{args.output}: its ending names no format of {WHOSE[kind]}; say --to")
    target = Path(args.output) if folder is None else folder / (_name(source) + format.ending(kind))
    check_not_read(target, [source])
    plain = (
        not args.lenient
        and args.roll_up is None
        and args.subset is None
        and args.split is None
        and os.path.isfile(source)
    )
    with whole_file(target) as path:
        packed = None
        if plain and kind == "run":
            packed = convert.pack_in_parts(RunFile(source, _name(source), lenient=False), format.name, path)
        if packed is None:
            data, ties = _read(source, kind, args), args.ties
            if args.roll_up is not None:
                data, ties = roll_up(data, args.roll_up, separator=args.chunk_separator, ties=ties), "rank"
            if args.sampled is not None:
                raw = _sample(data, format.name, args.sampled)
            else:
                raw = convert.content(data, format.name, _order(data, ties) if format.in_order else None)
            path.write_bytes(compress(raw, os.fspath(target)))
            packed = len(data), len(data.topics), [*data.notes, *convert.losses(data, format.name)]
    rows, topics, notes = packed
    return target, f"{pluralise(rows, WHAT[kind])} of {pluralise(topics, 'topic')} as {format.name}", notes


def _sample(data: Run | Qrels, to: str, design: str) -> bytes:
    from fathoms.base.errors import FathomsError
    from fathoms.data.qrels import Qrels
    from fathoms.estimate.design import read_design, sample_eval_lines

    if to != "sample-eval" or not isinstance(data, Qrels):
        raise FathomsError("--sampled is for judgments --to sample-eval; no other format has the strata of a sample")
    return sample_eval_lines(read_design(design), data)


def _order(data: Run | Qrels, ties: Literal["trec", "run", "rank", "score-rank"]) -> NDArray[np.int64] | None:
    """The rows by topic and in the policy's order; judgments have none."""
    import numpy as np

    from fathoms.data.runs import Run
    from fathoms.evidence.order import default_precision, order_rows

    if not isinstance(data, Run):
        return None
    rows, _ = order_rows(data, np.arange(len(data)), data.topic, ties, default_precision(ties))
    return rows


def _kind(source: str, args: Namespace) -> Kind:
    from fathoms.base.errors import FathomsError
    from fathoms.data.sniff import kind_of

    if args.subset is not None or args.split is not None:
        return "run"
    kind: Kind | None = args.kind
    if kind is None:
        named = registry.of_object(source)
        possible = named.reads if named else registry.by_name(args.to).writes if args.to else ()
        kind = possible[0] if len(possible) == 1 else None
    if kind is None and source == "-":
        raise FathomsError("standard input can be read once only; say --kind run or --kind qrels")
    if kind is None:
        kind = kind_of(source)
    if kind is None:
        raise FathomsError(f"{source}: could be a run or judgments; say --kind run or --kind qrels")
    return kind


def _read(source: str, kind: Kind, args: Namespace) -> Run | Qrels:
    from fathoms.data.mteb import read_mteb
    from fathoms.data.qrels import read_qrels
    from fathoms.data.runs import read_run

    if args.subset is not None or args.split is not None:
        return read_mteb(source, subset=args.subset, split=args.split)
    if kind == "qrels":
        return read_qrels(source, lenient=args.lenient)
    return read_run(source, lenient=args.lenient)
