"""What of the five papers' conclusions holds on a collection, decided from the figures of their studies.

Each conclusion is in our words, with the section it is from and the rule that decides it. A rule reads tables by name
and column; where one is missing or holds too little, the conclusion is not testable, and the reason is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import atanh, sqrt, tanh
from typing import Any, Literal

from fathoms.papers.exhibits import Study
from fathoms.papers.printing import Column

Verdict = Literal["confirmed", "contradicted", "not testable"]
VERDICTS: tuple[Verdict, ...] = ("confirmed", "contradicted", "not testable")
TITLES = {
    "rm": "Ravana and Moffat (2010), estimates from incomplete judgments",
    "depth": "Lu, Moffat and Culpepper (2016), pooling and evaluation depth",
    "gain": "Lu, Moffat and Culpepper (2016), relevance as a function of rank",
    "ties": "Yang, Moffat and Turpin (2016), ties and how precise scores need to be",
    "rtc": "Carterette (2007), robust test collections",
}
SHALLOW, DEEP = 20, 50  # depths of pools: up to the first they are shallow, from the second on deep
ALIKE = (
    95.0  # percent of significant pairs still found, or tau in percent, from which two evaluations are as good as equal
)
CHANGED = 2.0  # percent of pairs that may change
ENOUGH_PAIRS = 50  # behind every verdict: those of 11 systems, or those in a bin


class NotTestable(Exception):
    """Why a conclusion cannot be tested on this study."""


@dataclass(frozen=True)
class Conclusion:
    paper: str  # the command's name
    section: str
    claim: str
    rule: str
    decide: Callable[[Tables], tuple[bool, str]]  # whether it holds, and the figures that say so


@dataclass(frozen=True)
class Finding:
    paper: str
    section: str
    claim: str
    verdict: Verdict
    figures: str
    rule: str


class Row(dict[str, Any]):
    """A row by column; what is not there makes a conclusion not testable."""

    def __missing__(self, name: str) -> Any:
        raise NotTestable(f"there is no column {name}")


class Tables:
    """The exhibits of a study as rows by column; asking for what is not there raises NotTestable."""

    def __init__(self, study: Study) -> None:
        self.study = study

    def share(self, percent: float) -> str:
        """A share of pairs, with an interval where the study says how many systems there are."""
        n = self.study.systems
        if not n:
            return f"{percent:.1f}%"
        low, high = wilson(percent / 100, n)
        return f"{percent:.1f}% [{100 * low:.0f}, {100 * high:.0f}]"

    def tau(self, tau: float) -> str:
        n = self.study.systems
        if n <= 4:
            return f"{tau:.3f}"
        low, high = kendall_interval(tau, n)
        return f"{tau:.3f} [{low:.2f}, {high:.2f}]"

    def rows(self, name: str) -> list[Row]:
        exhibits = [exhibit for exhibit in self.study.exhibits if exhibit.name == name]
        if not exhibits or not exhibits[0].rows:
            raise NotTestable(f"the study has no {name}")
        return [Row(zip(exhibits[0].columns, row, strict=True)) for row in exhibits[0].rows]

    def all_rows(self, name: str) -> list[Row]:
        """Of a table and its parts: table7, table7a, table7b, ..."""
        parts = [exhibit.name for exhibit in self.study.exhibits if re.fullmatch(rf"{name}[a-z]?", exhibit.name)]
        return [row for part in parts or [name] for row in self.rows(part)]


Z = 1.959964  # of 95%


def wilson(share: float, n: int) -> tuple[float, float]:
    """95% interval of a share of n cases (Wilson 1927)."""
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def kendall_interval(tau: float, n: int) -> tuple[float, float]:
    """95% interval of Kendall's tau of n cases, on Fisher's scale (Fieller, Hartley and Pearson 1957)."""
    if abs(tau) >= 1:
        return tau, tau
    half = Z * sqrt(0.437 / (n - 4))
    return tanh(atanh(tau) - half), tanh(atanh(tau) + half)


def value(row: Mapping[str, Any], name: str) -> float:
    if name not in row:
        raise NotTestable(f"there is no column {name}")
    if row[name] is None:
        about = ", ".join(cell for cell in row.values() if isinstance(cell, str))
        raise NotTestable(f"nothing could be measured{f' of {about}' if about else ''}")
    return float(row[name])


def only(rows: Sequence[Row], **where: Any) -> Row:
    matching = [row for row in rows if all(row.get(key) == wanted for key, wanted in where.items())]
    if not matching:
        raise NotTestable(f"there is no row for {', '.join(map(str, where.values()))}")
    return matching[0]


def conclusions(studies: Mapping[str, Study], reasons: Mapping[str, str] | None = None) -> list[Finding]:
    """All conclusions of the five papers; `reasons` says why a paper has no study here."""
    return [
        _finding(conclusion, studies.get(conclusion.paper), (reasons or {}).get(conclusion.paper, ""))
        for conclusion in CONCLUSIONS
    ]


def _finding(conclusion: Conclusion, study: Study | None, reason: str) -> Finding:
    verdict: Verdict = "not testable"
    try:
        if study is None:
            raise NotTestable(reason or "the paper was not studied")
        pairs = study.systems * (study.systems - 1) // 2
        if study.systems and pairs < ENOUGH_PAIRS:
            raise NotTestable(f"{study.systems} systems make {pairs} pairs, too few for a verdict ({ENOUGH_PAIRS})")
        holds, figures = conclusion.decide(Tables(study))
        verdict = "confirmed" if holds else "contradicted"
    except NotTestable as why:
        figures = str(why)
    return Finding(conclusion.paper, conclusion.section, conclusion.claim, verdict, figures, conclusion.rule)


def as_study(findings: Sequence[Finding], collection: str) -> Study:
    """The page: how many hold, then each paper's."""
    result = Study("What of the papers' conclusions holds on this collection", collection, short="conclusions")
    result.notes += [
        "Each conclusion is in our words. The rule beside it compares figures of this study; it is a test of "
        "significance only where it says so, and speaks of these systems, topics and judgments alone.",
        f"A verdict needs {ENOUGH_PAIRS} pairs of systems, so 11 systems. In brackets stand 95% intervals: of shares "
        "Wilson's, of τ by Fieller's variance, both with the systems and not their pairs as cases, since pairs share "
        "systems. Rules compare the figures; intervals that overlap say that other systems might turn them around.",
        "Not testable: the study lacks what the rule needs, or its intervals leave both answers open; the reason is "
        "given in the place of figures.",
    ]
    papers = list(dict.fromkeys(finding.paper for finding in findings))
    counts = [
        (
            paper,
            TITLES[paper],
            *(sum(finding.paper == paper and finding.verdict == v for finding in findings) for v in VERDICTS),
        )
        for paper in papers
    ]
    result.add(
        "table1",
        "conclusions by verdict",
        ["paper", "title", "confirmed", "contradicted", "not_testable"],
        counts,
        layout=[
            Column("Paper", "title"),
            Column("Confirmed", "confirmed"),
            Column("Contradicted", "contradicted"),
            Column("Not testable", "not_testable"),
        ],
    )
    for number, paper in enumerate(papers, 2):
        mine = [finding for finding in findings if finding.paper == paper]
        result.add(
            f"table{number}",
            TITLES[paper],
            ["section", "claim", "verdict", "figures", "rule"],
            [(finding.section, finding.claim, finding.verdict, finding.figures, finding.rule) for finding in mine],
            layout=[
                Column("Section", "section"),
                Column("Conclusion", "claim", wrapped=True),
                Column("Here", "verdict"),
                Column("Figures", "figures", wrapped=True),
                Column("Rule", "rule", wrapped=True),
            ],
        )
    return result


