"""The command `fathoms`: one module a command, imported when its command is used.

argparse and not a larger library, because a command that takes a tenth of a second must not start for another two.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from fathoms.errors import FathomsError
from fathoms.version import __version__

COMMANDS = {
    "eval": "score runs, each value with the range it could have",
    "compare": "is A better than B, and will it stay so",
    "gate": "may a candidate replace the baseline: passes, fails or cannot tell, for continuous integration",
    "diff": "what changed between two runs, with judgments or without",
    "rank": "the leaderboard, each run with the ranks it could have",
    "depth": "how much depends on the depth of evaluation",
    "audit": "can this collection be trusted and reused",
    "labels": "can labels of language models or others stand in for human judgments",
    "ties": "who has ties and contradictions, and what could they change",
    "predict": "estimate what scores will be once the judging is deep",
    "plan": "how many topics and how many judgments an experiment will need",
    "pool": "which documents to judge, or which judgments a shallower pool would have",
    "judge": "judge the most informative documents first, until it is clear which system is better",
    "band": "how precise scores need to be: geometric bands, and what they cost",
    "report": "all of it on one page, to read and to pass on",
    "measures": "the measures, and what each can do",
    "papers": "a paper's tables and figures on your collection",
    "check": "is every file sound: errors, warnings and notes",
    "convert": "runs and judgments in other formats: parquet, TREC, CSV, JSON, Quepid, OpenSearch, BEIR, ...",
    "demo": "the whole story on a small simulated collection, in half a minute",
    "trec_eval": "the same as trec_eval: its flags, its bytes",
    "simulate": "make a test collection of which the truth is known",
    "completion": "complete commands and flags in your shell",
}
# Old spellings of flags, by command ("" for all); they go on working for a version, with a note.
RENAMED = {
    "": {"--junk": "--nonrelevant-grade"},
    "predict": {"--evidence": "--labels"},
    "judge": {"--until": "--confidence", "--double": "--judge-twice"},
}
ABOUT = """Evaluate search systems when judgments are incomplete: every score with the range it could have
once unjudged documents are judged and ties are broken another way."""


class Help(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse asks for one whenever it parses, and would import shutil, and with that all
    kinds of compression, to find out how wide that is."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """As `shutil.get_terminal_size` has it."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 80


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 a check failed, 2 bad usage or input (one message, no traceback); 3 if a gate
    cannot tell."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _open_output()
        status = _run(words)
    except FathomsError as error:
        print(f"fathoms: {error}", file=sys.stderr)
        status = 2
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        _drop_output()
        status = 0
    except OSError as error:  # what reads and writes files has messages of its own; this is standard output
        _drop_output()
        print(f"fathoms: {error.filename or 'standard output'}: {error.strerror or error}", file=sys.stderr)
        status = 2
    except MemoryError as error:
        print(f"fathoms: not enough memory. {error}", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print("fathoms: interrupted", file=sys.stderr)
        status = 130
    finally:
        if "fathoms.parallel" in sys.modules:
            sys.modules["fathoms.parallel"].disconnect()
    sys.exit(status)


def _open_output() -> None:
    """Standard output in UTF-8, where ids that are no UTF-8 leave as the bytes they came as."""
    if sys.stdout is None:  # closed: an error for whoever writes to it, and not before
        sys.stdout = open(os.devnull)  # noqa: SIM115 - open to the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        if isinstance(sys.stdout.buffer, io.RawIOBase):  # PYTHONUNBUFFERED: a write cut short would not be noticed
            sys.stdout = open(sys.stdout.fileno(), "w", closefd=False)  # noqa: SIM115 - open to the end
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _drop_output() -> None:
    """Let nothing that is still in the buffer fail once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        name = words[0]
        module = import_module(f"fathoms.cli.{name}")
        parser = argparse.ArgumentParser(
            prog=f"fathoms {name}",
            description=module.__doc__,
            epilog=module.EXAMPLES,
            formatter_class=Help,
            allow_abbrev=False,
        )
        module.add_arguments(parser)
        _settle_libraries()
        status: int = module.run(parser.parse_intermixed_args(_renamed(name, words[1:])))
        return status
    listing = "\n".join(f"  {name:<11}{summary}" for name, summary in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="fathoms",
        usage="fathoms COMMAND ...",
        description=f"{ABOUT}\n\ncommands:\n{listing}",
        epilog="`fathoms COMMAND --help` says more.",
        formatter_class=Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="show the version, and what does the work")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    known = parser.parse_args(words[:1])
    if known.version:
        from fathoms import kernel

        print(f"fathoms {__version__} ({kernel.description()})")
        return 0
    if known.command is not None:
        parser.error(f"there is no command {known.command!r}; the commands are {', '.join(COMMANDS)}")
    parser.print_help()
    return 0 if not words else 2


def _renamed(command: str, words: list[str]) -> list[str]:
    """The same words with old spellings of flags replaced, and a note for each that was found."""
    names = RENAMED[""] | RENAMED.get(command, {})
    found = []
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in names and "--" not in words[:place]:
            print(f"fathoms: note: {flag} is now called {names[flag]}", file=sys.stderr)
            word = names[flag] + equals + value
        found.append(word)
    return found


def _settle_libraries() -> None:
    """Set what numpy and the C library read once, before the first of them is needed.

    The C library is to keep what is freed for the next array of the same size: by default it gives blocks of megabytes
    back to the system, which clears them anew for the next run, a fifth of the time of evaluating many. Huge pages,
    which numpy asks for, take longer to clear than they save on arrays that are read once or twice. Linear algebra has
    one thread, since cores are shared out run by run, and since results must not depend on their number. Where there is
    no such knob, nothing happens.
    """
    import ctypes

    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    trim_threshold, mmap_threshold = -1, -3
    try:
        library = ctypes.CDLL(None)
        library.mallopt(trim_threshold, 256 << 20)
        library.mallopt(mmap_threshold, 32 << 20)
    except (AttributeError, OSError, TypeError):
        return
