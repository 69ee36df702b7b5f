"""The first screen of the report: its sentences, marks and names."""

from __future__ import annotations

import re

import pytest

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.inference.names import CLAIMED
from fathoms.reporting import page
from fathoms.reporting.leaders import board, headline, short_names
from fathoms.reporting.report import Report, run_report
from fathoms.reporting.verdicts import obstacle

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")
MARK = re.compile(r'<li data-run="(\w+)">.*?<b(?: class="(\w+)" title="[^"]*")?>(.?)</b></li>')


@pytest.fixture(scope="module", params=[1, 2, 3])
def report(request: pytest.FixtureRequest) -> Report:
    made = simulate(systems=5, n_topics=12, n_docs=300, depth=30, pool_depth=6, seed=request.param)
    exp = fm.Experiment(made.qrels, made.runs, workers=1)
    return run_report(exp, exp.measures(["AP", "P@5"]))


def test_three_sentences_say_what_the_pairs_say(report: Report) -> None:
    for measure in report.measures:
        said = headline(report, measure)
        best = report.ranked(measure)[0].run
        pairs = [pair for pair in report.pairs(measure) if best in (pair.run_a, pair.run_b)]
        claimed = [pair for pair in pairs if pair.verdict in CLAIMED]
        assert said[0].startswith(f"{best} ")
        number = re.search(r"better than (\d+) of (\d+) others\.", said[0])
        if number:
            assert (int(number[1]), int(number[2])) == (len(claimed), len(pairs))
        else:
            assert ("better than all others" in said[0]) == (len(claimed) == len(pairs))
            assert ("not be called better than any other" in said[0]) == (not claimed)
        assert len(said) == (1 if len(claimed) == len(pairs) else 3)
        for name, count in re.findall(r"([a-z ]+) \((\d+)\)", " ".join(said[1:2]).partition(": ")[2]):
            assert sum(obstacle(pair) == name.strip() for pair in pairs) == int(count)
        if len(said) == 3:
            assert said[2].startswith("Next: ")
            if not any(obstacle(pair) == "judging" for pair in pairs) and "judge" in said[2]:
                assert report.judging[measure.name].open_pairs


def test_every_system_is_there_with_its_mark(report: Report) -> None:
    for i, measure in enumerate(report.measures):
        ranked = [run.run for run in report.ranked(measure)]
        rows = MARK.findall(board(report, i, measure))
        assert [run for run, *_ in rows] == ranked
        verdicts = {
            run: pair.verdict
            for pair in report.pairs(measure)
            for run in (pair.run_a, pair.run_b)
            if ranked[0] in (pair.run_a, pair.run_b)
        }
        for run, verdict, mark in rows[1:]:
            assert verdict == verdicts[run]
            assert mark == {"certain": "▼", "supported": "▼", "fragile": "▽", "open": "·", "tie": "="}[verdict]
        assert rows[0][1:] == ("", "")


def test_pointing_at_a_mark_names_the_obstacle(report: Report) -> None:
    for i, measure in enumerate(report.measures):
        best = report.ranked(measure)[0].run
        rows = board(report, i, measure).split("<li ")[1:]
        titles = dict(
            found for row in rows for found in re.findall(r'data-run="(\w+)".*<b class="\w+" title="(.*?)"', row)
        )
        for pair in report.pairs(measure):
            if best not in (pair.run_a, pair.run_b):
                continue
            title = titles[pair.run_b if pair.run_a == best else pair.run_a]
            assert title.startswith(pair.verdict)
            assert re.findall(r"\(obstacle: (.+?)\)", title) == ([] if pair.verdict in CLAIMED else [obstacle(pair)])


def test_bars_hold_the_score(report: Report) -> None:
    for i, measure in enumerate(report.measures):
        for row in board(report, i, measure).split("<li ")[1:]:
            score = float(re.findall(r'class="score" style="left:([\d.]+)%"', row)[0])
            ends = re.findall(r'class="(\w+)" style="left:([\d.]+)%;width:([\d.]+)%"', row)
            for kind, left, width in ends:
                if kind != "likely":  # an estimate need not be near the score
                    assert float(left) - 0.02 <= score <= float(left) + float(width) + 0.02


def test_names_keep_what_tells_them_apart() -> None:
    assert short_names(["input.a1", "input.b2"]) == {"input.a1": "a1", "input.b2": "b2"}
    assert list(short_names(["x-1-final", "x-2-final"]).values()) == ["1-final", "2-final"]  # numbers alone say little
    assert list(short_names(["abc", "abd"]).values()) == ["abc", "abd"]  # no word ends there
    long = ["a" * 40 + "1", "b" * 40 + "2", "a" * 40 + "1x" + "b" * 20]
    short = short_names(long)
    assert len(set(short.values())) == 3
    assert max(len(name) for name in short.values()) <= 25
    same = ["a" * 12 + "1" + "b" * 12, "a" * 12 + "2" + "b" * 12]
    assert short_names(same) == dict(zip(same, same, strict=True))  # cut they would be alike
    assert short_names(["one"]) == {"one": "one"}


def test_the_first_screen_is_short(report: Report) -> None:
    """Words in the sentences and the legend, as people count them."""
    first = page.page(report).split('id="summary"')[1].split("<details>")[0]
    first = re.sub(r"<select.*?</select>|<[^>]+>", " ", first.split('data-measure="1"')[0])
    assert len(re.findall(r"[A-Za-z]{2,}", first)) <= 80
