"""A number for each of some documents, `topic document value`: labels, probabilities, scores of a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.text import TextFormat, names_columns

if TYPE_CHECKING:
    from fathoms.data.lines import Layout, Table

COLUMNS = 3


class Values(TextFormat):
    name = "values"
    about = "lines `topic document value`, where labels or probabilities are asked for"
    reads = ("values",)

    def recognise(self, content: Content) -> Match:
        fits = len(content.fields) == COLUMNS and not names_columns(content)
        return Match.LIKELY if fits else Match.POSSIBLE

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import lines

        return lines.parse(content.raw, layout, source, lenient=lenient)


VALUES: FileFormat = Values()
