"""Small helpers for sentences."""

from __future__ import annotations


def pluralise(n: int, noun: str) -> str:
    """A number with its noun.

    >>> pluralise(1, "run"), pluralise(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def latex_escape(text: str) -> str:
    r"""Text as LaTeX sets it.

    >>> latex_escape("a_b & 5%")
    'a\\_b \\& 5\\%'
    """
    special = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\n": " ",
        "±": r"$\pm$",
        "†": r"$\dagger$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "Δ": r"$\Delta$",
        "ρ": r"$\rho$",
        "τ": r"$\tau$",
        "–": "--",
        "<": r"$<$",
        ">": r"$>$",
    }
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
