"""Small helpers for sentences."""

from __future__ import annotations


def pluralise(n: int, noun: str) -> str:
    """A number with its noun.

    >>> pluralise(1, "run"), pluralise(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
