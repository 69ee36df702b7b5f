"""What an audit of labels says in words, the answer first.

Intervals are over topics. Everything here compares labels with the human judgments there are; documents that nobody
judged play no part, except in the line that counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.base.text import enumerated, p_words, pluralise
from fathoms.inference.grade_agreement import Estimate
from fathoms.questions.labels.budget import DEPTH, NORMAL
from fathoms.questions.labels.circularity import FEWEST_RUNS
from fathoms.questions.labels.runs import Effect

if TYPE_CHECKING:
    from fathoms.questions.labels.between import Between
    from fathoms.questions.labels.mixed import OddGrade
    from fathoms.questions.labels.requirements import Requirement
    from fathoms.questions.labels.result import LabelAudit, SourceAudit

SIGNIFICANT = 0.05
MOST_NAMED = 5


def answers(result: LabelAudit) -> list[str]:
    """The outcome of what was asked; how far the labels agree with people; of several sources, which agrees best."""
    outcome = [headline(result)] if result.requirements else []
    return [*outcome, *(_closest(result) or [_how_far(source) for source in result.sources])]


def headline(result: LabelAudit) -> str:
    """The outcome of everything that was asked."""
    outcome = result.outcome
    decisive = [requirement for requirement in result.requirements if requirement.outcome == outcome]
    if outcome == "passes":
        return f"Passes: {enumerated([sentence(requirement) for requirement in decisive])}."
    head = "Fails" if outcome == "fails" else "Cannot tell"
    return f"{head}: {enumerated([sentence(requirement) for requirement in decisive])}."


def sentence(requirement: Requirement) -> str:
    """What was asked of a source, and what was found."""
    source, limit, more = requirement.source, requirement.limit, requirement.more
    figure = Estimate(requirement.value, requirement.low, requirement.high)
    further = "" if more is None else f", and about {more:,} more human labels on more such topics would tell"
    if requirement.criterion == "labels":
        text = f"{source} has {requirement.judged:,} documents that people judged, of {int(limit):,} asked for"
        return text if more is None else f"{text}; {more:,} more are needed"
    if requirement.criterion == "kappa":
        return f"{source} has kappa {with_interval(figure)}, of at least {limit:g} asked for{further}"
    if requirement.criterion == "bias":
        change = with_signs(figure, 3)
        return f"{source} changes {requirement.measure} by {change}, of at most {limit:g} allowed{further}"
    if requirement.value is None:
        return f"{source}: circularity cannot be tested with so few runs"
    excess = f"{requirement.value:.2f} more than expected"
    return f"{source}: {requirement.run} follows the labels most, by {excess}, of {limit:g} allowed"


def remarks(result: LabelAudit) -> list[str]:
    """What was compared with what, then each source."""
    lines = [_given(result), *(line for source in result.sources for line in of_source(source))]
    return [*lines, *map(_between, result.between), *map(_odd, result.odd_grades)]


def _between(pair: Between) -> str:
    """Two sources side by side."""
    shift = pair.shift
    moved = ""
    if (
        shift.value is not None
        and shift.low is not None
        and shift.high is not None
        and not shift.low <= 0 <= shift.high
    ):
        more = "more" if shift.value > 0 else "fewer"
        moved = f", and {pair.second} calls {more} documents relevant"
    return (
        f"{pair.first} and {pair.second} label {pluralise(pair.documents, 'same document')}: kappa "
        f"{with_interval(pair.kappa)} on what is relevant; {with_interval(pair.changed, percent=True)} of them are "
        f"called otherwise by the other{moved}."
    )


def _odd(odd_grade: OddGrade) -> str:
    """A grade that may be a model's."""
    return (
        f"Grade {odd_grade.grade:g} of the judgments occurs only where {_some(odd_grade.runs)} retrieved the document "
        f"({odd_grade.documents:,} documents). If a model judged what those runs found, this file mixes people and a "
        "model, and agreement with it is not agreement with people."
    )


def _some(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMED:
        return enumerated(list(names))
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED:,} more"


def _how_far(source: SourceAudit) -> str:
    figures = source.figures
    agreement = f"{source.name} agrees with people on what is relevant with kappa {with_interval(figures['kappa'])}"
    if figures["kappa"].value is None:
        agreement = f"{source.name}: agreement with people on what is relevant is undefined for these labels"
    tau = next((effect for effect in source.effects if effect.tau is not None), None)
    order = "" if tau is None else f"; its order of the runs by {tau.measure} has tau {tau.tau:.2f} with theirs"
    return f"{agreement}{order}."


def of_source(source: SourceAudit) -> list[str]:
    """A few sentences on one source."""
    parts = [_agreement(source), _kinds_of_error(source), *_of_runs(source), *_judgments(source)]
    return [part for part in parts if part]


