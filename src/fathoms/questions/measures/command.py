"""List the measures and what each can do, or say everything about one of them.

kind: recall-based measures need to know how many relevant documents there are, utility-based ones only what the user
sees. range: exact, sound or none, for what unjudged documents could change. ties: how the mean over the orders of tied
documents is found. estimate: which methods of `fathoms predict` work. difference: the range of a difference between two
systems. judging: how `fathoms judge` finds the probability that one system is ahead by it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.cli.screen import Block
    from fathoms.measures.base import Measure

EXAMPLES = (
    ("which measures are there?", "fathoms measures"),
    ("what exactly is nDCG here, and which parameters does it take?", "fathoms measures nDCG"),
)
MORE = """more examples:
  fathoms measures --format tsv -o measures.tsv"""
WIDTH = 118  # of the page on one measure, unless the terminal is narrower
COLUMNS = ("measure", "kind", "range", "ties", "estimate", "difference", "judging", "description")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a measure, such as AP, nDCG@10 or ndcg_cut_10")
    options.add_output(parser, ("table", "tsv", "json"))
    options.add_quiet(parser)


def run(args: Namespace) -> int:
    from fathoms.cli import output, screen
    from fathoms.measures.parse import find_class
    from fathoms.measures.registry import MEASURES

    output.check_target(args.format, args.output)
    if args.name is not None:
        cls = find_class(args.name)
        facts = details(cls)
        if args.format == "table":
            size = screen.terminal()
            output.put(page(cls, WIDTH if size is None else min(WIDTH, size.columns)), args.output)
        elif args.format == "json":
            output.put(output.records([dict(facts)]), args.output)
        else:
            output.put(output.delimited(("fact", "value"), facts, "\t"), args.output)
        return 0
    rows = [summary(cls) for cls in MEASURES.values()]
    result = output.Said([f"{len(rows)} measures; `fathoms measures NAME` says everything about one."])

    def put_data(_: Any, args: Namespace) -> None:
        output.put_rows(COLUMNS, rows, args)

    output.present(result, args, lambda: [_block(rows)], put_data=put_data)
    return 0


def _block(rows: Sequence[tuple[str, ...]]) -> Block:
    """What each is for comes before what fathoms can do with it."""
    from fathoms.cli.screen import Block, Column

    levels = dict(zip(COLUMNS, (0, 2, 1, 3, 5, 6, 4, 0), strict=True))
    columns = [Column(name, [row[i] for row in rows], levels[name], words=True) for i, name in enumerate(COLUMNS)]
    return Block([columns[0], columns[-1], *columns[1:-1]], noun="measure")


def summary(cls: type[Measure]) -> tuple[str, ...]:
    """A measure's row in the list."""
    from fathoms.measures.abilities import estimates, tie_values

    measure = plain(cls)
    return (
        cls.__name__,
        cls.based_on,
        range_words(cls),
        tie_values(measure),
        estimates(measure),
        measure.difference_is,
        cls.judging,
        cls.description(),
    )


def plain(cls: type[Measure]) -> Measure:
    """The measure with its defaults."""
    from fathoms.measures.parse import parse_measure

    return parse_measure(cls.names()[0])


def range_words(cls: type[Measure]) -> str:
    """How good its range is, and in brackets what it is with other parameters that people use."""
    others = dict.fromkeys(kind for _, kind in other_ranges(cls))
    return plain(cls).range_is + (f" ({', '.join(others)})" if others else "")


def other_ranges(cls: type[Measure]) -> list[tuple[str, str]]:
    """The examples that have another kind of range than the measure with its defaults."""
    from fathoms.measures.parse import parse_measure

    ranges = [(name, parse_measure(name).range_is) for name in cls.names()]
    return [(name, kind) for name, kind in ranges if kind != plain(cls).range_is]


def details(cls: type[Measure]) -> list[tuple[str, str]]:
    """Everything there is to know about a measure, as pairs of a fact and its value."""
    import math

    from fathoms.measures.abilities import largest_value

    _, kind, _, ties, estimate, difference, judging, description = summary(cls)
    measure = plain(cls)
    most = largest_value(measure)
    trec_eval_names = [name for name in (cls.trec_eval, cls.trec_eval_at) if name]
    return [
        ("measure", cls.__name__),
        ("description", description),
        ("definition", cls.definition()),
        ("names", ", ".join(cls.names())),
        ("aliases", ", ".join(cls.aliases)),
        ("trec_eval", ", ".join(trec_eval_names)),
        ("cut-off", CUTOFFS[cls.cutoff]),
        *((f"parameter {name}", about) for name, about in parameters(cls)),
        ("kind", kind),
        ("range", "; ".join([measure.range_is, *(f"{kind} for {name}" for name, kind in other_ranges(cls))])),
        ("largest value", "no bound" if math.isinf(most) else f"{most:g} for {measure.name} with grades 0 and 1"),
        ("ties", ties),
        ("estimate", estimate),
        ("difference", difference),
        ("judging", judging),
        ("citation", cls.citation),
    ]


CUTOFFS = {
    "optional": "optional, @k",
    "required": "needed, @k",
    "none": "none",
    "recall": "a level of recall from 0 to 1 instead, needed",
}


def parameters(cls: type[Measure]) -> list[tuple[str, str]]:
    """Each parameter with what it may be, its default and what it is for."""
    from fathoms.measures.params import show_value

    parameters_of = []
    for name, parameter in cls.params.items():
        choices = f"{'|'.join(parameter.choices)}; " if parameter.choices else ""
        default = "" if parameter.default is None else f"default {show_value(parameter.default)}; "
        parameters_of.append((name, f"{choices}{default}{cls.about_param(name)}"))
    return parameters_of


def page(cls: type[Measure], columns: int = WIDTH) -> str:
    """The same to read."""
    import textwrap

    facts = dict(details(cls))
    parts = ["\n".join(textwrap.wrap(f"{cls.__name__}: {facts.pop('description')}", columns))]
    del facts["measure"]
    parts += filter(None, [facts.pop("definition")])
    width = max(map(len, facts))
    lines = []
    for fact, value in facts.items():
        start = f"{fact:<{width}}  "
        lines += textwrap.wrap(value or "-", columns, initial_indent=start, subsequent_indent=" " * len(start))
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"
