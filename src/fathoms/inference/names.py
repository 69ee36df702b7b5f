"""Names of verdicts, significance tests, corrections and default measures, for the command
line, which must not wait for the tests themselves.

tests/cli/test_common_registries.py sees that they are those of the registries in `significance`.
"""

from typing import Literal, get_args

Test = Literal["t", "wilcoxon", "sign", "randomization", "bootstrap", "bayes", "tukey"]
Correction = Literal["none", "bonferroni", "holm", "bh"]
Interval = Literal["t", "bootstrap", "bca", "none"]  # of one mean over topics
Verdict = Literal["certain", "supported", "significant", "fragile", "open", "tie"]
VERDICTS: tuple[Verdict, ...] = ("certain", "supported", "fragile", "open", "tie")  # of compare, the strongest first
CLAIMED: tuple[Verdict, ...] = ("certain", "supported")  # that support a claim
SIGNIFICANT: tuple[Verdict, ...] = (*CLAIMED, "significant", "fragile")  # the second last where only scores are known
TESTS: tuple[Test, ...] = get_args(Test)
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
LABEL_MEASURES = ("nDCG@10", "AP")  # by which labels and judgments order runs, by default
SEEN_WITH = 0.8  # chance of finding a difference significant with the number of topics that is named for it
TOPICS_NAMED = 100_000  # more than these are only said to be more
GATE_MEASURES = ("nDCG@10",)  # by which a candidate is held against the baseline, by default
GATE_RUNS = ("baseline", "candidate")  # what its runs are called that have no names of their own
