"""All five papers on one collection: each in a folder of its own, an index, and what of their conclusions holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fathoms.base.errors import FathomsError
from fathoms.papers.conclusions import TITLES, Finding, as_study, conclusions
from fathoms.papers.exhibits import Study
from fathoms.papers.output import Part, write_overview, write_study

CONCLUSIONS = "conclusions"  # the folder of their page
PAGES = TITLES | {"estimates": "All papers' estimates side by side"}


@dataclass(frozen=True)
class AllPapers:
    """The studies that could be made, why the others could not, and what of the conclusions holds."""

    studies: dict[str, Study]
    reasons: dict[str, str]
    findings: list[Finding] = field(default_factory=list)


def study_all(makers: Mapping[str, Callable[[], Study]]) -> AllPapers:
    """One study after the other; one that a collection does not allow is left out, with the reason."""
    studies: dict[str, Study] = {}
    reasons: dict[str, str] = {}
    for name, make in makers.items():
        try:
            studies[name] = make()
        except FathomsError as error:
            reasons[name] = str(error)
    return AllPapers(studies, reasons, conclusions(studies, reasons))


def write_all(result: AllPapers, collection: str, folder: Path, workers: int = 1) -> list[str]:
    """All of it, and returns what could not be drawn, by folder."""
    undrawn = []
    for name, study in result.studies.items():
        undrawn += [f"{name}/{figure}" for figure in write_study(study, folder / name, workers)]
    write_study(as_study(result.findings, collection), folder / CONCLUSIONS, workers)
    verdicts = [figure.verdict for figure in result.findings]
    summary = f"{verdicts.count('confirmed')} confirmed, {verdicts.count('contradicted')} contradicted, "
    summary += f"{verdicts.count('not testable')} not testable"
    parts = [Part(CONCLUSIONS, "What of the papers' conclusions holds", f"{len(verdicts)} conclusions: {summary}.")]
    for name, title in PAGES.items():
        if name in result.studies:
            study = result.studies[name]
            warned = "".join(f" Warning: {warning}." for warning in study.warnings)
            parts.append(Part(name, title, f"{len(study.exhibits)} tables and figures.{warned}"))
        elif name in result.reasons:
            parts.append(Part("", title, f"Not done here: {result.reasons[name]}."))
    write_overview(folder, "Five papers on one collection", f"On {collection}.", parts)
    return undrawn
