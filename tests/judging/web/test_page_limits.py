"""What strangers cannot use up: guesses of tokens, connections, lines on the terminal, and hostile texts.

Connections are tried over real sockets on this machine, with deadlines of a fraction of a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import logging
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fathoms.base.errors import FathomsError
from fathoms.data import texts as module
from fathoms.data.texts import Entry, Texts, open_texts
from fathoms.judging.texts import passages
from fathoms.judging.web import readers
from fathoms.judging.web import server as web
from fathoms.judging.web.access import Address, check_token, new_token
from fathoms.judging.web.connections import GuardedProtocol
from fathoms.judging.web.limits import FIRST, WRONG_OF_ALL, WRONG_OF_ONE, ConnectionLimits, Talk, WrongTokens
from fathoms.judging.web.server import HEADERS, LONGEST_TEXT, MOST_PARAGRAPHS, Page, PageServer, bound
from fathoms.judging.web.service import JudgingService
from tests.judging.web.test_web import BASE, DOCUMENTS, TOKEN, Clock, Place, Site, Words, answer, enter, place

__all__ = ["place"]  # a fixture

# -- tokens -------------------------------------------------------------------------------------------------------


def test_weak_tokens_are_refused_and_not_repeated() -> None:
    for bad, why in (
        ("short-one-with15", None),  # 16 are enough
        ("short-one-wit15", "expected a token of 16 to 200 characters, found 15"),
        ("x" * 201, "expected a token of 16 to 200 characters, found 201"),
        ("token-with-ümlaut", "letters, digits and"),
        ("token with blanks", "letters, digits and"),
        ("new-line-at-the-end\n", "letters, digits and"),
        ("semi;colon;colon", "letters, digits and"),
        ("abcdefgabcdefgabcdefg", "8 different characters or more, found 7: it could be guessed"),
    ):
        if why is None:
            check_token(bad)
            continue
        for given in ({"token": bad}, {"organiser_token": bad}, {"people": {"ann": bad}}):
            with pytest.raises(FathomsError, match=why) as raised:
                Address(**given)
            assert bad.strip() not in str(raised.value)
    for _ in range(50):
        check_token(new_token())
    assert len(new_token()) == 32


def test_wrong_tokens_are_counted_by_address_and_in_all() -> None:
    clock = Clock()
    wrong = WrongTokens(lambda address: address == "127.0.0.1", clock)
    for _ in range(WRONG_OF_ONE):
        assert wrong.wait("a") == 0
        wrong.count("a")
    clock.now = 15
    assert (wrong.wait("a"), wrong.wait("b")) == (46, 0)
    clock.now = 60
    assert (wrong.wait("a"), wrong.wait("b")) == (0, 0)
    for i in range(WRONG_OF_ALL):
        assert wrong.wait("127.0.0.1") == wrong.wait(f"c{i}") == 0
        wrong.count("127.0.0.1" if i % 2 else f"c{i}")
    assert wrong.wait("127.0.0.1") == wrong.wait("d") == 61
    clock.now = 121
    assert wrong.wait("d") == 0


def test_too_many_wrong_tokens_keep_right_ones_out_and_cookies_in(place: Callable[..., Place]) -> None:
    site = Site(place())
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    for i in range(WRONG_OF_ONE):
        if i % 3 == 0:
            refused = enter(site.stranger, f"wrong-{i}")
        elif i % 3 == 1:
            refused = site.stranger.get("/", params={"token": f"wrong-{i}"})
        else:
            refused = site.stranger.get("/api/about", headers={"Authorization": f"Bearer wrong-{i}"})
        assert refused.status_code == 401
        assert f"wrong-{i}" not in refused.text
    for refused in (
        enter(site.stranger, TOKEN),
        site.stranger.get("/", params={"token": TOKEN}, follow_redirects=False),
        site.stranger.get("/api/about", headers=bearer),
    ):
        assert (refused.status_code, 50 < int(refused.headers["retry-after"]) <= 61) == (429, True)
        assert "too many wrong tokens; try again in" in refused.json()["error"]
        assert "set-cookie" not in refused.headers
    assert site.post("grade", **answer(site.next("ann"))).status_code == 200  # who is in stays in
    assert site.organiser.get("/api/organise").status_code == 200


# -- connections --------------------------------------------------------------------------------------------------

SLOW = ConnectionLimits(headers=5, body=5, idle=5, unread=5, in_all=6, of_one=4)  # one is made short, to be tried
GET = b"GET /none HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"


class Running:
    """A server in a thread."""

    def __init__(
        self, service: JudgingService, documents: Texts | None, public: str | None, limits: ConnectionLimits, **how: Any
    ) -> None:
        self.listener = bound(Address(port=0))
        self.port: int = self.listener.getsockname()[1]
        page = Page(service, None, documents, Address(port=self.port, token=TOKEN, public=public))
        begun = threading.Event()
        self.server = PageServer(page, begun.set, limits=limits, **how)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert begun.wait(10)

    def _run(self) -> None:
        asyncio.run(self.server._serve([self.listener]))

    def filled(self, sent: bytes) -> bytes:
        return sent.replace(b"PORT", str(self.port).encode())

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def post(self, path: str, body: dict[str, Any]) -> bytes:
        """A request of a program."""
        text = json.dumps(body)
        return (
            f"POST /api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
        ).encode()

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()


@pytest.fixture
def running(place: Callable[..., Place]) -> Iterator[Callable[..., Running]]:
    made: list[Running] = []

    def make(
        limits: ConnectionLimits = SLOW, documents: Texts | None = None, public: str | None = None, **how: Any
    ) -> Running:
        made.append(Running(place().service, documents, public, limits, **how))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side closes; too long a wait is an error."""
    heard = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            heard += part
    return heard


