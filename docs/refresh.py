"""Write what the examples print today into the pages: `python docs/refresh.py [PAGE...]`, then read the diff.

Only the `text` blocks that follow an example change, and what a `console` block shows; the tests compare them. Blocks
that leave lines out (...) stay as they are where they still hold, and are named where they do not.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.docs.test_docs import LEFT_OUT, PAGES, examples, lay_out, lines, make_files, printed, settled, shortened


def refresh(page: Path, files: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lay_out(text, files, Path(folder))
        for example in examples(text):
            output = printed(example, Path(folder), names)
            if example.output is None:
                continue
            shown, expected = lines(output), lines(example.output)
            if LEFT_OUT in expected:
                if settled(shortened(shown, expected), expected) != expected:
                    print(f"{page}:{example.line} leaves lines out and no longer holds:", *shown, sep="\n")
                continue
            written = "".join(f"{line}\n" for line in shown)
            before = "```text\n" if f"```text\n{example.output}```" in text else f"$ {example.source}\n"
            text = text.replace(f"{before}{example.output}```", f"{before}{written}```", 1)
        os.chdir(page.parent)
    page.write_text(text, encoding="utf-8")


def refresh_all(pages: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as files:
        make_files(Path(files))
        for page in pages:
            refresh(page, Path(files))
            print(page)


if __name__ == "__main__":
    refresh_all([Path(name).resolve() for name in sys.argv[1:]] or PAGES)
