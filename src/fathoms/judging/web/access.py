"""Who may open the judging page, and where it is: tokens, personal links, host names, and a path behind a proxy."""

from __future__ import annotations

import hmac
import ipaddress
import json
import os
import re
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import blamed_on, read_bytes
from fathoms.judging.log import Log
from fathoms.judging.web.limits import is_loopback
from fathoms.judging.web.service import name_of

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")
PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")
LEAST_DIFFERENT = 8  # characters of a token
PageName = Literal["judge", "organise"]


class Visitor(NamedTuple):
    """Somebody with a token: whoever organises, or an assessor, whose name a personal token fixes."""

    page: PageName
    name: str | None = None


def new_token() -> str:
    return secrets.token_urlsafe(24)


def new_key() -> str:
    return secrets.token_hex(32)


def check_token(token: str, whose: str = "") -> None:
    """Refuse what could be guessed. The message does not contain the token: messages are kept and passed on."""
    if not 16 <= len(token) <= 200:
        raise FathomsError(f"{whose}expected a token of 16 to 200 characters, found {len(token)}")
    if not re.fullmatch(r"[A-Za-z0-9._~-]+", token):
        raise FathomsError(f"{whose}expected a token of letters, digits and - . _ ~ alone, found other characters")
    if len(set(token)) < LEAST_DIFFERENT:
        raise FathomsError(
            f"{whose}expected a token with {LEAST_DIFFERENT} different characters or more, found {len(set(token))}: it "
            "could be guessed; leave it out to get a random one"
        )


