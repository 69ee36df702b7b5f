"""A service with which several assessors work on one session.

Two threads do the work, and nothing else touches what is theirs. The writer has the session: it takes all requests that
have come in, and one sync to disk serves all their answers. The other one looks ahead (`look_ahead.py`): it has the
engine, and leaves a view of what comes next. What stands and who has which document is the session's state; here are
only the requests, who is present, and what may be answered.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

from fathoms.base.errors import FathomsError
from fathoms.judging.assessor_stats import AssessorSummary, summaries
from fathoms.judging.documents_to_judge import Task
from fathoms.judging.engine import last_fit
from fathoms.judging.events import Event
from fathoms.judging.log import KeptLease
from fathoms.judging.next_document import offers
from fathoms.judging.session import Session, tidy
from fathoms.judging.session_file import LogError
from fathoms.judging.state import DocumentId, Lent, OwnWork
from fathoms.judging.web.look_ahead import LookAhead, Order, View, ViewChoices
from fathoms.judging.web.overview import overview, person

PRESENT = 60.0  # seconds for which somebody counts as present after a sign of life
SHORT = 0.1  # share of a lease by which the one kept on disk may be too short
LONGEST_NAME = 60
CLOSING_SECONDS = 30.0  # for each of the threads, when the page ends


class Refused(FathomsError):
    """What was asked cannot be done now, though it made sense: somebody else was faster, or time was up."""


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
        names: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`names` are assessors who are expected to come."""
        self.session, self.budget, self.seconds, self._clock = session, budget, lease, clock
        self.names = names
        self._kept_leases: dict[str, Lent] = {}  # as they are on disk
        self._is_stale = False
        self._seen: dict[str, float] = {}
        self._version = 0
        self._ahead = LookAhead(session)
        self._n_marked = len(self._ahead.trace)  # points of the trace that are on disk
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._stated: tuple[Any, str] = (None, "")
        self._summarised: tuple[Any, dict[str, AssessorSummary]] = (None, {})
        self._thread = threading.Thread(target=self._write, daemon=True)

    # -- life

    def start(self) -> None:
        self._take_up_leases()
        self._order_look()
        self._thread.start()
        self._ahead.start()

    def close(self) -> None:
        """Finish what was asked, and leave the session to the caller."""
        self._ahead.close(CLOSING_SECONDS)
        self._requests.put(None)
        self._thread.join(CLOSING_SECONDS)
        if self._thread.is_alive():
            raise FathomsError(
                f"the session's file could not be written within {CLOSING_SECONDS:g} seconds; answers that the "
                "page did not confirm may be missing. Is its disk there?"
            )

    def submit(self, work: Callable[..., Any], *args: Any, then: Callable[[Any], Any] | None = None) -> Future[Any]:
        """Have the writer do it; the result is there when all of it is on disk.

        `then` turns the result of the work into the answer, after the work of all others who are served together.
        """
        future: Future[Any] = Future()
        self._requests.put(_Request(lambda: work(*args), then, future))
        return future

    def fresh(self) -> Future[None]:
        """Done when the view includes everything that was on disk at this moment."""
        return self._ahead.seen(self._version)

    @property
    def view(self) -> View:
        return self._ahead.view

    # -- the writer

    def _write(self) -> None:
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
        """All requests in one transaction; each one is answered after it."""
        results: dict[int, Any] = {}
        failed: dict[int, Exception] = {}
        version = self._version
        before = self.session.state, self._kept_leases, self._n_marked
        try:
            self._catch_up()
            written = self.session.log.last
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
                        except LogError:  # none of this can be saved
                            raise
                        except Exception as error:
                            failed[i] = error
                self._keep_leases()
                if self.session.log.last != written:  # the curve is not worth a sync of its own
                    self._mark()
        except Exception as error:
            self.session.state, self._kept_leases, self._n_marked = before
            self._is_stale = True
            with suppress(FathomsError):  # the file may be gone, and come back
                self._catch_up()
            failed = dict.fromkeys(range(len(batch)), error)
        if self._version > version:
            self._order_look()
        for i, request in enumerate(batch):
            if not request.future.set_running_or_notify_cancel():  # nobody waits for it any more
                continue
            if i in failed:
                request.future.set_exception(failed[i])
            else:
                request.future.set_result(results[i])

    def _catch_up(self) -> None:
        """After a failed write, what is known is what is on disk."""
        if self._is_stale:
            self.session.reload()
            self._is_stale = False

    def _mark(self) -> None:
        trace = self._ahead.trace
        upto = len(trace)
        self.session.log.mark(trace[self._n_marked : upto])
        self._n_marked = upto

    def _order_look(self) -> None:
        state = self.session.state
        held = self.session.documents.numbers(state.held(self._clock()).values())
        people = sum(map(self._is_here, self._seen))
        topics = list(self._topics_taken())
        self._ahead.order(Order(self._version, self.session.log.last[0], state, held, people, topics))

    # -- leases

    def _keep_leases(self) -> None:
        """So that documents stay with their assessors if the server is killed. A sign of life every few seconds is not
        worth a sync each time: a lease kept on disk may be a little short."""
        leases = self.session.state.leases
        if set(self._kept_leases) != set(leases) or not all(map(self._is_kept, leases.values())):
            ahead = time.time() - self._clock()
            kept = [KeptLease(name, *lease.document, lease.until + ahead) for name, lease in leases.items()]
            self.session.log.keep_leases(kept)
            self._kept_leases = dict(leases)

    def _is_kept(self, lease: Lent) -> bool:
        kept = self._kept_leases[lease.assessor]
        return kept.document == lease.document and lease.until - kept.until < self.seconds * SHORT

    def _take_up_leases(self) -> None:
        """Leases from before a restart whose documents are still to be judged."""
        candidates = self.session.documents.candidates
        for name, topic, document, until in self.session.log.leases():
            if candidates.find(topic, document) is not None and self._may_grade((topic, document), name):
                left = min(until - time.time(), self.seconds)
                self.session.apply(Lent(name, (topic, document), self._clock() + left))
        self._kept_leases = dict(self.session.state.leases)

    def _lend(self, name: str, document: DocumentId) -> None:
        self.session.apply(Lent(name, document, self._clock() + self.seconds))

    def _held_by_others(self, name: str) -> set[DocumentId]:
        held = self.session.state.held(self._clock())
        return {document for holder, document in held.items() if holder != name}

    def _own_document(self, name: str) -> DocumentId | None:
        """What this assessor has in hand, late or not, unless somebody else has it by now."""
        lease = self.session.state.leases.get(name)
        return None if lease is None or lease.document in self._held_by_others(name) else lease.document

    def _may_grade(self, document: DocumentId, name: str) -> bool:
        documents = self.session.documents
        return documents.may_grade(self.session.state, documents.find(*document), name)

    # -- documents and who has them (work)

    def take(self, name: str) -> Task | None:
        """This assessor's document: the one at hand, else the next one; None if there is none for now."""
        self._come(name)
        session, view = self.session, self.view
        own = self._own_document(name)
        if own is not None and self._may_grade(own, name):
            self._lend(name, own)
            return Task(session.documents.find(*own), *own)
        held = self._held_by_others(name)
        is_used = self._is_budget_used(held)
        if is_used or not self._is_topic_unknown(name):
            choices = ViewChoices(view, session.documents.candidates.topic)
            taken, only_second = self._topics_taken(but=name), view.settled or is_used
            for number in offers(session.documents, session.state, name, choices, taken=taken, only_second=only_second):
                task = session.documents.task(number)
                if task.id not in held:
                    self._lend(name, task.id)
                    return task
        if not view.settled and not is_used:
            self._version += 1  # have the other thread look again: somebody's time may be up
        return None

    def _is_topic_unknown(self, name: str) -> bool:
        """Whether the other thread has yet to look at the topic of somebody who has just come back."""
        own = self._topic_of(name)
        view = self.view
        is_latest = view.version >= self._version  # else it is looking now, and nobody should wait for that
        return own is not None and is_latest and not view.settled and own not in view.by_topic

    def _topic_of(self, name: str) -> int | None:
        stays_on = self.session.state.work_of(name).stays_on
        return None if stays_on is None else self.session.documents.candidates.topics.index(stays_on)

    def _topics_taken(self, but: str | None = None) -> dict[int, None]:
        """Topics on which somebody is now: has a document of it, or stays there."""
        session = self.session
        if session.settings.stay < 2:
            return {}
        held = session.state.held(self._clock())
        in_hand = session.documents.numbers(document for name, document in held.items() if name != but)
        topics = [int(session.documents.candidates.topic[number]) for number in in_hand]
        stays_on = [self._topic_of(name) for name in self._seen if name != but and self._is_here(name)]
        return dict.fromkeys([*topics, *(topic for topic in stays_on if topic is not None)])

    def _is_here(self, name: str) -> bool:
        return self._clock() - self._seen.get(name, -1e9) < PRESENT

    def _is_budget_used(self, held: Collection[DocumentId]) -> bool:
        """Whether the documents in hand, once judged, use up the budget."""
        state = self.session.state
        return self.budget is not None and state.n_judged + sum(map(state.is_untouched, held)) >= self.budget

    def is_slow(self) -> bool:
        """Whether the other thread will take a while over the answer that has just been written: the model is being
        fitted, or others came before."""
        n = len(self.session.documents.imported) + self.session.state.n_judged
        return last_fit(n) == n or self.view.version < self._version - 1

    def keep(self, name: str) -> None:
        """A sign of life: whoever is at work keeps the document, late or not, unless somebody else has it by now."""
        self._come(name)
        own = self._own_document(name)
        if own is not None:
            self._lend(name, own)

    def _come(self, name: str) -> None:
        self._seen[name] = self._clock()

    # Each of these takes the key under which an answer is sent again where its sender does not know what became of it.
    # Of one that is there already nothing is changed, and its event is returned.

    def grade(
        self, name: str, topic: str, document: str, grade: int, note: str, key: str | None = None
    ) -> Event | None:
        done = self._done("grade", name, key, topic, document)
        if done is None:
            self._check_in_hand(name, topic, document)
            self.session.grade(topic, document, grade, name, note, key)
            self._version += 1
        return done

    def skip(self, name: str, topic: str, document: str, note: str, key: str | None = None) -> Event | None:
        done = self._done("skip", name, key, topic, document)
        if done is None:
            self._check_in_hand(name, topic, document)
            self.session.skip(topic, document, name, note, key)
            self._version += 1
        return done

    def undo(self, name: str, key: str | None = None) -> Event | None:
        """Take the last answer back; its document comes again, unless somebody else has it now."""
        done = self._done("undo", name, key)
        if done is not None:
            return done
        self._come(name)
        task = self.session.undo(name, key)
        if task is None:
            raise Refused(f"there is no answer of {name} to take back")
        self._version += 1
        if task.id not in self._held_by_others(name) and self._may_grade(task.id, name):
            self._lend(name, task.id)
        return None

    def revise(
        self, name: str, topic: str, document: str, grade: int, note: str, key: str | None = None
    ) -> Event | None:
        """Another grade for a document that this assessor judged before; what is in hand stays there."""
        done = self._done("revision", name, key, topic, document)
        if done is None:
            self._come(name)
            self.session.revise(topic, document, grade, name, note, key)
            self._version += 1
        return done

    def settle(self, name: str, topic: str, document: str, grade: int, key: str | None = None) -> Event | None:
        done = self._done("final", name, key, topic, document)
        if done is None:
            self.session.settle(topic, document, grade, name, key=key)
            self._version += 1
        return done

    def _done(
        self, kind: str, name: str, key: str | None, topic: str | None = None, document: str | None = None
    ) -> Event | None:
        event = None if key is None else self.session.state.events_by_key.get(key)
        if event is None:
            return None
        is_other = topic not in (None, event.topic) or document not in (None, event.document)
        if event.assessor != name or _kind(event) != kind or is_other:
            raise Refused("this key was already used for another answer; nothing was saved")
        if kind != "undo" and not self.session.state.stands(event):
            raise Refused(
                "the answer with this key was changed or taken back in the meantime; nothing was saved, and a new "
                "answer needs a new key"
            )
        self._come(name)
        return event

    def _check_in_hand(self, name: str, topic: str, document: str) -> None:
        """Refuse an answer about a document that is not in this assessor's hands."""
        self._come(name)
        self.session.documents.find(topic, document)
        about = f"topic {topic}, document {document}"
        if (topic, document) in self._held_by_others(name):
            raise Refused(f"{about} is with somebody else now; your answer was not saved")
        if self._own_document(name) != (topic, document):
            raise Refused(f"{about} is no longer assigned to you; your answer was not saved")
        if not self._may_grade((topic, document), name):  # because time was up
            raise Refused(f"somebody else has judged {about} in the meantime; your answer was not saved")

    # -- where it stands (work)

    def state(self) -> str:
        """Everything about the session, as JSON, for whoever organises it; those who ask at once get the same."""
        self._check_failure()
        as_of = (self._version, self.view, int(self._clock()))
        if self._stated[0] != as_of:
            now = overview(self.session, self.view, self._ahead.trace) | {
                "version": self._version,
                "budget": self.budget,
                "ended": self.why_ended(),
                "assessors": self._people(),
            }
            self._stated = (as_of, json.dumps(now, separators=(",", ":")))
        return self._stated[1]

    def _people(self) -> list[dict[str, Any]]:
        if self._summarised[0] != self._version:
            self._summarised = (self._version, summaries(self.session.state))
        work, now = self._summarised[1], self._clock()
        topics = {name: topic for name, (topic, _) in self.session.state.held(now).items()}
        return [
            person(
                name,
                work,
                topic=topics.get(name),
                is_here=self._is_here(name),
                seen=now - self._seen[name] if name in self._seen else None,
            )
            for name in sorted({*work, *self._seen, *self.names})
        ]

    def own_state(self, name: str | None) -> dict[str, Any]:
        """What an assessor may know: how far their own work is, and nothing about runs or other people's grades."""
        self._check_failure()
        state = self.session.state
        own = OwnWork(state.settings) if name is None else state.work_of(name)
        return {
            "version": self._version,
            "judged": own.judged,
            "relevant": own.relevant,
            "skipped": own.skipped,
            "all_judged": state.n_judged,
            "budget": self.budget,
            "ended": self._why_no_more(),
        }

    def _check_failure(self) -> None:
        if self._ahead.failure is not None:
            raise self._ahead.failure

    def why_ended(self) -> str | None:
        """Why no new document is handed out, None while there are some."""
        if self.view.version < 0:
            return None
        is_more = bool(self.view.queue) or bool(self.session.state.held(self._clock()))
        return self.session.why_ended(self.view.settled, self.budget, is_more)

    def _why_no_more(self) -> str | None:
        """The same for assessors."""
        why = self.why_ended()
        return "All that is needed has been judged." if why is not None and self.view.settled else why


def _kind(event: Event) -> str:
    """As requests tell them apart."""
    return "revision" if event.kind == "grade" and event.supersedes is not None else event.kind


def name_of(text: Any) -> str:
    """An assessor's name as it is written down."""
    name = tidy(text) if isinstance(text, str) else ""
    if not 0 < len(name) <= LONGEST_NAME:
        raise FathomsError(f"expected a name of 1 to {LONGEST_NAME} characters, found {text!r:.80}")
    return name
