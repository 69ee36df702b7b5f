"""Bytes in and bytes out: compressed files, standard input, and output files that appear whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from fathoms.base import choices
from fathoms.base.choices import checked
from fathoms.base.errors import InputError

PACKED_ENDINGS = (".gz", ".zst", ".bz2", ".xz")
# What files start with.
GZIP, ZSTD, BZIP2, XZ = PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\x00")

# For a file that would fill the memory: text packs to a tenth or a twentieth, and a file that packs to less than a
# hundredth was nearly always made to do harm.
UNPACKED, UNPACKED_TIMES = 256 << 20, 100
MAX_UNPACKED = "FATHOMS_MAX_UNPACKED"  # in the environment, so that it reaches workers; --max-unpacked sets it
PIECE = 1 << 16  # bytes


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file, or of standard input for `-`, decompressed according to its first bytes."""
    name = os.fspath(path)
    if not name:
        raise InputError("expected the name of a file, found an empty one")
    try:
        raw = _standard_input() if name == "-" else Path(name).read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", name) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", name) from None
    except (OSError, ValueError) as error:  # ValueError: no file name can hold a zero byte
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    return decompress(raw, name)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise InputError("is closed, so nothing can be read from it", "standard input")
    return sys.stdin.buffer.read()


def is_packed(raw: bytes) -> bool:
    """Do these first bytes say that a file is compressed?"""
    return raw.startswith(PACKED)


class Codec(NamedTuple):
    """How one kind of compression is undone, some bytes at a time."""

    start: Callable[[], Any]  # the decompressor of one part; a file may have several, one after another
    feed: int  # bytes given to it at a time, few enough that the output fits into memory
    most: tuple[int, ...] = ()  # bytes to get back at a time, if it takes such a limit
    padding: bytes = b""  # what may stand between parts


def _codec(magic: bytes) -> Codec | None:
    if magic.startswith(GZIP):
        import zlib

        return Codec(lambda: zlib.decompressobj(16 + zlib.MAX_WBITS), 1 << 14, padding=b"\0")
    if magic.startswith(ZSTD):
        import zstandard

        # Four bytes may stand for 128 KiB.
        return Codec(lambda: zstandard.ZstdDecompressor().decompressobj(), 1 << 11)
    if magic.startswith(BZIP2):
        import bz2

        return Codec(bz2.BZ2Decompressor, PIECE, (PIECE,))
    if magic.startswith(XZ):
        import lzma

        return Codec(lzma.LZMADecompressor, PIECE, (PIECE,), padding=b"\0")
    return None


def most_unpacked(packed: int) -> int:
    """How many bytes a compressed file of a given size may unpack to."""
    given = os.environ.get(MAX_UNPACKED)
    return max(UNPACKED, UNPACKED_TIMES * packed) if given is None else checked(MAX_UNPACKED, choices.size, given)


def unpacks_to_too_much(packed: int, limit: int, source: str) -> InputError:
    return InputError(
        f"unpacks to more than {limit:,} bytes, from {packed:,}; if it is sound and there is memory for it, "
        f"--max-unpacked 8GB (or {MAX_UNPACKED}=8GB in the environment) raises the limit",
        source,
    )


def decompress(raw: bytes, source: str) -> bytes:
    """The same bytes, unpacked if they are compressed."""
    from io import BytesIO

    codec = _codec(raw)
    if codec is None:
        return raw
    content = BytesIO()  # which hands out its content without a copy
    for piece in _unpacked(BytesIO(raw), codec, len(raw), source):
        content.write(piece)
    return content.getvalue()


def _unpacked(file: BinaryIO, codec: Codec, packed: int, source: str) -> Iterator[bytes]:
    """The content in pieces; an error if it is damaged, cut short, or larger than allowed."""
    size, limit = 0, most_unpacked(packed)
    try:
        for piece in _parts(file, codec):
            size += len(piece)
            if size > limit:
                raise unpacks_to_too_much(packed, limit, source)
            yield piece
    except (InputError, MemoryError):
        raise
    except Exception as error:  # each codec has exceptions of its own; to the user all mean the same
        raise InputError(f"the compressed data is damaged or cut short ({error})", source) from None


