"""Ties: counts against plain loops, what they could change against all orders, runs without them against trec_eval."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.data.qrels import JUDGED
from fathoms.data.simulate import write as write_collection
from fathoms.evidence.align import Alignment, rank
from fathoms.evidence.order import Precision, Ties, risen
from fathoms.functions import ties
from fathoms.questions.ties.analysis import fix_runs
from fathoms.questions.ties.anomalies import Anomalies, affected, anomalies
from fathoms.questions.ties.effects import COLUMNS, KINDS, RULES, Means
from tests.measures.test_enumeration import VALUES
from tests.measures.test_invariants import FEW, SLACK, cases
from tests.support import slow
from tests.support.blocks import block
from tests.support.commands import status
from tests.support.real import collection

Line = tuple[str, str, int, str]  # topic, document, rank, score as written
Grades = dict[str, dict[str, int]]
Ranked = dict[str, dict[str, float]]


def run_of(lines: list[Line], folder: Path, name: str = "a.run") -> fm.Run:
    path = folder / name
    path.write_text("".join(f"{t} Q0 {d} {r} {s} tag\n" for t, d, r, s in lines))
    return fm.read_run(path)


def random_lines(rng: np.random.Generator, n_topics: int = 4) -> list[Line]:
    """Lines with many ties, some ranks wrong and some scores out of order, topics interleaved."""
    lines: list[Line] = []
    for topic in range(n_topics):
        n = int(rng.integers(1, 14))
        scores = np.sort(rng.integers(0, 6, n))[::-1]
        if rng.random() < 0.4:
            scores = rng.permutation(scores)
        ranks = np.arange(1, n + 1) if rng.random() < 0.5 else rng.integers(1, n + 1, n)
        lines += [(f"t{topic}", f"d{i}", int(ranks[i]), str(scores[i] / 4)) for i in range(n)]
    order = np.argsort(np.arange(len(lines)) + rng.integers(0, 4, len(lines)), kind="stable")
    return [lines[i] for i in order]


# -- counts -------------------------------------------------------------------------------------------------------


def pluralise(lines: list[Line], depth: int) -> dict[str, int]:
    """The counts of a run by loops over its topics."""
    found = dict.fromkeys(
        [
            "tied",
            "tied_topics",
            "tied_above",
            "across",
            "risen",
            "risen_topics",
            "contradictions",
            "contradicted_topics",
            "out_of_rank_order",
            "out_of_rank_order_topics",
            "rank_ties",
        ],
        0,
    )
    for topic in {line[0] for line in lines}:
        mine = [(float(s), r) for t, _, r, s in lines if t == topic]
        ordered = sorted(mine, key=lambda line: (-line[0], line[1]))
        pairs = list(itertools.pairwise(ordered))
        tied = [place for place, (above, below) in enumerate(pairs, 2) if above[0] == below[0]]
        wrong = [1 for above, below in pairs if above[1] > below[1]]
        rises = [1 for above, below in itertools.pairwise(mine) if below[0] > above[0]]
        found["tied"] += len(tied)
        found["tied_topics"] += bool(tied)
        found["tied_above"] += sum(place <= depth for place in tied)
        found["across"] += depth + 1 in tied
        found["risen"] += len(rises)
        found["risen_topics"] += bool(rises)
        found["contradictions"] += len(wrong)
        found["contradicted_topics"] += bool(wrong)
        falls = [1 for above, below in itertools.pairwise(mine) if below[1] < above[1]]
        found["out_of_rank_order"] += len(falls)
        found["out_of_rank_order_topics"] += bool(falls)
        found["rank_ties"] += len(mine) - len({r for _, r in mine})
    return found


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_plain_loops(tmp_path: Path, seed: int) -> None:
    lines = random_lines(np.random.default_rng(seed))
    run = run_of(lines, tmp_path)
    found = anomalies(run, depth=3)
    expected = pluralise(lines, 3)
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.documents == len(lines)
    assert found.topics == len({line[0] for line in lines})
    assert found.exponents == 0


def test_table_1_counts_systems_topics_and_documents() -> None:
    def one(tied: int, tied_topics: int, wrong: int, wrong_topics: int) -> Anomalies:
        fallen = (2 * wrong, wrong_topics)
        return Anomalies("r", 5, 100, tied, tied_topics, tied, 0, 0, 0, 0, 0, wrong, wrong_topics, *fallen, 0, False)

    tied, wrong, fallen = affected([one(10, 4, 0, 0), one(0, 0, 3, 1), one(0, 0, 0, 0), one(20, 5, 0, 0)])
    assert tied.percent == (50.0, 45.0, 7.5)
    assert wrong.percent == (25.0, 5.0, 0.75)
    assert fallen.percent == (25.0, 5.0, 1.5)


def test_scores_that_only_float32_ties(tmp_path: Path) -> None:
    lines = [("1", "a", 1, "0.30000001"), ("1", "b", 2, "0.3"), ("1", "c", 3, "0.2"), ("1", "d", 4, "0.2")]
    found = anomalies(run_of(lines, tmp_path))
    assert (found.tied, found.tied_float32) == (1, 2)
    assert anomalies(run_of(lines, tmp_path), "float32").tied == 2


def test_a_run_upside_down(tmp_path: Path) -> None:
    lines = [("1", f"d{i}", i, str(i)) for i in range(1, 30)]
    assert anomalies(run_of(lines, tmp_path)).upside_down
    assert not anomalies(run_of([(t, d, r, str(-float(s))) for t, d, r, s in lines], tmp_path)).upside_down


@pytest.mark.parametrize(
    ("scores", "count"),
    [
        (["3", "-1.37", "-7.763e-05"], 1),  # the paper's bbn1: sorted as -7.763
        (["7.7e-05", "7.6", "1"], 1),
        (["4", "1.5e+02", "1.25"], 1),
        (["9.9e-02", "9.8E-02", "1.2e-01"], 3),  # all of them are out of order for the same reason
        (["3", "1.5e-05", "1e-05"], 0),  # in order
        (["1", "2", "1e-05"], 0),  # out of order, but not for an exponent
        (["1", "3", "2.5e0"], 0),
        (["1e-05", "3"], 0),  # in no order either way
    ],
)
def test_exponents_that_were_overlooked(tmp_path: Path, scores: list[str], count: int) -> None:
    lines = [("1", f"d{i}", i, score) for i, score in enumerate(scores, 1)]
    sound = [("2", f"d{i}", i, str(-i)) for i in range(1, 5)]
    assert anomalies(run_of(lines + sound, tmp_path)).exponents == count


def test_numbers_without_text_say_nothing_of_exponents() -> None:
    rising = fm.read_run({"1": {"a": 1.0, "b": 2.0}})
    assert anomalies(rising).exponents is None
    assert anomalies(fm.read_run({"1": {"a": 2.0, "b": 1.0}})).exponents == 0


# -- what ties could change -----------------------------------------------------------------------------------------


def small_collection(seed: int, n_runs: int = 4) -> tuple[Grades, dict[str, Ranked]]:
    """Two topics of six documents, most of them tied; some are unjudged."""
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(6)]
    qrels = {str(t): {d: int(rng.random() < 0.5) for d in documents if rng.random() < 0.8} | {"x": 1} for t in (1, 2)}
    runs = {
        f"r{r}": {str(t): {d: float(rng.integers(0, 4)) for d in rng.permutation(documents)[:4]} for t in (1, 2)}
        for r in range(n_runs)
    }
    return qrels, runs


def all_means(qrels: Grades, run: Ranked, measure: str) -> list[float]:
    """The means of every combination of orders of a run's tied documents, by plain loops."""
    by_topic = []
    for topic, scores in run.items():
        ordered = sorted(scores, key=lambda d: -scores[d])
        ranking = tuple(slow.Doc(qrels[topic].get(d), int(scores[d])) for d in ordered)
        outside = tuple(slow.Doc(g) for d, g in qrels[topic].items() if d not in scores)
        case = slow.Case(ranking, outside, 1)
        orders = slow.tie_orders(ranking)
        by_topic.append([slow.value(measure, slow.Case(order, outside, case.gmax)) for order in orders])
    return [float(np.mean(combination)) for combination in itertools.product(*by_topic)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("measure", ["AP", "RR", "P@2"])
def test_pairs_and_places_are_those_of_all_orders(measure: str, seed: int) -> None:
    qrels, runs = small_collection(seed)
    report = ties(qrels, runs, measure)
    means = {name: sorted(set(np.round(all_means(qrels, run, measure), 12))) for name, run in runs.items()}
    rules = report.scores.select("run", *RULES)
    values = {row[0]: [v for v in row[1:] if v is not None] for row in rules.iter_rows()}
    for row in report.pairs.iter_rows(named=True):
        a, b = row["run_a"], row["run_b"]
        under_rules = {np.sign(round(x - y, 11)) for x, y in zip(values[a], values[b], strict=True)}
        signs = {np.sign(round(x - y, 11)) for x, y in itertools.product(means[a], means[b])}
        expected = "changes" if len(under_rules) > 1 else "could change" if len(signs) > 1 else "same"
        assert row["verdict"] == expected
        assert row["diff_low"] == pytest.approx(means[a][0] - means[b][-1], abs=1e-9)
        assert row["diff_high"] == pytest.approx(means[a][-1] - means[b][0], abs=1e-9)
    for row in report.places.iter_rows(named=True):
        mine, others = means[row["run"]], [means[name] for name in means if name != row["run"]]
        places = [
            1 + sum(round(theirs - own, 11) > 0 for theirs in combination)
            for own in mine
            for combination in itertools.product(*others)
        ]
        assert (row["best"], row["worst"]) == (min(places), max(places))
        assert row["trec"] in places


def test_scores_are_those_of_each_rule() -> None:
    made = fm.simulate(systems=5, n_topics=6, n_docs=600, depth=60, seed=4)
    measures = ["AP", "nDCG@10", "RBP(p=0.8)", "GMAP", "Bpref", "P(judged_only=True)@5"]
    report = ties(made.qrels, made.runs, measures)
    policies: tuple[Ties, ...] = ("trec", "run", "score-rank", "expected")
    for column, policy in zip(RULES, policies, strict=True):
        table = fm.evaluate(made.qrels, made.runs, measures, ties=policy)
        joined = report.scores.join(table, on=["run", "measure"])
        if policy == "expected":
            joined = joined.filter(pl.col("measure") != "GMAP")  # has none where ties matter
        np.testing.assert_allclose(joined[column].to_numpy(), joined["score"].to_numpy(), atol=1e-12)
    table = fm.evaluate(made.qrels, made.runs, measures)
    joined = report.scores.join(table, on=["run", "measure"])
    for ours, theirs in (("pessimistic", "tie_low"), ("optimistic", "tie_high")):
        np.testing.assert_allclose(joined[ours].to_numpy(), joined[theirs].to_numpy(), atol=1e-12)
    assert report.scores.filter(pl.col("measure") == "Bpref")["joint_high"].null_count() == 5
    assert (joined["optimistic"] > joined["pessimistic"]).any()


def test_runs_without_ranks_have_no_score_rank() -> None:
    report = ties({"1": {"a": 1, "b": 0}}, {"x": {"1": {"a": 1.0, "b": 1.0}}, "y": {"1": {"b": 1.0}}}, ["RR", "P@1"])
    assert report.scores["score_rank"].null_count() == 4
    assert report.places["score_rank"].null_count() == 4
    assert report.pairs["verdict"].to_list() == ["same", "changes"]  # trec has b first, the file a
    assert report.depth == 1
    assert ties({"1": {"a": 1}}, {"1": {"a": 1.0}}, "RR").depth == 10


@pytest.mark.long
@FEW
@given(st.integers(1, 3).flatmap(lambda gmax: st.lists(cases(gmax), min_size=1, max_size=8)))
def test_joint_ranges_hold_the_others(sample: list[slow.Case]) -> None:
    evidence = block(sample)
    for name in VALUES:
        if name.startswith(("INST", "infAP", "IPrec", "Bpref", "Judged")):
            continue  # no joint range, and a slow mean
        if ("gains=" in name and sample[0].gmax != 2) or (sample[0].gmax > 2 and "max_grade" in name):
            continue
        measure = fm.parse_measure(name)
        scores = measure.scores(evidence)
        low, high = measure.joint_range(evidence, scores)
        if low is None or high is None:
            continue
        for column in (scores.score, scores.low, scores.high, scores.tie_low, scores.tie_high, scores.tie_expected):
            assert column is not None
            assert (low <= column + SLACK).all(), name
            assert (high >= column - SLACK).all(), name


# -- runs without ties ----------------------------------------------------------------------------------------------


POLICIES: list[Ties] = ["trec", "run", "rank", "score-rank"]


@pytest.mark.parametrize("policy", POLICIES)
def test_trec_eval_reads_a_fixed_run_as_we_read_the_original(tmp_path: Path, policy: Ties) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(7)
    lines = random_lines(rng, n_topics=12)
    run = run_of(lines, tmp_path)
    qrels = {f"t{t}": {f"d{i}": int(rng.integers(0, 3)) for i in range(14)} for t in range(12)}
    (path,) = fix_runs([run], tmp_path / "fixed", policy)
    original = fm.evaluate(qrels, run, ["AP", "nDCG@10", "RR", "P@5"], by_topic=True, ties=policy)
    with path.open() as text:
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut_10", "recip_rank", "P_5"})
        theirs = evaluator.evaluate(pytrec_eval.parse_run(text))
    names = {"AP": "map", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "P@5": "P_5"}
    for row in original.filter(pl.col("topic") != "all").iter_rows(named=True):
        assert theirs[row["topic"]][names[row["measure"]]] == pytest.approx(row["score"], abs=1e-6)
    for other in POLICIES:
        again = fm.evaluate(qrels, path, ["AP", "nDCG@10", "RR", "P@5"], by_topic=True, ties=other)
        np.testing.assert_allclose(again["score"].to_numpy(), original["score"].to_numpy(), atol=1e-12)
        assert again["tie_low"].equals(again["tie_high"], null_equal=True)


def test_a_fixed_run_is_plain_to_read(tmp_path: Path) -> None:
    run = run_of([("7", "a", 3, "1.0"), ("7", "c", 2, "1.0"), ("6", "z", 1, "-1e-9"), ("7", "b", 1, "1.0")], tmp_path)
    (path,) = fix_runs([run], tmp_path / "new" / "folder")
    assert path.read_text() == "7 Q0 c 1 3 tag\n7 Q0 b 2 2 tag\n7 Q0 a 3 1 tag\n6 Q0 z 1 1 tag\n"


def test_sources_are_not_written_on(tmp_path: Path) -> None:
    run = run_of([("1", "b", 1, "1"), ("1", "a", 2, "1")], tmp_path)
    before = (tmp_path / "a.run").read_bytes()
    with pytest.raises(FathomsError, match="one of the files that were read"):
        fix_runs([run], tmp_path)
    (tmp_path / "linked").symlink_to(tmp_path)
    with pytest.raises(FathomsError, match="one of the files that were read"):
        fix_runs(str(tmp_path / "a.run"), tmp_path / "linked")
    assert (tmp_path / "a.run").read_bytes() == before
    fix_runs([run], tmp_path / "other")
    fix_runs([run], tmp_path / "other", "run")  # what was made may be made again
    assert (tmp_path / "other" / "a.run").read_text().split()[2] == "b"
    with pytest.raises(FathomsError, match="needs one order of tied documents"):
        fix_runs([run], tmp_path / "other", "expected")


# -- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_collection(fm.simulate(systems=5, n_topics=6, n_docs=600, depth=60, seed=4), tmp_path / "sim")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*words: str) -> int:
    return status("ties", *words)


def test_summary_says_what_the_tables_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("sim/qrels.txt", "sim/runs", "-m", "RR", "-m", "NumRet") == 0
    out = capsys.readouterr().out
    report = ties(folder / "sim/qrels.txt", folder / "sim/runs", ["RR", "NumRet"])
    assert out.startswith(f"{report.answer[0]}\n")
    for sentence in report.sentences:
        assert sentence in out
    assert "NumRet: no score depends on the tie-breaking rule." in out
    assert f"{sum(one.tied for one in report.by_run):,} of " in out


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_kind_in_each_format(folder: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    files = ("sim/qrels.txt", "sim/runs", "-m", "RR", "-m", "AP", "--show", kind)
    report = ties(folder / "sim/qrels.txt", folder / "sim/runs", ["RR", "AP"])
    frame = report.table(kind)  # type: ignore[arg-type]
    assert called(*files, "--format", "tsv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter="\t"))
    assert tuple(rows[0]) == KINDS[kind]  # type: ignore[index]
    assert len(rows) == len(frame)
    assert called(*files, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == frame.to_dicts()
    assert called(*files, "--format", "parquet", "-o", "x.parquet") == 0
    assert pl.read_parquet("x.parquet")["measure" if "measure" in frame.columns else "run"].len() == len(frame)
    assert called(*files) == 0
    assert KINDS[kind][0] in capsys.readouterr().out  # type: ignore[index]


def test_programs_get_the_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("sim/qrels.txt", "sim/runs", "-m", "RR", "--format", "csv") == 0
    assert capsys.readouterr().out.splitlines()[0] == ",".join(("run", "measure", *COLUMNS))


def test_picture_and_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not charts.available():
        pytest.skip("needs the extra `report`")
    assert called("sim/qrels.txt", "sim/runs", "-m", "AP", "-o", "ties.svg") == 0
    assert "optimistic" in (folder / "ties.svg").read_text()
    assert capsys.readouterr().out.startswith("AP: ")


def test_fixing_from_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("sim/qrels.txt", "sim/runs", "-m", "RR", "--fix", "fixed", "--ties", "run") == 0
    assert "5 runs in the order run written to fixed" in capsys.readouterr().err
    old = fm.evaluate("sim/qrels.txt", "sim/runs", ["AP", "RR"], ties="run")
    new = fm.evaluate("sim/qrels.txt", "fixed", ["AP", "RR"])
    assert old.select("run", "measure", "score").equals(new.select("run", "measure", "score"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ties", "run"], "--ties says in which order --fix DIR writes runs"),
        (["--format", "tsv", "--show", "summary"], "the summary is a table; for tsv choose --show runs"),
        (["--fix", "sim/runs"], "is one of the files that were read"),
        (["--fix", "sim/qrels.txt"], "is a file, expected a folder"),
    ],
)
def test_what_makes_no_sense(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert called("sim/qrels.txt", "sim/runs", "-m", "RR", *words) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert not found.out


# -- TREC-8 ---------------------------------------------------------------------------------------------------------

FAMILIES = [
    "P@10",
    "RBP(p=0.8)",
    "DCG@20",
    "SDCG@10",
    "RR",
    "ERR@20",
    "nERR@10",
    "AP",
    "AP(variant=b)@100",
    "nDCG",
    "nDCG@10",
    "Q@20",
    "R@100",
    "Rprec",
    "Success@5",
    "SetF",
    "Bpref",
    "IPrec@0.1",
    "GMAP",
]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_every_order_lies_between_the_limits_on_trec8(step: int) -> None:
    """In every fourth run; in all of them with `pytest -m slow`."""
    folder = collection("trec8-adhoc")
    align = Alignment(fm.read_qrels(folder / "qrels.txt"))
    runs = fm.scan_runs(folder / "runs")
    measures = [fm.parse_measure(name) for name in FAMILIES]
    orders: tuple[Ties, ...] = ("run", "score-rank")
    disordered = []
    assert len(runs) == 129
    for name in list(runs)[::step]:
        run = runs[name]
        evidence = align(run).evidence
        others = {policy: align(run, policy).evidence for policy in orders}
        if len(risen(run)):
            disordered.append(name)  # the order of this file is none of tied documents
            del others["run"]
        for measure in measures:
            scores = measure.scores(evidence)
            assert scores.tie_low is not None
            assert scores.tie_high is not None
            assert scores.tie_expected is not None
            values = [scores.score, scores.tie_expected, *(measure.value(other) for other in others.values())]
            assert all((scores.tie_low <= value + SLACK).all() for value in values), (name, measure)
            assert all((scores.tie_high >= value - SLACK).all() for value in values), (name, measure)
    of_all = ["input.UB99T", "input.kdd8ps16", "input.kdd8qe01", "input.kdd8sh16"]
    assert disordered == [name for name in of_all if name in list(runs)[::step]]


@pytest.mark.parametrize("name", ["input.uwmt8a0", "input.Scai8Adhoc", "input.UB99SW", "input.mds08a1"])
def test_expectations_are_means_of_shuffles_on_trec8(name: str) -> None:
    """10,000 shuffles of the topic on which ties matter most for AP; four standard errors for each value."""
    folder = collection("trec8-adhoc")
    run = fm.read_run(folder / "runs" / f"{name}.gz")
    evidence = Alignment(fm.read_qrels(folder / "qrels.txt"))(run).evidence
    ap = fm.parse_measure("AP").scores(evidence)
    assert ap.tie_low is not None
    assert ap.tie_high is not None
    topic = int(np.argmax(ap.tie_high - ap.tie_low))
    one = evidence.select([topic])
    relevant = one.codes[0] == JUDGED + 1
    R = int(one.counts[0, 1])
    n = len(relevant)
    group = np.cumsum(~one.tied[0])
    rng = np.random.default_rng(1)
    ranks = np.arange(1, n + 1)
    values: dict[str, list[np.ndarray]] = {m: [] for m in ("AP", "RR", "P@10", "RBP(p=0.8)", "nDCG@10")}
    for _ in range(10):
        shuffled = relevant[np.argsort(group + rng.random((1000, n)), axis=1)]  # groups are whole numbers apart
        values["AP"].append((shuffled * np.cumsum(shuffled, axis=1) / ranks).sum(axis=1) / R)
        values["RR"].append(np.where(shuffled.any(axis=1), 1 / (shuffled.argmax(axis=1) + 1), 0))
        values["P@10"].append(shuffled[:, :10].mean(axis=1))
        values["RBP(p=0.8)"].append((shuffled * 0.2 * 0.8 ** (ranks - 1)).sum(axis=1))
        ideal = (1 / np.log2(1 + np.arange(1, min(R, 10) + 1))).sum()
        values["nDCG@10"].append((shuffled[:, :10] / np.log2(ranks[:10] + 1)).sum(axis=1) / ideal)
    assert np.concatenate(values["AP"]).std() > 0.005
    for measure, parts in values.items():
        drawn = np.concatenate(parts)
        expected = fm.parse_measure(measure).scores(one).tie_expected
        assert expected is not None
        error = max(drawn.std(ddof=1) / np.sqrt(len(drawn)), 1e-12)
        assert abs(float(expected[0]) - drawn.mean()) <= 4 * error, measure


@pytest.mark.slow
def test_the_pool_of_trec8_followed_trec_evals_rule() -> None:
    """Run-topics of the contributing runs with an unjudged document in their top 100, and with another top 100."""
    folder = collection("trec8-adhoc")
    qrels = fm.read_qrels(folder / "qrels.txt")
    runs = fm.scan_runs(folder / "runs")
    rules: dict[str, tuple[Ties, Precision]] = {
        "trec": ("trec", "float32"),
        "trec 64": ("trec", "float64"),
        "run": ("run", "float64"),
        "rank": ("rank", "float64"),
        "by rank": ("score-rank", "float64"),
        "by rank 32": ("score-rank", "float32"),
    }
    unjudged, another = dict.fromkeys([*rules, "ascending"], 0), dict.fromkeys([*rules, "ascending"], 0)
    pooled = (folder / "pooled.txt").read_text().split()
    assert len(pooled) == 71
    for name in pooled:
        run = runs[name]
        tops = {rule: rank(run, qrels, *how) for rule, how in rules.items()}
        judged = np.zeros(len(run), dtype=bool)
        judged[tops["trec"].rows[tops["trec"].codes >= JUDGED]] = True
        rows = {rule: ranked.rows[ranked.rank <= 100] for rule, ranked in tops.items()}
        # Without the code that orders runs: of equal scores the smallest document id first.
        ascending = np.lexsort((run.documents, -run.scores, run.topic))
        first = np.searchsorted(run.topic[ascending], np.arange(len(run.topics)))
        rows["ascending"] = ascending[np.arange(len(run)) - first[run.topic[ascending]] < 100]
        for rule, top in rows.items():
            unjudged[rule] += len(set(run.topic[top[~judged[top]]].tolist()))
            another[rule] += len(set(run.topic[np.setdiff1d(top, rows["trec"])].tolist()))
    assert list(unjudged.values()) == [0, 0, 209, 118, 103, 103, 133]
    assert list(another.values()) == [0, 0, 283, 203, 151, 151, 208]


@pytest.mark.long
def test_table_1_on_trec8() -> None:
    runs = fm.scan_runs(collection("trec8-adhoc") / "runs")
    tied, wrong, fallen = affected([anomalies(runs[name]) for name in runs])
    assert tied.of == (129, 6450, 6284293)
    assert (tied.systems, tied.system_topics, tied.documents) == (121, 5919, 692941)
    assert (wrong.systems, wrong.system_topics, wrong.documents) == (8, 360, 112066)
    assert f"{fallen.percent[2]:.1f}" == "6.5"  # 7.3 on TREC7


def test_equal_means_share_a_place() -> None:
    means = {name: np.array([0.5, 0.7, 0.5, 0.1]) for name in COLUMNS}
    means["optimistic"] = np.array([0.5, 0.7, 0.5, 0.6])
    found = Means(means)
    places = found.places("trec")
    assert places is not None
    assert places.tolist() == [2, 1, 2, 4]
    best, worst = found.extreme_places()
    assert best.tolist() == [2, 1, 2, 2]
    assert worst.tolist() == [3, 1, 3, 4]
