"""What Carterette (2007) prints in Tables 1 to 5 and in section 5."""

from __future__ import annotations

from collections.abc import Sequence

from fathoms.papers.exhibits import InPaper
from fathoms.papers.printing import Cell, Column

CONFIDENCE = ("0.5 – 0.6", "0.6 – 0.7", "0.7 – 0.8", "0.8 – 0.9", "0.9 – 0.95", "0.95 – 0.99", "1.0")
AD_HOC = "the ad hoc tracks of TREC 3 and 5 to 8 together"


def percent(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.1f}%")


def fixed(value: float | None, digits: int, mark: str = "") -> Cell:
    return Cell("–") if value is None else Cell(f"{value:,.{digits}f}", mark=mark)


def _numbers(text: str) -> list[list[float | None]]:
    return [[None if word == "-" else float(word) for word in line.split()] for line in text.strip().splitlines()]


def _table(collection: str, heads: Sequence[tuple[str, str]], text: str, last: Sequence[tuple[str, int]]) -> InPaper:
    """Percentages by confidence; the last rows are other figures, with their digits. Heads: group and head."""
    names = ["confidence", *(f"c{i}" for i in range(len(heads)))]
    numbers = _numbers(text)
    rows: list[list[str | Cell]] = [
        [name, *map(percent, row)] for name, row in zip(CONFIDENCE, numbers[: len(CONFIDENCE)], strict=True)
    ]
    rows += [
        [name, *(Cell("") if value is None else fixed(value, digits) for value in row)]
        for (name, digits), row in zip(last, numbers[len(CONFIDENCE) :], strict=True)
    ]
    layout = [Column("Confidence", "confidence")]
    layout += [Column(head, name, group=group) for name, (group, head) in zip(names[1:], heads, strict=True)]
    return InPaper(collection, names, rows, None, layout)


TRACKS = [
    ("ad hoc 94", 50, 40, 97_319, 9_805),
    ("ad hoc 95", 49, 33, 87_069, 6_503),
    ("ad hoc 96", 50, 61, 133_681, 5_524),
    ("ad hoc 97", 50, 74, 72_270, 4_611),
    ("ad hoc 98", 50, 103, 80_345, 4_674),
    ("ad hoc 99", 50, 129, 86_830, 4_728),
    ("web 04", 225, 74, 88_566, 1_763),
    ("robust 05", 50, 74, 37_798, 6_561),
    ("terabyte 05", 50, 58, 45_291, 10_407),
]
TABLE_1_NAMES = ("collection", "topics", "runs", "judged", "relevant")
TABLE_1_LAYOUT = [
    Column("Track", "collection"),
    Column("No. topics", "topics"),
    Column("No. runs", "runs"),
    Column("No. judged", "judged"),
    Column("No. rel", "relevant"),
]
TABLE_1 = InPaper("its nine tracks", TABLE_1_NAMES, TRACKS, None, TABLE_1_LAYOUT)

FIGURES = (("mean W", 2), ("median judged", 0), ("mean τ", 3))
TABLE_2 = _table(
    AD_HOC,
    [(method, head) for method in ("MTC", "RTC") for head in ("% in bin", "accuracy")],
    """
33.7 61.7 28.6 61.9
18.1 73.1 20.1 76.3
10.4 70.1 15.5 78.0
9.4  69.0 12.1 84.9
7.3  78.0 6.6  93.1
17.9 70.4 12.4 93.4
3.3  68.3 4.7  98.9
- -5.34 - -0.39
- 251   - 235
- 0.393 - 0.555""",
    FIGURES,
)
GROUPS = ("two original", "one original", "no original")
TABLE_3 = _table(
    f"{AD_HOC}, RTC",
    [("accuracy", group) for group in GROUPS],
    """
-    48.1 62.8
-    57.1 79.2
-    67.9 81.7
-    82.2 86.3
95.9 93.7 92.6
96.2 92.5 93.1
100  98.0 99.1
-1.11 -0.87 -0.27""",
    FIGURES[:1],
)
TABLE_4 = _table(
    f"{AD_HOC}, RTC",
    [("accuracy when similar", f"{low} – {high}") for low, high in (("0", "0.1"), ("0.1", "0.2"), ("0.2", "0.3"))],
    """
68.4 63.1 61.4
84.2 78.6 76.6
82.0 79.8 78.9
93.6 83.3 82.1
99.3 92.7 92.4
98.7 93.4 93.3
99.9 97.9 98.1
0.44 -0.45 -0.49""",
    FIGURES[:1],
)
TABLE_5 = _table(
    "its eight test sets, RTC",
    [("accuracy", name) for name, *_ in TRACKS if name != "ad hoc 95"],
    """
64.1 61.8 62.2 62.0 59.4 64.3 61.5 61.6
76.1 77.8 74.5 78.2 74.3 78.1 75.9 75.9
75.2 78.9 77.6 80.0 78.6 82.6 77.5 80.4
83.2 85.5 84.6 84.9 86.8 84.5 86.7 87.7
93.0 93.6 92.8 93.7 92.6 94.2 93.9 94.2
93.1 94.3 93.1 93.7 92.8 95.0 93.9 91.6
99.2 96.8 98.7 99.5 99.6 100  99.2 98.3
-0.34 -0.34 -0.48 -0.35 -0.44 -0.07 -0.41 -0.67
235 276 243 213 179 448 310 320
0.538 0.573 0.556 0.579 0.532 0.596 0.565 0.574""",
    FIGURES,
)

# Section 5, beside its tables: percent right of the pairs with less than 10% of their documents in common.
UNLIKE = {"RTC": 87.6, "MTC": 60.0, "IP": 60.0}
SIDE_RESULTS = InPaper(
    AD_HOC,
    ("figure", "MTC", "RTC", "IP"),
    [
        ["mean judged", fixed(823, 0), fixed(502, 0), Cell("")],
        ["trials with at most 100 judgments", Cell(""), Cell("10%"), Cell("")],
        ["W of those", Cell(""), fixed(0.41, 2), Cell("")],
        ["their accuracy at confidence 0.9 and above", Cell(""), percent(99.7), Cell("")],
        ["the same in sets of more than 235 judgments", Cell(""), Cell("93%"), Cell("")],
        ["accuracy of pairs with less than 10% in common", Cell("60%"), percent(87.6), Cell("60%")],
        ["judgments before a wrong prediction over those before a right one", Cell(""), Cell("over 1.5"), Cell("")],
        ["mean τ", fixed(0.393, 3), fixed(0.555, 3), fixed(0.398, 3)],
    ],
    None,
    [Column("", "figure"), *(Column(name, name) for name in ("MTC", "RTC", "IP"))],
)
