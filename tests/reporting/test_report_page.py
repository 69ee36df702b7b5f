"""The report's page in a browser: one page for all tests, of a small collection with a run whose name tries to be
markup and a formula."""

from __future__ import annotations

import csv
import io
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.reporting import page as html
from fathoms.reporting.claims import claims
from fathoms.reporting.report import Report, run_report
from fathoms.reporting.verdicts import obstacle

EVIL = "=<img/src=x/onerror=alert(1)>"
MEASURES = ("AP", "nDCG@10", "RBP(p=0.8)")

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")


@dataclass
class Opened:
    """A page as it opens from disk, and all that it complains of or asks for."""

    tab: Any
    report: Report
    files: tuple[Any, Any]
    heard: list[str]
    url: str

    def choose(self, measure: str) -> None:
        self.tab.click(f".measures button:has-text('{measure}')")

    def saved(self, selector: str) -> tuple[str, bytes]:
        """What a click makes the browser save: name and content."""
        with self.tab.expect_download() as found:
            self.tab.click(selector)
        return found.value.suggested_filename, Path(found.value.path()).read_bytes()

    def overflows(self) -> bool:
        return bool(self.tab.evaluate("document.documentElement.scrollWidth > innerWidth"))


@pytest.fixture(scope="module")
def opened(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    made = simulate(systems=6, n_topics=7, n_docs=300, depth=60, pool_depth=8, seed=3)
    called = {"sys2": EVIL, "sys5": "sys1b"}  # a name that begins with another one
    runs = {called.get(name, name): run for name, run in made.runs.items()}
    exp = fm.Experiment(made.qrels, runs, workers=1)
    report = run_report(exp, exp.measures(MEASURES))
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html.page(report), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    tab.set_default_timeout(60_000)
    heard: list[str] = []
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))

    def dismiss(dialog: Any) -> None:
        heard.append(dialog.message)
        dialog.dismiss()

    tab.on("dialog", dismiss)
    outside = ("blob:", "data:", file.as_uri())  # what it makes itself
    tab.on("request", lambda request: None if request.url.startswith(outside) else heard.append(request.url))
    tab.goto(file.as_uri())
    return Opened(tab, report, (made.qrels, runs), heard, file.as_uri())


@pytest.fixture(autouse=True)
def quiet(opened: Opened) -> Iterator[None]:
    """Each test starts with the first measure, and nothing is complained of, nor asked for."""
    opened.tab.set_viewport_size({"width": 1400, "height": 900})
    opened.tab.emulate_media(color_scheme="light")
    opened.choose("AP")
    opened.tab.evaluate("document.querySelectorAll('#summary details, .closed').forEach(part => { part.open = true; })")
    yield
    assert opened.heard == []


def test_the_switch_governs_all_parts(opened: Opened) -> None:
    tab = opened.tab
    for place, name in enumerate(MEASURES):
        opened.choose(name)
        shown = tab.eval_on_selector_all(
            ".of-measure", "all => all.filter(one => !one.hidden).map(one => one.dataset.measure)"
        )
        sections = tab.eval_on_selector_all(
            "section", "all => all.filter(one => one.querySelector('.of-measure')).length"
        )
        assert set(shown) == {str(place)}
        assert sections == 10
        assert len(shown) == 11  # two in the section on ties
        assert tab.inner_text("#summary figcaption >> visible=true >> nth=0").startswith(f"{name}: ")
        for other in MEASURES:  # no sentence of the summary or of the claims is about another one
            if other != name:
                for part in ("#summary .card:visible", "#claims .said:visible"):
                    for text in tab.locator(part).all_inner_texts():
                        about = re.sub(rf"by {re.escape(other)},? [^.]* can be claimed better", "", text)
                        assert other not in re.sub(r"Guidelines: .*", "", about), text


