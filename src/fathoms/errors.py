"""What can go wrong with input or usage: one family of exceptions that the command line turns into exit status 2."""

from __future__ import annotations


class FathomsError(Exception):
    """Bad usage or bad input; the message says what was found, what was expected and what to do next."""


class InputError(FathomsError):
    """A file (or frame, or dict) that cannot be trusted, with the place where the trouble starts."""

    def __init__(self, message: str, source: str | None = None, line: int | None = None) -> None:
        place = "" if source is None else f"{source}:{line}: " if line is not None else f"{source}: "
        super().__init__(place + message)
        self.message = message
        self.source = source
        self.line = line


class FathomsWarning(UserWarning):
    """Something a careful reader of the numbers should know; the numbers are still right as defined."""
