"""The seven guidelines of LMC-depth (section 5), each a question that the files can answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fathoms.comparison.agreement import Evaluated, agreement
from fathoms.comparison.audit_findings import (
    SAME_ORDER,
    Extended,
    Guideline,
    Spread,
    Status,
)
from fathoms.comparison.audit_leave_out import topic_scores
from fathoms.comparison.correlation import TIE, correlation
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.order import Ties
from fathoms.measures.base import Measure
from fathoms.measures.parse import in_trec_eval, trec_eval_name
from fathoms.text import pluralise
from fathoms.version import __version__

STANDARD = ("P", "ERR", "RBP", "AP", "nDCG", "Q")  # LMC-depth Table 2; those of trec_eval are standard too
STANDARD_DEPTHS = (1, 5, 10, 15, 20, 30, 100, 200, 500, 1000)  # trec_eval's, and the first rank
ENOUGH_JUDGED = 0.95


class Guide:
    """LMC-depth's seven guidelines (section 5), each turned into a question that the files can answer.

    `evidence` holds every run under the judgments looked at; `in_file_order` the same with ties as in the files.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        depth: int,
        evidence: Mapping[str, Evidence],
        in_file_order: Mapping[str, Evidence],
        contributing: Sequence[str],
        ties: Ties,
    ) -> None:
        self.measures = measures
        self.depth = depth
        self.evidence = evidence
        self.in_file_order = in_file_order
        self.contributing = contributing
        self.others = [name for name in evidence if name not in set(contributing)]
        self.ties = ties
        self.recall = [m for m in measures if m.based_on == "recall"]
        self.utility = [m for m in measures if m.based_on == "utility"]
        self.rated = [*self.recall, *self.utility]  # counts, such as NumRet, compare no systems
        self.extended = [self._extended(m) for m in self.rated if m.cutoff == "recall" or m.k is None or m.k > depth]

    def all(self) -> list[Guideline]:
        checks = (
            ("standard measures and depths", self.standard),
            ("depths fixed in advance", self.fixed),
            ("the computation described", self.described),
            ("ties", self.tied),
            ("extended evaluation", self.deeper),
            ("utility-based measures alongside", self.alongside),
            ("systems that did not contribute", self.outsiders),
        )
        return [Guideline(number, name, *check()) for number, (name, check) in enumerate(checks, 1)]

    def standard(self) -> tuple[Status, str]:
        odd = [
            m.name
            for m in self.rated
            if (type(m).__name__ not in STANDARD and not in_trec_eval(m))
            or (m.k is not None and m.cutoff != "recall" and m.k not in STANDARD_DEPTHS)
        ]
        if odd:
            depths = ", ".join(map(str, STANDARD_DEPTHS))
            return "warn", f"Few others report {listed(odd)}; usual depths are {depths}."
        if not self.rated:
            return "not applicable", "No measure that compares systems is asked for."
        return "pass", f"{listed(self.rated)}: the metrics and the depths are those that others report."

    def fixed(self) -> tuple[Status, str]:
        """When a depth was chosen no file can say. Asking for several invites a choice; and does it matter?"""
        if not self.recall:
            return "not applicable", "No recall-based measure is asked for."
        cut = [m for m in self.recall if m.cutoff in ("optional", "required") and m.k is not None]
        without = [m.replace(k=1) for m in cut]
        several = [m.name for m, bare in zip(cut, without, strict=True) if without.count(bare) > 1]
        if several:
            return (
                "warn",
                f"{listed(several)} are one measure at several depths; choose one before you look at results.",
            )
        taus = [(self._tau(m, m.replace(k=int(m.k or 1) // 2)), m) for m in cut if (m.k or 0) >= 2]
        if not taus:
            return "pass", f"{listed(self.recall)} are not cut, so there is no depth to choose."
        tau, measure = min(taus, key=lambda pair: pair[0])
        order = f"against half the depth of {measure.name} the order of the systems has Kendall's tau {tau:.3f}"
        if tau < SAME_ORDER:
            return "warn", f"The depth decides who is ahead ({order}), so it must have been fixed in advance."
        return "pass", f"Each measure has one depth, and it matters little: {order}."

    def described(self) -> tuple[Status, str]:
        """A name must say how a measure was cut off: its variant stands there, or trec_eval defines it."""
        cut = [m for m in self.recall if m.k is not None]
        if not cut:
            return "not applicable", "No truncated recall-based measure is asked for."
        vague = [m for m in cut if "variant" in m.params and m.name == trec_eval_name(m) and "variant" not in m.name]
        if vague:
            # Only a default can be left out of a name.
            full = [f"{m.name} means variant={m.params['variant'].default}" for m in vague]
            return "warn", f"Readers cannot know how it was cut off: {'; '.join(full)}. Say so where you report it."
        said = f"fathoms {__version__}, {listed(self.measures)}, --ties {self.ties}"
        return "pass", f'What to write: "{said}".'

    def tied(self) -> tuple[Status, str]:
        if self.ties == "run":
            return "pass", "Ties keep the order of the run files (--ties run), as the paper suggests."
        names = list(self.evidence)
        before = {m: self._scores(m) for m in self.rated}
        filed = list(self.in_file_order.values())
        after = {m: np.stack([topic_scores(one, m, "run") for one in filed]) for m in self.rated}
        moved = {
            names[i]
            for m in self.rated
            for i in np.flatnonzero(np.abs(before[m] - after[m]).max(axis=1) > TIE).tolist()
        }
        if not moved:
            return "pass", f"The order of the files and --ties {self.ties} give every run the same scores."
        taus = [(_order(before[m].mean(axis=1), after[m].mean(axis=1)), m) for m in self.rated]
        tau, measure = min(taus, key=lambda pair: pair[0])
        return ("pass" if tau >= SAME_ORDER else "warn"), (
            f"{len(moved)} of {len(names)} runs have other scores under --ties {self.ties} than in the order of their "
            f"files, and the two orders of the systems have Kendall's tau {tau:.3f} ({measure.name})."
        )

    def deeper(self) -> tuple[Status, str]:
        """k > d is to be avoided unless the collection has been shown to bear it: Fig. 4 and Table 7, done here."""
        if not self.extended:
            return "pass", f"No measure reads below the depth of the pool, {self.depth}."
        bad = [one for one in self.extended if not one.amenable]
        if not bad:
            worst = min(self.extended, key=lambda one: one.tau or 0.0)
            inverted = max(one.inversion or 0.0 for one in self.extended)
            names = listed([one.measure for one in self.extended])
            return "pass", (
                f"Below the depth of the pool, {self.depth}, the systems stay in order ({names}): Kendall's tau is at "
                f"least {worst.tau:.3f}, and at most {inverted:.1%} of the significant pairs are inverted."
            )
        worst = min(bad, key=lambda one: -1.0 if one.tau is None else one.tau)
        shown = (
            "cannot be cut there"
            if worst.tau is None
            else f"has Kendall's tau {worst.tau:.3f} with itself at that depth, and {worst.inversion:.1%} of the "
            "significant pairs inverted"
        )
        return "warn", (
            f"To be cut at the depth of the pool, {self.depth}: {listed([one.measure for one in bad])}; below it "
            f"{worst.judged:.0%} of the documents are judged, and {worst.measure} {shown}."
        )

    def alongside(self) -> tuple[Status, str]:
        if not self.recall:
            return "not applicable", "No recall-based measure is asked for."
        if not self.utility:
            return (
                "warn",
                f"Nothing stands beside {listed(self.recall)}; add a utility-based measure such as RBP(p=0.8).",
            )
        return "pass", f"Alongside {listed(self.recall)}: {listed(self.utility)}."

    def outsiders(self) -> tuple[Status, str]:
        """How much of such a run is unknown, where that starts, and what it could do to a score: the residual."""
        if not self.others:
            return "not applicable", "All given runs are taken to have contributed to the pool."
        judged = retrieved = 0
        first = []
        for name in self.others:
            evidence = self.evidence[name]
            judged += int((evidence.codes[:, : self.depth] >= JUDGED).sum())
            retrieved += int((evidence.codes[:, : self.depth] != PADDING).sum())
            first.append(evidence.first_unjudged[evidence.lengths > 0])
        share = judged / max(retrieved, 1)
        rank = Spread.of(np.concatenate(first))
        return ("pass" if share >= ENOUGH_JUDGED else "warn"), (
            f"{share:.1%} of the top {self.depth} of the {pluralise(len(self.others), 'run')} that did not contribute "
            f"is judged; the first unjudged document has mean rank {0.0 if rank is None else rank.mean:.1f}"
            f"{self._residual()}."
        )

    def _residual(self) -> str:
        for measure in (*self.utility, *self.recall):
            if measure.range_is == "none" or measure.names_other_runs:
                continue
            widths = []
            for name in self.others:
                scores = measure.scores(self.evidence[name])
                if scores.low is not None and scores.high is not None:
                    widths.append(float((scores.high - scores.low).mean()))
            if widths:
                return f"; the range of their {measure.name} is {np.mean(widths):.4f} wide on average"
        return ""

    def _scores(self, measure: Measure) -> Floats:
        """[system, topic]"""
        return np.stack([topic_scores(one, measure, self.ties) for one in self.evidence.values()])

    def _tau(self, one: Measure, other: Measure) -> float:
        return _order(self._scores(one).mean(axis=1), self._scores(other).mean(axis=1))

    def _extended(self, measure: Measure) -> Extended:
        below = judged = 0
        stop = None if measure.k is None or measure.cutoff == "recall" else int(measure.k)
        for name in self.contributing:
            codes = self.evidence[name].codes[:, self.depth : stop]
            below += int((codes != PADDING).sum())
            judged += int((codes >= JUDGED).sum())
        share = judged / max(below, 1)
        if measure.cutoff not in ("optional", "required"):
            return Extended(measure.name, stop, share)
        here, deep = self._scores(measure.replace(k=self.depth)), self._scores(measure)
        tau = _order(here.mean(axis=1), deep.mean(axis=1))
        if len(here) < 2 or here.shape[1] < 2:
            return Extended(measure.name, stop, share, tau, 1.0, 0.0)
        compared = agreement(Evaluated.of(here), Evaluated.of(deep))
        return Extended(measure.name, stop, share, tau, compared.coverage, compared.inversion)


def _order(one: Floats, other: Floats) -> float:
    """Kendall's tau between two orders of systems; 1 where they are the same, be they ever so few or tied."""
    return 1.0 if np.allclose(one, other, rtol=0, atol=TIE) or len(one) < 2 else correlation(one, other)


def listed(items: Sequence[Measure | str], most: int = 6) -> str:
    names = [item if isinstance(item, str) else item.name for item in items]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
