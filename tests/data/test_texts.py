"""Texts of topics and documents in every form, also those that somebody wrote to stop the reader."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fathoms.base.errors import InputError
from fathoms.data import texts
from fathoms.data.texts import Entry, open_texts
from tests.support.real import collection


def document(tmp_path: Path, content: str, name: str = "d") -> Entry:
    (tmp_path / "docs.xml").write_text(f"<DOC><DOCNO>{name}</DOCNO>{content}</DOC>\n")
    found = open_texts(tmp_path / "docs.xml", {name}).get(name)
    assert found is not None
    return found


def test_elements_end_with_the_first_tag_that_ends_them(tmp_path: Path) -> None:
    found = document(
        tmp_path,
        "<!-- one --><HEADLINE>A <b>dam</b> &amp; more</HEADLINE><SCRIPT>x</SCRIPT><TEXT>first<P>second <!-- no -->end"
        "</TEXT> outside <TEXT class=x>third</TEXT><TEXT>without an end",
    )
    assert found == Entry("A dam & more", ("first", "second end", "third"))
    assert document(tmp_path, "<TITLE>only</TITLE> words <!-- open").body == ("words <!-- open",)
    assert document(tmp_path, "plain < 5 and > 3 <br>next").body == ("plain < 5 and > 3", "next")


HOSTILE: dict[str, Callable[[int], str]] = {
    "comments": lambda n: "<!--" * n,
    "tags": lambda n: "<a" * n,
    "titles": lambda n: "<TITLE>" * n,
    "scripts": lambda n: "<SCRIPT>" * n,
    "texts": lambda n: "<TEXT>" * n,
    "breaks": lambda n: "<P" * n,
    "declarations": lambda n: "<!" * n,
    "entities": lambda n: "&amp" * n,
    "blank lines": lambda n: "\n " * n,
    "numbers": lambda n: "<DOCNO>" * n,
}


@pytest.mark.long
@pytest.mark.parametrize("kind", HOSTILE)
def test_long_texts_are_read_at_all(kind: str, tmp_path: Path) -> None:
    """A search that starts again at each of these tags would not end within minutes."""
    content = HOSTILE[kind](200_000)
    assert sum(map(len, document(tmp_path, content).body)) <= len(content) + len("<DOC><DOCNO>d</DOCNO></DOC>")


@pytest.mark.parametrize("opened", ["[", '{"a":'])
def test_nested_json_is_shown_as_it_is(opened: str, tmp_path: Path) -> None:
    deep = opened * 100_000
    (tmp_path / "docs.jsonl").write_text('{"id": "d", "text": ' + deep + "\n")
    found = open_texts(tmp_path / "docs.jsonl", {"d"}).get("d")
    assert found is not None
    assert found.body[0].startswith('{"id": "d"')
    lists: object = "word"
    for _ in range(400):
        lists = [lists, "more"]
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "d", "text": lists}) + "\n")
    found = open_texts(tmp_path / "docs.jsonl", {"d"}).get("d")
    assert found is not None
    assert found.body == ("word", *["more"] * 400)


def test_only_the_start_of_a_very_long_text_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LONGEST", 60)
    assert document(tmp_path, f"<TEXT>{'word ' * 100}</TEXT>").body == (" ".join(["word"] * 6) + " wor",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_in_the_place_of_a_document_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "d1.txt"
    path.write_text("words")
    found = open_texts(tmp_path, {"d1"})
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"d1\.txt: is not a regular file"):
        found.get("d1")


# -- every form they come in ---------------------------------------------------------------------------------------

SGML = b"""<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>Dams &amp; fish</HEADLINE>
<TEXT>
<P>First one,
two lines.</P><P>Second one.</P>
</TEXT>
<TEXT>Third one.</TEXT>
</DOC>
<doc><docno>FT-2</docno>All &lt;there&gt; is.</doc>
<DOC><DOCNO>FT-3</DOCNO><script>x()</script><title>Only a title</title><b>Bold</b> words"""
TOPICS = b"""
<top>
<num> Number: 051
<title> Topic: Airbus subsidies

<desc> Description:
Who pays
for them?

<narr> Narrative:
Anything with a figure.
</top>

