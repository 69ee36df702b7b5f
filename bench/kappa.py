"""How many second judgments kappa takes, by design, and how often its interval covers: python bench/kappa.py

Documents have a first grade by their share; a second grade agrees with chance kappa, and is else as first grades are,
so that Cohen's kappa is that chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fathoms.judging.agreement import SecondGrades, agreement, drawn_by_first_grade

Floats = NDArray[np.float64]
SHARES = ([0.95, 0.05], [0.9, 0.1], [0.7, 0.3], [0.5, 0.5], [0.8, 0.15, 0.05])
SETTINGS = (  # shares, kappa, documents judged
    ([0.95, 0.05], 0.6, 2000),
    ([0.9, 0.1], 0.6, 600),
    ([0.7, 0.3], 0.6, 400),
    ([0.7, 0.3], 0.8, 200),
    ([0.8, 0.15, 0.05], 0.5, 1000),
    ([0.9, 0.1], 0.9, 600),
    ([0.7, 0.3], 0.2, 400),
)
SESSIONS = 400


def needed(share: Floats, kappa: float, error: float) -> dict[str, int]:
    """Second judgments for an interval of +- `error`, by the variance for large samples."""
    k = len(share)
    chances = kappa * np.eye(k) + (1 - kappa) * share
    chance = float(share @ share)
    z = (np.eye(k) - (1 - kappa) * share) / (1 - chance)
    spread = np.sqrt((chances * z**2).sum(axis=1) - (chances * z).sum(axis=1) ** 2)
    both = ((np.eye(k) - kappa) - (1 - kappa) * (share[:, None] + share - chance)) / (1 - chance)
    variances = {
        "at random": float((share[:, None] * chances * both**2).sum()),
        "equal numbers": float((share**2 * spread**2).sum() * k),
        "by first grade": float((share * spread).sum() ** 2),
    }
    return {name: int(np.ceil(variance * (1.96 / error) ** 2)) for name, variance in variances.items()}


def coverage(share: Floats, kappa: float, judged: int, error: float, rng: np.random.Generator) -> str:
    chances = kappa * np.eye(len(share)) + (1 - kappa) * share
    intervals: list[tuple[float, ...]] = []
    for _ in range(SESSIONS):
        first = rng.choice(len(share), size=judged, p=share)
        second = (rng.random(judged)[:, None] > np.cumsum(chances, axis=1)[first]).sum(axis=1).tolist()
        grades = dict(enumerate(first.tolist()))
        of_first = {grade: int((first == grade).sum()) for grade in range(len(share))}
        shares = np.array(list(of_first.values())) / judged
        expected = float(shares @ (shares @ chances))
        true = (float(shares @ chances.diagonal()) - expected) / (1 - expected)
        seen: dict[int, int] = {}
        while more := [i for i in drawn_by_first_grade(grades, seen, lambda i: i, error) if i not in seen]:
            seen |= {i: second[i] for i in more[:5]}
        low, high = SecondGrades(of_first, [(grades[i], h) for i, h in seen.items()]).interval() or (-1.0, 1.0)
        some = rng.choice(judged, size=len(seen), replace=False).tolist()
        pairs = [(grades[i], second[i]) for i in some]
        plain = agreement([(("ann", a), ("bob", b)) for a, b in pairs])
        around = None if plain is None else plain.kappa
        low2, high2 = SecondGrades(of_first, pairs).interval(around=around) or (-1.0, 1.0)
        intervals.append((len(seen), low <= true <= high, (high - low) / 2, low2 <= kappa <= high2, (high2 - low2) / 2))
    n, covers, width, covers_random, width_random = np.mean(intervals, axis=0)
    return f"{n:.0f} twice: {covers:.1%} +-{width:.3f}; as many at random: {covers_random:.1%} +-{width_random:.3f}"


def main() -> None:
    for shares in SHARES:
        for kappa in (0.4, 0.6, 0.8):
            print(shares, kappa, needed(np.array(shares), kappa, 0.1))
    rng = np.random.default_rng(1)
    for shares, kappa, judged in SETTINGS:
        for error in (0.1, 0.2):
            print(shares, kappa, f"{judged} judged, +-{error}:", coverage(np.array(shares), kappa, judged, error, rng))


if __name__ == "__main__":
    main()
