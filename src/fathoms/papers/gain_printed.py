"""What Lu, Moffat and Culpepper (2016) print in Tables 2 and 3, and in their text, for Robust04 and Terabyte06."""

from __future__ import annotations

from typing import Any

from fathoms.papers.exhibits import InPaper
from fathoms.papers.printing import Column

COLLECTIONS = "Robust04 and Terabyte06"
LABELS = {
    "static": "G_s",
    "constant": "G_c",
    "linear": "G_l",
    "zipf": "G_z",
    "weibull": "G_w",
    "hybrid": "G_H",
    "RM": "RM",
}
SIX = ("static", "constant", "linear", "zipf", "weibull", "hybrid")
EXTRAPOLATED = (*SIX[1:], "RM")


def _table_2(text: str) -> InPaper:
    rows: list[tuple[Any, ...]] = []
    for line in text.strip().splitlines():
        depth, *words = line.split()
        rows.append((int(depth), *(x for word in words for x in (float(word.rstrip("†")), "†" * word.count("†")))))
    places = [(group, name) for group in ("Rob04", "TB06") for name in SIX]
    names = [part for group, name in places for part in (f"{group}_{name}", f"{group}_{name}_mark")]
    layout = [
        Column("d", "depth"),
        *(Column(LABELS[n], f"{g}_{n}", 3, group=g, mark=f"{g}_{n}_mark") for g, n in places),
    ]
    return InPaper(COLLECTIONS, ["depth", *names], rows, False, layout)


TABLE_2 = _table_2("""
10 0.237 0.106 0.080 0.086 0.071  0.070 0.190 0.040 0.020 0.018 0.011† 0.011
20 0.256 0.113 0.085 0.088 0.072† 0.071 0.186 0.049 0.020 0.022 0.011† 0.011
30 0.275 0.114 0.088 0.087 0.071† 0.070 0.186 0.056 0.022 0.024 0.011† 0.011
40 0.292 0.114 0.090 0.087 0.069† 0.069 0.187 0.060 0.024 0.023 0.012  0.011
50 0.307 0.112 0.090 0.087 0.068† 0.068 0.189 0.063 0.025 0.025 0.012† 0.011""")


def errors_layout(methods: tuple[str, ...], labels: dict[str, str]) -> list[Column]:
    """An error and a percentage for each method, the best of a row in bold."""
    return [
        column
        for name in methods
        for column in (
            Column("RMS ε", name, 3, group=labels[name], best_of_row="lowest"),
            Column("(%)", f"{name}_inside", 0, group=labels[name], best_of_row="highest"),
        )
    ]


TABLE_3 = InPaper(
    f"{COLLECTIONS}, k = d = 100 and 50",
    ["collection", "depth", *(part for name in EXTRAPOLATED for part in (name, f"{name}_inside"))],
    [
        ("Robust04", 20, 0.020, 33, 0.015, 33, 0.027, 15, 0.018, 31, 0.018, 31, 0.040, 9),
        ("Robust04", 40, 0.004, 60, 0.003, 65, 0.005, 56, 0.004, 65, 0.004, 65, 0.010, 31),
        ("Robust04", 60, 0.001, 78, 0.001, 84, 0.001, 89, 0.001, 88, 0.001, 88, 0.002, 71),
        ("Robust04", 80, 0.000, 92, 0.000, 95, 0.000, 99, 0.000, 97, 0.000, 97, 0.000, 98),
        ("Terabyte06", 10, 0.089, 24, 0.061, 45, 0.082, 39, 0.065, 45, 0.067, 45, 0.065, 42),
        ("Terabyte06", 20, 0.033, 40, 0.022, 71, 0.031, 68, 0.023, 73, 0.024, 73, 0.023, 68),
        ("Terabyte06", 30, 0.013, 58, 0.006, 88, 0.008, 87, 0.005, 90, 0.006, 90, 0.008, 87),
        ("Terabyte06", 40, 0.004, 78, 0.001, 98, 0.001, 98, 0.000, 99, 0.000, 99, 0.001, 97),
    ],
    False,
    [Column("Collection", "collection"), Column("d'", "depth"), *errors_layout(EXTRAPOLATED, LABELS)],
)

BEST = InPaper(
    COLLECTIONS,
    ["model", "percent"],
    [("G_w", 85)],
    False,
    [Column("Model", "model", indexed=True), Column("Topics, about", "percent", 0, unit="%")],
)

TAILS = InPaper(
    "RBP(p=0.95)",
    ["k", "tail"],
    [(50, "0.07"), (100, "0.006")],
    None,
    [Column("k", "k"), Column("Weight beyond k", "tail")],
)
