"""Texts that somebody wrote to stop the reader: all of them are read in a time that grows with their length."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fathoms.base.errors import InputError
from fathoms.data import texts
from fathoms.data.texts import Entry, open_texts


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
