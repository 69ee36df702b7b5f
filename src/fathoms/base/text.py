"""Small helpers for sentences."""

from __future__ import annotations

from collections.abc import Sequence


def pluralise(n: int, noun: str) -> str:
    """A number with its noun.

    >>> pluralise(1, "run"), pluralise(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def capitalised(sentence: str) -> str:
    """A sentence with a capital at its start; what follows stays as it is.

    >>> capitalised("of nDCG and AP")
    'Of nDCG and AP'
    """
    return sentence[:1].upper() + sentence[1:]


# What would move a cursor, change colours or turn the text around on a terminal; names and ids may hold any of it.
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    **{ord(character): character.encode("unicode_escape").decode() for character in "\t\n\r"},
    **{code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))},
}


def enumerated(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> enumerated(["AP"]), enumerated(["AP", "RR"]), enumerated(["AP", "RR", "P@10"])
    ('AP', 'AP and RR', 'AP, RR and P@10')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def shown_safely(text: str) -> str:
    r"""Text for a terminal, with control characters escaped.

    >>> shown_safely("a\x1b[31mb\n")
    'a\\x1b[31mb\\n'
    """
    return text.translate(CONTROLS)


def in_xml(text: str) -> str:
    r"""Text that XML, and so a picture, can hold: what it has no way to write is escaped as on a terminal.

    >>> in_xml("a\x1b\udce9\uffff\n")
    'a\\x1b\\xe9\\uffff\n'
    """
    return text if text.isprintable() else "".join(map(_xml_character, text))


def _xml_character(character: str) -> str:
    if character in "\t\n":
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF):
        return f"\\u{code:04x}"
    return CONTROLS.get(code, character)


def p_words(p: float) -> str:
    """A p-value in a sentence.

    >>> p_words(0.00003), p_words(0.0312)
    ('< 0.0001', '= 0.0312')
    """
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}"


def p_figure(p: float) -> str:
    """A p-value by itself.

    >>> p_figure(0.00003), p_figure(0.0312)
    ('< 0.0001', '0.0312')
    """
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


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


LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "∘": r"$\circ$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "ε": r"$\epsilon$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "×": r"$\times$",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "’": "'",
    "…": r"\ldots{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "<": r"$<$",
    ">": r"$>$",
    # After the end of a row, these would be taken for what \\ takes.
    "[": "{[}",
    "*": "{*}",
    **dict.fromkeys("\t\n\r\u00a0", " "),
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
# What accents are called, by the character that adds one to the letter before it.
LATEX_ACCENTS = dict(
    zip("\u0300\u0301\u0302\u0303\u0308\u0304\u0306\u0307\u030a\u030b\u030c\u0327", "`'^~\"=u.rHvc", strict=True)
)


def latex_escape(text: str) -> str:
    r"""Text as LaTeX sets it: in ASCII where LaTeX has a name for it. Other letters stay as they are, for XeLaTeX or
    LuaLaTeX with a font that has them; what cannot be printed is written as its code.

    >>> latex_escape("a_b & 5%"), latex_escape("Järvelin"), latex_escape("文"), latex_escape("\x1b")
    ('a\\_b \\& 5\\%', 'J\\"{a}rvelin', '文', '{[}U+001B]')
    """
    import re

    return re.sub("-(?=-)", "-{}", "".join(map(_latex_character, text)))  # two of them would be a dash


def _latex_character(character: str) -> str:
    if character in LATEX:
        return LATEX[character]
    if " " <= character <= "\x7e":
        return character
    import unicodedata

    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in LATEX_ACCENTS:
        return rf"\{LATEX_ACCENTS[parts[1]]}{{{parts[0]}}}"
    if "\udc80" <= character <= "\udcff":  # a byte that is no UTF-8
        return f"{{[}}0x{ord(character) - 0xDC00:02X}]"
    return character if character.isprintable() else f"{{[}}U+{ord(character):04X}]"


def valid_text(name: str) -> str:
    """The name with bytes that are no UTF-8 as `\\xe9`, for frames and other places that take valid text only."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")
