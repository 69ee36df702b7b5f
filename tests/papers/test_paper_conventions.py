"""Every study says what it takes for granted, in the same words on its page and in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.papers.conventions import ASPECTS, CONVENTIONS
from fathoms.papers.exhibits import Study
from fathoms.papers.output import write_study
from fathoms.questions.papers.command import PAPERS
from tests.support.scripts import script


def test_every_study_has_all_of_them() -> None:
    assert set(CONVENTIONS) == set(PAPERS)
    for own in CONVENTIONS.values():
        assert list(own) == list(ASPECTS)


@pytest.mark.parametrize("paper", PAPERS)
def test_they_stand_on_its_page(paper: str, tmp_path: Path) -> None:
    write_study(Study("A paper", "a collection", short=paper), tmp_path)
    for page in ("index.md", "index.html"):
        text = (tmp_path / page).read_text()
        assert CONVENTIONS[paper]["gains"] in text
        assert text.index("Conventions") < text.index(CONVENTIONS[paper]["repetitions"].split("`")[0])


def test_the_page_of_the_docs_is_what_the_code_says() -> None:
    conventions = script("conventions")
    assert conventions.PAGE.read_text(encoding="utf-8") == conventions.page(), "run `python docs/conventions.py`"
