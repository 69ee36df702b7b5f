"""The file of a judging session: damage of every kind is found, moved files are noticed, older formats are taken over,
and salvage gives back every answer that is whole."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import fathoms as fm
from fathoms.base.errors import InputError
from fathoms.judging import session as session_module
from fathoms.judging.events import Event
from fathoms.judging.export import export, provenance
from fathoms.judging.log import KeptLease, Log, Point, check_new
from fathoms.judging.salvage import salvage
from fathoms.judging.session import Session
from fathoms.judging.session_file import Damaged, LogError
from tests.judging.test_judge import Arithmetic, begin, resume, small
from tests.support import power_cuts
from tests.support.commands import Command

OLD = Path(__file__).parent / "old_sessions"
BEFORE = {"1": {"b": 0}}  # the judgments that the old sessions were begun with


@pytest.fixture(autouse=True)
def _plain_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "Engine", Arithmetic)


def judged(path: Path, n: int = 40) -> list[Event]:
    """A session with n events that take several pages, and what they are."""
    session = begin(path, max_grade=2)
    answers = [("1", name) for name in "abcd"] + [("2", name) for name in "xyz"]
    for i in range(n):
        topic, document = answers[i // 2 % len(answers)]
        if i % 2:
            session.undo("ann")
        else:
            session.grade(topic, document, i % 3, "ann", f"note {i} " + "x" * (i * 17 % 300), key=f"key-{i}")
    events = session.log.events()
    session.close()
    return events


def damaged(path: Path, script: str) -> None:
    """Changed by hand, past the triggers that stand in the way."""
    connection = sqlite3.connect(path)
    connection.executescript(f"DROP TRIGGER event_is_never_changed; DROP TRIGGER event_is_never_removed; {script}")
    connection.close()


# -- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("UPDATE event SET grade = 1 WHERE number = 7", "event 7 has been altered"),
        ("UPDATE event SET note = note || ' ' WHERE number = 7", "event 7 has been altered"),
        ("UPDATE event SET time = replace(time, '20', '21') WHERE number = 9", "event 9 has been altered"),
        ("UPDATE event SET key = NULL WHERE number = 7", "event 7 has been altered"),
        ("UPDATE event SET grade = CAST('a' AS BLOB) WHERE number = 7", "event 7 has been altered"),
        ("DELETE FROM event WHERE number = 7", "something is missing before event 8"),
        ("DELETE FROM event WHERE number = 1", "something is missing before event 2"),
        ("DELETE FROM event WHERE number > 30", "the last events are missing; the log went on to number 40"),
        ("DELETE FROM event", "the last events are missing"),
        ("DELETE FROM head", "it does not say where the log ends"),
        ("DROP TABLE head", "it cannot be read"),
        ("UPDATE meta SET value = '2' WHERE name = 'seed'", "the settings are not as they were written"),
        ("DELETE FROM meta WHERE name = 'seed'", "the settings are not as they were written"),
        ("DELETE FROM meta WHERE name = 'format'", "it does not say which format it has"),
        ("INSERT INTO meta VALUES ('double', '0.5') ON CONFLICT (name) DO UPDATE SET value = '0.5'", "settings"),
        ("CREATE VIEW more AS SELECT 1", "it has tables, views or triggers that fathoms does not make"),
        (
            "CREATE TRIGGER vanish BEFORE INSERT ON event BEGIN SELECT RAISE(IGNORE); END",
            "it has tables, views or triggers that fathoms does not make",
        ),
        (
            "INSERT INTO event SELECT 41, kind, topic, document, grade, undone, assessor, time, note, NULL, hash, hash "
            "FROM event WHERE number = 40",
            "event 41 has been altered",
        ),
    ],
)
def test_what_was_changed_by_hand_is_found(script: str, found: str, tmp_path: Path) -> None:
    judged(tmp_path / "s.db")
    damaged(tmp_path / "s.db", script)
    with pytest.raises(Damaged, match=f"is damaged: .*{found}.*fathoms judge --salvage"):
        Log.open(tmp_path / "s.db")


def test_an_event_of_another_session_does_not_fit(tmp_path: Path) -> None:
    """The first answer of a session, in the place of another's."""
    for name in ("a.db", "b.db"):
        session = begin(tmp_path / name, max_grade=2)
        session.grade("1", "a", 1 if name == "a.db" else 2, "ann")
        session.close()
    damaged(
        tmp_path / "a.db",
        f"ATTACH '{tmp_path / 'b.db'}' AS b; DELETE FROM event; INSERT INTO event SELECT * FROM b.event; "
        "UPDATE head SET (number, hash) = (SELECT number, hash FROM b.head)",
    )
    with pytest.raises(Damaged, match="event 1 has been altered"):
        Log.open(tmp_path / "a.db")


