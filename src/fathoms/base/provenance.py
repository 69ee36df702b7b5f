"""What a result was made with: enough to say later whether two numbers may be compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

ENDING = ".provenance.json"  # of the file beside one that has no place for it
KEY = "fathoms"  # under which a parquet file has it


@dataclass(frozen=True)
class Provenance:
    """Version, question, options other than their defaults, and fingerprints of what was read."""

    fathoms: str
    question: str
    options: dict[str, Any]
    judgments: dict[str, Any] | None  # fingerprint, topics, judgments
    runs: dict[str, str]  # fingerprint by name

    def record(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """As JSON on one line; the same for the same result, whenever and wherever it is made."""
        import json

        return json.dumps(self.record())

    def comment(self, format: str) -> str:
        """As a line that readers of a format do not show; empty where it has none."""
        if format == "latex":
            return f"% {KEY}: {self.text()}\n"
        if format in ("html", "markdown", "md"):  # where two hyphens would end the comment
            text = self.text().replace("--", r"-\u002d").replace(">", r"\u003e")
            return f"<!-- {KEY}: {text} -->\n"
        return ""


def plain(value: Any) -> Any:
    """An option as JSON; of anything but words and numbers, such as a frame, only its type; of a file only its name."""
    import os

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike):
        return os.path.basename(os.fspath(value))
    if isinstance(value, range):
        return [value.start, value.stop, value.step]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else type(value).__name__
