"""Names of the judging strategies, for the command line, which must not wait for the strategies themselves.

tests/cli/test_common_registries.py sees that they are those of the registry in `select`.
"""

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
    "rbp(p=0.5)",
    "rbp(p=0.95)",
    "maxmean",
    "maxmean-ns",
    "thompson",
    "find-all",
)
DEFAULT = "fusion"
