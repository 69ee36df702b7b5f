"""Charts, each defined once; altair draws them as interactive HTML, SVG, PNG or PDF.

Data comes ready made as polars frames: nothing is computed here. Colours are those of Okabe and Ito, which people with
any common form of colour blindness can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import FathomsError
from fathoms.base.text import in_xml

if TYPE_CHECKING:
    import polars as pl

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C"]
PALE = "#BBBBBB"  # what does not count
# Purple to green, which people with any common form of colour blindness tell apart too (ColorBrewer's PRGn).
BANDS = ["#762A83", "#AF8DC3", "#E7D4E8", "#D9F0D3", "#7FBF7B", "#1B7837"]


def available() -> bool:
    """Whether the extra `report` is installed."""
    from importlib.util import find_spec

    return find_spec("altair") is not None and find_spec("vl_convert") is not None


def require() -> None:
    if not available():
        raise FathomsError("charts need the extra `report`: pip install 'fathoms[report]'")


def in_style(chart: Any) -> Any:
    """With the colours and letters that all charts have."""
    return (
        chart.configure_range(category=COLOURS)
        .configure_title(anchor="start", fontSize=13)
        .configure_axis(labelFontSize=11, titleFontSize=11)
    )


def finish(chart: Any, title: str, width: int = 420, height: int = 280) -> Any:
    return in_style(chart.properties(width=width, height=height, title=title))


def specification(chart: Any) -> dict[str, Any]:
    """A chart's specification with all rows."""
    import altair as alt

    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict(validate=False)  # the tests validate every kind of chart
    return spec


def as_xml_text(part: Any) -> Any:
    """A part of a specification with its text as XML can hold it: vl-convert ends the process over anything else."""
    if isinstance(part, str):
        return in_xml(part)
    if isinstance(part, dict):
        return {as_xml_text(key): as_xml_text(value) for key, value in part.items()}
    return list(map(as_xml_text, part)) if isinstance(part, list) else part


def drawable(chart: Any) -> Any:
    """The chart itself, or, where names have characters that no picture can hold, one that has them escaped."""
    import altair as alt

    spec = specification(chart)
    shown = as_xml_text(spec)
    return chart if shown == spec else alt.Chart.from_dict(shown)


def counts(frame: pl.DataFrame, title: str) -> Any:
    """How many pairs have each verdict (columns verdict, reason, pairs), side by side by what is missing."""
    import altair as alt

    order = list(dict.fromkeys(frame["verdict"]))
    chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("pairs:Q", title="pairs", axis=axis_of(frame, "pairs")),
            y=alt.Y("verdict:N", title=None, sort=order),
            color=alt.Color("reason:N", title=None, sort=None),
            tooltip=["verdict", "reason", "pairs"],
        )
    )
    return finish(chart, title, 420, 40 * len(order))


def axis_of(frame: pl.DataFrame, column: str) -> Any:
    """Whole numbers where the data are whole numbers, such as depths."""
    import altair as alt

    return alt.Axis(tickMinStep=1, format="d") if frame[column].dtype.is_integer() else alt.Axis()


def lines(
    frame: pl.DataFrame,
    x: str,
    y: str,
    group: str,
    title: str,
    axes: tuple[str, str],
    *,
    log_x: bool = False,
    log_y: bool = False,
    points: pl.DataFrame | None = None,
    ticks: Sequence[int] = (),
    zero: bool = True,
) -> Any:
    """Curves, one colour a group; `points` are drawn as black dots under them.

    `ticks` are the places on the x axis that are labelled; without `zero` the y axis starts where the data do. A group
    without a name is not in the legend.
    """
    import altair as alt

    scale_x = alt.Scale(type="log", nice=False) if log_x else alt.Scale(type="linear")
    scale_y = alt.Scale(type="log") if log_y else alt.Scale(type="linear", zero=zero)
    axis = alt.Axis(values=list(ticks), format=",d") if ticks else axis_of(frame, x)
    encoded = {
        "x": alt.X(f"{x}:Q", title=axes[0], scale=scale_x, axis=axis),
        "y": alt.Y(f"{y}:Q", title=axes[1], scale=scale_y),
    }
    colour = alt.Color(f"{group}:N", title=None, sort=None)
    if frame[group].unique().to_list() == [""]:
        colour = colour.legend(None)
    curves = (
        alt.Chart(frame)
        .mark_line(point=frame.height < 200 and frame.height <= 60 * frame[group].n_unique())
        .encode(**encoded, color=colour, tooltip=list(frame.columns))
    )
    if points is not None:
        curves = alt.Chart(points).mark_circle(color="black", size=14, opacity=0.6).encode(**encoded) + curves
    return finish(curves, title)


