"""What every study takes for granted: where the papers differ or are silent, each study says how it goes about it.

One table for all, so that two studies can be told apart by a look at it; each study prints its own column.
"""

from __future__ import annotations

from typing import Literal

Aspect = Literal["gains", "past a run's end", "ties", "cut-off", "unjudged", "pool", "repetitions"]
ASPECTS: tuple[Aspect, ...] = ("gains", "past a run's end", "ties", "cut-off", "unjudged", "pool", "repetitions")
BINARY = "relevant from grade 1 on"
TRUNCATED = "the judgments of the documents that a contributing run has in its first d ranks"
TREC_TIES = "trec_eval's rule unless --ties says otherwise, scores as float64"
CONTRIBUTING = "contributing runs are those of --pooled, or the assumed pool, which is named"

CONVENTIONS: dict[str, dict[Aspect, str]] = {
    "rm": {
        "gains": f"P@10, RBP and AP: {BINARY}; SDCG and nDCG: the grade",
        "past a run's end": "nothing, but RBP's T takes all later ranks as relevant",
        "ties": TREC_TIES,
        "cut-off": "10 for P, 100 for SDCG; RBP, AP and nDCG read whole runs",
        "unjudged": "not relevant in B, relevant in T",
        "pool": f"prefixes of the judgments by least depth; {CONTRIBUTING}",
        "repetitions": "20 shuffles inside each depth, or the order of the file",
    },
    "gain": {
        "gains": f"RBP(p=0.95): {BINARY}",
        "past a run's end": "gain 0; curves are means over all contributing runs",
        "ties": TREC_TIES,
        "cut-off": "the depth of the whole pool",
        "unjudged": "as the model predicts at that rank",
        "pool": f"of depth d: {TRUNCATED}; {CONTRIBUTING}",
        "repetitions": "5 samples of stratified pools; nothing else is drawn",
    },
    "depth": {
        "gains": f"AP, RBP and RR: {BINARY}; nDCG and Q: the grade; ERR: (2^g - 1) / 2^g_max",
        "past a run's end": "nothing; residuals of RBP and ERR take all later ranks as fully relevant",
        "ties": f"{TREC_TIES}; the paper goes by the order of the file",
        "cut-off": "every measure at every depth k, RR too (in the paper's Table 7 RR reads whole runs)",
        "unjudged": "not relevant, or left out where runs are condensed",
        "pool": f"of depth d: {TRUNCATED}; {CONTRIBUTING}",
        "repetitions": "none: nothing is drawn",
    },
    "ties": {
        "gains": f"RR, RBP and AP: {BINARY}; nDCG: the grade; ERR: (2^g - 1) / 2^g_max",
        "past a run's end": "nothing; a run's end ends its last band",
        "ties": "the order of the file unless --ties says otherwise, scores as float64; bands are ties",
        "cut-off": "none",
        "unjudged": "not relevant",
        "pool": "as judged; all runs, or those of --pooled, and of them the best by AP",
        "repetitions": "none: the mean over all orders of a band is worked out, not drawn",
    },
    "rtc": {
        "gains": f"AP: {BINARY}",
        "past a run's end": "nothing",
        "ties": TREC_TIES,
        "cut-off": "the first 100 documents unless --depth says otherwise, all relevant documents in R",
        "unjudged": "by its probability while judging; not relevant in the truth",
        "pool": "all documents of the systems of a trial; the judgments given are the truth",
        "repetitions": "1,000 trials of 10 systems (100 in `papers all`) unless --trials and --systems say otherwise",
    },
    "estimates": {
        "gains": f"P, RBP and AP: {BINARY}; nDCG: the grade",
        "past a run's end": "nothing, but RBP's range takes all later ranks as relevant",
        "ties": TREC_TIES,
        "cut-off": "10 for P and nDCG; RBP and AP read whole runs",
        "unjudged": "as each method estimates; not relevant in the truth where the whole pool has no judgment",
        "pool": f"of depth d: {TRUNCATED}; {CONTRIBUTING}",
        "repetitions": "200 draws behind each interval",
    },
}


def conventions_of(paper: str) -> list[tuple[Aspect, str]]:
    """A study's own, in the same order everywhere; none of a page that is no study."""
    own = CONVENTIONS.get(paper)
    return [] if own is None else [(aspect, own[aspect]) for aspect in ASPECTS]
