"""Work on several cores or machines: the one place that starts threads and processes for it.

Work is cut into independent pieces, so the result is the same however many workers there are and in whatever order they
finish. There are two ways to do it. `parallel_map` calls a function on every item: here on forks of this process if
that is safe, else on threads, or on new processes if the work is heavy. `run_batches` runs a long study batch by batch:
on processes here, with every finished batch kept in a folder; `parallel_map` does the same if it is given a folder.

With a scheduler both go to a Dask cluster instead. They talk to Dask directly and not through joblib's backend, which
never hears of a task that Dask gave up, and would wait for it forever.
"""

from fathoms.base.parallel.cluster import check_scheduler, disconnect, set_patience
from fathoms.base.parallel.local import may_fork
from fathoms.base.parallel.work import Where, finished, one_worker, parallel_map, run_batches

__all__ = [
    "Where",
    "check_scheduler",
    "disconnect",
    "finished",
    "may_fork",
    "one_worker",
    "parallel_map",
    "run_batches",
    "set_patience",
]
