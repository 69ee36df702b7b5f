"""Draw docs/images/imports.svg, which packages import which, from the code: `python docs/imports.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.project.test_imports import LAYERS, TOP, graph, layer

PICTURE = Path(__file__).parent / "images" / "imports.svg"
CELL, LEFT, RIGHT, TOP_MARGIN = 26, 110, 50, 96
STYLE = (
    "text{font:13px sans-serif;fill:#1b2733}.grid{fill:#eef2f5}.own{fill:#c9d3db}.uses{fill:#0072B2}"
    "@media(prefers-color-scheme:dark){text{fill:#dde6ee}.grid{fill:#27313a}.own{fill:#4a5661}.uses{fill:#56B4E9}}"
)


def used() -> dict[str, set[str]]:
    """By package, those that it imports when it runs; rooms' commands count as `cli`."""
    packages: dict[str, set[str]] = {name: set() for name in LAYERS}
    for one in graph():
        importer, imported = layer(one.importer), layer(one.imported)
        if one.when != "for types" and 0 <= imported < TOP and 0 <= importer < TOP and imported != importer:
            packages[LAYERS[importer]].add(LAYERS[imported])
    return packages


def picture() -> str:
    """A row a package, a column each that it imports: all of them to the left, so that imports go one way."""
    packages = used()
    names = [name for name in LAYERS if packages[name] or any(name in others for others in packages.values())]
    size = len(names) * CELL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + size + RIGHT} {TOP_MARGIN + size + 10}" '
        f'width="{LEFT + size + RIGHT}" role="img" aria-label="Packages and what they import"><style>{STYLE}</style>'
    ]
    for i, name in enumerate(names):
        middle = i * CELL + CELL / 2
        parts.append(f'<text x="{LEFT - 8}" y="{TOP_MARGIN + middle + 4}" text-anchor="end">{name}</text>')
        parts.append(f'<text transform="translate({LEFT + middle + 4} {TOP_MARGIN - 8}) rotate(-60)">{name}</text>')
        for j, other in enumerate(names):
            kind = "own" if i == j else "uses" if other in packages[name] else "grid"
            x, y = LEFT + j * CELL + 1, TOP_MARGIN + i * CELL + 1
            parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" rx="3"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE)
