"""Bytes in and bytes out: compressed files, standard input, and output files that appear whole or not at all."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends well, and vanishes when it does not."""
    target = Path(path)
    check_writable(target)
    if str(target) in STREAMS:
        with _streamed(STREAMS[str(target)]) as temporary:
            yield temporary
        return
    try:
        if _is_device(target):
            yield target
        else:
            with _replacing(Path(os.path.realpath(target))) as temporary:  # a link stays a link
                yield temporary
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", str(target)) from None


@contextmanager
def _streamed(name: str) -> Iterator[Path]:
    """Through a stream that is open already: opened by its name, the file it was redirected to would be emptied, and
    replaced, it would lose what others write there."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="fathoms.") as folder:
        temporary = Path(folder, name)
        yield temporary
        stream = getattr(sys, name)
        stream.flush()
        stream.buffer.write(temporary.read_bytes())
        stream.buffer.flush()


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    temporary = target.with_name(f".fathoms.{os.getpid()}.{threading.get_ident()}{target.suffix}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
