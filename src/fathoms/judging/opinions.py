"""What second judgments say, in sentences: whether assessors agree, and what that means for the systems."""

from __future__ import annotations

from fathoms.judging.other_assessors import ENOUGH, OtherOpinion
from fathoms.judging.session import Session
from fathoms.text import pluralise


def opinion_sentences(session: Session) -> list[str]:
    """For the summary, each on lines of its own; none where nobody judged a document twice, and nobody was to."""
    asked = session.settings.double or session.settings.kappa_error
    if not session.twice() and not asked:
        return []
    return [_agreement(session), _others(session)]


def _agreement(session: Session) -> str:
    found, interval = session.kappa(), session.kappa_interval()
    if found is None or interval is None:
        twice = len(session.twice())
        why = "all that was judged twice has one grade" if twice else "no document is judged twice"
        return f"Kappa is not known yet: {why}.{_more(session)}"
    n = len({event.assessor for one in session.twice() for event in (one.first, one.second)})
    who = "Two assessors" if n == 2 else "Assessors"
    drawn = "" if session.settings.kappa_error is None else ", drawn and weighted by first grade"
    return (
        f"{who} agreed on {found.alike:,} of {pluralise(found.twice, 'document')}{drawn}: kappa {found.kappa:.2f} "
        f"({interval[0]:.2f} to {interval[1]:.2f}).{_more(session)}"
    )


def _more(session: Session) -> str:
    """How many second judgments are still to come, with --kappa-error."""
    error = session.settings.kappa_error
    if error is None:
        return ""
    more = session.second_judgments_left()
    if session.judged and session.second_grades().is_within_reach(error):
        return f" About {pluralise(more, 'more second judgment')} would give kappa to +-{error:g}." if more else ""
    waiting = f" {pluralise(more, 'second judgment')} still to come." if more else ""
    return f"{waiting} There are too few judged documents for kappa to +-{error:g}."


def _others(session: Session) -> str:
    opinions = session.with_other_assessors()
    if opinions is None:
        return (
            f"What another assessor would have changed is not known: it takes {ENOUGH} documents that were judged "
            f"twice, and there {'is' if len(session.twice()) == 1 else 'are'} {len(session.twice())}."
        )
    until = session.settings.until
    least = min(opinions, key=lambda one: one.with_others)
    if len(opinions) == 1:
        return f"Had another assessor judged, {_of_pair(least)}\n{_why(least)}"
    after, before = (
        sum(max(chance, 1 - chance) >= until for chance in chances)
        for chances in ([one.with_others for one in opinions], [one.confidence for one in opinions])
    )
    return (
        f"Had another assessor judged, {after:,} of {len(opinions):,} pairs would be settled at {until:g} instead of "
        f"{before:,}.\nLeast sure: {_of_pair(least)}\n{_why(least)}"
    )


def _of_pair(one: OtherOpinion) -> str:
    return (
        f"{one.better} would be ahead of {one.other} by {one.measure} with probability {one.with_others:.2f} instead "
        f"of {one.confidence:.2f}."
    )


def _why(one: OtherOpinion) -> str:
    return (
        f"The expected difference would be {one.difference_with_others:+z.4f} instead of {one.difference:+z.4f}, with "
        f"a standard deviation of {one.deviation_with_others:.4f} instead of {one.deviation:.4f}."
    )
