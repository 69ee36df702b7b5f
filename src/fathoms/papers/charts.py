"""Charts that only the papers' studies draw, and those of all of fathoms that they draw too.

What holds of charts in `base/charts.py` holds here: nothing is computed, and colours are those of its constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathoms.base.charts import COLOURS, PALE, as_xml_text, axis_of, finish, in_style, specification
from fathoms.base.charts import lines as lines
from fathoms.base.charts import tie_segments as tie_segments
from fathoms.base.charts import volatility as volatility

if TYPE_CHECKING:
    import polars as pl

PRINTED = {  # what figures on paper have, whatever font a reader's program puts in the place of sans-serif
    "font": "sans-serif",
    "padding": {"left": 18, "right": 24, "top": 10, "bottom": 10},
    "legend": {"labelLimit": 0, "titleLimit": 0, "columnPadding": 18, "rowPadding": 4},
    "axis": {"labelLimit": 0, "titleLimit": 0},
    "title": {"limit": 0},
}


def to_print(chart: Any) -> dict[str, Any]:
    """The specification of a figure with room around its text, so that a wider font than ours is not cut off."""
    spec: dict[str, Any] = as_xml_text(specification(chart))
    config = spec.setdefault("config", {})
    padding = PRINTED["padding"]
    spec["padding"] = padding
    for name, values in PRINTED.items():
        if isinstance(values, dict) and name != "padding":
            config[name] = values | config.get(name, {})
    config["font"] = PRINTED["font"]
    return spec


def panes(
    charts: Sequence[Any],
    title: str,
    across: int = 2,
    *,
    size: tuple[int, int] | None = None,
    one_legend: bool = False,
) -> Any:
    """Several charts in rows, each with its title, scales and legend of its own; `one_legend` has one for all."""
    import altair as alt

    plain = []
    for chart in charts:
        bare = chart.copy(deep=True)
        bare.config = alt.Undefined  # which only the whole may have
        if size is not None:
            bare = bare.properties(width=size[0], height=size[1])
        plain.append(bare)
    whole = alt.concat(*plain, columns=across, spacing=28, title=title).resolve_scale(
        color="shared" if one_legend else "independent", x="independent", y="independent", shape="independent"
    )
    return in_style(whole)


def bars(frame: pl.DataFrame, x: str, y: str, group: str, title: str, axes: tuple[str, str]) -> Any:
    """Side by side bars of shares, one colour a group."""
    import altair as alt

    chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X(f"{x}:O", title=axes[0], sort=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y(f"{y}:Q", title=axes[1]),
            xOffset=alt.XOffset(f"{group}:N", sort=None),
            color=alt.Color(f"{group}:N", title=None, sort=None),
        )
    )
    return finish(chart, title)


def calibration(frame: pl.DataFrame, x: str, y: str, group: str, title: str, axes: tuple[str, str]) -> Any:
    """How often what is said with a confidence is right, one colour a group; on the dashed line as often as said.

    Accuracy is drawn from 0.4 up, or from where the data start if that is lower.
    """
    import altair as alt
    import polars as pl

    least = min(0.4, *frame[y].to_list())
    encoded = {
        "x": alt.X(f"{x}:Q", title=axes[0], scale=alt.Scale(domain=[0.5, 1])),
        "y": alt.Y(f"{y}:Q", title=axes[1], scale=alt.Scale(domain=[least, 1])),
    }
    ideal = alt.Chart(pl.DataFrame({x: [0.5, 1.0], y: [0.5, 1.0]})).mark_line(color="black", strokeDash=[5, 3])
    color = alt.Color(f"{group}:N", title=None, sort=None)
    curves = alt.Chart(frame).mark_line(point=True).encode(**encoded, color=color, tooltip=list(frame.columns))
    return finish(ideal.encode(**encoded) + curves, title)


def diagram(frame: pl.DataFrame, title: str, points: pl.DataFrame) -> Any:
    """Words at places (columns x, y, words), y downwards, and lines between places (`points`: x, y, x2, y2)."""
    import altair as alt

    x = alt.X("x:Q", axis=None, scale=alt.Scale(zero=False, nice=False, padding=16))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(zero=False, nice=False, padding=12, reverse=True))
    links = alt.Chart(points).mark_rule(color=PALE).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    words = alt.Chart(frame).mark_text(fontSize=12).encode(x=x, y=y, text="words:N")
    rows = frame["y"].n_unique()
    return finish(links + words, title, 560, 22 * rows).configure_view(stroke=None)


def surface(frame: pl.DataFrame, x: str, y: str, value: str, title: str, best: tuple[float, float]) -> Any:
    """A heat map over a grid of x and y, with a cross at its least point, which need not be one of the grid's."""
    import altair as alt
    import polars as pl

    ends: dict[str, Any] = {}
    scales: dict[str, Any] = {}
    for column in (x, y):
        places = sorted(frame[column].unique().to_list())
        half = (places[1] - places[0]) / 2 if len(places) > 1 else 0.5
        scales[column] = alt.Scale(domain=[places[0] - half, places[-1] + half], nice=False)
        # Each reaches a little into the next, over the seams that drawing programs leave between cells.
        to = pl.min_horizontal(pl.col(column) + 1.2 * half, pl.lit(places[-1] + half))
        ends |= {f"{column}_from": pl.col(column) - half, f"{column}_to": to}
    heat = (
        alt.Chart(frame.with_columns(**ends))
        .mark_rect()
        .encode(
            x=alt.X(f"{x}_from:Q", title=x, scale=scales[x]),
            x2=f"{x}_to:Q",
            y=alt.Y(f"{y}_from:Q", title=y, scale=scales[y]),
            y2=f"{y}_to:Q",
            color=alt.Color(f"{value}:Q", title=value, scale=alt.Scale(scheme="viridis", reverse=True)),
        )
    )
    least = alt.Chart(pl.DataFrame({f"{x}_from": [best[0]], f"{y}_from": [best[1]]})).encode(
        x=f"{x}_from:Q", y=f"{y}_from:Q"
    )
    halo = least.mark_point(shape="cross", size=150, filled=True, opacity=1, color="white")
    return finish(heat + halo + least.mark_point(shape="cross", size=70, filled=True, opacity=1, color="black"), title)


