"""When does dividing by the expected number of relevant documents mislead? Average precision, by draws and by moments.

    python bench/few_relevant.py

25 topics of 50 unjudged documents each; probabilities fall with the rank in the first system, as 1 / (rank + 4), and
add up to the expected number of relevant documents. The second system swaps neighbours and returns 40 of them.
Prints for each number the expected MAP of the first system, E[S] / E[R] and by 4,000 draws, and P(first is better).
"""

from __future__ import annotations

import numpy as np

import fathoms as fm
from fathoms.data.qrels import UNJUDGED
from fathoms.estimate.distribution import Moments, confidence, mean_of_topics
from fathoms.estimate.probabilities import RelevanceProbabilities
from fathoms.estimate.score_draws import drawn_scores, pairs
from fathoms.evidence.candidates import candidates

TOPICS, DOCUMENTS, SHORTER, DRAWS = 25, 50, 40, 4000


def main() -> None:
    first = [f"d{i:02}" for i in range(DOCUMENTS)]
    second = [name for pair in zip(first[1::2], first[::2], strict=True) for name in pair][:SHORTER]
    runs = fm.read_runs(
        {
            name: {str(topic): {doc: -float(i) for i, doc in enumerate(ranking)} for topic in range(TOPICS)}
            for name, ranking in (("first", first), ("second", second))
        }
    )
    qrels = fm.read_qrels({str(topic): {"other": 0} for topic in range(TOPICS)})
    documents = candidates(runs, None, "trec", "float32", qrels.topics)
    rank = np.array([first.index(document.decode()) for document in documents.documents])
    measure = fm.parse_measure("AP")
    codes = np.full(len(documents), UNJUDGED, dtype=np.int16)
    print("| expected R | P(R = 0) | E[S] / E[R] | drawn | P(better), normal | P(better), drawn |")
    print("|---|---|---|---|---|---|")
    for expected in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        shape = 1 / (np.arange(DOCUMENTS) + 5)
        p = (shape / shape.sum() * expected)[rank]
        block = documents.block()
        mean, covariance = mean_of_topics(Moments(block, np.append(p, 0.0)[block.number]))
        scores = drawn_scores(RelevanceProbabilities(qrels, documents, codes, p, []), list(runs), [measure], DRAWS)[
            measure
        ]
        none = np.prod(1 - p[documents.topic == 0])
        drawn = pairs(measure, scores).p_better[0, 1]
        print(
            f"| {expected:g} | {none:.2f} | {mean[0]:.3f} | {scores[:, 0].mean():.3f} "
            f"| {confidence(mean, covariance)[0, 1]:.3f} | {drawn:.3f} |"
        )


if __name__ == "__main__":
    main()