# -- Ravana and Moffat ------------------------------------------------------------------------------------------------

ADDING = ("P@10", "SDCG", "RBP")  # metrics that have all predictors


def _predicted(tables: Tables) -> dict[tuple[str, str], Row]:
    """Table 2 by metric and predictor, for the runs that did not contribute if there are any."""
    rows = tables.rows("table2")
    labels = list(dict.fromkeys(str(row.get("systems", "")) for row in rows))
    others = [label for label in labels if label.endswith("non")] or labels
    chosen = [row for row in rows if str(row.get("systems", "")) == others[0]]
    return {(_metric(row["metric"]), row["predictor"]): row for row in chosen}


def _metric(name: str) -> str:
    return "NDCG" if name.lower().startswith("ndcg") else re.split(r"[@(]", name)[0] if name != "P@10" else name


def _metrics(predicted: Mapping[tuple[str, str], Any], predictors: Sequence[str]) -> list[str]:
    there = [name for name in ADDING if all((name, predictor) in predicted for predictor in predictors)]
    if not there:
        raise NotTestable("no metric has all of these predictors")
    return there


def _simplistic_separates(tables: Tables) -> tuple[bool, str]:
    predicted = _predicted(tables)
    others = ("interpolated", "smoothed")
    holds, differ, words = True, False, []
    for name in _metrics(predicted, ("simplistic", *others)):
        separated = [value(predicted[name, predictor], "separability_few") for predictor in ("simplistic", *others)]
        holds &= separated[0] == max(separated)
        differ |= len(set(separated)) > 1
        shown = list(map(tables.share, separated))
        words.append(f"{name} {shown[0]} (interpolated {shown[1]}, smoothed {shown[2]})")
    if not differ:
        raise NotTestable("all predictors separate the same number of pairs")
    return holds, "; ".join(words)


