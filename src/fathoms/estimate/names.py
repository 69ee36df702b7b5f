"""Names of the methods of `predict`, for the command line, which must not wait for the methods themselves.

tests/test_common_registries.py sees that they are those of the registries.
"""

PREDICTORS = ("simplistic", "background", "interpolated", "smoothed")
GAIN_MODELS = ("static", "constant", "linear", "zipf", "weibull", "hybrid")
RELEVANCE_MODELS = ("experts", "fusion")
METHODS = (*PREDICTORS, *GAIN_MODELS, *RELEVANCE_MODELS)
