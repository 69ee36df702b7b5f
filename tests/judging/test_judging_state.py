"""What stands in a session follows from its events alone: however they are folded, live, one by one or all at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.evidence.candidates import candidates
from fathoms.judging.events import Event, JudgingSettings
from fathoms.judging.log import Log
from fathoms.judging.next_document import offers
from fathoms.judging.session import Session
from fathoms.judging.state import Change, HandedOut, JudgingState, Lent, TakenBack, apply_event, fold
from fathoms.judging.web.look_ahead import LookAhead, Order, ViewChoices

DOCUMENTS = [(topic, f"{topic}-{i}") for topic in "123" for i in range(3)]
RUNS = {
    name: {topic: {f"{topic}-{i}": float(i * step % 7) for i in range(3)} for topic in "123"}
    for name, step in (("up", 1), ("down", -1), ("odd", 5))
}
FOUND = candidates(fm.read_runs(RUNS), 10, "trec", "float32")
PEOPLE = ("ann", "bob", "cleo")
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["grade", "grade", "grade", "grade", "skip", "undo", "settle", "revise", "revise", "lend", "out", "back"]
        ),
        st.sampled_from(DOCUMENTS),
        st.integers(0, 2),
        st.sampled_from(PEOPLE),
    ),
    max_size=40,
)
SETTINGS = st.sampled_from(
    [
        {},
        {"judge_twice": 1.0},
        {"judge_twice": 0.5, "stay": 3},
        {"stay": 2},
        {"kappa_error": 0.3},
        {"kappa_error": 0.3, "count_disagreement": True, "stay": 3},
    ]
)


def settings_with(how: dict[str, Any]) -> JudgingSettings:
    return JudgingSettings(until=0.999999999, max_grade=2, **how)


@contextmanager
def new_session(how: dict[str, Any]) -> Iterator[Session]:
    with TemporaryDirectory(prefix="fathoms.") as folder:
        session = Session.begin(Path(folder, "s.db"), settings_with(how), FOUND, None, first=[4, 2])
        yield session
        session.close()


def act(session: Session, actions: list[tuple[str, tuple[str, str], int, str]]) -> Iterator[None]:
    """Do what can be done of this; a step for each action."""
    for moment, (kind, document, grade, who) in enumerate(actions):
        number = session.documents.find(*document)
        with suppress(FathomsError):
            match kind:
                case "grade":
                    session.grade(*document, grade, who, key=f"key-of-answer-{moment:04}")
                case "skip":
                    session.skip(*document, who)
                case "undo":
                    session.undo(who)
                case "settle":
                    session.settle(*document, grade, who)
                case "revise":
                    session.revise(*document, grade, who)
                case "lend":
                    session.apply(Lent(who, document, float(moment)))
                case "out":
                    session.hand_out([session.documents.task(number)])
                case "back":
                    session.take_back()
        yield


def facts(state: JudgingState) -> tuple[Any, ...]:
    """All that follows from a state, as values of their own."""
    return (
        dict(state.records),
        dict(state.events_by_key),
        dict(state.handed_out),
        dict(state.leases),
        list(state.standing),
        state.grades,
        state.skips,
        list(state.out),
        list(state.withheld),
        state.judged_twice,
        state.disagreements,
        state.two_grades,
        state.awaiting_second,
        [(state.work_of(name), state.waiting(name), state.last_of(name)) for name in PEOPLE],
        [state.revised(event) for event in state.standing],
    )


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(actions=ACTIONS, how=SETTINGS)
def test_folding_prefix_by_prefix_is_replaying_the_whole(
    actions: list[tuple[str, tuple[str, str], int, str]], how: dict[str, Any]
) -> None:
    changes: list[Change] = []
    states: list[tuple[JudgingState, tuple[Any, ...]]] = []
    with new_session(how) as session:
        apply = session.apply

        def noted(change: Change) -> None:
            apply(change)
            changes.append(change)
            states.append((session.state, facts(session.state)))

        session.apply = noted  # type: ignore[method-assign, assignment]
        for _ in act(session, actions):
            assert len(session.log.events()) == sum(isinstance(change, Event) for change in changes)
    one_by_one = JudgingState(session.settings)
    for n, (live, as_it_was) in enumerate(states, 1):
        one_by_one = apply_event(one_by_one, changes[n - 1])
        assert one_by_one == live == fold(session.settings, changes[:n])
        assert facts(live) == as_it_was == facts(fold(session.settings, changes[:n]))  # later events changed nothing


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(actions=ACTIONS, how=SETTINGS)
def test_a_session_that_is_opened_again_stands_where_it_stood(
    actions: list[tuple[str, tuple[str, str], int, str]], how: dict[str, Any]
) -> None:
    with new_session(how) as session:
        for _ in act(session, actions):
            pass
        live = session.state
        following = [session.next(name) for name in PEOPLE]
        confidence = session.engine.confidence().tolist()
        session.close()
        log = Log.open(session.log.path)
        again = Session.resume(log, log.settings(), FOUND, None)
        assert again.state == replace(live, leases={})  # which are kept beside the log
        assert facts(again.state) == facts(replace(live, leases={}))
        assert [again.next(name) for name in PEOPLE] == following
        assert again.engine.confidence().tolist() == confidence
        assert again.documents.judgments(again.state) == session.documents.judgments(live)
        again.close()


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(actions=ACTIONS, how=SETTINGS)
def test_alone_one_gets_what_one_gets_among_others(
    actions: list[tuple[str, tuple[str, str], int, str]], how: dict[str, Any]
) -> None:
    """What the engine chooses at this moment, and what it chose in advance for all topics on which somebody is."""
    with new_session(how) as session:
        documents = session.documents
        for step, _ in enumerate(act(session, actions)):
            if step % 5:
                continue
            for name in PEOPLE:
                own = session.state.work_of(name).stays_on
                topics = [] if own is None else [documents.candidates.topics.index(own)]
                ahead = LookAhead(session)
                ahead._look(Order(step, session.log.last[0], session.state, [], 1, topics))
                choices = ViewChoices(ahead.view, documents.candidates.topic)
                among_others = next(offers(documents, session.state, name, choices), None)
                alone = session.next(name)
                assert (None if alone is None else alone.candidate) == among_others


def test_an_answer_ends_the_lease_of_its_document() -> None:
    def lent(*events: Change) -> dict[str, tuple[str, str]]:
        return fold(settings_with({}), [Lent("ann", ("1", "1-0"), 9.0), *events]).held(5.0)

    def answer(kind: Any, document: str, assessor: str, supersedes: int | None = None) -> Event:
        grade = None if kind in ("skip", "undo") else 1
        return Event(7, kind, "1", document, grade, supersedes, assessor, "2026-01-01T00:00:00+00:00", "")

    still = {"ann": ("1", "1-0")}
    assert lent() == lent(answer("grade", "1-1", "ann")) == lent(answer("grade", "1-0", "bob")) == still
    assert lent(answer("final", "1-0", "ann")) == lent(answer("undo", "1-0", "ann", 3)) == still
    assert lent(answer("grade", "1-0", "ann")) == lent(answer("skip", "1-0", "ann")) == {}
    assert fold(settings_with({}), [Lent("ann", ("1", "1-0"), 9.0)]).held(9.0) == {}


def test_batches_go_out_and_come_back() -> None:
    out = HandedOut("2026-01-01T00:00:00+00:00", (("1", "1-0"), ("2", "2-1")))
    answered = Event(1, "grade", "1", "1-0", 1, None, "ann", "2026-01-01T00:00:00+00:00", "")
    state = fold(settings_with({}), [out, answered])
    assert list(state.out) == [("2", "2-1")]
    assert not state.is_untouched(("2", "2-1"))
    back = apply_event(state, TakenBack())
    assert back.out == {}
    assert back.is_untouched(("2", "2-1"))
    assert list(state.out) == [("2", "2-1")]  # as it was
