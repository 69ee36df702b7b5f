"""What every analysis stands on: judgments, runs and how to read them, stated once; each run read and ranked once.

`fathoms.api.Experiment` adds the analyses as methods. They live in packages further down the list of imports and take
what is here, so that imports go one way.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from fathoms.base import choices
from fathoms.base.choices import Topics, checked
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import read_bytes
from fathoms.base.options import parameters
from fathoms.base.parallel import Where, parallel_map, set_patience
from fathoms.base.provenance import Provenance, plain
from fathoms.base.text import pluralise
from fathoms.data.file_names import run_named, stem
from fathoms.data.fingerprint import Content, content_of_qrels, content_of_run
from fathoms.data.formats import registry
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Run, Runs, scan_runs
from fathoms.data.topic_groups import read_clusters, read_topic_groups
from fathoms.evidence.align import Aligned, Alignment, Ranked, Ranking, rank, reranked
from fathoms.evidence.candidates import DocumentTable, document_table
from fathoms.evidence.evidence import Evidence
from fathoms.evidence.order import Precision, Ties, default_precision
from fathoms.evidence.pool import Pool, make_pool
from fathoms.evidence.universe import Limit, UnjudgedKeys, gathered, union, unjudged_keys
from fathoms.experiment.assumed_pool import AssumedPool, infer_pool
from fathoms.experiment.reading import WORK, Reading, ReadingOptions
from fathoms.experiment.scoring import score_all
from fathoms.experiment.survey import Survey, joined, survey
from fathoms.experiment.topics import left_out, no_topic_matches, topic_notes, unanswered
from fathoms.inference.replicates import Systems
from fathoms.inference.units import Units
from fathoms.measures.base import Measure, Scores
from fathoms.measures.parse import parse_measure
from fathoms.version import __version__

if TYPE_CHECKING:
    from fractions import Fraction

Part = tuple[str, Callable[[], Run] | None]  # a run's name, and what reads some of its topics; None: all of it
Result = TypeVar("Result")

NOT_OPTIONS = (
    "measures",
    "resume",
    "command",
    "qrels",
    "runs",
    "expect_judgments",
)  # they change no figure, or are reported separately
GROUPS = 8  # of runs: work that takes a first pass over them


@dataclass(frozen=True)
class Options:
    """How the evidence is read and who does the work; the same for all analyses of an experiment."""

    ties: Ties = "trec"
    precision: Precision | None = None
    topics: Topics = "all"
    band: Fraction | None = None  # growth of the bands of ranks inside which documents are tied; None: no bands
    pooled: tuple[str, ...] | None = None  # names of the runs that contributed to the pool
    universe_depth: int | None = None  # only documents that some run has in its first places count; None: all count
    workers: int = 2
    seed: int = 0
    scheduler: str | None = None

    @property
    def where(self) -> Where:
        return {"workers": self.workers, "scheduler": self.scheduler}

    @property
    def used_precision(self) -> Precision:
        return self.precision or default_precision(self.ties)


class BaseExperiment(Reading):
    """Judgments, runs and how to read them. Judgments are read when first used, and each run once."""

    def set_up(self, qrels: Any, runs: Any, *, memory_mb: float, **given: Unpack[ReadingOptions]) -> None:
        """`given` are all keywords of `Reading`, checked."""
        self._given: Mapping[str, Any] = given
        self.lenient, self.junk, self.named_by = given["lenient"], given["junk"], given["names"]
        self.bounds, self.universe = given["bounds"], given["universe"]
        band = given["band"]
        options = Options(
            ties=given["ties"],
            precision=given["score_precision"],
            band=None if band is None else _growth(band),
            topics=given["topics"],
            universe_depth=given["universe_depth"],
            workers=given["workers"],
            seed=given["seed"],
            scheduler=given["scheduler"],
        )
        if options.scheduler is not None:
            set_patience(given["patience"])
        if options.band is not None and options.ties == "rank":
            raise FathomsError("band: bands tie documents by score, and ties=rank does not go by scores")
        if not isinstance(qrels, Qrels) and choices.is_path(qrels):
            _check_there(os.fspath(qrels))
        self.qrels_source = qrels
        if isinstance(runs, list | tuple | dict) and not runs:
            raise FathomsError("no run given")
        self._runs = Runs({}) if runs is None else scan_runs(runs, names=self.named_by, lenient=self.lenient)
        if runs is not None and not self._runs:
            raise FathomsError("no run given")
        self.notes: list[str] = []
        if options.band is not None:
            from fathoms.evidence.banding import banded_run

            order: Ties = "run" if options.ties == "expected" else options.ties  # a mean has no order of its own
            change = partial(banded_run, rho=options.band, ties=order, precision=options.precision)
            self._runs = self._runs.changed(change, f"banded {options.band} {order} {options.precision}")
            self.notes.append(
                f"runs are banded with rho = {float(options.band):g}, in the order of --ties {order}: documents of one "
                "band are tied, and no others"
            )
        chosen = _pooled_names(given["pooled"], self._runs, self.notes)
        self.options = replace(options, pooled=chosen)
        self.groups = _groups(given["groups"], self._runs)
        topic_groups, group_by = given["topic_groups"], given["group_by"]
        if group_by is not None and topic_groups is None:
            raise FathomsError("group_by: names columns of topic_groups, which are not given")
        self.topic_groups = None if topic_groups is None else read_topic_groups(topic_groups, group_by)
        self.clusters = None if given["cluster"] is None else read_clusters(given["cluster"], topic_groups)
        self.systems = None if given["replicates"] is None else _systems(given["replicates"], self._runs)
        self._qrels: Qrels | None = None
        self._judged: Content | None = None  # what all judgments say, including topics that are left out
        self._contents: dict[str, Content] = {}  # and what runs say
        self._all_topics = False  # whether topics that no run answers stay, even with topics=intersect
        self._ranked: dict[str, Ranked] = {}
        self.spares_memory = False  # runs are not kept once the table of documents has what they rank
        self._surveys: dict[str, Survey] | None = None
        self._looked_at: dict[str, Survey] = {}  # when they were read
        self._pool: AssumedPool | None = None
        self._universe: UnjudgedKeys | None = None
        self._documents: DocumentTable | None = None
        self._aligned: dict[str, Aligned] = {}  # without pool, limit and universe
        self._scores: dict[tuple[str, Measure], Scores] = {}  # by run, of all topics
        self._kept = self._fitting(memory_mb) if options.scheduler is None else frozenset[str]()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {pluralise(len(self._runs), 'run')}, ties {self.options.ties}>"

    @property
    def runs(self) -> Runs:
        if not self.has_runs:
            raise FathomsError("this needs runs, and the experiment has none")
        return self._runs

    @property
    def has_runs(self) -> bool:
        return len(self._runs) > 0

    # -- judgments and measures -------------------------------------------------------------------------------------

    @property
    def qrels(self) -> Qrels:
        if self._qrels is None:
            if self.qrels_source is None:
                raise FathomsError("this needs judgments, and the experiment has none")
            subtopics = self._given["subtopics"]
            self._qrels = read_qrels(self.qrels_source, lenient=self.lenient, junk=self.junk, subtopics=subtopics)
            if self._given["expect_judgments"] is not None or self.options.topics == "intersect":
                self._judged = content_of_qrels(self._qrels)
                self._check_expected(self._judged.fingerprint)
            if self.options.topics == "intersect" and not self._all_topics and self.has_runs:
                self._qrels = self._answered(self._qrels)
        return self._qrels

    def _answered(self, qrels: Qrels) -> Qrels:
        """The judgments of the topics that some run answers, for `topics=intersect`."""
        self.runs.read_streams()
        answered = dict.fromkeys(topic for topics in self.map(lambda name: self.runs[name].topics) for topic in topics)
        left = qrels.of_topics(answered)
        if not left.topics:
            raise no_topic_matches(list(answered), qrels)
        gone = [topic for topic in qrels.topics if topic not in left.index]
        if gone:
            self.notes.append(left_out(gone, qrels))
        return left

    def _check_expected(self, fingerprint: str) -> None:
        expected = self._given["expect_judgments"]
        if expected is not None and not fingerprint.startswith(expected):
            raise FathomsError(
                f"the judgments have the fingerprint {fingerprint}, expected {expected}; use the judgments that were "
                "meant, or give the new fingerprint if they were changed on purpose"
            )

    def provenance(self, question: Callable[..., Any], given: Mapping[str, Any]) -> Provenance:
        """What an answer was made with; of the options, those that differ from their defaults."""
        of_question = {name: of for name, of in parameters(question).items() if of.option is not None}
        read = parameters(Reading.__init__)
        read = {name: of for name, of in read.items() if of.option and (of.option.heading != WORK or name == "seed")}
        options: dict[str, Any] = {}
        measures = given.get("measures", of_question["measures"].default if "measures" in of_question else None)
        if measures is not None:
            options["measures"] = [measure.name for measure in prepare_measures(measures)]
        for values, declared in ((given, of_question), (self._given, read)):
            for name, parameter in declared.items():
                value = plain(values.get(name, parameter.default))
                if name not in NOT_OPTIONS and value != plain(parameter.default):
                    options[name] = value
        judgments = None
        if self.has_qrels:
            judged = self._judged or content_of_qrels(self.qrels)
            judgments = {"fingerprint": judged.fingerprint, "topics": len(self.qrels.topics), "judgments": judged.lines}
        runs = {name: self.content(name).fingerprint for name in self._runs}
        return Provenance(__version__, question.__name__, options, judgments, runs)

    def content(self, name: str) -> Content:
        """What a run says, for its fingerprint."""
        if name not in self._contents:
            self._contents[name] = content_of_run(self.run(name))
        return self._contents[name]

    def keep_contents(self, contents: Mapping[str, Content]) -> None:
        self._contents |= contents

    def with_all_topics(self) -> BaseExperiment:
        """The same experiment on all judged topics, for questions about one run at a time."""
        other = copy(self)
        other._all_topics = True
        if self._qrels is None:
            other._forget_judged()  # by the numbers of topics in other judgments
        return other

    def with_qrels(self, qrels: Qrels) -> Self:
        """The same runs with other judgments."""
        other = copy(self)
        other.qrels_source = other._qrels = qrels
        other._judged = None
        other._forget_judged()
        other._surveys, other._pool, other._universe = None, None, None
        return other

    def _forget_judged(self) -> None:
        self._ranked, self._documents, self._aligned, self._scores, self._looked_at = {}, None, {}, {}, {}

    @property
    def has_qrels(self) -> bool:
        return self.qrels_source is not None

    def measures(self, measures: Sequence[Any] | Any, *, of_pairs: bool = False) -> list[Measure]:
        """Measures from names, with the experiment's `bounds` and `universe` set on those that have them; each once.

        Those `of_pairs` of runs may range over the documents of each pair, which means nothing for a single run.
        """
        prepared = prepare_measures(measures, bounds=self.bounds, universe=self.universe)
        universes = {self.universe, *(getattr(measure, "universe", None) for measure in prepared)}
        if of_pairs and "run" in universes:
            raise FathomsError("universe: run is for single runs; a pair's range is over the documents of both")
        if not of_pairs and "pair" in universes:
            raise FathomsError("universe: pair is for comparisons; a single run is of no pair (use auto, run or all)")
        return prepared

    def units(self, topics: Sequence[str]) -> Units | None:
        """Which of these topics belong together, if the user said so."""
        return Units.among(topics, self.clusters)

    def needs_an_order(self, what: str) -> None:
        choices.an_order(self.options.ties, what)

    # -- runs: each read and ranked once ----------------------------------------------------------------------------

    def run(self, name: str) -> Run:
        """The run as it is in memory, or read."""
        ranked = self._ranked.get(name)
        return self.runs[name] if ranked is None else ranked.run

    def keeps(self, name: str) -> bool:
        """Whether a run, once read, stays in memory."""
        return name in self._kept

    def ranked(self, name: str) -> Ranked:
        """A run's documents in the order of the experiment's policy."""
        if name in self._ranked:
            return self._ranked[name]
        ranked = self._rank(name)
        if self.keeps(name):
            self._ranked[name] = ranked
        return ranked

    def _rank(self, name: str) -> Ranked:
        return rank(self.runs[name], self.qrels, self.options.ties, self.options.used_precision)

    def ranking(self, name: str) -> Ranking:
        """The same, from the table of documents where there is one: without what only the run itself says."""
        if self._documents is None or self._surveys is None:
            return self.ranked(name)
        return self._documents.ranking(name, self._surveys[name].unknown)

    def by_content(self) -> list[str]:
        """The runs in an order that depends on what they rank and not on their names, for random draws.

        Their grades decide, so that ids do not matter either; the documents only where two runs have the same grades.
        """

        def content(name: str) -> tuple[bytes, ...]:
            ranking = self.ranking(name)
            grades = ranking.topic.tobytes() + ranking.codes.tobytes()
            return tuple(blake2b(part, digest_size=16).digest() for part in (grades, ranking.keys.tobytes()))

        return sorted(self.runs, key=content)

    def parts(self, name: str) -> list[Part]:
        """The run as a whole if it is in memory or small, else parts of its file."""
        if self.keeps(name):
            return [(name, None)]
        readers = self.runs.parts(name)
        return [(name, reader if len(readers) > 1 else None) for reader in readers]

    def ranked_part(self, part: Part) -> Ranked | None:
        """A part of a run in the order of the policy; None if the run has to be read as a whole."""
        name, read = part
        if read is None:
            return self.ranked(name)
        try:
            return rank(read(), self.qrels, self.options.ties, self.options.used_precision)
        except (InputError, OSError):
            return None

    def reranked(self, ranked: Ranked, ties: Ties) -> Ranked:
        """The same run in the order of another policy."""
        if ties == self.options.ties:
            return ranked
        return reranked(ranked, ties, self.options.precision or default_precision(ties))

    def prepare(self) -> None:
        """Read and rank, several at a time, the runs that stay in memory. Called first by every analysis."""
        self.runs.read_streams()
        missing = [name for name in self.runs if self.keeps(name) and name not in self._ranked]
        if not missing or self._documents is not None:
            return
        qrels = self.qrels
        qrels.prepare_lookup()

        def read(name: str) -> tuple[Ranked, Survey | None, Content | None]:
            ranked = self._rank(name)
            if not self.spares_memory:
                return ranked, None, None
            return ranked, survey(ranked, qrels), content_of_run(ranked.run)

        for name, of_run in zip(missing, self.map(read, missing, doing="reading runs"), strict=True):
            self._ranked[name], run_survey, content = of_run  # of which forks keep none
            if run_survey is not None and content is not None:
                self._looked_at[name], self._contents[name] = run_survey, content

    def release(self) -> None:
        """Free the memory of the runs, which can be read again. What was made of them stays: documents, evidence,
        scores."""
        if self.spares_memory and self._documents is not None:
            self.surveys()  # takes the last look
            self._ranked.clear()  # of copies of the experiment too

    def map(
        self,
        work: Callable[[str], Result],
        names: Iterable[str] | None = None,
        progress: Callable[[str], None] = lambda name: None,
        *,
        doing: str = "runs",
    ) -> list[Result]:
        """`work` on every run's name, several at a time."""
        options = self.options
        return parallel_map(
            work,
            self.runs if names is None else names,
            workers=options.workers,
            scheduler=options.scheduler,
            doing=doing,
            progress=progress,
        )

    def map_ranked(
        self, work: Callable[[Ranked], Result], progress: Callable[[str], None] = lambda name: None
    ) -> list[Result]:
        """`work` on every run in the order of the policy, several at a time. The same pass surveys the runs if that has
        not been done yet, so that runs which do not stay in memory are not read again for it."""
        qrels, surveyed = self.qrels, self._surveys is not None
        qrels.prepare_lookup()

        def work_and_survey(name: str) -> tuple[Result, Survey | None]:
            ranked = self.ranked(name)
            return work(ranked), None if surveyed else survey(ranked, qrels)

        results = self.map(work_and_survey, progress=progress)
        if not surveyed:
            self._keep([run_survey for _, run_survey in results if run_survey is not None])
        return [result for result, _ in results]

    def with_workers(self, workers: int) -> BaseExperiment:
        """The same experiment, with the same runs in memory, and another number of workers."""
        other = copy(self)
        other.options = replace(self.options, workers=workers)
        return other

    def _fitting(self, memory_mb: float) -> frozenset[str]:
        """The first runs that fit into memory together, leaving out those that are too large by themselves."""
        left = checked("memory_mb", choices.at_least_zero, memory_mb) * 1e6
        kept = []
        for name in self._runs:
            needed = self._runs.bytes_in_memory(name)
            if needed <= left:
                left -= needed
                kept.append(name)
        return frozenset(kept)

    def documents(self, names: Sequence[str] | None = None, depth: int | None = None) -> DocumentTable:
        """The documents of these runs, or of all, to a depth, with their judgments: parts of one table, which is built
        when it is first asked for. Where not all runs stay in memory, each call builds its own."""
        chosen = list(self.runs if names is None else names)
        if not all(map(self.keeps, self.runs)):
            return self._table(chosen, depth)
        if self._documents is None:
            self.prepare()
            self._documents = self._table(list(self.runs))
        return self._documents.of_runs(chosen, depth)

    def _table(self, names: list[str], depth: int | None = None) -> DocumentTable:
        return document_table(names, [self.ranked(name) for name in names], self.qrels.topics, depth)

    # -- alignment --------------------------------------------------------------------------------------------------

    def alignment(
        self, measures: Sequence[Measure], notes: list[str], *, trace: bool = False, ranges: bool = True
    ) -> Alignment:
        """What all runs share. Pools and, where the measures' `ranges` are wanted, the unjudged documents of all runs
        take a first pass over them."""
        options, depth = self.options, self.options.universe_depth
        if self.qrels.subtopics is None and (without := [m.name for m in measures if m.needs_subtopics]):
            notes.append(
                f"{', '.join(without)}: the judgments have no subtopics here, so each topic counts as one; --subtopics "
                "takes the second column of their lines for the subtopic"
            )
        limit = None
        if ranges and depth is not None:
            limit = Limit(depth, self.universe_keys() if len(self.runs) > 1 else None)
        return Alignment(
            self.qrels,
            options.ties,
            options.precision,
            self.universe_keys().counts if ranges and self.has_universe(measures) else None,
            self._pool_for(measures, notes),
            options.seed,
            trace,
            limit,
        )

    def align(self, name: str, alignment: Alignment) -> Aligned:
        """The evidence on one run, a row for each topic of the judgments. A run that stays in memory is aligned once;
        only pools and limits of the universe call for other evidence on it."""
        if not alignment.is_plain or not self.keeps(name):
            return alignment.of(self.ranking(name))
        if name not in self._aligned or (alignment.trace and self._aligned[name].judgment is None):
            self._aligned[name] = replace(alignment, unjudged_in_universe=None).of(self.ranking(name))
        return alignment.completed(self._aligned[name])

    def aligned(self, ranked: Ranked, alignment: Alignment) -> Aligned:
        """The same for a run that is at hand."""
        own = ranked is self._ranked.get(ranked.name)
        return self.align(ranked.name, alignment) if own else alignment.of(ranked)

    def lay_out(self) -> None:
        """Build the table of documents and align the runs that stay in memory: here, so that forks inherit it all."""
        self.prepare()
        self.surveys()
        if all(map(self.keeps, self.runs)):
            self.documents()
        plain = Alignment(self.qrels, self.options.ties, self.options.precision, seed=self.options.seed)
        for name in self._kept:
            self.align(name, plain)

    def known_scores(self, name: str, measures: Sequence[Measure]) -> dict[Measure, Scores] | None:
        """A run's scores on all topics, if they were made before; None where some are missing."""
        known = {measure: self._scores[name, measure] for measure in measures if (name, measure) in self._scores}
        return known if len(known) == len(measures) else None

    def keep_scores(self, name: str, scores: Mapping[Measure, Scores]) -> None:
        self._scores.update(((name, measure), of) for measure, of in scores.items())

    def scored(
        self,
        measures: Sequence[Measure],
        notes: list[str],
        look: Callable[[Evidence], Any] | None = None,
        progress: Callable[[str], None] = lambda name: None,
        *,
        ranges: bool = True,
    ) -> tuple[dict[Measure, list[Scores]], list[Any]]:
        """The scores of all runs on all topics, with ranges over the documents of all runs: each measure scores a run
        once, whoever asks. Also what `look` finds in the evidence on each run, in the same pass. Without `ranges`,
        scores made now have neither ranges nor values over ties, and are not kept for others."""
        alignment = self.alignment(measures, notes, ranges=ranges)

        def of_run(name: str, evidence: Evidence) -> tuple[dict[Measure, Scores], Any]:
            missing = [measure for measure in measures if (name, measure) not in self._scores]
            scores = score_all(evidence, missing, "trec", scores_only=not ranges) if missing else {}
            return scores, None if look is None else look(evidence)

        if look is None and all((name, measure) in self._scores for name in self.runs for measure in measures):
            by_run: list[tuple[dict[Measure, Scores], Any]] = [({}, None) for _ in self.runs]
        elif self._documents is None:
            by_run = self.map_ranked(lambda run: of_run(run.name, self.aligned(run, alignment).evidence), progress)
        else:
            by_run = self.map(lambda name: of_run(name, self.align(name, alignment).evidence), progress=progress)
        scores = [
            {m: self._scores[name, m] for m in measures if m not in new} | new
            for name, (new, _) in zip(self.runs, by_run, strict=True)
        ]
        if ranges:
            for name, of_measures in zip(self.runs, scores, strict=True):
                self.keep_scores(name, of_measures)
        return {m: [of_measures[m] for of_measures in scores] for m in measures}, [seen for _, seen in by_run]

    def has_universe(self, measures: Sequence[Measure]) -> bool:
        """Whether a run's ranges depend on the other runs."""
        return len(self.runs) > 1 and any(measure.needs_universe for measure in measures)

    def universe_keys(self) -> UnjudgedKeys:
        """The unjudged documents of all given runs, each once; this takes a pass over the runs."""
        if self._universe is None and self._documents is not None:
            self._universe = self._documents.universe(self.options.universe_depth)
        if self._universe is None:
            self._survey(with_keys=True)
        assert self._universe is not None
        return self._universe

    def surveys(self) -> dict[str, Survey]:
        """What a first pass finds out about each run: which topics it answers, what is judged at which rank."""
        if self._surveys is None and len(self._looked_at) == len(self.runs):
            self._keep(self._looked_at.values())
        if self._surveys is None:
            self._survey(with_keys=False)
        assert self._surveys is not None
        return self._surveys

    def topic_notes(self) -> list[str]:
        """Which topics runs and judgments do not share; for analyses of several runs together."""
        return topic_notes(list(self.surveys().values()), self.qrels, "all", lenient=self.lenient)

    def _survey(self, *, with_keys: bool) -> None:
        self.runs.read_streams()
        names = list(self.runs)
        groups = [names[start::GROUPS] for start in range(min(GROUPS, len(names)))]
        self.qrels.prepare_lookup()

        def work(group: list[str]) -> tuple[list[Survey], UnjudgedKeys | None]:
            surveys: list[Survey] = []
            keys = self._surveyed(group, surveys)
            if with_keys:
                return surveys, gathered(keys)
            deque(keys, maxlen=0)
            return surveys, None

        options = self.options
        results = parallel_map(work, groups, workers=options.workers, scheduler=options.scheduler)
        self._keep([run_survey for surveys, _ in results for run_survey in surveys])
        if with_keys:
            self._universe = union([keys for _, keys in results if keys is not None])

    def _keep(self, surveys: Iterable[Survey]) -> None:
        by_run = {run_survey.run: run_survey for run_survey in surveys}
        self._surveys = {name: by_run[name] for name in self.runs}
        unanswered(list(self._surveys.values()), self.qrels, self.lenient)  # an error if that is all topics

    def _surveyed(self, names: Iterable[str], whole_runs: list[Survey]) -> Iterator[UnjudgedKeys]:
        """The unjudged documents of run after run, each read once for all that is asked about it."""
        depth = self.options.universe_depth  # which takes ranks in the run as a whole
        for name in names:
            surveys: list[Survey] = []
            parts = self.parts(name) if depth is None else [(name, None)]
            for part in parts:
                ranked = self.ranked_part(part)
                if ranked is not None:
                    surveys.append(survey(ranked, self.qrels))
                    yield unjudged_keys(ranked, len(self.qrels.topics), depth)
            whole = joined(surveys) if len(surveys) == len(parts) else None
            if whole is None:
                ranked = self.ranked(name)
                whole = survey(ranked, self.qrels)
                yield unjudged_keys(ranked, len(self.qrels.topics))
            whole_runs.append(whole)

    def _pool_for(self, measures: Sequence[Measure], notes: list[str]) -> Pool | None:
        """The pool of the contributing runs, if a measure takes R or its ideal from it."""
        pooled = [measure for measure in measures if measure.needs_pool and measure.k is not None]
        if not pooled:
            return None
        if self.options.pooled is None:
            names = ", ".join(measure.name for measure in pooled)
            notes.append(f"{self.pool_assumed().sentence}; {names} takes R or its ideal from these runs")
        depth = max(int(measure.k or 0) for measure in pooled)
        return make_pool(self.documents(self.contributing(), depth), self.qrels)

    def contributing(self) -> list[str]:
        """The runs that contributed to the pool, as far as they are given: those named, or those that look like it.
        Without judgments nothing shows who contributed, and all count."""
        if self.options.pooled is not None or not self.has_qrels:
            return self._named() or list(self.runs)
        return self.pool_assumed().names

    def pool_assumed(self) -> AssumedPool:
        """Who contributed to the pool and how deep it was, as stated or as inferred from the judgments, with a sentence
        that says which."""
        if self._pool is None:
            named = self._named()
            names = list(self.runs) if named is None else named
            surveys = self.surveys()
            self._pool = infer_pool({name: surveys[name].judged for name in names}, named)
        return self._pool

    @property
    def pool_used(self) -> AssumedPool | None:
        """The pool that something was based on, if it was inferred; None if nothing was, or it was stated."""
        return self._pool if self.options.pooled is None else None

    def _named(self) -> list[str] | None:
        """The runs named as contributors, as far as they are given; None where none are named."""
        pooled = self.options.pooled
        if pooled is None:
            return None
        chosen = [name for name in dict.fromkeys(pooled) if name in self.runs]
        if not chosen:
            raise FathomsError(
                f"none of the contributing runs is among the given ones; the list starts with {pooled[0]!r}, "
                f"the runs with {next(iter(self.runs))!r}"
            )
        return chosen


