"""What Lu, Moffat and Culpepper (2016) print in Tables 4 to 9 for their collections."""

from __future__ import annotations

from collections.abc import Iterator

from fathoms.papers.exhibits import InPaper
from fathoms.papers.printing import Column

RATIOS = ("Disc.", "Covr.", "Invr.")


def _rows(text: str) -> list[tuple[float | str | None, ...]]:
    return [tuple(map(_value, line.split())) for line in text.strip().splitlines()]


def _value(word: str) -> float | str | None:
    if word == "-":
        return None
    try:
        return int(word) if word.isdigit() else float(word)
    except ValueError:
        return word.replace("~", " ")


def _names(n: int) -> list[str]:
    return [f"c{i}" for i in range(n)]


def _ratios(collection: str, measures: tuple[str, ...], text: str) -> InPaper:
    """Discrimination, coverage and inversion of each measure by k."""
    names = _names(1 + 3 * len(measures))
    heads = ((measure, ratio) for measure in measures for ratio in RATIOS)
    columns = [Column(ratio, name, 1, group=measure) for name, (measure, ratio) in zip(names[1:], heads, strict=True)]
    return InPaper(collection, names, _rows(text), None, [Column("k", "c0"), *columns])


def _spreads(heads: tuple[str, ...], digits: int) -> Iterator[Column]:
    for i, head in enumerate(heads):
        yield Column(head, f"c{2 + 2 * i}", digits, deviation=f"c{3 + 2 * i}")


TABLE_4 = InPaper(
    "ClueWeb09 and ClueWeb10",
    _names(8),
    _rows("""
CW09 d~=~10 2.4 3.0 12.9 2.6 13.6 12.7
CW09 d~=~12 3.0 3.5 15.1 2.9 15.5 14.5
CW09 all    -   -   16.8 5.2 -    -
CW10 d~=~10 3.3 3.2 12.3 2.1 17.2 13.2
CW10 d~=~20 6.3 6.0 22.7 3.0 29.1 22.0
CW10 all    -   -   24.4 5.0 -    -"""),
    None,
    [Column("Dataset", "c0"), Column("Mode", "c1"), *_spreads(("RelInPool", "RankUnj", "NumRelPast"), 1)],
)


def _leave_out(text: str) -> InPaper:
    names = _names(7)
    collections = ("TREC 8, d = 10", "ClueWeb09, d = 12", "ClueWeb10, d = 20")
    heads = [(head, group) for group in collections for head in ("Δ%", "ΔRank")]
    columns = [Column(head, name, 2, group=group) for name, (head, group) in zip(names[1:], heads, strict=True)]
    where = "TREC 8, ClueWeb09 and ClueWeb10"
    return InPaper(where, names, _rows(text), None, [Column("", "c0", indexed=True), *columns])


TABLE_5A = _leave_out("""
AP_b    -1.31 0.67 -23.30 4.13 -17.50 2.43
NDCG_a  -1.06 0.60 -18.54 4.03 -13.98 2.10
RBP0.8  -0.90 0.38 -17.12 3.66 -12.75 1.61
RBP0.95 -1.25 0.76 -20.51 4.56 -15.33 2.19""")
TABLE_5B = _leave_out("""
AP_b    -4.41 1.81 -48.78 9.57 -42.71 5.43
NDCG_a  -3.30 1.80 -41.79 8.69 -35.02 5.19
RBP0.8  -3.05 1.31 -40.51 7.75 -30.94 4.39
RBP0.95 -4.10 1.85 -44.07 9.07 -37.38 5.89""")

TABLE_6 = InPaper(
    "18 TREC tasks",
    _names(6),
    _rows("""
TREC2  12 0.742 Robust04   9  0.997
TREC3  6  0.856 Robust05   64 0.990
TREC4  14 0.838 TREC2004   44 0.999
TREC5  8  0.981 TREC2005   30 0.990
TREC6  8  0.997 TREC2006   42 0.987
TREC7  12 0.996 CW09A-2009 22 0.898
TREC8  10 0.990 CW09A-2010 35 0.959
TREC9  34 0.994 CW09A-2011 14 0.984
TREC10 42 0.995 CW09A-2012 14 1.000"""),
    None,
    [
        column
        for start in (0, 3)
        for column in (
            Column("Task", f"c{start}"),
            Column("Med. % of ties", f"c{start + 1}"),
            Column("τ", f"c{start + 2}", 3),
        )
    ],
)