def p_scatter(
    frame: pl.DataFrame,
    x: str,
    y: str,
    alpha: float,
    title: str,
    axes: tuple[str, str],
    outcomes: Sequence[str] = ("stays", "gained", "never", "reversed"),
) -> Any:
    """One dot a pair of systems by its two p-values, with the four quadrants at alpha.

    `outcomes` names them: significant by both, by the second, by neither and by the first.
    """
    import altair as alt
    import polars as pl

    scale = alt.Scale(type="log", domain=[1e-6, 1])
    dots = (
        alt.Chart(frame)
        .mark_circle(size=10, opacity=0.5)
        .encode(
            x=alt.X(f"{x}:Q", title=axes[0], scale=scale, axis=alt.Axis(grid=False)),
            y=alt.Y(f"{y}:Q", title=axes[1], scale=scale, axis=alt.Axis(grid=False)),
            color=alt.Color(
                "outcome:N",
                title=None,
                scale=alt.Scale(
                    domain=list(outcomes),
                    range=[*COLOURS[:1], *COLOURS[5:6], PALE, *COLOURS[1:2]],
                ),
            ),
        )
    )
    at = pl.DataFrame({"alpha": [alpha]})
    down = alt.Chart(at).mark_rule(strokeDash=[4, 3]).encode(x="alpha:Q")
    across = alt.Chart(at).mark_rule(strokeDash=[4, 3]).encode(y="alpha:Q")
    return finish(dots + down + across, title, 360, 360)


def many_lines(
    frame: pl.DataFrame,
    x: str,
    y: str,
    group: str,
    title: str,
    axes: tuple[str, str],
    pooled: int,
    emphasised: Sequence[str] = (),
) -> Any:
    """One thin line a system, its name on hover; the pool's depth as a dotted rule (LMC-depth Figs. 2 and 3).

    Those `emphasised` are darker, so that the overall pattern can be seen.
    """
    import altair as alt
    import polars as pl

    encoded = {
        "x": alt.X(f"{x}:Q", title=axes[0], axis=axis_of(frame, x), scale=alt.Scale(nice=False)),
        "y": alt.Y(f"{y}:Q", title=axes[1], scale=alt.Scale(zero=False)),
        "detail": f"{group}:N",
        "tooltip": [group, x, alt.Tooltip(f"{y}:Q", format=".4f")],
    }
    curves = (
        alt.Chart(frame)
        .mark_line(strokeWidth=1, opacity=0.35 if emphasised else 0.55, color=COLOURS[0])
        .encode(**encoded)
    )
    if emphasised:
        dark = frame.filter(pl.col(group).is_in(list(emphasised)))
        curves = curves + alt.Chart(dark).mark_line(strokeWidth=2, color=COLOURS[6]).encode(**encoded)
    rule = alt.Chart(pl.DataFrame({x: [pooled]})).mark_rule(strokeDash=[2, 2]).encode(x=f"{x}:Q")
    return finish(curves + rule, title)