def _growth(band: str | float) -> Fraction:
    from fathoms.evidence.banding import parse_rho

    return checked("band", parse_rho, str(band))


def prepare_measures(
    measures: Sequence[Any] | Any, *, bounds: str | None = None, universe: str | float | None = None
) -> list[Measure]:
    """Measures from names, with `bounds` and `universe` set on those that have them; each once."""
    several = list(measures) if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
    if not several:
        raise FathomsError("no measure given")
    prepared = []
    for measure in map(parse_measure, several):
        if bounds is not None and "bounds" in measure.params:
            measure = measure.replace(bounds=bounds)
        if universe is not None and "universe" in measure.params:
            measure = measure.replace(universe=universe)
        prepared.append(measure)
    return list(dict.fromkeys(prepared))


# -- who contributed, and who belongs together -----------------------------------------------------------------------


def _check_there(path: str) -> None:
    """Fail at once if the file of judgments is missing, though it is read only when it is used."""
    if path != "-" and not os.path.exists(path) and registry.of_object(path) is None:
        raise InputError("no such file", path)


def _pooled_names(
    pooled: Sequence[str] | str | os.PathLike[str] | None, runs: Runs, notes: list[str]
) -> tuple[str, ...] | None:
    """Names of the contributing runs, given as names or as files; a path is taken as a list, one per line."""
    if pooled is None:
        return None
    source = None
    if isinstance(pooled, str | os.PathLike):
        source = os.fspath(pooled)
        lines = read_bytes(source).decode(errors="surrogateescape").splitlines()
        pooled = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    elif not isinstance(pooled, Iterable):
        raise FathomsError(f"pooled: expected names of runs, or a file that lists them, found {pooled!r}")
    chosen = tuple(run_named(name, runs) or stem(name) for name in map(str, pooled))
    if not chosen:
        raise InputError("names no run; expected the contributing runs, one per line", source or "pooled")
    absent = [name for name in chosen if name not in runs]
    if absent:
        shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
        notes.append(f"{source or 'pooled'}: {len(absent)} of {len(chosen)} contributing runs are not given: {shown}")
    return chosen