def test_small_answers_leave_at_once(running: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TCP_NODELAY, the second half of an answer waits 40 ms for the client's word on the first."""
    found: list[int] = []
    made = GuardedProtocol.connection_made

    def look(self: GuardedProtocol, transport: asyncio.Transport) -> None:
        found.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(GuardedProtocol, "connection_made", look)
    here = running()
    with here.connect() as one:
        one.sendall(here.filled(GET))
        assert one.recv(1000).startswith(b"HTTP/1.1 404 ")
    assert found == [1]


@pytest.mark.parametrize("sent", [b"", b"GET / HT", GET + b"GET / HTTP/1.1\r\nHo"])
def test_whoever_does_not_finish_the_headers_is_closed(running: Callable[..., Running], sent: bytes) -> None:
    here = running(replace(SLOW, headers=0.4))
    with here.connect() as one:
        one.sendall(here.filled(sent))
        heard = rest(one)
    assert heard.count(b"HTTP/1.1") == heard.count(b"HTTP/1.1 404 ") == int(GET in sent)


def test_headers_byte_by_byte_have_one_deadline(running: Callable[..., Running]) -> None:
    here = running(replace(SLOW, headers=0.4))
    with here.connect() as one, contextlib.suppress(ConnectionError):
        for byte in GET * 100:
            one.sendall(bytes([byte]))
            time.sleep(0.05)
        raise AssertionError("it was never closed")


@pytest.mark.parametrize("sent", [b"", b"x" * 20])
def test_a_body_that_does_not_come_is_408(running: Callable[..., Running], sent: bytes) -> None:
    here = running(replace(SLOW, body=0.4))
    head = (
        f"POST /api/next HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    )
    with here.connect() as one:
        one.sendall(head.encode() + sent)
        heard = rest(one).decode().lower()
    assert heard.startswith("http/1.1 408 ")
    assert heard.count("http/1.1") == 1
    assert "connection: close" in heard
    assert "x-frame-options: deny" in heard


def test_idle_connections_are_closed_and_busy_ones_are_not(running: Callable[..., Running]) -> None:
    here = running(replace(SLOW, idle=1.0))
    with here.connect() as one:
        for _ in range(4):
            one.sendall(here.filled(GET))
            heard = b""
            while not heard.endswith(b"Not Found"):
                part = one.recv(5000)
                assert part, "closed too early"
                heard += part
            time.sleep(0.3)  # four times, more than the limit in all
        assert rest(one) == b""


def test_large_headers_are_refused(running: Callable[..., Running]) -> None:
    here = running()
    for size, statuses in ((20_000, [404]), (100_000, [400, 431])):
        with here.connect() as one:
            one.sendall(here.filled(GET.replace(b"\r\n\r\n", b"\r\nX-Large: " + b"x" * size + b"\r\n\r\n")))
            assert int(one.recv(1000).split()[1]) in statuses


def test_an_upgrade_is_refused_without_advice(
    running: Callable[..., Running], capsys: pytest.CaptureFixture[str]
) -> None:
    here = running()
    wish = b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with here.server._talk.hearing("uvicorn.error"), here.connect() as one:
        one.sendall(here.filled(GET.replace(b"\r\n\r\n", wish)))
        assert one.recv(1000).startswith(b"HTTP/1.1 404 ")
    assert "uvicorn" not in capsys.readouterr().err


def test_whoever_does_not_read_is_closed(running: Callable[..., Running]) -> None:
    """A text too large for the buffers on the way, asked for and not read."""
    large = Words({name: Entry("", ("\N{GRINNING FACE}" * LONGEST_TEXT,)) for name in DOCUMENTS})  # 12 bytes each
    here = running(replace(SLOW, unread=0.5), documents=large)
    connections = here.server._connections
    with here.connect() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(here.post("next", {"name": "ann"}))
        assert wait_until(lambda: connections._open.total() == 1)
        assert wait_until(lambda: connections._open.total() == 0)


def wait_until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


@pytest.mark.parametrize("public", [None, "https://host.example/judge"])
def test_silent_connections_give_way(running: Callable[..., Running], public: str | None) -> None:
    """Those that never sent anything, and those between two requests; the oldest first."""
    here = running(ConnectionLimits(in_all=6, of_one=4), public=public)
    most = 4 if public is None else 6
    silent = [here.connect() for _ in range(most)]
    with contextlib.closing(silent[0]):
        assert wait_until(lambda: len(here.server._connections._silent) == most)
        begun = [here.connect() for _ in range(3)]
        for one in begun:
            one.sendall(here.filled(GET))
            assert one.recv(1000).startswith(b"HTTP/1.1 4")
        assert here.server._connections._open.total() == most
        for one in silent[:3]:
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1) == b""
    for one in (*silent, *begun):
        one.close()


IDLE_AND_ONE = """
import socket, sys, time
port = int(sys.argv[1])
idle = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(300)]
start = time.monotonic()
with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
    one.sendall(f"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n".encode())
    print(one.recv(12).decode(), time.monotonic() - start)
"""


def test_few_open_files_and_many_idle_connections_hold_nobody(tmp_path: Path) -> None:
    """The first request is answered at once, though more connections were opened than the server may have files."""
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "x.run").write_text("1 Q0 a 1 2 x\n1 Q0 c 2 1 x\n")
    (tmp_path / "y.run").write_text("1 Q0 b 1 2 y\n1 Q0 d 2 1 y\n")
    words = "judge qrels.txt x.run y.run -m P@2 --web --port 0 --session s.fathoms"
    command = ["bash", "-c", f'ulimit -n 256; exec "$0" -m fathoms {words}', sys.executable]
    server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        assert server.stderr is not None
        port = next(found[1] for line in server.stderr if (found := re.search(r"http://127.0.0.1:(\d+)/", line)))
        done = subprocess.run(
            [sys.executable, "-c", IDLE_AND_ONE, port], capture_output=True, encoding="utf-8", check=True, timeout=60
        )
    finally:
        server.kill()
        server.wait(10)
    version, status, seconds = done.stdout.split()
    assert (version, status) == ("HTTP/1.1", "401")
    assert float(seconds) < 5


