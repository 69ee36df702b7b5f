"""Fuzzers of everything that fathoms reads.

    python -m tests.fuzz [--cases 200000] [--seed 1] [--only text,json] [--jobs 2] [--keep FOLDER]
    python -m tests.fuzz --only text --seed 1 --case 17

A kind is a module of this package with `make(rng)`, which makes a case, and `check(case)`, which reads it and returns
the outcome in a word; `kinds.py` lists them. A case is known by its kind, the seed and its number, so the second
command repeats one. Right is a `FathomsError` with a message, or a result; where a naive reader can make plain dicts of
the same files, the scores have to be those of pytrec_eval on them. Any other exception, a warning, a crash, a case that
takes longer than some seconds, or another score is a failure: its files are kept in a folder with the command that
repeats it, and the status is 1.
"""
