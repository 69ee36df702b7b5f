"""Names of the judging strategies, for the command line, which must not wait for the strategies themselves.

tests/cli/test_common_registries.py sees that they are those of the registry in `select`.
"""

import re

from fathoms.base.errors import FathomsError

STRATEGIES = (
    "fusion",
    "expected",
    "rtc",
    "mtc",
    "pool",
    "depth",
    "mtf",
    "hedge",
    "rbp",
    "maxmean",
    "maxmean-ns",
    "thompson",
    "find-all",
)
DEFAULT = "fusion"
RBP = re.compile(r"rbp\(p=(0?\.[0-9]+)\)")  # with another p than the default


def strategy_name(name: str) -> str:
    """The name of a strategy; an error says which there are."""
    if name not in STRATEGIES and RBP.fullmatch(name) is None:
        raise FathomsError(f"expected one of {', '.join(STRATEGIES)} or rbp(p=0.95), found {name!r}")
    return name
