"""Write what the examples print today into the pages: `python docs/refresh.py [PAGE...]`, then read the diff.

Only the `text` blocks that follow an example change; the tests compare them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.docs.test_docs import PAGES, examples, printed


def refresh(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for example in examples(text):
            output = printed(example, Path(folder), names)
            if example.output is not None:
                shown = "\n".join(line.rstrip() for line in output.rstrip().splitlines()) + "\n"
                text = text.replace(f"```text\n{example.output}```", f"```text\n{shown}```", 1)
        os.chdir(page.parent)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for chosen in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        refresh(chosen)
        print(chosen)