def _interpolated_reverses_less(tables: Tables) -> tuple[bool, str]:
    predicted = _predicted(tables)
    holds, some, words = True, False, []
    for name in _metrics(predicted, ("simplistic", "interpolated")):
        simple, other = (value(predicted[name, predictor], "reversals") for predictor in ("simplistic", "interpolated"))
        holds &= other < simple
        some |= max(other, simple) > 0
        words.append(f"{name} {tables.share(other)} and {tables.share(simple)}")
    if not some:
        raise NotTestable("nothing is reversed")
    return holds, "; ".join(words)


def _deep_metrics_separate(tables: Tables) -> tuple[bool, str]:
    predicted = _predicted(tables)
    holds, differ, words = True, False, []
    for which, word in (("few", "few judgments"), ("all", "all judgments")):
        p10, ap, ndcg = (value(_row(predicted, name), f"separability_{which}") for name in ("P@10", "AP", "NDCG"))
        holds &= p10 <= ap <= ndcg
        differ |= len({p10, ap, ndcg}) > 1
        words.append(f"{word}: P@10 {tables.share(p10)}, AP {tables.share(ap)}, NDCG {tables.share(ndcg)}")
    if not differ:
        raise NotTestable("all metrics separate the same number of pairs")
    return holds, "; ".join(words)


def _row(predicted: Mapping[tuple[str, str], Row], name: str) -> Row:
    if (name, "simplistic") not in predicted:
        raise NotTestable(f"there is no row for {name}")
    return predicted[name, "simplistic"]


def _deep_metrics_reverse(tables: Tables) -> tuple[bool, str]:
    predicted = _predicted(tables)
    ap, ndcg = (value(_row(predicted, name), "reversals") for name in ("AP", "NDCG"))
    rates = {
        name: value(predicted[name, "interpolated"], "reversals") for name in _metrics(predicted, ("interpolated",))
    }
    least = max(rates.values())
    if not max(ap, ndcg, least):
        raise NotTestable("nothing is reversed")
    words = ", ".join(f"{name} {tables.share(rate)}" for name, rate in rates.items())
    return min(ap, ndcg) > least, f"AP {tables.share(ap)}, NDCG {tables.share(ndcg)}; interpolated: {words}"


# -- Lu, Moffat and Culpepper on depth --------------------------------------------------------------------------------


