"""What tests of the papers ask of a study: rows of its tables by the names of their columns."""

from __future__ import annotations

from typing import Any

from fathoms.papers.exhibits import Study


def rows(study: Study, name: str) -> list[dict[str, Any]]:
    exhibit = study[name]
    return [dict(zip(exhibit.columns, row, strict=True)) for row in exhibit.rows]


def one(study: Study, table: str, **where: Any) -> dict[str, Any]:
    (row,) = (row for row in rows(study, table) if all(row[key] == value for key, value in where.items()))
    return row