def _parts(file: BinaryIO, codec: Codec) -> Iterator[bytes]:
    """One compressed part after another. The libraries' own functions silently drop whatever follows the first part if
    it is damaged, and zstd's if it is cut short."""
    data = file.read(codec.feed)
    while data:
        part = codec.start()
        while not part.eof:
            if not data:
                raise EOFError("the data ends inside a compressed part")
            yield part.decompress(data, *codec.most)
            while codec.most and not part.eof and not part.needs_input:
                yield part.decompress(b"", *codec.most)
            data = part.unused_data if part.eof else file.read(codec.feed)
        data = _after(codec.padding, data, file, codec.feed)


def _after(padding: bytes, data: bytes, file: BinaryIO, feed: int) -> bytes:
    """What follows the padding; nothing at the end of the file."""
    while not (data := data.lstrip(padding) if padding else data):
        data = file.read(feed)
        if not data:
            return b""
    return data


class Unpacked:
    """A compressed file, unpacked as far as it is read."""

    def __init__(self, file: BinaryIO, codec: Codec, source: str) -> None:
        self._file = file
        self._pieces = _unpacked(file, codec, os.fstat(file.fileno()).st_size, source)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """That many bytes; fewer only at the end."""
        parts, missing = [self._rest], size - len(self._rest)
        while missing > 0 and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            missing -= len(piece)
        content = b"".join(parts)
        self._rest = content[size:]
        return content[:size]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def opened(path: str, opener: Callable[[str, int], int] | None = None) -> BinaryIO | Unpacked:
    """A file to read from its start, decompressed as far as it is read; `opener` works like Python's `open`."""
    file = open(path, "rb", opener=opener)  # noqa: SIM115 - the caller closes it
    codec = _codec(file.read(max(map(len, PACKED))))
    file.seek(0)
    return file if codec is None else Unpacked(file, codec, path)


def compress(raw: bytes, path: str) -> bytes:
    """The bytes to write to a file of this name: compressed if its ending asks for it."""
    name = path.lower()
    if name.endswith(".gz"):
        import gzip

        return gzip.compress(raw, mtime=0)
    if name.endswith(".zst"):
        import zstandard

        return zstandard.compress(raw)
    if name.endswith(".bz2"):
        import bz2

        return bz2.compress(raw)
    if name.endswith(".xz"):
        import lzma

        return lzma.compress(raw)
    return raw


def check_writable(target: Path) -> None:
    """Raise before the work, not after it, if its result could not be written."""
    if str(target) == "-":  # standard input, where files are read
        raise InputError("expected the name of a file to write; standard output is /dev/stdout", "-")
    if os.path.isdir(target):
        raise InputError("is a folder, expected the name of a file to write", str(target))
    if str(target) in STREAMS or _is_device(target):
        return
    if not os.path.isdir(target.parent):
        raise InputError(f"cannot be written: there is no folder {target.parent}", str(target))
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"cannot be written: no permission to write in {target.parent}", str(target))


def check_not_read(target: str | os.PathLike[str], sources: Iterable[str]) -> None:
    """No output may overwrite its own input."""
    if os.path.isfile(target) and os.path.realpath(target) in map(os.path.realpath, sources):
        raise InputError("is one of the files to read; choose another name to write to", os.fspath(target))


