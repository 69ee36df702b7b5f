"""Rounding before a float decides, so that the last bit of exp, log, power or a matrix product changes no outcome.

Processors and libraries differ there, and 25 x 0.4^2 may come out as 4 or as 4.000000000000001.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

BITS = 40  # of the mantissa that are kept, about 12 decimal digits


def rounded(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The values with their first 12 digits or so: for ceil, floor, a sort or a comparison, not for a result.

    >>> float(rounded(4.000000000000001)), bool(rounded(0.1 + 0.2) == rounded(0.3))
    (4.0, True)
    """
    mantissa, exponent = np.frexp(np.asarray(values, np.float64))
    kept: npt.NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS)
    return kept


def best(values: npt.ArrayLike) -> int:
    """The place of the greatest value, the first of those that differ by rounding alone."""
    return int(np.argmax(rounded(values)))


def order(values: npt.ArrayLike, **options: Any) -> npt.NDArray[np.int64]:
    """The places of the values, ascending; those that differ by rounding alone stay in their order."""
    return np.asarray(np.argsort(rounded(values), kind="stable", **options), np.int64)


def powers(base: float, exponents: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """base^exponent by the C library, one by one: numpy's own differ from processor to processor."""
    wanted, place = np.unique(np.asarray(exponents, np.float64), return_inverse=True)
    values = np.array([math.pow(base, exponent) for exponent in wanted.tolist()])
    return values[place].reshape(np.shape(exponents))


def logs(values: npt.ArrayLike, base: float = math.e) -> npt.NDArray[np.float64]:
    """Logarithms of the values in the same way; those to base 2 as C's log2 has them."""
    log = math.log2 if base == 2 else math.log
    logarithms = np.array([log(value) for value in np.ravel(values).tolist()]).reshape(np.shape(values))
    return logarithms if base in (2, math.e) else logarithms / math.log(base)


def to_multiples(low: Any, high: Any, parts: float) -> tuple[Any, Any]:
    """The ends of intervals, moved outward to multiples of 1 / parts.

    >>> [float(end) for end in to_multiples(0.17, 0.3, 10)]
    [0.1, 0.3]
    """
    return np.floor(rounded(low * parts)) / parts, np.ceil(rounded(high * parts)) / parts
