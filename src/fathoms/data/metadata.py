"""ir_metadata: what a run says about itself in comment lines at its head (Breuer, Keller and Schaer, SIGIR 2022).

The block stands between the lines `# ir_metadata.start` and `# ir_metadata.end`: YAML behind `#`, such as `# tag:
bm25`. The rest of fathoms takes the lines for comments; they are looked for only when somebody asks.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import Any

from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import opened

BLOCK = re.compile(rb"#\s*ir_metadata\.start[ \t\r]*\n(.*?\n)??#\s*ir_metadata\.end[^\n]*\n?", re.DOTALL)
COMMENTS = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r]*(?:#[^\n]*)?\n)*")
PIECE = 1 << 16
MOST_HEAD = 1 << 20  # bytes of comments that are looked at


def header(path: str | None) -> bytes:
    """The lines of the block, marks included; nothing if a file has none, or cannot be read again."""
    if path is None or not os.path.isfile(path):
        return b""
    head = b""
    try:
        with opened(path) as file:
            while len(head) < MOST_HEAD and (piece := file.read(PIECE)):
                head += piece
                comments = COMMENTS.match(head)
                if comments is None or comments.end() < len(head.rpartition(b"\n")[0]):
                    break  # a line that is no comment: the head ends here
    except Exception:  # each codec has exceptions of its own
        return b""  # whoever reads the run itself says what is wrong with it
    comments = COMMENTS.match(head)
    block = BLOCK.search(comments[0]) if comments else None
    return block[0].rstrip(b"\r\n") + b"\n" if block else b""


def parse(block: bytes, source: str) -> dict[str, Any]:
    """The block as a dict."""
    if not block:
        return {}
    try:
        import yaml
    except ImportError:
        raise FathomsError(
            f"{source}: its ir_metadata is YAML, for which PyYAML is needed: pip install 'fathoms[metadata]'"
        ) from None
    lines = block.decode(errors="replace").splitlines()[1:-1]
    text = textwrap.dedent("\n".join(line.lstrip().removeprefix("#") for line in lines))
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"its ir_metadata is not valid YAML: {' '.join(str(error).split())}", source) from None
    if value is not None and not isinstance(value, dict):
        raise InputError(f"its ir_metadata holds {type(value).__name__}, expected keys and values", source)
    return value or {}


def summary(metadata: dict[str, Any]) -> str:
    """One line for people: who, with what, and which of the six parts of an experiment are described."""
    actor = metadata.get("actor")
    team = actor.get("team") if isinstance(actor, dict) else None
    parts = [f"tag {metadata['tag']}"] if metadata.get("tag") else []
    parts += [f"team {team}"] if team else []
    described = [key for key in metadata if key != "tag"]
    return ", ".join([*parts, f"describes {', '.join(map(str, described))}" if described else "describes nothing"])