def boxes(frame: pl.DataFrame, x: str, group: str, title: str, axes: tuple[str, str]) -> Any:
    """Box and whiskers from columns low, q1, median, q3, high, side by side, one colour a group.

    A diamond is the mean, rings are the extremes (columns mean, min and max).
    """
    import altair as alt

    base = alt.Chart(frame).encode(
        x=alt.X(f"{x}:O", title=axes[0], axis=alt.Axis(labelAngle=0)), xOffset=alt.XOffset(f"{group}:N", sort=None)
    )
    colour = alt.Color(f"{group}:N", title=None, sort=None, legend=alt.Legend(symbolType="square"))
    whiskers = base.mark_rule().encode(y=alt.Y("low:Q", title=axes[1]), y2="high:Q", color=colour)
    box = base.mark_bar(size=14).encode(y="q1:Q", y2="q3:Q", color=colour, tooltip=list(frame.columns))
    median = base.mark_tick(color="white", thickness=2, size=14).encode(y="median:Q")
    mean = base.mark_point(color="black", shape="diamond", size=18, filled=True, opacity=1).encode(y="mean:Q")
    ends = [base.mark_point(size=14, strokeWidth=1).encode(y=f"{end}:Q", color=colour) for end in ("min", "max")]
    return finish(alt.layer(whiskers, box, median, mean, *ends), title)


def dots(frame: pl.DataFrame, x: str, y: str, title: str, axes: tuple[str, str]) -> Any:
    """One dot a row, all its columns on hover."""
    import altair as alt

    chart = (
        alt.Chart(frame)
        .mark_circle(size=30, color=COLOURS[0])
        .encode(x=alt.X(f"{x}:Q", title=axes[0]), y=alt.Y(f"{y}:Q", title=axes[1]), tooltip=list(frame.columns))
    )
    return finish(chart, title)


def score_bounds(
    frame: pl.DataFrame, title: str, axes: tuple[str, str], *, final: tuple[float, float], points: pl.DataFrame
) -> Any:
    """Lower and upper bounds of a score by depth from two pools, and an estimate (LMC-gain Fig. 2).

    Columns pool, bound, k, score; the last pool's lines are dotted, the first one's solid. The range at the last depth,
    `final`, is shaded beyond it. `points` are names at the ends: of lines (LB, UB), and of regions A, B and C, whose
    bound is `region`.
    """
    import altair as alt
    import polars as pl

    pools = list(dict.fromkeys(frame["pool"]))
    end = max(frame["k"].to_list())
    ticks = list(range(0, end + 1, max(1, end // 10)))
    x = alt.X("k:Q", title=axes[0], scale=alt.Scale(domain=[0, 1.28 * end], nice=False), axis=alt.Axis(values=ticks))
    y = alt.Y("score:Q", title=axes[1])
    dashes = [[2, 3] if pool == pools[-1] else [1, 0] if pool == pools[0] else [6, 3] for pool in pools]
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=x,
            y=y,
            detail="bound:N",
            color=alt.Color("pool:N", title=None, scale=alt.Scale(domain=pools, range=COLOURS[: len(pools)])),
            strokeDash=alt.StrokeDash("pool:N", title=None, scale=alt.Scale(domain=pools, range=dashes)),
        )
    )
    band = alt.Chart(pl.DataFrame({"k": [end], "to": [1.06 * end], "score": [final[0]], "top": [final[1]]}))
    shaded = band.mark_rect(color=COLOURS[-1], opacity=0.45).encode(x="k:Q", x2="to:Q", y="score:Q", y2="top:Q")
    regions = alt.Chart(points.filter(pl.col("bound") == "region")).mark_text(
        dx=26, align="left", fontSize=12, fontStyle="italic"
    )
    names = alt.Chart(points.filter(pl.col("bound") != "region")).mark_text(dx=5, align="left", fontSize=11)
    label = {"x": x, "y": y, "text": "pool:N"}
    return finish(alt.layer(shaded, lines, regions.encode(**label), names.encode(**label)), title, 460, 300)
