"""All measures, in the order in which they are listed. Whatever else there is to know, a measure's class says."""

from __future__ import annotations

from fathoms.measures.ap import AP, GMAP
from fathoms.measures.base import Measure
from fathoms.measures.bpref import Bpref
from fathoms.measures.counts import NumQ, NumRel, NumRelRet, NumRet
from fathoms.measures.dcg import DCG, SDCG
from fathoms.measures.err import ERR, nERR
from fathoms.measures.infap import infAP
from fathoms.measures.inst import INST
from fathoms.measures.iprec import IPrec
from fathoms.measures.judged import Judged
from fathoms.measures.ndcg import nDCG
from fathoms.measures.p import P
from fathoms.measures.q import Q
from fathoms.measures.rbp import RBP
from fathoms.measures.recall import R
from fathoms.measures.rprec import Rprec
from fathoms.measures.rr import RR
from fathoms.measures.sets import SetF, SetP, SetR
from fathoms.measures.success import Success

MEASURES: dict[str, type[Measure]] = {
    cls.__name__: cls
    for cls in (
        *(P, R, RR, AP, nDCG, RBP, ERR, nERR, DCG, SDCG, Q, Bpref, infAP, INST, Judged, Rprec, Success),
        *(SetP, SetR, SetF, NumQ, NumRet, NumRel, NumRelRet, IPrec, GMAP),
    )
}
