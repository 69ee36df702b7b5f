"""For mkdocs: CONTRIBUTING, SECURITY and CHANGELOG, which are in the folder above, are pages of the site too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
FROM_ABOVE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def on_files(files: Files, config: Any) -> Files:
    for name in FROM_ABOVE:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return re.sub(rf"\]\(\.\./({'|'.join(FROM_ABOVE)})", r"](\1", markdown)
