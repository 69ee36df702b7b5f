"""One thing that `fathoms check` found, and the words that such findings share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True)
class Finding:
    """One thing found in one file. Findings of one level and kind are alike, and a screen shows one for all."""

    level: Level
    file: str
    message: str
    kind: str = ""  # "": like no other


def listed(topics: Sequence[str], most: int = 5) -> str:
    """`topics 1, 2 and 3 more`."""
    more = f" and {len(topics) - most} more" if len(topics) > most else ""
    return f"topic{'s' if len(topics) > 1 else ''} {', '.join(topics[:most])}{more}"