def _every(frame: pl.DataFrame, column: str) -> list[float]:
    values = sorted(frame[column].unique().to_list())
    return values[:: max(1, len(values) // 10)]


def _round_depths(frame: pl.DataFrame, column: str) -> list[float]:
    """The first depth and the tens, where these are enough to go by."""
    depths = sorted(frame[column].unique().to_list())
    tens = [depth for depth in depths if depth == depths[0] or depth % 10 == 0]
    return tens if 3 <= len(tens) <= 12 else _every(frame, column)


def volatility(frame: pl.DataFrame, x: str, y: str, value: str, *, pooled: int, title: str | None = None) -> Any:
    """How much two depths' orderings agree, in bands; 0.9 and more is as good as equal. The pool's depth is a line.

    A value `rmse` is a distance of scores, so its bands go the other way.
    """
    import altair as alt
    import polars as pl

    is_distance = value == "rmse"
    limits = [0.01, 0.02, 0.04, 0.08, 0.16] if is_distance else [0.5, 0.6, 0.7, 0.8, 0.9]
    bands = BANDS[::-1] if is_distance else BANDS
    # Plain field names: a point in one, as in RBP(p=0.95), would be taken for a path.
    plain = frame.rename({x: "across", y: "up", value: "value"}).with_columns(
        tooltip=pl.format("depths {} and {}; {} {}", "across", "up", pl.lit(value), pl.col("value").round(3))
    )
    across = alt.X("across:O", title=x.strip(), axis=alt.Axis(values=_round_depths(plain, "across"), labelAngle=0))
    up = alt.Y("up:O", title=y.strip(), sort="descending", axis=alt.Axis(values=_round_depths(plain, "up")))
    colour = alt.Color("value:Q", scale=alt.Scale(type="threshold", domain=limits, range=bands), title=value)
    cells = (
        alt.Chart(plain)
        .mark_rect()
        .encode(
            x=across,
            y=up,
            color=colour,
            tooltip=["across", "up", alt.Tooltip("value:Q", format=".3f")],
            description="tooltip:N",
        )
    )
    if title is None:
        what = "Distance of scores" if is_distance else "Agreement of system orderings"
        title = f"{what} between depths ({value}; dark green: {'below 0.01' if is_distance else '0.9 and more'})"
    if pooled in plain["across"].to_list():
        at = alt.Chart(pl.DataFrame({"across": [pooled], "up": [pooled]})).mark_rule(strokeDash=[4, 3])
        cells = cells + at.encode(x=across) + at.encode(y=up)
    return finish(cells, title, 420, 420)


def tie_segments(frame: pl.DataFrame, measure: str) -> Any:
    """Each run from its pessimistic to its optimistic mean, higher up the wider (YMT-ties Fig. 2).

    A circle is trec_eval's order, a triangle the mean over all orders. Spreads below 1e-6 are drawn there. A column
    label names runs.
    """
    import altair as alt
    import polars as pl

    least = 1e-6
    columns = ["run", "pessimistic", "optimistic", "trec", "expected", "tied"]
    data = frame.select(*columns, *(["label"] if "label" in frame.columns else [])).with_columns(
        width=pl.max_horizontal(pl.col("optimistic") - pl.col("pessimistic"), pl.lit(least)),
        tooltip=pl.format(
            "{}; {} tied documents; pessimistic {}; optimistic {}; trec_eval's order {}; mean over all orders {}",
            "run",
            "tied",
            *(pl.col(name).round(5) for name in ("pessimistic", "optimistic", "trec", "expected")),
        ),
    )
    greatest = max(least, *data["width"].to_list())
    left, right = min(data["pessimistic"].to_list()), max(data["optimistic"].to_list())
    edge = 0.03 * (right - left) or 0.01
    up = alt.Y(
        "width:Q",
        title=f"optimistic - pessimistic {measure}, mean over topics",
        scale=alt.Scale(type="log", domain=[least, greatest * 1.5]),
        axis=alt.Axis(format=".0e", values=[10.0**-i for i in range(7)], grid=True),
    )
    colour = alt.Color(
        "tied:Q",
        title="tied documents",
        legend=alt.Legend(format="s"),
        scale=alt.Scale(type="sqrt", range=[COLOURS[5], COLOURS[1]], interpolate="lab"),  # visible on dark pages too
    )
    means = ("pessimistic", "trec", "expected", "optimistic")
    tooltip = [alt.Tooltip("run:N"), *(alt.Tooltip(f"{name}:Q", format=".5f") for name in means), alt.Tooltip("tied:Q")]
    base = alt.Chart(data).encode(y=up, color=colour, tooltip=tooltip, description="tooltip:N")
    reach = alt.Scale(domain=[max(left - edge, 0), right + edge], nice=False)
    across = alt.X("pessimistic:Q", title=f"mean {measure}", scale=reach)
    lines = base.mark_rule(strokeWidth=2).encode(x=across, x2="optimistic:Q")
    marks = (
        alt.Chart(data)
        .transform_fold(["trec", "expected"], as_=["order", "mean"])
        .mark_point(size=40, filled=False, strokeWidth=1.5)
        .encode(
            x="mean:Q",
            y=up,
            color=colour,
            shape=alt.Shape(
                "order:N", title="order", scale=alt.Scale(domain=["trec", "expected"], range=["circle", "triangle-up"])
            ),
            tooltip=tooltip,
            description="tooltip:N",
        )
    )
    shown = alt.layer(lines, marks, *_names(data, "optimistic", up))
    return finish(shown, f"What the order of tied documents can do to {measure}", 520, 360)


def confusion(frame: pl.DataFrame, source: str) -> Any:
    """How a source labels the documents of each human grade: darker where more of the grade's documents are.

    Columns grade, label, documents and share (of the grade's documents); a good source is dark on the diagonal.
    """
    import altair as alt
    import polars as pl

    data = frame.with_columns(
        shown=pl.format("{}", "documents"),
        light=pl.col("share") > 0.5,
        tooltip=pl.format(
            "grade {}, label {}: {} documents, {}% of the grade's",
            "grade",
            "label",
            "documents",
            (pl.col("share") * 100).round(1),
        ),
    )
    base = alt.Chart(data).encode(
        x=alt.X("label:O", title=f"label of {source}", sort=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("grade:O", title="human grade", sort=None),
    )
    colour = alt.Color(
        "share:Q",
        title="share of the grade",
        scale=alt.Scale(domain=[0, 1], range=["white", COLOURS[0]], interpolate="rgb"),
        legend=alt.Legend(format="%"),
    )
    cells = base.mark_rect(stroke=PALE, strokeWidth=0.5).encode(color=colour, description="tooltip:N")
    text = base.mark_text(fontSize=12).encode(
        text="shown:N", color=alt.condition("datum.light", alt.value("white"), alt.value("black"))
    )
    return finish(cells + text, f"Human grades and labels of {source}", 360, 280)


def score_scatter(frame: pl.DataFrame, axes: tuple[str, str]) -> Any:
    """Each run by its score with human judgments and with labels; on the dashed line both are equal.

    Columns human, labels, kind (`other runs` or `looks circular`) and tooltip. Runs in the same order by both rise from
    left to right; one far above the others gains from the labels more than they do.
    """
    import altair as alt
    import polars as pl

    ends = [*frame["human"].to_list(), *frame["labels"].to_list()]
    edge = 0.05 * (max(ends) - min(ends)) or 0.05
    scale = alt.Scale(domain=[max(0.0, min(ends) - edge), max(ends) + edge], nice=False, zero=False)
    corners = pl.DataFrame({"human": scale.domain, "labels": scale.domain})
    line = alt.Chart(corners).mark_line(strokeDash=[4, 3], strokeWidth=1, color=PALE).encode(x="human:Q", y="labels:Q")
    points = (
        alt.Chart(frame)
        .mark_circle(size=60, opacity=0.8)
        .encode(
            x=alt.X("human:Q", title=axes[0], scale=scale),
            y=alt.Y("labels:Q", title=axes[1], scale=scale),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=["other runs", "looks circular"], range=COLOURS[:2]),
            ),
            tooltip="tooltip:N",
            description="tooltip:N",
        )
    )
    return finish(line + points, "Scores by people and by labels of the same documents", 360, 360)


# -- charts of the report -----------------------------------------------------------------------------------------

WIDE = 1130
RANGE = "#7A9BB5"
FEW = 8  # systems whose ranges and ranks fit on a phone
NAMED = 40  # systems named on an axis; if there are more, the places are numbered, and names come on hover
VERDICTS = {
    "certain": "#0072B2",
    "supported": "#56B4E9",
    "significant": "#009E73",  # of scores without documents, where nothing is known about judging
    "fragile": "#E69F00",
    "open": "#F0D9A8",
    "tie": "#8C8C8C",
}
# Text and lines take the colour of the page around them, light or dark.
ON_PAGE = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "rule": {"color": "currentColor"},
    "text": {"color": "currentColor"},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "domainColor": "#8C8C8C",
        "tickColor": "#8C8C8C",
        "gridColor": "#8C8C8C",
        "gridOpacity": 0.25,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 12,
    },
    "legend": {
        "columnPadding": 24,
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "titleFontWeight": "normal",
    },
}


