"""Real collections, in the folder that the environment variable `FATHOMS_DATA` names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def collection(name: str) -> Path:
    """The folder of a collection; skips the test where there is none."""
    root = os.environ.get("FATHOMS_DATA")
    if not root:
        pytest.skip("FATHOMS_DATA, the folder of the real collections, is not set")
    folder = Path(root) / name
    if not folder.is_dir():
        pytest.skip(f"FATHOMS_DATA has no collection {name}")
    return folder
