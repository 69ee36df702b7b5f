"""The report against the functions whose results it shows, hostile names, odd collections, and what a file may hold."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.base import charts
from fathoms.estimate.distribution import Moments
from fathoms.evidence.candidates import candidates
from fathoms.inference.names import CLAIMED, VERDICTS
from fathoms.judging.documents_to_judge import known
from fathoms.judging.events import JudgingSettings
from fathoms.judging.session import engine_for
from fathoms.questions.compare.result import verdict_boxes
from fathoms.reporting import page as html
from fathoms.reporting import script_data, story
from fathoms.reporting.claims import claims
from fathoms.reporting.next_judgments import judging_of
from fathoms.reporting.parts import text as safe
from fathoms.reporting.report import Report, checksum, run_report
from fathoms.reporting.verdicts import LIKELY, MEANINGS
from fathoms.signatures import REPORTED as DEFAULT_MEASURES
from tests.support.commands import status as run

EVIL = "<script>alert('run')</script>&\"'"


class Page(HTMLParser):
    """What a browser would make of a page: elements, attributes, the text of scripts, the cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._table, self._cell, self._script = "", False, False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        if tag == "script":
            self._script = True
            self.scripts.append("")
        elif tag == "table":
            self._table = found.get("id") or ""
            self.tables[self._table] = []
        elif tag == "tr" and self._table:
            self.tables[self._table].append([])
        elif tag in ("td", "th") and self._table:
            self.tables[self._table][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = False
        elif tag == "table":
            self._table = ""
        elif tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data
        elif self._cell:
            self.tables[self._table][-1][-1] += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


POOL_DEPTH = 8


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=6, n_topics=7, n_docs=300, depth=60, pool_depth=POOL_DEPTH, seed=3)


def pooled_runs(folder: Path) -> tuple[str, ...]:
    return tuple((folder / "pooled.txt").read_text().split())


def make(qrels: Any, runs: Any, measures: Any = DEFAULT_MEASURES, **options: Any) -> Report:
    experiment = fm.Experiment(qrels, runs, **{"workers": 1, **options})
    return run_report(experiment, experiment.measures(measures))


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return make(folder / "qrels.txt", folder / "runs", pooled=pooled_runs(folder))


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return html.page(report)


# -- the numbers are those of the commands --------------------------------------------------------------------------


def test_scores_by_topic_are_those_of_evaluate(folder: Path, report: Report) -> None:
    frame = fm.evaluate(folder / "qrels.txt", folder / "runs", list(DEFAULT_MEASURES), by_topic=True)
    found = script_data.data(report)
    looked = 0
    for row in frame.iter_rows(named=True):
        if row["topic"] == "all":
            continue
        block = found["scores"][found["measures"].index(row["measure"])]
        run, topic = found["runs"].index(row["run"]), found["topics"].index(row["topic"])
        for name in ("score", "low", "high"):
            assert f"{block[name][run][topic]:.4f}" == f"{row[name]:.4f}"
            looked += 1
    assert looked == 3 * 3 * 6 * 7


def test_pairs_are_those_of_compare(folder: Path, report: Report) -> None:
    pooled = pooled_runs(folder)
    frame = fm.compare(folder / "qrels.txt", folder / "runs", list(DEFAULT_MEASURES), pooled=pooled)
    found = script_data.data(report)
    for number, measure in enumerate(DEFAULT_MEASURES):
        rows = list(frame.filter(frame["measure"] == measure).iter_rows(named=True))
        pairs = found["pairs"][number]
        assert len(rows) == 15
        # The script takes pairs for those of the runs in order.
        names = found["runs"]
        assert [(row["run_a"], row["run_b"]) for row in rows] == [
            (a, b) for i, a in enumerate(names) for b in names[i + 1 :]
        ]
        for i, row in enumerate(rows):
            assert row["verdict"][0] == pairs["verdict"][i]
            proved, told = row["reversible"][0], pairs["reversible"][i]
            assert told == proved or (proved, told) == ("u", "y")  # the report looks for documents that do it
            missing = pairs["missing"][i]
            assert ("" if missing == "-" else found["obstacles"][int(missing)]) == row["reason"].partition(" ")[0]
            for name in ("diff", "diff_low", "diff_high", "ci_low", "ci_high"):
                assert f"{pairs[name][i]:+.4f}" == f"{row[name] + 0.0:+.4f}".replace("-0.0000", "+0.0000")
            for name in ("p", "p_corrected"):
                assert pairs[name][i] == pytest.approx(row[name], rel=1e-3)


