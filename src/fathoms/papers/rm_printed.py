"""What Ravana and Moffat (2010) print in Tables 1 and 2, for the TREC-9 Web Track and the 46-non systems."""

from __future__ import annotations

from fathoms.papers.exhibits import InPaper
from fathoms.papers.printing import Column

COLLECTION = "TREC-9 Web, 46-non"
METRICS = {"P@10": "P@10", "SDCG@100": "SDCG", "RBP(p=0.95)": "RBP", "AP": "AP", "nDCG": "NDCG"}
JUDGMENTS = 69_100
SIZES = (1_000, 10_000, JUDGMENTS)


def _table_1(*rows: tuple[float | None, ...]) -> InPaper:
    names = ["judgments", *METRICS]
    layout = [Column("Judgments", "judgments"), *(Column(head, name, 4) for name, head in METRICS.items())]
    return InPaper(COLLECTION, names, [(n, *row) for n, row in zip(SIZES, rows, strict=True)], False, layout)


TABLE_1 = {
    "table1a": _table_1(
        (0.1184, 0.0419, 0.0647, 0.1822, 0.3282),
        (0.1877, 0.0900, 0.1269, 0.1541, 0.3494),
        (0.1923, 0.1085, 0.1398, 0.1258, 0.3237),
    ),
    "table1b": _table_1(
        (0.6759, 0.8535, 0.7921, 0.2744, 0.2903),
        (0.2692, 0.5670, 0.4333, 0.2789, 0.3240),
        (0.1631, 0.2311, 0.1955, 0.2309, 0.3229),
    ),
    "table1c": _table_1(
        (0.1840, 0.1373, 0.1556, None, None),
        (0.2019, 0.1293, 0.1566, None, None),
        (0.1974, 0.1157, 0.1460, None, None),
    ),
    "table1d": _table_1(
        (0.1823, 0.0995, 0.1255, None, None),
        (0.2064, 0.1296, 0.1589, None, None),
        (0.2020, 0.1216, 0.1509, None, None),
    ),
}

TABLE_2 = InPaper(
    COLLECTION,
    ["metric", "predictor", "few", "all", "reversals"],
    [
        ("P@10", "simplistic", 68.9, 67.5, 5.8),
        ("P@10", "interpolated", 58.6, 65.0, 2.2),
        ("P@10", "smoothed", 64.7, 62.7, 6.1),
        ("SDCG", "simplistic", 74.5, 74.9, 5.5),
        ("SDCG", "interpolated", 56.2, 71.6, 4.1),
        ("SDCG", "smoothed", 74.1, 67.7, 11.3),
        ("RBP", "simplistic", 74.1, 74.8, 4.9),
        ("RBP", "interpolated", 56.9, 72.9, 3.1),
        ("RBP", "smoothed", 72.1, 70.0, 7.8),
        ("AP", "simplistic", 69.1, 71.4, 5.4),
        ("NDCG", "simplistic", 75.8, 79.9, 4.3),
    ],
    False,
    [
        Column("Metric", "metric"),
        Column("Predictor", "predictor"),
        Column("1,000", "few", 1, unit="%", group="Separability"),
        Column("69,100", "all", 1, unit="%", group="Separability"),
        Column("Reversals", "reversals", 1, unit="%"),
    ],
)

_MINIMA = [("interpolated", 0.42, 0.01, 0.065), ("smoothed", 0.91, 0.05, 0.086)]


def _minima(rows: list[tuple[str, float, float, float]]) -> InPaper:
    layout = [Column("Predictor", "predictor"), Column("C", "C", 2), Column("E", "E", 2), Column("RMSE", "rmse", 3)]
    return InPaper("TREC-9 Web, 59-con, P@10", ["predictor", "C", "E", "rmse"], rows, False, layout)


MINIMA = {"both": _minima(_MINIMA), **{row[0]: _minima([row]) for row in _MINIMA}}