SIX = ("AP_b@k", "QM_a,i@k", "RBP(0.95)@k", "RR@k", "ERR@k", "RBP(0.8)@k")
TABLE_7A = _ratios(
    "Robust04, d = 100",
    SIX,
    """
1    21.1 31.1  5.2 20.8 30.3  7.4 21.1 33.7  5.3 23.5 100.0 0.0 13.4 56.8  0.0 21.1 40.3  3.6
4    40.9 58.7  2.1 39.5 56.0  1.6 43.0 67.2  0.4 23.5 100.0 0.0 20.0 86.5  0.0 41.5 81.1  0.0
10   51.9 75.3  0.0 51.7 74.7  0.7 53.4 84.0  0.0 23.5 100.0 0.0 22.8 96.9  0.0 49.0 95.4  0.0
40   63.2 93.2  0.0 63.4 92.8  0.0 61.3 98.8  0.0 23.5 100.0 0.0 22.3 100.0 0.0 51.0 100.0 0.0
100  66.9 100.0 0.0 67.4 100.0 0.0 61.0 100.0 0.0 23.5 100.0 0.0 22.3 100.0 0.0 51.0 100.0 0.0
400  67.9 99.3  0.0 68.5 99.8  0.0 61.0 100.0 0.0 23.5 100.0 0.0 22.3 100.0 0.0 51.0 100.0 0.0
1000 68.4 99.7  0.0 70.0 99.8  0.0 61.0 100.0 0.0 23.5 100.0 0.0 22.3 100.0 0.0 51.0 100.0 0.0""",
)
TABLE_7B = _ratios(
    "ClueWeb10, d = 10",
    SIX,
    """
1    30.0 53.2  8.1 36.7 54.3  6.7 30.0 55.3  1.0 41.4 100.0 0.0 33.8 66.7  0.0 30.0 63.4  0.0
4    46.2 82.9  0.0 48.6 81.9  0.0 41.4 74.8  0.0 41.4 100.0 0.0 48.6 87.6  0.0 40.5 82.8  0.0
10   52.9 100.0 0.0 50.0 100.0 0.0 49.0 100.0 0.0 41.4 100.0 0.0 50.0 100.0 0.0 44.3 100.0 0.0
40   48.6 82.9  0.0 47.1 81.9  0.0 49.0 80.6  0.0 41.4 100.0 0.0 48.1 96.2  0.0 45.7 97.8  0.0
100  49.5 79.3  0.0 48.6 74.3  1.9 47.6 79.6  1.0 41.4 100.0 0.0 48.1 96.2  0.0 45.7 97.8  0.0
400  51.0 78.4  1.8 50.5 73.3  4.8 48.6 79.6  1.0 41.4 100.0 0.0 48.6 96.2  0.0 45.7 97.8  0.0
1000 50.5 77.5  1.8 50.0 72.4  6.7 48.6 79.6  1.0 41.4 100.0 0.0 48.6 96.2  0.0 45.7 97.8  0.0""",
)
TABLE_8 = _ratios(
    "ClueWeb10, d = 10",
    ("AP_b@k", "QM_a,i@k", "RBP(0.95)@k", "RBP(0.8)@k"),
    """
1    30.0 47.4 14.9 35.7 45.5 17.4 30.0 54.7 4.7 30.0 61.4  0.0
4    45.7 75.4 0.0  48.1 71.1 0.0  41.4 72.6 0.0 40.5 80.2  0.0
10   52.4 92.1 0.0  51.9 87.6 0.0  49.0 72.6 0.0 44.3 96.9  0.0
40   53.3 95.6 0.0  57.6 96.7 0.0  48.1 91.5 0.0 46.2 100.0 0.0
100  53.3 82.4 0.0  53.3 81.0 0.0  48.6 90.6 0.0 46.2 100.0 0.0
400  41.4 44.7 15.8 47.6 43.0 28.9 48.6 90.6 0.0 46.2 100.0 0.0""",
)
TABLE_9 = InPaper(
    "Robust04 and ClueWeb10",
    _names(13),
    _rows("""
1    0.031 0.950 0.123 0.800 0.290 0.291 0.019 0.950 0.074 0.800 0.088 0.385
4    0.097 0.815 0.315 0.410 0.404 0.060 0.063 0.815 0.203 0.410 0.146 0.088
10   0.183 0.599 0.439 0.107 0.430 0.019 0.133 0.599 0.301 0.107 0.170 0.044
40   0.300 0.129 0.470 0.000 0.437 0.003 0.249 0.234 0.332 0.005 0.183 0.020
100  0.317 0.006 0.469 0.000 0.437 0.001 0.265 0.190 0.332 0.005 0.185 0.020
400  0.317 0.002 0.470 0.000 0.439 0.001 0.266 0.189 0.332 0.005 0.185 0.020
1000 0.317 0.002 0.470 0.000 0.439 0.001 0.266 0.189 0.332 0.005 0.185 0.020"""),
    None,
    [
        Column("k", "c0"),
        *(
            Column(head, f"c{1 + 6 * c + 2 * i}", 3, deviation=f"c{2 + 6 * c + 2 * i}", between="+", group=group)
            for c, group in enumerate(("Robust04, d = 100", "ClueWeb10, d = 20"))
            for i, head in enumerate(("RBP(0.95)@k", "RBP(0.8)@k", "ERR@k"))
        ),
    ],
)
CONDENSED_LENGTHS = InPaper(
    "ClueWeb10",
    ("mean", "longest"),
    [(244.9, 391)],
    None,
    [
        Column("Mean length", "mean", 1),
        Column("Longest", "longest"),
    ],
)
FIRST_RANK = InPaper(
    "NDCG@k",
    ("k", "weight"),
    [(5, 0.34), (10, 0.22), (20, 0.14)],
    None,
    [
        Column("k", "k"),
        Column("Weight of rank 1", "weight", 2),
    ],
)
