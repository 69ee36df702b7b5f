"""The page's server: who may ask what, and answers in JSON.

Every request is checked in this order: its host (against names that lead here from elsewhere), for changes the origin
of the page that sends it, its token, size and form of its body. Files come from a fixed list, and texts leave as JSON
that the scripts put into text nodes, so that nothing in a document is ever HTML.

Assessors get documents and their own progress. How runs compare, who judged what and the judgments themselves are
for the organiser, who has another token; assessors get them only where that was asked for.
"""

from __future__ import annotations

import asyncio
import errno
import json
import re
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fathoms.base.errors import FathomsError, InputError
from fathoms.data.texts import Entry, Texts
from fathoms.judging.documents_to_judge import Task
from fathoms.judging.events import Event
from fathoms.judging.export import provenance_bytes, qrels_bytes
from fathoms.judging.guidelines import GradeName, blocks
from fathoms.judging.session import Session
from fathoms.judging.session_file import LogError
from fathoms.judging.texts import marked, passages, printable, terms
from fathoms.judging.web.access import Address, PageName, Visitor
from fathoms.judging.web.connections import GuardedProtocol
from fathoms.judging.web.limits import ConnectionLimits, Connections, Talk, WrongTokens, within_open_files
from fathoms.judging.web.overview import recent, topics_judged
from fathoms.judging.web.readers import READING_SECONDS, Readers
from fathoms.judging.web.service import JudgingService, Refused, name_of

ENGINE_WAIT = 0.1  # seconds that an assessor waits for the engine to take the last answer in, at most
LONGEST_WAIT = 10.0  # and where no document is left that was chosen before
ACCEPTED_AT_ONCE = 16  # connections, before those that give way are closed: open files may be few
LARGEST_REQUEST = 32_768  # bytes of a request's body
LARGEST_HEADERS = 32_768  # and of its headers
LONGEST_TEXT = 400_000  # characters of a document that are shown
LONGEST_NOTE = 2_000
SWITCH = 0.0005  # seconds after which the engine's thread lets others in; every call of SQLite waits for it
LONGEST_TITLE = 160
MOST_PARAGRAPHS = 10_000
MARKED_AT_ONCE = 5_000  # characters of a text whose words are marked without a thread of its own
TITLES_SECONDS = 2.0  # seconds for the titles of a list; those that were not read by then come the next time
PAGES = {
    "/style.css": "text/css",
    **dict.fromkeys(("/common.js", "/standings.js", "/script.js", "/organise.js", "/entrance.js"), "text/javascript"),
    "/icon.svg": "image/svg+xml",
}
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
class PageOptions:
    """What the page shows: names of the grades, guidelines, and whether assessors see how runs compare."""

    grades: Sequence[GradeName] = ()
    guidelines: str = ""
    show_standings: bool = False


CANNOT_SAVE = "Nothing can be saved at the moment. Please tell whoever organises the judging; your document stays here."
NO_TOKEN = "Open this page with the full link you were given; it ends in #token= followed by letters and digits."
NOT_VALID = "This link is not valid (any more). Ask whoever organises the judging for a new one."
NO_LONGER_VALID = "This link no longer works. Ask whoever organises the judging for a new one."
NO_TEXT: dict[str, Any] = {"title": [], "body": None, "cut": 0, "passages": []}
CANNOT_BE_SHOWN = {**NO_TEXT, "failed": True}
CANNOT_BE_READ: Any = object()


class _Offer(NamedTuple):
    """A document for somebody, if there is one; where it stands, as JSON; and whether there is no point in asking
    again at once."""

    task: Task | None
    state: str
    is_final: bool


