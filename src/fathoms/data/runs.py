"""Runs: what each system retrieved for each topic, with scores and ranks as its team wrote them."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import identity_of
from fathoms.base.choices import Names
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import PACKED_ENDINGS, is_packed
from fathoms.base.text import pluralise
from fathoms.data import keys
from fathoms.data.export import Exported
from fathoms.data.file_names import stem
from fathoms.data.formats import registry
from fathoms.data.formats.base import HEAD, Content, Match
from fathoms.data.lines import RUN, Table, Text
from fathoms.data.load import load
from fathoms.data.topics import topics_of

BYTES_A_LINE = 100  # that a line of a run takes in memory once it is read and ranked
PLAIN_LINE, PACKED_LINE = 40, 8  # bytes that a line takes on disk, in plain text and compressed


@dataclass(frozen=True, eq=False)
class Run(Exported):
    """One system's documents in the order of their file; which order counts is decided by a tie policy."""

    kind: ClassVar[Literal["run"]] = "run"

    name: str
    topics: list[str]
    topic: NDArray[np.int32]
    documents: Text
    keys: keys.Keys
    scores: NDArray[np.float64]
    ranks: NDArray[np.float64] | None  # nan where the column holds no number; None where there is no such column
    source: str
    tag: str = ""
    notes: list[str] = field(default_factory=list)
    path: str | None = None  # of the file it was read from
    no_rank: str = ""  # the first line (or row) whose rank is not a number

    def to_bytes(self) -> bytes:
        """As a run file, in the order of the rows; the rank column needs to be there."""
        if self.ranks is None:
            raise ValueError("a run without ranks has no file form")
        from fathoms.data.formats.text import check_ids
        from fathoms.data.formats.trec import run_lines

        check_ids(self, "TREC's text")
        return run_lines(self, whole_scores=True)

    def __len__(self) -> int:
        return len(self.topic)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {len(self.topics)} topics, {len(self):,} documents>"

    def identity(self) -> tuple[Any, ...]:
        return (identity_of(self.topics, self.topic, self.documents, self.scores, self.ranks),)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the head of the run's file says about it in ir_metadata's form; empty if it says nothing."""
        from fathoms.data import metadata

        return metadata.parse(metadata.header(self.path), self.source)


@dataclass(frozen=True)
class RunFile:
    """A run that is read when asked for, whole or in parts."""

    path: str
    name: str
    lenient: bool

    def __call__(self) -> Run:
        return read_run(self.path, name=self.name, lenient=self.lenient)

    @property
    def is_stream(self) -> bool:
        return not os.path.isfile(self.path)

    def identity(self) -> tuple[Any, ...]:
        stat = os.stat(self.path)
        return self.path, self.lenient, stat.st_size, stat.st_mtime_ns

    @cached_property
    def parts(self) -> list[Callable[[], Run]]:
        """Readers of parts that hold whole topics, if topics stand together in the file and all its lines are good.

        A part gives an InputError where the whole might be read, and knows no line numbers.
        """
        if self.is_stream:
            return [self]
        try:
            size = os.path.getsize(self.path)
            if size <= registry.smallest_part():
                return [self]
            with open(self.path, "rb") as file:
                content = Content(file.read(HEAD), self.path)
            if is_packed(content.raw) or content.line is None:
                return [self]
            format, match = registry.recognise(content, ["run"])
            splits = match > Match.POSSIBLE and format.part_bytes is not None and size > format.part_bytes
            places = format.split(self.path, content) if splits else []
        except OSError:  # reading it will say what is wrong
            return [self]
        return [partial(_read_part, self.path, self.name, format.name, place) for place in places] or [self]


class Runs(Mapping[str, Run]):
    """Runs by name. Those that were only scanned are read when asked for, and not kept."""

    def __init__(
        self, runs: Mapping[str, Run | RunFile], change: Callable[[Run], Run] | None = None, mark: str = ""
    ) -> None:
        self._runs = dict(runs)
        self._change, self._mark = change, mark

    def __getitem__(self, name: str) -> Run:
        run = self._runs[name]
        if isinstance(run, Run):
            return self._changed(run)
        read = run()
        if run.is_stream:
            self._runs[name] = read
        return self._changed(read)

    def _changed(self, run: Run) -> Run:
        return run if self._change is None else self._change(run)

    def changed(self, change: Callable[[Run], Run], mark: str) -> Runs:
        """The same runs, each changed when it is read; `change` must not look beyond a topic, and `mark` names it."""
        return Runs(self._runs, change, mark)

    def __contains__(self, name: object) -> bool:
        return name in self._runs  # without reading the run

    def only(self, names: Iterable[str]) -> Runs:
        """Some of them."""
        return Runs({name: self._runs[name] for name in names}, self._change, self._mark)

    def read_streams(self) -> None:
        """Read what can be read only once, standard input and pipes, before anybody else tries."""
        for name, run in list(self._runs.items()):
            if isinstance(run, RunFile) and run.is_stream:
                self._runs[name] = run()

    def read(self, name: str, *, lenient: bool) -> Run:
        """The run, with errors of its file skipped or not."""
        run = self._runs[name]
        return self._changed(run if isinstance(run, Run) else replace(run, lenient=lenient)())

    def file_of(self, name: str) -> str:
        """Where the run comes from: its file, or what it was called."""
        run = self._runs[name]
        return run.source if isinstance(run, Run) else run.path

    def parts(self, name: str) -> list[Callable[[], Run]]:
        """What gives the run in parts that may be scored on their own, as `RunFile.parts` says; often a single one."""
        run = self._runs[name]
        if isinstance(run, Run):
            return [lambda: self._changed(run)]
        return run.parts if self._change is None else [partial(_read_changed, part, self._change) for part in run.parts]

    @property
    def bytes_on_disk(self) -> int:
        """The size of all files that are there, 0 where a run is in memory."""
        files = [run.path for run in self._runs.values() if isinstance(run, RunFile)]
        return sum(map(os.path.getsize, filter(os.path.exists, files))) if len(files) == len(self._runs) else 0

    def bytes_in_memory(self, name: str) -> int:
        """About how much memory the run takes once it is read and ranked."""
        run = self._runs[name]
        if isinstance(run, Run):
            return len(run) * BYTES_A_LINE
        if run.is_stream:
            return 0
        packed = run.path.lower().endswith((*PACKED_ENDINGS, ".parquet"))
        return os.path.getsize(run.path) // (PACKED_LINE if packed else PLAIN_LINE) * BYTES_A_LINE

    def identity(self, name: str) -> tuple[Any, ...]:
        """What tells the run from others: path, size and time of its file, or a hash of what is in memory."""
        identity = self._runs[name].identity()
        return identity if self._change is None else (*identity, self._mark)

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f"<Runs: {', '.join(self)}>"


def _read_changed(read: Callable[[], Run], change: Callable[[Run], Run]) -> Run:
    return change(read())


def read_run(source: Any, *, name: str | None = None, lenient: bool = False) -> Run:
    """One run from a file, a frame, a dict {topic: {document: score}}, ir_measures tuples or a ranx run."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return replace(_run_of(load(path, RUN, lenient=lenient), name or _file_name(path), lenient), path=path)
    if name is None and _is_ranx(source):
        name = source.name
    return _run_of(load(source, RUN, lenient=lenient, name=name), name or "run", lenient)