def test_connections_are_limited_by_address_and_in_all(running: Callable[..., Running]) -> None:
    for public, most in ((None, 4), ("https://host.example/judge", 6)):  # behind a proxy all have one address
        here = running(ConnectionLimits(in_all=6, of_one=4), public=public)
        open_ones = [here.connect() for _ in range(most)]
        for begun in open_ones:
            begun.sendall(b"GET / HT")  # the silent would give way
        connections = here.server._connections
        assert wait_until(lambda: (connections._open.total(), len(connections._silent)) == (most, 0))  # noqa: B023
        with here.connect() as one:
            heard = rest(one)
            assert heard.startswith(b"HTTP/1.1 503 ") or heard == b""
        open_ones.pop().close()
        assert wait_until(lambda: here.server._connections._open.total() == most - 1)  # noqa: B023
        with here.connect() as one:
            one.sendall(here.filled(GET))
            assert one.recv(1000).startswith(b"HTTP/1.1 404 ")
        for one in open_ones:
            one.close()


def test_nonsense_is_400_with_our_headers_and_said_a_few_times(
    running: Callable[..., Running], capsys: pytest.CaptureFixture[str]
) -> None:
    here = running(ConnectionLimits())
    with here.server._talk.hearing("uvicorn.error"):
        for _ in range(FIRST + 7):
            with here.connect() as one:
                one.sendall(b"nonsense\r\n\r\n")
                heard = rest(one).decode().lower()
                assert heard.startswith("http/1.1 400 ")
                assert all(f"{name}: {value}".lower() in heard for name, value in HEADERS.items())
    said = capsys.readouterr().err
    assert said.count("fathoms: Invalid HTTP request received.\n") == FIRST
    assert "fathoms: 7 more of: Invalid HTTP request received.\n" in said


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_a_handshake_has_a_deadline(running: Callable[..., Running], tmp_path: Path) -> None:
    certificate(tmp_path)
    pair = {"certificate": str(tmp_path / "cert.pem"), "key": str(tmp_path / "key.pem")}
    with running(replace(SLOW, headers=0.4), **pair).connect() as one:
        assert rest(one) == b""
    here = running(replace(SLOW, idle=0.5), **pair)
    trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with trust.wrap_socket(here.connect(), server_hostname="localhost") as one:
        one.sendall(here.filled(GET))
        assert one.recv(1000).startswith(b"HTTP/1.1 404 ")
        assert rest(one).count(b"HTTP/1.1") == 0  # closed, for it is idle