def test_the_address_opens_the_same_view(opened: Opened) -> None:
    tab = opened.tab
    tab.evaluate("heard = []; document.addEventListener('measure', (event) => heard.push(event.detail))")
    opened.choose("nDCG@10")
    assert tab.evaluate("[heard, window.fathoms.measure]") == [[1], 1]
    tab.click("nav a[href='#depth']")
    assert tab.evaluate("location.hash") == "#depth&m=nDCG%4010"
    link = tab.url
    tab.goto("about:blank")
    tab.goto(link)
    assert tab.get_attribute(".measures button:has-text('nDCG@10')", "aria-pressed") == "true"
    assert tab.is_visible("#runs-1")
    assert 0 <= tab.evaluate("document.getElementById('depth').getBoundingClientRect().top") < 200
    topic = opened.report.qrels.topics[3]
    tab.goto(f"{opened.url}#topic/{topic}&m=RBP(p%3D0.8)")
    best = opened.report.ranked(opened.report.measures[2])[0].run
    tab.locator("#topic-detail summary", has_text=f"All runs on topic {topic}").wait_for()
    tab.locator("#topic-detail", has_text=f"By RBP(p=0.8), {best} scores").wait_for()
    tab.goto(opened.url)


def test_pairs_are_those_of_compare(opened: Opened) -> None:
    tab = opened.tab
    opened.choose("RBP(p=0.8)")
    compared = fm.compare(*opened.files, list(MEASURES))
    for row in compared.filter(compared["measure"] == "RBP(p=0.8)").iter_rows(named=True):
        sign = 1 if row["diff"] >= 0 else -1
        better, worse = (row["run_a"], row["run_b"]) if sign > 0 else (row["run_b"], row["run_a"])
        tab.fill("#pair-find", f"{row['run_a']} {row['run_b']}")
        (cells,) = [line.split("\t") for line in tab.locator("#pairs tbody tr").all_inner_texts()]
        assert cells[:4] == [better, worse, row["verdict"], row["reason"].partition(" ")[0]]
        ends = [
            sorted(sign * row[end] for end in two) for two in (("ci_low", "ci_high"), ("likely_low", "likely_high"))
        ]
        assert [float(cell) for cell in cells[4:7]] == pytest.approx([abs(row["diff"]), *ends[0]], abs=5.1e-5)
        assert [float(cell) for cell in cells[8:11]] == pytest.approx([sign * row["estimate"], *ends[1]], abs=5.1e-5)
        possible = sorted(sign * row[end] for end in ("diff_low", "diff_high"))
        assert [float(cell) for cell in cells[12:14]] == pytest.approx(possible, abs=5.1e-5)
    tab.fill("#pair-find", "")


def test_tables_sort_and_find_and_hold_all_rows(opened: Opened) -> None:
    tab = opened.tab
    column = "#runs-0 tbody td:nth-child(4)"
    for ascending in (False, True):
        tab.click("#runs-0 th:nth-child(4) button")
        values = [float(value) for value in tab.locator(column).all_inner_texts()]
        assert values == sorted(values, reverse=not ascending)
    assert len(set(values)) > 1
    box = "div.box:has(> div > #runs-0)"
    tab.fill(f"{box} .find", "SYS3")
    assert tab.locator("#runs-0 tbody tr:visible td:nth-child(2)").all_inner_texts() == ["sys3"]
    name, content = opened.saved(f"{box} .tool")
    assert (name, content.count(b"\r\n")) == ("runs-AP.csv", 2)
    tab.fill(f"{box} .find", "")
    assert tab.locator("#runs-0 tbody tr:visible").count() == 6