def _is_ranx(data: Any) -> bool:
    from fathoms.data.formats.ranx import RANX

    return RANX.recognise(data)


def _read_part(path: str, name: str, format: str, place: tuple[Any, ...]) -> Run:
    return _run_of(registry.by_name(format).read_part(path, place, RUN), name, lenient=False)


def _run_of(table: Table, name: str, lenient: bool) -> Run:
    topics, topic = topics_of(table)
    documents, scores, ranks = table.document, table.number, table.rank
    document_keys = keys.document_keys(documents)
    notes = list(table.skipped)
    without = np.empty(0, dtype=np.int64) if ranks is None else np.flatnonzero(np.isnan(ranks))
    first = keys.first_rows(table, document_keys, topic)
    if first.size:
        kept = first == np.arange(len(first))
        row = int((~kept).argmax())
        count = int((~kept).sum())
        message = (
            f"topic {topics[topic[row]]}: document {documents[row].decode(errors='replace')} occurs twice "
            f"(first in {table.place(int(first[row]))})"
        )
        if not lenient:
            others = f", and so do {pluralise(count - 1, 'more document')}" if count > 1 else ""
            raise table.error(row, f"{message}{others}; --lenient keeps the first")
        notes.append(
            f"{table.source}: skipped {pluralise(count, 'document')} that the topic had already, kept the first "
            f"({table.place(row)}: {message})"
        )
        without = without[kept[without]]
        topic, documents, document_keys = topic[kept], documents[kept], document_keys[kept]
        scores, ranks = scores[kept], None if ranks is None else ranks[kept]
    return Run(
        name=name,
        topics=topics,
        topic=topic,
        documents=documents,
        keys=document_keys,
        scores=scores,
        ranks=ranks,
        source=table.source,
        tag=table.tag,
        notes=notes,
        no_rank=table.place(int(without[0])) if without.size else "",
    )


