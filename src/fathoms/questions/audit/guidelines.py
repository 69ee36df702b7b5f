"""The seven guidelines of LMC-depth (section 5), each a question that the files can answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fathoms.base.text import pluralise
from fathoms.base.tolerances import ROUNDING
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.order import Ties
from fathoms.experiment.scoring import topic_scores
from fathoms.experiment.topics import some
from fathoms.inference.agreement import Evaluated, agreement
from fathoms.inference.correlation import correlation
from fathoms.measures.base import Measure
from fathoms.measures.parse import in_trec_eval, trec_eval_name
from fathoms.questions.audit.findings import FEW_INVERSIONS, SAME_ORDER, Extended, Guideline, Judged, Status, as_percent
from fathoms.version import __version__

STANDARD = ("P", "ERR", "RBP", "AP", "nDCG", "Q")  # LMC-depth Table 2; those of trec_eval are standard too
STANDARD_DEPTHS = (1, 5, 10, 15, 20, 30, 100, 200, 500, 1000)  # trec_eval's, and the first rank
ENOUGH_JUDGED = 0.95
# What runs are, where contributing runs are listed and where they are assumed.
INSIDE = ("contributed", "are in the assumed pool")
OUTSIDE = ("did not contribute", "are not in the assumed pool")
Finding = tuple[Status, str]
NOT_RATED: Finding = ("not applicable", "None of the measures compares systems.")
ONE_RUN: Finding = ("not applicable", "One run has no order of systems.")


class Guide:
    """LMC-depth's seven guidelines (section 5), each turned into a question that the files can answer.

    `evidence` holds every run under the judgments looked at; `in_file_order` holds the same with ties as in the files.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        measures_given: bool,  # whether the user asked for the measures, or they are our defaults
        depth: int,
        evidence: Mapping[str, Evidence],
        in_file_order: Mapping[str, Evidence],
        contributing: Sequence[str],
        assumed: bool,  # inferred, not listed
        ties: Ties,
    ) -> None:
        self.measures = measures
        self.measures_given = measures_given
        self.depth = depth
        self.evidence = evidence
        self.in_file_order = in_file_order
        self.contributing = contributing
        self.assumed = assumed
        self.others = [name for name in evidence if name not in set(contributing)]
        self.ties = ties
        self.recall = [m for m in measures if m.based_on == "recall"]
        self.utility = [m for m in measures if m.based_on == "utility"]
        self.rated = [*self.recall, *self.utility]  # counts, such as NumRet, compare no systems
        self.judged = {name: Judged.of(run_evidence, 1, depth) for name, run_evidence in evidence.items()}
        self.extended = [self._extended(m) for m in self.rated if m.cutoff == "recall" or m.k is None or m.k > depth]

    def all(self) -> list[Guideline]:
        checks = (
            ("standard measures and depths", self.standard),
            ("depths fixed in advance", self.fixed),
            ("the computation described", self.described),
            ("ties", self.tied),
            ("extended evaluation", self.deeper),
            ("utility-based measures alongside", self.alongside),
            ("systems with unjudged documents", self.thinly_judged),
        )
        return [Guideline(number, name, *check()) for number, (name, check) in enumerate(checks, 1)]

    def standard(self) -> Finding:
        if not self.rated:
            return NOT_RATED
        if not self.measures_given:
            return "not applicable", f"No measure was asked for; ours are cut at the depth of the pool, {self.depth}."
        unusual = [m for m in self.rated if type(m).__name__ not in STANDARD and not in_trec_eval(m)]
        depths = [m for m in self.rated if m.k is not None and m.cutoff != "recall" and m.k not in STANDARD_DEPTHS]
        standards = []
        if unusual:
            standards.append(
                f"Not among the usual measures ({', '.join(STANDARD)} and trec_eval's): {listed(unusual)}."
            )
        if depths:
            standards.append(f"Not at a usual depth ({', '.join(map(str, STANDARD_DEPTHS))}): {listed(depths)}.")
        if standards:
            return "warn", " ".join(standards)
        return "pass", f"Usual measures, and usual depths where they are cut: {listed(self.rated)}."

    def fixed(self) -> Finding:
        """No file can say when a depth was chosen. But asking for several invites a choice; and would it matter?"""
        if not self.recall:
            return "not applicable", "No recall-based measure is asked for."
        could_be_cut = [m for m in self.recall if m.cutoff in ("optional", "required")]
        bare = [m.replace(k=1) for m in could_be_cut]
        several = [m.name for m, bare_name in zip(could_be_cut, bare, strict=True) if bare.count(bare_name) > 1]
        if several:
            return (
                "warn",
                f"{listed(several)} are one measure at several depths; choose one before you look at the results.",
            )
        cut = [m for m in could_be_cut if m.k is not None]
        if not cut:
            return "pass", f"There is no depth to choose, for none is cut: {listed(self.recall)}."
        if len(self.evidence) < 2:
            return ONE_RUN
        halved = [m for m in cut if int(m.k or 1) >= 2]
        if not halved:
            return "pass", f"Each measure has one depth: {listed(cut)}."
        tau, measure = min(
            ((self._tau(m, m.replace(k=int(m.k or 1) // 2)), m) for m in halved), key=lambda pair: pair[0]
        )
        half = int(measure.k or 1) // 2
        order = f"Kendall's tau between the orders by {measure.name} and at depth {half} is {tau:.3f}"
        if tau < SAME_ORDER:
            return "warn", (
                f"The order of the systems depends on the depth, so fix it before you look at the results: {order}."
            )
        return "pass", f"Each measure has one depth, and half of it changes the order little: {order}."

    def described(self) -> Finding:
        """A name must say how a measure was cut off: its variant stands there, or trec_eval defines it."""
        cut = [m for m in self.recall if m.k is not None and m.cutoff != "recall"]
        if not cut:
            return "not applicable", "No truncated recall-based measure is asked for."
        vague = [m for m in cut if "variant" in m.params and m.name == trec_eval_name(m) and "variant" not in m.name]
        if vague:
            # Only a default can be left out of a name.
            full = [f"{m.name} means variant={m.params['variant'].default}" for m in vague]
            return "warn", f"The name does not say how the measure is cut off: {'; '.join(full)}. Report the variant."
        setting = f"fathoms {__version__}, {', '.join(m.name for m in self.measures)}, --ties {self.ties}"
        return "pass", f'What to write: "{setting}".'

    def tied(self) -> Finding:
        if self.ties == "run":
            return "pass", "Ties keep the order of the run files (--ties run), as the paper suggests."
        if not self.rated:
            return NOT_RATED
        names = list(self.evidence)
        before = {m: self._scores(m) for m in self.rated}
        filed = list(self.in_file_order.values())
        after = {m: np.stack([topic_scores(run_evidence, m, "run") for run_evidence in filed]) for m in self.rated}
        moved = {
            names[i]
            for m in self.rated
            for i in np.flatnonzero(np.abs(before[m] - after[m]).max(axis=1) > ROUNDING).tolist()
        }
        if not moved:
            return "pass", f"Every run has the same scores under --ties {self.ties} as in the order of its file."
        share = f"{len(moved)} of {pluralise(len(names), 'run')}"
        changed = f"{share} would have other scores in the order of their files than under --ties {self.ties}"
        if len(names) < 2:
            return ONE_RUN[0], f"{ONE_RUN[1]} ({changed}.)"
        tau, measure = min(
            ((_order(before[m].mean(axis=1), after[m].mean(axis=1)), m) for m in self.rated), key=lambda pair: pair[0]
        )
        order = f"{changed}; Kendall's tau between the two orders of the systems is {tau:.3f} ({measure.name})"
        if tau < SAME_ORDER:
            return "warn", f"The ranking of the systems depends on the tie-breaking rule: {order}."
        return "pass", f"The tie-breaking rule changes the ranking of the systems little or not at all: {order}."

    def deeper(self) -> Finding:
        """k > d is to be avoided unless the collection has been shown to bear it: Fig. 4 and Table 7, computed here."""
        if not self.extended:
            return "pass", f"No measure reads deeper than the pool, {self.depth}."
        if len(self.evidence) < 2:
            names = listed([extended.measure for extended in self.extended])
            return ONE_RUN[0], f"{ONE_RUN[1]} Deeper than the pool, {self.depth}, reads {names}."
        bad = [extended for extended in self.extended if not extended.amenable]
        if not bad:
            lowest = min(extended.tau for extended in self.extended if extended.tau is not None)
            inverted = [extended.inversion for extended in self.extended if extended.inversion is not None]
            pairs = (
                f"at most {max(inverted):.1%} of the pairs that differ significantly there are inverted"
                if inverted
                else "no pair differs significantly there"
            )
            names = listed([extended.measure for extended in self.extended])
            return "pass", (
                f"Reading deeper than the pool changes the order of the systems little ({names}): against the order at "
                f"depth {self.depth} Kendall's tau is at least {lowest:.3f}, and {pairs}."
            )
        advice = [f"Cut at depth {self.depth} or justify: {listed([extended.measure for extended in bad])}."]
        thin = min(bad, key=lambda extended: 1.0 if extended.judged is None else extended.judged)
        if thin.judged is not None:
            judged = as_percent(thin.judged)
            advice.append(f"Of the documents that {thin.measure} reads deeper than the pool {judged} are judged.")
        uncut = [extended.measure for extended in bad if extended.tau is None]
        if uncut:
            advice.append(f"No cut-off is possible: {listed(uncut)}.")
        tau, measure = min(
            ((extended.tau, extended.measure) for extended in bad if extended.tau is not None), default=(1.0, "")
        )
        if tau < SAME_ORDER:
            advice.append(f"{measure} has Kendall's tau {tau:.3f} to itself cut at depth {self.depth}.")
        inversions = [(extended.inversion, extended.measure) for extended in bad if extended.inversion is not None]
        share, measure = max(inversions, default=(0.0, ""))
        if share > FEW_INVERSIONS:
            advice.append(f"{measure} inverts {share:.1%} of the pairs that differ significantly when cut there.")
        return "warn", " ".join(advice)

    def alongside(self) -> Finding:
        if not self.recall:
            return "not applicable", "No recall-based measure is asked for."
        if not self.utility:
            return (
                "warn",
                f"No utility-based measure stands beside {listed(self.recall)}; add one such as RBP(p=0.8).",
            )
        return "pass", f"Utility-based {listed(self.utility)} alongside recall-based {listed(self.recall)}."

    def thinly_judged(self) -> Finding:
        """How much of a run is unknown, where that starts, and what it could do to a score: the residual.

        The paper asks this of systems that did not contribute. Since a list of contributing runs may be wrong, those
        are checked too.
        """
        sentences, thin = [], False
        for kind, names in ((OUTSIDE[self.assumed], self.others), (INSIDE[self.assumed], self.contributing)):
            low = [name for name in names if self._share(name) < ENOUGH_JUDGED]
            if low:
                thin = True
                sentences.append(self._thin_said(kind, names, low))
        if thin:
            return "warn", " ".join(sentences)
        if not self.others:
            return "not applicable", f"There are only runs that {INSIDE[self.assumed]}."
        least = min(map(self._share, self.others))
        whose = "the only run" if len(self.others) == 1 else f"each of the {len(self.others)} runs"
        return "pass", (
            f"{as_percent(least)} or more of the first {self.depth} documents of {whose} that "
            f"{OUTSIDE[self.assumed]} is judged."
        )

    def _thin_said(self, kind: str, names: Sequence[str], low: Sequence[str]) -> str:
        least = min(low, key=lambda name: (self._share(name), name))
        first = np.concatenate([self.evidence[name].first_unjudged[self.evidence[name].lengths > 0] for name in low])
        rank = f"; their first unjudged document is at rank {first.mean():.1f} on average" if len(first) else ""
        few = few_judged(kind, len(low), len(names), self.depth, least, self._share(least))
        return f"{few}{rank}{self._residual(low)}."

    def _share(self, name: str) -> float:
        """The judged share of a run's first documents; of an empty run, all is judged."""
        share = self.judged[name].share
        return 1.0 if share is None else share

    def _residual(self, names: Sequence[str]) -> str:
        for measure in (*self.utility, *self.recall):
            if measure.range_is == "none" or measure.names_other_runs:
                continue
            widths = []
            for name in names:
                scores = measure.scores(self.evidence[name])
                if scores.low is not None and scores.high is not None:
                    widths.append(float((scores.high - scores.low).mean()))
            if widths:
                return (
                    f"; over every way of judging each one's own documents, the range of {measure.name} is "
                    f"{np.mean(widths):.4f} wide on average"
                )
        return ""

    def _scores(self, measure: Measure) -> Floats:
        """[system, topic]"""
        return np.stack([topic_scores(run_evidence, measure, self.ties) for run_evidence in self.evidence.values()])

    def _tau(self, measure: Measure, other: Measure) -> float:
        return _order(self._scores(measure).mean(axis=1), self._scores(other).mean(axis=1))

    def _extended(self, measure: Measure) -> Extended:
        stop = None if measure.k is None or measure.cutoff == "recall" else int(measure.k)
        share = Judged.total(Judged.of(self.evidence[name], self.depth + 1, stop) for name in self.contributing).share
        if measure.cutoff not in ("optional", "required"):
            return Extended(measure.name, stop, share)
        here, deep = self._scores(measure.replace(k=self.depth)), self._scores(measure)
        tau = _order(here.mean(axis=1), deep.mean(axis=1))
        if len(here) < 2 or here.shape[1] < 2:
            return Extended(measure.name, stop, share, tau)
        compared = agreement(Evaluated.of(here), Evaluated.of(deep))
        if not compared.discrimination_reference:
            return Extended(measure.name, stop, share, tau)
        return Extended(measure.name, stop, share, tau, compared.coverage, compared.inversion)


def few_judged(kind: str, low: int, n: int, depth: int, least: str, share: float) -> str:
    """How many runs have too little judged, and which has least."""
    everyone = "Both runs" if n == 2 else f"All {n} runs"
    whose = "The only run" if n == 1 else everyone if low == n else f"{low} of the {n} runs"
    kind = kind.replace("are ", "is ") if n == 1 else kind
    return (
        f"{whose} that {kind} {'has' if low == 1 else 'have'} less than "
        f"{ENOUGH_JUDGED:.0%} of the first {depth} documents judged (lowest: {least}, {as_percent(share)})"
    )


def _order(first: Floats, other: Floats) -> float:
    """Kendall's tau between two orders of systems; 1 if they are the same, however few or tied."""
    return 1.0 if np.allclose(first, other, rtol=0, atol=ROUNDING) or len(first) < 2 else correlation(first, other)


def listed(items: Sequence[Measure | str]) -> str:
    return some([item if isinstance(item, str) else item.name for item in items], 6)
