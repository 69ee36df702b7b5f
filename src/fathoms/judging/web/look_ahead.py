"""What the engine concludes from the judgments, worked out in a thread of its own while people judge.

It is given the state of the session that is on disk and leaves a `View`: the documents to hand out next and how runs
compare. If it has little to do, the next document is chosen with everything that is known. If the model is being
fitted, or many judge at once, nobody waits: documents are then handed out from the last view. What the engine knows
depends on the ordered log alone; only how up to date it was when it chose depends on time.

Assessors stay on a topic for some documents, so the view has a queue for each topic on which somebody is, and one of
all other topics for whoever begins another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fathoms.judging.engine import Engine, last_fit
from fathoms.judging.log import Point
from fathoms.judging.session import Session
from fathoms.judging.standings import PairStanding, count_settled, expected_scores, is_settled, pair_standings
from fathoms.judging.state import JudgingState

AHEAD = 4  # documents chosen in advance for each assessor, and for all together, at least
MOST_AHEAD = 50
QUICK = 0.1  # seconds a document during which nobody should run out of them while the thread looks
FADE = 0.995  # how a slow look is forgotten, look by look: the model is fitted only now and then, the others are quick
NEW_TOPICS = 5  # topics chosen in advance for those who begin another


@dataclass(frozen=True, eq=False)
class View:
    """What the engine concludes from the judgments so far."""

    version: int
    settled: bool
    queue: list[int]  # candidates to hand out, best first
    pairs: list[PairStanding] = field(default_factory=list)
    expected: list[tuple[str, float]] = field(default_factory=list)
    forecast: tuple[int, int] | None = None
    by_topic: dict[int, list[int]] = field(default_factory=dict)  # the same for topics on which somebody is
    elsewhere: list[int] = field(default_factory=list)  # the best one of some of the others


@dataclass(frozen=True)
class ViewChoices:
    """The documents of a view, for whoever asks for one."""

    view: View
    topic: NDArray[np.int32]  # of each candidate

    def of_topic(self, topic: int) -> Iterator[int]:
        yield from self.view.by_topic.get(topic, ())
        yield from (number for number in self.view.queue if self.topic[number] == topic)

    def of_other_topics(self, taken: Collection[int]) -> Iterator[int]:
        queues = (self.view.queue, self.view.elsewhere)
        return (number for queue in queues for number in queue if self.topic[number] not in taken)

    def of_any_topic(self) -> Iterator[int]:
        queues = (self.view.queue, self.view.elsewhere, *self.view.by_topic.values())
        return (number for queue in queues for number in queue)


@dataclass(frozen=True, eq=False)
class Order:
    """What to look at."""

    version: int
    event: int  # the last one
    state: JudgingState
    held: list[int]  # candidates in somebody's hands
    people: int  # who are here
    topics: list[int]  # on which somebody is


class LookAhead:
    """The thread, and what it left last."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.view = View(-1, False, [])
        self.trace = session.log.marks()
        self.failure: Exception | None = None
        self._order: Order | None = None
        self._ordered = threading.Condition()
        self._is_closing = False
        self._slowest = 1.0  # seconds of a recent look; before any, as if one had taken a while
        self._waiters: list[tuple[int, Future[None]]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, seconds: float) -> None:
        with self._ordered:
            self._is_closing = True
            self._ordered.notify()
        self._thread.join(seconds)  # it may be in the midst of a long estimate, which nobody waits for

    def order(self, order: Order) -> None:
        """Only the latest counts."""
        with self._ordered:
            self._order = order
            self._ordered.notify()

    def seen(self, version: int) -> Future[None]:
        """Done when the view is of this version, or a later one."""
        future: Future[None] = Future()
        with self._ordered:
            if self.view.version >= version:
                future.set_result(None)
            else:
                self._waiters.append((version, future))
        return future

    def _run(self) -> None:
        while True:
            with self._ordered:
                while self._order is None and not self._is_closing:
                    self._ordered.wait()
                order, self._order = self._order, None
            if order is None:
                return
            start = time.perf_counter()
            try:
                self._look(order)
            except Exception as error:
                self.failure = error
                self._publish(View(order.version, False, []))
            self._slowest = max(time.perf_counter() - start, FADE * self._slowest)
            with self._ordered:
                if self._order is not None:  # at most half of the time, if answers come in faster than it looks
                    self._ordered.wait_for(lambda: self._is_closing, time.perf_counter() - start)

    def _look(self, order: Order) -> None:
        documents, state = self.session.documents, order.state
        engine = self.session.engine_at(state)
        first = documents.come_first(state)
        withheld = [*documents.withheld(state), *order.held]
        all_settled = is_settled(engine, state)
        queue = [number for number in first if number not in withheld]
        by_topic: dict[int, list[int]] = {}
        elsewhere: list[int] = []
        if not all_settled:
            queue += engine.queue(self._ahead() * (order.people + 1), skip=[*withheld, *first])
            if state.settings.stay > 1:
                by_topic, elsewhere = self._by_topic(engine, [*withheld, *first], order.topics, queue)
        pairs, expected = pair_standings(engine, state), expected_scores(engine)
        _, settled_pairs = count_settled(pairs, state.settings.until)
        least = min((pair.confidence for pair in pairs), default=1.0)
        if not self.trace or self.trace[-1].event < order.event:
            self.trace.append(Point(order.event, engine.judged, settled_pairs, least))
        is_done = all_settled and not first
        forecast = self.view.forecast
        view = View(order.version, is_done, queue, pairs, expected, forecast, by_topic, elsewhere)
        self._publish(view)
        with self._ordered:
            is_idle = self._order is None
        if (
            is_idle or is_done or last_fit(engine.judged) == engine.judged
        ):  # whoever waits for a document needs no forecast
            self._publish(replace(view, forecast=engine.forecast()))

    def _by_topic(
        self, engine: Engine, withheld: list[int], occupied: list[int], queue: list[int]
    ) -> tuple[dict[int, list[int]], list[int]]:
        """What comes next on the topics on which somebody is, or will be; and on all topics on which nobody is."""
        topic = self.session.documents.candidates.topic
        elsewhere: list[int] = []
        taken = list(occupied)
        for _ in range(NEW_TOPICS):  # so many people may begin a topic before the next look
            skip = [*withheld, *np.flatnonzero(np.isin(topic, taken)).tolist()]
            best = engine.queue(1, skip=skip)
            elsewhere += best
            taken += [int(topic[number]) for number in best]
        soon = [int(topic[number]) for number in (*queue[:AHEAD], *elsewhere)]
        n = max(2 * AHEAD, self._ahead())
        topics = dict.fromkeys([*occupied, *soon])
        return {number: engine.queue(n, skip=withheld, topic=number) for number in topics}, elsewhere

    def _ahead(self) -> int:
        """Documents to choose in advance for each assessor: as many as a quick one judges while the thread takes its
        time, twice, since it rests as long as it works."""
        return min(max(AHEAD, int(2 * self._slowest / QUICK)), MOST_AHEAD)

    def _publish(self, view: View) -> None:
        with self._ordered:
            self.view = view
            ready = [future for version, future in self._waiters if version <= view.version]
            self._waiters = [(version, future) for version, future in self._waiters if version > view.version]
        for future in ready:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
