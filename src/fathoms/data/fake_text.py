"""Short English texts for simulated topics and documents, put together from word lists.

A topic asks how one thing bears on another in some country. A relevant document says something about both; another
speaks of the same thing in a different respect, like the documents that systems retrieve by mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

THINGS = (
    "river dams",
    "night trains",
    "wind farms",
    "school meals",
    "fishing quotas",
    "street markets",
    "toll roads",
    "solar panels",
    "public libraries",
    "cargo bikes",
    "coal mines",
    "ferry services",
    "vaccination campaigns",
    "housing grants",
    "satellite images",
    "electric buses",
    "irrigation canals",
    "mobile clinics",
    "paper mills",
    "city gardens",
    "customs checks",
    "apple orchards",
    "sea walls",
    "training schemes",
    "rail freight",
    "hunting licences",
    "bottle deposits",
    "phone networks",
    "sugar taxes",
    "forest roads",
    "evening classes",
    "water meters",
    "festival weekends",
    "cheese imports",
    "peat harvesting",
    "speed cameras",
    "heat pumps",
    "dairy cooperatives",
    "museum passes",
    "grain terminals",
    "wolf reserves",
    "parking fees",
    "recycling plants",
    "holiday rentals",
    "seed banks",
    "border bridges",
    "radio programmes",
    "tram lines",
    "salmon farms",
    "wood stoves",
)
ISSUES = (
    "air quality",
    "fish migration",
    "local employment",
    "rural schools",
    "child health",
    "household budgets",
    "soil erosion",
    "road safety",
    "small shops",
    "bird populations",
    "drinking water",
    "tourism",
    "noise levels",
    "public debt",
    "crop yields",
    "family farms",
    "energy prices",
    "coastal villages",
    "reading skills",
    "traffic jams",
    "flood protection",
    "food prices",
    "insect numbers",
    "youth unemployment",
    "forest fires",
    "hospital waiting times",
    "land prices",
    "old town centres",
    "winter heating",
    "regional exports",
    "population decline",
    "medical costs",
    "cultural life",
    "night sleep",
    "plastic waste",
    "groundwater levels",
    "mountain pastures",
    "delivery times",
    "voter turnout",
    "harbour traffic",
    "nature tourism",
    "tax income",
    "summer droughts",
    "language learning",
    "sports clubs",
    "commuting times",
    "wild mushrooms",
    "river shipping",
    "neighbourhood safety",
    "carbon emissions",
)
PLACES = (
    "Norway",
    "Portugal",
    "Chile",
    "Kenya",
    "Vietnam",
    "Canada",
    "Poland",
    "Greece",
    "Peru",
    "Japan",
    "Morocco",
    "Finland",
    "Uruguay",
    "Nepal",
    "Ireland",
    "Turkey",
    "Ghana",
    "Estonia",
    "Mexico",
    "Austria",
    "Iceland",
    "Thailand",
    "Romania",
    "New Zealand",
)

QUESTIONS = (
    "How do {thing} affect {issue} in {place}?",
    "What is known about the effect of {thing} on {issue} in {place}?",
    "Find reports on {thing} and what they mean for {issue} in {place}.",
    "Does {place} see a change of {issue} because of {thing}?",
)
ABOUT = (  # sentences that hold a thing and an issue
    "A new study of {thing} in {place} looks at {issue}.",
    "In {place}, {thing} have been blamed for what happened to {issue}.",
    "{thing} can do a great deal for {issue}, officials in {place} say.",
    "Nobody in {place} expected {thing} to matter so much for {issue}.",
    "The debate on {thing} in {place} turns on {issue}.",
    "Where {thing} came first, {issue} changed most, according to a survey made in {place}.",
    "Experts from {place} warn that {thing} alone will not decide about {issue}.",
    "Ten years of {thing} have left their mark on {issue} in {place}.",
)
AROUND = (  # sentences that could stand in any of them
    "The {body} will {act} in {month}.",
    "A report by the {body} gives figures for the last {number} years.",
    "Costs are put at {number} million, much of it paid by the {body}.",
    "Critics say that the {body} should {act} sooner.",
    "About {number} people came to a meeting in {month}.",
    "The {body} did not answer questions before {month}.",
    "Earlier plans were given up after the {body} failed to {act}.",
    "In {month} the number rose by {number} per cent.",
)
BODIES = (
    "ministry",
    "town council",
    "farmers' union",
    "national institute",
    "parliament",
    "chamber of commerce",
    "university",
    "regional court",
    "audit office",
    "workers' association",
)
ACTS = (
    "publish new rules",
    "vote on the budget",
    "hear both sides",
    "choose a contractor",
    "repeat the count",
    "open the archive",
    "change the timetable",
    "visit the site",
)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
HEADLINES = ("{thing} and {issue}", "{thing}: the case of {issue}", "What {thing} do to {issue}", "{issue} and {thing}")
LONGEST = 5  # sentences
PICKS = 2 + 5 * LONGEST  # random numbers for one document


class Subject(NamedTuple):
    """What a topic asks, or a document tells."""

    thing: str
    issue: str
    place: str

    @property
    def title(self) -> str:
        return f"{self.thing} and {self.issue} in {self.place}"

    def fill(self, pattern: str) -> str:
        return _capital(pattern.format(thing=self.thing, issue=self.issue, place=self.place))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def subjects(n: int, rng: np.random.Generator) -> list[Subject]:
    """Subjects of n topics, all different as long as there are enough (60,000)."""
    size = len(THINGS) * len(ISSUES) * len(PLACES)
    chosen = rng.permutation(size)[np.arange(n) % size]
    thing, rest = np.divmod(chosen, len(ISSUES) * len(PLACES))
    issue, place = np.divmod(rest, len(PLACES))
    return [Subject(THINGS[i], ISSUES[j], PLACES[k]) for i, j, k in zip(thing, issue, place, strict=True)]


def descriptions(needs: Sequence[Subject], rng: np.random.Generator) -> list[str]:
    """A question for each subject."""
    picks = rng.integers(len(QUESTIONS), size=len(needs))
    return [subject.fill(QUESTIONS[i]) for subject, i in zip(needs, picks, strict=True)]


def astray(subject: Subject, pick: int) -> Subject:
    """The same thing in another respect: what a document tells that is retrieved and not relevant."""
    others = len(ISSUES) - 1
    issue = ISSUES[(ISSUES.index(subject.issue) + 1 + pick % others) % len(ISSUES)]
    return subject._replace(issue=issue, place=PLACES[pick // others % len(PLACES)])


def document(topics: Sequence[Subject], picks: npt.NDArray[np.int64]) -> tuple[str, str]:
    """Title and text made by a row of random numbers: 2 to 5 sentences, more only if there are more subjects."""
    numbers = cycle(picks.tolist())

    def pick(options: Sequence[str]) -> str:
        return options[next(numbers) % len(options)]

    title = topics[0].fill(pick(HEADLINES))
    length = 2 + next(numbers) % (LONGEST - 1)
    sentences = [subject.fill(pick(ABOUT)) for subject in topics]
    for _ in range(length - len(sentences)):
        words = {"body": pick(BODIES), "act": pick(ACTS), "month": pick(MONTHS), "number": 2 + next(numbers) % 97}
        sentences.append(pick(AROUND).format(**words))
    return title, " ".join(sentences)
