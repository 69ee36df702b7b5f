"""Work on several cores and on a cluster: the same results, and what happens when a worker dies."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import fathoms as fm
from fathoms.base import errors, parallel
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.parallel import cluster, local, work
from fathoms.data.runs import scan_runs
from fathoms.data.simulate import write
from fathoms.experiment.base import Options, prepare_measures
from fathoms.experiment.reading import ReadingOptions
from fathoms.papers import rtc, rtc_trials
from fathoms.reporting.page import page
from fathoms.reporting.report import run_report
from tests.support.batches import BATCHES, EXPECTED, Deadly, DiesOnce, Held, Patient, Wrong, squares
from tests.support.commands import status

CLUSTER = "local:2"
EVERYWHERE = (["--workers", "1"], ["--workers", "3"], ["--scheduler", CLUSTER])
WHERE = pytest.mark.parametrize("scheduler", [None, CLUSTER])


@pytest.fixture(autouse=True, scope="module")
def one_cluster() -> Iterator[None]:
    """A cluster is started once for all tests, though commands stop theirs when they end."""
    with pytest.MonkeyPatch.context() as patch:
        leave = parallel.disconnect
        patch.setattr(parallel, "disconnect", lambda: None)
        yield
        leave()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.mkdir()
    return path


@WHERE
def test_results_of_each_come_in_order(scheduler: str | None) -> None:
    heard: list[int] = []
    assert parallel.parallel_map(lambda n: n * n, range(50), workers=3, scheduler=scheduler, progress=heard.append) == [
        n * n for n in range(50)
    ]
    assert sorted(heard) == list(range(50))
    assert parallel.parallel_map(str, [], workers=3, scheduler=scheduler) == []
    with pytest.raises(ZeroDivisionError):
        parallel.parallel_map(lambda n: 1 // n, range(4), workers=2, scheduler=scheduler)


@WHERE
def test_batches_are_stored_as_they_end(scheduler: str | None, notes: Path, tmp_path: Path) -> None:
    store = tmp_path / "study"
    rows = parallel.run_batches(Patient(notes), BATCHES, workers=2, scheduler=scheduler, folder=store)
    assert rows["square"].to_list() == EXPECTED
    parallel.finished(store)
    assert not list(store.iterdir())


@WHERE
def test_a_worker_that_dies_costs_a_retry(scheduler: str | None, notes: Path) -> None:
    work = DiesOnce(notes)
    ended: list[int] = []
    rows = parallel.run_batches(work, BATCHES, workers=2, scheduler=scheduler, progress=lambda: ended.append(1))
    assert rows["square"].to_list() == EXPECTED
    assert len(ended) == len(BATCHES)
    assert work.started(9) == 2
    assert work.started(0) == 1, "what had ended is not run again"


def test_a_worker_that_is_slow_to_come_back_is_waited_for(notes: Path) -> None:
    """On a busy machine a process takes longer to start than Dask waits for it by default."""
    from dask import config

    work = DiesOnce(notes)
    with config.set({"distributed.deploy.lost-worker-timeout": "1 ms"}):
        rows = parallel.run_batches(work, BATCHES, workers=1, scheduler="local:1")
    assert rows["square"].to_list() == EXPECTED


@pytest.mark.long
@WHERE
def test_a_batch_that_always_kills_its_worker_is_named(scheduler: str | None, notes: Path, tmp_path: Path) -> None:
    work = Deadly(notes)
    store = tmp_path / "study"
    with pytest.raises(FathomsError, match="batch 4 of 8"):
        parallel.run_batches(work, BATCHES, workers=2, scheduler=scheduler, folder=store)
    assert 2 <= work.started(9) <= 4
    rows = parallel.run_batches(squares, BATCHES, workers=2, scheduler=scheduler, folder=store)
    assert rows["square"].to_list() == EXPECTED


@WHERE
def test_an_error_of_the_work_itself_is_one_at_once(scheduler: str | None, notes: Path) -> None:
    work = Wrong(notes)
    with pytest.raises(ZeroDivisionError, match="not mine to mend"):
        parallel.run_batches(work, BATCHES, workers=2, scheduler=scheduler)
    assert work.started(9) == 1


def test_a_thousand_items_do_not_take_a_thousand_round_trips(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    on_cluster = cluster.on_cluster

    def counting(work: Callable[[Any], Any], batches: dict[int, Any], scheduler: str) -> Iterator[tuple[int, Any]]:
        sent.append(len(batches))
        return on_cluster(work, batches, scheduler)

    monkeypatch.setattr(work, "on_cluster", counting)
    assert len(parallel.parallel_map(abs, range(1000), workers=2, scheduler=CLUSTER)) == 1000
    assert 2 <= sent[0] <= 2 * work.ROUNDS + 1


# -- studies --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "sim"
    write(fm.simulate(systems=8, n_topics=6, n_docs=200, depth=25, seed=3), path)
    names = sorted(file.name for file in (path / "runs").iterdir())
    (path / "pooled.txt").write_text("\n".join(names[:6]))
    (path / "groups.tsv").write_text("".join(f"{name}\tteam{i // 2}\n" for i, name in enumerate(names[:6])))
    return path


TABLES = {
    "eval": ["-m", "AP", "-m", "RBP(p=0.8)", "-q"],
    "compare": ["-m", "AP", "-m", "P@5", "--test", "randomization"],
    "rank": ["-m", "AP", "-m", "nDCG@5"],
    "audit": ["--pooled", "pooled.txt", "--groups", "groups.tsv"],
    "ties": ["--show", "pairs"],
    "predict": ["--method", "all", "--pooled", "pooled.txt"],
    "depth": ["-m", "nDCG", "-m", "ERR", "--depths", "1:20"],
}


@pytest.mark.long
@pytest.mark.parametrize("command", TABLES)
def test_a_command_prints_the_same_everywhere(
    command: str, sim: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sim)
    printed = []
    for flags in EVERYWHERE:
        assert status(command, "qrels.txt", "runs", *TABLES[command], "--format", "tsv", "--quiet", *flags) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0].count("\n") > 10
    assert printed[0] == printed[1] == printed[2]


@pytest.mark.long
@pytest.mark.parametrize("paper", ["rm", "gain", "depth", "ties", "rtc"])
def test_a_paper_is_the_same_everywhere(paper: str, sim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathoms.base.charts.available", lambda: False)
    monkeypatch.setattr(rtc, "RTCSettings", partial(rtc.RTCSettings, systems=5, methods=("MTC", "fusion")))
    files = {}
    for where, flags in zip(("one", "three", "dask"), EVERYWHERE, strict=True):
        words = ["papers", paper, str(sim / "truth.txt"), str(sim / "runs"), "-o", str(tmp_path / where), *flags]
        if paper != "rtc":
            words += ["--pooled", str(sim / "pooled.txt")]
        depth = ["--depth", "10"] if paper in ("gain", "depth", "rtc") else []
        assert status(*words, *depth, "--trials", "6" if paper == "rtc" else "12", "--quiet") == 0
        files[where] = {file.name: file.read_bytes() for file in (tmp_path / where).iterdir()}
    assert len(files["one"]) > 4
    assert files["one"] == files["three"] == files["dask"]


@pytest.mark.slow
def test_a_report_is_the_same_everywhere(sim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathoms.base.charts.available", lambda: False)
    measures = prepare_measures(["AP", "P@5"])
    settings: tuple[ReadingOptions, ...] = ({"workers": 1}, {"workers": 2}, {"scheduler": CLUSTER})
    pages = [
        page(
            replace(
                run_report(fm.Experiment(sim / "qrels.txt", sim / "runs", **options), measures),
                options=Options(),
            )
        )
        for options in settings
    ]
    assert pages[0] == pages[1] == pages[2]


def test_functions_give_the_same_everywhere(sim: Path) -> None:
    qrels, runs = str(sim / "qrels.txt"), str(sim / "runs")
    for call in (
        partial(fm.evaluate_depths, qrels, runs, "nDCG", range(1, 21), by_topic=True),
        partial(fm.predict, qrels, runs, ["AP", "P@5"], ["smoothed", "fusion"], by_topic=True),
        partial(
            fm.evaluate, qrels, runs, ["AP(variant=c)@10"], pooled=["sys1", "sys2"], universe="given", by_topic=True
        ),
    ):
        alone = call(workers=1)
        assert alone.equals(call(workers=3))
        assert alone.equals(call(scheduler=CLUSTER))


@pytest.mark.long
def test_a_worker_killed_in_the_middle_of_the_trials(sim: Path) -> None:
    settings = rtc.RTCSettings(depth=10, trials=80, systems=5, methods=("fusion",), workers=2)
    world = rtc_trials.make_world(fm.Experiment(sim / "truth.txt", sim / "runs"), settings.depth)
    killed: list[int] = []

    def kill_one() -> None:
        if not killed:
            victim = next(iter(cluster._client(CLUSTER).run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    rows = rtc_trials.trials(world, replace(settings, scheduler=CLUSTER), kill_one)
    assert killed
    assert rows.equals(rtc_trials.trials(world, settings))
    assert killed[0] not in cluster._client(CLUSTER).run(os.getpid).values()


def test_runs_travel_as_names_of_files(sim: Path) -> None:
    from distributed.protocol.pickle import dumps

    assert len(dumps(scan_runs(str(sim / "runs")))) < 3_000


# -- what can be wrong ----------------------------------------------------------------------------------------


def refused(sim: Path, scheduler: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert status("eval", sim / "qrels.txt", sim / "runs", "--scheduler", scheduler) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize("scheduler", ["nowhere", "local:0", "local:", "local:two", "tcp:", "tcp://", "http://a:1"])
def test_a_scheduler_that_is_none(scheduler: str, sim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(sim, scheduler, capsys)
    assert "expected tcp://host:port or local:N" in said
    assert repr(scheduler) in said


def test_a_scheduler_that_does_not_answer(
    sim: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.3)
    said = refused(sim, "tcp://127.0.0.1:9", capsys)
    assert "no scheduler answers at tcp://127.0.0.1:9" in said
    assert "Traceback" not in said


def test_dask_is_not_installed(sim: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install 'fathoms[cluster]'" in refused(sim, "tcp://127.0.0.1:9", capsys)


def test_a_worker_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    client = cluster._client(CLUSTER)
    monkeypatch.setattr(cluster, "__version__", "99.0")
    with pytest.raises(FathomsError, match=r"expected 99\.0"):
        cluster._check_workers(client, CLUSTER)


class Unfetched:
    """A future whose result is never got hold of, as where the worker has died that had it."""

    def __init__(self, future: Any) -> None:
        self.future = future

    def result(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "a wait without end"
        raise TimeoutError


@pytest.mark.parametrize("times", [1, 2])
def test_a_result_that_is_lost_on_its_way_is_made_again(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, left = cluster._outcome, [times]

    def losing(future: Any, batch: str, scheduler: str, lost: int) -> cluster.Outcome:
        if batch == "batch 3 of 8" and left[0]:
            left[0] -= 1
            return outcome(Unfetched(future), batch, scheduler, lost)
        return outcome(future, batch, scheduler, lost)

    monkeypatch.setattr(cluster, "_outcome", losing)
    rows = parallel.run_batches(squares, BATCHES, workers=2, scheduler=CLUSTER)
    assert rows["square"].to_list() == EXPECTED
    assert left == [0]


def test_a_result_that_is_lost_again_and_again_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = cluster._outcome
    monkeypatch.setattr(cluster, "_outcome", lambda future, *rest: outcome(Unfetched(future), *rest))
    with pytest.raises(FathomsError, match=r"batch \d of 8: its result could not be fetched .* 3 times"):
        parallel.run_batches(squares, BATCHES, workers=2, scheduler=CLUSTER)


def test_a_scheduler_that_is_stopped_is_not_waited_for(own: OwnCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    own.worker()
    own.wait_for(1)
    client = cluster._client(own.address)
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 1)
    own.processes[0].send_signal(signal.SIGSTOP)
    try:
        start = time.monotonic()
        with pytest.raises(FathomsError, match=r"the connection to the scheduler .* is lost"):
            cluster._workers(client, own.address)
        cluster._cancel(client, [])
        assert time.monotonic() - start < 15
    finally:
        own.processes[0].send_signal(signal.SIGCONT)


class Died:
    exitcode = -9


def test_a_pool_that_does_not_hear_of_a_death_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that listens to a pool's processes can wait for ever for the rest of what one of them was sending."""
    from concurrent.futures import Future

    from joblib.externals import loky

    class Deaf:
        _processes: ClassVar = {1: Died()}

        def submit(self, work: Any, item: Any) -> Future[Any]:
            return Future()

        def shutdown(self, kill_workers: bool) -> None:
            assert kill_workers

    monkeypatch.setattr(loky, "get_reusable_executor", lambda **settings: Deaf())
    monkeypatch.setattr(local, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(local, "END_SECONDS", 0.05)
    with pytest.raises(FathomsError, match="batch 1 of 1: its worker died 3 times"):
        list(local.on_processes(squares, {0: [1]}, 1))


LISTENERS = """
import psutil
from fathoms.base import parallel

if __name__ == "__main__":
    parallel.parallel_map(str, [1, 2], workers=2, scheduler="local:2")
    this = psutil.Process()
    for process in (this, *this.children(recursive=True)):
        for connection in process.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                print(connection.laddr.ip, connection.laddr.port)
    print(flush=True)
    input()
"""


@pytest.mark.long
def test_a_cluster_of_this_machine_serves_no_pages(tmp_path: Path) -> None:
    """Dask's pages tell whoever asks what is running; every port of a cluster, in a process of its own, is asked."""
    pytest.importorskip("psutil")
    script = tmp_path / "listeners.py"
    script.write_text(LISTENERS)
    both = subprocess.PIPE
    with subprocess.Popen([sys.executable, script], stdin=both, stdout=both, text=True) as process:
        assert process.stdout is not None
        lines = [line.split() for line in takewhile(str.strip, process.stdout)]
        try:
            assert len(lines) >= 3  # the scheduler and two workers
            for address, port in lines:
                assert address == "127.0.0.1"
                assert not answers_http(int(port)), port
        finally:
            process.communicate("\n", timeout=120)


def answers_http(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client, contextlib.suppress(OSError):
        client.sendall(b"GET /info/main/workers.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return client.recv(1000).startswith(b"HTTP/")
    return False


# -- clusters that people start themselves -----------------------------------------------------------------------------


class OwnCluster:
    """A scheduler on this machine, and workers for it."""

    def __init__(self, folder: Path) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.start("scheduler", "--port", "0", "--scheduler-file", str(file), "--no-dashboard")
        give_up = time.monotonic() + 30
        while not file.exists() or not file.read_text(encoding="utf-8").endswith("}"):
            assert time.monotonic() < give_up
            time.sleep(0.05)
        self.address = json.loads(file.read_text(encoding="utf-8"))["address"]

    def start(self, program: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *words, "--host", "127.0.0.1"]
        silent = subprocess.DEVNULL
        process = subprocess.Popen(command, env=os.environ | environment, stdout=silent, stderr=silent)
        self.processes.append(process)
        return process

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        return self.start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", **environment)

    def wait_for(self, workers: int) -> None:
        cluster._client(self.address).wait_for_workers(workers, timeout=30)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnCluster]:
    made = OwnCluster(tmp_path)
    yield made
    client = cluster._clients.pop(made.address, None)
    if client is not None:
        client.close(timeout=1)
    for process in made.processes:
        process.kill()
        process.wait()


@pytest.mark.long
def test_a_worker_of_another_version_that_joins_later_gets_no_work(
    own: OwnCluster, notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = own.worker()
    own.wait_for(1)
    capsys.readouterr()
    other = tmp_path / "other" / "fathoms"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    (other / "version.py").write_text("__version__ = '0.0.1'\n", encoding="utf-8")
    joined: list[int] = []

    def join() -> None:
        if not joined:
            joined.append(own.worker(PYTHONPATH=str(other.parent)).pid)
            own.wait_for(2)
            (tmp_path / "go").touch()

    work = Held(notes)
    rows = parallel.run_batches(work, BATCHES, workers=1, scheduler=own.address, progress=join)
    assert rows["square"].to_list() == EXPECTED
    assert work.processes() == {first.pid}
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "has fathoms 0.0.1, expected" in said[0]
    assert said[0].endswith("it gets no work")


@pytest.mark.long
def test_all_workers_gone_is_said_and_work_goes_on_with_new_ones(
    own: OwnCluster, notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new worker is started once the line is there that says that somebody waits for it."""
    first = own.worker()
    killed: list[int] = []

    def said(line: str) -> None:
        errors.say(line)
        own.worker()

    def kill() -> None:
        if not killed:
            killed.append(first.pid)
            first.kill()
            (notes.parent / "go").touch()

    own.wait_for(1)
    capsys.readouterr()
    monkeypatch.setattr(cluster, "say", said)
    rows = parallel.run_batches(Held(notes), BATCHES, workers=1, scheduler=own.address, progress=kill)
    assert rows["square"].to_list() == EXPECTED
    assert capsys.readouterr().err == (
        f"fathoms: the scheduler {own.address} has no worker; waiting for one, 300 s at most\n"
    )


def test_a_cluster_without_workers_is_given_up(
    own: OwnCluster, sim: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SAY_SECONDS", 0.4)
    monkeypatch.setattr(cluster, "_patience", 300.0)
    assert status("eval", sim / "qrels.txt", sim / "runs", "--scheduler", own.address, "--patience", "1") == 2
    said = capsys.readouterr()
    first, *more, last = said.err.splitlines()
    assert first == f"fathoms: the scheduler {own.address} has no worker; waiting for one, 1 s at most"
    assert 1 <= len(more) <= 3
    assert last.startswith(f"fathoms: the scheduler {own.address} has had no worker for 1 seconds; start workers")
    assert said.out == ""


def test_a_worker_that_has_not_got_a_file_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^/nowhere/a\.run: the worker tcp://127.* has no such file; workers read runs"
    ):
        parallel.parallel_map(fm.read_run, ["/nowhere/a.run"], workers=1, scheduler=CLUSTER)


# -- large results of forks ------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked here")
@pytest.mark.parametrize("size", [0, local.LARGE, 3 * local.LARGE, 1 << 30])
def test_large_arrays_come_back_whole_whatever_fits_into_shared_memory(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them, some of them and all of them go through memory that is shared, and the others through a pipe."""
    monkeypatch.setattr(local, "REGION", size)

    def work(n: int) -> dict[str, Any]:
        big = np.arange(n * local.LARGE // 8, dtype=np.int64)
        return {
            "n": n,
            "big": big,
            "small": np.full(3, n),
            "text": np.array([b"a", b"bcd"] * local.LARGE),
            "none": None,
        }

    found = local.each_on_forks(work, list(range(40)), 2, lambda item: None)
    for n, result in enumerate(found):
        expected = work(n)
        assert result["n"] == n
        for name in ("big", "small", "text"):
            assert result[name].dtype == expected[name].dtype
            assert np.array_equal(result[name], expected[name])
        result["big"][:] = 0  # it belongs to this process alone
    assert found[39]["text"][1] == b"bcd"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked here")
def test_an_error_of_one_item_is_that_of_the_call_and_progress_counts_items() -> None:
    def work(n: int) -> int:
        if n == 77:
            raise FathomsError("seventy-seven")
        return n

    done: list[int] = []
    assert local.each_on_forks(work, list(range(77)), 2, done.append) == done == list(range(77))
    with pytest.raises(FathomsError, match="seventy-seven"):
        local.each_on_forks(work, list(range(100)), 2, lambda item: None)


def test_patience_is_checked_without_a_scheduler_too() -> None:
    with pytest.raises(FathomsError, match="patience"):
        fm.Experiment({"1": {"a": 1}}, {"x": {"1": {"a": 1.0}}}, patience=-3)


# -- work aside --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fork", [True, False])
def test_work_aside_gives_its_results_in_order(fork: bool) -> None:
    def squared(n: int) -> tuple[int, int]:
        return n * n, os.getpid()

    aside = local.Aside(squared, fork=fork)
    for n in range(5):
        aside.give(n)
    results = aside.results()
    assert [square for square, _ in results] == [0, 1, 4, 9, 16]
    assert {pid == os.getpid() for _, pid in results} == {not (fork and local.may_fork())}


def test_what_a_copy_leaves_undone_is_done_here() -> None:
    first = os.getpid()

    def work(n: int) -> int:
        if n == 2 and os.getpid() != first:
            os._exit(1)
        return -n

    aside = local.Aside(work, fork=True)
    for n in range(5):
        aside.give(n)
    assert aside.results() == [0, -1, -2, -3, -4]


@pytest.mark.parametrize("fork", [True, False])
def test_an_error_aside_is_heard_of(fork: bool) -> None:
    def one_over(*numbers: int) -> list[float]:
        aside = local.Aside((1).__truediv__, fork=fork)
        for number in numbers:
            aside.give(number)
        return aside.results()

    assert one_over(2, 4) == [0.5, 0.25]
    with pytest.raises(ZeroDivisionError):
        one_over(2, 0, 4)
