"""Checks that every registered format goes through. What they find missing, they say.

Formats that can be written make their examples themselves; those that are only read have one below.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.files import PACKED_ENDINGS, compress
from fathoms.data import formats
from fathoms.data.column_names import Kind
from fathoms.data.convert import content as written
from fathoms.data.convert import losses
from fathoms.data.document_values import read_values
from fathoms.data.formats import registry
from fathoms.data.formats.base import BOM, HEAD, Content, FileFormat, Format, Match, ObjectFormat
from fathoms.data.lines import QRELS, RUN, VALUES
from fathoms.data.load import load
from fathoms.data.sniff import kind_of
from tests.support.commands import Command
from tests.support.paths import ROOT

LAYOUTS = {"run": RUN, "qrels": QRELS, "values": VALUES}
MEASURES = ["AP", "nDCG@10", "P@5"]

# Topics 9 and 10 are in another order as text than as numbers; the last two documents of each topic are tied.
SCORES = {"9": {"d-1": 3.5, "d-2": 2.25, "d-3": 0.5, "d-4": 0.5}, "10": {"d-2": 7.0, "d-5": 1.0, "d-1": 1.0}}
GRADES = {"9": {"d-1": 1, "d-3": 0, "d-9": 2}, "10": {"d-5": 1, "d-1": 0}}


def example_run() -> fm.Run:
    rows = [
        {"topic": topic, "document": document, "score": score, "rank": rank, "tag": "mine"}
        for topic, ranking in SCORES.items()
        for rank, (document, score) in enumerate(ranking.items(), 1)
    ]
    return fm.read_run(rows, name="mine")


DATA: dict[Kind, fm.Run | fm.Qrels] = {"run": example_run(), "qrels": fm.read_qrels(GRADES)}


def lines(*columns: str, number: dict[str, dict[str, Any]]) -> bytes:
    """Text with these columns, t for the topic, d for the document, n for the number."""
    rows = [
        " ".join({"t": topic, "d": document, "n": str(n)}[column] for column in columns)
        for topic, found in number.items()
        for document, n in found.items()
    ]
    return ("\n".join(rows) + "\n").encode()


# Of formats that cannot be written: bytes of a run with SCORES, of judgments with GRADES, of values with SCORES.
READ_ONLY: dict[tuple[str, Kind], bytes] = {
    ("named-columns", "run"): b"qid docno sim\n" + lines("t", "d", "n", number=SCORES),
    ("named-columns", "qrels"): b"qid docid relevance\n" + lines("t", "d", "n", number=GRADES),
    ("named-columns", "values"): b"qid docid probability\n" + lines("t", "d", "n", number=SCORES),
    ("beir", "values"): b"query-id corpus-id score\n" + lines("t", "d", "n", number=SCORES),
    ("beir", "run"): b"query-id corpus-id score\n" + lines("t", "d", "n", number=SCORES),
    ("mteb", "run"): json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"test": SCORES}}).encode(),
    ("values", "values"): lines("t", "d", "n", number=SCORES),
    ("quepid", "run"): b"Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\r\n"
    + b"".join(
        f"first,2026-11-17,1,{topic},{document},{rank}\r\n".encode()
        for topic, ranking in SCORES.items()
        for rank, document in enumerate(ranking, 1)
    ),
    ("rank-eval", "values"): json.dumps(
        {
            "requests": [
                {"id": topic, "ratings": [{"_index": "i", "_id": id, "rating": n} for id, n in found.items()]}
                for topic, found in SCORES.items()
            ]
        }
    ).encode(),
}
OBJECTS: dict[str, Callable[[Kind], Any]] = {
    "rows": lambda kind: DATA[kind].to_frame().to_dicts(),
    "rankings": lambda kind: {topic: list(ranking) for topic, ranking in SCORES.items()},
    "columns": lambda kind: DATA[kind].to_frame().to_dict(as_series=False),
    "mteb-dict": lambda kind: {"default": {"test": SCORES}},
    "irds": lambda kind: "irds:vaswani",
}


def example(format: FileFormat, kind: Kind) -> bytes:
    """A file of this format. Values are the scores of a run, where there is nothing else."""
    if (format.name, kind) in READ_ONLY:
        return READ_ONLY[format.name, kind]
    of: Kind = "run" if kind == "values" and "qrels" not in format.writes else kind
    if of == "values":
        return written(fm.read_qrels(SCORES), format.name)
    if (format.name, of) in READ_ONLY:
        return READ_ONLY[format.name, of]
    if of in format.writes:
        return written(DATA[of], format.name)
    pytest.fail(
        f"{format.name} reads {kind}, but has no example: give the format `write`, or put bytes that hold SCORES (or "
        f"GRADES) under {(format.name, kind)} in READ_ONLY of {Path(__file__).name}"
    )


def object_example(format: ObjectFormat, kind: Kind) -> Any:
    if format.name in OBJECTS:
        return OBJECTS[format.name](kind)
    if kind in format.writes:
        try:
            return format.write(DATA[kind])
        except fm.FathomsError as error:
            pytest.skip(str(error))  # an optional package
    pytest.fail(f"{format.name} has no example: give it `write`, or put one into OBJECTS of {Path(__file__).name}")


class Case(NamedTuple):
    format: FileFormat
    kind: Kind


def cases(*only: Kind) -> list[Any]:
    found = [Case(format, kind) for format in registry.FILES for kind in format.reads if not only or kind in only]
    return [pytest.param(case, id=f"{case.format.name}-{case.kind}") for case in found]


EVERY = pytest.mark.parametrize("case", cases())
FILES = pytest.mark.parametrize("case", cases("run", "qrels"))
WRITTEN = pytest.mark.parametrize(
    "case",
    [pytest.param(Case(f, kind), id=f"{f.name}-{kind}") for f in registry.writable() for kind in f.writes],
)
IN_MEMORY = pytest.mark.parametrize("format", [pytest.param(format, id=format.name) for format in registry.objects()])


def read(source: Any, kind: Kind) -> fm.Run | fm.Qrels:
    return fm.read_run(source, name="mine") if kind == "run" else fm.read_qrels(source)


def evaluation(data: fm.Run | fm.Qrels) -> list[tuple[Any, ...]]:
    """Scores by topic, with ranges and ties, of a run on GRADES or of SCORES on judgments."""
    run, qrels = (data, DATA["qrels"]) if isinstance(data, fm.Run) else (DATA["run"], data)
    return fm.evaluate(qrels, run, MEASURES, by_topic=True).rows()


# -- facts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [*registry.FILES, *registry.objects()], ids=lambda format: format.name)
def test_facts_are_declared(format: FileFormat | ObjectFormat) -> None:
    assert format.name, "give the format a `name`"
    assert format.about, "say in `about` what the format is: one line, for the docs"
    assert "\n" not in format.about, "`about` is a row of a table"
    assert format.reads, "say in `reads` what it is read as: run, qrels, values"
    assert set(format.writes) <= set(format.reads), "what is written can be read again"
    if isinstance(format, FileFormat) and format.writes:
        assert format.endings, "a format that is written needs `endings`; the first one is used for files in a folder"


@pytest.mark.parametrize("module", [module.name for module in pkgutil.iter_modules(formats.__path__)])
def test_every_file_is_registered(module: str) -> None:
    found = vars(importlib.import_module(f"{formats.__name__}.{module}")).values()
    registered = [*registry.FILES, *registry.objects()]
    for format in found:
        if isinstance(format, Format):
            assert format in registered, f"put the format of {module}.py into FILES or objects() of registry.py"
        if isinstance(format, type) and issubclass(format, Format) and "name" in vars(format):
            made = any(type(one) is format for one in registered)
            assert made, f"put an instance of {format.__name__} of {module}.py into FILES or objects() of registry.py"


def test_names_are_unique() -> None:
    names = [format.name for format in (*registry.FILES, *registry.objects())]
    assert len(set(names)) == len(names)


def test_the_docs_have_every_format() -> None:
    spec = importlib.util.spec_from_file_location("formats", ROOT / "docs" / "formats.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    found = made.PAGE.read_text(encoding="utf-8")
    assert found == made.page(), "docs/input.md is not what the registry says: run `python docs/formats.py`"


@WRITTEN
def test_endings_mean_the_format(case: Case) -> None:
    ending = case.format.ending(case.kind)
    expected = case.format.run_as if case.kind == "run" and case.format.run_as else case.format.name
    found = registry.by_ending(f"x{ending}", case.kind)
    assert found is not None, f"no format that writes {case.kind} has the ending {ending}"
    assert found.name == expected, f"{ending} means {found.name} already; choose another ending for {case.format.name}"
    assert registry.by_ending(f"X{ending.upper()}.gz", case.kind) is found


# -- recognised by content ----------------------------------------------------------------------------------------


@EVERY
def test_no_other_format_takes_it_for_its_own(case: Case) -> None:
    content = Content(example(case.format, case.kind))
    able = [other for other in registry.readable(case.kind) if other.container == content.container]
    matches = {other.name: other.recognise(content) for other in able}
    best = [name for name, match in matches.items() if match == max(matches.values())]
    shown = {name: match.name for name, match in matches.items()}
    assert case.format.name in best, f"its own example as {case.kind} is not recognised: {shown}"
    assert best == [case.format.name], f"two formats recognise it: {shown}; let one be CERTAIN of a mark of its own"
    assert max(matches.values()) > Match.POSSIBLE, "POSSIBLE is for what is wrong with a file; say LIKELY"


# What no format may take for certain, and the format that reads it, if one does: ids hold what they like.
FOREIGN: dict[str, tuple[Kind, bytes, str | None]] = {
    "run with commas": ("run", b"7 Q0 a,b,c 1 2.5 x,y\n", "trec"),
    "run with quotes": ("run", b'7 Q0 "a" 1 2.5 "x"\n', "trec"),
    "run with braces": ("run", b"7 Q0 {a:1} 1 2.5 [x]\n", "trec"),
    "qrels with commas": ("qrels", b"q,7 0 a,b 1\n", "trec"),
    "qrels with quotes": ("qrels", b'"7" 0 "a,b" 1\n', "trec"),
    "qrels with braces": ("qrels", b"7 0 {a} 1\n", "trec"),
    "qrels of a topic named query": ("qrels", b"query 0 docid 1\n", "trec"),
    "names with blanks": ("qrels", b"query docid grade\n7 a 1\n", "named-columns"),
    "names with tabs": ("qrels", b"query\tdocid\tgrade\n7\ta\t1\n", "named-columns"),
    "CSV with other names": ("qrels", b"name,price,colour\nlamp,20,red\n", None),
    "CSV with some of the names": ("qrels", b"query,price,grade\nlamp,20,1\n", None),
    "nothing": ("run", b"", None),
    "a blank line": ("qrels", b"\n", None),
    "binary": ("run", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None),
    "JSON of something else": ("run", b'{"name": "lamp", "price": 20}', None),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_no_format_claims_what_is_not_its_own(what: str) -> None:
    kind, raw, reader = FOREIGN[what]
    content = Content(raw)
    able = [format for format in registry.readable(kind) if format.container == content.container]
    certain = [format.name for format in able if format.recognise(content) is Match.CERTAIN]
    assert not certain, f"{', '.join(certain)}: CERTAIN of {raw!r}; ask for a mark that no other format has"
    format, match = registry.recognise(content, [kind])
    found = format.name if match > Match.POSSIBLE else None
    assert found == reader, f"{raw!r} is taken for {found}, and is {reader or 'of no format'}"


@EVERY
def test_the_first_bytes_are_enough(case: Case) -> None:
    """A large file is recognised by its start."""
    raw = example(case.format, case.kind)
    long = raw + b" " * (2 * HEAD) if case.format.container == "json" else raw * (2 * HEAD // len(raw) + 1)
    format, _ = registry.recognise(Content(long[:HEAD]), [case.kind])
    assert format is case.format


@FILES
def test_a_run_is_not_taken_for_judgments(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(example(case.format, case.kind))
    assert kind_of(str(path)) in (case.kind, None), "`kinds` says the wrong one"


def starts(part: Any, whole: Any) -> bool:
    """Is one the start of the other: all that it has but for the last item is as in the whole?"""
    if isinstance(part, dict) and isinstance(whole, dict):
        names = list(part)
        return names == list(whole)[: len(names)] and starts(list(part.values()), list(whole.values()))
    if isinstance(part, list) and isinstance(whole, list):
        complete = part[:-1] == whole[: max(len(part) - 1, 0)]
        return complete and len(part) <= len(whole) and (not part or starts(part[-1], whole[len(part) - 1]))
    return bool(part == whole)


VALUE = st.recursive(
    st.none() | st.integers(-9, 9) | st.text('a"\\\\[]{},:é', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"{,é', max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@given(st.lists(VALUE, max_size=3) | st.dictionaries(st.text("ab{", max_size=2), VALUE, max_size=3), st.booleans())
def test_as_much_json_as_the_first_bytes_hold(value: Any, ascii: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii).encode()
    assert Content(raw + b'\n{"another": 1}').json == value
    for end in range(1, len(raw)):
        found = Content(raw[:end]).json
        assert type(found) is type(value)
        assert starts(found, value), (raw[:end], found)


@pytest.mark.parametrize("raw", [b"{]", b"[}", b'{"a" 1}', b"[" * 50_000, b"{1: 2}", b"[,]"])
def test_what_is_no_json(raw: bytes) -> None:
    assert Content(raw).json is None


# -- read -----------------------------------------------------------------------------------------------------------


@EVERY
def test_rows_are_those_of_the_example(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(example(case.format, case.kind))
    table = read_values(path) if case.kind == "values" else load(path, LAYOUTS[case.kind])
    expected = GRADES if case.kind == "qrels" else SCORES
    pairs = zip(table.topic.tolist(), table.document.tolist(), table.number.tolist(), strict=True)
    found = {(topic.decode(), document.decode()): number for topic, document, number in pairs}
    wanted = {(topic, document): n for topic, ranking in expected.items() for document, n in ranking.items()}
    if "scores" in case.format.carries or case.kind == "qrels":
        assert found == wanted
    else:
        assert found.keys() == wanted.keys()


@FILES
@pytest.mark.parametrize("change", ["BOM", "CRLF", *PACKED_ENDINGS])
def test_awkward_files(case: Case, change: str, tmp_path: Path) -> None:
    raw = example(case.format, case.kind)
    path = tmp_path / "file"
    path.write_bytes(raw)
    expected = evaluation(read(path, case.kind))
    if change in PACKED_ENDINGS:
        path.write_bytes(compress(raw, f"x{change}"))
    elif case.format.container == "parquet":
        pytest.skip("parquet is no text")
    else:
        path.write_bytes(BOM + raw if change == "BOM" else raw.replace(b"\n", b"\r\n"))
    assert evaluation(read(path, case.kind)) == expected, f"{case.format.name} with {change} reads something else"


@IN_MEMORY
def test_objects_are_recognised_by_one_format(format: ObjectFormat) -> None:
    for kind in format.reads:
        if kind == "values":
            continue
        data = object_example(format, kind)
        others = [other.name for other in registry.objects() if kind in other.reads and other.recognise(data)]
        assert others == [format.name], f"an object of {format.name} is recognised by {others or 'none'}"


@IN_MEMORY
def test_objects_give_the_same_evaluation(format: ObjectFormat) -> None:
    if not format.in_python:
        pytest.skip("needs the network")
    for kind in format.reads:
        if kind != "values" and "scores" in format.carries:
            assert evaluation(read(object_example(format, kind), kind)) == evaluation(DATA[kind])


@pytest.mark.parametrize("kind", ["run", "qrels", "values"])
def test_what_cannot_be_read_gets_a_list_of_what_can(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for raw in (b"one two\n", b"[1, 2]", b"\0\1\2 binary\n"):
        path.write_bytes(raw)
        with pytest.raises(fm.InputError) as found:
            load(path, LAYOUTS[kind])
        for format in registry.readable(kind):
            assert format.name in str(found.value)
    with pytest.raises(fm.InputError) as found:
        load(3.5, LAYOUTS[kind])
    for one in registry.objects():
        assert (one.about in str(found.value)) == (kind in one.reads)


def test_what_is_recognised_has_errors_without_that_list(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(example(registry.by_name("trec"), "run") + b"9 Q0 d-7\n")
    with pytest.raises(fm.InputError) as found:
        fm.read_run(path)
    assert "formats" not in str(found.value)
    assert f"{path}:8: expected 6 columns" in str(found.value)


# -- split ----------------------------------------------------------------------------------------------------------


@FILES
def test_parts_have_the_rows_of_the_whole(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    format, kind = case
    path = tmp_path / "file"
    path.write_bytes(example(format, kind))
    if format.part_bytes is None:
        assert format.split(str(path), Content(path.read_bytes())) == [], "declare `part_bytes`, if it can be split"
        return
    monkeypatch.setattr(type(format), "part_bytes", 5 if format.container == "text" else path.stat().st_size // 2)
    places = format.split(str(path), Content(path.read_bytes()))
    assert len(places) > 1, "`split` gives one part only; without parts declare `part_bytes = None`"
    parts = [format.read_part(str(path), place, LAYOUTS[kind]) for place in places]
    whole = load(path, LAYOUTS[kind])
    for column in ("topic", "document", "number", "rank"):
        found = [getattr(part, column) for part in parts if getattr(part, column) is not None]
        expected = getattr(whole, column)
        assert [value for part in found for value in part.tolist()] == ([] if expected is None else expected.tolist())
    topics = [set(part.topic.tolist()) for part in parts]
    assert sum(map(len, topics)) == len(set().union(*topics)), "a topic is in two parts"


# -- write ----------------------------------------------------------------------------------------------------------


@WRITTEN
def test_what_is_written_comes_back(case: Case, tmp_path: Path) -> None:
    """The same evaluation, unless scores are lost, and then that of the order."""
    path = tmp_path / "file"
    path.write_bytes(written(DATA[case.kind], case.format.name))
    data, back = DATA[case.kind], read(path, case.kind)
    if case.kind == "qrels" or "scores" in case.format.carries:
        assert evaluation(back) == evaluation(data)
    else:
        ordered = {topic: dict(sorted(ranking.items(), key=lambda pair: -pair[1])) for topic, ranking in SCORES.items()}
        assert {topic: list(ranking) for topic, ranking in back.to_dict().items()} == {
            topic: list(ranking) for topic, ranking in ordered.items()
        }
        assert any("scores" in note for note in losses(data, case.format.name))
    if isinstance(back, fm.Run):
        assert (back.ranks is not None) == ("ranks" in case.format.carries), "`carries` is wrong about ranks"
        assert (back.tag == "mine") == ("tag" in case.format.carries), "`carries` is wrong about the tag"


@WRITTEN
def test_losses_are_said(case: Case) -> None:
    if case.kind == "run":
        said = " ".join(losses(DATA["run"], case.format.name))
        for part, word in (("scores", "scores"), ("ranks", "ranks"), ("tag", "the tag")):
            assert (word in said) == (part not in case.format.carries)


AWKWARD = ["a b", "a,b", 'a"b', "a\tb", "\u00e9\u6587", "#a", "{a", "[a", "a'b", "a:b", "a\\b"]


def written_or_refused(data: fm.Run | fm.Qrels, to: str, path: Path) -> str:
    """Writes a file, or gives the error that says why not."""
    try:
        path.write_bytes(written(data, to))
    except fm.InputError as error:
        return str(error)
    return ""


@WRITTEN
@pytest.mark.parametrize("what", ["topic", "document"])
@pytest.mark.parametrize("id", AWKWARD)
def test_awkward_ids_come_back_or_are_refused(case: Case, what: str, id: str, tmp_path: Path) -> None:
    topic, document = (id, "d-1") if what == "topic" else ("9", id)
    number: dict[str, dict[str, Any]] = {topic: {document: 2, "d-2": 1}, "last": {"d-1": 1}}
    data: fm.Run | fm.Qrels = fm.read_run(number) if case.kind == "run" else fm.read_qrels(number)
    path = tmp_path / "file"
    if refused := written_or_refused(data, case.format.name, path):
        assert repr(id) in refused, f"{case.format.name} refuses the {what} {id!r} and does not name it: {refused}"
        return
    back = read(path, case.kind).to_dict()
    ids, expected = ({topic: [*ranking] for topic, ranking in found.items()} for found in (back, number))
    assert ids == expected, (
        f"{case.format.name}: the {what} {id!r} comes back as another one; quote it, or refuse it before writing "
        "(check_ids of text.py for lines, check_fits of json.py)"
    )


@pytest.mark.parametrize("format", registry.writable("qrels"), ids=lambda format: format.name)
@pytest.mark.parametrize(("grade", "word"), [(-1, "negative"), (0.5, "fraction")])
def test_other_grades_come_back_or_the_loss_is_said(
    format: FileFormat, grade: float, word: str, tmp_path: Path
) -> None:
    grades = {"9": {"d-1": grade, "d-2": 1}}
    path = tmp_path / "file"
    if refused := written_or_refused(fm.read_qrels(grades), format.name, path):
        assert "d-1" in refused, f"{format.name} refuses grade {grade} and does not say of which document: {refused}"
        assert word in format.loses, f"{format.name} refuses grade {grade}: say so in `loses`"
        return
    back = fm.read_qrels(path).to_dict()
    assert back == grades or word in format.loses, f"{format.name}: grade {grade} becomes {back}; say so in `loses`"


@IN_MEMORY
def test_objects_that_are_written_come_back(format: ObjectFormat) -> None:
    for kind in format.writes:
        assert evaluation(read(object_example(format, kind), kind)) == evaluation(DATA[kind])


# -- commands -------------------------------------------------------------------------------------------------------


@WRITTEN
def test_convert_takes_it(case: Case, fathoms: Command) -> None:
    source, other = Path("in"), Path("back.parquet")
    source.write_bytes(written(DATA[case.kind], "trec"))
    target = Path(f"out{case.format.ending(case.kind)}")
    done = fathoms("convert", "in", "-o", str(target), "--to", case.format.name, "--kind", case.kind)
    assert done.status == 0, f"`fathoms convert --to {case.format.name}`: {done.err}"
    assert fathoms("convert", str(target), "-o", str(other), "--kind", case.kind).status == 0
    columns = set(pl.read_parquet(other).columns)
    assert ("grade" in columns) == (case.kind == "qrels")
    assert case.format.name in fathoms("convert", "--help").out


@FILES
def test_check_reads_it(case: Case, fathoms: Command) -> None:
    Path("qrels").write_bytes(written(DATA["qrels"], "trec"))
    Path("run").write_bytes(written(DATA["run"], "trec"))
    Path(case.kind).write_bytes(example(*case))
    done = fathoms("check", "qrels", "run")
    assert done.status == 0, done.out
    assert "no errors" in done.out.lower()
    assert "\nerror" not in done.out


def test_plain_files_need_no_polars_and_help_no_numpy(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(example(registry.by_name("trec"), "run"))
    for code, package in (
        (f"import fathoms; fathoms.read_run({str(path)!r})", "polars"),
        ("from fathoms.data.formats import registry; registry.objects()", "numpy"),
    ):
        code = f"import sys; {code}; assert {package!r} not in sys.modules"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