def _given(result: LabelAudit) -> str:
    first = result.sources[0]
    many = pluralise(len(result.sources), "source")
    runs = f"; {pluralise(len(result.runs), 'run')}" if result.runs else "; no runs"
    weighted = (
        " Each judgment counts for as many documents as the design of the sample says." if result.weighted else ""
    )
    return (
        f"{many} of labels against {first.judged:,} human judgments of {pluralise(first.judged_topics, 'topic')} "
        f"({result.qrels}), relevant from grade {result.rel:g} on{runs}.{weighted}"
    )


def _closest(result: LabelAudit) -> list[str]:
    ranked = sorted(
        (source for source in result.sources if source.figures["kappa"].value is not None),
        key=lambda source: -(source.figures["kappa"].value or 0.0),
    )
    if len(ranked) < 2:
        return []
    best, *others = ranked
    like: list[SourceAudit] = []
    below: list[SourceAudit] = []
    for source in others:
        ahead = best.kappa_difference(source)
        clearly = ahead is not None and ahead.low is not None and ahead.low > 0
        (below if clearly else like).append(source)
    comparison = f"Closest to people on what is relevant is {best.name} (kappa {with_interval(best.figures['kappa'])})"
    if like:
        comparison += f", not distinguishable on these topics from {_names(like)}"
    if below:
        worst = below[-1]
        comparison += f"; {_names(below)} {'agrees' if len(below) == 1 else 'agree'} less with them"
        comparison += f", {worst.name} least" if len(below) > 1 else ""
        comparison += f" ({with_interval(worst.figures['kappa'])})"
    return [f"{comparison}."]


def _names(sources: Sequence[SourceAudit]) -> str:
    shown = [source.name for source in sources[:MOST_NAMED]]
    left_out = len(sources) - len(shown)
    if left_out > 0:
        return f"{', '.join(shown)} and {left_out:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def with_interval(estimate: Estimate, digits: int = 2, *, percent: bool = False) -> str:
    """A figure and its 95% interval."""

    def number(value: float) -> str:
        return f"{value:.0%}" if percent else f"{value:.{digits}f}"

    if estimate.value is None:
        return "undefined"
    if estimate.low is None or estimate.high is None:
        return number(estimate.value)
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def _agreement(source: SourceAudit) -> str:
    n, figures = len(source.labelled), source.figures
    if n == source.judged:
        covered = f"{source.name} labels all {n:,} judged documents"
    else:
        covered = f"{source.name} labels {n:,} of the {source.judged:,} judged documents ({n / source.judged:.1%})"
    if source.topics < source.judged_topics:
        covered += f", on {source.topics:,} of {pluralise(source.judged_topics, 'topic')}"
    if source.unjudged is not None:
        if source.unjudged:
            some = "all" if source.unjudged_labelled == source.unjudged else f"{source.unjudged_labelled:,} of the"
            covered += f", and {some} {source.unjudged:,} unjudged ones of the runs"
        else:
            covered += "; the runs have no unjudged ones"
    sentences = [f"{covered}."]
    if source.scores:
        sentences.append(
            f"Its labels are scores: AUC {with_interval(figures['auc'])}, rank correlation with the grades "
            f"{with_interval(figures['spearman'])}. From {source.relevant_from:.4g} on they count as relevant; the "
            "thresholds that turn them into grades are those that agree best with these very judgments, which flatters "
            "what follows."
        )
    sentences.append(
        f"Agreement beyond chance, with 95% intervals over topics: kappa {with_interval(figures['kappa'])} on what is "
        f"relevant, {with_interval(figures['kappa_quadratic'])} on grades (quadratic weights); Krippendorff's alpha "
        f"{with_interval(figures['alpha_ordinal'])} (ordinal), {with_interval(figures['alpha_nominal'])} (nominal)."
    )
    if source.topics < 2:
        sentences.append("One topic gives no intervals.")
    if source.by_group:
        groups = [f"{group} {with_interval(estimate)}" for group, estimate in source.by_group.items()]
        sentences.append(f"Kappa by group of topics: {', '.join(groups)}.")
    sentences += _of_lengths(source)
    return " ".join(sentences)


def _of_lengths(source: SourceAudit) -> list[str]:
    """Whether it agrees with people on long texts as on short ones."""
    if source.by_length is None or source.with_text is None:
        return []
    n = len(source.labelled)
    which = f"all {n:,} documents" if source.with_text == n else f"the {source.with_text:,} of {n:,} that have a text"
    if not source.by_length:
        return [f"The texts of {which} are too alike in length for thirds by length."]
    thirds = [
        f"{with_interval(part.kappa)} in the {part.third} third ({part.least:,} to {part.most:,} characters; "
        f"{with_interval(part.agreed, percent=True)} of {pluralise(part.documents, 'document')} agreed on)"
        for part in source.by_length
    ]
    return [f"Kappa by length of the text, over {which}: {enumerated(thirds)}."]