def for_a_page(chart: Any) -> dict[str, Any]:
    """The specification of a chart without title, which stands in the page."""
    spec: dict[str, Any] = as_xml_text(specification(chart))
    spec.pop("title", None)
    spec["config"] = {**spec.get("config", {}), **ON_PAGE}
    spec["padding"] = {"left": 24, "right": 16, "top": 5, "bottom": 5}  # the reader's font may be wider than ours
    return spec


def svg(spec: dict[str, Any], name: str) -> str:
    """A chart as an element of a page, with ids that start with `name`, and black in the colour of the text around."""
    import re

    import vl_convert

    text: str = vl_convert.vegalite_to_svg(spec)
    # Vega numbers what it draws on and on, and takes links inside the page for those of a site.
    for i, mark in enumerate(dict.fromkeys(re.findall(r' id="([^"]+)"', text))):
        text = text.replace(f' id="{mark}"', f' id="{name}-{i}"').replace(f"url(#{mark})", f"url(#{name}-{i})")
    text = re.sub(r' xlink:href="[^"#]*#', ' href="#', text).replace('"#000000"', '"currentColor"')
    return re.sub(r'^<svg (.*?) width="([\d.]+)" height="[\d.]+"', r'<svg \1 style="width:\2px"', text, count=1)


def _places(names: Sequence[str], what: str, *, slanted: bool = True) -> dict[str, Any]:
    """An axis of places 1, 2, ..., with names if they are few."""
    import json

    import altair as alt

    n = len(names)
    few = n <= NAMED
    axis = alt.Axis(grid=False)
    if few:
        # Written as JSON, names are strings of Vega's expressions too, which undo JSON's escapes.
        axis = alt.Axis(
            grid=False,
            values=list(range(1, n + 1)),
            labelExpr=f"{json.dumps(as_xml_text(list(names)))}[datum.value - 1]",
            labelLimit=110,
            labelOverlap=False,
            ticks=False,
        )
    if few and slanted:
        axis.labelAngle = -40
    title = None if few else f"{what}, best first"  # names speak for themselves, and slanted ones reach far down
    return {"title": title, "axis": axis, "scale": alt.Scale(domain=[0.5, n + 0.5], nice=False, zero=False)}