<top>
<num> Number: 52 <title> South Africa
</top>
"""
XML = b"""<?xml version="1.0"?><topics><topic number="7" type="x">
<query>virus origin</query><question>where did it start</question><narrative>places &amp; dates</narrative>
</topic></topics>"""
JSON = (
    b'{"id": "1", "title": "T", "text": "One.\\n\\nTwo."}\n\n'
    b'{"text": "early", "docno": 2, "body": ["late", null, {"x": 1}]}\n'
    b'{"_id":"3","other":"\\"id\\": \\"1\\""}\r\n'
    b'{"query_id": "4\\u00e9", "query": "q", "narrative": "n", "description": "d"}'
)
FORMS = {
    "tsv": (
        b"\xef\xbb\xbf1\tjust text\r\n2\ttitle\tbody\tmore\n\n3\t\n1\tsecond time\n",
        {"1": Entry("", ("just text",)), "2": Entry("title", ("body", "more")), "3": Entry("", ())},
    ),
    "json": (
        JSON,
        {
            "1": Entry("T", ("One.", "Two.")),
            "2": Entry("", ("early", "late")),
            "3": Entry("", ()),
            "4é": Entry("q", ("d", "n")),
        },
    ),
    "sgml": (
        SGML,
        {
            "FT-1": Entry("Dams & fish", ("First one, two lines.", "Second one.", "Third one.")),
            "FT-2": Entry("", ("All <there> is.",)),
            "FT-3": Entry("Only a title", ("Bold words",)),
        },
    ),
    "topics": (
        TOPICS,
        {
            "51": Entry("Airbus subsidies", ("Who pays for them?", "Anything with a figure.")),
            "051": Entry("Airbus subsidies", ("Who pays for them?", "Anything with a figure.")),
            "52": Entry("South Africa", ()),
        },
    ),
    "xml": (XML, {"7": Entry("virus origin", ("where did it start", "places & dates"))}),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gz", "bz2"])
@pytest.mark.parametrize("form", FORMS)
def test_texts_of_every_form(form: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    raw, entries = FORMS[form]
    path = tmp_path / "texts"
    path.write_bytes(pack(raw))
    texts = open_texts(path, {*entries, "absent"})
    assert {name: texts.get(name) for name in entries} == entries
    assert texts.get("absent") is None
    assert len(texts) == len(entries)
    first = next(iter(entries))
    others = open_texts(path, {first})  # no more is remembered than is wanted
    assert len(others) == 1
    assert others.get(list(entries)[-1]) == (entries[first] if len(entries) == 1 else None)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"1\ttext\nno tab here\n", r"texts:2: expected `id<TAB>text`, found 'no tab here'"),
        (b'{"id": "1", "text": "x"}\n{"text": "x"}\n', r"texts:2: expected a field with the id .*found \['text'\]"),
        (b'{\n "1": "pretty"\n}\n', r"texts:1: expected a JSON object, found '\{'"),
        (b'{"id": "1"}\n[1]\n', r"texts:2: expected a JSON object, found '\[1\]'"),
        (b"<html></html>", "has neither <DOC> nor <top> nor <topic>"),
        (b"<DOC><DOCNO>1</DOCNO></DOC>\n<DOC>x</DOC>", "texts:2: this <DOC> has no <DOCNO>"),
        (b"<top>\n<title> x\n</top>", "texts:1: this topic has no number"),
        (gzip.compress(b"1\ttext", mtime=0)[:-4], "damaged or cut short"),
    ],
)
def test_texts_that_cannot_be_read(raw: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "texts").write_bytes(raw)
    with pytest.raises(InputError, match=message):
        open_texts(tmp_path / "texts", {"1"})


def test_texts_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_texts(tmp_path / "nothing", {"1"})


def test_a_folder_of_texts_has_no_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "sub" / "d").write_text("secret")
    (folder / "a.1.txt").write_text("of a.1\nstill\n\nnext")
    (folder / "a").write_text("of a")
    (folder / "b.html.gz").write_bytes(gzip.compress(b"<html><title>B</title><p>of b</p></html>"))
    (folder / "c").write_bytes(b"caf\xe9")
    tricks = [
        "../secret",
        "..",
        ".",
        "",
        "/",
        "sub",
        "sub/d",
        "..\\secret",
        str(tmp_path / "secret"),
        "a/../../secret",
        "a\0",
        "./a",
        "~",
    ]
    texts = open_texts(folder, {"a", "a.1", "b", "c", *tricks})
    assert texts.get("a") == Entry("", ("of a",))
    assert texts.get("a.1") == Entry("", ("of a.1 still", "next"))
    assert texts.get("b") == Entry("B", ("of b",))
    assert texts.get("c") == Entry("", ("caf�",))
    assert len(texts) == 4
    for trick in tricks:
        assert texts.get(trick) is None


def test_texts_of_cranfield() -> None:
    folder = collection("cranfield")
    documents = open_texts(folder / "docs.jsonl", {str(i) for i in range(1, 1401)})
    assert len(documents) == 1400
    entry = documents.get("1400")
    assert entry is not None
    with open(folder / "docs.jsonl", encoding="utf-8") as file:
        last = [json.loads(line) for line in file][-1]
    assert (last["id"], last["title"]) == ("1400", entry.title)
    assert " ".join(entry.body) == " ".join(last["text"].split())
    topics = open_texts(folder / "topics.tsv", {"1", "225", "365"})
    found = topics.get("1")
    assert found is not None
    assert found.body[0].startswith("what similarity laws must be obeyed")
    assert topics.get("225") is not None
    assert topics.get("365") is None  # the original number of 225
