"""Write what commands leave on a terminal to cli/screens: `python -m tests.cli.refresh_screens`, then read the diff."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.cli.test_screens import CASES, SCREENS, file_of, make, shown

if __name__ == "__main__":
    SCREENS.mkdir(exist_ok=True)
    for path in SCREENS.iterdir():
        path.unlink()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "sim"
        make(folder)
        os.chdir(folder)
        for name, runs, width in CASES:
            file_of(name, runs, width).write_text(shown(name, runs)[width], encoding="utf-8")
        os.chdir(SCREENS)