def _names(frame: pl.DataFrame, x: str, y: Any) -> list[Any]:
    """The names of the dots that have one, column `label`, on the side with room."""
    import altair as alt
    import polars as pl

    if "label" not in frame.columns or not len(frame):
        return []
    values = frame[x].to_list()
    middle = (min(values) + max(values)) / 2
    layers = []
    for to_right in (True, False):
        named = frame.filter(((pl.col(x) <= middle) == to_right) & (pl.col("label") != ""))
        if len(named):
            place: Any = {"align": "left", "dx": 6} if to_right else {"align": "right", "dx": -6}
            mark = alt.Chart(named).mark_text(**place, baseline="bottom", dy=-3, fontSize=11, aria=False)
            layers.append(mark.encode(x=f"{x}:Q", y=y, text="label:N"))
    return layers


def _hit(frame: pl.DataFrame, at: Any, width: float, height: float) -> Any:
    """Invisible lines from top to bottom, which tell of their place (column `tooltip`) where marks are thin."""
    import altair as alt

    lines = alt.Chart(frame).mark_rule(opacity=0, strokeWidth=width / max(len(frame), 1))
    return lines.encode(x=at, y=alt.value(0), y2=alt.value(height), description="tooltip:N")


def ranges(frame: pl.DataFrame, measure: str) -> Any:
    """Each system's score inside its range, best first.

    Columns: place, run, score, low, high, tie_low, tie_high, estimate, likely_low, likely_high, tooltip; and label, the
    names of dots to be named where the axis has none.
    """
    import altair as alt

    height = 300
    at = alt.X("place:Q", **_places(frame["run"].to_list(), "runs"))
    up = alt.Y("low:Q", title=f"{measure}, mean over topics")
    base = alt.Chart(frame)
    width = min(WIDE, max(280, 70 * len(frame)))  # a few systems fit on a phone
    step = width / max(len(frame), 1)
    size = min(9.0, 0.7 * step)
    layers = [
        base.mark_rule(strokeWidth=max(1.5, min(5.0, 0.45 * step)), color=RANGE, opacity=0.5, aria=False).encode(
            x=at, y=up, y2="high:Q"
        ),
        base.mark_rule(strokeWidth=max(1.0, min(2.0, 0.3 * step)), color=COLOURS[2], aria=False).encode(
            x=at, y="likely_low:Q", y2="likely_high:Q"
        ),
        base.mark_rule(strokeWidth=max(2.0, min(5.0, 0.45 * step)), color=COLOURS[1], aria=False).encode(
            x=at, y="tie_low:Q", y2="tie_high:Q"
        ),
        base.mark_circle(size=size**2, color=COLOURS[0], opacity=1, aria=False).encode(x=at, y="score:Q"),
        base.mark_point(
            shape="diamond", size=1.6 * size**2, color=COLOURS[2], filled=False, strokeWidth=1.8, opacity=1, aria=False
        ).encode(x=at, y="estimate:Q"),
        _hit(frame, at, width, height),
    ]
    layers += _names(frame, "place", "score:Q")
    return finish(alt.layer(*layers), f"{measure} of each system, and the range it could have", width, height)