def certificate(folder: Path) -> None:
    words = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run([*words.split(), *names], cwd=folder, check=True, capture_output=True)


# -- lines on the terminal ----------------------------------------------------------------------------------------


def test_lines_of_a_kind_are_shown_a_few_times_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    talk = Talk(clock)
    for i in range(FIRST + 3):
        talk.say("one kind", f"one {i}")
    talk.say("another", "another 0")
    talk.tell_counts()
    assert capsys.readouterr().err.splitlines() == [*(f"fathoms: one {i}" for i in range(FIRST)), "fathoms: another 0"]
    clock.now = 60
    talk.tell_counts()
    talk.say("one kind", "one again")
    assert capsys.readouterr().err == "fathoms: 3 more of: one kind\nfathoms: one again\n"
    logger = logging.getLogger("asyncio")
    with talk.hearing("asyncio"):
        for i in range(FIRST + 2):
            logger.error("task %d", i)
    assert "2 more of: asyncio" in capsys.readouterr().err
    assert talk not in logger.handlers


# -- texts --------------------------------------------------------------------------------------------------------


class Bad(Words):
    """Texts that fail in every way."""

    def __init__(self) -> None:
        super().__init__({})
        self.go_on = threading.Event()

    def get(self, name: str) -> Entry | None:
        if name.endswith("0"):
            raise MemoryError
        if name.endswith("1"):
            raise RecursionError
        if name.endswith("2"):
            raise OSError(5, "Input/output error")
        self.go_on.wait(10)
        return None


