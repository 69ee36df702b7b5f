"""Names of the methods of `predict`, for the command line, which must not wait for the methods themselves.

tests/cli/test_common_registries.py sees that they are those of the registries.
"""

MEASURES = ("P@10", "RBP(p=0.8)", "AP")  # that are estimated by default
PREDICTORS = ("simplistic", "background", "interpolated", "smoothed")
GAIN_MODELS = ("static", "constant", "linear", "zipf", "weibull", "hybrid")
RELEVANCE_MODELS = ("experts", "fusion")
DEFAULT = "calibrated"
METHODS = (*PREDICTORS, *GAIN_MODELS, *RELEVANCE_MODELS, DEFAULT)
DRAWS = 200  # of the unjudged documents' grades, behind the default
LEVEL = 0.95  # of its intervals