def sounding(
    rows: Sequence[tuple[str, float, float, float | None]],
    score: float,
    estimate: float,
    title: str,
    *,
    difference: bool,
) -> Any:
    """How far each source of doubt could move a number, the narrowest on top: name, low, high, share of the variance.

    The greater the share, the darker the bar; a line marks the number, a diamond its estimate, and for a difference a
    dashed line marks 0.
    """
    import altair as alt
    import polars as pl

    form = "+.4f" if difference else ".4f"
    text = [
        f"{name}: {low:{form}} to {high:{form}}" + ("" if share is None else f", {share:.0%} of the variance")
        for name, low, high, share in rows
    ]
    least = (max(high for _, _, high, _ in rows) - min(low for _, low, _, _ in rows)) / 300  # still visible
    frame = pl.DataFrame(
        [
            (name, low - max(0.0, least - (high - low)) / 2, high + max(0.0, least - (high - low)) / 2, share, tip)
            for (name, low, high, share), tip in zip(rows, text, strict=True)
        ],
        schema={"source": pl.String, "low": pl.Float64, "high": pl.Float64, "share": pl.Float64, "tooltip": pl.String},
        orient="row",
    )
    labels = frame.with_columns(label=pl.format("{}%", (100 * pl.col("share")).round(0).cast(pl.Int64)))
    down = alt.Y("source:N", sort=[name for name, *_ in rows], title=None, axis=alt.Axis(ticks=False, labelLimit=220))
    base = alt.Chart(frame)
    scale = alt.Scale(zero=False, nice=True)
    across = alt.X(
        "low:Q", title=f"{'difference' if difference else 'score'} (line: as judged; diamond: once judged)", scale=scale
    )
    bars = [
        base.transform_filter("datum.share == null")
        .mark_bar(height=14, color=RANGE, opacity=0.5)
        .encode(x=across, x2="high:Q", y=down, tooltip="tooltip:N"),
        base.transform_filter("datum.share != null")
        .mark_bar(height=14, color=COLOURS[0])
        .encode(
            x=across,
            x2="high:Q",
            y=down,
            opacity=alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.35, 1]), legend=None),
            tooltip="tooltip:N",
        ),
        alt.Chart(labels.drop_nulls())
        .mark_text(align="left", dx=8, fontSize=11)
        .encode(x=alt.value("width"), y=down, text="label:N"),
    ]
    marks = [alt.Chart(pl.DataFrame({"at": [score]})).mark_rule(color=COLOURS[6], strokeWidth=1.5).encode(x="at:Q")]
    point = alt.Chart(pl.DataFrame({"at": [estimate], "source": [rows[0][0]]}))
    diamond = point.mark_point(shape="diamond", size=70, color=COLOURS[2], filled=True, opacity=1)
    marks.append(diamond.encode(x="at:Q", y=down))
    if difference:
        zero = alt.Chart(pl.DataFrame({"at": [0.0]})).mark_rule(color=COLOURS[7], strokeDash=[4, 3]).encode(x="at:Q")
        marks.insert(0, zero)
    return finish(alt.layer(*bars, *marks), title, 420, 30 * len(rows))