def read_runs(source: Any, *, names: Names = "file", lenient: bool = False) -> Runs:
    """Runs from files, folders, globs, frames or dicts, all in memory."""
    runs = scan_runs(source, names=names, lenient=lenient)
    return Runs({name: runs[name] for name in runs})


def scan_runs(source: Any, *, names: Names = "file", lenient: bool = False) -> Runs:
    """Like `read_runs`, but each file is read when its run is asked for."""
    if isinstance(source, Runs):
        return source
    if isinstance(source, Run):
        return Runs({source.name: source})
    if isinstance(source, str | os.PathLike):
        return _scan_files([os.fspath(source)], names, lenient)
    if isinstance(source, Mapping) and source and all(_is_run_like(value) for value in source.values()):
        return Runs(
            {
                name: replace(value, name=name)
                if isinstance(value, Run)
                else read_run(value, name=name, lenient=lenient)
                for name, value in zip(_names(source), source.values(), strict=True)
            }
        )
    if hasattr(source, "collect"):  # a lazy frame
        source = source.collect()
    if hasattr(source, "columns") and "run" in source.columns:
        from fathoms.data.columns import frame_of

        parts = frame_of(source, "runs").partition_by("run", as_dict=True, maintain_order=True, include_key=False)
        names_of_parts = _names([name for (name,) in parts])
        return Runs(
            {
                name: read_run(part, name=name, lenient=lenient)
                for name, part in zip(names_of_parts, parts.values(), strict=True)
            }
        )
    if isinstance(source, Sequence) and source:
        if all(isinstance(item, str | os.PathLike) for item in source):
            return _scan_files([os.fspath(item) for item in source], names, lenient)
        if all(map(_is_ranx, source)):
            source = [read_run(item, lenient=lenient) for item in source]
        if all(isinstance(item, Run) for item in source):
            for name in _repeated([run.name for run in source]):
                raise FathomsError(f"two of the runs have the same name {name!r}")
            return Runs({run.name: run for run in source})
    run = read_run(source, lenient=lenient)
    return Runs({run.name: run})


def _names(names: Iterable[Any]) -> list[str]:
    """Names of runs as text; bytes are read as UTF-8, and two that are then the same are an error."""
    texts = [name.decode(errors="surrogateescape") if isinstance(name, bytes) else str(name) for name in names]
    for name in _repeated(texts):
        raise FathomsError(f"two of the runs have the same name {name!r}")
    return texts


def _is_run_like(value: Any) -> bool:
    """Whether a value in a dict is a run, and not the ranking of one topic."""
    if isinstance(value, Mapping):
        return any(isinstance(inner, Mapping | list | tuple | np.ndarray) for inner in value.values())
    if isinstance(value, list | tuple):  # rows; a ranked list has ids
        return bool(value) and isinstance(value[0], Mapping | list | tuple)
    if isinstance(value, np.ndarray):
        return bool(value.dtype.names)
    return isinstance(value, Run | str | os.PathLike) or hasattr(type(value), "columns") or _is_ranx(value)


