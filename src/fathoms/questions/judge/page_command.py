"""The judging page as a part of `fathoms judge`: its flags, what goes with them, and how it is served."""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import options

if TYPE_CHECKING:
    from fathoms.data.texts import TextSources
    from fathoms.judging.guidelines import GradeName
    from fathoms.judging.session import Session
    from fathoms.judging.web.access import Address
    from fathoms.judging.web.server import PageOptions

FLAGS = (  # these mean nothing without --web
    "host",
    "port",
    "token",
    "token_file",
    "lease",
    "assessors",
    "links",
    "show_standings",
    "grades",
    "guidelines",
    "public_url",
    "certificate",
    "key",
)


def add_arguments(parser: ArgumentParser) -> None:
    page = parser.add_argument_group("the page")
    page.add_argument("--web", action="store_true", help="judge on a page, alone or with others, until Ctrl-C")
    page.add_argument("--host", metavar="NAME", help="address to listen on (127.0.0.1: this machine alone)")
    page.add_argument("--port", metavar="N", type=options.at_least_zero, help="port to listen on (8417; 0: any)")
    page.add_argument("--token", metavar="TEXT", help=SUPPRESS)
    page.add_argument(
        "--token-file",
        metavar="FILE",
        help="a token that opens the page (or $FATHOMS_TOKEN; default: a new random token for the session)",
    )
    page.add_argument(
        "--lease", metavar="SECONDS", type=options.at_least_one, help="how long a document stays with one person (600)"
    )
    page.add_argument("--assessors", metavar="FILE", help="names, one a line; each gets a personal link")
    page.add_argument("--links", metavar="FILE", type=Path, help="write the links to FILE, readable by you alone")
    page.add_argument(
        "--show-standings", action="store_true", default=None, help="show assessors how runs compare (hidden)"
    )
    page.add_argument("--grades", metavar="FILE", help="names of the grades, lines such as `0 = not relevant`")
    page.add_argument("--guidelines", metavar="FILE", help="guidelines for assessors: plain text or simple Markdown")
    page.add_argument("--public-url", metavar="URL", help="address of the page behind a proxy: https://host/path")
    page.add_argument("--certificate", metavar="FILE", help="serve HTTPS with this certificate (PEM), and --key")
    page.add_argument("--key", metavar="FILE", help="the private key of --certificate (PEM, without passphrase)")


def check(args: Namespace) -> None:
    """What goes with --web, and what does not."""
    from importlib.util import find_spec

    from fathoms.base.errors import FathomsError

    if not args.web:
        for flag in FLAGS:
            if getattr(args, flag) is not None:
                raise FathomsError(f"--{flag.replace('_', '-')} is for the page; add --web")
        return
    for flag in ("oracle", "assessor"):
        if getattr(args, flag) is not None:
            raise FathomsError(f"--{flag} does not go with --web, where people answer and say who they are")
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise FathomsError(
            "--web needs starlette and uvicorn, which are not installed; install them with pip install 'fathoms[web]'"
        )
    from fathoms.judging.web.access import LOOPBACK, check_certificate

    if (args.certificate is None) != (args.key is None):
        raise FathomsError("--certificate and --key go together")
    if args.certificate is not None:
        check_certificate(args.certificate, args.key)
    args.token = _token(args)
    if args.host not in (None, *LOOPBACK) and args.token is None and args.assessors is None:
        raise FathomsError(
            f"--host {args.host} lets other machines in; choose what opens the page with --token-file FILE or "
            "--assessors FILE, and use a network you trust, or over HTTPS (--certificate, --public-url)"
        )
    _check_files(args)
    if args.grades is not None and not args.resume:
        _check_greatest(args.grades, args.max_grade)
        args.max_grade = len(_grades(args.grades)) - 1


def _token(args: Namespace) -> str | None:
    """The token that opens the page, if somebody chose it."""
    from fathoms.base.errors import FathomsError
    from fathoms.judging.web.access import check_token, read_token

    if args.token is not None and args.token_file is not None:
        raise FathomsError("--token and --token-file do not go together; leave out --token")
    if args.token is not None:
        print(
            "fathoms: note: other users of this machine can read --token in the list of processes; put the token into "
            "a file and use --token-file FILE, or set FATHOMS_TOKEN",
            file=sys.stderr,
        )
        check_token(args.token, "--token: ")
        return str(args.token)
    if args.token_file is not None:
        return read_token(args.token_file)
    token = os.environ.get("FATHOMS_TOKEN")
    if token is not None:
        check_token(token, "FATHOMS_TOKEN: ")
    return token


