"""Requests to the judging page, over a real connection on this machine: good ones, and changes to them.

Whatever comes, the server answers with a status below 500 or closes the connection, its answers carry the security
headers and no token, nothing is saved by a request that was refused, and the next good request is answered.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from fathoms.judging.web.limits import ConnectionLimits
from fathoms.judging.web.server import HEADERS
from tests.fuzz.case import Case, Failure
from tests.fuzz.mutations import changed
from tests.judging.web.test_page_limits import Running
from tests.judging.web.test_web import DOCUMENTS, TOKEN, Place

PATHS = ("/", "/organise", "/style.css", "/qrels.txt", "/provenance.tsv", "/nothing", "/../../etc/passwd", "//x", "*")
ASK = ("about", "state", "organise", "judgments", "grade", "nothing")
PATIENCE = 0.2  # seconds after which a client that has heard nothing says no more
LIMITS = ConnectionLimits(headers=2.0, body=2.0, idle=2.0, unread=2.0)
Value = TypeVar("Value")
COOKIE, HOST = b"COOKIE-OF-THE-SERVER", b"HOST-OF-THE-SERVER"  # known when the request is sent


def make(rng: random.Random) -> Case:
    raw = _request(rng)
    if rng.random() < 0.3:
        raw = changed(rng, raw)
    is_one = rng.random() < 0.9
    return Case({"request": raw if is_one else raw + _request(rng)}, {"is_one": is_one})


def _request(rng: random.Random) -> bytes:
    """Each part is good mostly, so that some requests are good in all of them."""
    what = rng.choice([*FIELDS])
    method, path = "POST", f"/api/{what}"
    if rng.random() < 0.3:
        method, path = "GET", rng.choice([*PATHS, *(f"/api/{name}" for name in ASK)])
    if rng.random() < 0.1:
        method = rng.choice(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", "X" * 99])
    if rng.random() < 0.1:
        path += rng.choice(["?name=ann", "?token=x", "?" + "x" * 9_000, "/", "%00", "?a=%ff&a[]=1", "#f", "?topic=é"])
    body = _body(rng, what) if method != "GET" else b""
    lines = [f"{method} {path} HTTP/{_mostly(rng, '1.1', '1.0', '2', '0.9', '1.1.1')}".encode()]
    lines.append(b"Host: " + _mostly(rng, HOST, b"evil.example", b"", b"[::1", b"localhost:1"))
    lines.append(b"Cookie: " + _mostly(rng, COOKIE, b"", COOKIE + b"x", COOKIE + b"; a=b; a=c; =;;"))
    lines.append(b"Origin: " + _mostly(rng, b"http://" + HOST, b"null", b"http://evil.example", b""))
    lines.append(b"Content-Type: " + _mostly(rng, b"application/json", b"text/plain", b"application/json; x=y"))
    if rng.random() < 0.1:
        lines.append(rng.choice(ODD))
    match _mostly(rng, "length", "chunked", "wrong", "none", "both"):
        case "length":
            lines.append(b"Content-Length: %d" % len(body))
        case "chunked":
            lines.append(b"Transfer-Encoding: chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        case "wrong":
            lines.append(b"Content-Length: " + rng.choice([b"-1", b"0", b"5", b"99999999999", b"1e3", b"+4", b"x"]))
        case "both":
            lines += [b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked"]
    return b"\r\n".join([*lines, b"", body])


def _mostly(rng: random.Random, good: Value, *others: Value) -> Value:
    return good if rng.random() < 0.93 else rng.choice(others)


ODD = (
    b"Authorization: Bearer not-the-right-token-at-all",
    b"Authorization: Basic eHg6eXk=",
    b"X-Forwarded-For: 10.0.0.1",
    b"X-Forwarded-Host: evil.example",
    b"Expect: 100-continue",
    b"Upgrade: websocket",
    b"Connection: close",
    b"Range: bytes=0-1",
    b"Accept-Encoding: gzip, br",
    b"X-Long: " + b"x" * 70_000,
    b"Folded: a\r\n b",
    b"NoColon",
    b"\xff: \xfe",
)


FIELDS = {
    "next": ("name",),
    "grade": ("name", "topic", "document", "grade", "note"),
    "revise": ("name", "topic", "document", "grade", "note"),
    "skip": ("name", "topic", "document", "note"),
    "undo": ("name",),
    "settle": ("name", "topic", "document", "grade"),
    "history": ("name", "topic"),
    "keep": ("name",),
    "text": ("topic", "document"),
    "enter": ("page", "token"),
}


def _body(rng: random.Random, what: str) -> bytes:
    fields: dict[str, Any] = {
        "name": _mostly(rng, rng.choice(["ann", "bob"]), "", "x" * 99, "é\u202e", "\ud800"),
        "topic": _mostly(rng, "1", "2", "", "\ud800", "\udcff"),
        "document": _mostly(rng, rng.choice(DOCUMENTS), "../../x", "", "\ud800", "\0"),
        "grade": rng.choice([0, 1, 2, 0, 1, 2, 3, -1, 1.5, True, "1", None, 10**30]),
        "note": rng.choice(["", "", "a note", "\udfff", "x" * 3_000, "\0\n\t"]),
        "key": rng.choice(["k" * 32, "", "x" * 300, 7]),
        "page": rng.choice(["judge", "organise", "x"]),
        "token": "not-the-right-token-at-all",
    }
    if what == "enter" and rng.random() < 0.9:  # after ten in a minute no token is looked at
        what = "next"
    given = {name: fields[name] for name in (*FIELDS[what], *(["key"] if rng.random() < 0.3 else []))}
    if rng.random() < 0.05:
        return rng.choice([b"[" * 20_000, b"null", b"[]", b'"x"', b"{", b'{"name":"a","name":"b"}', b"\xff", b"1e999"])
    return json.dumps(given).encode()


@cache
class _Site:
    """A server for all cases of this process."""

    def __init__(self) -> None:
        self.is_heard = True
        self.place = Place(Path(tempfile.mkdtemp(prefix="fuzz."), "session.db"))
        self.running = Running(self.place.service, None, None, LIMITS)
        self.host = b"127.0.0.1:%d" % self.running.port
        body = json.dumps({"page": "judge", "token": TOKEN}).encode()
        answer = self.send(
            b"POST /api/enter HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (self.host, self.host, len(body), body)
        )
        found = re.search(rb"set-cookie: ([^;]+);", answer, re.IGNORECASE)
        assert found is not None, answer
        self.cookie = found[1]

    def send(self, raw: bytes) -> bytes:
        """What the server says to this: one answer, or all until it closes where a request has no end."""
        answer = b""
        with self.running.connect() as connection, contextlib.suppress(ConnectionError):
            connection.sendall(raw)
            connection.settimeout(PATIENCE)
            while not _is_whole(answer):
                try:
                    part = connection.recv(1 << 16)
                except TimeoutError:
                    connection.settimeout(10)
                    connection.shutdown(socket.SHUT_WR)
                    continue
                if not part:
                    break
                answer += part
        return answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")

    def written(self) -> int:
        return self.place.session.log.last[0]


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return bool(end) and found is not None and len(body) >= int(found[1])


def check(case: Case) -> str:
    site = _Site()
    before = site.written()
    answer = site.send(case.files["request"].replace(COOKIE, site.cookie).replace(HOST, site.host))
    status = _checked(answer)
    if TOKEN.encode() in answer:
        raise Failure("the answer has the token in it")
    is_heard = bool(answer) and case.facts["is_one"]  # of two requests, only the first answer is waited for
    was_heard, site.is_heard = site.is_heard, is_heard  # an answer that nobody waited for may be saved later
    if site.written() > before and is_heard and was_heard and not answer.startswith(b"HTTP/1.1 200 "):
        raise Failure(f"something was saved, and the answer is {answer[:100]!r}")
    good = site.send(b"GET /api/about HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n" % (site.host, site.cookie))
    if not good.startswith(b"HTTP/1.1 200 "):
        raise Failure(f"a good request is answered {good[:100]!r} after it")
    return status


def _checked(answer: bytes) -> str:
    if not answer:
        return "closed"
    found = re.match(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n", answer)
    if found is None:
        raise Failure(f"this is no answer: {answer[:200]!r}")
    status, head = int(found[1]), found[2].lower()
    if status >= 500:
        raise Failure(f"the server answered {answer[:400]!r}")
    if status >= 200:
        missing = [name for name, value in HEADERS.items() if f"{name}: {value}\r\n".lower().encode() not in head]
        if missing:
            raise Failure(f"the answer {status} lacks {', '.join(missing)}")
    return f"{status // 100}xx"
