"""Normalised discounted cumulated gain."""

from __future__ import annotations

from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.weighted import Discounted


class nDCG(Discounted, NormalisedSum):
    """DCG over the DCG of the ideal ranking, which is cut at k too.

        nDCG@k = DCG@k / (DCG@k of the judged documents by falling gain)

    The range is exact with graded gains too. For `low` the m deepest unjudged documents and all outside have the
    greatest gain. For `high`, gains are cut into layers, each of which takes its own best number of shallowest ranks,
    and Dinkelbach's method finds the ratio. (With gmax above 32 unjudged documents are given only 1, gmax and the
    grades in use.)

    The default, raw gains and 1/log2(i+1), is that of trec_eval and ir_measures. Many papers use `nDCG(gain=exp)`.
    NTCIR's MSnDCG@10 is `nDCG@10`.
    """

    trec_eval = "ndcg"
    trec_eval_at = "ndcg_cut_{k}"
    examples = ("nDCG@10", "nDCG", "nDCG(gain=exp)@10")
    citation = "K. Järvelin, J. Kekäläinen (2002). Cumulated gain-based evaluation of IR techniques."