def _check_files(args: Namespace) -> None:
    """Anything wrong with them shows before a session is begun."""
    from fathoms.base.files import check_writable
    from fathoms.judging.guidelines import read_guidelines
    from fathoms.judging.web.access import check_public_url, read_assessors

    if args.assessors is not None:
        read_assessors(args.assessors)
    if args.guidelines is not None:
        read_guidelines(args.guidelines)
    if args.public_url is not None:
        check_public_url(args.public_url)
    if args.links is not None:
        check_writable(args.links)


def _grades(path: str) -> list[GradeName]:
    from fathoms.judging.guidelines import read_grades

    return read_grades(path)


def _check_greatest(path: str, most: int | None) -> None:
    from fathoms.base.errors import InputError

    named = len(_grades(path)) - 1
    if most not in (None, named):
        raise InputError(f"has the grades 0 to {named}, but those to give are 0 to {most}", path)


def serve(session: Session, sources: TextSources, args: Namespace) -> None:
    from dataclasses import replace

    from fathoms.judging.web import server
    from fathoms.judging.web.access import write_links
    from fathoms.judging.web.service import JudgingService

    shown = _shown(session, args)
    address = _address(session, args)
    with server.bound(address) as listener:
        address = replace(address, port=listener.getsockname()[1])
        service = JudgingService(
            session,
            budget=args.budget,
            lease=args.lease or 600,
            names=list(address.people),
        )
        service.start()

        def started() -> None:
            if args.links is not None:
                write_links(args.links, address)
            _say(address, args.links)

        try:
            page = server.Page(service, sources.topics, sources.documents, address, shown)
            server.serve(page, listener, started, args.certificate, args.key)
        finally:
            service.close()


def _say(address: Address, links: Path | None) -> None:
    """--quiet does not silence this: without it there is no way in."""
    if links is not None:  # if this goes to a log, its readers must not see the links
        print(f"fathoms: the links for assessors and for the organiser are in {links}", file=sys.stderr)
    else:
        people = [(name, address.url(name)) for name in address.people] or [("judge at", address.url())]
        rows = [*people, ("organise at", address.organiser_url)]
        width = max(len(name) for name, _ in rows)
        for name, url in rows:
            print(f"fathoms: {name:{width}}  {url}", file=sys.stderr)
    print("fathoms: Ctrl-C ends it; all answers are saved as they are given", file=sys.stderr, flush=True)


def _address(session: Session, args: Namespace) -> Address:
    """All tokens are kept in the session, so that links survive a restart."""
    from fathoms.judging.web.access import (
        Address,
        kept_cookie_key,
        kept_organiser_token,
        kept_shared_token,
        kept_tokens,
        read_assessors,
    )

    people = kept_tokens(session.log, None if args.assessors is None else read_assessors(args.assessors))
    given = {name: value for name in ("host", "port") if (value := getattr(args, name)) is not None}
    return Address(
        **given,
        token=kept_shared_token(session.log, args.token),
        organiser_token=kept_organiser_token(session.log),
        people=people,
        cookie_key=kept_cookie_key(session.log),
        public=args.public_url,
        tls=args.certificate is not None,
    )


def _shown(session: Session, args: Namespace) -> PageOptions:
    """Grades and guidelines are kept in the session, since judgments were made by them."""
    from fathoms.judging.guidelines import GradeName, read_guidelines
    from fathoms.judging.web.server import PageOptions

    log = session.log
    if args.grades is not None:
        _check_greatest(args.grades, session.settings.max_grade)
        log.change("grades", _grades(args.grades))
    if args.guidelines is not None:
        log.change("guidelines", read_guidelines(args.guidelines))
    meta = log.meta()
    return PageOptions(
        grades=[GradeName(*grade) for grade in meta.get("grades", [])],
        guidelines=meta.get("guidelines", ""),
        show_standings=bool(args.show_standings),
    )
