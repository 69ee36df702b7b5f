"""A service with which several assessors work on one session.

Two threads do the work, and nothing else touches what is theirs. The writer has the log, the leases and what stands: it
takes all requests that have come in, and one sync to disk serves all their answers. The model thread has the engine: it
is told of the judgments that are on disk and leaves a `View`, the documents to hand out next and how systems compare.
Where it has little to do, the next document is chosen with all that is known. Where the model is fitted, or many judge
at once, nobody waits: documents are then handed out from the last view. What the engine knows depends on the
ordered log alone; how up to date it was when it chose is all that depends on time.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any, NamedTuple

from fathoms.errors import FathomsError
from fathoms.judging.engine import last_fit
from fathoms.judging.log import LogError, Point
from fathoms.judging.session import Judgments, PairStanding, Session, Task, tidy

AHEAD = 4  # documents chosen in advance for each assessor, and as many for all
PRESENT = 60.0  # seconds for which somebody counts as present after a sign of life
LONGEST_NAME = 60
SHOWN = 200  # points of the curve


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


@dataclass(frozen=True)
class _Order:
    """What the model thread is to look at."""

    version: int
    event: int  # the last one
    judgments: Judgments
    n: int
    first: list[int]  # candidates that come before those that the engine chooses
    leave: list[int]  # candidates that are not to be handed out
    wanted: int


class _Request(NamedTuple):
    work: Callable[[], Any]
    then: Callable[[], Any] | None
    future: Future[Any]


class JudgingService:
    """Everything the page asks for. Methods that are `work` run in the writer's thread: call them by `submit`."""

    def __init__(
        self,
        session: Session,
        *,
        budget: int | None = None,
        lease: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session, self.budget, self.seconds, self._clock = session, budget, lease, clock
        self._leases: dict[str, Lease] = {}  # by assessor; those that ran out stay until somebody takes the document
        self._seen: dict[str, float] = {}
        self._version = 0
        self._written = 0  # number of the last event
        self._trace = session.log.marks()
        self._marked = len(self._trace)  # of these are on disk
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._order: _Order | None = None
        self._ordered = threading.Condition()
        self._closing = False
        self._failure: Exception | None = None
        self._waiters: list[tuple[int, Future[None]]] = []
        self.view = View(-1, 0, False, [])
        self._stated: tuple[Any, str] = (None, "")
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._writer, self._model_thread)]

    # -- life

    def start(self) -> None:
        for event in self.session.log.events()[-1:]:
            self._written = event.number
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

    def submit(self, work: Callable[..., Any], *args: Any, then: Callable[[], Any] | None = None) -> Future[Any]:
        """Have the writer do it; the result is there when all of it is on disk.

        `then` makes the result, after the work of all others who are served together.
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
        self._mark()

    def _serve(self, batch: list[_Request]) -> None:
        """All requests in one transaction; each one's answer goes out after it."""
        results: dict[int, Any] = {}
        failed: dict[int, Exception] = {}
        written, version, leases = self._written, self._version, dict(self._leases)
        try:
            with self.session.log.together():
                for turn in ("work", "then"):
                    for i, request in enumerate(batch):
                        do = getattr(request, turn)
                        if do is None or i in failed:
                            continue
                        try:
                            results[i] = do()
                        except LogError:  # nothing of this can be saved
                            raise
                        except Exception as error:
                            failed[i] = error
                if self._written > written:  # the curve is not worth a sync of its own
                    self._mark()
        except Exception as error:
            self._written, self._leases = written, leases
            self.session.reload()
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

    def _mark(self) -> None:
        upto = len(self._trace)
        self.session.log.mark(self._trace[self._marked : upto])
        self._marked = upto

    def _wrote(self, event: int) -> None:
        self._written = event
        self._version += 1

    # -- the model thread

    def _ask_model(self) -> None:
        present = sum(self._clock() - seen < PRESENT for seen in self._seen.values())
        held = [lease.task.candidate for lease in self._held().values()]
        order = _Order(
            self._version,
            self._written,
            self.session.judgments,
            len(self.session.judgments),
            self.session.asked_first(),
            [*self.session.skipped, *held],
            AHEAD * (present + 1),
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
            with self._ordered:
                if self._order is not None:  # at most half of the time, where answers come in faster than it looks
                    self._ordered.wait_for(lambda: self._closing, time.perf_counter() - start)

    def _look(self, order: _Order) -> None:
        session = self.session
        engine = session.tell(order.judgments, order.n)
        all_settled = engine.settled()
        settled = all_settled and not order.first
        queue = [index for index in order.first if index not in order.leave]
        if not all_settled:
            queue += engine.queue(order.wanted, skip=[*order.leave, *order.first])
        pairs, expected = session.pairs(engine), session.expected(engine)
        settled_pairs = sum(pair.confidence >= session.settings.until for pair in pairs)
        least = min((pair.confidence for pair in pairs), default=1.0)
        if not self._trace or self._trace[-1].event < order.event:
            self._trace.append(Point(order.event, order.n, settled_pairs, least))
        view = View(order.version, order.n, settled, queue, pairs, expected, self.view.forecast)
        self._publish(view)
        with self._ordered:
            is_idle = self._order is None
        if is_idle or settled or last_fit(order.n) == order.n:  # those who wait for a document need no forecast
            self._publish(replace(view, forecast=engine.forecast()))

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

    def take(self, name: str) -> Task | None:
        """The document of this assessor: the one at hand, else the next one; None where there is none for now."""
        self._come(name)
        mine = self._leases.get(name)
        others = {lease.task.candidate for holder, lease in self._held().items() if holder != name}
        if mine is not None and mine.task.candidate not in others and self.session.may_grade(mine.task.candidate, name):
            return self._lend(name, mine.task)
        for index in self.session.waiting(name):
            if index not in others:
                return self._lend(name, self.session.task(index))
        if self.view.settled or self._is_budget_used(others):
            return None
        for index in self.view.queue:
            if index not in others and self.session.is_open(index):
                return self._lend(name, self.session.task(index))
        self._version += 1  # have the model thread look again: somebody's time may be up
        return None

    def _is_budget_used(self, held: set[int]) -> bool:
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
        """A sign of life: whoever is at work keeps the document."""
        self._come(name)
        lease = self._held().get(name)
        if lease is not None:
            self._lend(name, lease.task)

    def _come(self, name: str) -> None:
        self._seen[name] = self._clock()

    def grade(self, name: str, topic: str, document: str, grade: int, note: str) -> None:
        self._mine(name, topic, document)
        self._wrote(self.session.grade(topic, document, grade, name, note).number)
        del self._leases[name]

    def skip(self, name: str, topic: str, document: str, note: str) -> None:
        self._mine(name, topic, document)
        self._wrote(self.session.skip(topic, document, name, note).number)
        del self._leases[name]

    def _mine(self, name: str, topic: str, document: str) -> None:
        """Refuse an answer about a document that is not in this assessor's hands."""
        self._come(name)
        index = self.session.find(topic, document)
        held = self._held()
        for holder, lease in held.items():
            if lease.task.candidate == index and holder != name:
                raise Refused(f"topic {topic}, document {document} is with {holder} now; your answer was not saved")
        if name not in held or held[name].task.candidate != index:
            mine = self._leases.get(name)
            if mine is not None and mine.task.candidate == index:
                raise Refused(
                    f"your {self.seconds:g} seconds for topic {topic}, document {document} are over; the answer was "
                    "not saved"
                )
            raise Refused(f"topic {topic}, document {document} is not in your hands; the answer was not saved")

    def undo(self, name: str) -> None:
        """Take the last answer back; its document comes again, unless somebody else has it now."""
        self._come(name)
        task = self.session.undo(name)
        if task is None:
            raise Refused(f"there is no answer of {name} to take back")
        self._wrote(self._written + 1)
        others = {lease.task.candidate for holder, lease in self._held().items() if holder != name}
        if task.candidate not in others and self.session.may_grade(task.candidate, name):
            self._lend(name, task)

    def settle(self, name: str, topic: str, document: str, grade: int) -> None:
        self._come(name)
        self._wrote(self.session.settle(topic, document, grade, name).number)

    # -- where it stands (work)

    def state(self) -> str:
        """All that the page shows beside the document, as JSON; those who ask at once get the same."""
        if self._failure is not None:
            raise self._failure
        as_of = (self._version, self.view, int(self._clock()))
        if self._stated[0] != as_of:
            self._stated = (as_of, json.dumps(self._state(), separators=(",", ":")))
        return self._stated[1]

    def _state(self) -> dict[str, Any]:
        session, view, settings = self.session, self.view, self.session.settings
        names = [name for name, _ in view.expected]
        shown = [pair for pair in view.pairs if pair.measure == settings.measures[0]]
        chance = {(pair.better, pair.other): pair.confidence for pair in shown}
        chance |= {(other, better): 1 - sure for (better, other), sure in chance.items()}
        open_pairs = [pair for pair in view.pairs if pair.confidence < settings.until]
        by_name = Counter(event.assessor for event in session.standing if event.kind == "grade")
        now = self._clock()
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
            "systems": [{"name": name, "expected": value} for name, value in view.expected],
            "confidence": [[chance.get((one, other)) for other in names] for one in names],  # one is better
            "pairs": len(view.pairs),
            "settled": len(view.pairs) - len(open_pairs),
            "weakest": min(open_pairs, key=lambda pair: pair.confidence, default=None),
            "forecast": view.forecast,
            "ended": self.why_ended(),
            "trace": [[point.judged, point.least, point.settled] for point in thinned(self._trace)],
            "assessors": [
                {"name": name, "judged": by_name[name], "here": now - self._seen.get(name, -1e9) < PRESENT}
                for name in sorted({*by_name, *self._seen})
            ],
            "double": settings.double,
            "twice": len(twice),
            "agreed": len(twice) - len(unlike),
            "kappa": session.agreement(),
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

    def why_ended(self) -> str | None:
        """Why no new document is handed out, None while there are some."""
        if self.view.version < 0:
            return None
        return self.session.why_ended(self.view.settled, self.budget, bool(self.view.queue) or bool(self._held()))


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
