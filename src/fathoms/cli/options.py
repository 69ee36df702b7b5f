"""Arguments and flags that mean the same in every command."""

from __future__ import annotations

import os
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fathoms.base import choices
from fathoms.base.choices import one_of
from fathoms.base.options import Parameter, parameters
from fathoms.experiment.reading import FILES, Reading
from fathoms.signatures import Questions, measures_option

if TYPE_CHECKING:
    from fathoms.api import Experiment

Result = TypeVar("Result")

# Keywords of `Experiment` that commands take together.
READ = ("lenient", "junk", "names", "expect_judgments")
READ_SUBTOPICS = (*READ, "subtopics")
ORDER = ("ties", "score_precision")
POOL = ("topics", "pooled")
RANGES = ("bounds", "universe", "universe_depth", *POOL)
GROUPS = ("topic_groups", "group_by")
UNITS = ("cluster", "replicates")
WORK = ("workers", "scheduler", "patience", "seed")


def group(parser: ArgumentParser, title: str) -> Any:
    """The flags under one heading of a command's help."""
    there = next((known for known in parser._action_groups if known.title == title), None)
    return there or parser.add_argument_group(title)


def add_files(parser: ArgumentParser, *, runs: str = "+") -> None:
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        help="judgments, lines `topic iteration document grade`; - for stdin; irds:ID for those of ir_datasets",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs=runs, help="runs: files, folders or quoted globs; gz, zst, bz2, xz; - for stdin"
    )


def add_measures(parser: ArgumentParser, which: str) -> None:
    add_flag(parser, Parameter("measures", Any, measures_option(which), None))


def add_question(parser: ArgumentParser, question: str, *without: str) -> None:
    """The flags of a method of `Experiment`, or all but some."""
    for name, parameter in parameters(getattr(Questions, question)).items():
        if parameter.is_flag and name not in without:
            add_flag(parser, parameter)


def add_reading(parser: ArgumentParser, *names: str) -> None:
    """The flags of some keywords of `Experiment`."""
    declared = parameters(Reading.__init__)
    for name in names:
        add_flag(parser, declared[name])


def add_flag(parser: ArgumentParser, parameter: Parameter) -> None:
    """A flag as the signature of a method declares it; what Python takes as a tuple, a flag has as a list."""
    option = parameter.option
    assert option is not None
    how: dict[str, Any] = {"dest": parameter.name, "help": parameter.help.replace("%", "%%")}
    if parameter.is_switch:
        how |= {"action": "store_true", "default": parameter.default}
    else:
        how |= {"action": "append"} if option.many else {"nargs": option.values}
        how["default"] = parameter.default
        if isinstance(parameter.default, tuple | range) or option.many:
            how["default"] = [] if parameter.default == () else None
        # Words that may have parameters are parsed.
        is_closed = bool(parameter.words) and option.parse is None
        metavar = "{" + ",".join(parameter.words) + "}" if parameter.words else option.metavar
        how |= {"choices": parameter.words} if is_closed else {"metavar": metavar}
        check = partial(one_of, parameter.words) if is_closed else option.parse or option.check
        how |= {} if check is None else {"type": checker(check)}
    action = (group(parser, option.heading) if option.heading else parser).add_argument(*parameter.flags, **how)
    vars(action)["words"] = parameter.words


def words_of(action: Action) -> list[str]:
    """What may follow a flag, where that is a choice of words, some of which may take parameters."""
    words = action.choices or getattr(action, "words", None)
    return [str(word) for word in words or ()]


def arguments(args: Namespace, question: str) -> dict[str, Any]:
    """The arguments of a method as the flags have them; what no flag says is as by default."""
    return arguments_of(args, getattr(Questions, question))


def arguments_of(args: Namespace, function: Callable[..., Any]) -> dict[str, Any]:
    named = {name: getattr(args, name, None) for name, declared in parameters(function).items() if declared.option}
    return {name: value for name, value in named.items() if value is not None}


def changed(args: Namespace, function: Callable[..., Any], *without: str) -> list[str]:
    """The flags of a method that are not as by default."""
    return [
        parameter.flags[0]
        for name, parameter in parameters(function).items()
        if parameter.is_flag and name not in without and getattr(args, name, None) not in (None, [], parameter.default)
    ]