def check_apart(targets: Iterable[str | os.PathLike[str]], sources: Iterable[str | os.PathLike[str]]) -> None:
    """No file may be written twice, nor overwrite one that is read, whatever names lead to it."""
    known = {_identity(source): "is one of the files to read" for source in sources}
    for target in targets:
        identity = _identity(target)
        if identity in known and not _is_device(Path(target)):
            raise InputError(f"{known[identity]}; choose another name to write to", os.fspath(target))
        known[identity] = "would be written twice"


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | str:
    """The same for all names of a file."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def check_folder(target: str | os.PathLike[str]) -> None:
    """A folder to write to may be missing, but must not be something else."""
    if os.path.exists(target) and not os.path.isdir(target):
        raise InputError("is a file, expected a folder to write to", os.fspath(target))


STREAMS = {"/dev/stdout": "stdout", "/dev/fd/1": "stdout", "/dev/stderr": "stderr", "/dev/fd/2": "stderr"}


def _is_device(path: Path) -> bool:
    """Something like /dev/null or a named pipe, which is written to and must never be replaced by a file."""
    return os.path.exists(path) and not os.path.isfile(path)


_unfinished: set[Path] = set()  # what is being written, and must be gone if the command ends early


def remove_unfinished() -> None:
    """For the end of a command stopped by a signal: the exception may have come in the middle of a clean-up."""
    while _unfinished:
        _remove(_unfinished.pop())


def _remove(path: Path) -> None:
    import shutil

    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):  # it was not made yet
            path.unlink()


@contextmanager
def _unless_it_fails(path: Path) -> Iterator[None]:
    """What the block makes at a path stays if the block ends well, and is removed if it does not."""
    _unfinished.add(path)
    try:
        yield
    except BaseException:
        _remove(path)
        _unfinished.discard(path)
        raise
    _unfinished.discard(path)


def _temporary_name() -> str:
    """Hidden, and used by nobody else: whatever is found under it may be removed."""
    return f".fathoms.{os.urandom(8).hex()}"


def cannot_write(error: OSError, path: str | os.PathLike[str]) -> InputError:
    """The system's reason, with the file's name as the user knows it."""
    return InputError(f"cannot be written: {error.strerror or error}", os.fspath(path))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends well, and vanishes when it does not."""
    target = Path(path)
    check_writable(target)
    if str(target) in STREAMS:
        with _streamed(STREAMS[str(target)]) as temporary:
            yield temporary
        return
    real = Path(os.path.realpath(target))  # a link stays a link
    temporary = target if _is_device(target) else real.with_name(_temporary_name() + target.suffix)
    try:
        if temporary is target:
            yield target
        else:
            with _unless_it_fails(temporary):
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                yield temporary
                temporary.replace(real)
    except OSError as error:
        another = error.filename is not None and not str(error.filename).startswith(str(temporary))
        raise cannot_write(error, error.filename if another else target) from None


@contextmanager
def _without_empty(folders: list[Path]) -> Iterator[None]:
    """Folders made for the block are removed if it fails, unless somebody else put something there."""
    try:
        yield
    except BaseException:
        for folder in folders:  # the innermost first
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def whole_folder(folder: Path) -> Iterator[Callable[[str, bytes], None]]:
    """A function that takes names and contents of files in a folder. All of them appear there when the block ends well,
    one after another; when it does not, none of them does, and folders that were not there before are gone afterwards,
    unless others put something in them."""
    check_folder(folder)
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    staged = folder / _temporary_name()
    names: list[str] = []

    def put(name: str, content: bytes) -> None:
        names.append(name)
        with blamed_on(folder / name):
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_bytes(content)

    ours = folder if folder in missing else staged
    with _without_empty(missing[1:]), _unless_it_fails(ours), _unless_it_fails(staged):
        with blamed_on(folder):
            staged.mkdir(parents=True)
        yield put
        for name in names:
            with blamed_on(folder / name):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (staged / name).replace(folder / name)
        _remove(staged)


@contextmanager
def blamed_on(path: Path) -> Iterator[None]:
    """An error of the system inside the block is reported as one about this file."""
    try:
        yield
    except OSError as error:
        raise cannot_write(error, path) from None


@contextmanager
def _streamed(name: str) -> Iterator[Path]:
    """Write through a stream that is open already: opened by its name, the file it was redirected to would be emptied,
    and replaced, it would lose what others write there."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="fathoms.") as folder:
        temporary = Path(folder, name)
        with blamed_on(temporary):
            yield temporary
        stream = getattr(sys, name)
        stream.flush()
        stream.buffer.write(temporary.read_bytes())
        stream.buffer.flush()
