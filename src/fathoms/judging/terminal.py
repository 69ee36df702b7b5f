"""Judging on a terminal: documents are shown on standard error, answers taken from standard input."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING

from fathoms.base.errors import InputError
from fathoms.base.text import pluralise
from fathoms.data.texts import Entry, Texts, TextSources
from fathoms.judging.documents_to_judge import Task
from fathoms.judging.recall import RecallEstimate
from fathoms.judging.session import Progress, Session, tidy
from fathoms.judging.texts import marked, printable, terms

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDEST = 100  # characters in a line of text
HELP = """0 to {most:<6} the document's grade, then Enter; {rel} and more is relevant
s [why]     skip this document; it is not shown again
u           take the last answer back
n TEXT      a note, saved with the answer to this document
m           more of the text
q           stop here (as does the end of the input); --resume goes on"""


class Conversation:
    """Shows documents and takes answers: on a terminal, or line by line from anything else."""

    def __init__(self, session: Session, texts: TextSources, assessor: str, *, budget: int | None, quiet: bool) -> None:
        from rich.console import Console

        self.session, self.texts, self.assessor, self.budget, self.quiet = session, texts, assessor, budget, quiet
        self.console: Console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.at_terminal = sys.stdin.isatty()
        self.lines = 0  # read so far
        self.note = ""
        self.hidden: list[Text] = []  # lines of the document that were not shown yet

    def hold(self) -> None:
        task = self._next()
        while task is not None:
            self._show(task)
            task = self._answer(task)

    def _next(self) -> Task | None:
        """The next document, None at the end; there, a person can still take the last answer back."""
        task, why_not = upcoming(self.session, self.budget, self.assessor)
        if task is not None:
            return task
        self._say(why_not)
        while self.at_terminal:
            answer = self._ask("Enter finishes, u takes the last answer back")
            if answer is None or answer in ("", "q"):
                break
            if answer == "u":
                return self._undo()
        return None

    def _answer(self, task: Task) -> Task | None:
        """Take lines until the document is answered; returns what comes next."""
        most = self.session.settings.max_grade
        while (line := self._ask(f"grade 0-{most}, or s u n m q ?")) is not None:
            word, _, rest = line.partition(" ")
            if re.fullmatch("[0-9]{1,9}", line) and int(line) <= most:
                self.session.grade(task.topic, task.document, int(line), self.assessor, self.note)
                return self._saved(task, f"grade {int(line)}")
            if word == "s":
                self.session.skip(task.topic, task.document, self.assessor, " ".join((self.note, rest)).strip())
                return self._saved(task, "skipped")
            if word == "n" and rest.strip():
                self.note = rest.strip()
                self._say("The note will be saved with your answer.")
            elif line == "u":
                back = self._undo()
                if back is not None:
                    return back
            elif line == "m":
                self._more()
            elif line == "q":
                return None
            elif line == "?":
                self._say(HELP.format(most=most, rel=self.session.settings.rel))
            elif line:
                self._wrong(line, most)
        return None

    def _saved(self, task: Task, what: str) -> Task | None:
        if not self.quiet:
            self._say(f"Saved: topic {task.topic}, document {task.document}: {what}. {_standing(self.session)}")
        return self._next()

    def _undo(self) -> Task | None:
        back = self.session.undo(self.assessor)
        if back is None:
            self._say(f"There is no answer of {self.assessor} to take back.")
        else:
            self._say(f"Taken back: topic {back.topic}, document {back.document}.")
            documents, state = self.session.documents, self.session.state
            if not documents.may_grade(state, back.candidate, tidy(self.assessor)):  # a final grade, set on the page
                return self._next()
        return back

    def _wrong(self, line: str, most: int) -> None:
        message = f"expected a grade from 0 to {most}, s, u, n TEXT, m, q or ?, found {line!r}"
        if self.at_terminal:
            self._say(f"{message[0].upper()}{message[1:]}.")
            return
        # Nobody is there to answer again, and the lines that follow were meant for other documents.
        raise InputError(f"{message}; what came before is saved", "standard input", self.lines)

    def _ask(self, what: str) -> str | None:
        self.console.print(f"{what} > ", end="")
        line = sys.stdin.readline()
        self.lines += 1
        if not line or not self.at_terminal:
            self.console.print()
        return line.strip() if line else None

    def _say(self, text: str) -> None:
        self.console.print(printable(text))

    def _show(self, task: Task) -> None:
        self.note = ""
        topic = self._text(self.texts.topics, task.topic)
        document = self._text(self.texts.documents, task.document)
        self.console.rule(characters="-", style="")
        for line in self._wrapped(f"Topic {task.topic}", topic, set()):
            self.console.print(line)
        self.console.print()
        self.hidden = self._wrapped(f"Document {task.document}", document, terms(topic))
        self._more()

    def _text(self, texts: Texts | None, name: str) -> Entry | None:
        """An unreadable text counts as none: its document would come again each time, and end the session."""
        try:
            return None if texts is None else texts.get(name)
        except InputError as error:
            self._say(f"This text cannot be read: {error}")
            return None

    def _wrapped(self, label: str, entry: Entry | None, wanted: set[str]) -> list[Text]:
        """Label and title, then the body, as lines of a screen; words of the topic are marked."""
        from rich.text import Text

        title, body = ("", ("no text available",)) if entry is None else (entry.title, entry.body)
        if entry is not None and not title and not body:
            body = ("the text is empty",)
        lines: list[Text] = []
        for place, part in enumerate((f"{label}: {title}" if title else label, *body)):
            text = Text(style="bold" if place == 0 else "")
            for turn, words in enumerate(marked(part, wanted)):
                text.append(words, "bold yellow" if turn % 2 else None)
            lines += text.wrap(self.console, min(self.console.width, WIDEST))
        for line in lines:
            line.rstrip()
        return lines

    def _more(self) -> None:
        room = max(5, self.console.height - 12)
        if not self.hidden:
            self._say("That is all of it.")
        for line in self.hidden[:room]:
            self.console.print(line)
        self.hidden = self.hidden[room:]
        if self.hidden:
            self._say(f"[{len(self.hidden)} more lines: m shows them]")


def upcoming(session: Session, budget: int | None, assessor: str) -> tuple[Task | None, str]:
    """The next document, or why judging ends here."""
    ended = session.why_ended(session.settled(), budget, more=True)
    task = session.next(assessor, only_second=ended is not None)
    return task, "" if task is not None else ended or session.why_ended(False, budget, more=False) or ""


def _standing(session: Session) -> str:
    """Where the session stands and how far it is, in two lines."""
    now = session.progress()
    if session.settings.strategy == "find-all":
        return f"{now.judged:,} judged, {now.relevant:,} relevant.\n{recall_sentence(session, now.recall)}"
    if session.documents.sample is not None:
        to_come = len(session.documents.come_first(session.state))
        return f"{now.judged:,} judged, {to_come:,} of the sample left; {pairs_settled(now, session.settings.until)}."
    where = f"{now.judged:,} judged, {pairs_settled(now, session.settings.until)}."
    if now.weakest is None:
        return where
    better, other, confidence, measure = now.weakest
    if now.forecast is None:
        left = "Too early to say how many more judgments will be needed"
    else:
        low, high = now.forecast
        many = f"{low:,} to {high:,} more judgments" if low < high else f"{pluralise(low, 'more judgment')}"
        left = f"About {many} may settle the rest"
    by = f" by {measure}" if len(session.settings.measures) > 1 else ""
    return f"{where}\nLeast sure: {better} better than {other}{by} ({confidence:.2f}). {left}."


def recall_sentence(session: Session, estimate: RecallEstimate | None) -> str:
    """What is found and what is left, by estimate."""
    if estimate is None:
        return "Too early to say how many relevant documents are left."
    found, depth = estimate.found, session.settings.depth
    if not estimate.left_high:
        return (
            f"Found {pluralise(found, 'relevant document')}: all documents of these runs to depth {depth} are judged."
        )
    low, high = found + math.floor(estimate.left_low), found + math.ceil(estimate.left_high)
    return (
        f"Found {pluralise(found, 'relevant document')}; an estimated {round(estimate.total):,} ({low:,} to {high:,}) "
        f"exist among the documents of these runs to depth {depth}; recall {estimate.recall:.2f}, at least "
        f"{math.floor(100 * estimate.recall_low) / 100:.2f}."
    )


def pairs_settled(now: Progress, until: float) -> str:
    return f"{now.settled:,} of {now.pairs:,} pairs settled at {until:g}"