def test_rows_beside_the_log_are_left_out_where_they_are_damaged(tmp_path: Path) -> None:
    session = begin(tmp_path / "s.db")
    session.log.mark([Point(1, 1, 0, 0.5), Point(2, 2, 0, 0.75)])
    kept = [KeptLease("ann", "1", "a", 1.5e9), KeptLease("J\udcffrg", "2", "x", 1.6e9)]
    session.log.keep_leases(kept)
    assert session.log.leases() == kept[::-1]  # by name
    session.close()
    damaged(tmp_path / "s.db", "UPDATE trace SET least = 0.9 WHERE event = 1; UPDATE lease SET topic = '2'")
    log = Log.open(tmp_path / "s.db")
    assert log.marks() == [Point(2, 2, 0, 0.75)]
    assert log.leases() == kept[1:]  # the other one had this topic before
    log.keep_leases([])
    assert log.leases() == []
    log.close()


def test_bytes_that_change_are_found_or_change_nothing(tmp_path: Path) -> None:
    """What `python -m tests.fuzz --only session` does at length."""
    events = judged(tmp_path / "s.db")
    raw = (tmp_path / "s.db").read_bytes()
    rng = random.Random(1)
    outcomes = {"refused": 0, "the same": 0}
    for _ in range(60):
        changed = bytearray(raw)
        for _ in range(rng.choice([1, 2, 8])):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        path = tmp_path / "changed.db"
        path.write_bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.2 else changed)
        try:
            log = Log.open(path)
        except InputError:
            outcomes["refused"] += 1
        else:
            assert log.events() == events
            assert log.settings().max_grade == 2
            log.close()
            outcomes["the same"] += 1
        path.unlink()
        Path(f"{path}-journal").unlink(missing_ok=True)
    assert min(outcomes.values()) > 5


def test_a_new_hash_does_not_cover_damage(tmp_path: Path) -> None:
    """Settings that were changed by hand while the session is open are not sealed by the next change."""
    session = begin(tmp_path / "s.db")
    session.log._connection.execute("UPDATE meta SET value = '7' WHERE name = 'seed'")
    with pytest.raises(Damaged, match="settings"):
        session.log.change("guidelines", "x")


def test_a_database_of_others_is_left_as_it_is(tmp_path: Path) -> None:
    """SQLite would switch its write-ahead log off."""
    path = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        check_new(path)
    with pytest.raises(InputError, match="is a database of another program"):
        Log.open(path)
    assert path.read_bytes() == before


def test_a_copy_that_others_can_read_is_private_again(tmp_path: Path) -> None:
    judged(tmp_path / "s.db")
    (tmp_path / "s.db").chmod(0o644)
    log = Log.open(tmp_path / "s.db")
    assert log.notes == [
        f"{tmp_path / 's.db'} could be read by others, and now only by you: it holds who judged what, and tokens"
    ]
    assert (tmp_path / "s.db").stat().st_mode & 0o777 == 0o600
    log.close()
    assert Log.open(tmp_path / "s.db").notes == []


