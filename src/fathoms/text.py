"""Small helpers for sentences."""

from __future__ import annotations


def pluralise(n: int, noun: str) -> str:
    """A number with its noun.

    >>> pluralise(1, "run"), pluralise(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


# What would move a cursor, change colours or turn the text around on a terminal; names and ids may hold any of it.
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    **{ord(character): character.encode("unicode_escape").decode() for character in "\t\n\r"},
    **{code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))},
}


def shown_safely(text: str) -> str:
    r"""Text for a terminal, with control characters escaped.

    >>> shown_safely("a\x1b[31mb\n")
    'a\\x1b[31mb\\n'
    """
    return text.translate(CONTROLS)


def p_words(p: float) -> str:
    """A p-value in a sentence.

    >>> p_words(0.00003), p_words(0.0312)
    ('< 0.0001', '= 0.0312')
    """
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}"


def p_cell(p: float) -> str:
    """A p-value in a table.

    >>> p_cell(0.00003), p_cell(0.0312)
    ('<.0001', '0.0312')
    """
    return "<.0001" if p < 0.0001 else f"{p:.4f}"


def up_to(change: float) -> str:
    """How far something moves at most, never by 0.0000.

    >>> up_to(0.0334), up_to(0.00002)
    ('by up to 0.0334', 'by less than 0.0001')
    """
    return "by less than 0.0001" if change < 0.00005 else f"by up to {change:.4f}"


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
        "α": r"$\alpha$",
        "ε": r"$\epsilon$",
        "ρ": r"$\rho$",
        "τ": r"$\tau$",
        "–": "--",
        "<": r"$<$",
        ">": r"$>$",
    }
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