def rank_intervals(frame: pl.DataFrame, measure: str, topics: str, likely: str) -> Any:
    """Each system's rank as a dot, and the ranks it could have, a line a system and the best first.

    Columns: run, rank, rank_low, rank_high (thin), likely_rank_low, likely_rank_high (over it), rank_ci_low,
    rank_ci_high (broad), tooltip; `topics` and `likely` are how the legend calls the last two.
    """
    import altair as alt
    import polars as pl

    n = len(frame)
    step = max(9.0, min(24.0, 1300 / max(n, 1)))
    spans = {
        topics: ("rank_ci_low", "rank_ci_high", COLOURS[5], 0.7),
        "possible, over judging and ties": ("rank_low", "rank_high", COLOURS[7], 0.12),
        likely: ("likely_rank_low", "likely_rank_high", COLOURS[2], 0.34),
    }
    shown = {name: span for name, span in spans.items() if frame[span[0]].is_not_null().any()}
    colours = alt.Scale(domain=[*shown, "rank by score"], range=[*(span[2] for span in shown.values()), COLOURS[6]])
    legend = alt.Legend(orient="top", title=None, columns=1 if n <= FEW else 2, labelLimit=400, symbolType="square")
    down = alt.Y(
        "run:N",
        sort=frame["run"].to_list(),
        title=None,
        axis=alt.Axis(labelOverlap=False, labelLimit=160, labelFontSize=min(11, step - 1), ticks=False),
    )
    every = 5 * max(1, round(n / 50)) if n > 12 else 1
    ticks = [1, *range(max(every, 2), n + 1, every)]
    across = alt.X(
        "start:Q",
        title="rank",
        scale=alt.Scale(domain=[0.4, n + 0.6], nice=False, zero=False),
        axis=alt.Axis(values=ticks, format="d"),
    )
    colour = alt.Color("kind:N", scale=colours, legend=legend)
    layers = []
    for name, (low, high, _, broad) in shown.items():
        # A little before and after, so that a single rank is seen too.
        ends = frame.select("run", start=pl.col(low) - 0.35, stop=pl.col(high) + 0.35, kind=pl.lit(name)).drop_nulls()
        bars = alt.Chart(ends).mark_bar(height=max(1.6, broad * step), aria=False)
        layers.append(bars.encode(x=across, x2="stop:Q", y=down, color=colour))
    dots = alt.Chart(frame.select("run", "tooltip", start="rank", kind=pl.lit("rank by score")))
    marks = dots.mark_circle(size=min(60.0, (0.75 * step) ** 2), opacity=1)
    layers.append(marks.encode(x=across, y=down, color=colour, description="tooltip:N"))
    title = f"{measure}: the rank of each system, and the ranks it could have"
    return finish(alt.layer(*layers), title, 360 if n <= FEW else 620, int(n * step))