def same(given: str, wanted: str) -> bool:
    """Compared in a time that does not reveal where they differ."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


@dataclass(frozen=True)
class Address:
    """Where the page is, and the tokens that open it: the one that assessors share, and the organiser's.

    `people` have a token each, by name; then the shared one opens nothing. `public` is the address under which others
    reach the page, where that is not its own. Cookies, which stand for a token, are made with `cookie_key`.
    """

    host: str = "127.0.0.1"
    port: int = 8417
    token: str = field(default_factory=new_token)
    organiser_token: str = field(default_factory=new_token)  # nobody can derive it from the others
    people: Mapping[str, str] = field(default_factory=dict)
    cookie_key: str = field(default_factory=new_key)
    public: str | None = None
    tls: bool = False

    def __post_init__(self) -> None:
        check_token(self.token)
        check_token(self.organiser_token, "the organiser's token: ")
        for name, token in self.people.items():
            check_token(token, f"the token of {name}: ")
        if self.organiser_token in (self.token, *self.people.values()):
            raise FathomsError("the organiser's token must not be an assessor's; choose another")
        if self.public is not None:
            check_public_url(self.public)

    # -- who

    def visitors(self, page: PageName) -> Iterator[tuple[Visitor, str]]:
        """Everybody who may open a page, with the token for it."""
        if page == "organise":
            yield Visitor("organise"), self.organiser_token
        elif self.people:
            yield from ((Visitor("judge", name), token) for name, token in self.people.items())
        else:
            yield Visitor("judge"), self.token

    def by_token(self, page: PageName, given: str) -> Visitor | None:
        visitors = [visitor for visitor, token in self.visitors(page) if same(given, token)]
        return visitors[0] if visitors else None

    def by_cookie(self, page: PageName, given: str) -> Visitor | None:
        visitor = self._by_cookie.get(given)
        return visitor if visitor is not None and visitor.page == page else None

    def cookie_value(self, visitor: Visitor) -> str:
        """What a browser keeps in place of the token: it reveals nothing about it, and expires with it."""
        return next(value for value, other in self._by_cookie.items() if other == visitor)

    @cached_property
    def _by_cookie(self) -> dict[str, Visitor]:
        key = bytes.fromhex(self.cookie_key)
        pages: tuple[PageName, ...] = ("judge", "organise")
        known = [(visitor, token) for page in pages for visitor, token in self.visitors(page)]
        words = [json.dumps([*visitor, token]).encode() for visitor, token in known]
        return {
            hmac.digest(key, word, "sha256").hex(): visitor for word, (visitor, _) in zip(words, known, strict=True)
        }

    def is_shared(self, client: str) -> bool:
        """Whether everybody may know this address, since a proxy on this machine is in front."""
        return self.public is not None and is_loopback(client)

    # -- where

    @property
    def scheme(self) -> str:
        return urlsplit(self.public).scheme if self.public else self._own_scheme

    @property
    def _own_scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def path(self) -> str:
        """The path under which others see the page; empty, or with a slash at its start and none at its end."""
        return urlsplit(self.public).path.rstrip("/") if self.public else ""

    @property
    def base(self) -> str:
        if self.public:
            return self.public.rstrip("/")
        return f"{self.scheme}://{self.shown_host}:{self.port}"

    @property
    def shown_host(self) -> str:
        host = socket.gethostname() if self.host in EVERYWHERE else self.host
        return f"[{host}]" if ":" in host else host

    def url(self, name: str | None = None) -> str:
        """The link for assessors: the shared one, or somebody's own. A browser keeps what follows `#` to itself, so no
        server and no proxy can write it to a log."""
        return f"{self.base}/#token={self.token if name is None else self.people[name]}"

    @property
    def organiser_url(self) -> str:
        return f"{self.base}/organise#token={self.organiser_token}"

    def cookie(self, page: PageName) -> str:
        """Browsers do not tell the ports of one host apart."""
        return f"fathoms-{page}-{self.port}"

    def is_at(self, host: str) -> bool:
        """Whether a request's host is ours: the public one, or this machine with the right port."""
        if not HOST.fullmatch(host):
            return False
        try:
            is_public = self.public is not None and _place(f"//{host}", urlsplit(self.public).scheme) == _place(
                self.public
            )
            return is_public or self._is_local(host)
        except ValueError:  # no port is so great
            return False

    def _is_local(self, host: str) -> bool:
        name, port = _place(f"//{host}", self._own_scheme)
        return port == self.port and self.knows(name)

    def knows(self, name: str) -> bool:
        """Whether this is a name of this machine. Who binds to all addresses has any number, and a few names."""
        if name in (*LOOPBACK, self.host.lower()):
            return True
        if self.host not in EVERYWHERE:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in (socket.gethostname().lower(), socket.getfqdn().lower())
        return True

    def is_own(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is ours, where the request is for this host: one of those that `is_at`."""
        origin = origin.lower()
        if self.public and origin == _origin(self.public):
            return True
        return self._is_local(host) and origin == _origin(f"{self._own_scheme}://{host}")


def _place(url: str, scheme: str = "") -> tuple[str, int]:
    """Name and port of a good address."""
    parts = urlsplit(url, scheme)
    return parts.hostname or "", parts.port or PORTS[parts.scheme]


def _origin(url: str) -> str:
    """As browsers write it: the port only where it is not the usual one."""
    parts = urlsplit(url.lower())
    netloc = parts.netloc.removesuffix(f":{PORTS[parts.scheme]}")
    return f"{parts.scheme}://{netloc}"


def check_public_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in PORTS and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment or "@" in parts.netloc:
        raise FathomsError(f"--public-url: expected an address such as https://host/path, found {url!r:.200}")
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*/?", parts.path) or "/../" in f"{parts.path}/":
        raise FathomsError(f"--public-url: expected a path of letters, digits and - . _ ~, found {parts.path!r:.200}")


# -- personal links -----------------------------------------------------------------------------------------------


def read_assessors(path: str) -> dict[str, str | None]:
    """Names, one a line, each followed by a tab and a token if it is to have a particular one."""
    tokens: dict[str, str | None] = {}
    for number, line in enumerate(read_bytes(path).decode(errors="replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text, _, token = line.partition("\t")
        token = token.strip()
        try:
            name = name_of(text)
            if token:
                check_token(token, "after the tab: ")
        except FathomsError as error:
            raise InputError(str(error), path, number) from None
        if name in tokens:
            raise InputError(f"{name} is there twice", path, number)
        if token and token in tokens.values():
            raise InputError(f"{name} has the token of somebody else", path, number)
        tokens[name] = token or None
    if not tokens:
        raise InputError("has no names; expected one a line", path)
    return tokens


def kept_tokens(log: Log, wanted: Mapping[str, str | None] | None) -> dict[str, str]:
    """The personal tokens of a session: those it has, and new ones for new names. None leaves them as they are; whoever
    is no longer on the list has none."""
    before: dict[str, str] = log.meta().get("assessors", {})
    if wanted is None:
        return before
    tokens = {name: token or before.get(name) or new_token() for name, token in wanted.items()}
    if tokens != before:
        log.change("assessors", tokens)
    return tokens


def kept_shared_token(log: Log, chosen: str | None) -> str:
    """The token that assessors share, the same each time unless another one is chosen."""
    if chosen is not None and log.meta().get("token") != chosen:
        log.change("token", chosen)
    return _kept(log, "token", new_token)


def kept_organiser_token(log: Log) -> str:
    """The organiser's token of a session, the same each time."""
    return _kept(log, "organiser", new_token)


def kept_cookie_key(log: Log) -> str:
    """The key of a session's cookies, the same each time, so that whoever is in stays in after a restart."""
    return _kept(log, "cookie_key", new_key)


def _kept(log: Log, name: str, make: Callable[[], str]) -> str:
    kept: str | None = log.meta().get(name)
    if kept is None:
        kept = make()
        log.change(name, kept)
    return kept


def read_token(path: str) -> str:
    """The token in a file, which has nothing else."""
    token = read_bytes(path).decode(errors="replace").strip()
    try:
        check_token(token)
    except FathomsError as error:
        raise InputError(str(error), path) from None
    return token


def write_links(path: Path, address: Address) -> None:
    """A line for each link, in a file that nobody else can read."""
    lines = [f"{name}\t{address.url(name)}\n" for name in address.people] or [f"assessors\t{address.url()}\n"]
    with blamed_on(path):
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(number, "w", encoding="utf-8") as file:
            os.chmod(path, 0o600)  # it may have been there before
            file.writelines([f"organiser\t{address.organiser_url}\n", *lines])


def check_certificate(certificate: str, key: str) -> None:
    """Find out before the work that they cannot be used."""

    def ask() -> str:
        raise FathomsError(f"{key}: is protected by a passphrase; expected a key without one")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=ask)
    except FathomsError:
        raise
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise FathomsError(f"--certificate {certificate}, --key {key}: cannot be used: {why}") from None
