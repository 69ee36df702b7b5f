"""Seals on files that a later start of the same command reads back: only what this user wrote is opened.

Finished parts of an evaluation hold pickled results, and whoever can write a pickle into a folder can run any code in
the process that reads it. Each part therefore carries a seal (HMAC) made with a key that lies in the user's own
folder, and a part without the right seal is worked for again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from fathoms.base.files import blamed_on

KEY_BYTES = 32


def seal(content: bytes, name: str) -> str:
    """Proof that this user wrote the content of the part of that name."""
    import hmac

    return hmac.new(_key(), name.encode() + b"\0" + content, "sha256").hexdigest()


def key_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state, "fathoms", "key")


def _key() -> bytes:
    """The user's key, made when it is first needed."""
    path = key_file()
    with blamed_on(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            suppress(FileExistsError),
            os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        ):
            file.write(os.urandom(KEY_BYTES))
    key = path.read_bytes()
    if len(key) < KEY_BYTES:  # another process is writing it, or was stopped while it did
        path.unlink()
        return _key()
    return key