def _covered(tables: Tables, table: str, measures: Sequence[str], is_pool: Callable[[int], bool], which: str) -> Any:
    """Coverage at the greatest k past the pool, by pool and measure."""
    rows = [row for row in tables.all_rows(table) if is_pool(int(value(row, "d")))]
    pools = list(dict.fromkeys((row["collection"], row["d"]) for row in rows))
    coverage = {}
    for name, d in pools:
        mine = [row for row in rows if (row["collection"], row["d"]) == (name, d)]
        last = max(int(value(row, "k")) for row in mine)
        discriminations = [
            max((value(r, "discrimination") for r in mine if r["measure"] == m), default=0.0) for m in measures
        ]
        if not all(discriminations):
            raise NotTestable(f"{name}, d = {d}: no pair differs significantly")
        if last > d:
            coverage[name, d, last] = [value(only(mine, k=last, measure=measure), "coverage") for measure in measures]
    if not coverage:
        raise NotTestable(f"there is no {which} pool with runs that go deeper")
    return coverage


def _list_coverage(tables: Tables, coverage: Mapping[Any, Sequence[float]], labels: Sequence[str]) -> str:
    return "; ".join(
        f"{name}, d = {d}, k = {k}: "
        + ", ".join(f"{label} {tables.share(x)}" for label, x in zip(labels, values, strict=True))
        for (name, d, k), values in coverage.items()
    )


def _shallow(d: int) -> bool:
    return d <= SHALLOW


def _recall_shallow(tables: Tables) -> tuple[bool, str]:
    coverage = _covered(tables, "table7", ("AP(variant=b)", "Q"), _shallow, "shallow")
    return all(max(values) < ALIKE for values in coverage.values()), _list_coverage(tables, coverage, ("AP", "Q"))


def _recall_deep(tables: Tables) -> tuple[bool, str]:
    coverage = _covered(tables, "table7", ("AP(variant=b)", "Q"), lambda d: d >= DEEP, "deep")
    return all(min(values) >= ALIKE for values in coverage.values()), _list_coverage(tables, coverage, ("AP", "Q"))


def _utility_shallow(tables: Tables) -> tuple[bool, str]:
    coverage = _covered(tables, "table7", ("ERR", "RBP(p=0.8)"), _shallow, "shallow")
    return all(min(values) >= ALIKE for values in coverage.values()), _list_coverage(
        tables, coverage, ("ERR", "RBP(0.8)")
    )


def _condensing(tables: Tables) -> tuple[bool, str]:
    plain = _covered(tables, "table7", ("AP(variant=b)", "Q"), _shallow, "shallow")
    without = _covered(tables, "table8", ("AP(variant=b,judged_only=True)", "Q(judged_only=True)"), _shallow, "shallow")
    both = [pool for pool in plain if pool in without and min(plain[pool]) < ALIKE]
    if not both:
        raise NotTestable(f"nothing to mend: {_list_coverage(tables, plain, ('AP', 'Q'))}")
    holds = all(a <= b for pool in both for a, b in zip(without[pool], plain[pool], strict=True))
    words = _list_coverage(tables, {pool: without[pool] for pool in both}, ("AP", "Q"))
    return holds, f"condensed: {words}; plain: {_list_coverage(tables, plain, ('AP', 'Q'))}"


def _volatile(tables: Tables) -> tuple[bool, str]:
    means = {}
    for figure, measures in (("fig5", ("AP(variant=b)", "nDCG")), ("fig6", ("ERR", "RBP(p=0.95)"))):
        rows = tables.rows(figure)
        for name in measures:
            taus = [value(r, "tau") for r in rows if r["measure"] == name and r["depth"] < r["other_depth"]]
            if not taus:
                raise NotTestable(f"{figure} has no two depths of {name}")
            means[name] = sum(taus) / len(taus)
    recall, utility = [means[name] for name in ("AP(variant=b)", "nDCG")], [means[n] for n in ("ERR", "RBP(p=0.95)")]
    labels = ("AP", "NDCG", "ERR", "RBP(0.95)")
    words = ", ".join(f"{label} {tables.tau(x)}" for label, x in zip(labels, (*recall, *utility), strict=True))
    return max(recall) < min(utility), f"mean τ: {words}"