def test_a_session_behind_a_link_is_private_too(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "target.db")
    begin(tmp_path / "link.db").close()
    assert (tmp_path / "target.db").stat().st_mode & 0o777 == 0o600


# -- files that move ----------------------------------------------------------------------------------------------


def _replace(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("happens", "back", "message"),
    [
        (lambda path: path.rename(path.with_name("moved.db")), True, "no longer exists: the session file was moved"),
        (lambda path: path.unlink(), False, "no longer exists"),
        (_replace, False, "has been replaced"),
        (lambda path: path.chmod(0o400), True, "is read-only now"),
        (lambda path: path.parent.rename(path.parent.with_name("other")), True, "no longer exists"),
    ],
)
def test_no_answer_is_acknowledged_that_nobody_would_find(
    happens: Callable[[Path], None], back: bool, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "s.db"
    path.parent.mkdir()
    session = begin(path)
    session.grade("1", "a", 1, "ann")
    happens(path)
    for _ in range(2):
        with pytest.raises(LogError, match=f"{message}.*nothing more is saved"):
            session.grade("1", "b", 1, "ann")
    assert [event.document for event in session.state.grades] == ["a"]
    if back:  # and then it goes on
        if (tmp_path / "other").exists():
            (tmp_path / "other").rename(path.parent)
        elif not path.exists():
            path.with_name("moved.db").rename(path)
        path.chmod(0o600)
        session.grade("1", "b", 1, "ann")
        session.close()
        assert [event.document for event in resume(path).state.grades] == ["a", "b"]


def test_a_failed_answer_leaves_the_chain_as_it_was(tmp_path: Path) -> None:
    session = begin(tmp_path / "s.db")

    def grade() -> None:
        with session.log.together():
            session.grade("1", "a", 1, "ann")
            os.chmod(tmp_path / "s.db", 0o400)

    with pytest.raises(LogError, match="read-only"):
        grade()
    os.chmod(tmp_path / "s.db", 0o600)
    session.reload()
    assert session.log.last[0] == 0
    session.grade("1", "a", 0, "ann")
    assert session.log.events() == session.state.grades


# -- power cuts ---------------------------------------------------------------------------------------------------

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")


@pytest.mark.long
@needs_strace
def test_nothing_acknowledged_is_lost_when_the_power_goes() -> None:
    done = power_cuts.run(int(os.environ.get("FATHOMS_POWER_CUTS", "100")), seed=1)
    assert done.before < done.cuts / 2


@pytest.mark.long
@needs_strace
def test_without_syncs_something_would_be_lost() -> None:
    """The simulated disk loses what a real one would."""
    with pytest.raises((AssertionError, InputError)):
        power_cuts.run(200, seed=1, without="sync")


# -- sessions of before -------------------------------------------------------------------------------------------


def old_session(path: Path, name: str) -> None:
    path.touch(0o600)
    connection = sqlite3.connect(path)
    connection.executescript((OLD / f"{name}.sql").read_text())
    connection.close()


@pytest.mark.parametrize("name", ["format1", "format2"])
def test_a_session_of_an_older_format_is_taken_over(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    old_session(path, name)
    before = sqlite3.connect(path)
    before.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    rows = before.execute("SELECT * FROM event ORDER BY number").fetchall()
    before.close()
    session = resume_old(path)
    assert [(*row, None) for row in rows] == [
        (e.number, e.kind, e.topic, e.document, e.grade, e.supersedes, e.assessor, e.time, e.note, e.key)
        for e in session.log.events()
    ]
    assert session.log.notes == [
        f"{path} had format {name[-1]} and has 3 now, which fathoms 0.2.0 and older cannot read"
    ]
    a, d = (1, 2) if name == "format1" else (2, 0)
    grades = {(event.topic, event.document): event.grade for event in session.state.grades}
    assert grades == {("1", "a"): a, ("2", "x"): 1, ("1", "d"): d}
    assert [event.document for event in session.state.skips] == ["c"]
    assert session.log.marks() == [Point(3, 2, 0, 0.7)]
    assert session.log.meta()["organiser"] == "an-organisers-token-of-long-ago"
    assert (session.settings.until, session.settings.judge_twice) == (0.9, 1.0)
    session.grade("2", "z", 2, "ann")
    session.close()
    again = resume_old(path)  # now without a note, and with all the checks of the new format
    assert again.log.notes == []
    assert len(again.log.events()) == len(rows) + 1
    again.close()
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="only grows"):
        connection.execute("UPDATE event SET grade = 0")


def resume_old(path: Path) -> Session:
    log = Log.open(path)
    return Session.resume(log, log.settings(), small(), fm.read_qrels(BEFORE))


@pytest.mark.parametrize(
    "script",
    [
        "UPDATE event SET kind = 'skip' WHERE number = 1",
        "UPDATE event SET undone = 99 WHERE number = 10",
        "UPDATE event SET topic = CAST('1' AS BLOB) WHERE number = 1",
        "UPDATE meta SET value = '\"x' WHERE name = 'until'",
        "UPDATE meta SET value = '\"x\"' WHERE name = 'until'",
        "UPDATE meta SET value = '7.5' WHERE name = 'until'",
        "UPDATE meta SET name = 'system' WHERE name = 'systems'",
    ],
)
def test_an_old_session_that_makes_no_sense_stays_as_it_is(script: str, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    old_session(path, "format2")
    damaged(path, script)
    before = path.read_bytes()
    with pytest.raises(Damaged, match="salvage"):
        Log.open(path)
    assert path.read_bytes() == before


# -- salvage ------------------------------------------------------------------------------------------------------


def pages_with_events(raw: bytes | bytearray, size: int = 4096) -> list[int]:
    """Numbers of the pages of the table that hold whole events."""
    starts = range(0, len(raw), size)
    return [i for i, start in enumerate(starts) if raw[start] == 13 and b"note " in raw[start : start + size]]


def test_nothing_is_lost_of_a_good_session(tmp_path: Path) -> None:
    events = judged(tmp_path / "s.db")
    found = salvage(tmp_path / "s.db")
    assert found.events == events
    assert found.sentences == ["Recovered 40 events; all hashes are correct.", "Lost: nothing."]
    found.write_session(tmp_path / "new.db")
    again = resume(tmp_path / "new.db")
    assert again.log.events() == events
    assert again.log.meta()["lost"] == []


@pytest.mark.parametrize("name", ["format1", "format2"])
def test_an_old_session_can_be_salvaged(name: str, tmp_path: Path) -> None:
    old_session(tmp_path / "s.db", name)
    expected = resume_old_copy(tmp_path, name)
    found = salvage(tmp_path / "s.db")
    assert found.events == expected
    assert (found.is_proven, found.is_meta_proven, found.is_end_known) == (False, False, True)
    assert "there are no hashes to prove them" in found.sentences[0]


def resume_old_copy(tmp_path: Path, name: str) -> list[Event]:
    old_session(tmp_path / "copy.db", name)
    session = resume_old(tmp_path / "copy.db")
    session.close()
    return session.state.standing and Log.open(tmp_path / "copy.db").events()


def test_one_page_that_is_lost_takes_its_own_events_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    events = judged(path, 60)
    raw = path.read_bytes()
    lost_page = pages_with_events(raw)[1]
    path.write_bytes(raw[: lost_page * 4096] + b"\0" * 4096 + raw[(lost_page + 1) * 4096 :])
    with pytest.raises(Damaged):
        Log.open(path)
    found = salvage(path)
    assert 0 < len(found.lost) < 40
    assert sorted([*(event.number for event in found.events), *found.lost])[-1] == 60
    by_number = {event.number: event for event in events}
    assert all(event == by_number[event.number] for event in found.events if event.supersedes is None)
    first, last = found.lost[0], found.lost[-1]
    assert found.lost == list(range(first, last + 1))
    assert found.sentences[1] == f"Lost: {len(found.lost)} events, numbers {first} to {last}."


def test_page_headers_that_are_lost_take_nothing(tmp_path: Path) -> None:
    """SQLite can read nothing of such pages; the answers in them are all there."""
    path = tmp_path / "s.db"
    events = judged(path, 60)
    raw = bytearray(path.read_bytes())
    for page in pages_with_events(raw):
        raw[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    path.write_bytes(raw)
    assert salvage(path).events == events


def test_without_its_first_page_a_session_still_has_its_answers(tmp_path: Path, fathoms: Command) -> None:
    path = tmp_path / "s.db"
    session = begin(path, max_grade=2, judge_twice=1.0)
    session.grade("1", "a", 1, "ann", "a\tnote " + "é" * 3000)  # on several pages
    session.grade("1", "a", 2, "bob")
    session.settle("1", "a", 0, "eve")
    session.skip("2", "x", "ann", "why not")
    session.revise("1", "a", 2, "ann", "")
    export(session, tmp_path / "whole.txt")
    rows, events = provenance(session), session.log.events()
    session.close()
    path.write_bytes(b"\0" * 4096 + path.read_bytes()[4096:])
    assert salvage(path).events == events
    done = fathoms("judge", "--salvage", str(path))
    assert done.status == 1
    assert "The settings cannot be read: begin another session with the judgments as its QRELS." in done.out
    assert (tmp_path / "s.db.salvaged.txt").read_text() == (tmp_path / "whole.txt").read_text() == "1 0 a 0\n"
    table = (tmp_path / "s.db.salvaged.txt.provenance.tsv").read_text()
    assert table == (tmp_path / "whole.txt.provenance.tsv").read_text()
    assert len(rows) == 4


def test_events_that_refer_to_lost_ones_stand_alone_or_go(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = begin(path, max_grade=2)
    session.grade("1", "a", 1, "ann", "lost")
    session.grade("1", "b", 1, "ann", "lost too")
    session.revise("1", "a", 2, "ann", "stays")
    session.undo("ann")  # the revision
    session.revise("1", "b", 0, "ann", "stays")
    session.close()
    raw = path.read_bytes()
    for words in (b"lost", b"lost too"):
        raw = raw.replace(words, words.upper())
    path.write_bytes(raw)
    found = salvage(path)
    assert found.lost == [1, 2]
    assert [(e.number, e.kind, e.supersedes) for e in found.events] == [
        (3, "grade", None),
        (4, "undo", 3),
        (5, "grade", None),
    ]
    found.write_session(tmp_path / "new.db")
    again = resume(tmp_path / "new.db")
    assert [(event.document, event.grade) for event in again.state.grades] == [("b", 0)]
    assert again.log.meta()["lost"] == [[1, 2]]


def test_events_of_another_session_are_not_taken_for_lost_ones(tmp_path: Path) -> None:
    """Left on the disk, or copied there: they are as they were written, but not here."""
    for name, grade in (("s.db", 2), ("other.db", 1)):
        session = begin(tmp_path / name, max_grade=2)
        for document in "abcd":
            session.grade("1", document, grade, "ann", f"note of {document}")
        session.close()
    path = tmp_path / "s.db"
    events = salvage(path).events
    raw = path.read_bytes().replace(b"note of b", b"NOTE OF B") + (tmp_path / "other.db").read_bytes()
    path.write_bytes(raw)
    found = salvage(path)
    assert (found.events, found.lost) == ([events[0], *events[2:]], [2])
    path.write_bytes(b"\0" * 4096 + raw[4096:])  # nor where the settings cannot be read
    assert [event.grade for event in salvage(path).events] in ([2, 2, 2], [1, 1, 1, 1])


def test_a_number_that_cannot_be_is_not_believed(tmp_path: Path) -> None:
    judged(tmp_path / "s.db")
    damaged(tmp_path / "s.db", "UPDATE head SET number = 9999999")
    found = salvage(tmp_path / "s.db")
    assert (len(found.events), found.lost, found.is_end_known) == (40, [], False)


def test_a_chain_of_pages_that_leads_back_to_itself_ends(tmp_path: Path) -> None:
    session = begin(tmp_path / "s.db")
    session.grade("1", "a", 1, "ann", "x" * 20_000)
    session.close()
    raw = bytearray((tmp_path / "s.db").read_bytes())
    first = raw.index(b"x" * 4092) - 4  # the first page that holds nothing else
    raw[first : first + 4] = (first // 4096 + 1).to_bytes(4)
    (tmp_path / "s.db").write_bytes(raw)
    assert salvage(tmp_path / "s.db").lost == [1]


def test_a_view_without_end_is_not_asked(tmp_path: Path) -> None:
    judged(tmp_path / "s.db")
    endless = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'a' || i AS name, 'x' AS value FROM n"
    )
    damaged(tmp_path / "s.db", f"ALTER TABLE meta RENAME TO other; CREATE VIEW meta AS {endless}")
    with pytest.raises(Damaged, match="tables, views or triggers"):
        Log.open(tmp_path / "s.db")
    assert len(salvage(tmp_path / "s.db").events) == 40


def test_a_session_that_cannot_be_written_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(tmp_path / "s.db")
    found = salvage(tmp_path / "s.db")
    monkeypatch.setattr(Log, "take_over", lambda self, events: self.check_place() or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        found.write_session(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_settings_that_were_changed_are_named(tmp_path: Path) -> None:
    judged(tmp_path / "s.db")
    damaged(tmp_path / "s.db", "UPDATE meta SET value = '3' WHERE name = 'seed'")
    found = salvage(tmp_path / "s.db")
    assert found.meta is not None
    assert not found.is_meta_proven
    assert "The settings may have been altered" in found.sentences[-1]


def test_what_was_never_committed_is_not_taken(tmp_path: Path) -> None:
    """A process that died in the middle of a transaction leaves its pages, and the journal that takes them back."""
    session = begin(tmp_path / "s.db")
    session.grade("1", "a", 1, "ann")
    session.log._connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
    session.log._connection.execute("BEGIN")
    session.grade("1", "b", 1, "ann", "x" * 100_000)
    for ending in ("", "-journal"):
        (tmp_path / f"copy.db{ending}").write_bytes((tmp_path / f"s.db{ending}").read_bytes())
    assert b"xxxxx" in (tmp_path / "copy.db").read_bytes()
    assert [event.document for event in salvage(tmp_path / "copy.db").events] == ["a"]


def test_the_command_says_what_it_found_and_where_it_is(tmp_path: Path, fathoms: Command) -> None:
    judged(tmp_path / "s.db")
    done = fathoms("judge", "--salvage", str(tmp_path / "s.db"))
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        "Recovered 40 events; all hashes are correct.",
        "Lost: nothing.",
        f"To continue, use the same QRELS, runs and flags with --resume --session {tmp_path / 's.db.salvaged.db'}",
    ]
    again = fathoms("judge", "--salvage", str(tmp_path / "s.db"))
    assert (again.status, "exists already" in again.err) == (2, True)
    for words, message in (
        (["--salvage", str(tmp_path / "none.db")], "expected the file of a session"),
        (["--salvage", "."], "expected the file of a session"),
        (
            ["--salvage", str(OLD / "format1.sql")],
            "is not a `fathoms judge` session, or nothing in it can be recovered",
        ),
        (["none", "a.run", "b.run", "--salvage", str(tmp_path / "s.db")], "leave out QRELS, RUN"),
        (["--salvage", str(tmp_path / "s.db"), "--session", str(tmp_path / "s.db")], "exists already"),
    ):
        done = fathoms("judge", *words)
        assert (done.status, done.out) == (2, "")
        assert message in done.err
