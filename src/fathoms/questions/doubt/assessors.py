"""What scores would be with somebody else's grades: labels that are grades, in place of the judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fathoms.base.arrays import distinct
from fathoms.data.document_values import read_values
from fathoms.data.qrels import JUDGED
from fathoms.estimate.documents import documents_of
from fathoms.estimate.estimates import judged_elsewhere
from fathoms.estimate.probabilities import label_values
from fathoms.estimate.scoring import Judging
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.grade_agreement import are_scores
from fathoms.measures.base import Measure


def scores_by_labels(
    experiment: BaseExperiment, measures: Sequence[Measure], labels: Sequence[Any]
) -> dict[Measure, Floats]:
    """[source, run, topic], of the sources whose labels are grades. A judged document without a label keeps its grade,
    and so do judged documents that no run has."""
    tables = [read_values(source, lenient=experiment.lenient) for source in labels]
    tables = [table for table in tables if not are_scores(table.number)]
    document_table, qrels = experiment.documents(list(experiment.runs)), experiment.qrels
    levels = distinct(np.append(qrels.levels, qrels.max_grade))
    contributing = np.zeros(len(document_table.names), dtype=bool)
    documents = documents_of(document_table, document_table.codes, contributing, 0, levels)
    elsewhere = judged_elsewhere(experiment, documents, levels)
    judged = np.flatnonzero(documents.judged)
    by_source = []
    for table in tables:
        values = label_values([table], document_table, None, [])
        if values is None:
            continue
        label = values[documents.number, 0]
        place = np.abs(levels[:, None] - np.nan_to_num(label)).argmin(axis=0)
        codes = np.where(np.isnan(label) | ~documents.judged, documents.codes, JUDGED + place).astype(np.int16)
        judging = Judging(
            document_table, replace(documents, codes=codes), judged, judged[:0], elsewhere, qrels.max_grade
        )
        by_source.append(judging.scores(measures, np.zeros((1, 0), dtype=np.int16)))
    return {m: np.stack([scores[m][0][0] for scores in by_source]) for m in measures} if by_source else {}