def add_max_unpacked(parser: ArgumentParser) -> None:
    group(parser, FILES).add_argument(
        "--max-unpacked",
        metavar="SIZE",
        type=checker(choices.size),
        help="what a compressed file may unpack to, such as 8GB (default: 256 MiB, or 100 times its size where that is "
        "more)",
    )


def add_talk(parser: ArgumentParser) -> None:
    add_quiet(parser)
    group(parser, "output").add_argument(
        "--verbose", action="store_true", help="list all warnings, and all runs taken as contributors to the pool"
    )


def add_quiet(parser: ArgumentParser) -> None:
    flags = group(parser, "output")
    flags.add_argument("--quiet", action="store_true", help="no warnings and no progress, results only")


def add_all(parser: ArgumentParser) -> None:
    flags = group(parser, "output")
    flags.add_argument(
        "--all",
        action="store_true",
        help="show all rows, columns and notes on a terminal, as in pipes and files",
    )


def add_output(parser: ArgumentParser, formats: tuple[str, ...]) -> None:
    flags = group(parser, "output")
    add_all(parser)
    add_choice(flags, "--format", choices=formats, default="table", help="form of the output (table)")
    flags.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of standard output")
    flags.add_argument(
        "--provenance",
        action="store_true",
        help="write what it was made with beside FILE, to FILE.provenance.json (parquet, latex, html and markdown have "
        "it inside)",
    )


def checker(check: Callable[..., Result], *args: Any) -> Callable[[str], Result]:
    """A check of `fathoms.base.choices` as the type of a flag, with the same message."""

    def convert(text: str) -> Result:
        from fathoms.base.errors import FathomsError

        try:
            return check(*args, text)
        except FathomsError as error:
            raise ArgumentTypeError(str(error)) from None

    return convert


def add_choice(parser: Any, *names: str, choices: Sequence[str], **more: Any) -> None:
    """A flag that takes one of some words; a wrong one gets the message that Python's functions give."""
    parser.add_argument(*names, choices=tuple(choices), type=checker(one_of, choices), **more)


share = checker(choices.share)
at_least_one = checker(choices.whole_number)
at_least_zero = checker(lambda text: choices.whole_number(text, 0))


def check_sources(args: Namespace) -> None:
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_not_read
    from fathoms.data.runs import expand

    if args.qrels == "-" and "-" in (args.runs or ()):
        raise FathomsError("QRELS and RUN cannot both be standard input")
    output = getattr(args, "output", None)
    if output is not None and os.path.isfile(output):
        check_not_read(output, [*filter(None, [args.qrels]), *expand(args.runs or ())])


def check_different(files: Sequence[str], expected: str) -> None:
    """One file by two names, or twice by one, is a slip where runs are set against each other."""
    from fathoms.base.errors import FathomsError

    seen: dict[str, str] = {}
    for path in files:
        other = seen.get(os.path.realpath(path))
        if other is not None and os.path.isfile(path):
            problem = f"{path} is given twice" if other == path else f"{other} and {path} are the same file"
            raise FathomsError(f"{problem}; {expected}")
        seen[os.path.realpath(path)] = path


def run_files(args: Namespace) -> list[str] | None:
    """The runs as given; with their whole path where workers of a cluster, which are elsewhere, are to read them."""
    if args.runs is None:
        return None
    if getattr(args, "scheduler", None) is None:
        return list(args.runs)
    return [path if path == "-" else os.path.abspath(path) for path in args.runs]


def experiment(
    args: Namespace, *, memory_mb: float | None = None, runs: Any = None, into_folder: bool = False
) -> Experiment:
    """What the arguments and flags that commands share come to. Where one pass over the runs is all that the command
    makes, it gives no memory to keep them in; `runs` are the runs where they are not simply all files given. What goes
    `into_folder` has looked at that itself."""
    from fathoms.api import Experiment
    from fathoms.cli.output import check_target

    check_sources(args)
    if not into_folder:
        check_target(getattr(args, "format", "tsv"), args.output, beside=getattr(args, "provenance", False))
    kept: dict[str, Any] = {} if memory_mb is None else {"memory_mb": memory_mb}
    sources = run_files(args) if runs is None else runs
    experiment = Experiment(args.qrels, sources, **kept, **arguments_of(args, Reading.__init__))
    experiment.warn = False
    return experiment
