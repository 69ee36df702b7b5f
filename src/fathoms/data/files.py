"""Bytes in and bytes out: compressed files, standard input, and output files that appear whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fathoms.errors import InputError

PACKED_ENDINGS = (".gz", ".zst", ".bz2", ".xz")
# What files start with.
GZIP, ZSTD, BZIP2, XZ = PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\x00")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file, or of standard input for `-`, decompressed by what its first bytes say it is."""
    name = os.fspath(path)
    try:
        raw = _standard_input() if name == "-" else Path(name).read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", name) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", name) from None
    except (OSError, ValueError) as error:  # ValueError: no file's name holds a zero byte
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    return decompress(raw, name)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise InputError("is closed, so nothing can be read from it", "standard input")
    return sys.stdin.buffer.read()


def is_packed(raw: bytes) -> bool:
    """Do these first bytes say that a file is compressed?"""
    return raw.startswith(PACKED)


def decompress(raw: bytes, source: str) -> bytes:
    try:
        if raw.startswith(GZIP):
            import gzip

            return gzip.decompress(raw)
        if raw.startswith(ZSTD):
            import zstandard

            return _members(raw, lambda: zstandard.ZstdDecompressor().decompressobj())
        if raw.startswith(BZIP2):
            import bz2

            return _members(raw, bz2.BZ2Decompressor)
        if raw.startswith(XZ):
            import lzma

            return _members(raw, lzma.LZMADecompressor, padding=b"\0")
    except Exception as error:  # each codec has exceptions of its own; all mean the same to the user
        raise InputError(f"the compressed data is damaged or cut short ({error})", source) from None
    return raw


def _members(raw: bytes, decompressor: Callable[[], Any], padding: bytes = b"") -> bytes:
    """One compressed part after another: whatever else follows the first, the libraries' own functions leave out
    without a word where it is damaged, and zstd's where it is cut short."""
    parts = []
    while raw:
        part = decompressor()
        parts.append(part.decompress(raw))
        if not part.eof:
            raise EOFError("the data ends inside a compressed part")
        raw = part.unused_data.lstrip(padding) if padding else part.unused_data
    return b"".join(parts)


def opened(path: str) -> Any:
    """A file to read from its start, decompressed as far as it is read."""
    file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    magic = file.read(max(map(len, PACKED)))
    file.seek(0)
    if magic.startswith(GZIP):
        import gzip

        return gzip.open(file)
    if magic.startswith(ZSTD):
        import zstandard

        return zstandard.ZstdDecompressor().stream_reader(file, closefd=True)
    if magic.startswith(BZIP2):
        import bz2

        return bz2.open(file)
    if magic.startswith(XZ):
        import lzma

        return lzma.open(file)
    return file


def compress(raw: bytes, path: str) -> bytes:
    """What to write to a file of this name: compressed where its ending asks for it."""
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
    """Raise before the work, not after it, where its result could not be written."""
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
    """Nothing may be written in the place of what it is made of."""
    if os.path.isfile(target) and os.path.realpath(target) in map(os.path.realpath, sources):
        raise InputError("is one of the files to read; choose another name to write to", os.fspath(target))


def check_folder(target: str | os.PathLike[str]) -> None:
    """A folder to write to may be missing, but not be something else."""
    if os.path.exists(target) and not os.path.isdir(target):
        raise InputError("is a file, expected a folder to write to", os.fspath(target))


STREAMS = {"/dev/stdout": "stdout", "/dev/fd/1": "stdout", "/dev/stderr": "stderr", "/dev/fd/2": "stderr"}


def _is_device(path: Path) -> bool:
    """Something like /dev/null or a named pipe, which is written to and must never be replaced by a file."""
    return os.path.exists(path) and not os.path.isfile(path)


_unfinished: set[Path] = set()  # what is being written, and must not be there if the command ends early


def remove_unfinished() -> None:
    """For the end of a command that a signal has stopped: the exception may have come in the middle of a clean-up."""
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
    """What the block makes at a path stays there if the block ends well, and is removed if it does not."""
    _unfinished.add(path)
    try:
        yield
    except BaseException:
        _remove(path)
        _unfinished.discard(path)
        raise
    _unfinished.discard(path)


def _temporary_name() -> str:
    """Hidden, and one that nobody else has: what is found under it may be removed."""
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
def whole_folder(folder: Path) -> Iterator[Callable[[str, bytes], None]]:
    """A function that takes names and contents of files in a folder. All of them appear there when the block ends well;
    when it does not, none of them does, and a folder that was not there before is not there afterwards."""
    check_folder(folder)
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    staged = folder / _temporary_name()
    names: list[str] = []

    def put(name: str, content: bytes) -> None:
        names.append(name)
        with blamed_on(folder / name):
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_bytes(content)

    with _unless_it_fails(missing[-1] if missing else staged), _unless_it_fails(staged):
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
    """An error of the system in the block is one of this file."""
    try:
        yield
    except OSError as error:
        raise cannot_write(error, path) from None


@contextmanager
def _streamed(name: str) -> Iterator[Path]:
    """Through a stream that is open already: opened by its name, the file it was redirected to would be emptied, and
    replaced, it would lose what others write there."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="fathoms.") as folder:
        temporary = Path(folder, name)
        with blamed_on(temporary):
            yield temporary
        stream = getattr(sys, name)
        stream.flush()
        stream.buffer.write(temporary.read_bytes())
        stream.buffer.flush()