def test_whatever_is_wrong_with_a_text_its_document_can_be_judged(
    place: Callable[..., Place], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(readers, "READING_SECONDS", 0.1)
    bad = Bad()
    app = Page(place().service, None, bad, Address(token=TOKEN)).app()
    client = TestClient(app, base_url=BASE, headers={"Authorization": f"Bearer {TOKEN}"})
    try:
        task = client.post("/api/next", json={"name": "ann"}).json()["document"]
        for i in range(len(DOCUMENTS)):
            assert (task["document"]["failed"], task["document"]["body"]) == (True, None)
            if i % 2:
                done = client.post("/api/grade", json=answer(task))
            else:
                done = client.post("/api/skip", json={k: v for k, v in answer(task).items() if k != "grade"})
            assert done.status_code == 200
            task = done.json()["document"]
        listed = client.post("/api/history", json={"name": "ann", "topic": ""})
        assert (listed.status_code, len(listed.json()["judgments"])) == (200, len(DOCUMENTS))
    finally:
        bad.go_on.set()
    assert "fathoms: warning: document d" in capsys.readouterr().err


def test_a_slow_text_keeps_nobody_else_waiting(place: Callable[..., Place]) -> None:
    """Somebody's text is read while somebody else judges: the writer does not read."""
    reading, go_on = threading.Event(), threading.Event()

    class Slow(Words):
        def get(self, name: str) -> Entry | None:
            if not reading.is_set():
                reading.set()
                go_on.wait(10)
            return None

    here = place()
    client = TestClient(
        Page(here.service, None, Slow({}), Address(token=TOKEN)).app(),
        base_url=BASE,
        headers={"Authorization": f"Bearer {TOKEN}"},
    )
    waits = threading.Thread(target=lambda: client.post("/api/next", json={"name": "ann"}))
    waits.start()
    try:
        assert reading.wait(10)
        here.grade("bob", here.take("bob") or "")  # within 10 s, while Ann's text is not there yet
        assert not go_on.is_set()
    finally:
        go_on.set()
        waits.join(10)


def test_texts_that_hang_give_their_places_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "READING_SECONDS", 0.2)
    monkeypatch.setattr(readers, "MOST_ABANDONED", readers.AT_ONCE + 1)
    go_on = threading.Event()

    async def use() -> None:
        here = readers.Readers()
        hanging = [asyncio.create_task(here.read(go_on.wait, 10)) for _ in range(readers.AT_ONCE)]
        await asyncio.sleep(0.1)
        assert await here.read(lambda: 7) == 7  # when those before are given up
        assert [type(one) for one in await asyncio.gather(*hanging, return_exceptions=True)] == [TimeoutError] * 4
        with pytest.raises(TimeoutError):
            await here.read(go_on.wait, 10)
        with pytest.raises(TimeoutError):  # too many: not even begun
            await here.read(lambda: pytest.fail("begun"))
        go_on.set()
        assert await asyncio.to_thread(wait_until, lambda: all(one.is_idle for one in here._abandoned))
        assert await here.read(lambda: 8) == 8

    try:  # in a thread, since tests in a browser have a loop of their own in this one
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(asyncio.run, use()).result(30)
    finally:
        go_on.set()


@pytest.mark.parametrize("hangs", ["topic", "document"])
def test_what_hangs_is_named_and_the_other_is_shown(
    place: Callable[..., Place], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], hangs: str
) -> None:
    monkeypatch.setattr(readers, "READING_SECONDS", 0.2)
    go_on = threading.Event()

    class Hangs(Words):
        def get(self, name: str) -> Entry | None:
            go_on.wait(10)
            return None

    good = Words({name: Entry("", ("words",)) for name in ("1", *DOCUMENTS)})
    topics, documents = (Hangs({}), good) if hangs == "topic" else (good, Hangs({}))
    app = Page(place().service, topics, documents, Address(token=TOKEN)).app()
    client = TestClient(app, base_url=BASE, headers={"Authorization": f"Bearer {TOKEN}"})
    try:
        task = client.post("/api/next", json={"name": "ann"}).json()["document"]
    finally:
        go_on.set()
    assert {one: task[one]["body"] is None for one in ("topic", "document")} == {
        one: one == hangs for one in ("topic", "document")
    }
    assert f"warning: {hangs} {task[hangs]['id']} cannot be shown: not read within" in capsys.readouterr().err