def test_the_table_of_systems_shows_evaluate_and_predict(folder: Path, page: str) -> None:
    scores = fm.evaluate(folder / "qrels.txt", folder / "runs", list(DEFAULT_MEASURES))
    pooled = pooled_runs(folder)
    guesses = fm.predict(folder / "qrels.txt", folder / "runs", list(DEFAULT_MEASURES), pooled=pooled)
    tables = Page(page).tables
    for number, measure in enumerate(DEFAULT_MEASURES):
        expected = {
            row["run"]: {name: f"{row[name]:.4f}" for name in ("score", "low", "high", "tie_low", "tie_high")}
            for row in scores.filter(scores["measure"] == measure).iter_rows(named=True)
        }
        for row in guesses.filter(guesses["measure"] == measure).iter_rows(named=True):
            expected[row["run"]] |= {name: f"{row[name]:.4f}" for name in ("estimate", "likely_low", "likely_high")}
        header, *rows = tables[f"runs-{number}"]
        columns = [name.replace(" ", "_") for name in header[3:11]]
        assert columns[:3] == ["estimate", "likely_low", "likely_high"]  # before what is possible
        assert {row[1]: dict(zip(columns, row[3:11], strict=True)) for row in rows} == expected
        assert [float(row[6]) for row in rows] == sorted((float(row[6]) for row in rows), reverse=True)


def test_ranks_are_those_of_rank(folder: Path, page: str) -> None:
    made = fm.rank(folder / "qrels.txt", folder / "runs", list(DEFAULT_MEASURES), pooled=pooled_runs(folder))
    tables = Page(page).tables
    for number, measure in enumerate(DEFAULT_MEASURES):
        shown = {row[1]: row[11:14] for row in tables[f"runs-{number}"][1:]}
        for row in made.filter(made["measure"] == measure).iter_rows(named=True):
            ends = [(f"{name}_low", f"{name}_high") for name in ("rank_ci", "likely_rank", "rank")]
            expected = ["\u2013".join(dict.fromkeys((str(row[low]), str(row[high])))) for low, high in ends]
            assert shown[row["run"]] == expected


def test_verdicts_are_counted_in_table_and_summary(folder: Path, report: Report, page: str) -> None:
    pooled = pooled_runs(folder)
    frame = fm.compare(folder / "qrels.txt", folder / "runs", list(DEFAULT_MEASURES), pooled=pooled)
    ahead: Counter[str] = Counter()
    for row in frame.filter(frame["measure"] == "RBP(p=0.8)").iter_rows(named=True):
        if row["verdict"] in CLAIMED:
            ahead[row["run_a"] if row["diff"] > 0 else row["run_b"]] += 1
    rows = Page(page).tables["runs-2"][1:]
    assert {row[1]: int(row[15]) for row in rows} == {row[1]: ahead[row[1]] for row in rows}
    assert {sum(map(int, row[15:18])) for row in rows} == {5}
    best = rows[0][1]
    told = {claim.about: claim.sentence for claim in claims(report, report.measures[2])}
    assert f"{best} has the highest RBP(p=0.8) of the 6 runs, {rows[0][6]} " in told["score"]
    assert ("all" in told) == bool(ahead[best])
    if ahead[best] and ahead[best] < 5:
        assert f"than {ahead[best]} of the 5 other runs" in told["all"]


def test_guidelines_and_sentences_are_those_of_the_audit(folder: Path, page: str) -> None:
    pooled = (folder / "pooled.txt").read_text().split()
    found = fm.audit(folder / "qrels.txt", folder / "runs", list(DEFAULT_MEASURES), pooled=pooled)
    for one in found.guidelines:
        assert safe(one.evidence) in page


# -- what to judge --------------------------------------------------------------------------------------------------


