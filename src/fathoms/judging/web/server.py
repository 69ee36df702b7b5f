"""The page's server: who may ask what, and answers in JSON.

Every request is checked in this order: its host (against names that lead here from elsewhere), its token, for changes
the origin of the page that sends it, size and form of its body. Files come from a fixed list, and texts leave as JSON
that the script puts into text nodes, so that nothing in a document is ever HTML.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import re
import secrets
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fathoms.errors import FathomsError, InputError
from fathoms.judging.export import provenance_text, qrels_text
from fathoms.judging.session import Session, Task
from fathoms.judging.texts import Entry, Texts, marked, printable, terms
from fathoms.judging.web.service import JudgingService, Refused, name_of

PATIENCE = 0.5  # seconds that an assessor waits for the engine to take the last answer in, at most
LONGER = 10.0  # and where no document is left that was chosen before
LARGEST = 32_768  # bytes of a request
LONGEST = 400_000  # characters of a document that are shown
LONGEST_NOTE = 2_000
SWITCH = 0.0005  # seconds after which the engine's thread lets others in; every call of SQLite waits for it
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PAGES = {"/style.css": "text/css", "/script.js": "text/javascript", "/icon.svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Address:
    """Where the page is, and the tokens that open it: to judge, or only to watch."""

    host: str = "127.0.0.1"
    port: int = 8417
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18))

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._~-]{12,200}", self.token):
            raise FathomsError("expected a token of 12 characters or more: letters, digits and - . _ ~")

    @property
    def watch_token(self) -> str:
        """Follows from the other, which does not follow from it."""
        return hmac.new(self.token.encode(), b"watch", hashlib.sha256).hexdigest()[:32]

    @property
    def shown_host(self) -> str:
        host = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
        return f"[{host}]" if ":" in host else host

    def url(self, watch: bool = False) -> str:
        base = f"http://{self.shown_host}:{self.port}"
        return f"{base}/watch?token={self.watch_token}" if watch else f"{base}/?token={self.token}"

    def knows(self, name: str) -> bool:
        """Whether this is a name of ours. Who binds to all addresses has any number, and a few names."""
        if name in (*LOOPBACK, self.host.lower()):
            return True
        if self.host not in ("0.0.0.0", "::"):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in (socket.gethostname().lower(), socket.getfqdn().lower())
        return True


class Denied(FathomsError):
    """A request that is not answered, and the status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Page:
    """The routes, over the judging service and the texts."""

    def __init__(
        self, service: JudgingService, topics: Texts | None, documents: Texts | None, address: Address
    ) -> None:
        self.service, self.topics, self.documents, self.address = service, topics, documents, address
        folder = files("fathoms.judging.web")
        self._files = {path: (folder / path[1:]).read_bytes() for path in PAGES}
        self._html = (folder / "page.html").read_bytes()

    def app(self) -> Starlette:
        routes = [
            *(Route(path, self._guarded(self._static)) for path in PAGES),
            Route("/", self._guarded(self._home)),
            Route("/watch", self._guarded(self._home)),
            Route("/qrels.txt", self._guarded(self._qrels)),
            Route("/provenance.tsv", self._guarded(self._provenance)),
            Route("/api/state", self._guarded(self._state)),
            *(
                Route(f"/api/{name}", self._guarded(work), methods=["POST"])
                for name, work in (
                    ("next", self._next),
                    ("grade", self._grade),
                    ("skip", self._skip),
                    ("undo", self._undo),
                    ("settle", self._settle),
                    ("keep", self._keep),
                    ("text", self._text),
                )
            ),
        ]
        return Starlette(routes=routes)

    # -- who may

    def _guarded(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            try:
                self._check_host(request)
                self._check_origin(request)
                response = await answer(request)
            except Denied as error:
                response = _json({"error": str(error)}, error.status)
            except Refused as error:
                response = _json({"error": str(error)}, 409)
            except InputError as error:  # the session's file
                print(f"fathoms: {error}", file=sys.stderr)
                response = _json({"error": str(error)}, 500)
            except FathomsError as error:
                response = _json({"error": str(error)}, 400)
            response.headers.update(HEADERS)
            return response

        return guarded

    def _check_host(self, request: Request) -> None:
        found = request.headers.get("host", "")
        try:
            parts = urlsplit(f"//{found}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            name, port = "", 0
        if port != self.address.port or not self.address.knows(name):
            raise Denied(421, f"this page is not at {printable(found)!r}; expected {self.address.shown_host}")

    def _check_origin(self, request: Request) -> None:
        """Other pages may not have this browser change anything here."""
        origin = request.headers.get("origin")
        if request.method == "GET":
            return
        if origin is None:
            if "authorization" not in request.headers:  # a browser says where it comes from
                raise Denied(403, "the request does not say which page it comes from")
        elif origin.lower().partition("://")[2] != request.headers.get("host", "").lower():
            raise Denied(403, f"requests from {printable(origin)!r} are not accepted")

    def _cookie(self, watch: bool) -> str:
        """Browsers do not tell the ports of one host apart."""
        return f"fathoms-{'watch' if watch else 'judge'}-{self.address.port}"

    def _may(self, request: Request, watch: bool = False) -> bool:
        wanted = self.address.watch_token if watch else self.address.token
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            given = request.cookies.get(self._cookie(watch), "")
        return _same(given, wanted)

    def _check_judge(self, request: Request) -> None:
        if not self._may(request):
            raise Denied(401, "open the page by the address with the token that `fathoms judge` printed")

    def _check_reader(self, request: Request) -> None:
        if not self._may(request, watch=True):
            self._check_judge(request)

    # -- pages

    async def _home(self, request: Request) -> Response:
        watch = request.url.path == "/watch"
        given = request.query_params.get("token")
        if given is not None:  # out of the address at once, where it could be seen and passed on
            if not _same(given, self.address.watch_token if watch else self.address.token):
                raise Denied(401, "this token is not the right one")
            response: Response = RedirectResponse(request.url.path, 303)
            response.set_cookie(self._cookie(watch), given, httponly=True, samesite="lax")
            return response
        if watch:
            self._check_reader(request)
        else:
            self._check_judge(request)
        return Response(self._html, media_type="text/html")

    async def _static(self, request: Request) -> Response:
        return Response(self._files[request.url.path], media_type=PAGES[request.url.path])

    async def _qrels(self, request: Request) -> Response:
        return await self._file(request, qrels_text, "qrels.txt")

    async def _provenance(self, request: Request) -> Response:
        return await self._file(request, provenance_text, "qrels.txt.provenance.tsv")

    async def _file(self, request: Request, write: Callable[[Session], str], name: str) -> Response:
        self._check_reader(request)
        content = (await self._ask(write, self.service.session)).encode(errors="surrogateescape")
        return Response(
            content, media_type="text/plain", headers={"Content-Disposition": f'attachment; filename="{name}"'}
        )

    # -- what the script asks for

    async def _ask(self, work: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.wrap_future(self.service.submit(work, *args))

    async def _state(self, request: Request) -> Response:
        self._check_reader(request)
        return _json_text(f'{{"state":{await self._ask(self.service.state)}}}')

    async def _next(self, request: Request) -> Response:
        asked = await self._body(request, name=str)
        return await self._then_next(name_of(asked["name"]), self.service.keep)

    async def _grade(self, request: Request) -> Response:
        asked = await self._body(request, name=str, topic=str, document=str, grade=int, note=str)
        answer = asked["topic"], asked["document"], asked["grade"], _note(asked["note"])
        return await self._then_next(name_of(asked["name"]), self.service.grade, *answer)

    async def _skip(self, request: Request) -> Response:
        asked = await self._body(request, name=str, topic=str, document=str, note=str)
        answer = asked["topic"], asked["document"], _note(asked["note"])
        return await self._then_next(name_of(asked["name"]), self.service.skip, *answer)

    async def _undo(self, request: Request) -> Response:
        asked = await self._body(request, name=str)
        return await self._then_next(name_of(asked["name"]), self.service.undo)

    async def _settle(self, request: Request) -> Response:
        asked = await self._body(request, name=str, topic=str, document=str, grade=int)
        name = name_of(asked["name"])
        await self._ask(self.service.settle, name, asked["topic"], asked["document"], asked["grade"])
        await self._patiently(PATIENCE)
        return _json_text(f'{{"state":{await self._ask(self.service.state)}}}')

    async def _keep(self, request: Request) -> Response:
        asked = await self._body(request, name=str)
        await self._ask(self.service.keep, name_of(asked["name"]))
        return _json_text(f'{{"state":{await self._ask(self.service.state)}}}')

    async def _text(self, request: Request) -> Response:
        """A document that was handed out before, for those who settle a disagreement."""
        asked = await self._body(request, topic=str, document=str)
        return _json(await self._ask(self._shown, asked["topic"], asked["document"]))

    def _shown(self, topic: str, document: str) -> dict[str, Any]:
        index = self.service.session.find(topic, document)
        return self._document(Task(index, topic, document))

    async def _patiently(self, seconds: float) -> None:
        """Give the engine a moment, and no more."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self.service.fresh()), seconds)

    async def _then_next(self, name: str, work: Callable[..., None], *args: Any) -> Response:
        """Do it, and answer with the next document."""
        asked = self.service.submit(work, name, *args, then=lambda: self._offer_at_once(name))
        found, answer = await asyncio.wrap_future(asked)
        for seconds in (PATIENCE, LONGER):
            if not found:
                await self._patiently(seconds)
                found, answer = await self._ask(self._offer, name)
        return _json_text(answer)

    def _offer_at_once(self, name: str) -> tuple[bool, str]:
        return self._offer(name) if self.service.is_slow() else (False, "")

    def _offer(self, name: str) -> tuple[bool, str]:
        """An answer, and whether there is no point in asking again at once."""
        task = self.service.take(name)
        document = _dumped(None if task is None else self._document(task))
        answer = f'{{"document":{document},"state":{self.service.state()}}}'
        return task is not None or self.service.why_ended() is not None, answer

    def _document(self, task: Task) -> dict[str, Any]:
        topic = _read(self.topics, task.topic)
        return {
            "topic": {"id": task.topic, **_parts(topic, set())},
            "document": {"id": task.document, **_parts(_read(self.documents, task.document), terms(topic))},
            "lease": self.service.seconds,
        }

    async def _body(self, request: Request, **fields: type) -> dict[str, Any]:
        """The JSON object that was sent, with these fields and no others."""
        self._check_judge(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Denied(415, "expected a body of type application/json")
        raw = b""
        async for part in request.stream():
            raw += part
            if len(raw) > LARGEST:
                raise Denied(413, f"expected a request of at most {LARGEST:,} bytes")
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            raise Denied(400, "the body is no JSON") from None
        if not isinstance(found, dict) or set(found) != set(fields):
            raise Denied(400, f"expected an object with the fields {', '.join(fields)}")
        for name, kind in fields.items():
            if type(found[name]) is not kind:
                raise Denied(400, f"expected {name} to be of type {kind.__name__}, found {found[name]!r:.80}")
        return found


def _same(given: str, wanted: str) -> bool:
    """In a time that tells nothing about where they differ."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


def _note(text: str) -> str:
    if len(text) > LONGEST_NOTE:
        raise FathomsError(f"expected a note of at most {LONGEST_NOTE:,} characters, found {len(text):,}")
    return text


def _read(texts: Texts | None, name: str) -> Entry | None:
    """A text that cannot be read is none: the document can still be judged or skipped."""
    try:
        return None if texts is None else texts.get(name)
    except InputError as error:
        print(f"fathoms: warning: {error}", file=sys.stderr)
        return None


def _parts(entry: Entry | None, wanted: set[str]) -> dict[str, Any]:
    """Title and paragraphs in pieces, every second of which is marked; no paragraphs at all where there is no text."""
    if entry is None:
        return {"title": [], "body": None, "cut": 0}
    room, body = LONGEST, []
    for paragraph in entry.body:
        body.append(marked(paragraph[: max(room, 0)], wanted))
        room -= len(paragraph)
        if room <= 0:
            break
    left = sum(map(len, entry.body)) - LONGEST
    return {"title": marked(entry.title[:LONGEST], wanted), "body": body, "cut": max(left, 0)}


def _dumped(content: Any) -> str:
    """JSON in ASCII, in which ids that are no UTF-8 survive the way there and back."""
    return json.dumps(content, separators=(",", ":"))


def _json(content: Any, status: int = 200) -> Response:
    return _json_text(_dumped(content), status)


def _json_text(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="application/json")


# -- running it ---------------------------------------------------------------------------------------------------


class _Server(uvicorn.Server):
    """Stops at the first signal and returns, so that the summary and the export follow."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = started

    def capture_signals(self) -> Any:
        @contextmanager
        def captured() -> Any:
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

        return captured()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._begun()


def bound(address: Address) -> socket.socket:
    """The socket, before the work, for the port may be taken."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise FathomsError(
            f"cannot listen on {address.host}, port {address.port}: {why}; choose another with --port"
        ) from None
    return listener


def serve(page: Page, listener: socket.socket, started: Callable[[], None]) -> None:
    """Until a signal ends it."""
    config = uvicorn.Config(
        page.app(),
        log_level="warning",
        access_log=False,  # addresses hold the token
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=3,
    )
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        _Server(config, started).run([listener])
    finally:
        sys.setswitchinterval(before)
