"""Growing collections and similarity of documents (RTC section 6) on real texts: Cranfield, ranked by tf-idf."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fathoms as fm
from fathoms.papers import rtc
from tests.support.real import collection

TOPICS, SYSTEMS, DEPTH = 12, 6, 20


def words(text: str) -> list[str]:
    return re.findall("[a-z]{3,}", text.lower())


def rankings(texts: dict[str, list[str]], queries: dict[str, list[str]]) -> dict[str, dict[str, dict[str, float]]]:
    """Systems that differ in how they weigh terms and lengths, and in the part of the query that they read."""
    rng = np.random.default_rng(7)
    counts = {document: Counter(of) for document, of in texts.items()}
    having = Counter(word for of in counts.values() for word in of)
    idf = {word: math.log(len(texts) / n) for word, n in having.items()}
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for system in range(SYSTEMS):
        weighs_length, saturation = system / SYSTEMS, 0.5 + system
        runs[f"s{system}"] = {}
        for topic, query in queries.items():
            read = [word for word in query if word in idf and rng.random() < 0.8]
            scores = {}
            for document, of in counts.items():
                norm = saturation * (1 - weighs_length + weighs_length * len(texts[document]) / 100)
                scores[document] = sum(idf[word] * of[word] / (of[word] + norm) for word in read if of[word])
            best = sorted(scores, key=lambda document: (-scores[document], document))[: 2 * DEPTH]
            runs[f"s{system}"][topic] = {document: scores[document] for document in best}
    return runs


@pytest.mark.long
def test_growing_collections_and_similar_texts(tmp_path: Path) -> None:
    folder = collection("cranfield")
    lines = [json.loads(line) for line in (folder / "docs.jsonl").read_text().splitlines()]
    texts = {line["id"]: words(line["text"]) for line in lines}
    pairs = [line.split("\t") for line in (folder / "topics.tsv").read_text().splitlines()[:TOPICS]]
    queries = {topic: words(text) for topic, text in pairs}
    qrels: dict[str, dict[str, int]] = {topic: {} for topic in queries}
    for line in (folder / "qrels.txt").read_text().splitlines():
        topic, _, document, code = line.split()
        if topic in qrels:
            qrels[topic][document] = int(int(code) in (1, 2, 3, 4))
    (tmp_path / "dates.txt").write_text("".join(f"{name} {number}\n" for number, name in enumerate(texts)))
    settings = rtc.RTCSettings(
        depth=DEPTH,
        trials=3,
        systems=4,
        until=0.8,
        methods=("RTC",),
        docs=str(folder / "docs.jsonl"),
        dates=str(tmp_path / "dates.txt"),
        workers=1,
    )
    study = rtc.study({"cranfield": fm.Experiment(qrels, rankings(texts, queries), workers=1)}, settings)
    methods = {row[study["table5b"].columns.index("method")] for row in study["table5b"].rows}
    assert any("texts" in method or "similar" in method for method in methods), methods
    table = study["tableC"]
    judged = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert {row["judged_documents"] for row in judged} == {"all", "earlier"}
    assert all(row["W"] <= 1 and -1 <= row["mean_tau"] <= 1 for row in judged)
    assert all(row["median_judged"] > 0 for row in judged)
