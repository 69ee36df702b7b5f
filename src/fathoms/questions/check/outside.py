"""What other files say about judgments and runs: the corpus, and the judgments a system was trained on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fathoms.base.text import pluralise
from fathoms.data.corpus_ids import CorpusIds
from fathoms.data.keys import document_keys, topic_keys
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Run
from fathoms.experiment.finding import Finding, listed
from fathoms.experiment.id_checks import SPELLINGS

EXAMPLES = 3


def check_corpus_qrels(qrels: Qrels, corpus: CorpusIds, file: str) -> Iterator[Finding]:
    """Judged documents that are no longer in the corpus, by grade, and topics that lose relevant ones."""
    gone = ~corpus.has(document_keys(qrels.documents))
    if not gone.any():
        yield Finding("note", file, f"all judged documents are among the {len(corpus):,} of {corpus.source}")
        return
    grades = ", ".join(
        f"grade {grade:g}: {int((gone & (qrels.grades == grade)).sum()):,} of {int((qrels.grades == grade).sum()):,}"
        for grade in np.unique(qrels.grades[gone])
    )
    these = "is of a document that is" if gone.sum() == 1 else "are of documents that are"
    yield Finding(
        "warning",
        file,
        f"{pluralise(int(gone.sum()), 'judgment')} of {len(qrels):,} {these} not in {corpus.source} ({grades}), such "
        f"as {_examples(qrels.documents[gone])}; it starts with {corpus.first!r}",
    )
    relevant = qrels.grades > 0
    lost = np.bincount(qrels.topic[gone & relevant], minlength=len(qrels.topics))
    left = np.bincount(qrels.topic[~gone & relevant], minlength=len(qrels.topics))
    if lost.any():
        touched = [qrels.topics[i] for i in np.flatnonzero(lost)]
        empty = [qrels.topics[i] for i in np.flatnonzero((lost > 0) & (left == 0))]
        all_gone = f"; in {len(empty):,} of them all: {listed(empty)}" if empty else "; in none of them all"
        yield Finding(
            "warning",
            file,
            f"{pluralise(len(touched), 'topic')} of {len(qrels.topics):,} "
            f"{'has' if len(touched) == 1 else 'have'} relevant documents that are not in {corpus.source}, so that no "
            f"run can find them ({listed(touched)}){all_gone}",
        )


def check_corpus_run(run: Run, corpus: CorpusIds, file: str) -> Iterator[Finding]:
    gone = ~corpus.has(run.keys)
    if gone.any():
        topics = [run.topics[i] for i in np.unique(run.topic[gone])]
        yield Finding(
            "warning",
            file,
            f"{pluralise(int(gone.sum()), 'document')} of {len(run):,} {'is' if gone.sum() == 1 else 'are'} not in "
            f"{corpus.source}, such as {_examples(run.documents[gone])} ({listed(topics)}); it starts with "
            f"{corpus.first!r}",
            "not in the corpus",
        )


def _examples(documents: NDArray[np.bytes_]) -> str:
    shown = dict.fromkeys(document.decode(errors="replace") for document in documents[: 10 * EXAMPLES].tolist())
    return ", ".join(repr(example) for example in list(shown)[:EXAMPLES])


# -- training --------------------------------------------------------------------------------------------------------


def check_same_words(topics: Sequence[str], texts: Mapping[str, str], file: str) -> Iterator[Finding]:
    """Topics that ask with the same words, in any order and case: they are not independent."""
    by_words: dict[frozenset[str], list[str]] = {}
    for topic in topics:
        words = frozenset(re.findall(r"\w+", texts.get(topic, "").casefold()))
        if words:
            by_words.setdefault(words, []).append(topic)
    same = [members for members in by_words.values() if len(members) > 1]
    if not same:
        return
    n = sum(map(len, same))
    yield Finding(
        "note",
        file,
        f"{n:,} of {pluralise(len(topics), 'topic')} ask with the words of another one, such as {listed(same[0])}: "
        f"they count as {pluralise(len(same), 'topic')} rather than {n:,}, and intervals and tests that take them as "
        "independent are too sure of themselves; --cluster FILE makes one unit of each group",
    )


def check_training(qrels: Qrels, train: Qrels, file: str) -> Iterator[Finding]:
    """Topics and judgments that a system may have been trained on: the same topic, or one whose id is only written
    differently. Topics that share an id but no judged document may be numbered alike by chance."""
    same = {topic: topic for topic in qrels.topics if topic in train.index}
    yield from _leak(qrels, train, same, "", file)
    for rule in SPELLINGS:
        train_topics = {rule.others(topic): topic for topic in train.topics}
        alike = {t: train_topics[rule.ours(t)] for t in qrels.topics if t not in same and rule.ours(t) in train_topics}
        if alike:
            yield from _leak(qrels, train, alike, f" {rule.words}", file)
            return
    if not same:
        yield Finding("note", file, f"no topic is in {train.source}")


def _leak(qrels: Qrels, train: Qrels, topics: dict[str, str], how: str, file: str) -> Iterator[Finding]:
    if not topics:
        return
    number = np.full(len(train.topics), -1, dtype=np.int64)
    for topic, train_topic in topics.items():
        number[train.index[train_topic]] = qrels.index[topic]
    use = number[train.topic] >= 0
    trained = topic_keys(document_keys(train.documents[use]), number[train.topic[use]])
    mine = topic_keys(document_keys(qrels.documents), qrels.topic)
    pairs = np.isin(mine, trained)
    names = list(topics)
    leak = f"{pluralise(len(names), 'topic')} of {len(qrels.topics):,} {_are(names)} in {train.source} too{how}"
    first = next(iter(topics.items()))
    shown = f" ({listed(names)})" if not how else f" (such as {first[0]!r} and {first[1]!r})"
    if not pairs.any():
        yield Finding("note", file, f"{leak}{shown}, but no judged document of theirs is: perhaps numbered alike")
        return
    row = int(pairs.argmax())
    relevant = int((pairs & (qrels.grades > 0)).sum())
    yield Finding(
        "warning",
        file,
        f"{leak}{shown}, with {pluralise(int(pairs.sum()), 'judgment')} of {len(qrels):,}, {relevant:,} of them "
        f"relevant (such as topic {qrels.topics[qrels.topic[row]]}, document "
        f"{qrels.documents[row].decode(errors='replace')}): a system trained on {train.source} has seen the answers",
    )


def _are(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"