def _left_out(tables: Tables) -> tuple[bool, str]:
    rows = tables.rows("table5a")
    holds, words = True, []
    for name in dict.fromkeys(row["collection"] for row in rows):
        pools = sorted({int(row["d"]) for row in rows if row["collection"] == name})
        if len(pools) < 2:
            continue
        for measure in dict.fromkeys(row["measure"] for row in rows):
            few, all_ = (
                value(only(rows, collection=name, d=d, measure=measure), "change_percent")
                for d in (pools[0], pools[-1])
            )
            holds &= few < all_
            words.append(f"{name}, {measure}: {few:+.2f}% at d = {pools[0]}, {all_:+.2f}% at d = {pools[-1]}")
    if not words:
        raise NotTestable("there is only one pool, and it is not deep enough to be cut")
    return holds, "; ".join(words)


# -- Lu, Moffat and Culpepper on gain ---------------------------------------------------------------------------------

MODELS = ("static", "constant", "linear", "zipf", "weibull")


def _fits(tables: Tables) -> Row:
    """Table 2 where the most is judged."""
    return max(tables.rows("table2"), key=lambda row: value(row, "depth"))


def _weibull_fits(tables: Tables) -> tuple[bool, str]:
    row = _fits(tables)
    errors = {name: value(row, name) for name in MODELS}
    words = ", ".join(f"{name} {error:.4f}" for name, error in errors.items())
    return min(errors, key=lambda name: errors[name]) == "weibull", f"depth {value(row, 'depth'):g}: {words}"


def _weibull_is_hybrid(tables: Tables) -> tuple[bool, str]:
    row = _fits(tables)
    if "weibull_mark" not in row:
        raise NotTestable("there is no test of Weibull against the hybrid")
    pair = (value(row, name) for name in ("weibull", "hybrid"))
    words = "Weibull {:.4f}, hybrid {:.4f}".format(*pair)
    holds = bool(row["weibull_mark"])
    return holds, f"{words}, {'no significant difference' if holds else 'significantly different'}"


def _extrapolations(tables: Tables) -> list[tuple[float, dict[str, float]]]:
    """Table 3: errors of each method, from the shallowest pool on."""
    names = ("linear", "weibull", "RM")
    return sorted((value(row, "depth"), {name: value(row, name) for name in names}) for row in tables.rows("table3"))


def _beats_interpolation(tables: Tables) -> tuple[bool, str]:
    depth, errors = _extrapolations(tables)[0]
    words = ", ".join(f"{name} {error:.4f}" for name, error in errors.items())
    return max(errors["linear"], errors["weibull"]) <= errors["RM"], f"pool of depth {depth:g}: {words}"


def _linear_as_good(tables: Tables) -> tuple[bool, str]:
    by_depth = _extrapolations(tables)
    holds = all(errors["linear"] <= 1.1 * errors["weibull"] + 0.001 for _, errors in by_depth)
    return holds, "; ".join(f"depth {d:g}: linear {e['linear']:.4f}, Weibull {e['weibull']:.4f}" for d, e in by_depth)


def _needs_observations(tables: Tables) -> tuple[bool, str]:
    by_depth = [(depth, errors["weibull"]) for depth, errors in _extrapolations(tables)]
    if len(by_depth) < 2:
        raise NotTestable("there is only one depth to extrapolate from")
    holds = all(b <= a + 1e-9 for (_, a), (_, b) in pairwise(by_depth))
    return holds, "; ".join(f"depth {depth:g}: {error:.4f}" for depth, error in by_depth)


# -- Yang, Moffat and Turpin ------------------------------------------------------------------------------------------


def _order_survives_ties(tables: Tables) -> tuple[bool, str]:
    taus = {row["rule"]: value(row, "tau") for row in tables.rows("tableB") if row["rule"] != "trec"}
    if not taus:
        raise NotTestable("there is no other way of breaking ties")
    words = ", ".join(f"{rule.replace('_', ' ')} {tables.tau(tau)}" for rule, tau in taus.items())
    return min(taus.values()) >= ALIKE / 100, f"τ with trec_eval's order: {words}"


