"""Tables that never change: each is what a plain dict would be after the same changes, and stays so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.base import layered
from fathoms.base.layered import Layered

CHANGES = st.lists(st.dictionaries(st.integers(0, 9), st.none() | st.integers(), max_size=4), max_size=20)


@given(changes=CHANGES, most=st.integers(0, 6))
def test_every_version_is_what_a_dict_would_be(changes: list[dict[int, int | None]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layered, "MOST_CHANGES", most)
        plain: dict[int, int] = {}
        table: Layered[int, int] = Layered()
        versions = [(table, plain)]
        for change in changes:
            table = table.changed(change)
            plain = {key: value for key, value in {**plain, **change}.items() if value is not None}
            versions.append((table, plain))
        for table, plain in versions:
            assert table == plain
            assert len(table) == len(plain)
            assert sorted(table.items()) == sorted(plain.items())
            assert sorted(table.values()) == sorted(plain.values())
            assert [table.get(key) for key in range(10)] == [plain.get(key) for key in range(10)]