def test_csv_files_hold_the_table_and_no_formula(opened: Opened) -> None:
    _, content = opened.saved("div.box:has(> div > #runs-0) .tool")
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    scores = {row["run"]: row["score"] for row in fm.evaluate(*opened.files, "AP").iter_rows(named=True)}
    assert {row["run"].removeprefix("'"): float(row["score"]) for row in rows} == pytest.approx(scores, abs=5.1e-5)
    assert f"'{EVIL}" in {row["run"] for row in rows}
    assert not any("0 to" in name for name in rows[0])  # what is drawn is no column
    assert all(0 <= float(row["top 10 judged"]) <= 1 for row in rows)
    name, content = opened.saved("div.box:has(> div > #pairs) .tool")
    pairs = list(csv.DictReader(io.StringIO(content.decode())))
    assert (name, len(pairs)) == ("pairs-AP.csv", 15)
    assert {row["better"][0] for row in pairs} <= {"s", "'"}
    assert any(float(row["from"]) < 0 for row in pairs)  # numbers keep their sign


def test_charts_are_saved_whole_and_in_light_colours(opened: Opened) -> None:
    tab = opened.tab
    tab.emulate_media(color_scheme="dark")
    name, content = opened.saved("#ranges-0 .tool:has-text('SVG')")
    text = content.decode()
    assert name == "ranges-AP.svg"
    assert "currentColor" not in text
    assert "#1d2733" in text
    name, content = opened.saved("#verdicts-0 .tool:has-text('SVG')")
    assert name == "verdicts-AP.svg"
    counted = re.findall(
        r'class="key (\w+)">(\d+) ', html.page(opened.report).split('id="verdicts-0"')[1].split("</p>")[0]
    )
    assert re.findall(r">(\d+) (\w+)</text>", content.decode()) == [(number, verdict) for verdict, number in counted]
    name, content = opened.saved("#ranks-0 .tool:has-text('PNG')")
    assert name == "ranks-AP.png"
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    # Twice the size, white at the edges, and nothing sticks out of it: an edge that is not white would be text.
    assert width > 1000
    edge = tab.evaluate(
        """async (data) => {
          const image = new Image();
          image.src = `data:image/png;base64,${data}`;
          await image.decode();
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [image.width, image.height];
          const context = canvas.getContext("2d", { willReadFrequently: true });
          context.drawImage(image, 0, 0);
          const found = new Set(), w = image.width, h = image.height;
          for (const [x, y, a, b] of [[0, 0, w, 4], [0, h - 4, w, 4], [0, 0, 4, h], [w - 4, 0, 4, h]]) {
            const { data } = context.getImageData(x, y, a, b);
            for (let i = 0; i < data.length; i += 4) found.add(data.slice(i, i + 4).join());
          }
          return [...found];
        }""",
        b64encode(content).decode(),
    )
    assert edge == ["255,255,255,255"]
    assert height > 200


def test_sentences_are_copied(opened: Opened) -> None:
    tab = opened.tab
    opened.choose("nDCG@10")
    found = claims(opened.report, opened.report.measures[1])
    items = tab.locator(".claim:visible")
    assert items.locator(".said").all_inner_texts() == [claim.sentence for claim in found]
    items.nth(0).locator("button").nth(0).click()
    assert tab.evaluate("navigator.clipboard.readText()") == found[0].sentence
    items.nth(1).locator("button").nth(1).click()
    assert tab.evaluate("navigator.clipboard.readText()") == found[1].with_evidence


