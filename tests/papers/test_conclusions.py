"""What of the papers' conclusions holds: on tables in which each is known to hold or to fail, and on collections."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import fathoms as fm
from fathoms.base import charts
from fathoms.data.simulate import simulate, write
from fathoms.papers import conclusions as module
from fathoms.papers import ties
from fathoms.papers.conclusions import CONCLUSIONS, Conclusion, as_study, conclusions
from fathoms.papers.exhibits import Study
from tests.support.commands import status

Row = dict[str, Any]


def study(**tables: list[Row]) -> Study:
    result = Study("paper", "collection", systems=11 if "table3" in tables else 0)
    for name, rows in tables.items():
        result.add(name, name, list(rows[0]), [tuple(row.values()) for row in rows])
    return result


def decided(decide: Callable[..., Any], made: Study) -> tuple[str, str]:
    (one,) = (one for one in CONCLUSIONS if one.decide is decide)
    (finding,) = (f for f in conclusions({one.paper: made}) if f.claim == one.claim)
    return finding.verdict, finding.figures


# -- the paper's own figures, and others ------------------------------------------------------------------------------


def rm(simplistic: tuple[float, float, float], interpolated: tuple[float, float, float], deep: Any = None) -> list[Row]:
    """Few, all and reversals of the two predictors for every metric; smoothed separates and reverses in between."""
    rows = []
    for metric in ("P@10", "SDCG@100", "RBP(p=0.8)"):
        for predictor, numbers in (
            ("simplistic", simplistic),
            ("interpolated", interpolated),
            ("smoothed", tuple((a + b) / 2 for a, b in zip(simplistic, interpolated, strict=True))),
        ):
            rows.append((metric, predictor, *numbers))
    rows += [("AP", "simplistic", *(deep or ((69.1, 71.4, 5.4), ()))[0])]
    rows += [("nDCG@100", "simplistic", *(deep or ((), (75.8, 79.9, 5.4)))[1])]
    names = ("metric", "predictor", "separability_few", "separability_all", "reversals")
    return [dict(zip(names, row, strict=True)) for row in rows]


IN_PAPER = rm((68.9, 67.5, 5.8), (58.6, 65.0, 2.2))
NOTHING = rm((30.0, 30.0, 0.0), (30.0, 30.0, 0.0), ((30.0, 30.0, 0.0), (30.0, 30.0, 0.0)))


def ladder(d: int, coverage: dict[str, float], table: str = "table7") -> list[Row]:
    return [
        {"collection": "c", "d": d, "k": k, "measure": name, "discrimination": 40.0, "coverage": at, "inversion": 0.0}
        for name, last in coverage.items()
        for k, at in ((10, 100.0), (1000, last))
    ]


def volatility(figure: dict[str, float]) -> list[Row]:
    return [
        {"measure": name, "other": name, "depth": a, "other_depth": b, "tau": 1.0 if a == b else tau}
        for name, tau in figure.items()
        for a in (1, 5, 9)
        for b in (1, 5, 9)
    ]


def left_out(shallow: float, deep: float) -> list[Row]:
    return [
        {"collection": "c", "d": d, "measure": name, "change_percent": change}
        for d, change in ((10, shallow), (100, deep))
        for name in ("AP(variant=b)", "nDCG")
    ]


def fits(**errors: float) -> list[Row]:
    usual = {"static": 0.3, "constant": 0.2, "linear": 0.16, "zipf": 0.17, "weibull": 0.12, "hybrid": 0.11}
    return [{"depth": depth, **usual, **errors, "weibull_mark": "dagger"} for depth in (10, 50)]


def extrapolated(*rows: tuple[int, float, float, float]) -> list[Row]:
    return [{"depth": d, "linear": a, "weibull": b, "RM": c} for d, a, b, c in rows]


ROB04 = extrapolated((20, 0.015, 0.018, 0.040), (40, 0.003, 0.004, 0.010), (60, 0.001, 0.001, 0.002))


def banded(mean: float) -> list[Row]:
    return [{"measure": "AP", "rho": rho, "mean": at} for rho, at in (("1.4", mean), ("2.0", 0.5))]


def kept(count: int) -> list[Row]:
    return [{"percent": p, "rho": rho, "AP": count if p == 99 else 11} for p in (99, 97) for rho in ("1.1", "1.2")]


def told(changed: float) -> dict[str, list[Row]]:
    rows = [{"measure": "AP", "rho": "1.4", "discrimination": 60.0, "false_positives": changed, "false_negatives": 0.1}]
    return {"tableA": rows, "table3": kept(11)}


def W(**intervals: tuple[float, float, float]) -> list[Row]:
    return [
        {"collection": "c", "method": method, "figure": "W", "value": value, "low": low, "high": high}
        for method, (value, low, high) in intervals.items()
    ]


def bins(accuracy: float, pairs: int = 400) -> list[Row]:
    rows = [{"method": "RTC", "confidence": "0.8 - 0.9", "pairs": pairs, "accuracy": accuracy, "W": 0.1}]
    return [*rows, {"method": "RTC", "confidence": "all", "pairs": pairs, "accuracy": 1.0, "W": 0.1}]


def test_row(figure: str, test: str, difference: float, p: float) -> list[Row]:
    row = {"method": "MTC", "other": "RTC", "figure": figure, "test": test, "difference": difference, "p": p}
    return [row]


test_row.__test__ = False  # type: ignore[attr-defined]


def unlike(rtc: float, mtc: float, pooling: float) -> list[Row]:
    name = "accuracy of pairs with less than 10% in common"
    return [{"method": m, "figure": name, "value": v} for m, v in (("RTC", rtc), ("MTC", mtc), ("IP", pooling))]


RECALL, UTILITY = ("AP(variant=b)", "Q"), ("ERR", "RBP(p=0.8)")
CONDENSED = ("AP(variant=b,judged_only=True)", "Q(judged_only=True)")


def both(a: float, b: float) -> dict[str, list[Row]]:
    return {"table7": ladder(10, dict.fromkeys(RECALL, a)), "table8": ladder(10, dict.fromkeys(CONDENSED, b))}


# Each rule with tables in which the conclusion holds, fails, and cannot be told.
CASES: list[tuple[str, dict[str, list[Row]], dict[str, list[Row]], dict[str, list[Row]]]] = [
    ("_simplistic_separates", {"table2": IN_PAPER}, {"table2": rm((50, 60, 1), (51, 60, 1))}, {"table2": NOTHING}),
    (
        "_interpolated_reverses_less",
        {"table2": IN_PAPER},
        {"table2": rm((60, 60, 2.0), (50, 60, 2.1))},
        {"table2": NOTHING},
    ),
    (
        "_deep_metrics_separate",
        {"table2": rm((60, 60, 1), (50, 60, 1))},
        {"table2": rm((70, 60, 1), (50, 60, 1))},
        {"table2": NOTHING},
    ),
    (
        "_deep_metrics_reverse",
        {"table2": IN_PAPER},
        {"table2": rm((60, 60, 1), (50, 60, 6))},
        {"table2": NOTHING},
    ),
    (
        "_recall_shallow",
        {"table7": ladder(10, dict.fromkeys(RECALL, 77.5))},
        {"table7a": ladder(10, dict.fromkeys(RECALL, 99.0))},
        {"table7": ladder(30, dict.fromkeys(RECALL, 77.5))},
    ),
    (
        "_recall_deep",
        {"table7": ladder(100, dict.fromkeys(RECALL, 99.7))},
        {"table7": ladder(100, dict.fromkeys(RECALL, 90.0))},
        {"table7": ladder(1000, dict.fromkeys(RECALL, 100.0))},
    ),
    (
        "_utility_shallow",
        {"table7b": ladder(10, dict.fromkeys(UTILITY, 96.2))},
        {"table7b": ladder(10, dict.fromkeys(UTILITY, 90.0))},
        {"table7b": ladder(100, dict.fromkeys(UTILITY, 96.2))},
    ),
    ("_condensing", both(78.4, 44.7), both(78.4, 80.0), both(99.0, 44.7)),
    (
        "_volatile",
        {"fig5": volatility({RECALL[0]: 0.7, "nDCG": 0.8}), "fig6": volatility({"ERR": 0.9, "RBP(p=0.95)": 0.85})},
        {"fig5": volatility({RECALL[0]: 0.7, "nDCG": 0.8}), "fig6": volatility({"ERR": 0.9, "RBP(p=0.95)": 0.75})},
        {"fig5": volatility({RECALL[0]: 0.7, "nDCG": 0.8})},
    ),
    ("_left_out", {"table5a": left_out(-20, -1.3)}, {"table5a": left_out(-1, -1.3)}, {"table5a": left_out(-1, -1)[:2]}),
    ("_weibull_fits", {"table2": fits()}, {"table2": fits(zipf=0.11)}, {"table2": [{"depth": 10, "weibull": 0.1}]}),
    (
        "_weibull_is_hybrid",
        {"table2": fits()},
        {"table2": [row | {"weibull_mark": ""} for row in fits()]},
        {"table2": [{"depth": 10, "weibull": 0.1, "hybrid": 0.1}]},
    ),
    ("_beats_interpolation", {"table3": ROB04}, {"table3": extrapolated((20, 0.05, 0.03, 0.04))}, {"fig2": fits()}),
    ("_linear_as_good", {"table3": ROB04}, {"table3": extrapolated((20, 0.05, 0.03, 0.04))}, {"fig2": fits()}),
    (
        "_needs_observations",
        {"table3": ROB04},
        {"table3": [*ROB04, *extrapolated((80, 0.1, 0.1, 0.1))]},
        {"table3": ROB04[:1]},
    ),
    (
        "_order_survives_ties",
        {"tableB": [{"rule": "trec", "tau": 1.0}, {"rule": "optimistic", "tau": 0.99}]},
        {"tableB": [{"rule": "trec", "tau": 1.0}, {"rule": "optimistic", "tau": 0.8}]},
        {"tableB": [{"rule": "trec", "tau": 1.0}]},
    ),
    ("_banding_keeps_scores", {"fig3": banded(0.004)}, {"fig3": banded(-0.02)}, {"fig3": banded(0.1)[1:]}),
    ("_fine_bands", {"table3": kept(11)}, {"table3": kept(10)}, {"tableA": kept(11)}),
    ("_banding_tells_apart", told(0.2), told(3.0), {"tableA": [{**told(0.2)["tableA"][0], "rho": "2.0"}]}),
    (
        "_mtc_overconfident",
        {"table2b": W(MTC=(-5.3, -6, -4))},
        {"table2b": W(MTC=(0.4, 0.2, 0.6))},
        {"table2b": W(MTC=(-1, -3, 0.5))},
    ),
    ("_rtc_trusted", {"table2": bins(84.9)}, {"table2": bins(70.0)}, {"table2": bins(70.0, pairs=29)}),
    (
        "_rtc_closer",
        {"table2b": W(MTC=(-5.3, -6, -4), RTC=(-0.4, -1, 0.2))},
        {"table2b": W(MTC=(-0.1, -0.2, 0.1), RTC=(-4, -5, -3))},
        {"table2b": W(MTC=(-5.3, -6, -4), RTC=(-3, -4.5, -1))},
    ),
    (
        "_fewer_judgments",
        {"tableB": test_row("judged", "wilcoxon", 16.0, 0.001)},
        {"tableB": test_row("judged", "wilcoxon", -16.0, 0.001)},
        {"tableB": test_row("judged", "wilcoxon", 16.0, 0.3)},
    ),
    (
        "_better_order",
        {"tableB": test_row("tau", "ttest_rel", -0.16, 0.001)},
        {"tableB": test_row("tau", "ttest_rel", 0.16, 0.001)},
        {"tableB": test_row("tau", "ttest_rel", -0.01, 0.3)},
    ),
    (
        "_unlike_pairs",
        {"tableA": unlike(87.6, 60, 60)},
        {"tableA": unlike(87.6, 60, 91)},
        {"tableA": unlike(87.6, 60, 91)[:2]},
    ),
]


def test_every_conclusion_has_its_cases() -> None:
    assert [name for name, *_ in CASES] == [one.decide.__name__ for one in CONCLUSIONS]


@pytest.mark.parametrize(("name", "holds", "fails", "open_"), CASES, ids=[case[0] for case in CASES])
def test_verdicts_on_known_tables(name: str, holds: Any, fails: Any, open_: Any) -> None:
    decide = getattr(module, name)
    for tables, verdict in ((holds, "confirmed"), (fails, "contradicted"), (open_, "not testable")):
        found, figures = decided(decide, study(**tables))
        assert found == verdict, figures
        assert figures
        assert verdict == "not testable" or re.search(r"\d", figures), "a verdict has its figures"


@pytest.mark.parametrize(("name", "holds", "fails", "open_"), CASES, ids=[case[0] for case in CASES])
def test_every_verdict_needs_as_many_pairs(name: str, holds: Any, fails: Any, open_: Any) -> None:
    decide = getattr(module, name)
    few, enough = replace(study(**holds), systems=10), replace(study(**holds), systems=11)
    assert decided(decide, few) == ("not testable", "10 systems make 45 pairs, too few for a verdict (50)")
    verdict, figures = decided(decide, enough)
    assert verdict == "confirmed"
    if re.search(r"\d%|τ", figures) and name != "_left_out":
        assert "[" in figures, "a share or a correlation has its interval"


def test_intervals_of_shares_and_correlations() -> None:
    low, high = module.wilson(0.3, 40)
    expected = stats.binomtest(12, 40).proportion_ci(method="wilson")
    assert low == pytest.approx(expected.low)
    assert high == pytest.approx(expected.high)
    low, high = module.kendall_interval(0.8, 50)
    assert low < 0.8 < high
    assert np.arctanh(0.8) - np.arctanh(low) == pytest.approx(1.959964 * (0.437 / 46) ** 0.5)
    assert module.kendall_interval(1.0, 50) == (1.0, 1.0)


def test_what_was_not_measured_is_named() -> None:
    rows = unlike(87.6, 60, 91)
    rows[1]["value"] = None
    verdict, why = decided(module._unlike_pairs, study(tableA=rows))
    assert verdict == "not testable"
    assert why == "nothing could be measured of MTC, accuracy of pairs with less than 10% in common"


def test_nothing_to_go_by_is_not_testable() -> None:
    papers = dict.fromkeys((one.paper for one in CONCLUSIONS), Study("paper", "collection"))
    assert {one.verdict for one in conclusions(papers)} == {"not testable"}
    findings = conclusions({}, {"rtc": "too few systems"})
    assert {one.figures for one in findings if one.paper == "rtc"} == {"too few systems"}


def test_columns_that_are_not_there_are_no_error() -> None:
    for name, holds, _, _ in CASES:
        for table, rows in holds.items():
            for column in rows[0]:
                less = {**holds, table: [{key: v for key, v in row.items() if key != column} for row in rows]}
                if all(less.values()) and all(all(rows) for rows in less.values()):
                    assert decided(getattr(module, name), study(**less))[0] in module.VERDICTS


def test_runs_that_did_not_contribute_are_looked_at_first() -> None:
    con = [{"systems": "9-con", **row} for row in rm((10, 10, 1), (60, 60, 2))]
    non = [{"systems": "5-non", **row} for row in IN_PAPER]
    assert decided(module._simplistic_separates, study(table2=[*con, *non]))[0] == "confirmed"
    assert decided(module._simplistic_separates, study(table2=con))[0] == "contradicted"


def test_each_conclusion_says_its_section_and_rule() -> None:
    for one in CONCLUSIONS:
        assert isinstance(one, Conclusion)
        assert re.fullmatch(r"\d(, \d)*", one.section)
        assert one.claim.endswith(".")
        assert re.search(r"(Table|Tables|Fig\.|Figs\.) ", one.rule)
    assert min(sum(one.paper == paper for one in CONCLUSIONS) for paper in module.TITLES) >= 3


# -- on collections ---------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_ties_that_turn_the_order_around() -> None:
    """Without ties no rule changes anything; where the best systems tie everything, the order hangs on the rule."""
    made = simulate(systems=15, n_topics=6, n_docs=300, depth=40, ties=0.0, seed=2)
    tied = {
        name: run.with_columns(pl.lit(1.0).alias("score")) if number % 2 else run
        for number, (name, run) in enumerate(made.runs.items())
    }
    for runs, verdict in ((made.runs, "confirmed"), (tied, "contradicted")):
        found = ties.study(fm.read_qrels(made.truth), fm.scan_runs(runs), ties.TiesSettings(workers=1))
        assert decided(module._order_survives_ties, found)[0] == verdict


def test_the_page_counts_verdicts() -> None:
    findings = conclusions({"ties": study(tableB=[{"rule": "trec", "tau": 1.0}, {"rule": "run", "tau": 0.99}])})
    page = as_study(findings, "here")
    (row,) = (row for row in page["table1"].rows if row[0] == "ties")
    assert row[2:] == (1, 0, 3)
    assert sum(sum(row[2:]) for row in page["table1"].rows) == len(CONCLUSIONS)


@pytest.mark.slow
def test_all_papers_in_one_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)
    made = simulate(systems=14, n_topics=6, n_docs=300, depth=30, pool_depth=12, unpooled=0, seed=3)
    write(replace(made, qrels=made.truth), tmp_path / "sim")
    files = [tmp_path / "sim" / "qrels.txt", tmp_path / "sim" / "runs"]
    words = ["papers", "all", *files, "--depth", "10", "--workers", "1", "--trials", "2", "-o"]
    assert status(*words, tmp_path / "out") == 0
    folders = {path.name for path in (tmp_path / "out").iterdir()}
    assert folders == {"rm", "gain", "depth", "ties", "rtc", "estimates", "conclusions", "index.md", "index.html"}
    index = (tmp_path / "out" / "index.md").read_text()
    for folder in folders - {"index.md", "index.html"}:
        assert f"({folder}/index.md)" in index
        assert (tmp_path / "out" / folder / "index.html").exists()
    assert "2 trials" in (tmp_path / "out" / "rtc" / "index.md").read_text()
    table = pl.read_csv(tmp_path / "out" / "conclusions" / "table1.tsv", separator="\t")
    counts = table.select("confirmed", "contradicted", "not_testable").sum().row(0)
    assert sum(counts) == len(CONCLUSIONS)
    assert "{} confirmed, {} contradicted, {} not testable".format(*counts) in index
    assert min(counts[0], counts[2]) > 0
    capsys.readouterr()
    assert status(*words, tmp_path / "few", "--systems", "15") == 0
    assert "warning: rtc: not done here: trials draw 15 systems, but only 14 are given" in capsys.readouterr().err
    index = (tmp_path / "few" / "index.md").read_text()
    assert "robust test collections: Not done here: trials draw 15 systems, but only 14 are given." in index
    assert not (tmp_path / "few" / "rtc" / "index.md").exists()
