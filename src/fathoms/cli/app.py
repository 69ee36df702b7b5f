"""The command `fathoms`: one module a command, imported when its command is used.

argparse and not a larger library, because a command that takes a tenth of a second must not start for another two.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from fathoms.base.errors import MORE_MEMORY, FathomsError, say
from fathoms.base.text import shown_safely
from fathoms.cli import waiting
from fathoms.version import __version__

GROUPS = {
    "score and compare systems": {
        "eval": "score runs, each value with the range it could have",
        "rank": "the leaderboard, each run with the ranks it could have",
        "compare": "is A better than B, and will it stay so",
        "diff": "what changed between two runs, with judgments or without",
        "gate": "may a candidate replace the baseline, for continuous integration",
    },
    "see what a score depends on": {
        "doubt": "how sure is this number, what makes it unsure, what would help",
        "predict": "estimate what scores will be once the judging is deep",
        "depth": "how much depends on the depth of evaluation",
        "ties": "who has ties and contradictions, and what they could change",
        "band": "how precise scores need to be: geometric bands and their cost",
    },
    "plan and make judgments": {
        "plan": "how many topics and judgments an experiment will need",
        "pool": "which documents to judge, or a shallower pool's judgments",
        "judge": "judge the most informative documents first",
        "labels": "can labels of language models stand in for human judgments",
    },
    "check what you have": {
        "check": "is every file sound: errors, warnings and notes",
        "audit": "can this collection be trusted and reused",
    },
    "write it up": {
        "report": "all of it on one page, to read and to pass on",
        "papers": "a paper's tables and figures on your collection",
    },
    "files, reference, practice": {
        "convert": "runs and judgments in other formats: parquet, CSV, JSON, ...",
        "trec_eval": "the same as trec_eval: its flags, its bytes",
        "measures": "the measures, and what each can do",
        "demo": "the whole story on a simulated collection, in half a minute",
        "simulate": "make a test collection of which the truth is known",
        "completion": "complete commands and flags in your shell",
    },
}
COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}
READ_NOTHING = ("measures", "demo", "simulate", "completion")
ABOUT = """Evaluate search systems when judgments are incomplete: every score with the
range it could have once unjudged documents are judged and ties are broken
another way.

Start with two files, judgments and a run:

  fathoms eval qrels.txt my.run"""


class Parser(argparse.ArgumentParser):
    """Help that opens with what a command does and two worked examples; flags come after that."""

    examples: Sequence[tuple[str, str]] = ()  # what each answers, and the command

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"add_help": False})
        self.add_argument(
            "-h", "--help", action=_Help, help="-h: the flags of this command alone; --help: all of them, with details"
        )

    def format_help(self, *, short: bool = False) -> str:
        summary, _, details = (self.description or "").strip().partition("\n\n")
        shown = "\n\n".join(f"  # {answers}\n  {command}" for answers, command in self.examples)
        formatter = self._get_formatter()
        formatter.add_text(_reflowed(summary))
        formatter.add_text(f"examples:\n{shown}" if shown else None)
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(None if short else _reflowed(details))
        of_all = [group for group in self._action_groups if group not in (self._positionals, self._optionals)]
        for group in self._action_groups:
            if short and group in of_all:
                continue
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        flags = [action.option_strings[-1] for group in of_all for action in group._group_actions]
        formatter.add_text(
            _reflowed(f"{self.prog} --help has the rest: {' '.join(flags)}") if short and flags else None
        )
        formatter.add_text(None if short else self.epilog)
        return formatter.format_help()

    def shorten_usage(self) -> None:
        """Name the arguments and the flags that are needed, and leave the others to the list of them."""
        formatter = self._get_formatter()
        words = [
            f"{action.option_strings[0]} {action.metavar}"
            if action.option_strings
            else formatter._format_args(action, formatter._get_default_metavar_for_positional(action))
            for action in sorted(self._actions, key=lambda action: not action.option_strings)
            if action.required or not action.option_strings
        ]
        self.usage = " ".join([self.prog, "[flags]", *words])
        self._positionals.title = "arguments"


class _Help(argparse._HelpAction):
    """`-h` is for a look, `--help` for reading."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, flag: str | None = None) -> None:
        assert isinstance(parser, Parser)
        print(parser.format_help(short=flag == "-h"), end="")
        parser.exit()


def _reflowed(text: str) -> str:
    """Paragraphs, and lists of words with their meaning, as wide as the terminal."""
    import re
    import textwrap

    width, paragraphs = min(_columns() - 2, 118), []
    for paragraph in text.split("\n\n"):
        items = re.split(r"\n(?=  \S)", paragraph) if paragraph.startswith("  ") else [paragraph]
        lines = []
        for item in items:
            word = re.match(r"  \S.*?  +(?=\S)|", item)
            start = word.group() if word else ""
            text_after = " ".join(item[len(start) :].split())
            lines.append(
                textwrap.fill(
                    text_after, width, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False
                )
            )
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


class Help(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse asks for one whenever it parses, and would import shutil, and with that all
    kinds of compression, to find out how wide that is."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)

    def _split_lines(self, text: str, width: int) -> list[str]:
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)  # a flag stays whole


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
    cannot tell; 128 and a signal's number if one ended it."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with _signals_raise():
        try:
            try:
                _open_output()
                status, message = _run(words), ""
            finally:
                if "fathoms.base.parallel" in sys.modules:  # may have started a cluster
                    sys.modules["fathoms.base.parallel"].disconnect()
        except BaseException as error:
            status, message = _meaning(error, words)
        finally:
            if "fathoms.base.files" in sys.modules:
                sys.modules["fathoms.base.files"].remove_unfinished()
        if message:
            say(message)
    sys.exit(status)


