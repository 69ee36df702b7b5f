"""Is every file sound? What `fathoms check` finds, from errors that stop an evaluation to notes worth knowing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from fathoms.base.choices import is_path
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.result import Result
from fathoms.base.text import pluralise
from fathoms.data import metadata
from fathoms.data.corpus_ids import read_corpus_ids
from fathoms.data.fingerprint import content_of_qrels, content_of_run
from fathoms.data.qrels import JUDGED, Qrels, read_qrels
from fathoms.data.runs import Run
from fathoms.data.topic_groups import read_topic_words
from fathoms.evidence.align import Alignment
from fathoms.evidence.order import contradictions, risen, upside_down
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.finding import LEVELS, Finding, Level, listed
from fathoms.experiment.id_checks import check_documents, check_self, check_topics
from fathoms.experiment.run_lengths import cut_short, usual_length
from fathoms.questions.check.outside import check_corpus_qrels, check_corpus_run, check_same_words, check_training

Found = TypeVar("Found")
FEW = 3  # runs whose fingerprints are shown


@dataclass(frozen=True, eq=False)
class Check(Result):
    """What was found in the judgments and in each run."""

    columns: ClassVar = ("level", "file", "message")
    words: ClassVar = columns

    findings: list[Finding]
    files: int
    judgments: str | None = None  # fingerprint of what the file of judgments says; None where it could not be read
    runs: dict[str, str] = field(default_factory=dict)  # and of what each run says, by name
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return [(finding.level, finding.file, finding.message) for finding in self.findings]

    def count(self, level: Level) -> int:
        """How many findings there are of a level: `error`, `warning` or `note`."""
        return sum(finding.level == level for finding in self.findings)

    @property
    def answer(self) -> list[str]:
        """Whether all files are sound, and how much there is to look at."""
        faulty = len({finding.file for finding in self.findings if finding.level == "error"})
        files = pluralise(self.files, "file")
        counts = f"{pluralise(self.count('warning'), 'warning')} and {pluralise(self.count('note'), 'note')}"
        if faulty:
            errors = pluralise(self.count("error"), "error")
            return [f"{faulty:,} of {files} {'has' if faulty == 1 else 'have'} errors: {errors}, {counts}."]
        if self.count("warning"):
            return [f"No errors in {files}, but {counts}."]
        return [f"{files} checked, no errors or warnings; {pluralise(self.count('note'), 'note')}."]

    @property
    def remarks(self) -> list[str]:
        """What the files say, as fingerprints."""
        runs = [f"{name} {fingerprint}" for name, fingerprint in self.runs.items()]
        more = f" and {pluralise(len(runs) - FEW, 'more run')}" if len(runs) > FEW + 1 else ""
        shown = ", ".join(runs[:FEW] if more else runs)
        judged = [] if self.judgments is None else [f"judgments {self.judgments}"]
        return [f"Fingerprints: {', '.join([*judged, *filter(None, [shown])])}{more}."] if judged or runs else []

    def by_severity(self) -> list[Finding]:
        """Errors, then warnings, then notes; those of one kind together."""
        order = {(finding.level, finding.kind or i): i for i, finding in reversed(list(enumerate(self.findings)))}
        places = sorted(
            enumerate(self.findings),
            key=lambda numbered: (
                LEVELS.index(numbered[1].level),
                order[numbered[1].level, numbered[1].kind or numbered[0]],
                numbered[0],
            ),
        )
        return [finding for _, finding in places]


def run_check(
    experiment: BaseExperiment,
    *,
    corpus_ids: str | os.PathLike[str] | None,
    train_qrels: Any,
    topic_texts: Any,
    progress: Callable[[str], None],
) -> Check:
    """Findings on the judgments and then on each run. A file with errors is read leniently for the rest.

    `corpus_ids` names a file of the documents in the corpus, `train_qrels` judgments that systems were trained on,
    `topic_texts` what the topics ask.
    """
    corpus = None if corpus_ids is None else read_corpus_ids(corpus_ids)
    train = None if train_qrels is None else read_qrels(train_qrels, junk=experiment.junk)
    words = None if topic_texts is None else read_topic_words(topic_texts)
    findings: list[Finding] = []
    source = experiment.qrels_source
    file = os.fspath(source) if is_path(source) else getattr(source, "source", "qrels")
    read = partial(read_qrels, source, junk=experiment.junk)
    qrels: Qrels | None = _read_somehow(
        read, file, again=not (isinstance(source, str) and source == "-"), findings=findings
    )
    if qrels is not None:
        findings += check_qrels(qrels, file)
        findings += () if corpus is None else check_corpus_qrels(qrels, corpus, file)
        findings += () if train is None else check_training(qrels, train, file)
        findings += () if words is None else check_same_words(qrels.topics, words, file)
    fingerprints: dict[str, str] = {}
    seen: dict[bytes, str] = {}
    lengths: dict[str, int] = {}
    for name in experiment.runs:
        file = experiment.runs.file_of(name)
        run: Run | None = _read_somehow(
            partial(experiment.runs.read, name), file, again=os.path.isfile(file), findings=findings
        )
        if run is not None:
            findings += check_run(run, file)
            fingerprints[name] = content_of_run(run).fingerprint
            lengths[file] = usual_length(np.bincount(run.topic))
            findings += () if corpus is None else check_corpus_run(run, corpus, file)
            if qrels is not None:
                findings += check_against(run, qrels, file)
            same = seen.setdefault(_content(run), file)
            if same != file:
                findings.append(Finding("warning", file, f"has the same documents and scores as {same}", "copies"))
        progress(file)
    if (uneven := cut_short(lengths)) is not None:
        short, long = uneven
        message = (
            f"has {lengths[short]:,} documents a topic (median), {long} {lengths[long]:,}: compare the two by measures "
            f"that read no deeper than {lengths[short]:,}, since what a run leaves out counts as not relevant"
        )
        findings.append(Finding("warning", short, message, "cut short"))
    judgments = None if qrels is None else content_of_qrels(qrels).fingerprint
    return Check(findings, len(experiment.runs) + 1, judgments, fingerprints)


def _read_somehow(read: Callable[..., Found], file: str, *, again: bool, findings: list[Finding]) -> Found | None:
    """What a file holds; if it has errors, what is left when they are skipped."""
    try:
        return read(lenient=False)
    except InputError as error:
        findings.append(Finding("error", file, _bare(error)))
    if again:  # standard input cannot be read a second time
        with suppress(InputError):
            return read(lenient=True)
    return None


def check_qrels(qrels: Qrels, file: str) -> Iterator[Finding]:
    for note in qrels.notes:
        yield Finding("warning", file, note.removeprefix(f"{qrels.source}: "))
    relevant = qrels.counts[:, qrels.levels > 0].sum(axis=1)
    grades = ", ".join(
        f"{level:g}: {count:,}" for level, count in zip(qrels.levels, qrels.counts.sum(axis=0), strict=True)
    )
    size = f"{pluralise(len(qrels.topics), 'topic')}, {pluralise(len(qrels), 'judgment')}"
    yield Finding("note", file, f"{size}; grades {grades}")
    without = [topic for topic, count in zip(qrels.topics, relevant, strict=True) if not count]
    if without:
        yield Finding(
            "note",
            file,
            f"{listed(without)} {_have(without)} no document judged relevant, so scores there are 0 for now",
        )


def check_run(run: Run, file: str) -> Iterator[Finding]:
    """What a run shows by itself: ranks, order and ties."""
    for note in run.notes:
        message = note.removeprefix(f"{run.source}: ")
        yield Finding("warning", file, message, re.sub(r"\d[\d,.]*", "0", message))
    if run.ranks is not None and np.isnan(run.ranks).any():
        yield Finding(
            "warning", file, "has ranks that are not numbers, so --ties rank and score-rank do not apply", "no ranks"
        )
    wrong = contradictions(run)
    if wrong.any():
        topics = [topic for topic, is_wrong in zip(run.topics, wrong, strict=True) if is_wrong]
        message = (
            f"the rank column contradicts the scores in {len(topics)} of {len(run.topics)} topics ({listed(topics)})"
        )
        if upside_down(run):
            message += "; scores rise with rank nearly everywhere, so one of the two is probably upside down"
        yield Finding("warning", file, message, "contradictions")
    if metadata.header(run.path):
        try:
            yield Finding("note", file, f"ir_metadata: {metadata.summary(run.metadata)}", "metadata")
        except FathomsError as error:
            yield Finding("warning", file, str(error).removeprefix(f"{run.source}: "))
    rises = len(risen(run))
    if rises:
        yield Finding(
            "note",
            file,
            f"scores rise from one line to the next {pluralise(rises, 'time')}; scores decide the order",
            "rises",
        )


def check_against(run: Run, qrels: Qrels, file: str) -> Iterator[Finding]:
    """How a run and the judgments fit together."""
    align = Alignment(qrels)
    ranked = align.rank(run)
    aligned = align.of(ranked)
    evidence = aligned.evidence
    yield from check_topics(run, qrels, file)
    if aligned.unknown:
        yield Finding(
            "warning",
            file,
            f"{listed(aligned.unknown)} {_is(aligned.unknown)} not in {qrels.source} and not evaluated",
            "unknown topics",
        )
    missing = [qrels.topics[i] for i in aligned.lacking]
    if missing:
        yield Finding(
            "warning",
            file,
            f"has no documents for {listed(missing)}, which {_count(missing)} 0",
            "missing topics",
        )
    if len(missing) == len(qrels.topics):
        yield Finding(
            "warning",
            file,
            f"no topic matches: the run has {run.topics[0]!r}, the judgments {qrels.topics[0]!r}",
            "no topic matches",
        )
        return
    judged = evidence.codes >= JUDGED
    if not judged.any():
        in_run, in_qrels = run.documents[0].decode(errors="replace"), qrels.documents[0].decode(errors="replace")
        yield Finding(
            "warning",
            file,
            f"no document id matches: the run has {in_run!r}, the judgments {in_qrels!r}",
            "no id matches",
        )
    yield from check_documents(run, qrels, ranked, file)
    yield from check_self(ranked, qrels, file)
    shares = [
        f"{judged[:, :k].sum() / np.minimum(evidence.lengths, k).sum():.1%} of the top {k}"
        for k in (10, 100, 1000)
        if k <= evidence.width
    ]
    if not shares:
        shares.append(f"{judged.sum() / evidence.lengths.sum():.1%} of all")
    yield Finding("note", file, f"judged: {', '.join(shares)}", "judged")
    tied = evidence.tied
    if tied.any():
        across = int(tied[:, 10].sum()) if evidence.width > 10 else 0
        yield Finding(
            "note",
            file,
            f"ties: {tied.sum() / evidence.lengths.sum():.1%} of the documents have the same score as the one before, "
            f"in {int(tied.any(axis=1).sum())} of {len(evidence)} topics; across rank 10 in {across}",
            "ties",
        )


def _content(run: Run) -> bytes:
    import hashlib

    digest = hashlib.blake2b("\n".join(run.topics).encode(errors="surrogateescape"), digest_size=16)
    for array in (run.topic, run.keys, run.scores):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _bare(error: InputError) -> str:
    """The message with its line but without the file, which has a column of its own."""
    return error.message if error.line is None else f"line {error.line}: {error.message}"


def _have(items: Sequence[str]) -> str:
    return "have" if len(items) > 1 else "has"


def _is(items: Sequence[str]) -> str:
    return "are" if len(items) > 1 else "is"


def _count(items: Sequence[str]) -> str:
    return "count" if len(items) > 1 else "counts"
