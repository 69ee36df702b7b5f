"""Common checks over every chart: it draws a small example, in colours that people with colour blindness tell apart."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fathoms.base import charts
from fathoms.papers import charts as paper_charts

SOURCE = Path(charts.__file__).parents[1]
AXES = ("across", "up")
XY = {"x": [1, 2, 3], "y": [0.1, 0.4, 0.2], "group": ["a", "a", "b"], "tooltip": ["one", "two", "three"]}
LIKELY = {"estimate": [0.5, 0.4], "likely_low": [0.4, 0.3], "likely_high": [0.6, 0.5]}
RANGE = {"score": [0.5, 0.3], "low": [0.4, 0.2], "high": [0.8, 0.6], "tie_low": [0.5, 0.25], "tie_high": [0.55, 0.35]}
BOX = {"low": [0.1, 0.2], "q1": [0.2, 0.3], "median": [0.3, 0.4], "q3": [0.4, 0.5], "high": [0.5, 0.6]}
EXTREMES = {"min": [0.0, 0.1], "mean": [0.3, 0.4], "max": [0.6, 0.7]}

# One call of each chart, on a few rows.
EXAMPLES: dict[str, Callable[[], Any]] = {
    "bars": lambda: paper_charts.bars(pl.DataFrame(XY), "x", "y", "group", "title", AXES),
    "lines": lambda: charts.lines(pl.DataFrame(XY), "x", "y", "group", "title", AXES),
    "calibration": lambda: paper_charts.calibration(pl.DataFrame(XY), "y", "y", "group", "title", AXES),
    "diagram": lambda: paper_charts.diagram(
        pl.DataFrame({"x": [0, 1], "y": [0, 1], "words": ["a", "b"]}),
        "title",
        pl.DataFrame({"x": [0.0], "y": [0.0], "x2": [1.0], "y2": [1.0]}),
    ),
    "surface": lambda: paper_charts.surface(pl.DataFrame(XY), "x", "y", "y", "title", (1, 0.1)),
    "p_scatter": lambda: paper_charts.p_scatter(
        pl.DataFrame({"a": [0.01, 0.2], "b": [0.03, 0.5], "outcome": ["stays", "never"]}), "a", "b", 0.05, "title", AXES
    ),
    "volatility": lambda: charts.volatility(
        pl.DataFrame({"AP depth": [1, 1, 2, 2], "P depth": [1, 2, 1, 2], "tau": [1.0, 0.8, 0.8, 1.0]}),
        "AP depth",
        "P depth",
        "tau",
        pooled=2,
    ),
    "many_lines": lambda: paper_charts.many_lines(pl.DataFrame(XY), "x", "y", "group", "title", AXES, pooled=2),
    "boxes": lambda: paper_charts.boxes(
        pl.DataFrame(BOX | EXTREMES | {"at": ["1", "2"], "kind": ["a", "b"]}), "at", "kind", "t", AXES
    ),
    "dots": lambda: paper_charts.dots(pl.DataFrame(XY | {"run": ["a", "b", "c"]}), "x", "y", "title", AXES),
    "score_bounds": lambda: paper_charts.score_bounds(
        pl.DataFrame({"pool": ["d' = 1", "d = 2"], "bound": ["LB", "LB"], "k": [1, 2], "score": [0.1, 0.2]}),
        "title",
        AXES,
        final=(0.1, 0.2),
        points=pl.DataFrame({"pool": ["LB", "A"], "bound": ["", "region"], "k": [2, 2], "score": [0.1, 0.3]}),
    ),
    "tie_segments": lambda: charts.tie_segments(
        pl.DataFrame(
            {"run": ["a", "b"], "trec": [0.5, 0.3], "file_order": [0.5, 0.3], "score_rank": [0.5, 0.3]}
            | {"expected": [0.5, 0.3], "pessimistic": [0.4, 0.3], "optimistic": [0.6, 0.3], "tied": [3, 0]}
        ),
        "AP",
    ),
    "ranges": lambda: charts.ranges(
        pl.DataFrame({"place": [1, 2], "run": ["a", "b"], **RANGE, **LIKELY, "tooltip": ["a", "b"]}), "AP"
    ),
    "rank_intervals": lambda: charts.rank_intervals(
        pl.DataFrame(
            {"run": ["a", "b"], "rank": [1, 2], "rank_low": [1, 1], "rank_high": [1, 2], "tooltip": ["a", "b"]}
            | {"likely_rank_low": [1, 2], "likely_rank_high": [1, 2], "rank_ci_low": [1, 1], "rank_ci_high": [2, 2]}
        ),
        "AP",
        "over topics",
        "likely",
    ),
    "verdict_matrix": lambda: charts.verdict_matrix(
        pl.DataFrame({"row": [1, 2], "start": [2, 1], "stop": [2, 1], "verdict": ["open", "open"]}), ["a", "b"]
    ),
    "topic_spread": lambda: charts.topic_spread(
        pl.DataFrame({"place": [1, 2], "topic": ["1", "2"], **BOX, "tooltip": ["a", "b"], "link": ["#1", "#2"]}), "AP"
    ),
    "depth_lines": lambda: charts.depth_lines(
        pl.DataFrame({"run": ["a", "a"], "depth": [1, 2], "score": [0.1, 0.2], "tooltip": ["x", "y"]}), ["a"], "AP", 2
    ),
    "changed": lambda: charts.changed(
        pl.DataFrame({"full": [0.1, 0.2], "percent": [-1.0, -2.0], "tooltip": ["a", "b"]}), "AP"
    ),
    "gained_and_lost": lambda: charts.gained_and_lost(
        pl.DataFrame(
            {"place": [1, 1], "kind": ["gained", "lost"], "start": [0, 0], "stop": [2, -1], "tooltip": ["a", "b"]}
        ),
        ("gained", "lost"),
        ["7"],
    ),
    "counts": lambda: charts.counts(
        pl.DataFrame({"verdict": ["certain", "open"], "reason": ["claimed", "topics"], "pairs": [3, 2]}), "title"
    ),
    "sounding": lambda: charts.sounding(
        [("ties", 0.2, 0.3, 0.1), ("judging", 0.1, 0.5, 0.9), ("possible", 0.0, 0.6, None)],
        0.25,
        0.3,
        "title",
        difference=True,
    ),
    "panes": lambda: paper_charts.panes([EXAMPLES["lines"](), EXAMPLES["bars"]()], "title"),
    "curves": lambda: charts.curves(pl.DataFrame(XY), AXES),
    "confusion": lambda: charts.confusion(
        pl.DataFrame({"grade": ["0", "0"], "label": ["0", "1"], "documents": [3, 1], "share": [0.75, 0.25]}), "gpt"
    ),
    "score_scatter": lambda: charts.score_scatter(
        pl.DataFrame(
            {"run": ["a", "b"], "human": [0.5, 0.3], "labels": [0.6, 0.7], "kind": ["other runs", "looks circular"]}
            | {"tooltip": ["a", "b"]}
        ),
        AXES,
    ),
}
NO_CHARTS = (
    *("as_xml_text", "available", "axis_of", "drawable", "finish", "for_a_page", "in_style", "require"),
    "specification",
)
KINDS = {
    name: function
    for module in (charts, paper_charts)
    for name, function in vars(module).items()
    if inspect.isfunction(function)
    and function.__module__ == module.__name__
    and not name.startswith("_")
    and name not in (*NO_CHARTS, "svg", "to_print")
}
# Those of the constants at the top of the module, not just any that its functions write.
CONSTANTS = repr([value for name, value in vars(charts).items() if name.isupper()])
KNOWN = {colour.lower() for colour in re.findall(r"#[0-9A-Fa-f]{6}\b", CONSTANTS)}


@pytest.mark.parametrize("name", KINDS)
def test_every_chart_has_an_example_a_text_and_a_use(name: str) -> None:
    assert name in EXAMPLES, f"charts.{name} has no example: add a call on a few rows to EXAMPLES in {__name__}"
    assert inspect.getdoc(KINDS[name]), f"charts.{name} needs a docstring: what to see, and which columns"
    users = [path for path in SOURCE.rglob("*.py") if path.name != "charts.py"]
    if KINDS[name].__module__ == charts.__name__:  # those that only studies draw stand with the studies
        users = [path for path in users if "papers" not in path.relative_to(SOURCE).parts]
    called = re.compile(rf'charts\.{name}\b|"{name}",')
    assert any(called.search(path.read_text(encoding="utf-8")) for path in users), f"nothing draws charts.{name}"


@pytest.mark.parametrize("name", [name for name in KINDS if name in EXAMPLES])
def test_every_chart_draws(name: str) -> None:
    import vl_convert

    chart = EXAMPLES[name]()
    specification = chart.to_json()
    assert vl_convert.vegalite_to_svg(specification).startswith("<svg")
    found = chart.to_dict()
    assert found.get("title"), f"charts.{name} has no title: end it in finish(chart, title)"
    assert found["config"]["range"]["category"] == charts.COLOURS, f"charts.{name} does not end in finish"
    strange = {colour for colour in colours(found) if colour.lower() not in KNOWN | WORDS}
    assert not strange, f"charts.{name} uses {strange}: colours are those of COLOURS and the constants beside it"
    columns = {column for rows in found["datasets"].values() for row in rows for column in row}
    made = set(re.findall(r"\w+", " ".join(re.findall(r'"as": ("\w+"|\[[^]]*\])', json.dumps(found)))))
    unknown = {field for field in fields(found) if field not in columns | made}
    assert not unknown, f"charts.{name} shows {unknown}, which its frame does not have"


WORDS = {"black", "white", "red", "transparent", "none"}
SCHEMES = {"viridis"}  # even to the eye, and for people with colour blindness


def colours(part: Any, key: str = "") -> Iterator[str]:
    """Whatever a specification has where a colour belongs: in marks, values and ranges, or as the name of a scheme."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "resolve":  # which says of scales whether panes share them
                continue
            inner = name if name in COLOURED else key if name in ("value", "range", "condition", "scale") else ""
            if name == "scheme":
                chosen = value["name"] if isinstance(value, dict) else value
                assert chosen in SCHEMES, f"the scheme {chosen} is not one of {SCHEMES}"
            yield from colours(value, inner)
    elif isinstance(part, list):
        for one in part:
            yield from colours(one, key)
    elif isinstance(part, str) and key:
        yield part


COLOURED = {"color", "fill", "stroke", "domainColor", "tickColor", "gridColor", "labelColor", "titleColor"}


def fields(part: Any) -> Iterator[str]:
    """The columns that the encodings of a specification name."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "field" and isinstance(value, str):
                yield value.replace("\\\\", "").replace("\\", "")
            else:
                yield from fields(value)
    elif isinstance(part, list):
        for one in part:
            yield from fields(one)
