"""The version of this package, where every module can ask for it."""

__version__ = "0.4.0"
