"""A service with which several assessors work on one session.

Two threads do the work, and nothing else touches what is theirs. The writer has the log, the leases and what stands: it
takes all requests that have come in, and one sync to disk serves all their answers. The model thread has the engine: it
is told of the judgments that are on disk and leaves a `View`, the documents to hand out next and how systems compare.
Where it has little to do, the next document is chosen with all that is known. Where the model is fitted, or many judge
at once, nobody waits: documents are then handed out from the last view. What the engine knows depends on the
ordered log alone; how up to date it was when it chose is all that depends on time.

Assessors stay on a topic for some documents, so the view has a queue for each topic on which somebody is, and one of
all other topics for whoever begins another.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from fathoms.errors import FathomsError
from fathoms.judging.engine import Engine, last_fit
from fathoms.judging.log import Event, KeptLease, Point
from fathoms.judging.people import AssessorSummary, summaries
from fathoms.judging.session import Judgments, PairStanding, Session, Task, count_settled, tidy
from fathoms.judging.session_file import LogError
from fathoms.judging.staying import BATCH, topic_to_stay_on

AHEAD = 4  # documents chosen in advance for each assessor, and as many for all, at least
MOST_AHEAD = 50
QUICK = 0.1  # seconds a document in which nobody should run out of them while the model thread looks
FADE = 0.995  # how a slow look is forgotten, look by look: while the model is fitted now and then, the others are quick
PRESENT = 60.0  # seconds for which somebody counts as present after a sign of life
NEW_TOPICS = 5  # topics chosen in advance for those who begin another
SHORT = 0.1  # share of a lease by which one that is kept on disk may be too short
LONGEST_NAME = 60
SHOWN = 200  # points of the curve, and judgments in a list
OPEN_PAIRS = 50  # in the list of those


class Refused(FathomsError):
    """What was asked cannot be done now, though it made sense: somebody else was faster, or time was up."""


class Lease(NamedTuple):
    """A document in somebody's hands."""

    task: Task
    until: float


@dataclass(frozen=True, eq=False)
class View:
    """What the engine makes of the judgments so far."""

    version: int
    judged: int
    settled: bool
    queue: list[int]  # candidates to hand out, best first
    pairs: list[PairStanding] = field(default_factory=list)
    expected: list[tuple[str, float]] = field(default_factory=list)
    forecast: tuple[int, int] | None = None
    of_topic: dict[int, list[int]] = field(default_factory=dict)  # the same for topics on which somebody is
    elsewhere: list[int] = field(default_factory=list)  # the best one of some of the others


@dataclass(frozen=True)
class _Order:
    """What the model thread is to look at."""

    version: int
    event: int  # the last one
    judgments: Judgments
    n: int
    first: list[int]  # candidates that come before those that the engine chooses
    leave: list[int]  # candidates that are not to be handed out
    people: int  # who are here
    topics: list[int]  # on which somebody is


class _OwnWork(NamedTuple):
    """What follows from an assessor's own answers."""

    judged: int
    relevant: int
    skipped: int
    stays_on: int | None  # a topic


class _Request(NamedTuple):
    work: Callable[[], Any]
    then: Callable[[Any], Any] | None
    future: Future[Any]