def expand(patterns: Sequence[str]) -> list[str]:
    """File names from file names, folders (their files) and globs, in a stable order, each once."""
    paths: list[str] = []
    for pattern in patterns:
        if not pattern:
            raise InputError("expected the name of a file, found an empty one")
        is_folder = os.path.isdir(pattern)
        if pattern == "-" or (os.path.exists(pattern) and not is_folder):
            paths.append(pattern)
        elif is_folder:
            inside = sorted(
                str(path) for path in Path(pattern).iterdir() if path.is_file() and not path.name.startswith(".")
            )
            if not inside:
                raise InputError("the folder holds no files; expected run files in it", pattern)
            paths += inside
        else:
            import glob

            matching = sorted(path for path in _matching(pattern) if Path(path).is_file())
            if not matching:
                kind = "no file matches this pattern" if glob.has_magic(pattern) else "no such file or folder"
                raise InputError(kind, pattern)
            paths += matching
    return list(dict.fromkeys(paths))


def _matching(pattern: str) -> Iterator[str]:
    """What a pattern stands for. `**` enters each folder once, whatever links lead there: Python's own follows links to
    parent folders as long as the system lets it."""
    import glob

    parts = pattern.split(os.sep)
    if "**" not in parts:
        yield from glob.iglob(pattern)
        return
    place = parts.index("**")
    above, below = os.sep.join([*parts[:place], ""]), os.path.join(*parts[place + 1 :] or ["*"]) or "*"
    for start in glob.glob(above) if above else [""]:
        for folder in _folders(start):
            yield from _matching(glob.escape(folder) + below)


def _folders(start: str) -> Iterator[str]:
    """A folder and those in it, without hidden ones, each once; their names end in a slash where they have one."""
    seen, waiting = set(), deque([start])
    while waiting:
        folder = waiting.popleft()
        try:
            stat = os.stat(folder or os.curdir)
            inside = sorted(os.scandir(folder or os.curdir), key=lambda entry: (entry.is_symlink(), entry.name))
        except OSError:  # may not be read, or is gone
            continue
        if (stat.st_dev, stat.st_ino) in seen:
            continue
        seen.add((stat.st_dev, stat.st_ino))
        yield folder
        waiting.extend(f"{folder}{child.name}{os.sep}" for child in inside if child.is_dir() and child.name[0] != ".")


def _scan_files(patterns: Sequence[str], names: Names, lenient: bool) -> Runs:
    paths = expand(patterns)
    if names == "tag":
        chosen = [_tag(path, lenient) for path in paths]
        for name in _repeated(chosen):
            both = [path for path, tag in zip(paths, chosen, strict=True) if tag == name]
            raise FathomsError(f"{' and '.join(both[:2])} have the same tag {name!r}; use --names file")
    else:
        chosen = _file_names(paths)
    runs: dict[str, Run | RunFile] = {}
    for name, path in zip(chosen, paths, strict=True):
        runs[name] = RunFile(path, name, lenient)
    return Runs(runs)


def _file_name(path: str) -> str:
    return "stdin" if path == "-" else stem(path)


def _file_names(paths: Sequence[str]) -> list[str]:
    """Names as short as they can be: the stem, with the folder in front where two would collide."""
    names = [_file_name(path) for path in paths]
    for longer in (lambda path, name: f"{Path(path).resolve().parent.name}/{name}", lambda path, name: path):
        twice = _repeated(names)
        names = [longer(path, name) if name in twice else name for path, name in zip(paths, names, strict=True)]
    return names


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def _tag(path: str, lenient: bool) -> str:
    if not os.path.isfile(path):
        raise FathomsError("--names tag cannot be used with standard input or a pipe, which can be read once only")
    tag = load(path, RUN, lenient=lenient).tag
    if not tag:
        raise InputError("has no run tag; use --names file", path)
    return tag