def test_the_command_goes_on_where_the_report_stops(folder: Path, report: Report, tmp_path: Path) -> None:
    """What is listed, by each measure, is what the command that is printed hands out."""
    assert "AP" in report.judging
    for name, found in report.judging.items():
        measure = next(one for one in report.measures if one.name == name)
        assert found.runs[0] == report.ranked(measure)[0].run
        _, *words = shlex.split(found.command)
        target = tmp_path / f"{name}.tsv"
        session = ("--session", str(tmp_path / f"{name}.db"), "--batch", "8", "--to", str(target), "--quiet")
        assert run(*words, *session) == 0
        rows = [line.split("\t") for line in target.read_text().splitlines()]
        at = [rows[0].index(column) for column in ("topic", "document")]
        assert [[row[i] for i in at] for row in rows[1:]] == [[one.topic, one.document] for one in found.first[:8]]


def test_the_largest_change_is_the_slope_of_the_expected_difference(folder: Path, report: Report) -> None:
    """By finite differences, for the documents of some topics."""
    judging = report.judging["AP"]
    runs = fm.read_runs(folder / "runs")
    exp = fm.Experiment(folder / "qrels.txt", {name: runs[name] for name in judging.runs})
    qrels, settings = exp.qrels, JudgingSettings(baseline=judging.runs[0], max_grade=int(exp.qrels.max_grade))
    found = candidates(exp.runs, 100, "trec", "float32", qrels.topics)
    engine = engine_for(settings, found, qrels, None, exp.pool_assumed().depth, None)
    engine.load(list(known(found, qrels).items()))
    block, elsewhere = engine.block, found.relevant_elsewhere(qrels)
    chance = np.zeros(block.number.shape)
    chance[block.present] = engine.probabilities()[1]
    documents = judging.first[:10]
    for one in documents:
        topic, column = (int(i[0]) for i in np.nonzero(block.number == found.find(one.topic, one.document)))
        assert one.chance == chance[topic, column]
        ends = []
        for change in (1e-6, -1e-6):
            moved = chance.copy()
            moved[topic, column] += change
            ends.append(Moments(block, moved, elsewhere).expectation[topic])
        slope = (ends[0] - ends[1]) / 2e-6
        assert one.max_change == pytest.approx(slope.max() - slope.min(), rel=1e-4)
        ranks = block.rank[topic, :, column]
        assert one.ranks == {name: int(rank) for name, rank in zip(block.names, ranks, strict=True) if rank}
    assert len(documents) == 10


# -- what the file holds ----------------------------------------------------------------------------------------------


def test_nothing_comes_from_elsewhere(page: str) -> None:
    found = Page(page)
    for tag, attributes in found.elements:
        assert not {"src", "srcset", "action", "onclick", "onload"} & attributes.keys()
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
        assert tag not in ("link", "iframe", "object", "embed", "base", "img")
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_ids_are_unique(page: str) -> None:
    ids = [attributes["id"] for _, attributes in Page(page).elements if "id" in attributes]
    assert [name for name, count in Counter(ids).items() if count > 1] == []


def test_links_inside_lead_somewhere(page: str) -> None:
    found = Page(page)
    ids = {attributes.get("id") for _, attributes in found.elements}
    topics = json.loads(found.scripts[0])["topics"]
    targets = {a.get(name) for _, a in found.elements for name in ("href", "xlink:href") if a.get(name)}
    for target in targets:
        assert target is not None
        assert target[1:] in ids or target.removeprefix("#topic/") in topics
    assert {f"#topic/{topic}" for topic in topics} <= targets


def test_the_same_files_make_the_same_page(report: Report, page: str) -> None:
    assert html.page(report) == page


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    topic, document = '"><img/src=x/onerror=alert(1)>', "</script><script>alert(2)</script>"
    runs = tmp_path / "runs"
    runs.mkdir()
    for name, docs in ((EVIL.replace("/", "%"), [document, "a", "b"]), ("plain", ["a", document, "c"])):
        lines = [f"{t} Q0 {d} {i} {9 - i} x\n" for t in (topic, "2") for i, d in enumerate(docs, 1)]
        (runs / f"{name}.run").write_text("".join(lines))
    qrels = tmp_path / "<b>qrels.txt"
    qrels.write_text(f"{topic} 0 a 1\n{topic} 0 b 0\n2 0 a 1\n2 0 c 0\n")
    found = make(qrels, runs)
    text = html.page(found)
    read = Page(text)
    assert read.count("script") == 2
    assert read.count("img") == 0
    assert not any(name.startswith("on") for _, attributes in read.elements for name in attributes)
    assert "<b>qrels" not in text
    assert "&lt;b&gt;qrels" in text
    kept = json.loads(read.scripts[0])
    assert topic in kept["topics"]
    assert EVIL.replace("/", "%") in kept["runs"]
    assert document in {one for of_topic in kept["lists"]["documents"] for one in of_topic}
    assert any(row[1] == EVIL.replace("/", "%") for row in read.tables["runs-0"])


