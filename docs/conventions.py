"""Write the table of docs/papers/conventions.md from the code: `python docs/conventions.py`."""

from __future__ import annotations

from pathlib import Path

from fathoms.papers.conventions import ASPECTS, CONVENTIONS

PAGE = Path(__file__).parent / "papers" / "conventions.md"
HEAD = """# What the studies take for granted

The papers differ in what they take for granted, and are silent on some of it. Each study of `fathoms papers` goes about
it as below, and prints its own row at the end of its page. Two figures are comparable only where these agree.
"""
PAGES = {"rm": "rm.md", "gain": "gain.md", "depth": "depth.md", "ties": "ties.md", "rtc": "rtc.md"}


def page() -> str:
    parts = [HEAD]
    for aspect in ASPECTS:
        parts += [f"## {aspect[0].upper()}{aspect[1:]}", "", "| study | |", "|---|---|"]
        for paper, own in CONVENTIONS.items():
            name = f"[{paper}]({PAGES[paper]})" if paper in PAGES else f"[{paper}](all.md#all-estimates-side-by-side)"
            parts.append(f"| {name} | {own[aspect]} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
