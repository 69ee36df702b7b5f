"""A judging session from an experiment: a new one, or one that goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fathoms.base import choices
from fathoms.base.choices import checked
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import read_bytes
from fathoms.base.text import pluralise
from fathoms.data.column_names import column_for
from fathoms.data.delimited import rows_of
from fathoms.data.document_values import read_values
from fathoms.data.formats.base import Content, as_utf8, split_names
from fathoms.data.lines import Table
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Run
from fathoms.estimate.probabilities import label_columns
from fathoms.evidence.candidates import Candidates, candidates, only_top
from fathoms.evidence.evidence import Floats
from fathoms.evidence.order import default_precision
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.topics import chosen_run
from fathoms.judging.events import JudgingSettings
from fathoms.judging.log import Log, check_new
from fathoms.judging.sampling import draw_sample
from fathoms.judging.session import MAY_CHANGE, Session
from fathoms.measures.parse import parse_measure

FLAGS = {
    "measures": "measure",
    "precision": "score-precision",
    "until": "confidence",
}  # named differently from the setting


def open_session(
    experiment: BaseExperiment,
    path: Path,
    given: Mapping[str, Any],
    *,
    resume: bool = False,
    oracle: Qrels | None = None,
    first: Any = None,
    labels: Sequence[Any] = (),
    notes: list[str] | None = None,
    sample: int | None = None,
    design: str | None = None,
    per_topic: bool = False,
    before: Callable[[Candidates], None] = lambda candidates: None,
) -> Session:
    """The session in a file. `given` are settings of `JudgingSettings`; on resuming they must be those it was begun
    with, except confidence, stay and recall. `oracle` knows all grades, and so the greatest one. `first` says which
    documents come first: a file, or (topic, document) pairs. `labels` are files or tables of what else is known about
    documents; notes on them go to `notes`. With `sample` that many documents are drawn, and nothing else is judged.
    `before` is called with the candidates before there is a session, and may refuse them."""
    _check_sample(sample, design, per_topic, first, given, resume)
    runs = experiment.runs
    if len(runs) < 2:
        raise FathomsError("judging is for telling runs apart, so it takes two runs or more; found one")
    given = {name: value for name, value in given.items() if value is not None}
    tables = [read_values(source, lenient=experiment.lenient) for source in labels]
    notes = [] if notes is None else notes
    if "measures" in given:
        given["measures"] = tuple(parse_measure(name).name for name in given["measures"])
    if "baseline" in given:
        given["baseline"] = chosen_run("the baseline", given["baseline"], list(runs))
    if not resume:
        choices.an_order(given.get("ties", "trec"), "judge")
        check_new(path)
        qrels = experiment.qrels if experiment.has_qrels else None
        given.setdefault("precision", default_precision(given.get("ties", "trec")))
        greatest = max((known.max_grade for known in (qrels, oracle) if known is not None), default=1)
        given.setdefault("max_grade", int(greatest))
        given.setdefault("topics", "all" if qrels is None else "judged")
        settings = JudgingSettings(**given)
        if settings.topics == "judged" and qrels is None:
            raise FathomsError("topics: there are no judgments, so no topic is judged; give all")
        to_judge = _candidates(experiment, settings, notes)
        numbers = [] if first is None else first_candidates(first, to_judge, settings.depth)
        before(to_judge)
        values, drawn = _labels(tables, to_judge, qrels, notes), None
        if sample is not None:
            drawn = draw_sample(
                to_judge,
                qrels,
                checked("sample", choices.whole_number, sample),
                design=checked("design", choices.one_of, choices.DESIGNS, design or "uniform"),
                per_topic=per_topic,
                rel=settings.rel,
                seed=settings.seed,
                stay=settings.stay,
                labels=values,
            )
        return Session.begin(path, settings, to_judge, qrels, numbers, values, _pool_depth(experiment), drawn)
    log = Log.open(path)
    notes += log.notes
    try:
        qrels = experiment.qrels if experiment.has_qrels else None
        settings = _as_begun(log.settings(), given, path)
        to_judge = _candidates(experiment, settings, notes)
        others = None if first is None else first_candidates(first, to_judge, settings.depth)
        before(to_judge)
        values = _labels(tables, to_judge, qrels, notes)
        return Session.resume(log, settings, to_judge, qrels, others, values, _pool_depth(experiment))
    except BaseException:
        log.close()
        raise


def _check_sample(
    sample: int | None, design: str | None, per_topic: bool, first: Any, given: Mapping[str, Any], resume: bool
) -> None:
    if sample is None:
        for name, value in (("design", design), ("per-topic", per_topic)):
            if value:
                raise FathomsError(f"{name}: says how a sample is drawn; give its size too (sample)")
        return
    if resume:
        raise FathomsError("sample: the sample of a session is drawn when it begins; leave it out on resuming")
    for name, value in (("first", first), ("strategy", given.get("strategy"))):
        if value is not None:
            raise FathomsError(f"{name}: with a sample chance decides which documents are judged; leave {name} out")


def _labels(tables: Sequence[Table], to_judge: Candidates, qrels: Qrels | None, notes: list[str]) -> Floats | None:
    """What tables say about the candidates, [candidate, label], scaled."""
    judged = None if qrels is None else to_judge.judged_by(qrels)[0]
    return label_columns(tables, to_judge, judged, notes)


def _pool_depth(experiment: BaseExperiment) -> int:
    """Depth of the pool that the judgments so far come from, inferred as in all commands; 0 if there is none."""
    if not experiment.has_qrels:
        return 0
    pool = experiment.pool_assumed()
    return pool.depth if pool.known else 0


def first_candidates(source: Any, to_judge: Candidates, depth: int) -> list[int]:
    """The candidates that a file names, or (topic, document) pairs, in order: lines `topic document ...`, or a table
    with tabs or commas whose first line names the columns."""
    numbers = []
    for name, line, words in _named(source):
        if len(words) < 2:
            raise InputError(f"expected a topic and a document, found {' '.join(words)!r}", name, line)
        number = to_judge.find(*words[:2])
        if number is None:
            raise InputError(
                f"topic {words[0]}, document {words[1]} is in no run's top {depth}; only what the runs retrieved can "
                "be judged, down to --depth",
                name,
                line,
            )
        numbers.append(number)
    return list(dict.fromkeys(numbers))


def _named(source: Any) -> Iterator[tuple[str, int | None, Sequence[str]]]:
    """The documents of a file or a list, each with its source and line; comments and blank lines are skipped."""
    if choices.is_path(source):
        raw = as_utf8(read_bytes(source))
        table = _table(raw, str(source))
        if table is not None:
            yield from ((str(source), line, fields) for line, fields in table)
            return
        for line, text in enumerate(raw.splitlines(), 1):
            if text.strip() and not text.lstrip().startswith(b"#"):
                yield str(source), line, [word.decode(errors="surrogateescape") for word in text.split()]
        return
    try:
        pairs = [(str(topic), str(document)) for topic, document in source]
    except (TypeError, ValueError):
        raise FathomsError(f"first: expected a file or pairs (topic, document), found {source!r:.80}") from None
    for pair in pairs:
        yield "first", None, pair


def _table(raw: bytes, source: str) -> Iterator[tuple[int, list[str]]] | None:
    """Topic, document and line of each row of a table with tabs or commas; None if the text is not such a table."""
    first = Content(raw).line
    text = "" if first is None else first[0].decode(errors="surrogateescape")
    for separator in ("\t", ","):
        names = split_names(text, separator)
        wanted = [column_for(what, names) for what in ("topic", "document")]
        if len(names) > 1 and None not in wanted:
            at = [names.index(str(name)) for name in wanted]
            rows = rows_of(raw, separator, source)
            next(rows)
            return ((line, [fields[i] for i in at if i < len(fields)]) for line, fields in rows)
    return rows_of(raw, "\t", source) if "\t" in text else None


def _candidates(experiment: BaseExperiment, settings: JudgingSettings, notes: list[str]) -> Candidates:
    """What the runs have in their first ranks, of all their topics or of those with judgments; topics that are left out
    are reported in `notes`."""

    def top(run: Run) -> Run:
        return only_top(run, settings.depth, settings.ties, settings.precision)

    experiment.runs.read_streams()
    if experiment.has_qrels:
        read = experiment.map_ranked(lambda ranked: top(ranked.run))  # and surveyed, for the depth of the pool
    else:
        read = experiment.map(lambda name: top(experiment.run(name)))
    topics = None
    if settings.topics == "judged" and experiment.has_qrels:  # without them a session that had some does not go on
        every = {topic for run in read for topic in run.topics}
        topics = [topic for topic in experiment.qrels.topics if topic in every]
        if left := len(every) - len(topics):
            notes.append(
                f"{pluralise(left, 'topic')} of the runs without judgments {'is' if left == 1 else 'are'} left out; "
                "begin with --topics all to judge all topics"
            )
    runs = dict(zip(experiment.runs, read, strict=True))
    return candidates(runs, settings.depth, settings.ties, settings.precision, topics)


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _as_begun(stored: JudgingSettings, given: Mapping[str, Any], path: Path) -> JudgingSettings:
    """The settings a session was begun with; a different one is an error, with a few exceptions."""
    for name, value in given.items():
        then = getattr(stored, name)
        if name not in MAY_CHANGE and value != then:
            flag = FLAGS.get(name, name.replace("_", "-"))
            raise InputError(
                f"was begun with --{flag} {_shown(then)}, found {_shown(value)}; leave the flag out, or begin another "
                "session with --session FILE",
                str(path),
            )
    return replace(stored, **{name: given[name] for name in MAY_CHANGE if name in given})
