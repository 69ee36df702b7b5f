"""For mkdocs: CONTRIBUTING, SECURITY and CHANGELOG, which are in the folder above, are pages of the site too; sentences
of output are wrapped as on a terminal."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
FROM_ABOVE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
OUTPUT = re.compile(r"(?<=^```text\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
WIDTH = 96


def on_files(files: Files, config: Any) -> Files:
    for name in FROM_ABOVE:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    markdown = OUTPUT.sub(lambda block: "".join(map(wrapped, block[0].splitlines(keepends=True))), markdown)
    return re.sub(rf"\]\(\.\./({'|'.join(FROM_ABOVE)})", r"](\1", markdown)


def wrapped(line: str) -> str:
    """A sentence in lines; a row of a table, which has blanks side by side, stays one."""
    if len(line) <= WIDTH or "  " in line or "\t" in line or "\\" in line:
        return line
    return textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"