def _banding_keeps_scores(tables: Tables) -> tuple[bool, str]:
    means = {row["measure"]: value(row, "mean") for row in tables.rows("fig3") if str(row["rho"]) == "1.4"}
    if not means:
        raise NotTestable("there are no bands of 1.4")
    words = ", ".join(f"{name} {mean:+.4f}" for name, mean in means.items())
    return max(abs(mean) for mean in means.values()) <= 0.01, f"mean loss at ρ = 1.4: {words}"


def _fine_bands(tables: Tables) -> tuple[bool, str]:
    total = tables.study.systems
    rows = [r for r in tables.rows("table3") if r["percent"] == 99 and str(r["rho"]) in ("1.1", "1.2")]
    names = [name for name in (rows or [Row()])[0] if name not in ("percent", "rho")]
    if not names:
        raise NotTestable("there are no bands of 1.1 and 1.2")
    words = "; ".join(f"ρ = {r['rho']}: " + ", ".join(f"{name} {r[name]:g}" for name in names) for r in rows)
    return all(r[name] == total for r in rows for name in names), f"of {total} systems, {words}"


def _banding_tells_apart(tables: Tables) -> tuple[bool, str]:
    rows = [row for row in tables.rows("tableA") if str(row["rho"]) == "1.4"]
    if not rows:
        raise NotTestable("there are no bands of 1.4")
    changed = {row["measure"]: value(row, "false_positives") + value(row, "false_negatives") for row in rows}
    words = ", ".join(f"{name} {tables.share(share)}" for name, share in changed.items())
    return max(changed.values()) <= CHANGED, f"pairs whose significance changes at ρ = 1.4: {words}"


# -- Carterette -------------------------------------------------------------------------------------------------------


def _interval(tables: Tables, method: str, figure: str) -> tuple[float, float, float]:
    rows = [row for row in tables.rows("table2b") if row["method"] == method and row["figure"] == figure]
    if not rows:
        raise NotTestable(f"the study has no {method}")
    return value(rows[0], "value"), value(rows[0], "low"), value(rows[0], "high")  # all collections, or the only one


def _shown(figures: tuple[float, float, float], digits: int = 2) -> str:
    mean, low, high = figures
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _mtc_overconfident(tables: Tables) -> tuple[bool, str]:
    figures = _interval(tables, "MTC", "W")
    if figures[1] < 0 < figures[2]:
        raise NotTestable(f"W of MTC is {_shown(figures)}, which leaves both open; more trials decide (--trials)")
    return figures[2] <= 0, f"W of MTC {_shown(figures)}"


def _rtc_trusted(tables: Tables) -> tuple[bool, str]:
    holds, words = True, []
    for row in tables.rows("table2"):
        if row["method"] == "RTC" and row["confidence"] != "all" and value(row, "pairs") >= ENOUGH_PAIRS:
            least = 99.0 if row["confidence"] == "1.0" else 100 * float(str(row["confidence"]).split(" - ")[0])
            accuracy = value(row, "accuracy")
            error = 100 * (least / 100 * (1 - least / 100) / value(row, "pairs")) ** 0.5
            holds &= accuracy >= least - 2 * error
            low, high = wilson(accuracy / 100, int(value(row, "pairs")))
            words.append(f"{row['confidence']}: {accuracy:.1f}% [{100 * low:.0f}, {100 * high:.0f}]")
    if not words:
        raise NotTestable(f"no bin of confidence has {ENOUGH_PAIRS} pairs; more trials decide (--trials)")
    return holds, "accuracy at confidence " + ", ".join(words)


def _rtc_closer(tables: Tables) -> tuple[bool, str]:
    rtc, mtc = _interval(tables, "RTC", "W"), _interval(tables, "MTC", "W")
    words = f"W of RTC {_shown(rtc)}, of MTC {_shown(mtc)}"
    if rtc[1] <= mtc[2] and mtc[1] <= rtc[2]:
        raise NotTestable(f"{words}: the intervals overlap; more trials decide (--trials)")
    return abs(rtc[0]) < abs(mtc[0]), words


