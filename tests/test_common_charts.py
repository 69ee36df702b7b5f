"""Common checks over every chart: it draws a small example, in colours that people with colour blindness tell apart."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fathoms import charts

SOURCE = Path(charts.__file__).parent
AXES = ("across", "up")
XY = {"x": [1, 2, 3], "y": [0.1, 0.4, 0.2], "group": ["a", "a", "b"], "tooltip": ["one", "two", "three"]}
RANGE = {"score": [0.5, 0.3], "low": [0.4, 0.2], "high": [0.8, 0.6], "tie_low": [0.5, 0.25], "tie_high": [0.55, 0.35]}
BOX = {"low": [0.1, 0.2], "q1": [0.2, 0.3], "median": [0.3, 0.4], "q3": [0.4, 0.5], "high": [0.5, 0.6]}

# One call of each chart, on a few rows.
EXAMPLES: dict[str, Callable[[], Any]] = {
    "bars": lambda: charts.bars(pl.DataFrame(XY), "x", "y", "group", "title", AXES),
    "lines": lambda: charts.lines(pl.DataFrame(XY), "x", "y", "group", "title", AXES),
    "surface": lambda: charts.surface(pl.DataFrame(XY), "x", "y", "y", "title", (1, 0.1)),
    "p_scatter": lambda: charts.p_scatter(
        pl.DataFrame({"a": [0.01, 0.2], "b": [0.03, 0.5], "pair": ["x y", "x z"]}), "a", "b", 0.05, "title", AXES
    ),
    "volatility": lambda: charts.volatility(
        pl.DataFrame({"AP depth": [1, 1, 2, 2], "P depth": [1, 2, 1, 2], "tau": [1.0, 0.8, 0.8, 1.0]}),
        "AP depth",
        "P depth",
        "tau",
        pooled=2,
    ),
    "many_lines": lambda: charts.many_lines(pl.DataFrame(XY), "x", "y", "group", "title", AXES, pooled=2),
    "boxes": lambda: charts.boxes(pl.DataFrame(BOX | {"at": ["1", "2"], "kind": ["a", "b"]}), "at", "kind", "t", AXES),
    "dots": lambda: charts.dots(pl.DataFrame(XY | {"run": ["a", "b", "c"]}), "x", "y", "title", AXES),
    "tie_segments": lambda: charts.tie_segments(
        pl.DataFrame(
            {"run": ["a", "b"], "trec": [0.5, 0.3], "file_order": [0.5, 0.3], "score_rank": [0.5, 0.3]}
            | {"expected": [0.5, 0.3], "pessimistic": [0.4, 0.3], "optimistic": [0.6, 0.3], "tied": [3, 0]}
        ),
        "AP",
    ),
    "ranges": lambda: charts.ranges(
        pl.DataFrame({"place": [1, 2], "run": ["a", "b"], **RANGE, "estimate": [0.5, 0.4], "tooltip": ["a", "b"]}), "AP"
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
    "curves": lambda: charts.curves(pl.DataFrame(XY), AXES),
}
KINDS = [
    name
    for name, function in vars(charts).items()
    if inspect.isfunction(function)
    and function.__module__ == charts.__name__
    and not name.startswith("_")
    and name not in ("available", "require", "svg")
]
# Those of the constants at the top of the module, not just any that its functions write.
CONSTANTS = repr([value for name, value in vars(charts).items() if name.isupper()])
KNOWN = {colour.lower() for colour in re.findall(r"#[0-9A-Fa-f]{6}\b", CONSTANTS)}


@pytest.mark.parametrize("name", KINDS)
def test_every_chart_has_an_example_a_text_and_a_use(name: str) -> None:
    assert name in EXAMPLES, f"charts.{name} has no example: add a call on a few rows to EXAMPLES in {__name__}"
    assert inspect.getdoc(getattr(charts, name)), f"charts.{name} needs a docstring: what to see, and which columns"
    users = [path for path in SOURCE.rglob("*.py") if path.name != "charts.py"]
    called = re.compile(rf'charts\.{name}\b|"{name}",')
    assert any(called.search(path.read_text(encoding="utf-8")) for path in users), f"nothing draws charts.{name}"


@pytest.mark.parametrize("name", [name for name in KINDS if name in EXAMPLES])
def test_every_chart_draws(name: str) -> None:
    import vl_convert

    chart = EXAMPLES[name]()
    specification = chart.to_json()
    assert vl_convert.vegalite_to_svg(specification).startswith("<svg")
    text = json.dumps(chart.to_dict())
    assert '"title"' in text, f"charts.{name} says nothing about what it shows"
    used = {colour.lower() for colour in re.findall(r"#[0-9A-Fa-f]{6}\b", text)}
    assert used <= KNOWN, f"charts.{name} uses {used - KNOWN}: colours are those of COLOURS"