def _kinds_of_error(source: SourceAudit) -> str:
    figures = source.figures
    sentences = [
        f"It labels {with_interval(figures['sensitivity'], percent=True)} of what people call relevant as relevant "
        f"(sensitivity), and {with_interval(figures['specificity'], percent=True)} of the rest as not (specificity)."
    ]
    bias = figures["bias"]
    if bias.value is not None:
        if bias.low is None or bias.high is None or bias.low <= 0 <= bias.high:
            which = _unclear_bias(source) if bias.low is not None else ""
        else:
            which = ": it is too generous" if bias.value > 0 else ": it is too strict"
        sentences.append(f"Grades, its minus people's: {with_signs(bias)} on average{which}.")
    return " ".join(sentences)


def _unclear_bias(source: SourceAudit) -> str:
    """What to say about grades that may be too high or too low; relevance may be clearer than grades are."""
    known = source.calibration
    if known is not None and abs(known.error) > NORMAL * known.se > 0:
        few_or_many = "many" if known.error > 0 else "few"
        return f", not clearly too high or too low; but it calls too {few_or_many} documents relevant (below)"
    return "; whether its grades are too high or too low is not clear"


def with_signs(estimate: Estimate, digits: int = 2) -> str:
    if estimate.value is None:
        return "undefined"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+z.{digits}f}"
    return f"{estimate.value:+z.{digits}f} [{estimate.low:+z.{digits}f}, {estimate.high:+z.{digits}f}]"


def _of_runs(source: SourceAudit) -> list[str]:
    if not source.effects:
        return []
    sentences = [_order(source, effect) for effect in source.effects]
    return [*sentences, _circular(source)]


def _order(source: SourceAudit, effect: Effect) -> str:
    n = len(effect.human)
    if effect.tau is None:
        return (
            f"{effect.measure} of the only run: {effect.human[0]:.4f} by people's judgments, {effect.labels[0]:.4f} "
            "by labels of the same documents."
        )
    pairs, real = n * (n - 1) // 2, sum(swap.p < SIGNIFICANT for swap in effect.swaps)
    if not effect.swaps:
        swapped = f"none of {pluralise(pairs, 'pair')} changes places"
    else:
        change = "changes" if len(effect.swaps) == 1 else "change"
        swapped = f"{len(effect.swaps):,} of {pluralise(pairs, 'pair')} {change} places"
        swapped += (
            f", {f'{real:,}' if real else 'none'} of them significantly different according to people (t-test, p < "
        )
        swapped += f"{SIGNIFICANT:g}, uncorrected)"
    return (
        f"{effect.measure} with its labels in place of the judgments of the same documents: tau {effect.tau:.2f}, "
        f"tau_ap {effect.tau_ap or 0.0:.2f} over {pluralise(n, 'run')}; {swapped}; scores differ by "
        f"{effect.rmse:.3f} (RMSE)."
    )


def _circular(source: SourceAudit) -> str:
    tested = sum(following.p is not None for following in source.followings)
    if not tested:
        return (
            f"There is no telling whether a run was reranked by this judge: that takes at least {FEWEST_RUNS} runs "
            "to compare, with judged and labelled documents in their first ranks."
        )
    suspects = source.suspects
    if not suspects:
        return (
            f"No run looks circular: none of {tested:,} follows the labels beyond the human grades much more than the "
            "others do."
        )
    effect = source.effects[0]
    gain = dict(zip((following.run for following in source.followings), effect.gains.tolist(), strict=True))
    sentences = [
        f"{following.run} looks circular: among documents of the same human grade its order follows the labels more "
        f"than other runs' do (correlation {following.correlation or 0.0:.2f}, {following.excess or 0.0:.2f} more than "
        f"expected; p {'unknown' if following.p is None else p_words(following.p)}, corrected for {tested:,} runs), "
        f"and labels change its {effect.measure} by {gain[following.run]:+z.3f} against the median run."
        for following in suspects
    ]
    return " ".join([*sentences, "A suspicion, not a proof: a system much like the judge looks the same."])


def _judgments(source: SourceAudit) -> list[str]:
    sentences = []
    known, budget = source.calibration, source.budget
    if known is not None:
        half = NORMAL * known.se
        text = (
            f"It calls {known.labelled:.1%} of these documents relevant, people {known.judged:.1%}: a difference of "
            f"{100 * known.error:+z.1f} points, give or take {100 * half:.1f} with other topics like these (95%)."
        )
        if known.se == 0:
            if known.error == 0:
                text = "It calls the same documents relevant as people do."
        elif known.to_halve is None:
            text += (
                f" {known.topic_share:.0%} of that variance is between topics, so more judgments on these topics would "
                "not halve it; more topics would."
            )
        else:
            text += f" About {known.to_halve:,} more random judgments on these topics would halve that margin."
        sentences.append(text)
    if budget is not None:
        (wide, (some, some_alone)), *_, (narrow, (many, many_alone)) = budget.needed.items()
        sentences.append(
            f"To know a run's P@{DEPTH} to within {wide:g} on these {pluralise(source.topics, 'topic')}, with all "
            f"{budget.documents:,} documents labelled, takes about {some:,} random human judgments of them, against "
            f"{some_alone:,} without labels. To within {narrow:g} it takes {many:,}, against {many_alone:,}."
        )
    return sentences
