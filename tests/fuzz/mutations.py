"""Changes to good files that bad ones have in practice, and some that they never have."""

from __future__ import annotations

import random

_NUMBERS = """0 1 -1 -0 0.0 1. .5 . - -. + +3 1e5 1E-5 1e 1e+ 1e400 1e-400 4.9e-324 1e22 1e23 9007199254740993 nan inf
-inf 1_0 9007199254740993.5 9007199254740995.0 123456789012345678.9 1234567890123456789 18446744073709551615 0x10 1d
18446744073709551616
0.1234567890123456789 99999999999999999999 0.30000000000000004 2.2250738585072014e-308 1e0005 1e99999 ١ 1,5"""
NUMBERS = _NUMBERS.split()
SPLICES = [
    *(number.encode() for number in NUMBERS),
    *(bytes([n]) for n in range(256)),
    b"\r\n",
    b"\n\n",
    b"  ",
    b"\t ",
]
SPLICES += [b"#", b"\n#", b"\xef\xbb\xbf", b"x" * 70, b"Q0", b"tag tag", b" \n", b"\0\0", b"\xff\xfe"]


def changed(draw: random.Random, raw: bytes) -> bytes:
    """Some bytes put in, taken out, repeated or flipped; often none."""
    found = bytearray(raw)
    for _ in range(draw.choice([0, 1, 1, 2, 3, 8])):
        at = draw.randint(0, len(found))
        match draw.randint(0, 4):
            case 0:
                found[at:at] = draw.choice(SPLICES)
            case 1:
                del found[at : at + draw.choice([1, 1, 2, 30])]
            case 2:
                found[at : at + draw.randint(1, 4)] = draw.choice(SPLICES)
            case 3:
                start = draw.randint(0, len(found))
                found[at:at] = found[start : start + draw.randint(1, 60)]
            case 4 if found:
                found[at % len(found)] ^= 1 << draw.randint(0, 7)
    return bytes(found)
