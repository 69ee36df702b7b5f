"""What counts as equal. Each tolerance stands here once, under the name of what it is for."""

from __future__ import annotations

SAME = 1e-9  # scores, means and differences nearer than this are equal: the order of a sum may change as much
ROUNDING = 1e-12  # values nearer than this are one value, but for the rounding of a few steps
LEAST_AP = 1e-5  # what geometric means take instead of less, as trec_eval does
