"""What second judgments say, in sentences: whether assessors agree, and what that means for the runs."""

from __future__ import annotations

from fathoms.base.text import pluralise
from fathoms.judging.judged_twice import second_grades
from fathoms.judging.other_assessors import ENOUGH, OtherOpinion
from fathoms.judging.session import Session


def opinion_sentences(session: Session) -> list[str]:
    """For the summary, each on lines of its own; none if nobody judged a document twice, and nobody was to."""
    if not session.state.judged_twice and not session.state.judges_twice:
        return []
    return [_agreement(session), _others(session)]


def _agreement(session: Session) -> str:
    kappa, interval = session.kappa(), session.kappa_interval()
    if kappa is None or interval is None:
        twice = len(session.state.judged_twice)
        why = "all that was judged twice has one grade" if twice else "no document is judged twice"
        return f"Kappa is not known yet: {why}.{_more(session)}"
    n = len({event.assessor for first, second, _ in session.state.judged_twice for event in (first, second)})
    who = "Two assessors" if n == 2 else "Assessors"
    drawn = "" if session.settings.kappa_error is None else ", drawn and weighted by first grade"
    return (
        f"{who} agreed on {kappa.alike:,} of {pluralise(kappa.twice, 'document')}{drawn}: kappa {kappa.kappa:.2f} "
        f"({interval[0]:.2f} to {interval[1]:.2f}).{_more(session)}"
    )


def _more(session: Session) -> str:
    """How many second judgments are still to come, with --kappa-error."""
    error = session.settings.kappa_error
    if error is None:
        return ""
    more = len(session.state.awaiting_second)
    if session.state.judged and second_grades(session.state).is_within_reach(error):
        return f" About {pluralise(more, 'more second judgment')} would give kappa to +-{error:g}." if more else ""
    waiting = f" {pluralise(more, 'second judgment')} still to come." if more else ""
    return f"{waiting} There are too few judged documents for kappa to +-{error:g}."


def _others(session: Session) -> str:
    opinions = session.with_other_assessors()
    if opinions is None:
        n = len(session.state.judged_twice)
        return (
            f"What another assessor would have changed is not known: it takes {ENOUGH} documents that were judged "
            f"twice, and there {'is' if n == 1 else 'are'} {n}."
        )
    until = session.settings.until
    least = min(opinions, key=lambda pair: pair.with_others)
    if len(opinions) == 1:
        return f"Had another assessor judged, {_of_pair(least)}\n{_why(least)}"
    after, before = (
        sum(max(chance, 1 - chance) >= until for chance in chances)
        for chances in ([pair.with_others for pair in opinions], [pair.confidence for pair in opinions])
    )
    return (
        f"Had another assessor judged, {after:,} of {len(opinions):,} pairs would be settled at {until:g} instead of "
        f"{before:,}.\nLeast sure: {_of_pair(least)}\n{_why(least)}"
    )


def _of_pair(pair: OtherOpinion) -> str:
    return (
        f"{pair.better} would be ahead of {pair.other} by {pair.measure} with probability {pair.with_others:.2f} "
        f"instead of {pair.confidence:.2f}."
    )


def _why(pair: OtherOpinion) -> str:
    return (
        f"The expected difference would be {pair.difference_with_others:+z.4f} instead of {pair.difference:+z.4f}, "
        f"with a standard deviation of {pair.deviation_with_others:.4f} instead of {pair.deviation:.4f}."
    )
