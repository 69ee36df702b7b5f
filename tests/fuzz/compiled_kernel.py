"""Fuzz the compiled kernel against numpy, under AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m tests.fuzz.compiled_kernel [--inputs 1000000] [--seed 0] [--plain]

The kernel is compiled with both sanitizers into a folder of its own, and this program is started again with it. Each
input is good text, a good dict or a good table, changed in some places; it is read by the kernel and by numpy, and both
have to give the same arrays or the same error. A read out of bounds, an overflow or a difference ends the program, and
the input that did it is printed. `--plain` takes the kernel that is installed, without sanitizers. Needs gcc.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.mutations import changed
from tests.support.paths import ROOT

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
FOLDER = "FATHOMS_FUZZED_KERNEL"  # names the folder of the compiled kernel to the program that is started again

LINES = {
    "run": b"%d Q0 d%d %d %s t\n",
    "qrels": b"%d 0 d%d %s\n",
}


def text(draw: random.Random, kind: str) -> bytes:
    lines = []
    for i in range(draw.randint(1, 12)):
        number = draw.choice([f"{draw.gauss(5, 3):.{draw.randint(0, 17)}f}", repr(draw.random()), str(i)]).encode()
        topic, document = draw.randint(1, 3), draw.choice([draw.randint(0, 9), draw.getrandbits(80)])
        parts = (topic, document, i, number) if kind == "run" else (topic, document, number)
        lines.append(LINES[kind] % parts)
    return changed(draw, b"".join(lines))


def odd_dict(draw: random.Random) -> Any:
    from collections import OrderedDict, defaultdict

    import numpy as np

    odd_ids: list[Any] = [
        "",
        "a\0",
        "\udcff",
        "ü" * draw.randint(1, 9),
        7,
        7.5,
        None,
        b"x",
        ("t",),
        "all",
        np.str_("n"),
        "x" * 99,
    ]
    odd_values: list[Any] = [
        True,
        None,
        "1",
        "x",
        float("nan"),
        float("inf"),
        10**400,
        -0.0,
        np.float32(0.1),
        np.int64(3),
        [1],
        {},
    ]
    odd_values += [np.float16(2), np.bool_(True), 2**63, 1e-320, {"d": 1.0}, np.array(1.0), 3, complex(1, 1)]

    def id_(kind: str) -> Any:
        return draw.choice(odd_ids) if draw.random() < 0.02 else f"{kind}{draw.getrandbits(draw.choice([3, 70]))}"

    def value() -> Any:
        return (
            draw.choice(odd_values) if draw.random() < 0.02 else draw.choice([draw.random(), float(draw.randint(0, 3))])
        )

    def ranking() -> Any:
        found = {id_("d"): value() for _ in range(draw.randint(0, 9))}
        return (
            draw.choice([[1, 2], None, "x", OrderedDict(found), defaultdict(int, found)])
            if draw.random() < 0.03
            else found
        )

    found = {id_("t"): ranking() for _ in range(draw.randint(0, 4))}
    return defaultdict(dict, found) if draw.random() < 0.05 else found


def places_and_values(draw: random.Random) -> tuple[Any, Any, Any]:
    """Places of a run, a weight for each rank, and a value for each document and draw."""
    import numpy as np

    from fathoms.evidence.sparse_places import Listed

    rng = np.random.default_rng(draw.getrandbits(32))
    depth, n_documents, n_draws = draw.randint(1, 12), draw.randint(1, 20), draw.choice([1, 3, 130])
    listed = rng.random((draw.randint(0, 6), depth)) < draw.random()
    topic, rank = np.nonzero(listed)
    start = np.searchsorted(topic, np.arange(len(listed) + 1))
    places = Listed(depth, start, rank + 1, rng.integers(0, n_documents, len(rank)))
    return places, rng.random(depth), rng.random((n_documents, n_draws)) * (rng.random((n_documents, n_draws)) < 0.7)


def garbage(draw: random.Random, size: int) -> bytes:
    return draw.choice([bytes(size), b"\xff" * size, draw.randbytes(size)])


def try_garbage(draw: random.Random) -> None:
    """Arguments that no caller gives: they may be refused, and must not be believed."""
    import numpy as np

    from fathoms.base import kernel

    compiled: Any = kernel.compiled
    n, words, topics, judged = draw.randint(0, 9), draw.randint(1, 3), draw.randint(0, 4), draw.randint(0, 6)
    places = draw.choice([1, 2, 4, 8])
    starts = np.arange(topics + 1, dtype=np.int64) * places
    if draw.random() < 0.5 and topics:
        starts[draw.randint(0, topics)] = draw.choice([-1, 0, 3, 1 << 40])
    sizes = [n * 4, n * 8, n * 8, n * 8 * words, n * 8, len(starts) * 8, topics * places * 8, judged * 8]
    sizes += [judged * 8 * words, judged * 2, n * 8, n, n * 8, n * 4, n * 2]
    arrays = [bytearray(garbage(draw, size)) for size in sizes]
    arrays[5] = bytearray(starts.tobytes())
    if draw.random() < 0.7:
        arrays[0] = bytearray(
            np.array([draw.randint(-1, max(0, topics - 1)) for _ in range(n)], dtype=np.int32).tobytes()
        )
    if draw.random() < 0.3:
        place = draw.randrange(len(arrays))
        arrays[place] = arrays[place][: draw.randint(0, 20)] + bytearray(draw.randint(0, 20))
    flags = [draw.random() < 0.5 for _ in range(3)]
    odd_words = draw.choice([words, 0, -1, 1 << 62])
    calls: list[Callable[[], object]] = [
        lambda: compiled.rank_rows(words, odd_words, *flags, draw.randint(-1, 3), *arrays),
        lambda: compiled.rank_rows(words, words, *flags, draw.randint(0, 2), *arrays),
        lambda: compiled.index_judgments(arrays[0], arrays[1], topics),
        lambda: compiled.cut_ids(arrays[3], arrays[0]),
        lambda: compiled.document_keys(arrays[3], draw.choice([words, 0, -1, 1 << 60]), arrays[1]),
        lambda: compiled.number_documents(odd_words, *(arrays[draw.choice([0, 1, 2, 3, 4, 13])] for _ in range(5))),
        lambda: compiled.number_documents(words, arrays[1], arrays[13], arrays[3], bytearray(8 * n), bytearray(8 * n)),
        lambda: compiled.count_distinct([arrays[1], arrays[4]], garbage(draw, draw.choice([32, 31, 16]))),
        lambda: compiled.place_sums(
            draw.randint(-1, 3),
            draw.choice([1, 2, 0, -1, 1 << 62]),
            *(arrays[draw.choice([1, 2, 4, 5])] for _ in range(6)),
        ),
        lambda: compiled.count_levels(
            draw.choice([1, topics, 0, -1, 1 << 62]),
            draw.choice([1, 2, 0, -1, 1 << 62]),
            *(arrays[draw.choice([0, 1, 4, 13, 14])] for _ in range(3)),
        ),
        lambda: compiled.score_dict(
            {"1": dict.fromkeys(("a", "b", draw.choice(["", "c", "é", "\ud800"])), draw.choice([1.0, 2, "x", -1e300]))},
            (dict,),
            (),
            {"1": draw.choice([0, 0, 1, -1, "x"])},
            [draw.choice([{"a": draw.choice([0, 1, 2, -1, 1 << 70, "x"])}, {}, 7])],
            flags[0],
            garbage(draw, 8),
            draw.choice([b"\1\0\0\0\0\0\0\0", b"\7\0\0\0\0\0\0\0", garbage(draw, 8)]),
            *(garbage(draw, draw.choice([8, 16, 24, 32])) for _ in range(2)),
            garbage(draw, 8),
            bytearray(8),
        ),
        lambda: compiled.draw_levels(
            *(draw.choice([1, topics, 0, -1, 1 << 62]) for _ in range(2)),
            *(arrays[draw.choice([0, 1, 4, 13, 14])] for _ in range(13)),
        ),
        lambda: compiled.draw_levels(
            1,
            1,
            garbage(draw, 8 * n),
            garbage(draw, 8 * n),
            garbage(draw, 16),
            garbage(draw, 4 * n),
            garbage(draw, 16 * n),
            *(garbage(draw, size) for size in (8, 8 * n, 8, 8 * n)),
            *(bytes(8 * n) for _ in range(2)),
            garbage(draw, 16),
            bytearray(2 * n),
        ),
        lambda: compiled.precision_pairs(
            flags[0],
            draw.choice([1, 2, 0, -1, 1 << 62]),
            *(arrays[draw.choice([0, 1, 2, 11, 13, 14])] for _ in range(11)),
        ),
        lambda: compiled.precision_pairs(
            flags[0],
            1,
            garbage(draw, 2 * n),
            draw.choice([bytes(8 * n), arrays[1]]),
            garbage(draw, 2 * n),
            garbage(draw, 8 * n),
            draw.choice([b"", garbage(draw, 16 * n)]),
            draw.choice([b"\0\0\0\0", b"\1\0\0\0", b"\2\0\0\0"]) * 2 * n,
            garbage(draw, 2 * n),
            *(draw.choice([bytes(8 * n), arrays[1]]) for _ in range(2)),
            garbage(draw, 8 * n),
            bytearray(8 * n if flags[0] else 16 * n),
        ),
        lambda: compiled.has_repeats(arrays[draw.randint(0, 5)], arrays[draw.randint(0, 5)]),
        lambda: compiled.parse_lines(
            bytes(arrays[3]),
            draw.randint(-1, 9),
            draw.randint(-1, 300),
            draw.randint(-1, 20),
            True,
            tuple(draw.randint(-2, 20) for _ in range(4)),
            draw.choice([-1, 0, 64, 1 << 62]),
        ),
    ]
    for call in calls:
        try:
            call()
        except (ValueError, MemoryError):
            continue


def try_one(draw: random.Random) -> None:
    """One input of some kind."""
    import fathoms as fm
    from fathoms.data import lines
    from fathoms.data.runs import _run_of
    from fathoms.evidence.align import rank
    from tests.support.kernels import both, content, same

    def compare(given: object, work: Callable[[], Any]) -> Any:
        ours, theirs = both(work)
        if not same(ours, theirs):
            raise AssertionError(f"{given!r}\nkernel: {ours!r}\nnumpy:  {theirs!r}")
        return ours

    lenient = draw.random() < 0.3
    match draw.choice(["run", "run", "qrels", "rank", "dict", "places", "garbage"]):
        case "run" | "qrels" as kind:
            raw = text(draw, kind)
            layout = lines.RUN if kind == "run" else lines.QRELS
            compare(raw, lambda: content(lines.parse(raw, layout, "file", lenient=lenient)))
        case "dict":
            data = odd_dict(draw)
            compare(data, lambda: fm.read_run(data, lenient=lenient))
        case "rank":
            raw, judgments = text(draw, "run"), text(draw, "qrels")
            read = compare(raw, lambda: _run_of(lines.parse(raw, lines.RUN, "file", lenient=True), "r", True))
            table = compare(judgments, lambda: content(lines.parse(judgments, lines.QRELS, "file", lenient=True)))
            if not isinstance(read, tuple) and not isinstance(table, tuple):
                pairs = zip(*(table[name].tolist() for name in ("topic", "document", "number")), strict=True)
                names = [(t.decode(errors="replace"), d.decode(errors="replace"), n) for t, d, n in pairs]
                rows = [{"topic": t, "document": d, "grade": n} for t, d, n in names if t.strip("\0") and d.strip("\0")]
                if rows:
                    qrels = fm.read_qrels(rows, lenient=True)
                    policy: Any = draw.choice(["trec", "run", "rank", "score-rank", "expected"])
                    precision: Any = draw.choice(["float32", "float64"])
                    compare((raw, judgments, policy), lambda: rank(read, qrels, policy, precision))
        case "places":
            listed, weights, values = places_and_values(draw)
            for sums in (listed.running_sums, listed.greatest, listed.stopping_sums):
                compare((listed, weights, values), functools.partial(sums, weights, values))
        case "garbage":
            try_garbage(draw)


def sanitized(folder: Path) -> dict[str, str]:
    """The kernel with sanitizers in a folder, and the environment in which Python can load it."""
    target = folder / "_kernel.abi3.so"
    include = sysconfig.get_paths()["include"]
    source = str(ROOT / "src" / "fathoms" / "_kernel.c")
    flags = ["-O1", "-g", "-std=c11", "-fPIC", "-shared", *SANITIZERS]
    subprocess.run(["gcc", *flags, f"-I{include}", source, "-o", str(target)], check=True)
    runtime = [
        subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    quiet = "detect_leaks=0:allocator_may_return_null=1"
    # Python's own allocator would hide what is written past the end of a small buffer.
    own = {"LD_PRELOAD": " ".join(runtime), "ASAN_OPTIONS": quiet, "PYTHONMALLOC": "malloc"}
    return {FOLDER: str(folder), **own}


def load_fuzzed(folder: str) -> None:
    """Put the kernel of that folder into the place of the installed one."""
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    from fathoms.base import kernel

    path = str(Path(folder, "_kernel.abi3.so"))
    spec = spec_from_file_location("fathoms._kernel", path, loader=ExtensionFileLoader("fathoms._kernel", path))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel.compiled = module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="the installed kernel, without sanitizers")
    args = parser.parse_args()
    if not args.plain and FOLDER not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            found = sanitized(Path(folder))
            return subprocess.run(
                [sys.executable, "-m", "tests.fuzz.compiled_kernel", *sys.argv[1:]], env=os.environ | found, check=False
            ).returncode
    if not args.plain:
        load_fuzzed(os.environ[FOLDER])
    from fathoms.base import kernel

    if kernel.compiled is None:
        sys.exit("there is no compiled kernel to fuzz")
    start = time.monotonic()
    for number in range(args.inputs):
        try_one(random.Random(f"{args.seed}-{number}"))
        if (number + 1) % 50_000 == 0:
            print(f"{number + 1:,} inputs, {time.monotonic() - start:.0f} s", flush=True)
    print(
        f"{args.inputs:,} inputs from seed {args.seed}: no difference from numpy, and nothing that a sanitizer reports"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
