"""Names of verdicts, significance tests, corrections and default measures, for the command
line, which must not wait for the tests themselves.

tests/test_common_registries.py sees that they are those of the registries in `significance`.
"""

from typing import Literal, get_args

Test = Literal["t", "wilcoxon", "sign", "randomization", "bootstrap", "bayes", "tukey"]
Correction = Literal["none", "bonferroni", "holm", "bh"]
VERDICTS = ("certain", "supported", "fragile", "open", "tie")  # of compare, the strongest first
TESTS: tuple[Test, ...] = get_args(Test)
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
LABEL_MEASURES = ("nDCG@10", "AP")  # by which labels and judgments order runs, by default
GATE_MEASURES = ("nDCG@10",)  # by which a candidate is held against the baseline, by default
GATE_RUNS = ("baseline", "candidate")  # what its runs are called that have no names of their own