def _systems(replicates: Mapping[str, str] | str | os.PathLike[str], runs: Runs) -> Systems:
    """Which system each run belongs to, by a file, a dict or a rule for how runs are named."""
    of_run: dict[str, str] | None
    if isinstance(replicates, str) and "{system}" in replicates:
        parts = (re.escape(part).replace(r"\*", ".*").replace(r"\?", ".") for part in replicates.split("{system}", 1))
        rule = re.compile("(?P<system>.+)".join(parts), re.DOTALL)
        of_run = {name: match["system"] for name in runs if (match := rule.fullmatch(name))}
    else:
        of_run = _groups(replicates, runs, "replicates", "system")
    systems = Systems.of(list(runs), of_run or {})
    if len(systems.names) == len(runs):
        raise FathomsError(
            f"replicates: no two of the {len(runs):,} runs are of one system by {replicates!r}; the first is called "
            f"{next(iter(runs), '')!r}"
        )
    return systems


def _groups(
    groups: Mapping[str, str] | str | os.PathLike[str] | None, runs: Runs, what: str = "groups", of: str = "team"
) -> dict[str, str] | None:
    """The group of each run: its team or its system. Runs may be given as names or as files."""
    if groups is None or isinstance(groups, Mapping):
        return None if groups is None else {str(run): str(team) for run, team in groups.items()}
    if not choices.is_path(groups):
        raise FathomsError(f"{what}: expected a dict of {of}s by run, or a file, found {groups!r}")
    path = Path(groups)
    by_run: dict[str, str] = {}
    for number, line in enumerate(read_bytes(path).decode(errors="surrogateescape").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            raise InputError(f"expected `run<TAB>{of}`, found {line!r}", str(path), number)
        name = run_named(parts[0], runs) or stem(parts[0])
        if by_run.setdefault(name, parts[1]) != parts[1]:
            raise InputError(f"run {name} has two {of}s, {by_run[name]!r} and {parts[1]!r}", str(path), number)
    if not by_run.keys() & set(runs):
        raise InputError(f"names none of the given runs, of which the first is {next(iter(runs), '')!r}", str(path))
    return by_run