def test_names_that_are_no_utf8_do_not_stop_it(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(b"1 Q0 d\xff 1 2 t\n1 Q0 e 2 1 t\n")
    (tmp_path / "b.run").write_bytes(b"1 Q0 e 1 2 t\n1 Q0 d\xff 2 1 t\n")
    (tmp_path / "q.txt").write_bytes(b"1 0 e 1\n")
    html.page(make(tmp_path / "q.txt", [tmp_path / "a.run", tmp_path / "b.run"])).encode()


def test_without_charts_the_rest_is_there(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)
    found = html.page(report)
    assert "pip install" in found
    assert Page(found).count("svg") == 0
    assert "runs-0" in Page(found).tables


# -- odd collections --------------------------------------------------------------------------------------------------

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
A = {"1": {"a": 2.0, "x": 1.0}, "2": {"c": 2.0, "d": 1.0}}
B = {"1": {"b": 2.0, "a": 1.0}, "2": {"d": 2.0, "y": 1.0}}


@pytest.mark.parametrize(
    ("qrels", "runs", "measures", "options"),
    [
        (QRELS, {"A": A}, ("AP",), {}),
        (QRELS, {"A": A, "B": B}, ("Judged@2", "Bpref"), {}),
        (QRELS, {"A": A, "B": B}, ("NumRet",), {}),
        (QRELS, {"A": A, "B": A}, ("AP",), {}),
        ({"1": {"a": 1}}, {"A": {"1": {"a": 1.0}}, "B": {"1": {"z": 1.0}}}, ("P@1",), {}),
        ({"1": {"q": 1}}, {"A": {"1": {"a": 1.0}}, "B": {"1": {"b": 1.0}}}, ("AP",), {}),
        (QRELS, {"A": A, "B": {"1": {"a": 1.0}}}, ("AP",), {}),
        (QRELS, {"A": A, "B": B}, ("GMAP",), {}),
    ],
    ids=[
        "one run",
        "no range",
        "a count",
        "equal runs",
        "one topic",
        "nothing judged",
        "topic missing",
        "GMAP",
    ],
)
def test_odd_collections_have_a_report(qrels: Any, runs: Any, measures: Any, options: Any) -> None:
    found = make(qrels, runs, measures, **options)
    text = html.page(found)
    read = Page(text)
    assert len(read.tables["runs-0"]) == 1 + len(runs)
    assert not re.findall(r">[+-]?(nan|inf|None)<", text)
    json.loads(read.scripts[0], parse_constant=pytest.fail)  # what Python calls JSON and browsers do not


def test_a_pool_without_depth_is_said_so() -> None:
    found = make({"1": {"q": 1}}, {"A": {"1": {"a": 1.0}}, "B": {"1": {"b": 1.0}}}, ("AP",))
    assert found.audit is None
    assert any("not judged through their first rank" in told for told in story.trust(found, found.measures[0]))


def test_a_few_pairs_are_told_one_by_one() -> None:
    found = make(QRELS, {"A": A, "B": B}, ("P@1",))
    (rival,) = [claim for claim in claims(found, found.measures[0]) if claim.about == "rival"]
    assert rival.sentence.startswith("May not be claimed: that A has higher P@1 than B.")


def test_systems_expected_to_overtake_the_first_are_named() -> None:
    """sys3 and sys8 of the demo's collection are better than sys1, and did not contribute to the pool."""
    collection = fm.simulate(systems=8, n_topics=20, n_docs=2000, depth=100, pool_depth=7, max_grade=1, seed=9)
    found = make(collection.qrels, {name: collection.runs[name] for name in ("sys1", "sys3", "sys8")}, ("AP",))
    assert sorted(found.judging["AP"].runs) == ["sys1", "sys3", "sys8"]
    told = [claim.sentence for claim in claims(found, found.measures[0]) if claim.about == "stays"]
    frame = fm.compare(collection.qrels, {name: collection.runs[name] for name in ("sys1", "sys3", "sys8")}, "AP")
    chances = {row["run_b"]: 1 - row["p_better"] for row in frame.iter_rows(named=True) if row["run_a"] == "sys1"}
    assert max(chances.values()) > 0.8
    assert len(told) == 1
    for name, chance in chances.items():
        assert (f"{name} ({chance:.2f})" in told[0]) == (chance >= LIKELY)
    shares = fm.evaluate(
        collection.qrels, {"sys1": collection.runs["sys1"], "sys8": collection.runs["sys8"]}, "Judged@10"
    )
    sys1, sys8 = shares["score"].to_list()
    assert sys8 < 0.8 * sys1
    (thin,) = [claim.sentence for claim in claims(found, found.measures[0]) if claim.about == "thin"]
    said = re.search(r"(\S+)% of the first 10 documents of sys8 are judged \(sys1: (\S+)%\)", thin)
    assert said is not None
    assert [float(share) for share in said.groups()] == pytest.approx([100 * sys8, 100 * sys1], abs=0.05 + 1e-9)


# -- small parts ------------------------------------------------------------------------------------------------------


def test_verdicts_fill_the_matrix_both_ways(report: Report) -> None:
    """Boxes of neighbours with one verdict, taken apart again, are the verdicts of all pairs."""
    measure = report.measures[0]
    frame, names = verdict_boxes(report.pairs(measure))
    assert names[0] == report.ranked(measure)[0].run
    cells = {
        (names[row - 1], names[column - 1]): verdict
        for row, start, stop, verdict in frame.iter_rows()
        for column in range(start, stop + 1)
    }
    pairs = {(pair.run_a, pair.run_b): pair.verdict for pair in report.pairs(measure)}
    assert cells == pairs | {(b, a): verdict for (a, b), verdict in pairs.items()}


def test_checksums_are_of_the_files(folder: Path, report: Report) -> None:
    expected = hashlib.sha256((folder / "qrels.txt").read_bytes()).hexdigest()
    assert checksum(str(folder / "qrels.txt")) == expected
    assert report.sources[0].sha256 == expected
    assert len(report.sources) == 7
    assert checksum("no such file") is None


def test_judging_of_two_systems_can_be_settled() -> None:
    """Everything is judged, so nothing is open and nothing is left to judge."""
    qrels = fm.read_qrels(QRELS | {"1": {"a": 1, "b": 0, "x": 0}, "2": {"c": 1, "d": 0, "y": 0}})
    measure = fm.parse_measure("AP")
    found = judging_of(fm.Experiment(qrels, {"A": A, "B": B}), ["A", "B"], measure)
    assert (found.documents, found.judged, found.open_pairs, found.first) == (6, 6, [], [])
    told = story.judging_sentences(make(qrels, {"A": A, "B": B}, ("AP",)), measure)
    assert told == [
        "Judging is not what is missing: by AP, no judging of the two runs' documents reverses any difference "
        "between A and the runs that it "
        "cannot be claimed to be better than."
    ]


def test_a_measure_that_judging_cannot_follow_says_so() -> None:
    runs = {"A": {"1": {"a": 2.0, "x": 1.0}}, "B": {"1": {"u": 3.0, "v": 2.0, "a": 1.0}}}
    found = make({"1": {"a": 1}}, runs, ("GMAP", "AP"))
    assert set(found.judging) == {"AP"}
    (told,) = story.judging_sentences(found, found.measures[0])
    assert told.startswith("What to judge next: judging cannot go by GMAP; it can go by P, ")
    text = html.page(found)
    assert text.count("To go on there") == 1
    assert "fm.Experiment(qrels, {name: runs[name] for name in" in text  # the runs are in no files


def test_with_all_first_documents_judged_the_deeper_ones_are_named() -> None:
    """100 documents of each run are judged, and AP can be reversed by the 50 that follow; the engine goes no deeper."""
    deep = {"A": {"1": {f"a{i}": 200.0 - i for i in range(150)}}, "B": {"1": {f"b{i}": 200.0 - i for i in range(150)}}}
    qrels = {"1": {f"{run}{i}": int(i == (run == "b")) for run in "ab" for i in range(100)}}
    found = make(qrels, deep, ("AP",))
    (told,) = story.judging_sentences(found, found.measures[0])
    assert told.endswith(
        "all of these documents are judged; what could still reverse it are documents at deeper ranks."
    )


def test_without_a_range_nothing_is_said_of_ranges() -> None:
    found = make(QRELS, {"A": A, "B": B}, ("Bpref",))
    text = html.page(found)
    assert "range" not in re.search(r'id="ranges-0"><figcaption>(.*?)</figcaption>', text)[1]  # type: ignore[index]
    assert not any("range over judging" in claim.with_evidence for claim in claims(found, found.measures[0]))


def test_shares_are_not_rounded_to_all_or_nothing() -> None:
    """249 of 250 documents in the top 10s of 25 topics are judged."""
    runs = {
        name: {str(t): {f"d{(i + shift) % 10}": 10.0 - i for i in range(10)} for t in range(25)}
        for shift, name in enumerate(("A", "B"))
    }
    qrels = {str(t): {f"d{i}": int(i < 3) for i in range(10)} for t in range(25)}
    del qrels["24"]["d9"]
    text = html.page(make(qrels, runs, ("P@10",)))
    assert "; 99.6% of the top 10 judged; " in text
    assert {row[14] for row in Page(text).tables["runs-0"][1:]} == {"99.6%"}


def test_an_unknown_judged_share_is_not_zero() -> None:
    """Nothing is judged of these runs: no pool, and no sentence that makes one up."""
    text = html.page(make({"1": {"q": 1}}, {"A": {"1": {"a": 1.0}}, "B": {"1": {"b": 1.0}}}, ("AP",)))
    assert "depth to which the runs are judged" not in text


def test_the_page_has_the_colours_of_the_charts(page: str) -> None:
    """Keys, bars and the matrix alike, in light and in dark: no filter changes one of them."""
    colours = {name: colour.lower() for name, colour in re.findall(r"\.(\w+) \{ --v: (#\w+); \}", page)}
    assert {name: colours[name] for name in VERDICTS} == {name: charts.VERDICTS[name].lower() for name in VERDICTS}
    dark = re.search(r"prefers-color-scheme: dark\) \{(.*?)\}\n\}", page, re.DOTALL)
    assert dark is not None
    assert "--v" not in dark[1]
    for part, colour in (("score", 0), ("tied", 1), ("likely", 2), ("guess", 2)):
        rule = re.search(rf"\.bar \.{part} \{{[^}}]*?(#[0-9a-f]{{6}})", page)
        assert rule is not None
        assert rule[1] == charts.COLOURS[colour].lower()
    assert "filter:" not in page.partition("</style>")[0]


def test_words_of_the_page_are_those_of_compare(page: str) -> None:
    assert set(MEANINGS) == set(VERDICTS) <= set(charts.VERDICTS)
    assert 'class="key settled"' not in page


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_the_page_and_its_own_line(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.html"
    files = (str(folder / "qrels.txt"), str(folder / "runs"), "--groups", str(folder / "groups.tsv"))
    assert run("report", *files, "-m", "AP", "-m", "RBP(p=0.8)", "-o", str(target), "--quiet") == 0
    found = Page(target.read_text(encoding="utf-8"))
    assert json.loads(found.scripts[0])["measures"] == ["AP", "RBP(p=0.8)"]
    command = re.search(r"<code>(fathoms report.*?)</code>", target.read_text(encoding="utf-8"))
    assert command is not None
    assert "-m AP -m &#x27;RBP(p=0.8)&#x27;" in command[1]
    assert f"--groups {folder / 'groups.tsv'}" in command[1]
    assert f"-o {target}" in command[1]


def test_the_command_fails_before_the_work(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "no" / "out.html"
    assert run("report", str(folder / "qrels.txt"), str(folder / "runs"), "-o", str(target)) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert run("report", str(folder / "qrels.txt"), str(tmp_path / "nothing"), "-o", str(tmp_path / "x.html")) == 2
    assert list(tmp_path.iterdir()) == []
