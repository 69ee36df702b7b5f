"""Groups of topics: how they are read, and what eval and compare say of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.data.topic_groups import read_topic_groups
from tests.support.commands import Command

TEXTS = {
    "tabs": "1\thead\n2\ttail\n3\thead\n",
    "a head": "topic\tgroup\n1\thead\n2\ttail\n3\thead\n",
    "commas": 'query,group\n1,head\n"2",tail\n3,head\n',
    "semicolons": "query;group\n1;head\n2;tail\n3;head\n",
    "blanks": "# a comment\n1 head\n2 tail\n\n3 head\n",
    "an object": '{"1": "head", "2": "tail", "3": "head"}',
    "objects": '{"qid": 1, "group": "head"}\n{"qid": 2, "group": "tail"}\n{"qid": 3, "group": "head"}\n',
    "a byte order mark": "\ufefftopic\tgroup\n1\thead\n2\ttail\n3\thead\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_groups_are_read_from(text: str, tmp_path: Path) -> None:
    path = tmp_path / "groups"
    path.write_text(text, encoding="utf-8")
    assert read_topic_groups(path).topics == {"group=head": {"1", "3"}, "group=tail": {"2"}}


def test_columns_of_a_topics_file(tmp_path: Path) -> None:
    path = tmp_path / "topics.jsonl"
    path.write_text(
        '{"topic": "1", "title": "star wars", "intent": "nav", "length": "short", "meta": {"a": 1}}\n'
        '{"topic": "2", "title": "x", "intent": "nav", "length": "long"}\n'
        '{"topic": "3", "title": "y", "intent": "", "length": "long"}\n'
    )
    assert list(read_topic_groups(path).topics) == ["intent=nav", "length=short", "length=long"]
    assert list(read_topic_groups(path, "length").topics) == ["length=short", "length=long"]
    with pytest.raises(fm.InputError, match=r"no column 'lenght'; it has title, intent, length"):
        read_topic_groups(path, ["lenght"])


def test_queries_with_blanks_are_topics_and_a_topic_may_be_in_several_groups(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text('query,kind\n"star wars, episode iv",film\n"star wars, episode iv",classic\ndune,film\n')
    assert read_topic_groups(path).topics == {
        "kind=film": {"star wars, episode iv", "dune"},
        "kind=classic": {"star wars, episode iv"},
    }
    assert read_topic_groups({"a": ["x", "y"], "b": "x"}).topics == {"group=x": {"a", "b"}, "group=y": {"a"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\thead\n2\n", "groups:2: expected a topic and its group, found '2'"),
        ("topic\ta\tb\n1\tx\n", "groups:2: expected topic a b, found '1 x'"),
        ("", "is empty"),
        ("topic\tgroup\n", "names columns, but has no topic"),
        ('{"topic": "1", "group": "x"}\n{broken\n', "groups:2: is not valid JSON"),
        ('[{"document": "1"}]', "expected records with a topic"),
    ],
)
def test_what_is_no_list_of_groups(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "groups"
    path.write_text(text)
    with pytest.raises(fm.InputError, match=message):
        read_topic_groups(path)


def test_groups_of_other_topics_are_an_error_and_topics_in_none_a_note(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=2, n_topics=6, n_docs=300, depth=50)
    topics = fm.read_qrels(folder / "qrels.txt").topics
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs", topic_groups={"nowhere": "a"})
    exp.warn = False
    with pytest.raises(fm.InputError, match="groups none of the judged topics; it has nowhere"):
        exp.evaluate("AP")
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs", topic_groups={topics[0]: "a", topics[1]: "a"})
    exp.warn = False
    assert any("4 judged topics of 6 in no group" in note for note in exp.evaluate("AP").notes)
    with pytest.raises(fm.FathomsError, match="group_by: names columns of topic_groups"):
        fm.Experiment(folder / "qrels.txt", folder / "runs", group_by="a")


@pytest.fixture
def grouped(simulated: Callable[..., Path]) -> tuple[Path, dict[str, dict[str, str]]]:
    folder = simulated(systems=3, n_topics=12, n_docs=400, depth=60, pool_depth=10, seed=3)
    topics = fm.read_qrels(folder / "qrels.txt").topics
    kinds = ("short", "long", "odd")
    return folder, {t: {"length": kinds[i % 3], "half": "first" if i < 6 else "last"} for i, t in enumerate(topics)}


def test_eval_by_group_is_the_mean_of_its_topics(grouped: tuple[Path, dict[str, dict[str, str]]]) -> None:
    folder, groups = grouped
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs", topic_groups=groups)
    exp.warn = False
    found = exp.evaluate(["nDCG@10", "AP"], by_topic=True)
    names = read_topic_groups(groups).topics
    assert len(names) == 5
    for (run, measure), rows in found.frame.partition_by("run", "measure", as_dict=True).items():
        for group, topics in names.items():
            (told,) = rows.filter(pl.col("topic") == group).to_dicts()
            of_topics = rows.filter(pl.col("topic").is_in(list(topics)))
            assert len(of_topics) == len(topics), (run, measure)
            for column in ("score", "low", "high", "tie_low", "tie_high", "tie_expected"):
                assert told[column] == pytest.approx(of_topics[column].mean(), abs=1e-12)
    # What sentences call the worst group is the lowest of all for that many runs.
    for measure in ("nDCG@10", "AP"):
        (said,) = [s for s in found.sentences if s.startswith(f"Worst group by {measure}: ")]
        rows = found.frame.filter(pl.col("measure") == measure, pl.col("topic").is_in(list(names)))
        lowest = rows.sort("score").group_by("run").first()
        group = said.split(": ")[1].split(",")[0]
        count = (lowest["topic"] == group).sum()
        assert f"the lowest for {count} of 3 runs" in said
        assert count == lowest["topic"].value_counts()["count"].max()


@pytest.mark.parametrize("correction", ["holm", "none"])
def test_compare_by_group_is_a_comparison_of_its_topics(
    grouped: tuple[Path, dict[str, dict[str, str]]], correction: Any
) -> None:
    folder, groups = grouped
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs", topic_groups=groups)
    exp.warn = False
    found = exp.compare(["nDCG@10", "AP"], correction=correction)
    plain = fm.Experiment(folder / "qrels.txt", folder / "runs")
    plain.warn = False
    assert found.frame.columns == [*plain.compare("AP", draws=0).frame.columns, "group"]
    qrels, names = fm.read_qrels(folder / "qrels.txt"), read_topic_groups(groups).topics
    tests = 1 if correction == "none" else len(names)
    for group, topics in names.items():
        alone = plain.with_qrels(qrels.of_topics(topics)).compare(
            ["nDCG@10", "AP"], draws=0, correction=correction, alpha=0.05 / tests
        )
        here = found.frame.filter(pl.col("group") == group)
        for one, told in zip(alone.frame.iter_rows(named=True), here.iter_rows(named=True), strict=True):
            for column in ("diff", "diff_low", "diff_high", "ci_low", "ci_high", "p", "effect", "reversible"):
                assert told[column] == (one[column] if column == "reversible" else pytest.approx(one[column], abs=1e-9))
            assert told["p_corrected"] == pytest.approx(min(1.0, tests * one["p_corrected"]), abs=1e-9)
            assert (told["verdict"] not in ("open", "tie")) == (told["p_corrected"] < 0.05)


def test_the_worst_group_that_compare_names_is_the_worst(grouped: tuple[Path, dict[str, dict[str, str]]]) -> None:
    folder, groups = grouped
    runs = sorted((folder / "runs").iterdir())[:2]
    exp = fm.Experiment(folder / "qrels.txt", [str(run) for run in runs], topic_groups=groups)
    exp.warn = False
    found = exp.compare("nDCG@10", draws=0)
    (pair,) = found.pairs
    sign = np.sign(pair.diff)
    worst = min(found.by_group, key=lambda one: one.diff * sign)
    (said,) = [s for s in found.sentences if " by group (" in s]
    ahead = pair.run_a if sign > 0 else pair.run_b
    assert f"worst for {ahead} is {worst.group}, {worst.diff * sign:+.4f} ({worst.verdict})" in said
    assert f"in {sum(one.diff * sign > 0 for one in found.by_group)} of 5;" in said


def test_likely_intervals_of_groups_hold_their_estimates(grouped: tuple[Path, dict[str, dict[str, str]]]) -> None:
    folder, groups = grouped
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs", topic_groups=groups)
    exp.warn = False
    found = exp.predict("nDCG@10", by_topic=True)
    assert found.calibrated is not None
    by_topic = {(r["run"], r["topic"]): r["estimate"] for r in found.frame.iter_rows(named=True)}
    names = read_topic_groups(groups)
    for (run, group, _), (estimate, low, high) in found.calibrated.by_group(names).items():
        assert low <= estimate <= high
        assert estimate == pytest.approx(np.mean([by_topic[run, topic] for topic in names.topics[group]]))


def test_on_the_command_line(fathoms: Command) -> None:
    Path("groups.tsv").write_text("1\ta\n2\tb\n")
    Path("other.run").write_bytes(Path("good.run").read_bytes().replace(b"d1 ", b"d9 "))
    topics = {line.split()[0] for line in Path("qrels.txt").read_text().splitlines()}
    Path("groups.tsv").write_text("".join(f"{topic}\tg{topic}\n" for topic in topics))
    first = sorted(topics)[0]
    done = fathoms("eval", "qrels.txt", "good.run", "-m", "AP", "--topic-groups", "groups.tsv", "--format", "tsv")
    assert f"\tgroup=g{first}\tAP\t" in done.out
    done = fathoms("eval", "qrels.txt", "good.run", "--topic-groups", "groups.tsv", "--format", "trec_eval")
    assert done.status == 2
    assert "--topic-groups has no place in --format trec_eval" in done.err
    for format in ("table", "latex"):
        done = fathoms("eval", "qrels.txt", "good.run", "-m", "AP", "--topic-groups", "groups.tsv", "--format", format)
        assert f"group=g{first}" in done.out
        words = ("compare", "qrels.txt", "good.run", "other.run", "--topic-groups", "groups.tsv", "--format", format)
        assert f"group=g{first}" in fathoms(*words).out


def test_some_topics_keep_the_scale_of_all() -> None:
    qrels = fm.read_qrels({"1": {"a": 1, "b": 0}, "2": {"a": 4}})
    some = qrels.of_topics(["1"])
    assert some.max_grade == 4
    assert some.levels.tolist() == [0, 1, 4]


@pytest.mark.long
def test_the_report_has_a_section_on_groups(grouped: tuple[Path, dict[str, dict[str, str]]], tmp_path: Path) -> None:
    folder, groups = grouped
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs", topic_groups=groups)
    exp.warn = False
    made = exp.report(tmp_path / "report.html", "nDCG@10")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="groups">') : page.index('<section id="depth">')]
    (said,) = [s for s in made.evaluation.sentences if s.startswith("Worst group")]
    assert said in section
    for run in made.evaluation.runs:
        for group, mean in run.group_means(made.measures[0], read_topic_groups(groups)).items():
            assert f"<td>{run.run}</td><td>{group}</td><td class=n>" in section
            assert f"{mean['score']:.4f}" in section
    plain = fm.Experiment(folder / "qrels.txt", folder / "runs")
    plain.warn = False
    plain.report(tmp_path / "plain.html", "nDCG@10")
    assert '<section id="groups">' not in (tmp_path / "plain.html").read_text(encoding="utf-8")


def test_a_file_of_another_kind_is_no_file_of_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("".join(f"{i % 8} Q0 d{i} {i // 8} {i // 8} tag\n" for i in range(8000)))
    with pytest.raises(fm.FathomsError, match="expected at most 1,000 groups of topics, found"):
        read_topic_groups(path)