def test_hostile_names_stay_text(opened: Opened) -> None:
    tab = opened.tab
    assert EVIL in tab.inner_text("#pairs")
    assert tab.locator("img").count() == 0
    tab.locator("#ranges-0 svg").scroll_into_view_if_needed()
    tab.hover("#ranges-0 .role-mark [aria-label] >> nth=0", force=True)
    assert tab.inner_text("#tip").startswith("1. ")
    topic = tab.inner_text("#topic-table-0 tbody tr:nth-child(2) a")
    tab.click("#topic-table-0 tbody tr:nth-child(2) a")
    tab.locator("#topic-detail summary", has_text=f"All runs on topic {topic}").wait_for()
    tab.click("#topic-detail summary")
    assert EVIL in tab.inner_text("#topic-detail")
    rows = tab.locator("#topic-detail table >> nth=-1").locator("tbody tr")
    shown = [row.locator("td").all_inner_texts() for row in rows.all()]
    scores = fm.evaluate(*opened.files, "AP", by_topic=True)
    expected = {row["run"]: f"{row['score']:.4f}" for row in scores.iter_rows(named=True) if row["topic"] == topic}
    assert {line[1]: line[3] for line in shown} == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_do_not_scroll_sideways_but_tables_do(opened: Opened, scheme: str) -> None:
    tab = opened.tab
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.emulate_media(color_scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for name in MEASURES:
        opened.choose(name)
        assert not opened.overflows()
    opened.choose("AP")
    box = tab.locator("div.box:has(> div > #runs-0)")
    box.scroll_into_view_if_needed()
    assert box.locator(".hint").is_visible()
    box.locator(".scroll").evaluate("(scroll) => scroll.scrollTo(scroll.scrollWidth, 0)")
    tab.wait_for_selector(".box:not(.sticks-out) #runs-0", state="attached")
    assert not box.locator(".hint").is_visible()


def test_wide_tables_fit_into_a_wide_window(opened: Opened) -> None:
    wide = opened.tab.evaluate(
        "[...document.querySelectorAll('.box > .scroll')].filter((one) => one.scrollWidth > one.clientWidth + 2)"
        ".map((one) => one.querySelector('table')?.id ?? 'chart')"
    )
    assert wide == []
    assert not opened.overflows()


def test_dark_colours_are_those_of_the_keys(opened: Opened) -> None:
    """The swatch of a verdict has the colour of its boxes in the matrix, in light and in dark."""
    tab = opened.tab
    found = []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        found.append(
            tab.evaluate(
                """() => [...document.querySelectorAll("#comparisons .of-measure:not([hidden]) .key")].map((key) => {
                  const colour = getComputedStyle(key, "::before").backgroundColor;
                  const same = (mark) => getComputedStyle(mark).fill === colour;
                  return [...document.querySelectorAll("#matrix-0 .mark-rect path")].some(same);
                })"""
            )
        )
    assert found[0] == found[1]
    assert all(found[0])
    assert found[0]


def test_marks_are_against_whoever_is_chosen(opened: Opened) -> None:
    tab, measure = opened.tab, opened.report.measures[0]
    pairs = {frozenset((pair.run_a, pair.run_b)): pair for pair in opened.report.pairs(measure)}
    select = tab.locator("#board-0 .against select")
    for reference in (opened.report.ranked(measure)[-1].run, EVIL):
        select.select_option(reference)
        for row in tab.locator("#board-0 li").all():
            run, mark = row.get_attribute("data-run"), row.locator("b")
            if run == reference:
                assert mark.inner_text() == ""
                continue
            pair = pairs[frozenset((run, reference))]
            ahead = (pair.diff > 0) == (pair.run_a == run)
            assert mark.get_attribute("class") == pair.verdict
            assert mark.inner_text() == {"c": "▼▲", "s": "▼▲", "f": "▽△", "o": "··", "t": "=="}[pair.verdict[0]][ahead]
            missing = f" (obstacle: {obstacle(pair)})" if obstacle(pair) else ""
            where = "ahead of" if ahead else "behind"
            assert mark.get_attribute("title") == f"{pair.verdict}{missing}: {where} {reference}"
    assert tab.locator("#board-0 .run").first.get_attribute("title") == opened.report.ranked(measure)[0].run


def test_what_is_one_click_down_opens_by_its_link(opened: Opened) -> None:
    tab = opened.tab
    tab.evaluate("document.querySelectorAll('.closed').forEach(part => { part.open = false; })")
    tab.click("nav a[href='#ties']")
    tab.locator("#ties > details[open]").wait_for()
    assert tab.locator("#pool > details[open]").count() == 0
