"""What counts as equal. Each tolerance is stated here once, named after its purpose."""

from __future__ import annotations

SAME = 1e-9  # scores, means and differences closer than this are equal: the order of a sum may change as much
ROUNDING = 1e-12  # values closer than this are one value, but for the rounding of a few steps
LEAST_AP = 1e-5  # what geometric means take instead of less, as trec_eval does
