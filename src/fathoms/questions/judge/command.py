"""Judge documents one at a time, the most informative first, until it is clear which run is better.

QRELS holds the judgments there are; `none` starts from nothing. Each answer is saved in the session file before the
next document is shown, so nothing is lost whatever happens, and --resume goes on. The conversation is on standard
error; standard output gets the summary at the end. Keys: a grade, s skip, u undo, n note, m more text, q quit, ? help.

--batch writes the next documents to a file instead, and --answers reads the grades back. --sample draws documents at
random, for estimates by `fathoms predict --sampled`. --strategy find-all looks for all relevant documents.

--web serves a page instead, on which several people can judge at once, and another for whoever organises
it; see docs/judging-page.md.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.cli import options
from fathoms.questions.judge import page_command as judge_page

if TYPE_CHECKING:
    from fathoms.data.qrels import Qrels
    from fathoms.data.texts import TextSources
    from fathoms.evidence.candidates import Candidates
    from fathoms.judging.session import Session

EXAMPLES = (
    (
        "which documents to judge so that it becomes clear which run is better?",
        "fathoms judge none runs/ --topic-texts topics.jsonl --docs docs.jsonl",
    ),
    ("try the judging page on simulated documents", "fathoms judge --demo --web"),
)
MORE = """more examples:
  fathoms judge none runs/ --topic-texts topics.jsonl --docs docs.jsonl --export qrels.txt --resume
  fathoms judge none runs/ --topic-texts topics.jsonl --docs docs.jsonl --web --judge-twice 10%
  fathoms judge none runs/ --docs docs.jsonl --web --assessors names.txt --grades grades.txt --guidelines guide.md
  fathoms judge none runs/ -m nDCG@10 --max-grade 3 --labels llm.tsv --docs docs.jsonl --export qrels.txt
  fathoms judge qrels.txt a.run b.run --first decisive.txt --export more.txt
  fathoms judge none runs/ --batch 50 --to batch.tsv
  fathoms judge none runs/ --resume --answers batch.tsv --batch 50 --to next.tsv
  fathoms judge none runs/ --sample 500 --design depth --export qrels.txt
  fathoms judge none runs/ --strategy find-all --recall 0.9
  fathoms judge --salvage fathoms-judging.db
  fathoms judge qrels.txt runs/ --oracle truth.txt --strategy mtc --confidence 0.99 --session study.db"""
SESSION = Path("fathoms-judging.db")
TEMPORARY = ""  # where the demo is, if no folder is named
DEMO: dict[str, Any] = {  # some 70 judgments settle it
    "systems": 5,
    "n_topics": 6,
    "n_docs": 1000,
    "depth": 50,
    "max_grade": 2,
    "texts": True,
    "seed": 2,
}
OPEN_PAIRS = 20  # shown in the summary


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        nargs="?",
        help="judgments, lines `topic iteration document grade`; `none` if there are none",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="runs: files, folders or quoted globs; gz, zst, bz2, xz (two or more)"
    )
    parser.add_argument(
        "--demo",
        metavar="DIR",
        nargs="?",
        const=TEMPORARY,
        help="judge a simulated collection, which is made in DIR (or in a temporary folder)",
    )
    parser.add_argument("--topic-texts", metavar="FILE", help="texts of topics: TSV, JSON lines or TREC's SGML")
    parser.add_argument("--docs", metavar="FILE|DIR", help="texts of documents: the same, or a folder of files")
    options.add_question(parser, "judge")
    parser.add_argument("--budget", metavar="N", type=options.at_least_zero, help="stop after N judgments in total")
    parser.add_argument(
        "--session", metavar="FILE", type=Path, help=f"where answers are saved ({SESSION}, with --demo in its folder)"
    )
    parser.add_argument(
        "--salvage",
        metavar="FILE",
        type=Path,
        help="recover every intact answer from a damaged session, into --session (FILE.salvaged.db), and say what is "
        "lost; takes neither QRELS nor RUN",
    )
    parser.add_argument("--assessor", metavar="NAME", help="who judges (your user name)")
    parser.add_argument("--oracle", metavar="QRELS", help="take all answers from this file; for studies and tests")
    parser.add_argument(
        "--export",
        metavar="FILE",
        type=Path,
        help="write all judgments to FILE (.csv, .json, ...: in that format), and who made them beside it",
    )
    batch = parser.add_argument_group("batches in files")
    batch.add_argument("--batch", metavar="N", type=options.at_least_one, help="hand out the next N documents")
    batch.add_argument("--to", metavar="FILE", type=Path, help="where --batch writes them, with a column for the grade")
    batch.add_argument("--answers", metavar="FILE", help="read grades back from such a file")
    batch.add_argument("--take-back", action="store_true", help="ask again for what is handed out and has no grade")
    judge_page.add_arguments(parser)
    options.add_reading(parser, *options.ORDER, *options.READ, "seed")
    options.add_talk(parser)
    parser.set_defaults(ties=None, seed=None)  # so that a session's own can be told from one asked for


def run(args: Namespace) -> int:
    from fathoms.base.errors import FathomsError

    if args.salvage is not None:
        return _salvage(args)
    judge_page.check(args)
    _check_batch(args)
    with ExitStack() as stack:
        if args.demo is not None:
            _prepare_demo(args, stack)
        elif args.qrels is None or not args.runs:
            raise FathomsError("the arguments QRELS and RUN are missing; `fathoms judge --demo` goes without them")
        args.session = args.session or SESSION
        return _judge(args)


def _salvage(args: Namespace) -> int:
    """Status 1 if something is lost."""
    from fathoms.base.errors import FathomsError, InputError
    from fathoms.base.files import check_apart, check_writable
    from fathoms.cli import output
    from fathoms.judging.salvage import salvage

    if args.qrels is not None or args.resume or args.web:
        raise FathomsError("--salvage reads the session's file alone; leave out QRELS, RUN, --resume and --web")
    if not args.salvage.is_file():
        raise InputError("expected the file of a session", str(args.salvage))
    target = args.session or _beside(args.salvage, ".salvaged.db")
    if target.exists():
        raise InputError("exists already; choose another file with --session FILE", str(target))
    check_writable(target)
    export = args.export or _beside(args.salvage, ".salvaged.txt")
    check_writable(export)
    check_apart([*_session_files(target), *_exported(export)], _session_files(args.salvage))
    salvaged = salvage(args.salvage)
    sentences = salvaged.sentences
    if salvaged.meta is not None:
        salvaged.write_session(target)
        sentences.append(f"To continue, use the same QRELS, runs and flags with --resume --session {target}")
    if args.export is not None or salvaged.meta is None:
        beside = salvaged.write_judgments(export)
        sentences.append(f"Judgments written to {export}, who made them to {beside}")
    output.put("".join(f"{words}\n" for words in sentences), None)
    return 1 if salvaged.lost or salvaged.meta is None or not salvaged.is_end_known else 0


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _session_files(path: Path) -> list[Path]:
    return [path, _beside(path, "-journal")]


def _exported(path: Path | None) -> list[Path]:
    """What --export writes."""
    return [] if path is None else [path, *(_beside(path, ending) for ending in (".provenance.tsv", ".sample.tsv"))]


def _check_files_apart(args: Namespace) -> None:
    """Nothing that is written may overwrite the session, an input, or another output."""
    from fathoms.base.files import check_apart
    from fathoms.data.runs import expand

    read = [args.qrels, args.topic_texts, args.docs, *args.labels, args.first, args.answers, args.oracle]
    read += [args.token_file, args.assessors, args.grades, args.guidelines, args.certificate, args.key]
    written = [*_session_files(args.session), *_exported(args.export), args.to, args.links]
    check_apart(filter(None, written), [*filter(None, read), *expand(args.runs)])


def _check_batch(args: Namespace) -> None:
    """What goes with --batch and --answers, and what does not."""
    from fathoms.base.errors import FathomsError

    if (args.batch is None) != (args.to is None):
        raise FathomsError("--batch N and --to FILE go together: how many documents, and where they are written")
    for flag in ("web", "oracle"):
        if _is_by_file(args) and getattr(args, flag):
            raise FathomsError(f"--{flag} does not go with --batch, --answers and --take-back, which ask no questions")
    for flag in ("answers", "take_back"):
        if getattr(args, flag) and not args.resume:
            raise FathomsError(f"--{flag.replace('_', '-')} is for a session that is there; add --resume")


def _is_by_file(args: Namespace) -> bool:
    return args.batch is not None or args.answers is not None or args.take_back


def _prepare_demo(args: Namespace, stack: ExitStack) -> None:
    """Fill in the arguments by a simulated collection."""
    import tempfile

    from fathoms.base.errors import FathomsError
    from fathoms.data.simulate import simulate, write

    for flag, value in (("QRELS", args.qrels), ("--topic-texts", args.topic_texts), ("--docs", args.docs)):
        if value is not None:
            raise FathomsError(f"--demo brings runs and texts of its own; leave out {flag}")
    if args.demo == TEMPORARY:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fathoms-demo-")))
    else:
        folder = Path(args.demo)
    if not (folder / "truth.txt").exists():
        write(simulate(**DEMO), folder)
    args.qrels, args.runs = "none", [str(folder / "runs")]
    args.topic_texts, args.docs = str(folder / "topics.jsonl"), str(folder / "docs.jsonl")
    args.session = args.session or folder / SESSION
    if not args.resume:
        args.max_grade = args.max_grade or DEMO["max_grade"]


def _judge(args: Namespace) -> int:
    from fathoms.api import Experiment
    from fathoms.base.errors import FathomsError
    from fathoms.base.files import check_writable
    from fathoms.cli import output
    from fathoms.data.qrels import read_qrels
    from fathoms.judging.begin import opened_and_settings
    from fathoms.judging.opening import open_session
    from fathoms.judging.terminal import Conversation
    from fathoms.judging.topic_batches import BATCH

    options.check_sources(args)
    _check_files_apart(args)
    if "-" in (args.qrels, *args.runs, args.first) and args.oracle is None and not _is_by_file(args):
        raise FathomsError("standard input is for the answers; QRELS, RUN and --first must be files")
    for target in (args.export, args.to):
        if target is not None:
            check_writable(target)
    with ExitStack() as stack:
        exp = Experiment(
            None if args.qrels == "none" else args.qrels,
            args.runs,
            memory_mb=0,
            **{name: getattr(args, name) for name in options.READ},
        )
        oracle = None if args.oracle is None else read_qrels(args.oracle, lenient=args.lenient, junk=args.junk)
        if args.web and not args.resume and args.stay is None and args.sample is None:
            args.stay = BATCH
        how, settings = opened_and_settings(options.arguments(args, "judge"))
        settings |= {"ties": args.ties, "precision": args.score_precision, "seed": args.seed}
        opened: list[TextSources] = []
        notes: list[str] = []
        session = open_session(
            exp,
            args.session,
            settings,
            **how,
            oracle=oracle,
            notes=notes,
            before=lambda candidates: opened.append(_prepared(args, candidates)),
        )
        stack.callback(session.close)
        candidates, (texts,) = session.documents.candidates, opened
        if not args.quiet:
            output.warn([*_notes(session.qrels, oracle, candidates.topics), *notes], args)
            _say_texts(texts, len(candidates.topics), len(set(candidates.documents.tolist())))
            if session.documents.sample is not None and session.documents.sample.saving:
                output.say([f"fathoms: {session.documents.sample.saving}"])
        try:
            if args.web:
                judge_page.serve(session, texts, args)
            elif _is_by_file(args):
                _by_file(session, texts, args)
            elif oracle is None:
                Conversation(session, texts, args.assessor or _user(), budget=args.budget, quiet=args.quiet).hold()
            else:
                _consult(session, oracle, args)
        except KeyboardInterrupt:
            print(f"\nfathoms: all answers are saved in {args.session}; go on with --resume", file=sys.stderr)
            raise
        if args.export is not None:
            _export(session, args)
        session.log.check_place()  # before it is said where the answers are
        output.put(_summary(session), None)
        if args.export is None and not args.quiet:
            print(f"fathoms: the answers are in {args.session}; --resume --export FILE writes qrels", file=sys.stderr)
    return 0


def _prepared(args: Namespace, candidates: Candidates) -> TextSources:
    """Fail before anything is judged: the export cannot hold the ids, a text cannot be read."""
    if args.export is not None:
        from fathoms.judging.export import check_carries

        check_carries(candidates, args.export)
    return _open_texts(args, candidates.topics, [] if args.docs is None else candidates.documents.tolist())


def _notes(qrels: Qrels | None, oracle: Qrels | None, topics: list[str]) -> list[str]:
    notes = [note for known in (qrels, oracle) if known is not None for note in known.notes]
    if qrels is not None:
        new = [topic for topic in topics if topic not in qrels.index]
        if new:
            shown = ", ".join(new[:5]) + (", ..." if len(new) > 5 else "")
            notes.append(f"{len(new)} of {len(topics)} topics of the runs have no judgments yet: {shown}")
    return notes


# -- texts --------------------------------------------------------------------------------------------------------


def _open_texts(args: Namespace, topics: list[str], documents: list[bytes]) -> TextSources:
    from fathoms.data.texts import TextSources, open_texts

    names = {document.decode(errors="surrogateescape") for document in documents}
    return TextSources(
        None if args.topic_texts is None else open_texts(args.topic_texts, set(topics)),
        None if args.docs is None else open_texts(args.docs, names),
    )


def _say_texts(sources: TextSources, topics: int, documents: int) -> None:
    for texts, total, noun in ((sources.topics, topics, "topics"), (sources.documents, documents, "documents")):
        if texts is not None and len(texts) < total:
            print(f"fathoms: warning: {total - len(texts):,} of {total:,} {noun} have no text", file=sys.stderr)


# -- files go out and come back ---------------------------------------------------------------------------------------


def _by_file(session: Session, texts: TextSources, args: Namespace) -> None:
    """Take grades in, then hand documents out."""
    from fathoms.base.text import pluralise
    from fathoms.judging.batches import take_in, write_batch

    files = []
    if args.answers is not None:
        done = take_in(session, args.answers, args.assessor or _user())
        known = f", {done.known:,} known already" if done.known else ""
        files.append(f"{pluralise(done.new, 'new grade')} in {args.answers}{known}, {done.empty:,} without a grade")
    if args.take_back:
        files.append(f"{pluralise(session.take_back(), 'document')} taken back")
    if args.batch is not None:
        n = args.batch
        if args.budget is not None:
            n = min(n, max(0, args.budget - session.judged - len(session.state.out)))
        tasks = session.batch(n)
        write_batch(args.to, tasks, texts)
        session.hand_out(tasks)
        files.append(
            f"{pluralise(len(tasks), 'document')} written to {args.to}; {len(session.state.out):,} are handed out now, "
            "and --resume --answers FILE reads their grades"
        )
    if not args.quiet:
        for words in files:
            print(f"fathoms: {words}", file=sys.stderr)


# -- a file answers -----------------------------------------------------------------------------------------------


def _consult(session: Session, oracle: Qrels, args: Namespace) -> None:
    """Take answers from judgments; what they do not judge has grade 0."""
    from fathoms.base.errors import InputError
    from fathoms.judging.documents_to_judge import known
    from fathoms.judging.terminal import upcoming

    grades = known(session.documents.candidates, oracle)
    if any(grade != int(grade) for grade in grades.values()):
        raise InputError("has fractional grades; answers must be whole numbers", args.oracle)
    assessor = args.assessor or "oracle"
    unknown = 0
    with _bar(session, args) as step:
        while (task := upcoming(session, args.budget, assessor)[0]) is not None:
            if not unknown and task.candidate not in grades and not args.quiet:
                print(f"fathoms: documents that {args.oracle} does not judge count as grade 0", file=sys.stderr)
            unknown += task.candidate not in grades
            session.grade(task.topic, task.document, int(grades.get(task.candidate, 0)), assessor)
            step()


@contextmanager
def _bar(session: Session, args: Namespace) -> Iterator[Any]:
    if args.quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(
            "judgments", total=args.budget or len(session.documents.candidates), completed=session.judged
        )
        yield lambda: bar.advance(task)


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in a container
        return "assessor"


# -- the end ------------------------------------------------------------------------------------------------------


def _summary(session: Session) -> str:
    from fathoms.cli.screen import aligned_text
    from fathoms.judging.agreement_words import opinion_sentences
    from fathoms.judging.standings import expected_scores
    from fathoms.judging.terminal import pairs_settled, recall_sentence

    now = session.progress()
    until = session.settings.until
    skipped = f", {now.skipped:,} skipped" if now.skipped else ""
    imported = f", {now.imported:,} known before" if now.imported else ""
    head = f"{now.judged:,} judged ({now.relevant:,} relevant){skipped}{imported}; {pairs_settled(now, until)}.\n"
    if session.settings.strategy == "find-all":
        head += recall_sentence(session, now.recall) + "\n"
    measures = session.settings.measures
    by_measure = [dict(expected_scores(session.engine, place)) for place in range(len(measures))]
    runs = aligned_text(
        ["run", *(f"expected {measure}" for measure in measures)],
        [[name, *(f"{of_one[name]:.4f}" for of_one in by_measure)] for name, _ in session.expected()],
        words=1,
    )
    still_open = sorted((pair for pair in session.pairs() if pair.confidence < until), key=lambda pair: pair.confidence)
    opinions = "".join(f"\n{sentence}\n" for sentence in opinion_sentences(session))
    if not still_open:
        return f"{head}\n{runs}{opinions}"
    columns = ["better", "other", *(["measure"] if len(measures) > 1 else []), "confidence"]
    rows = [
        [pair.better, pair.other, *([pair.measure] if len(measures) > 1 else []), f"{pair.confidence:.4f}"]
        for pair in still_open[:OPEN_PAIRS]
    ]
    more = f"and {len(still_open) - OPEN_PAIRS:,} more\n" if len(still_open) > OPEN_PAIRS else ""
    table = aligned_text(columns, rows, words=len(columns) - 1)
    return f"{head}\n{runs}\nOpen pairs, least sure first\n{table}{more}{opinions}"


def _export(session: Session, args: Namespace) -> None:
    from fathoms.judging.export import export

    beside = export(session, args.export)
    if not args.quiet:
        number, last = session.log.last
        print(f"fathoms: judgments written to {args.export}, who made them to {beside}", file=sys.stderr)
        print(f"fathoms: the log ends with event {number:,}, hash {last}", file=sys.stderr)
    if session.documents.sample is not None:
        _export_sample(session, args)


def _export_sample(session: Session, args: Namespace) -> None:
    from fathoms.base.errors import FathomsError
    from fathoms.judging.export import export_sample

    try:
        beside = export_sample(session, args.export)
    except FathomsError as error:  # the judgments are written all the same
        print(f"fathoms: warning: no file for `fathoms predict --sampled`: {error}", file=sys.stderr)
        return
    if not args.quiet:
        print(f"fathoms: for estimates: fathoms predict {args.export} RUNS --sampled {beside}", file=sys.stderr)