def verdict_matrix(frame: pl.DataFrame, names: Sequence[str]) -> Any:
    """Which comparisons can be claimed: a cell for each two systems, both ways by place.

    Columns: row, start, stop, verdict; neighbours with the same verdict are one box, so that 140 systems stay small.
    """
    import altair as alt

    size = max(200, min(440, 36 * len(names)))
    present = [verdict for verdict in VERDICTS if verdict in set(frame["verdict"])]
    across, down = _places(names, "runs"), _places(names, "runs", slanted=False)
    down["scale"] = alt.Scale(domain=[0.5, len(names) + 0.5], nice=False, zero=False, reverse=True)
    boxes = (
        alt.Chart(frame)
        .transform_calculate(
            left="datum.start - 0.5", right="datum.stop + 0.5", top="datum.row - 0.5", bottom="datum.row + 0.5"
        )
        .mark_rect(aria=False)
        .encode(
            x=alt.X("left:Q", **across),
            x2="right:Q",
            y=alt.Y("top:Q", **down),
            y2="bottom:Q",
            color=alt.Color(
                "verdict:N",
                title=None,
                scale=alt.Scale(domain=present, range=[VERDICTS[verdict] for verdict in present]),
                legend=alt.Legend(orient="top", symbolType="square"),
            ),
        )
    )
    return finish(boxes, "Which differences can be claimed", size, size)


def topic_spread(frame: pl.DataFrame, measure: str) -> Any:
    """How the systems' scores spread on each topic: all, the middle half and the median; a topic is a link.

    Columns: place, topic, low, q1, median, q3, high, tooltip, link.
    """
    import altair as alt

    height = 260
    base = alt.Chart(frame)
    at = alt.X("place:Q", **_places(frame["topic"].to_list(), "topics"))
    width = max(1.5, min(12.0, 0.6 * WIDE / max(len(frame), 1)))
    layers = [
        base.mark_rule(color=RANGE, strokeWidth=1.5, aria=False).encode(
            x=at, y=alt.Y("low:Q", title=f"{measure} of the runs"), y2="high:Q"
        ),
        base.mark_rule(color=COLOURS[5], strokeWidth=width, aria=False).encode(x=at, y="q1:Q", y2="q3:Q"),
        base.mark_circle(color=COLOURS[0], size=0.6 * width**2, opacity=1, aria=False).encode(x=at, y="median:Q"),
        _hit(frame, at, WIDE, height).encode(href="link:N"),
    ]
    return finish(alt.layer(*layers), f"{measure} topic by topic", WIDE, height)


