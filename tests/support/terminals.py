"""Running commands as a person does, on a terminal that is none."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LINES, COLUMNS = 40, 100
PATIENCE = 120.0  # seconds


def on_terminal(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], typed: bytes = b""
) -> tuple[int, str]:
    """The status of a command and all that it shows on a pseudo-terminal, which is its input and both its outputs."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    settings = {name: value for name, value in environment.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    process = subprocess.Popen(
        words, cwd=folder, env=settings, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    os.write(ours, typed)
    shown, end = b"", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.2)[0]:
                shown += os.read(ours, 65536)
    except OSError:  # how Linux says that the other end is closed, which programs do just before they end
        pass
    try:
        process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
    finally:
        os.close(ours)  # not before, for it hangs up
    return process.wait(PATIENCE), shown.decode(errors="replace").replace("\r\n", "\n")