class JudgingService:
    """Everything the page asks for. Methods that are `work` run in the writer's thread: call them by `submit`."""

    def __init__(
        self,
        session: Session,
        *,
        budget: int | None = None,
        lease: float = 600.0,
        stay: int = BATCH,
        names: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stay` is the number of documents of a topic that an assessor judges before another topic comes, 0 or 1 for
        none; `names` are assessors who are expected to come."""
        self.session, self.budget, self.seconds, self._clock = session, budget, lease, clock
        self.stay, self.names = stay, names
        self._leases: dict[str, Lease] = {}  # by assessor; those that ran out stay until somebody takes the document
        self._kept: dict[str, Lease] = {}  # as they are on disk
        self._is_stale = False
        self._seen: dict[str, float] = {}
        self._own: dict[str, _OwnWork] = {}  # as of the assessor's last answer
        self._version = 0
        self._trace = session.log.marks()
        self._marked = len(self._trace)  # of these are on disk
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._order: _Order | None = None
        self._ordered = threading.Condition()
        self._closing = False
        self._failure: Exception | None = None
        self._slowest = 1.0  # seconds of a look, lately; before any, as if one had taken a while
        self._waiters: list[tuple[int, Future[None]]] = []
        self.view = View(-1, 0, False, [])
        self._stated: tuple[Any, str] = (None, "")
        self._summarised: tuple[Any, dict[str, AssessorSummary]] = (None, {})
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._writer, self._model_thread)]

    # -- life

    def start(self) -> None:
        self._take_up_leases()
        self._ask_model()
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Finish what was asked, and leave the session to the caller."""
        with self._ordered:
            self._closing = True
            self._ordered.notify()
        self._threads[1].join()
        self._requests.put(None)
        self._threads[0].join()

    def submit(self, work: Callable[..., Any], *args: Any, then: Callable[[Any], Any] | None = None) -> Future[Any]:
        """Have the writer do it; the result is there when all of it is on disk.

        `then` makes the result of that of the work, after the work of all others who are served together.
        """
        future: Future[Any] = Future()
        self._requests.put(_Request(lambda: work(*args), then, future))
        return future

    def fresh(self) -> Future[None]:
        """Done when the model thread has seen all that was on disk at this moment."""
        future: Future[None] = Future()
        with self._ordered:
            if self.view.version >= self._version:
                future.set_result(None)
            else:
                self._waiters.append((self._version, future))
        return future

    # -- the writer

    def _writer(self) -> None:
        while (first := self._requests.get()) is not None:
            batch = [first]
            while not self._requests.empty():
                more = self._requests.get()
                if more is None:
                    self._requests.put(None)
                    break
                batch.append(more)
            self._serve(batch)
        with suppress(LogError):  # the curve alone; whoever answers was told
            self._mark()

    def _serve(self, batch: list[_Request]) -> None:
        """All requests in one transaction; each one's answer goes out after it."""
        results: dict[int, Any] = {}
        failed: dict[int, Exception] = {}
        written, version, marked = self.session.log.last, self._version, self._marked
        leases, kept = dict(self._leases), self._kept
        try:
            self._catch_up()
            with self.session.log.together():
                for turn in ("work", "then"):
                    for i, request in enumerate(batch):
                        if i in failed:
                            continue
                        try:
                            if turn == "work":
                                results[i] = request.work()
                            elif request.then is not None:
                                results[i] = request.then(results[i])
                        except LogError:  # nothing of this can be saved
                            raise
                        except Exception as error:
                            failed[i] = error
                self._keep_leases()
                if self.session.log.last != written:  # the curve is not worth a sync of its own
                    self._mark()
        except Exception as error:
            self._leases, self._kept, self._marked = leases, kept, marked
            self._is_stale = True
            with suppress(FathomsError):  # the file may be gone, and come back
                self._catch_up()
            failed = dict.fromkeys(range(len(batch)), error)
        if self._version > version:
            self._ask_model()
        for i, request in enumerate(batch):
            if not request.future.set_running_or_notify_cancel():  # nobody waits for it any more
                continue
            if i in failed:
                request.future.set_exception(failed[i])
            else:
                request.future.set_result(results[i])

    def _catch_up(self) -> None:
        """After something could not be written, what is known is what is on disk."""
        if self._is_stale:
            self.session.reload()
            self._own.clear()
            self._is_stale = False

    def _keep_leases(self) -> None:
        """So that documents stay with whom they are if the server is killed. A sign of life every few seconds is not
        worth a sync each time: a lease that is kept may be a little short."""
        if set(self._kept) != set(self._leases) or not all(map(self._is_kept, self._leases)):
            ahead = time.time() - self._clock()
            self.session.log.keep_leases(
                [
                    KeptLease(name, lease.task.topic, lease.task.document, lease.until + ahead)
                    for name, lease in self._leases.items()
                ]
            )
            self._kept = dict(self._leases)

    def _is_kept(self, name: str) -> bool:
        kept, lease = self._kept[name], self._leases[name]
        return kept.task == lease.task and lease.until - kept.until < self.seconds * SHORT

    def _take_up_leases(self) -> None:
        """Those of before a restart whose documents are still to be judged."""
        for name, topic, document, until in self.session.log.leases():
            index = self.session.candidates.find(topic, document)
            if index is not None and self.session.may_grade(index, name):
                left = min(until - time.time(), self.seconds)
                self._leases[name] = Lease(Task(index, topic, document), self._clock() + left)
        self._kept = dict(self._leases)

    def _mark(self) -> None:
        upto = len(self._trace)
        self.session.log.mark(self._trace[self._marked : upto])
        self._marked = upto

    def _wrote(self, name: str) -> None:
        self._own.pop(name, None)
        self._version += 1

    # -- the model thread

    def _ask_model(self) -> None:
        held = [lease.task.candidate for lease in self._held().values()]
        order = _Order(
            self._version,
            self.session.log.last[0],
            self.session.judgments,
            len(self.session.judgments),
            self.session.asked_first(),
            [*self.session.skipped, *held],
            sum(map(self._is_here, self._seen)),
            list(self._topics_taken()),
        )
        with self._ordered:
            self._order = order  # the latest alone matters
            self._ordered.notify()

    def _model_thread(self) -> None:
        while True:
            with self._ordered:
                while self._order is None and not self._closing:
                    self._ordered.wait()
                order, self._order = self._order, None
            if order is None:
                return
            start = time.perf_counter()
            try:
                self._look(order)
            except Exception as error:
                self._failure = error
                self._publish(View(order.version, order.n, False, []))
            self._slowest = max(time.perf_counter() - start, FADE * self._slowest)
            with self._ordered:
                if self._order is not None:  # at most half of the time, where answers come in faster than it looks
                    self._ordered.wait_for(lambda: self._closing, time.perf_counter() - start)

    def _look(self, order: _Order) -> None:
        session = self.session
        engine = session.tell(order.judgments, order.n)
        all_settled = session.settled_by(engine)
        settled = all_settled and not order.first
        queue = [index for index in order.first if index not in order.leave]
        of_topic: dict[int, list[int]] = {}
        elsewhere: list[int] = []
        if not all_settled:
            queue += engine.queue(self._ahead() * (order.people + 1), skip=[*order.leave, *order.first])
            if self.stay > 1:
                of_topic, elsewhere = self._by_topic(engine, order, queue)
        pairs, expected = session.pairs(engine), session.expected(engine)
        _, settled_pairs = count_settled(pairs, session.settings.until)
        least = min((pair.confidence for pair in pairs), default=1.0)
        if not self._trace or self._trace[-1].event < order.event:
            self._trace.append(Point(order.event, order.n, settled_pairs, least))
        view = View(order.version, order.n, settled, queue, pairs, expected, self.view.forecast, of_topic, elsewhere)
        self._publish(view)
        with self._ordered:
            is_idle = self._order is None
        if is_idle or settled or last_fit(order.n) == order.n:  # those who wait for a document need no forecast
            self._publish(replace(view, forecast=engine.forecast()))

    def _by_topic(self, engine: Engine, order: _Order, queue: list[int]) -> tuple[dict[int, list[int]], list[int]]:
        """What comes next on the topics on which somebody is, or will be; and on all topics on which nobody is."""
        topic = self.session.candidates.topic
        leave = [*order.leave, *order.first]
        elsewhere: list[int] = []
        taken = list(order.topics)
        for _ in range(NEW_TOPICS):  # so many people may begin a topic before the next look
            skip = [*leave, *np.flatnonzero(np.isin(topic, taken)).tolist()]
            found = engine.queue(1, skip=skip)
            elsewhere += found
            taken += [int(topic[index]) for index in found]
        soon = [int(topic[index]) for index in (*queue[:AHEAD], *elsewhere)]
        topics = dict.fromkeys([*order.topics, *soon])
        return {one: engine.queue(max(2 * AHEAD, self._ahead()), skip=leave, topic=one) for one in topics}, elsewhere

    def _ahead(self) -> int:
        """Documents to choose in advance for each assessor: as many as a quick one judges while the model thread takes
        its time, twice, for it rests as long as it works."""
        return min(max(AHEAD, int(2 * self._slowest / QUICK)), MOST_AHEAD)

    def _publish(self, view: View) -> None:
        with self._ordered:
            self.view = view
            ready = [future for version, future in self._waiters if version <= view.version]
            self._waiters = [(version, future) for version, future in self._waiters if version > view.version]
        for future in ready:
            if future.set_running_or_notify_cancel():
                future.set_result(None)

    # -- documents and who has them (work)

    def _held(self) -> dict[str, Lease]:
        now = self._clock()
        return {name: lease for name, lease in self._leases.items() if lease.until > now}

    def _with_others(self, name: str) -> dict[int, str]:
        """Documents in the hands of others, and whose."""
        return {lease.task.candidate: holder for holder, lease in self._held().items() if holder != name}

    def take(self, name: str) -> Task | None:
        """The document of this assessor: the one at hand, else the next one; None where there is none for now."""
        self._come(name)
        mine = self._leases.get(name)
        others = self._with_others(name)
        if mine is not None and mine.task.candidate not in others and self.session.may_grade(mine.task.candidate, name):
            return self._lend(name, mine.task)
        is_used = self._is_budget_used(others)
        if is_used or not self._is_topic_unknown(name):
            for index in self._offers(name, is_used):
                if index not in others:
                    return self._lend(name, self.session.task(index))
        if not self.view.settled and not is_used:
            self._version += 1  # have the model thread look again: somebody's time may be up
        return None

    def _is_topic_unknown(self, name: str) -> bool:
        """Whether the model thread has yet to look at the topic of somebody who has just come back."""
        own = self._work_of(name).stays_on
        view = self.view
        is_latest = view.version >= self._version  # else it is looking now, and nobody should wait for that
        return own is not None and is_latest and not view.settled and own not in view.of_topic

    def _offers(self, name: str, only_second: bool) -> Iterator[int]:
        """Candidates for this assessor, the best first: second grades (unless they come last), then those that were
        asked for first, those of the topic on which the assessor stays, those of topics on which nobody else is, and
        any others."""
        session, view, topic = self.session, self.view, self.session.candidates.topic
        own = self._work_of(name).stays_on
        taken = set(self._topics_taken(but=name))
        waiting = sorted(session.waiting(name), key=lambda index: topic[index] in taken)
        if not session.seconds_come_last:
            yield from (index for index in waiting if own in (None, topic[index]))
        if not (view.settled or only_second):
            yield from session.asked_first()
            if own is not None:
                yield from filter(session.is_open, view.of_topic.get(own, ()))
                yield from (index for index in view.queue if topic[index] == own and session.is_open(index))
            for others in (view.queue, view.elsewhere):
                yield from (index for index in others if topic[index] not in taken and session.is_open(index))
            for others in (view.queue, view.elsewhere, *view.of_topic.values()):
                yield from filter(session.is_open, others)
        yield from waiting

    def _work_of(self, name: str) -> _OwnWork:
        found = self._own.get(name)
        if found is None:
            found = self._own[name] = self._looked_up(name)
        return found

    def _looked_up(self, name: str) -> _OwnWork:
        latest = list(self.session.latest_of(name))
        rel = self.session.settings.rel
        answers = [(event.topic, (event.grade or 0) >= rel) for event in reversed(latest)]
        topic = topic_to_stay_on(answers, batch=self.stay) if self.stay > 1 else None
        return _OwnWork(
            judged=sum(event.kind == "grade" for event in latest),
            relevant=sum(relevant for _, relevant in answers),
            skipped=sum(event.kind == "skip" for event in latest),
            stays_on=None if topic is None else self.session.candidates.topics.index(topic),
        )

    def _topics_taken(self, but: str | None = None) -> dict[int, None]:
        """Topics on which somebody is now: has a document of it, or stays there."""
        if self.stay < 2:
            return {}
        found = [
            int(self.session.candidates.topic[lease.task.candidate])
            for name, lease in self._held().items()
            if name != but
        ]
        found += [
            topic
            for name in self._seen
            if name != but and self._is_here(name) and (topic := self._work_of(name).stays_on) is not None
        ]
        return dict.fromkeys(found)

    def _is_here(self, name: str) -> bool:
        return self._clock() - self._seen.get(name, -1e9) < PRESENT

    def _is_budget_used(self, held: Collection[int]) -> bool:
        """Whether the documents in hand, once judged, use the budget up."""
        coming = sum(self.session.is_open(index) for index in held)
        return self.budget is not None and self.session.judged + coming >= self.budget

    def _lend(self, name: str, task: Task) -> Task:
        self._leases[name] = Lease(task, self._clock() + self.seconds)
        return task

    def is_slow(self) -> bool:
        """Whether the model thread will take a while over the answer that has just been written: the model is fitted,
        or others came before."""
        n = len(self.session.judgments)
        return last_fit(n) == n or self.view.version < self._version - 1

    def keep(self, name: str) -> None:
        """A sign of life: whoever is at work keeps the document, late or not, unless somebody else has it by now."""
        self._come(name)
        lease = self._leases.get(name)
        if lease is not None and lease.task.candidate not in self._with_others(name):
            self._lend(name, lease.task)

    def _come(self, name: str) -> None:
        self._seen[name] = self._clock()

    # Each of these takes the key under which an answer is sent again where its sender does not know what became of it.
    # Of one that is there already nothing is changed, and its event is returned.

    def grade(
        self, name: str, topic: str, document: str, grade: int, note: str, key: str | None = None
    ) -> Event | None:
        done = self._done("grade", name, key, topic, document)
        if done is None:
            self._mine(name, topic, document)
            self.session.grade(topic, document, grade, name, note, key)
            self._wrote(name)
            del self._leases[name]
        return done

    def skip(self, name: str, topic: str, document: str, note: str, key: str | None = None) -> Event | None:
        done = self._done("skip", name, key, topic, document)
        if done is None:
            self._mine(name, topic, document)
            self.session.skip(topic, document, name, note, key)
            self._wrote(name)
            del self._leases[name]
        return done

    def _done(
        self, kind: str, name: str, key: str | None, topic: str | None = None, document: str | None = None
    ) -> Event | None:
        found = None if key is None else self.session.with_key(key)
        if found is None:
            return None
        is_other = topic not in (None, found.topic) or document not in (None, found.document)
        if found.assessor != name or _kind(found) != kind or is_other:
            raise Refused("this key was already used for another answer; nothing was saved")
        if kind != "undo" and found not in self.session.standing:
            raise Refused(
                "the answer with this key was changed or taken back in the meantime; nothing was saved, and a new "
                "answer needs a new key"
            )
        self._come(name)
        return found

    def _mine(self, name: str, topic: str, document: str) -> None:
        """Refuse an answer about a document that is not in this assessor's hands."""
        self._come(name)
        index = self.session.find(topic, document)
        about = f"topic {topic}, document {document}"
        if index in self._with_others(name):
            raise Refused(f"{about} is with somebody else now; your answer was not saved")
        mine = self._leases.get(name)
        if mine is None or mine.task.candidate != index:
            raise Refused(f"{about} is no longer assigned to you; your answer was not saved")
        if not self.session.may_grade(index, name):  # while time was up
            raise Refused(f"somebody else has judged {about} in the meantime; your answer was not saved")

    def undo(self, name: str, key: str | None = None) -> Event | None:
        """Take the last answer back; its document comes again, unless somebody else has it now."""
        done = self._done("undo", name, key)
        if done is not None:
            return done
        self._come(name)
        task = self.session.undo(name, key)
        if task is None:
            raise Refused(f"there is no answer of {name} to take back")
        self._wrote(name)
        others = self._with_others(name)
        if task.candidate not in others and self.session.may_grade(task.candidate, name):
            self._lend(name, task)
        return None

    def revise(
        self, name: str, topic: str, document: str, grade: int, note: str, key: str | None = None
    ) -> Event | None:
        """Another grade for a document that this assessor judged before; what is in hand stays there."""
        done = self._done("revision", name, key, topic, document)
        if done is None:
            self._come(name)
            self.session.revise(topic, document, grade, name, note, key)
            self._wrote(name)
        return done

    def settle(self, name: str, topic: str, document: str, grade: int, key: str | None = None) -> Event | None:
        done = self._done("final", name, key, topic, document)
        if done is None:
            self.session.settle(topic, document, grade, name, key=key)
            self._wrote(name)
        return done

    # -- where it stands (work)

    def state(self) -> str:
        """Everything about the session, as JSON, for whoever organises it; those who ask at once get the same."""
        self._check_failure()
        as_of = (self._version, self.view, int(self._clock()))
        if self._stated[0] != as_of:
            self._stated = (as_of, json.dumps(self._state(), separators=(",", ":")))
        return self._stated[1]

    def own_state(self, name: str | None) -> dict[str, Any]:
        """What an assessor may know: how far the own work is, and nothing about systems or other people's grades."""
        self._check_failure()
        mine = _OwnWork(0, 0, 0, None) if name is None else self._work_of(name)
        return {
            "version": self._version,
            "judged": mine.judged,
            "relevant": mine.relevant,
            "skipped": mine.skipped,
            "all_judged": self.session.judged,
            "budget": self.budget,
            "ended": self._why_no_more(),
        }

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _summaries(self) -> dict[str, AssessorSummary]:
        if self._summarised[0] != self._version:
            self._summarised = (self._version, summaries(self.session))
        return self._summarised[1]

    def _state(self) -> dict[str, Any]:
        session, view, settings = self.session, self.view, self.session.settings
        names = [name for name, _ in view.expected]
        shown = [pair for pair in view.pairs if pair.measure == settings.measures[0]]
        chance = {(pair.better, pair.other): pair.confidence for pair in shown}
        chance |= {(other, better): 1 - sure for (better, other), sure in chance.items()}
        in_all, settled = count_settled(view.pairs, settings.until)
        open_pairs = sorted(
            (pair for pair in view.pairs if pair.confidence < settings.until), key=lambda pair: pair.confidence
        )
        twice, unlike = session.twice(), session.disagreements()
        return {
            "version": self._version,
            "judged": session.judged,
            "relevant": sum(session.is_relevant(grade) for _, grade in session.judgments[session.imported :]),
            "skipped": len(session.skips()),
            "imported": session.imported,
            "until": settings.until,
            "max_grade": settings.max_grade,
            "rel": settings.rel,
            "budget": self.budget,
            "measures": list(settings.measures),  # systems are shown by the first
            "systems": [{"name": name, "expected": value} for name, value in view.expected],
            "confidence": [[chance.get((one, other)) for other in names] for one in names],  # one is better
            "pairs": in_all,
            "settled": settled,
            "open": open_pairs[:OPEN_PAIRS],
            "weakest": open_pairs[0] if open_pairs else None,
            "forecast": view.forecast,
            "ended": self.why_ended(),
            "trace": [[point.judged, point.least, point.settled] for point in thinned(self._trace)],
            "assessors": [self._person(name) for name in sorted({*self._summaries(), *self._seen, *self.names})],
            "double": settings.double,
            "twice": len(twice),
            "agreed": sum(one.first.grade == one.second.grade for one in twice),
            "kappa": session.agreement(),
            "kappa_interval": session.kappa_interval(),
            "disagreements": [
                {
                    "topic": first.topic,
                    "document": first.document,
                    "grades": [[event.assessor, event.grade, event.note] for event in (first, second)],
                    "final": None if final is None else [final.assessor, final.grade],
                }
                for first, second, final in unlike
            ],
        }

    def _person(self, name: str) -> dict[str, Any]:
        """An assessor's work, where the assessor is, and seconds since the last sign of life."""
        found = self._summaries().get(name) or AssessorSummary(name, 0, 0, 0, 0, None, None, None, 0, None)
        seen, lease = self._seen.get(name), self._held().get(name)
        return asdict(found) | {
            "here": self._is_here(name),
            "seen": None if seen is None else round(self._clock() - seen),
            "topic": lease.task.topic if lease is not None and self._is_here(name) else None,
        }

    def recent(self, assessor: str | None, topic: str | None) -> list[Event]:
        """The last answers that stand, the latest first, of one assessor or topic if that is asked for."""
        wanted = (
            event
            for event in self.session.standing
            if assessor in (None, event.assessor) and topic in (None, event.topic)
        )
        return sorted(wanted, key=lambda event: -event.number)[:SHOWN]

    def topics_judged(self, assessor: str | None = None) -> list[str]:
        """Topics of which something is judged, in the order of the runs."""
        found = {event.topic for event in self.session.standing if assessor in (None, event.assessor)}
        return [topic for topic in self.session.candidates.topics if topic in found]

    def why_ended(self) -> str | None:
        """Why no new document is handed out, None while there are some."""
        if self.view.version < 0:
            return None
        return self.session.why_ended(self.view.settled, self.budget, bool(self.view.queue) or bool(self._held()))

    def _why_no_more(self) -> str | None:
        """The same for assessors."""
        why = self.why_ended()
        return "All that is needed has been judged." if why is not None and self.view.settled else why


def _kind(event: Event) -> str:
    """As requests tell them apart."""
    return "revision" if event.kind == "grade" and event.undone is not None else event.kind


def thinned(points: list[Point]) -> list[Point]:
    """So many points at most, the last one among them."""
    step = -(-len(points) // SHOWN) or 1
    return points[::-1][::step][::-1]


def name_of(text: Any) -> str:
    """An assessor's name as it is written down."""
    name = tidy(text) if isinstance(text, str) else ""
    if not 0 < len(name) <= LONGEST_NAME:
        raise FathomsError(f"expected a name of 1 to {LONGEST_NAME} characters, found {text!r:.80}")
    return name