def depth_lines(frame: pl.DataFrame, chosen: Sequence[str], measure: str, pooled: int) -> Any:
    """Score against depth, one line a system; those chosen in colour. Columns: run, depth, score, tooltip."""
    import altair as alt
    import polars as pl

    x = alt.X("depth:Q", title="depth of evaluation (documents, log scale)", scale=alt.Scale(type="log", nice=False))
    y = alt.Y("score:Q", title=f"{measure} at that depth, mean over topics")
    tooltip = {"detail": "run:N", "description": "tooltip:N"}
    rest = alt.Chart(frame.filter(~pl.col("run").is_in(list(chosen)))).mark_line(
        strokeWidth=1, opacity=0.45, color="#8C8C8C"
    )
    named = (
        alt.Chart(frame.filter(pl.col("run").is_in(list(chosen))))
        .mark_line(strokeWidth=2.2)
        .encode(
            color=alt.Color(
                "run:N",
                title=None,
                sort=list(chosen),
                scale=alt.Scale(domain=list(chosen), range=COLOURS[: len(chosen)]),
                legend=alt.Legend(orient="top", columns=3, labelLimit=180),
            )
        )
    )
    rule = alt.Chart(pl.DataFrame({"depth": [max(pooled, 1)]})).mark_rule(strokeDash=[4, 3], aria=False)
    layers = [rest.encode(x=x, y=y, **tooltip), named.encode(x=x, y=y, **tooltip), rule.encode(x="depth:Q")]
    return finish(alt.layer(*layers), f"{measure} against depth", 450, 340)


def changed(frame: pl.DataFrame, measure: str) -> Any:
    """What happens to each run's score without its own contribution. Columns: full, percent, tooltip; and label, the
    names of dots to be named."""
    import altair as alt
    import polars as pl

    dots = (
        alt.Chart(frame)
        .mark_circle(size=36, color=COLOURS[0], opacity=0.75)
        .encode(
            x=alt.X("full:Q", title=f"{measure} with all judgments", scale=alt.Scale(zero=False)),
            y=alt.Y("percent:Q", title="change without its own documents (%)"),
            description="tooltip:N",
        )
    )
    zero = alt.Chart(pl.DataFrame({"percent": [0.0]})).mark_rule(strokeDash=[4, 3], aria=False).encode(y="percent:Q")
    shown = alt.layer(zero, dots, *_names(frame, "full", "percent:Q"))
    return finish(shown, f"{measure}: leaving each run out of the pool", 430, 260)


def gained_and_lost(frame: pl.DataFrame, kinds: Sequence[str], topics: Sequence[str]) -> Any:
    """Documents gained (up) and lost (down) in the first places of each topic, most changed first.

    Columns: place, kind (one of `kinds`: relevant, nonrelevant and unjudged, or gained and lost), start, stop, tooltip.
    """
    import altair as alt
    import polars as pl

    places = _places(topics, "topics")
    if len(topics) > NAMED:
        places["title"] = "topics, most changed first"
    colours = [COLOURS[2], COLOURS[1], PALE] if len(kinds) == 3 else [COLOURS[0], COLOURS[4]]
    bars = (
        alt.Chart(frame)
        .mark_bar(size=max(2.0, min(18.0, 0.7 * WIDE / max(len(topics), 1))))
        .encode(
            x=alt.X("place:Q", **places),
            y=alt.Y("start:Q", title="documents lost (below 0) and gained", axis=alt.Axis(tickMinStep=1)),
            y2="stop:Q",
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(kinds), range=colours),
                legend=alt.Legend(orient="top", symbolType="square"),
            ),
            description="tooltip:N",
        )
    )
    zero = alt.Chart(pl.DataFrame({"start": [0.0]})).mark_rule(aria=False).encode(y="start:Q")
    return finish(bars + zero, "Documents gained and lost in the first places", WIDE, 260)


def curves(frame: pl.DataFrame, axes: tuple[str, str], *, log: bool = False) -> Any:
    """A curve a group, from columns x, y, group and tooltip."""
    import altair as alt

    groups = frame["group"].unique(maintain_order=True).to_list()
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(nice=False)
    base = alt.Chart(frame).encode(
        x=alt.X("x:Q", title=axes[0], scale=scale, axis=alt.Axis(tickMinStep=1, format="~s" if log else "d")),
        y=alt.Y("y:Q", title=axes[1], scale=alt.Scale(zero=True)),
        color=alt.Color(
            "group:N",
            title=None,
            scale=alt.Scale(domain=groups, range=COLOURS[: len(groups)]),
            legend=alt.Legend(orient="top", labelLimit=240) if len(groups) > 1 else None,
        ),
    )
    marks = base.mark_circle(size=40, opacity=1).encode(description="tooltip:N")
    return finish(base.mark_line(aria=False) + marks, axes[1], 430, 260)
