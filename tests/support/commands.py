"""Running the command line inside a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from fathoms.cli.app import main


class Done(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]


def status(*words: object) -> int:
    """The status with which `fathoms` ends."""
    with pytest.raises(SystemExit) as exit:
        main([str(word) for word in words])
    assert isinstance(exit.value.code, int)
    return exit.value.code


def finished(capsys: pytest.CaptureFixture[str], *words: object) -> Done:
    """Status and output of `fathoms`, which never shows a traceback, nor output beside an error."""
    capsys.readouterr()
    done = Done(status(*words), *capsys.readouterr())
    assert "Traceback" not in done.err
    assert done.status != 2 or not done.out
    return done
