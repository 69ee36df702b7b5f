"""Packed files of text: flipped, cut, in several members, with something behind them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Callable

import zstandard

from tests.fuzz import text
from tests.fuzz.case import Case, Failure, try_to_read

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda raw: gzip.compress(raw, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


def make(rng: random.Random) -> Case:
    ending = rng.choice(list(PACK))
    pack = PACK[ending]
    raw = text.ranking(rng, rng.random() < 0.1)
    if rng.random() < 0.3:  # members end anywhere, also inside a line
        cut = rng.randint(0, len(raw))
        packed = pack(raw[:cut]) + pack(raw[cut:])
    else:
        packed = pack(raw)
    match rng.choice(["as it is", "flip", "flip", "cut", "behind", "start", "twice"]):
        case "flip":
            packed = _flipped(rng, packed)
        case "cut":
            packed = packed[: rng.randint(0, len(packed))]
        case "behind":
            packed += rng.choice(
                [b"\0" * rng.randint(1, 9), b"\n", rng.randbytes(9), PACK[rng.choice([*PACK])](raw), raw]
            )
        case "start":
            packed = packed[: rng.randint(2, 12)] + rng.randbytes(rng.randint(0, 30))
        case "twice":
            packed = pack(packed)
    return Case({"qrels": text.judgments(rng, rough=False), "run": packed}, {"ending": ending})


def _flipped(rng: random.Random, raw: bytes) -> bytes:
    found = bytearray(raw)
    for _ in range(rng.choice([1, 1, 3])):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def check(case: Case) -> str:
    packed = case.files["run"]
    unpacked = naive_content(packed, case.facts["ending"])
    naive = None if unpacked is None else text.naive_run(unpacked)
    outcome = try_to_read(case, text.naive_judgments(case.files["qrels"]), naive)
    if outcome != "refused" and unpacked is None and _is_still(packed, case.facts["ending"]):
        raise Failure("was read, though it is damaged")
    return outcome


def _is_still(packed: bytes, ending: str) -> bool:
    """Whether the file begins as one of its kind, and so is taken for one."""
    starts = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\0", "zst": b"\x28\xb5\x2f\xfd"}
    return packed.startswith(starts[ending])


def naive_content(packed: bytes, ending: str) -> bytes | None:
    """By Python's own files, which read members one after another; None where they raise. Zstandard's pass over the end
    of a file that is cut short, so a frame has to say its size, as ours do."""
    try:
        if ending == "gz":
            return gzip.decompress(packed)
        if ending == "bz2":
            return bz2.open(io.BytesIO(packed)).read()
        if ending == "xz":
            return lzma.open(io.BytesIO(packed.rstrip(b"\0"))).read()  # any number of them may follow
        return _zstandard(packed)
    except Exception:  # each has its own
        return None


def _zstandard(packed: bytes) -> bytes | None:
    found = b""
    while packed:
        part = zstandard.ZstdDecompressor().decompressobj()
        found += part.decompress(packed)
        if not part.eof:
            return None
        packed = part.unused_data
    return found
