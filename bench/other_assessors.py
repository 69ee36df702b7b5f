"""Had another assessor judged: the formula against draws, measure by measure: python bench/other_assessors.py

Half of a simulated collection is judged. Shift and standard deviation of the difference between two systems are
compared with those of draws of all grades by another assessor; and the shift with an engine that is told other grades,
and fits its model anew.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

import fathoms as fm
from fathoms.evidence.candidates import candidates
from fathoms.judging.beliefs import beliefs_of
from fathoms.judging.engine import Engine
from fathoms.judging.other_assessors import doubt_of
from fathoms.measures.parse import parse_measure

MEASURES = ("P@5", "DCG@9", "RBP(p=0.8,gain=linear)", "AP", "nDCG@5", "nDCG", "ERR@5", "RR", "Q", "AP@5")
OTHERS = np.array([[0.9, 0.08, 0.02], [0.25, 0.6, 0.15], [0.05, 0.2, 0.75]])  # P(h | g)
RELEVANT_OR_NOT = np.array([[0.9, 0.1], [0.18, 0.82]])
TOPICS, DOCUMENTS, DEPTH, JUDGED = 15, 24, 14, 150
DRAWS, FITS = 400, 60


def world(rng: np.random.Generator) -> tuple[fm.Runs, NDArray[np.int64]]:
    """Three systems of different quality, and every document's grade."""
    grade = rng.choice(3, size=(TOPICS, DOCUMENTS), p=[0.6, 0.25, 0.15])
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for name, noise in zip("abc", rng.uniform(0.5, 1.5, 3), strict=True):
        scores = grade + rng.normal(0, noise, grade.shape)
        runs[name] = {str(t): {f"d{i:02}": float(scores[t, i]) for i in range(DOCUMENTS)} for t in range(TOPICS)}
    return fm.read_runs(runs), grade


def main() -> None:
    rng = np.random.default_rng(3)
    runs, grade = world(rng)
    documents = candidates(runs, DEPTH, "trec", "float32")
    truth = [
        float(grade[int(documents.topics[t]), int(d[1:])])
        for t, d in zip(documents.topic, documents.documents, strict=True)
    ]
    for name in MEASURES:
        measure = parse_measure(name)
        engine = Engine(documents, measures=[measure], grades=(0, 1, 2))
        order = rng.permutation(len(documents))[:JUDGED].tolist()
        engine.load([(i, truth[i]) for i in order])
        before, own, chance = engine.expected().copy(), engine.beliefs[0], engine.beliefs[0].chance
        n = len(chance)
        others = OTHERS if n == 3 else RELEVANT_OR_NOT
        doubt = doubt_of(own, chance, others)
        after = np.einsum("gtc,gh->htc", chance, others)
        after[:, ~engine.block.present] = chance[:, ~engine.block.present]
        beliefs = beliefs_of(measure, engine.block, own.grading)

        def drawn(of: NDArray[np.float64], n: int = n) -> NDArray[np.int64]:
            return np.minimum((rng.random(of.shape[1:]) > np.cumsum(of, axis=0)).sum(axis=0), n - 1)

        def scores(level: NDArray[np.int64], n: int = n) -> NDArray[np.float64]:
            beliefs.start((np.arange(n)[:, None, None] == level).astype(np.float64), own.fit, 0)  # noqa: B023
            return beliefs.means().copy()  # noqa: B023

        pairs = [(scores(drawn(chance)), scores(drawn(after))) for _ in range(DRAWS)]
        as_judged, by_others = (np.array(part) for part in zip(*pairs, strict=True))
        refitted = []
        place = {int(number): at for at, number in np.ndenumerate(engine.block.number) if number >= 0}
        for _ in range(FITS):
            level = drawn(after)
            again = Engine(documents, measures=[measure], grades=(0, 1, 2))
            again.load([(i, float(level[place[i]])) for i in order])
            refitted.append(again.expected() - before)
        for a, b in itertools.islice(itertools.combinations(range(3), 2), 0, 3, 2):
            first, other, fits = (
                part[:, a] - part[:, b] for part in (as_judged, by_others, np.array(refitted).reshape(FITS, 3))
            )
            error = float(np.hypot(first.std(), other.std())) / DRAWS**0.5
            added = doubt.covariance[a, a] + doubt.covariance[b, b] - 2 * doubt.covariance[a, b]
            print(
                f"{name:24s} shift {doubt.shift[a] - doubt.shift[b]:+.4f}, drawn {other.mean() - first.mean():+.4f} "
                f"(error {error:.4f}), fitted anew {fits.mean():+.4f} (error {fits.std() / FITS**0.5:.4f}); "
                f"variance added {added:.6f}, drawn {other.var() - first.var():.6f}; "
                f"SD by others {(first.var() + added) ** 0.5:.4f}, drawn {other.std():.4f}"
            )


if __name__ == "__main__":
    main()
