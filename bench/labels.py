"""How far can `fathoms labels` be trusted? Coverage of its intervals, circular runs found and honest ones suspected,
and its number of judgments, on labels of 33 language models and on runs of TREC-8 and TREC-COVID.

    python bench/labels.py FOLDER [--trials 100]

FOLDER holds the collections llmjudge-dl23-labels (labels and human judgments, no runs), trec8-adhoc and trec-covid-r1
(runs and human judgments, no labels). So runs are made for the first, from human grades or other teams' labels plus
noise, and labels for the others, from the judgments plus what a run of a team left out says plus noise. A circular run
is an honest one whose first 100 documents are put into the order of the labels plus noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fathoms as fm
from fathoms.evidence.evidence import Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.inference import grade_agreement as agreement
from fathoms.questions.labels.analysis import agreement_figures
from fathoms.questions.labels.budget import NORMAL, budget
from fathoms.questions.labels.circularity import Following, followings, topic_correlations
from fathoms.questions.labels.runs import TOP

Ranking = tuple[Ints, Floats]  # rows of the judgments, and their ranks
ALIKE = 0.6  # correlation, at the same human grade, from which labels of two teams are taken for one judge's


def standardised(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


@dataclass(eq=False)
class Judged:
    """Human judgments, and a generator of what is added to them."""

    topic: Ints
    grade: Floats
    n_topics: int
    rng: np.random.Generator

    def ranked(self, signal: Floats, noise: float) -> Ranking:
        """The first TOP of each topic by a signal plus noise."""
        score = signal + self.rng.normal(0, noise, len(signal))
        order = np.lexsort((-score, self.topic))
        start = np.searchsorted(self.topic[order], np.arange(self.n_topics))
        rank = (np.arange(len(order)) - start[self.topic[order]] + 1).astype(np.float64)
        return order[rank <= TOP].astype(np.int64), rank[rank <= TOP]

    def reranked(self, run: Ranking, label: Floats, noise: float) -> Ranking:
        """The same places with the documents in the order of the labels plus noise."""
        row, rank = run
        score = standardised(label)[row] + self.rng.normal(0, noise, len(row))
        places = np.lexsort((rank, self.topic[row]))
        return row[np.lexsort((-score, self.topic[row]))], rank[places]

    def followings(self, runs: list[Ranking], label: Floats) -> list[Following]:
        residuals = [
            topic_correlations(self.topic[row], rank, self.grade[row].astype(np.int64), label[row], self.n_topics)
            for row, rank in runs
        ]
        names = [str(i) for i in range(len(runs))]
        return followings(names, np.stack([pair[0] for pair in residuals]), np.stack([pair[1] for pair in residuals]))


def judged(folder: Path, file: str, rng: np.random.Generator) -> tuple[Judged, Any]:
    qrels = fm.read_qrels(folder / file)
    return Judged(qrels.topic.astype(np.int64), qrels.grades, len(qrels.topics), rng), qrels


def all_labels(folder: Path, qrels: Any) -> dict[str, Floats]:
    rows = {(qrels.topics[t], d): i for i, (t, d) in enumerate(zip(qrels.topic, qrels.documents.tolist(), strict=True))}
    by_name = {}
    for path in sorted((folder / "llm_labels").glob("*.txt")):
        labels = fm.read_qrels(path)
        label = np.zeros(len(qrels))
        for t, document, grade in zip(labels.topic, labels.documents.tolist(), labels.grades, strict=True):
            if (labels.topics[t], document) in rows:
                label[rows[labels.topics[t], document]] = grade
        by_name[path.stem] = label
    return by_name


# -- intervals --------------------------------------------------------------------------------------------------------


def coverage(data: Judged, labels: dict[str, Floats], trials: int) -> None:
    """The topics there are stand for all topics; samples of 25 of them are drawn with replacement."""
    print("\n| figure | coverage of 95% intervals |\n|---|---|")
    names = list(labels)
    hits: dict[str, list[bool]] = {}
    for trial in range(trials):
        counts = agreement.counted(data.topic, data.grade, labels[names[trial % len(names)]])
        relevant, positive = counts.grades >= 1, counts.labels >= 1
        drawn = counts.counts[data.rng.integers(0, data.n_topics, data.n_topics)]
        sample = agreement.Labelled(counts.grades, counts.labels, drawn, int(drawn.sum()))
        draws = agreement.resampled(data.n_topics, trial)
        truth = agreement_figures(counts, relevant, positive, draws[:2])
        for name, figure in agreement_figures(sample, relevant, positive, draws).items():
            wanted = truth[name].value
            if figure.low is not None and figure.high is not None and wanted is not None:
                hits.setdefault(name, []).append(figure.low <= wanted <= figure.high)
    for name, found_in in hits.items():
        print(f"| {name} | {np.mean(found_in):.1%} of {len(found_in)} |")


# -- circular runs ----------------------------------------------------------------------------------------------------


def report(name: str, family: Callable[[int, int, float], list[Following]], trials: int) -> None:
    for n in (6, 10, 20, 50):
        alarms = [any(run.suspect for run in family(n, 0, 0.0)) for _ in range(trials)]
        print(f"| {name} | {n} | 0 | | {np.mean(alarms):.1%} | |")
    for n, circular, noise in ((9, 1, 0.0), (9, 1, 1.0), (19, 1, 0.0), (19, 1, 1.0), (19, 1, 2.0), (16, 4, 1.0)):
        alarms, suspects = [], []
        for _ in range(trials // 2):
            runs = family(n, circular, noise)
            alarms.append(any(run.suspect for run in runs[:n]))
            suspects += [run.suspect for run in runs[n:]]
        print(f"| {name} | {n} | {circular} | {noise:g} | {np.mean(alarms):.1%} | {np.mean(suspects):.1%} |")


def made_runs(data: Judged, labels: dict[str, Floats], trials: int) -> None:
    names = list(labels)
    rng = data.rng
    cell = data.topic * 4 + data.grade.astype(np.int64)
    size = np.maximum(np.bincount(cell), 1)
    left = np.stack([values - (np.bincount(cell, values) / size)[cell] for values in labels.values()])
    alike = np.asarray(np.corrcoef(left))

    def family(share: float) -> Callable[[int, int, float], list[Following]]:
        def made(n: int, circular: int, noise: float) -> list[Following]:
            source = int(rng.integers(len(names)))
            label = labels[names[source]]
            others = [name for i, name in enumerate(names) if alike[source, i] < ALIKE]
            runs = []
            for _ in range(n):
                weight = rng.uniform(share, 1)
                other = labels[others[int(rng.integers(len(others)))]]
                signal = weight * standardised(data.grade) + (1 - weight) * standardised(other)
                runs.append(data.ranked(signal, rng.uniform(0.5, 3)))
            honest = [data.ranked(standardised(data.grade), rng.uniform(1, 3)) for _ in range(circular)]
            runs += [data.reranked(run, label, noise) for run in honest]
            return data.followings(runs, label)

        return made

    report("made from grades", family(1.0), trials)
    report("made from grades and other labels", family(0.2), trials)


def real_runs(name: str, folder: Path, rng: np.random.Generator, trials: int) -> None:
    experiment = BaseExperiment(folder / "qrels.txt", folder / "runs", groups=folder / "groups.tsv")
    qrels, names, teams = experiment.qrels, list(experiment.runs), experiment.groups or {}
    data = Judged(qrels.topic.astype(np.int64), (qrels.grades > 0).astype(np.float64), len(qrels.topics), rng)
    whole, top = {}, {}
    for run in names:
        ranked = experiment.ranked(run)
        seen = ranked.judgment >= 0
        whole[run] = (ranked.judgment[seen].astype(np.int64), ranked.rank[seen].astype(np.float64))
        first = seen & (ranked.rank <= TOP)
        top[run] = (ranked.judgment[first].astype(np.int64), ranked.rank[first].astype(np.float64))

    def family(weight: float) -> Callable[[int, int, float], list[Following]]:
        def made(n: int, circular: int, noise: float) -> list[Following]:
            judge = names[int(rng.integers(len(names)))]
            row, rank = whole[judge]
            height = np.zeros(len(qrels))
            height[row] = np.log(1001 / rank)
            score = 1.5 * data.grade + weight * standardised(height) + rng.normal(0, 1, len(qrels))
            label = np.searchsorted(np.quantile(score, [0.8, 0.9, 0.96]), score).astype(np.float64)
            others = [run for run in names if teams.get(run) != teams.get(judge)]
            chosen = rng.choice(others, n + circular, replace=False).tolist()
            runs = [top[run] for run in chosen[:n]]
            runs += [data.reranked(top[run], label, noise) for run in chosen[n:]]
            return data.followings(runs, label)

        return made

    for weight in (0.0, 0.5, 1.0):
        report(f"{name}, judge's bias {weight:g}", family(weight), trials)


# -- judgments --------------------------------------------------------------------------------------------------------


def judgments(data: Judged, labels: dict[str, Floats], trials: int) -> None:
    """P@10 of a made run: labels of all its documents and n random judgments, against the formula."""
    print(
        "\n| judgments | SD of the error / formula's | without labels | coverage of 95% intervals |\n|---|---|---|---|"
    )
    for n in (50, 100, 150):
        ratios, plain, covered = [], [], []
        for trial, label in enumerate(labels.values()):
            row, rank = data.ranked(standardised(data.grade), 1.0 + trial % 3)
            row = row[rank <= 10]
            y, f = (data.grade[row] >= 1).astype(np.float64), label[row]
            table = agreement.counted(np.zeros(len(y), dtype=np.int64), y, f)
            needed = budget(table.total, table.grades >= 1, len(y))
            assert needed is not None
            rest = np.sqrt((1 / n) * (1 - n / len(y)))
            errors, alone = [], []
            for _ in range(trials):
                seen = data.rng.permutation(len(y))[:n]
                level = np.searchsorted(table.labels, f)
                expected = _level_means(level, y, seen, len(table.labels))
                estimate = expected[level].mean() + (y[seen] - expected[level[seen]]).mean()
                spread = (y[seen] - expected[level[seen]]).std(ddof=len(np.unique(level[seen])))
                errors.append(estimate - y.mean())
                alone.append(y[seen].mean() - y.mean())
                covered.append(abs(errors[-1]) <= NORMAL * spread * rest)
            ratios.append(np.std(errors) / (needed.with_labels_sd * rest))
            plain.append(np.std(alone) / (needed.without_sd * rest))
        print(f"| {n} of 250 | {np.mean(ratios):.2f} | {np.mean(plain):.2f} | {np.mean(covered):.1%} |")


def _level_means(level: Ints, y: Floats, seen: Ints, levels: int) -> Floats:
    """The share of relevant documents by label among those judged; of all where a label was not seen."""
    count = np.bincount(level[seen], minlength=levels)
    total = np.bincount(level[seen], y[seen], minlength=levels)
    return np.where(count > 0, total / np.maximum(count, 1), y[seen].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=100)
    args = parser.parse_args()
    rng = np.random.default_rng(31)
    data, qrels = judged(args.folder / "llmjudge-dl23-labels", "llmjudge_test_qrel_idx.txt", rng)
    labels = all_labels(args.folder / "llmjudge-dl23-labels", qrels)
    coverage(data, labels, 4 * args.trials)
    judgments(data, labels, args.trials)
    print("\n| runs | honest | circular | noise | honest ones suspected in | circular ones found |")
    print("|---|---|---|---|---|---|")
    made_runs(data, labels, args.trials)
    real_runs("TREC-8", args.folder / "trec8-adhoc", rng, args.trials)
    real_runs("TREC-COVID", args.folder / "trec-covid-r1", rng, args.trials)


if __name__ == "__main__":
    main()
