"""The command `fathoms`: one module a command, imported when its command runs."""

from __future__ import annotations

import os
import sys

import typer

from fathoms import __version__
from fathoms.cli import check, eval, simulate
from fathoms.errors import FathomsError

app = typer.Typer(
    name="fathoms",
    help="Evaluate search systems when judgments are incomplete: every score with the range it could have once "
    "unjudged documents are judged and ties are broken another way.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("eval")(eval.command)
app.command("check")(check.command)
app.command("simulate")(simulate.command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fathoms {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Evaluate search systems when judgments are incomplete."""


def main() -> None:
    """Run the command; what a user did wrong is one message on standard error and exit status 2."""
    try:
        app()
    except FathomsError as error:
        print(f"fathoms: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except KeyboardInterrupt:
        print("fathoms: interrupted", file=sys.stderr)
        sys.exit(130)
