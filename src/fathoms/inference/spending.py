"""Looking again and again: how much of the error each look may spend, so that all looks together keep to it.

The chance that any of several tests errs is at most the sum of their levels, however they depend on each other (Boole).
Looks at one collection depend on each other a lot: the same topics, nearly the same system. So nothing is assumed, and
each of the looks that were planned has its share of alpha, as in alpha spending at a constant rate (Lan and DeMets
1983, Discrete sequential boundaries for clinical trials, Biometrika 70, whose boundaries need independent increments).
"""

from __future__ import annotations


def level_of_look(alpha: float, looks: int) -> float:
    """The level at which each of so many looks is tested."""
    return alpha / looks