class Denied(FathomsError):
    """A request that is not answered, and the status that says so."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class Page:
    """The routes, on top of the judging service and the texts."""

    def __init__(
        self,
        service: JudgingService,
        topics: Texts | None,
        documents: Texts | None,
        address: Address,
        options: PageOptions | None = None,
    ) -> None:
        self.service, self.topics, self.documents, self.address = service, topics, documents, address
        self.options = options or PageOptions()
        self.talk = Talk()
        self._wrong_tokens = WrongTokens(address.is_shared)
        self._readers = Readers()
        folder = files("fathoms.judging.web")
        self._files = {path: (folder / path[1:]).read_bytes() for path in PAGES}
        self._html = {page: (folder / f"{page}.html").read_bytes() for page in ("judge", "organise", "entrance")}
        self._about = self._described()
        self._titles: dict[tuple[bool, str], str] = {}

    def app(self) -> ASGIApp:
        routes = [
            *(Route(path, self._guarded(self._static)) for path in PAGES),
            Route("/", self._guarded(self._home)),
            Route("/organise", self._guarded(self._home)),
            Route("/qrels.txt", self._guarded(self._qrels)),
            Route("/provenance.tsv", self._guarded(self._provenance)),
            *(
                Route(f"/api/{name}", self._guarded(work))
                for name, work in (
                    ("about", self._say_about),
                    ("state", self._state),
                    ("organise", self._organise),
                    ("judgments", self._judgments),
                )
            ),
            *(
                Route(f"/api/{name}", self._guarded(work), methods=["POST"])
                for name, work in (
                    ("enter", self._enter),
                    ("next", self._next),
                    ("grade", self._grade),
                    ("skip", self._skip),
                    ("undo", self._undo),
                    ("revise", self._revise),
                    ("history", self._history),
                    ("settle", self._settle),
                    ("keep", self._keep),
                    ("text", self._text),
                )
            ),
        ]
        routed = Starlette(routes=routes)
        routed.router.redirect_slashes = False  # its redirects go by what the request says of host and scheme
        return _WithHeaders(_ForUs(_Beneath(routed, self.address.path), self.address))

    # -- who may

    def _guarded(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            try:
                self._check_origin(request)
                response = await answer(request)
            except Denied as error:
                response = _json({"error": str(error)}, error.status)
                response.headers.update(error.headers)
            except Refused as error:
                response = _json({"error": str(error)}, 409)
            except InputError as error:  # the session's file
                self.talk.say("the session's file", str(error), 1)
                response = _json({"error": CANNOT_SAVE}, 500)
            except FathomsError as error:
                response = _json({"error": str(error)}, 400)
            except ClientDisconnect:  # nobody will read it
                response = _json({"error": "the request was incomplete"}, 400)
            except asyncio.CancelledError:  # by the server, which ends
                response = _json({"error": "the page is closing"}, 503)
            return response

        return guarded

    def _check_origin(self, request: Request) -> None:
        """Other pages must not make this browser change anything here."""
        origin = request.headers.get("origin")
        if request.method == "GET":
            return
        if origin is None:
            if _bearer(request) is None:  # a browser says where it comes from
                raise Denied(403, "the request does not say which page it comes from")
        elif not self.address.is_own(origin, request.headers.get("host", "")):
            raise Denied(403, f"requests from {printable(origin)!r} are not accepted")

    def _visitor(self, request: Request, page: PageName) -> Visitor | None:
        """Who sends this: by the token of a program, or the cookie of a browser, one for each page."""
        given = _bearer(request)
        if given is not None:
            visitor: Visitor | None = self._admitted(request, given, "judge", "organise")
        else:
            visitor = self.address.by_cookie(page, request.cookies.get(self.address.cookie(page), ""))
        return visitor if visitor is not None and visitor.page == page else None

    def _admitted(self, request: Request, token: str, *pages: PageName) -> Visitor:
        """Who has this token. After many wrong ones none is looked at for a while, even a right one: otherwise guessing
        could go on. Those who are in have cookies, which nobody can guess."""
        client = request.client.host if request.client else ""
        seconds = self._wrong_tokens.wait(client)
        if seconds:
            message = f"there were too many wrong tokens; try again in {seconds} seconds"
            raise Denied(429, message, **{"Retry-After": str(seconds)})
        for page in pages:
            visitor = self.address.by_token(page, token)
            if visitor is not None:
                return visitor
        self._wrong_tokens.count(client)
        raise Denied(401, NOT_VALID)

    def _assessor(self, request: Request) -> Visitor:
        visitor = self._visitor(request, "judge")
        if visitor is None:
            pages: tuple[PageName, ...] = ("judge", "organise")
            was_in = any(self.address.cookie(page) in request.cookies for page in pages)
            raise Denied(401, NO_LONGER_VALID if was_in else NO_TOKEN)
        return visitor

    def _check_organiser(self, request: Request) -> None:
        """Whoever organises, or an assessor where assessors may see everything."""
        if self._visitor(request, "organise") is not None:
            return
        self._assessor(request)
        if not self.options.show_standings:
            raise Denied(403, "this is for whoever organises the judging; it takes the organiser's token")

    # -- pages

    async def _home(self, request: Request) -> Response:
        page: PageName = "organise" if request.url.path.endswith("/organise") else "judge"
        given = request.query_params.get("token")
        if given is not None:  # as older links have it; out of the address at once
            response: Response = RedirectResponse("organise" if page == "organise" else "./", 303)
            return self._with_cookie(response, self._admitted(request, given, page))
        if self._visitor(request, page) is None:
            return Response(self._html["entrance"], 401, media_type="text/html")
        return Response(self._html[page], media_type="text/html")

    async def _enter(self, request: Request) -> Response:
        """From the entrance, which has the token of the link it was opened by."""
        fields = await self._object(request, page=str, token=str)
        page: PageName = "organise" if fields["page"] == "organise" else "judge"
        return self._with_cookie(_json({}), self._admitted(request, fields["token"], page))

    def _with_cookie(self, response: Response, visitor: Visitor) -> Response:
        response.set_cookie(
            self.address.cookie(visitor.page),
            self.address.cookie_value(visitor),
            path=f"{self.address.path}/",
            secure=self.address.is_secure,
            httponly=True,
            samesite="lax",
        )
        return response

    async def _static(self, request: Request) -> Response:
        return Response(self._files[request.url.path], media_type=PAGES[request.url.path])

    async def _qrels(self, request: Request) -> Response:
        """TREC's lines, or CSV where these cannot hold the ids."""
        try:
            return await self._file(request, partial(qrels_bytes, path=Path("qrels.txt")), "qrels.txt")
        except LogError:  # of the session, whatever the form
            raise
        except InputError:
            return await self._file(request, partial(qrels_bytes, path=Path("qrels.csv")), "qrels.csv")

    async def _provenance(self, request: Request) -> Response:
        return await self._file(request, provenance_bytes, "qrels.txt.provenance.tsv")

    async def _file(self, request: Request, write: Callable[[Session], bytes], name: str) -> Response:
        self._check_organiser(request)
        content = await self._ask(write, self.service.session)
        return Response(
            content, media_type="text/plain", headers={"Content-Disposition": f'attachment; filename="{name}"'}
        )

    # -- what the scripts ask for

    async def _ask(self, work: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.wrap_future(self.service.submit(work, *args))

    def _described(self) -> dict[str, Any]:
        """What does not change while the page is there."""
        settings = self.service.session.settings
        return {
            "max_grade": settings.max_grade,
            "rel": settings.rel,
            "grades": [[grade.name, grade.description] for grade in self.options.grades],
            "guidelines": blocks(self.options.guidelines),
            "standings": self.options.show_standings,
        }

    async def _say_about(self, request: Request) -> Response:
        visitor = self._visitor(request, "judge") or self._visitor(request, "organise") or self._assessor(request)
        return _json({"name": visitor.name, **self._about})

    async def _state(self, request: Request) -> Response:
        """Of an assessor, or of nobody in particular."""
        visitor = self._assessor(request)
        given = request.query_params.get("name")
        name = visitor.name or (name_of(given) if given else None)
        return _json_text(f'{{"state":{await self._ask(self._state_of, name)}}}')

    def _state_of(self, name: str | None) -> str:
        """What an assessor is told. Whatever is about runs is not even sent, unless it is to be shown."""
        own = self.service.own_state(name)
        if not self.options.show_standings:
            return _dumped(own)
        return f'{_dumped(own)[:-1]},"standings":{self.service.state()}}}'

    async def _organise(self, request: Request) -> Response:
        self._check_organiser(request)
        return _json_text(f'{{"state":{await self._ask(self.service.state)}}}')

    async def _judgments(self, request: Request) -> Response:
        """Who judged what."""
        self._check_organiser(request)
        query = request.query_params
        return await self._list(query.get("assessor") or None, query.get("topic") or None)

    async def _history(self, request: Request) -> Response:
        """An assessor's own answers."""
        fields, name = await self._body(request, name=str, topic=str)
        return await self._list(name, fields["topic"] or None)

    async def _list(self, assessor: str | None, topic: str | None) -> Response:
        """Answers with titles, which are read elsewhere: the writer has other things to do."""
        rows, topics = await self._ask(self._listed, assessor, topic)
        documents, of_rows = [row["document"] for row in rows], [row["topic"] for row in rows]
        await self._read("the titles of a list", self._find_titles, documents, [*topics, *of_rows])
        for row in rows:
            row["title"] = self._titles.get((False, row["document"]), "")
            row["topic_title"] = self._titles.get((True, row["topic"]), "")
        return _json({"judgments": rows, "topics": [[id, self._titles.get((True, id), "")] for id in topics]})

    def _listed(self, assessor: str | None, topic: str | None) -> tuple[list[dict[str, Any]], list[str]]:
        state = self.service.session.state
        rows = [
            {
                "topic": event.topic,
                "document": event.document,
                "kind": event.kind,
                "grade": event.grade,
                "assessor": event.assessor,
                "time": event.time,
                "note": printable(event.note),
                "revised_from": [old.grade for old in state.revised(event)],
            }
            for event in recent(state, assessor, topic)
        ]
        return rows, topics_judged(state, self.service.session.documents.candidates.topics, assessor)

    # -- texts, which are read in threads of their own

    async def _read(self, what: str, work: Callable[..., Any], *args: Any) -> Any:
        """What a reader makes of texts; CANNOT_BE_READ if it fails or takes too long."""
        try:
            return await self._readers.read(work, *args)
        except Exception as error:  # whatever is wrong with a text, its document can be judged or skipped
            self._say_unreadable(what, error)
            return CANNOT_BE_READ

    def _say_unreadable(self, what: str, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            why = f"not read within {READING_SECONDS:g} seconds"
        else:
            why = str(error) if isinstance(error, InputError) else f"{error!r:.200}"
        self.talk.say("texts that cannot be shown", f"warning: {printable(what)} cannot be shown: {why}")

    def _find_titles(self, documents: Iterable[str], topics: Iterable[str]) -> None:
        end = time.monotonic() + TITLES_SECONDS
        for texts, names in ((self.documents, documents), (self.topics, topics)):
            for name in names:
                known = (texts is self.topics, name)
                if texts is not None and known not in self._titles and time.monotonic() < end:
                    self._titles[known] = ""  # it may hang, and is not tried again
                    try:
                        entry = texts.get(name)
                        self._titles[known] = "" if entry is None else printable(entry.title[:LONGEST_TITLE])
                    except Exception as error:
                        self._say_unreadable(f"the title of {name}", error)

    async def _with_text(self, task: Task) -> dict[str, Any]:
        """Topic and document; if one cannot be read, the other is there all the same."""
        topic, document = await asyncio.gather(
            self._entry(self.topics, f"topic {task.topic}", task.topic),
            self._entry(self.documents, f"document {task.document}", task.document),
        )
        wanted = set() if topic is CANNOT_BE_READ else terms(topic)
        return {
            "topic": {"id": task.topic, **await self._shown(f"topic {task.topic}", topic, set())},
            "document": {"id": task.document, **await self._shown(f"document {task.document}", document, wanted)},
            "lease": self.service.seconds,
        }

    async def _entry(self, texts: Texts | None, what: str, name: str) -> Any:
        return None if texts is None else await self._read(what, texts.get, name)

    async def _shown(self, what: str, entry: Any, wanted: set[str]) -> dict[str, Any]:
        """A long text takes a while to mark."""
        if entry is None:
            return NO_TEXT
        if isinstance(entry, Entry) and len(entry.title) + sum(map(len, entry.body)) < MARKED_AT_ONCE:
            return _parts(entry, wanted)
        parts = entry if entry is CANNOT_BE_READ else await self._read(what, _parts, entry, wanted)
        return CANNOT_BE_SHOWN if parts is CANNOT_BE_READ else parts

    async def _next(self, request: Request) -> Response:
        _, name = await self._body(request, name=str)
        return await self._then_next(name, self.service.keep)

    async def _grade(self, request: Request) -> Response:
        fields, name = await self._body(request, name=str, topic=str, document=str, grade=int, note=str, key=str)
        answer = fields["topic"], fields["document"], fields["grade"], _note(fields["note"]), fields["key"]
        return await self._then_next(name, self.service.grade, *answer)

    async def _skip(self, request: Request) -> Response:
        fields, name = await self._body(request, name=str, topic=str, document=str, note=str, key=str)
        answer = fields["topic"], fields["document"], _note(fields["note"]), fields["key"]
        return await self._then_next(name, self.service.skip, *answer)

    async def _undo(self, request: Request) -> Response:
        fields, name = await self._body(request, name=str, key=str)
        return await self._then_next(name, self.service.undo, fields["key"])

    async def _revise(self, request: Request) -> Response:
        fields, name = await self._body(request, name=str, topic=str, document=str, grade=int, note=str, key=str)
        answer = fields["topic"], fields["document"], fields["grade"], _note(fields["note"]), fields["key"]
        done = await self._ask(self.service.revise, name, *answer)
        return _json_text(f'{{{_already(done)}"state":{await self._ask(self._state_of, name)}}}')

    async def _settle(self, request: Request) -> Response:
        self._check_organiser(request)
        fields, name = await self._body(
            request, self._visitor(request, "organise"), name=str, topic=str, document=str, grade=int, key=str
        )
        answer = fields["topic"], fields["document"], fields["grade"], fields["key"]
        done = await self._ask(self.service.settle, name, *answer)
        await self._patiently(ENGINE_WAIT)
        return _json_text(f'{{{_already(done)}"state":{await self._ask(self.service.state)}}}')

    async def _keep(self, request: Request) -> Response:
        _, name = await self._body(request, name=str)
        await self._ask(self.service.keep, name)
        return _json_text(f'{{"state":{await self._ask(self._state_of, name)}}}')

    async def _text(self, request: Request) -> Response:
        """A document that was handed out before, for those who revise a grade or settle a disagreement."""
        fields, _ = await self._body(request, self._visitor(request, "organise"), topic=str, document=str)
        topic, document = fields["topic"], fields["document"]
        index = await self._ask(self.service.session.documents.find, topic, document)
        return _json(await self._with_text(Task(index, topic, document)))

    async def _patiently(self, seconds: float) -> None:
        """Give the engine a moment, but no more."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self.service.fresh()), seconds)

    async def _then_next(self, name: str, work: Callable[..., Event | None], *args: Any) -> Response:
        """Do it, and answer with the next document."""
        answer = self.service.submit(work, name, *args, then=lambda done: (done, self._offer_at_once(name)))
        done, offer = await asyncio.wrap_future(answer)
        for seconds in (ENGINE_WAIT, LONGEST_WAIT):
            if offer is None or not offer.is_final:
                await self._patiently(seconds)
                offer = await self._ask(self._offer, name)
        document = None if offer.task is None else await self._with_text(offer.task)
        return _json_text(f'{{{_already(done)}"document":{_dumped(document)},"state":{offer.state}}}')

    def _offer_at_once(self, name: str) -> _Offer | None:
        return self._offer(name) if self.service.is_slow() else None

    def _offer(self, name: str) -> _Offer:
        task = self.service.take(name)
        return _Offer(task, self._state_of(name), task is not None or self.service.why_ended() is not None)

    async def _body(
        self, request: Request, visitor: Visitor | None = None, **fields: type
    ) -> tuple[dict[str, Any], str]:
        """The JSON object that was sent, with these fields and no others; and the name of its sender, if that is among
        them. The sender is an assessor, unless a `visitor` is given."""
        visitor = visitor or self._assessor(request)
        body = await self._object(request, **fields)
        return body, self._name(visitor, body["name"]) if "name" in fields else ""

    async def _object(self, request: Request, **fields: type) -> dict[str, Any]:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Denied(415, "expected a body of type application/json")
        raw = b""
        async for part in request.stream():
            raw += part
            if len(raw) > LARGEST_REQUEST:
                raise Denied(413, f"expected a request of at most {LARGEST_REQUEST:,} bytes")
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            raise Denied(400, "the body is not JSON") from None
        if isinstance(body, dict) and "key" in fields:  # programs may leave them out
            body.setdefault("key", None)
        if not isinstance(body, dict) or set(body) != set(fields):
            raise Denied(400, f"expected an object with the fields {', '.join(fields)}")
        if fields.pop("key", None) is not None and not is_key(body["key"]):
            raise Denied(400, f"expected a key of 16 to 64 letters, digits and - _, found {body['key']!r:.80}")
        for name, kind in fields.items():
            if type(body[name]) is not kind:
                raise Denied(400, f"expected {name} to be of type {kind.__name__}, found {body[name]!r:.80}")
        return body

    def _name(self, visitor: Visitor, given: str) -> str:
        """A personal token has a name of its own."""
        if visitor.name is None:
            return name_of(given)
        if given not in ("", visitor.name):
            raise Denied(403, f"this link is for {visitor.name} alone, found the name {printable(given)!r:.80}")
        return visitor.name


def _bearer(request: Request) -> str | None:
    """The token of a program; no page can make a browser send one."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given if scheme.lower() == "bearer" else None


def is_key(given: Any) -> bool:
    return given is None or (isinstance(given, str) and re.fullmatch(r"[A-Za-z0-9_-]{16,64}", given) is not None)


def _already(done: Event | None) -> str:
    """For somebody who sends an answer again: what is saved, as a first field of JSON."""
    return "" if done is None else f'"already":{_dumped({"kind": done.kind, "grade": done.grade})},'


def _note(text: str) -> str:
    if len(text) > LONGEST_NOTE:
        raise FathomsError(f"expected a note of at most {LONGEST_NOTE:,} characters, found {len(text):,}")
    return text


def _parts(entry: Entry, wanted: set[str]) -> dict[str, Any]:
    """Title and paragraphs in pieces, every second of which is marked.

    Of a long text, the passages that have most of the wanted words: each as paragraph, start and end.
    """
    room, body = LONGEST_TEXT, []
    for paragraph in entry.body[:MOST_PARAGRAPHS]:
        body.append(paragraph[: max(room, 0)])
        room -= len(paragraph)
        if room <= 0:
            break
    return {
        "title": marked(entry.title[:LONGEST_TEXT], wanted),
        "body": [marked(paragraph, wanted) for paragraph in body],
        "cut": sum(map(len, entry.body)) - sum(map(len, body)),
        "passages": [
            [at.paragraph, _units(body[at.paragraph][: at.start]), _units(body[at.paragraph][: at.end])]
            for at in passages(body, wanted)
        ],
    }


def _units(text: str) -> int:
    """Its length as browsers count it, in UTF-16."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


def _dumped(content: Any) -> str:
    """JSON in ASCII, in which ids that are no UTF-8 survive the way there and back."""
    return json.dumps(content, separators=(",", ":"))


def _json(content: Any, status: int = 200) -> Response:
    return _json_text(_dumped(content), status)


def _json_text(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="application/json")


class _WithHeaders:
    """The same headers on every answer, whatever part gives it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, sending)


class _ForUs:
    """Nothing else gets a real answer: requests for other hosts, and headers that are too large."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self._app, self._address = app, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (response or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if sum(len(name) + len(value) for name, value in headers.raw) > LARGEST_HEADERS:
            return _json({"error": f"expected headers of at most {LARGEST_HEADERS:,} bytes"}, 431)
        if not self._address.is_at(host):
            expected = self._address.base
            return _json({"error": f"this page is not at {printable(host)!r:.200}; expected {expected}"}, 421)
        return None


class _Beneath:
    """The application, also under a path: proxies may strip it or pass it on."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app, self._path = app, path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] == "http" and self._path:
            if path == self._path:  # links on the page go from the slash
                words = scope["query_string"].decode("latin-1")
                response = RedirectResponse(f"{self._path}/" + (f"?{words}" if words else ""), 307)
                await response(scope, receive, send)
                return
            if path.startswith(f"{self._path}/"):
                path = path.removeprefix(self._path)
                scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)