def _rtc_test(tables: Tables, figure: str, test: str, less: bool) -> tuple[bool, str]:
    """Whether RTC has less, or more, than MTC."""
    rows = [row for row in tables.rows("tableB") if (row["method"], row["other"]) == ("MTC", "RTC")]
    row = only(rows, figure=figure, test=test)
    difference, p = value(row, "difference"), value(row, "p")
    digits = 3 if figure == "tau" else 0
    words = f"MTC less RTC {difference:+.{digits}f}, p = {p:.2g}"
    if p >= 0.05:
        raise NotTestable(f"{words}: no significant difference in these trials")
    if difference == 0:  # a median can be 0 though ranks differ
        raise NotTestable(f"{words}: the median difference is 0")
    return (difference > 0) == less, words


def _fewer_judgments(tables: Tables) -> tuple[bool, str]:
    return _rtc_test(tables, "judged", "wilcoxon", less=True)


def _better_order(tables: Tables) -> tuple[bool, str]:
    return _rtc_test(tables, "tau", "ttest_rel", less=False)


def _unlike_pairs(tables: Tables) -> tuple[bool, str]:
    name = "accuracy of pairs with less than 10% in common"
    rows = [row for row in tables.rows("tableA") if row["figure"] == name]
    rtc, mtc, pooling = (value(only(rows, method=method), "value") for method in ("RTC", "MTC", "IP"))
    words = f"RTC {tables.share(rtc)}, MTC {tables.share(mtc)}, incremental pooling {tables.share(pooling)}"
    return rtc > max(mtc, pooling), words


# -- all of them ------------------------------------------------------------------------------------------------------