def test_a_text_that_hangs_does_not_keep_the_server_from_ending(
    running: Callable[..., Running], capsys: pytest.CaptureFixture[str]
) -> None:
    go_on, begun = threading.Event(), threading.Event()

    class Hangs(Words):
        def get(self, name: str) -> Entry | None:
            begun.set()
            go_on.wait(20)
            return None

    here = running(ConnectionLimits(), documents=Hangs({}))
    here.server.config.timeout_graceful_shutdown = 1
    with here.connect() as one:
        one.sendall(here.post("next", {"name": "ann"}))
        assert begun.wait(10)
        start = time.monotonic()
        here.stop()
        heard = rest(one)
        took = time.monotonic() - start
    go_on.set()
    assert took < 8
    assert heard == b"" or (heard.startswith(b"HTTP/1.1 503 ") and b"the page is closing" in heard)
    assert "Traceback" not in capsys.readouterr().err


def test_many_paragraphs_are_cut() -> None:
    parts = web._parts(Entry("", ("x",) * (MOST_PARAGRAPHS + 7)), set())
    assert (len(parts["body"]), parts["cut"]) == (MOST_PARAGRAPHS, 7)


SIZE = 300_000  # characters, for which anything that grows with the square takes minutes
HOSTILE = {
    "comments": "<!--",
    "ends of comments": "-->",
    "tags": "<p",
    "elements": "<text>",
    "ends": "</text>",
    "brackets": "<",
    "entities": "&",
    "numbers": "&#x9",
    "lines": "\n",
    "blanks": " ",
    "blank lines": "\n \t",
    "quotes": ".'",
    "points": ". ",
    "words": "dam. ",
    "long word": "dam",
    "fields": "<title>",
    "documents": "<DOC>",
    "numbers of topics": "<num> ",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_made_to_take_for_ever_do_not(name: str) -> None:
    text = (HOSTILE[name] * (SIZE // len(HOSTILE[name]) + 1))[:SIZE]
    raw = f"<DOC><DOCNO>d</DOCNO>{text}".encode()
    start = time.monotonic()
    entry = module._sgml_document(raw)
    web._parts(entry, {"dam"})
    web._parts(Entry("", (text,)), {"dam"})
    passages([text], {"dam"})
    module._sgml_topic(f"<top><title>{text}".encode())
    module._json_entry(json.dumps({"id": "d", "text": text}).encode())
    module._tsv_entry(f"d\t{text}".encode())
    assert time.monotonic() - start < 20  # they take a second at most


@pytest.mark.parametrize(
    "hostile",
    [
        "<top><num>" + " " * SIZE + "<",
        "<top><num> number" + " " * SIZE + "<",
        "<top number=" + " " * SIZE + ">",
        "<DOC>" * (SIZE // 5),
        "<DOC><ID>" * (SIZE // 9),
    ],
    ids=lambda text: text[:24].strip(),
)
def test_files_made_to_take_for_ever_do_not(tmp_path: Path, hostile: str) -> None:
    path = tmp_path / "texts"
    path.write_text(hostile)
    start = time.monotonic()
    with contextlib.suppress(FathomsError):
        open_texts(path, {"d"})
    assert time.monotonic() - start < 20


def test_numbers_of_characters_with_thousands_of_digits() -> None:
    entry = module._sgml_document(b"<DOC><DOCNO>d</DOCNO><TEXT>&#65; &#" + b"9" * 5000 + b"; b</TEXT></DOC>")
    assert "9999" in entry.body[0]
    assert entry.body[0].endswith("b")


def test_of_a_file_that_unpacks_to_very_much_the_start_is_read(tmp_path: Path) -> None:
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress((b"x" * 999 + b" ") * 60_000, 1))
    found = open_texts(tmp_path, {"d"})
    tracemalloc.start()
    entry = found.get("d")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert entry is not None
    assert len(entry.body[0]) == module.LONGEST
    assert peak < 40_000_000  # of 60 MB