def _meaning(error: BaseException, words: Sequence[str]) -> tuple[int, str]:
    """The status of a command that ends with an exception, and what to say; raises what nobody expected again."""
    if isinstance(error, ImportError) and _heard:  # libraries in C make of Ctrl-C that something could not be imported
        return 128 + signal.SIGINT, "interrupted"
    for reason in _with_contexts(error):
        if isinstance(reason, Stopped):
            return reason.status, f"ended by {reason.name}"
        if isinstance(reason, KeyboardInterrupt):
            return 128 + signal.SIGINT, "interrupted"
    if isinstance(error, FathomsError):
        return 2, shown_safely(str(error))
    if isinstance(error, BrokenPipeError):  # the reader of our output went away, as `head` does
        _drop_output()
        return 0, ""
    if isinstance(error, OSError):  # what reads and writes files has messages of its own
        _drop_output()
        where = error.filename or ("standard output" if error.errno in OF_OUTPUT else "cannot go on")
        return 2, f"{where}: {error.strerror or error}"
    if not isinstance(error, SystemExit) and _lacks_memory(error):
        detail = f" ({shown_safely(str(error))})" if isinstance(error, MemoryError) and str(error) else ""
        what = f"fathoms {words[0]}" if words else "fathoms"
        return 2, f"not enough memory for {what}{detail}; {MORE_MEMORY}"
    raise error


def _lacks_memory(error: BaseException) -> bool:
    """Whether memory ran out, which libraries say in many ways: Python where it cannot load one of them, polars by a
    panic, or by not being there once it could not be loaded."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, RuntimeError):
        return "can't start new thread" in str(error)
    if isinstance(error, ImportError):
        return "failed to map segment" in str(error) or "annot allocate memory" in str(error)
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    in_polars = frame is not None and f"{os.sep}polars{os.sep}" in frame.tb_frame.f_code.co_filename
    if isinstance(error, NameError):
        return in_polars
    return type(error).__name__ == "PanicException" and any(
        word in str(error) for word in ("alloc", "memory", "spawn", "WouldBlock")
    )


def _with_contexts(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those during which it was raised: closing what was open can fail after a signal."""
    while error is not None:
        yield error
        error = error.__context__


# What the system says where standard output cannot be written; io.UnsupportedOperation, for one closed, has no number.
OF_OUTPUT = {None, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EINVAL}


class Stopped(SystemExit):
    """A signal asks the command to end. What is open is closed on the way out, as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        self.status, self.name = 128 + number, signal.Signals(number).name
        super().__init__(self.status)


_heard: list[int] = []  # whether Ctrl-C was pressed


def _interrupt(number: int, frame: object) -> None:
    _heard.append(number)
    raise KeyboardInterrupt


@contextmanager
def _signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP are exceptions in the block: the first one that comes, so that no other disturbs the clean-up.
    One that is ignored, as under `nohup`, stays so. That there was a SIGINT is remembered."""
    _heard.clear()
    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}

    def stop(number: int, frame: object) -> None:
        for previous in before:
            signal.signal(previous, signal.SIG_IGN)
        raise Stopped(number)

    try:
        for number, handler in before.items():
            if handler == signal.SIG_DFL:
                signal.signal(number, stop)
        if hears:
            signal.signal(signal.SIGINT, _interrupt)
    except ValueError:  # not in the main thread, which alone hears signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _open_output() -> None:
    """Standard output in UTF-8, where ids that are no UTF-8 leave as the bytes they came as."""
    if sys.stdout is None:  # closed: an error for whoever writes to it, and not before
        sys.stdout = open(os.devnull)  # noqa: SIM115 - open to the end
    if sys.stderr is None:  # else what is for it would go to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open to the end
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
        module = import_module(f"fathoms.questions.{name}.command")
        parser = Parser(
            prog=f"fathoms {name}",
            description=module.__doc__,
            epilog=getattr(module, "MORE", None),
            formatter_class=Help,
            allow_abbrev=False,
        )
        parser.examples = module.EXAMPLES
        add_arguments(name, parser)
        parser.shorten_usage()
        _settle_libraries()
        args = parser.parse_intermixed_args(words[1:])
        if getattr(args, "max_unpacked", None) is not None:
            from fathoms.base.files import MAX_UNPACKED

            os.environ[MAX_UNPACKED] = str(args.max_unpacked)
        with waiting.shown(getattr(args, "quiet", False)):
            status: int = module.run(args)
        return status
    listing = "\n\n".join(
        "\n".join([f"{group}:", *(f"  {name:<11}{summary}" for name, summary in commands.items())])
        for group, commands in GROUPS.items()
    )
    overview = argparse.ArgumentParser(
        prog="fathoms",
        usage="fathoms COMMAND ...",
        description=f"{ABOUT}\n\n{listing}",
        epilog="`fathoms COMMAND -h` shows two worked examples and the flags of that command.",
        formatter_class=Help,
        allow_abbrev=False,
    )
    overview.add_argument("--version", action="store_true", help="show the version, and what does the work")
    overview.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    known = overview.parse_args(words[:1])
    if known.version:
        from fathoms.base import kernel

        print(f"fathoms {__version__} ({kernel.description()})")
        return 0
    if known.command is not None:
        from difflib import get_close_matches

        near = get_close_matches(known.command, COMMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}"
        overview.error(f"there is no command {known.command!r}; {hint}")
    overview.print_help()
    return 0 if not words else 2


def add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Those of a command, and what all have that read files."""
    from fathoms.cli import options

    import_module(f"fathoms.questions.{command}.command").add_arguments(parser)
    if command not in READ_NOTHING:
        options.add_max_unpacked(parser)


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