def _conclusions() -> Iterator[Conclusion]:
    def of(paper: str, *each: tuple[str, str, str, Callable[[Tables], tuple[bool, str]]]) -> Iterator[Conclusion]:
        for section, claim, rule, decide in each:
            yield Conclusion(paper, section, claim, rule, decide)

    yield from of(
        "rm",
        (
            "4, 5",
            "On few judgments, taking unjudged documents as not relevant separates the most pairs of systems.",
            "Table 2, few judgments: the simplistic predictor separates at least as many pairs as the interpolated and "
            "the smoothed one, for every metric.",
            _simplistic_separates,
        ),
        (
            "4, 5",
            "Interpolated scores lead to fewer reversals than simplistic ones.",
            "Table 2: reversals of the interpolated predictor below those of the simplistic one, for every metric.",
            _interpolated_reverses_less,
        ),
        (
            "4",
            "AP separates more pairs than P@10, and NDCG more than AP, whatever the number of judgments.",
            "Table 2, simplistic: P@10 ≤ AP ≤ NDCG on few and on all judgments.",
            _deep_metrics_separate,
        ),
        (
            "4",
            "The deep metrics, AP and NDCG, have a relatively high rate of reversals.",
            "Table 2: reversals of AP and of NDCG above those of every metric with interpolated scores.",
            _deep_metrics_reverse,
        ),
    )
    yield from of(
        "depth",
        (
            "4, 5",
            "On a shallow pool, evaluating recall-based measures deeper than the pool changes which pairs differ.",
            f"Table 7, pools to depth {SHALLOW}, greatest k: coverage of AP and of Q below {ALIKE:g}%.",
            _recall_shallow,
        ),
        (
            "4",
            "On a deep pool, evaluating deeper than the pool does little harm.",
            f"Table 7, pools from depth {DEEP} on, greatest k: coverage of AP and of Q at least {ALIKE:g}%.",
            _recall_deep,
        ),
        (
            "4, 5",
            "Utility-based measures stay as they are when evaluated deeper than a shallow pool.",
            f"Table 7, pools to depth {SHALLOW}, greatest k: coverage of ERR and of RBP(0.8) at least {ALIKE:g}%.",
            _utility_shallow,
        ),
        (
            "4",
            "Condensing the runs does not mend evaluation deeper than a shallow pool.",
            f"Tables 7 and 8, pools to depth {SHALLOW}, greatest k: AP and Q cover no more on condensed runs, where "
            f"they cover less than {ALIKE:g}% on plain ones.",
            _condensing,
        ),
        (
            "4, 5",
            "Another k is another measure: orderings by recall-based measures change more with k.",
            "Figs. 5 and 6: mean τ over all pairs of depths lower for AP and for NDCG than for ERR and for RBP(0.95).",
            _volatile,
        ),
        (
            "4",
            "Runs that did not contribute are hurt more by a shallow pool than by a deep one.",
            "Table 5a: a run's mean loss of score when left out is greater in the shallower pool, for every measure.",
            _left_out,
        ),
    )
    yield from of(
        "gain",
        (
            "4",
            "Of the five models of gain by rank, Weibull's fits best.",
            "Table 2, greatest depth: the least RMSE of the five.",
            _weibull_fits,
        ),
        (
            "4",
            "Choosing the best model topic by topic is hardly better than Weibull's alone.",
            "Table 2, greatest depth: no significant difference (paired t-test over topics, 0.05).",
            _weibull_is_hybrid,
        ),
        (
            "4, 5",
            "Extrapolating gains estimates scores better than interpolating over the residual (RM).",
            "Table 3, shallowest pool: errors of the linear and the Weibull model no greater than RM's.",
            _beats_interpolation,
        ),
        (
            "4",
            "For extrapolation the linear model is as reliable as Weibull's.",
            "Table 3, every depth: the linear model's error at most a tenth (and 0.001) above Weibull's.",
            _linear_as_good,
        ),
        (
            "4",
            "Extrapolation needs enough observations: errors fall as the pool gets deeper.",
            "Table 3: Weibull's error falls, or stays, from each depth to the next.",
            _needs_observations,
        ),
    )
    yield from of(
        "ties",
        (
            "3, 5",
            "How ties are broken hardly changes the order of the systems.",
            f"Table B: τ with trec_eval's order at least {ALIKE / 100:g} under every rule, best and worst case "
            "included.",
            _order_survives_ties,
        ),
        (
            "4",
            "Scores change little on average when documents are tied in bands.",
            "Fig. 3, ρ = 1.4: mean change at most 0.01 for every measure.",
            _banding_keeps_scores,
        ),
        (
            "4",
            "With fine bands no system is notably worse.",
            "Table 3, ρ up to 1.2: every system keeps 99% of its score (one-tailed t-test), by every measure.",
            _fine_bands,
        ),
        (
            "4, 5",
            "Bands hardly change which pairs of systems differ significantly.",
            f"Table A, ρ = 1.4: false positives and negatives at most {CHANGED:g}% of the pairs together, for every "
            "measure.",
            _banding_tells_apart,
        ),
    )
    yield from of(
        "rtc",
        (
            "5, 6",
            "With even chances of relevance (MTC), confidence in new systems is far too high.",
            "Table 2b: the 95% interval of MTC's W below 0.",
            _mtc_overconfident,
        ),
        (
            "5, 6",
            "With relevance estimated by expert aggregation (RTC), confidence can be trusted.",
            f"Table 2: no bin of {ENOUGH_PAIRS} pairs or more has an accuracy below its least confidence by more than "
            "two standard errors (pairs of one trial are not independent, so these are too small).",
            _rtc_trusted,
        ),
        (
            "5",
            "RTC's W is closer to 0 than MTC's.",
            "Table 2b: |W| smaller for RTC, and the 95% intervals do not overlap.",
            _rtc_closer,
        ),
        (
            "5",
            "RTC needs fewer judgments than MTC.",
            "Table B: median difference above 0, Wilcoxon's test, p < 0.05.",
            _fewer_judgments,
        ),
        (
            "5",
            "RTC orders the systems better than MTC.",
            "Table B: mean difference of τ below 0, paired t-test, p < 0.05.",
            _better_order,
        ),
        (
            "5",
            "RTC does better than MTC and incremental pooling on systems with little in common.",
            "Table A: accuracy on pairs with less than 10% in common above that of both.",
            _unlike_pairs,
        ),
    )


CONCLUSIONS = tuple(_conclusions())