# -- running it ---------------------------------------------------------------------------------------------------


class PageServer(uvicorn.Server):
    """Stops at the first signal and returns, so that the summary and the export follow."""

    def __init__(
        self,
        page: Page,
        started: Callable[[], None],
        certificate: str | None = None,
        key: str | None = None,
        limits: ConnectionLimits | None = None,
    ) -> None:
        """Over TLS where there is a certificate."""
        super().__init__(
            uvicorn.Config(
                page.app(),
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                http="h11",
                ws="none",
                h11_max_incomplete_event_size=LARGEST_HEADERS,
                timeout_graceful_shutdown=3,
                ssl_certfile=certificate,
                ssl_keyfile=key,
            )
        )
        self._begun, self._talk = started, page.talk
        self._connections = Connections(within_open_files(limits or ConnectionLimits()), page.address.is_shared)

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
        def protocol() -> GuardedProtocol:
            return GuardedProtocol(self.config, self.server_state, self.lifespan.state, self._connections, HEADERS)

        is_tls = self.config.ssl is not None
        self.servers = [
            await asyncio.get_running_loop().create_server(
                protocol,
                sock=listener,
                ssl=self.config.ssl,
                backlog=ACCEPTED_AT_ONCE,
                ssl_handshake_timeout=self._connections.limits.headers if is_tls else None,
            )
            for listener in sockets or []
        ]
        for listener in sockets or []:
            listener.listen(self.config.backlog)  # many may wait, though few are let in at once
        self.started = True
        self._begun()

    async def on_tick(self, counter: int) -> bool:
        self._talk.tell_counts()
        return await super().on_tick(counter)


def bound(address: Address) -> socket.socket:
    """The socket, bound before the work, since the port may be taken."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Only where it is said to be TCP does asyncio send small answers at once.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        is_host = isinstance(error, socket.gaierror) or getattr(error, "errno", None) == errno.EADDRNOTAVAIL
        raise FathomsError(
            f"cannot listen on {address.host}, port {address.port}: {why}; choose another with "
            f"{'--host' if is_host else '--port'}"
        ) from None
    return listener


def serve(
    page: Page,
    listener: socket.socket,
    started: Callable[[], None],
    certificate: str | None = None,
    key: str | None = None,
) -> None:
    """Until a signal ends it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    with page.talk.hearing("uvicorn.error", "asyncio"):
        try:
            PageServer(page, started, certificate, key).run([listener])
        finally:
            sys.setswitchinterval(before)
