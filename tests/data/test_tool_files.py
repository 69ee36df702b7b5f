"""Files as the tools of search teams write them, from the documentation or the source of each; none is of our making.

The values are cut down to a few. Where a file is from is said beside it.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.data.convert import content as written
from fathoms.data.document_values import read_values
from fathoms.data.formats import registry
from fathoms.data.formats.base import Content
from fathoms.data.sniff import kind_of
from tests.support.commands import Command

# github.com/o19s/quepid, app/views/api/v1/export/ratings/show.basic.csv.erb: a blank line comes first, and a query
# without ratings stands alone.
QUEPID = b"""
query,docid,rating
star wars,11,3
star wars,1893,2
"milk, whole ""organic\""",B01,0
"two
lines",https://example.org/a b,1
lonely query
"""
# The same, app/assets/javascripts/services/caseCSVSvc.js: the detailed export, and a snapshot (a run without scores).
QUEPID_DETAILED = (
    b"Team Name,Case Name,Case ID,Query Text,Doc ID,Title,Rating,overview\r\n"
    b'OSC,Movies,6789,star wars,11,"Star Wars, 1977",3,"A ""long"" time ago"\r\n'
    b"OSC,Movies,6789,star wars,12,Finding Nemo,,fish\r\n"
)
QUEPID_SNAPSHOT = (
    b"Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\r\n"
    b"before,2026-01-02,6789,star wars,11,1\r\nbefore,2026-01-02,6789,star wars,1893,2\r\n"
)
# The same, show_ltr.txt.erb of today and show.txt.erb of once.
QUEPID_LTR = b'3 qid:1 # 11 star wars\n\n0    qid:2 #    B01; "milk"\n'
# The same, show.json.jbuilder and _query.json.jbuilder.
QUEPID_JSON = {"queries": [{"query": "star wars", "ratings": {"11": 3, "1893": 2}}, {"query": "lonely", "ratings": {}}]}
# github.com/SeaseLtd/rated-ranking-evaluator, ratings_example.json of the Elasticsearch archetype.
RRE = {
    "index": "basses",
    "corpora_file": "electric_basses.bulk",
    "id_field": "id",
    "topics": [
        {
            "description": "Fender basses",
            "query_groups": [
                {
                    "name": "Brand search",
                    "queries": [
                        {"template": "t.json", "placeholders": {"$query": "fender"}},
                        {"template": "t.json", "placeholders": {"$query": "Fender"}},
                    ],
                    "relevant_documents": {"1": {"gain": 3}, "2": {"gain": 3}},
                },
                {
                    "name": "Jazz bass search",
                    "queries": [{"template": "t.json", "placeholders": {"$query": "jazz"}}],
                    "relevant_documents": {"1": {"gain": 2}},
                },
            ],
        }
    ],
}
# The same, my-rre-evaluation/src/etc/ratings/ratings.json: the placeholder has another name, and a document gain 0.
RRE_PLACEHOLDER = {
    "index": "my_index_name",
    "query_placeholder": "query",
    "topics": [
        {
            "query_groups": [
                {
                    "name": "what is rre",
                    "queries": [{"template": "m.json", "placeholders": {"query": "what is rre"}}],
                    "relevant_documents": {"doc1": {"gain": 3}, "doc3": {"gain": 0}},
                }
            ]
        }
    ],
}
# Quepid's export for RRE (show.rre.json.jbuilder, _rre_query.json.jbuilder; issue 928): queries alone, gains as keys.
RRE_QUEPID = {
    "id_field": "id",
    "index": "Movies",
    "template": "template.json",
    "queries": [{"placeholders": {"$query": "star wars"}, "relevant_documents": {"1.0": ["l_1559"], "3.0": ["11"]}}],
}
# docs.opensearch.org, search-plugins/search-relevance/judgments: importing judgments.
OPENSEARCH = {
    "name": "Imported Judgments",
    "description": "Judgments generated outside SRW",
    "type": "IMPORT_JUDGMENT",
    "judgmentRatings": [
        {
            "query": "red dress",
            "ratings": [{"docId": "B077ZJXCTS", "rating": "3.000"}, {"docId": "B07QRCGL3G", "rating": "0.000"}],
        },
        {"query": "blue jeans", "ratings": [{"docId": "B071S6LTJJ", "rating": "2.000"}]},
    ],
}
# The answer of GET _plugins/_search_relevance/judgments/ID: the list is the source of a hit.
OPENSEARCH_ANSWER = {
    "took": 36,
    "hits": {"total": {"value": 1}, "hits": [{"_index": "search-relevance-judgment", "_source": OPENSEARCH}]},
}
# elastic.co/guide/en/elasticsearch/reference, Ranking evaluation API: a request and a response.
REQUEST = {
    "requests": [
        {
            "id": "amsterdam_query",
            "request": {"query": {"match": {"text": "amsterdam"}}},
            "ratings": [
                {"_index": "my-index-000001", "_id": "doc1", "rating": 0},
                {"_index": "my-index-000001", "_id": "doc2", "rating": 3},
            ],
        },
        {
            "id": "berlin_query",
            "request": {"query": {"match": {"text": "berlin"}}},
            "ratings": [{"_index": "my-index-000001", "_id": "doc1", "rating": 1}],
        },
    ],
    "metric": {"precision": {"k": 20, "relevant_rating_threshold": 1, "ignore_unlabeled": False}},
}
RESPONSE = {
    "rank_eval": {
        "metric_score": 0.4,
        "details": {
            "my_query_id1": {
                "metric_score": 0.6,
                "unrated_docs": [{"_index": "my-index-000001", "_id": "1960795"}],
                "hits": [
                    {
                        "hit": {"_index": "my-index-000001", "_type": "page", "_id": "1528558", "_score": 7.0556192},
                        "rating": 1,
                    },
                    {"hit": {"_index": "my-index-000001", "_id": "1960795", "_score": 6.5}, "rating": None},
                ],
                "metric_details": {"precision": {"relevant_docs_retrieved": 6, "docs_retrieved": 10}},
            }
        },
        "failures": {},
    }
}
# LETOR 4.0, MQ2007; and RankLib's wiki on the file format.
LETOR = (
    b"2 qid:10032 1:0.056537 2:0.000000 46:0.076923 #docid = GX029-35-5894638 inc = 0.0119881192468859 prob = 0.139 \n"
    b"0 qid:10032 1:0.279152 2:0.000000 46:1.000000 #docid = GX030-77-6315042 inc = 1 prob = 0.341364 \n"
)
RANKLIB = b"3 qid:1 1:1 2:1 3:0 4:0.2 5:0 # 1A\n2 qid:1 1:0 2:0 3:1 4:0.1 5:1 # 1B \n1 qid:2 1:0 2:0 # 2A\n"
# github.com/castorini/umbrela, src/umbrela/utils/common_utils.py (prepare_judgments): no ids, and 0 with result_status
# 0 where no label was found. Its modified_qrels are TREC's lines.
UMBRELA: list[dict[str, Any]] = [
    {
        "model": "gpt-4o",
        "query": "how long is life cycle of flea",
        "passage": "The life cycle of a flea can last anywhere from 20 days to an entire year.",
        "prompt": "...",
        "prediction": "##final score: 3",
        "judgment": 3,
        "result_status": 1,
    },
    {
        "model": "gpt-4o",
        "query": "how long is life cycle of flea",
        "passage": "Fleas jump.",
        "prompt": "...",
        "prediction": "I cannot say.",
        "judgment": 0,
        "result_status": 0,
    },
]
# github.com/embeddings-benchmark/mteb, _save_task_predictions: TASK_predictions.json.
MTEB = {
    "mteb_model_meta": {"model_name": "mteb/baseline-bm25s", "revision": "0_1_10"},
    "default": {"test": {"1": {"31715818": 9.5, "14717500": 3.25}, "3": {"14717500": 1.0}}},
}
# github.com/beir-cellar/beir, util.py: write_to_tsv quotes where need be, save_runfile has rank 0 everywhere.
BEIR_QRELS = b'query-id\tcorpus-id\tscore\r\n1\t31715818\t1\r\n3\t"with ""quotes"""\t2\r\n'
BEIR_RUN = b"1 Q0 31715818 0 9.5 beir\n1 Q0 14717500 0 3.25 beir\n"
# nist.gov/retrieval, trec_eval's companion sample_eval: topic, 0, document, stratum, judgment.
SAMPLE_EVAL = b"1 0 d1 1 2\n1 0 d2 1 0\n1 0 d3 2 -1\n1 0 d4 2 1\n2 0 d1 1 -1\n2 0 d5 1 1\n"

TEXT_A = UMBRELA[0]["passage"]
JUDGMENTS: dict[str, tuple[Any, str, dict[str, dict[str, float]]]] = {
    "Quepid": (
        QUEPID,
        "quepid",
        {
            "star wars": {"11": 3, "1893": 2},
            'milk, whole "organic"': {"B01": 0},
            "two\nlines": {"https://example.org/a b": 1},
        },
    ),
    "Quepid, detailed": (QUEPID_DETAILED, "quepid", {"star wars": {"11": 3}}),
    "Quepid, LTR": (QUEPID_LTR, "ltr", {"1": {"11": 3}, "2": {"B01": 0}}),
    "Quepid, JSON": (QUEPID_JSON, "quepid-json", {"star wars": {"11": 3, "1893": 2}}),
    "RRE": (RRE, "rre", {"fender": {"1": 3, "2": 3}, "Fender": {"1": 3, "2": 3}, "jazz": {"1": 2}}),
    "RRE, placeholder": (RRE_PLACEHOLDER, "rre", {"what is rre": {"doc1": 3, "doc3": 0}}),
    "RRE of Quepid": (RRE_QUEPID, "rre", {"star wars": {"l_1559": 1, "11": 3}}),
    "OpenSearch": (
        OPENSEARCH,
        "opensearch",
        {"red dress": {"B077ZJXCTS": 3, "B07QRCGL3G": 0}, "blue jeans": {"B071S6LTJJ": 2}},
    ),
    "OpenSearch, answer": (
        OPENSEARCH_ANSWER,
        "opensearch",
        {"red dress": {"B077ZJXCTS": 3, "B07QRCGL3G": 0}, "blue jeans": {"B071S6LTJJ": 2}},
    ),
    "_rank_eval request": (
        REQUEST,
        "rank-eval",
        {"amsterdam_query": {"doc1": 0, "doc2": 3}, "berlin_query": {"doc1": 1}},
    ),
    "_rank_eval response": (RESPONSE, "rank-eval", {"my_query_id1": {"1528558": 1}}),
    "LETOR": (LETOR, "ltr", {"10032": {"GX029-35-5894638": 2, "GX030-77-6315042": 0}}),
    "RankLib": (RANKLIB, "ltr", {"1": {"1A": 3, "1B": 2}, "2": {"2A": 1}}),
    "umbrela": (UMBRELA, "umbrela", {"how long is life cycle of flea": {TEXT_A: 3}}),
    "BEIR": (BEIR_QRELS, "beir", {"1": {"31715818": 1}, "3": {'with "quotes"': 2}}),
    "sample_eval": (SAMPLE_EVAL, "sample-eval", {"1": {"d1": 2, "d2": 0, "d3": -1, "d4": 1}, "2": {"d1": -1, "d5": 1}}),
}
RUNS: dict[str, tuple[Any, str, dict[str, list[str]]]] = {
    "Quepid, snapshot": (QUEPID_SNAPSHOT, "quepid", {"star wars": ["11", "1893"]}),
    "_rank_eval response": (RESPONSE, "rank-eval", {"my_query_id1": ["1528558", "1960795"]}),
    "MTEB": (MTEB, "mteb", {"1": ["31715818", "14717500"], "3": ["14717500"]}),
    "BEIR": (BEIR_RUN, "trec", {"1": ["31715818", "14717500"]}),
}


def as_bytes(data: Any) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, list):
        return "".join(json.dumps(record) + "\n" for record in data).encode()
    return json.dumps(data, indent=2).encode()


def put(tmp_path: Path, data: Any, name: str = "file") -> Path:
    path = tmp_path / name
    path.write_bytes(as_bytes(data))
    return path


def sorted_by_score(run: fm.Run) -> dict[str, list[str]]:
    return {topic: sorted(found, key=lambda id: -found[id]) for topic, found in run.to_dict().items()}


@pytest.mark.parametrize("what", JUDGMENTS)
def test_judgments_of_other_tools(what: str, tmp_path: Path) -> None:
    data, name, expected = JUDGMENTS[what]
    path = put(tmp_path, data)
    assert registry.recognise(Content(path.read_bytes()), ["qrels"])[0].name == name
    assert fm.read_qrels(path).to_dict() == expected
    assert kind_of(str(path)) in ("qrels", None)


@pytest.mark.parametrize("what", RUNS)
def test_runs_of_other_tools(what: str, tmp_path: Path) -> None:
    data, name, expected = RUNS[what]
    path = put(tmp_path, data)
    assert registry.recognise(Content(path.read_bytes()), ["run"])[0].name == name
    assert sorted_by_score(fm.read_run(path)) == expected
    assert kind_of(str(path)) in ("run", None)


@pytest.mark.parametrize(
    "what", ["_rank_eval request", "OpenSearch", "RRE", "LETOR", "umbrela", "Quepid", "sample_eval"]
)
def test_labels_come_in_the_same_forms(what: str, tmp_path: Path) -> None:
    data, _, expected = JUDGMENTS[what]
    table = read_values(put(tmp_path, data))
    pairs = zip(table.topic.tolist(), table.document.tolist(), table.number.tolist(), strict=True)
    found = {(topic.decode(), document.decode()): value for topic, document, value in pairs}
    assert found == {(t, d): value for t, ranking in expected.items() for d, value in ranking.items() if value >= 0}


def notes(tmp_path: Path, data: Any) -> str:
    return " ".join(fm.read_qrels(put(tmp_path, data)).notes)


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    assert "1 row without a grade left out: not judged" in notes(tmp_path, QUEPID)
    assert "1 row without a grade left out: not judged" in notes(tmp_path, RESPONSE)
    said = notes(tmp_path, UMBRELA)
    assert "1 record with result_status 0 left out" in said
    assert "1 record without a document's id; the text of the passage is taken" in said
    said = notes(tmp_path, SAMPLE_EVAL)
    assert "2 of 6 documents of the pool not in the sample (-1), so unjudged" in said
    assert "--nonrelevant-grade" not in said  # which would make them judged


def test_umbrela_with_ids(tmp_path: Path) -> None:
    records = [{**record, "qid": "264014", "docid": f"d{i}"} for i, record in enumerate(UMBRELA)]
    qrels = fm.read_qrels(put(tmp_path, records))
    assert qrels.to_dict() == {"264014": {"d0": 3}}
    assert "passage" not in " ".join(qrels.notes)
    nested = [{**records[0], "query": {"qid": "7", "text": "flea"}}]
    del nested[0]["qid"]
    assert fm.read_qrels(put(tmp_path, nested)).to_dict() == {"7": {"d0": 3}}


def test_labels_of_umbrela_by_the_commands(fathoms: Command) -> None:
    fathoms(
        "simulate",
        "-o",
        "sim",
        "--systems",
        "3",
        "--n-topics",
        "6",
        "--n-docs",
        "200",
        "--depth",
        "20",
        "--max-grade",
        "1",
    )
    truth = fm.read_qrels("sim/truth.txt")
    Path("labels.jsonl").write_bytes(written(truth, "umbrela"))
    found = fathoms("labels", "sim/qrels.txt", "labels.jsonl", "--format", "json")
    assert found.status == 0, found.err
    done = fathoms("predict", "sim/qrels.txt", "sim/runs", "-m", "P@10", "--labels", "labels.jsonl", "--format", "tsv")
    assert done.status == 0, done.err


def test_hits_without_scores_keep_their_order(tmp_path: Path) -> None:
    hits = [{"hit": {"_index": "i", "_id": id, "_score": None}, "rating": None} for id in ("b", "a", "c")]
    run = fm.read_run(put(tmp_path, {"details": {"q": {"unrated_docs": [], "hits": hits}}}))
    assert sorted_by_score(run) == {"q": ["b", "a", "c"]}


@pytest.mark.parametrize(
    ("scores", "sort", "scored"),
    [((1.0, 9.0), [7], False), ((9.0, 1.0), [7], False), ((1.0, 9.0), None, False), ((9.0, 1.0), None, True)],
)
def test_the_order_of_hits_is_that_of_the_answer(
    scores: tuple[float, ...], sort: list[int] | None, scored: bool, tmp_path: Path
) -> None:
    extra = {} if sort is None else {"sort": sort}
    hits = [{"hit": {"_id": id, "_score": score, **extra}} for id, score in zip("ba", scores, strict=True)]
    run = fm.read_run(put(tmp_path, {"details": {"q": {"unrated_docs": [], "hits": hits}}}))
    assert sorted_by_score(run) == {"q": ["b", "a"]}
    assert (run.scores.tolist() == list(scores)) == scored


def test_a_written_response_has_its_hits_in_order(tmp_path: Path) -> None:
    run = fm.read_run({"q": {"a": 1.0, "b": 3.0, "c": 3.0}})
    again = fm.read_run(put(tmp_path, written(run, "rank-eval")))
    assert again.to_dict() == {"q": {"b": 3.0, "c": 3.0, "a": 1.0}}


@pytest.mark.parametrize("status", [0, "0", " 0 ", False, 0.0, "0.0"])
def test_no_label_was_found_however_the_status_is_written(status: Any, tmp_path: Path) -> None:
    records = [{**record, "qid": "1", "docid": f"d{i}"} for i, record in enumerate(UMBRELA)]
    records[1]["result_status"] = status
    records[0]["result_status"] = str(records[0]["result_status"])
    assert fm.read_qrels(put(tmp_path, records)).to_dict() == {"1": {"d0": 3}}
    records[1]["result_status"] = "failed"
    with pytest.raises(fm.InputError, match="record 2: expected 'result_status' of 0 or 1, found \"failed\""):
        fm.read_qrels(put(tmp_path, records))


@pytest.mark.parametrize("nothing", [None, "", " "])
def test_a_document_without_a_rating_is_not_judged(nothing: str | None, tmp_path: Path) -> None:
    forms: list[Any] = [
        {"queries": [{"query": "q", "ratings": {"a": 2, "b": nothing}}]},
        {
            "judgmentRatings": [
                {"query": "q", "ratings": [{"docId": "a", "rating": "2"}, {"docId": "b", "rating": nothing}]}
            ]
        },
        {"requests": [{"id": "q", "ratings": [{"_id": "a", "rating": 2}, {"_id": "b", "rating": nothing}]}]},
        {
            "queries": [
                {"placeholders": {"$query": "q"}, "relevant_documents": {"a": {"gain": 2}, "b": {"gain": nothing}}}
            ]
        },
        [{"qid": "q", "docid": id, "judgment": grade, "prediction": ""} for id, grade in (("a", 2), ("b", nothing))],
    ]
    for form in forms:
        qrels = fm.read_qrels(put(tmp_path, form))
        assert qrels.to_dict() == {"q": {"a": 2}}
        assert "1 row without a grade left out: not judged" in " ".join(qrels.notes)


@pytest.mark.parametrize(
    ("text", "column", "place"),
    [
        ("topic,document,score,run\n1,a,2,x\n1,b,1,y\n", "run", ":3"),
        ("topic,document,score,tag\n1,a,2,x\n1,c,2,x\n1,b,1,y\n", "tag", ":4"),
        ("topic,document,score,run_id\n1,a,2,x\n1,b,1,y\n", "run_id", ":3"),
        ("System,topic,document,score\nx,1,a,2\ny,1,b,1\n", "System", ":3"),
        ("run\ttopic\tdocument\tscore\nx\t1\ta\t2\ny\t1\tb\t1\n", "run", ":3"),
        ("topic\tdocument\tscore\ttag\n1\ta\t2\tx\n1\tb\t1\ty\n", "tag", ":3"),
        ("topic\tdocument\tscore\ttag\n1\ta b\t2\tx\n1\tb\t1\ty", "tag", ":3"),
        ("topic document score tag\n1 a 2 x\n# so far\n1 b 1 y", "tag", ":4"),
        (
            '[{"qid": "1", "docid": "a", "score": 2, "run": "x"}, {"qid": "1", "docid": "b", "score": 1, "run": "y"}]',
            "run",
            "",
        ),
        (QUEPID_SNAPSHOT.decode() + "after,2026-01-02,6789,star wars,12,1\r\n", "Snapshot Name", ":4"),
        (QUEPID_SNAPSHOT.decode() + "before,2026-02-02,6789,star wars,12,1\r\n", "Snapshot Time", ":4"),
    ],
)
def test_a_table_of_two_runs_is_not_one_run(text: str, column: str, place: str, tmp_path: Path) -> None:
    path = put(tmp_path, text.encode())
    with pytest.raises(fm.InputError) as error:
        fm.read_runs(path)["file"]
    assert f"{path}{place}: holds 2 runs by its column `{column}`" in str(error.value)


def test_two_runs_in_memory_are_not_one() -> None:
    columns = {"topic": ["1", "1"], "document": ["a", "b"], "score": [2.0, 1.0], "tag": ["x", "y"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for data in (columns, rows, pl.DataFrame(columns)):
        with pytest.raises(fm.InputError, match=r"holds 2 runs by its column `tag` \(x, y\)"):
            fm.read_runs(data)


def test_two_runs_of_a_parquet_file_are_not_one(tmp_path: Path) -> None:
    columns = {"topic": ["1", "1"], "document": ["a", "b"], "score": [2.0, 1.0]}
    for column in ("run", "tag"):
        pl.DataFrame({**columns, column: ["x", "y"]}).write_parquet(tmp_path / "two.parquet")
        with pytest.raises(fm.InputError, match=rf"two.parquet: holds 2 runs by its column `{column}` \(x, y\)"):
            fm.read_run(tmp_path / "two.parquet")


@pytest.mark.parametrize("numbers", [(17, 12), (3, 2, 1), (2, 3), (1, 2, 4), (1, 1)])
def test_ranks_that_look_like_scores_get_a_note(numbers: tuple[int, ...], tmp_path: Path) -> None:
    lines = "".join(f"1\td{i}\t{number}\n" for i, number in enumerate(numbers))
    assert "the third column is read as the rank" in " ".join(fm.read_run(put(tmp_path, lines.encode())).notes)
    for start in (0, 1):
        ranks = "".join(f"{i % 2}\td{i}\t{start + i // 2}\n" for i in range(6))
        assert not fm.read_run(put(tmp_path, ranks.encode())).notes


# -- plain tables under any names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("topic", ["query", "Query", "query_id", "QID", "topic", "Query Text"])
@pytest.mark.parametrize("document", ["doc", "docid", "Doc ID", "document", "_id"])
def test_names_of_columns(separator: str, topic: str, document: str, tmp_path: Path) -> None:
    for number in ("rating", "Grade", "relevance", "rel", "judgment", "label"):
        names = ["note", topic, document, number]
        rows = [names, ["x y", "star wars", "a b", "3"], ["", "star wars", "c", "0"]]
        text = "\n".join(separator.join(row) for row in rows)
        assert fm.read_qrels(put(tmp_path, text.encode())).to_dict() == {"star wars": {"a b": 3, "c": 0}}
    for number, order in (("score", ["c", "a b"]), ("rank", ["a b", "c"])):
        rows = [[topic, document, number], ["star wars", "a b", "1"], ["star wars", "c", "2"]]
        run = fm.read_run(put(tmp_path, "\n".join(separator.join(row) for row in rows).encode()))
        assert sorted_by_score(run) == {"star wars": order}


def test_blanks_of_other_scripts_are_part_of_ids(tmp_path: Path) -> None:
    """As they are for trec_eval; a line with one has not a column more for it."""
    text = "日本\u3000語 0 a\xa00 1\n日本\u3000語 0 b\u2028c 0\n"
    assert fm.read_qrels(put(tmp_path, text.encode())).to_dict() == {"日本\u3000語": {"a\xa00": 1, "b\u2028c": 0}}


@pytest.mark.parametrize("number", ["rating", "Judgment", "label"])
def test_names_in_records(number: str, tmp_path: Path) -> None:
    records = [{"queryId": "star wars", "docId": "a b", number: 2}]
    assert fm.read_qrels(put(tmp_path, records)).to_dict() == {"star wars": {"a b": 2}}
    ranked = [{"query": "q", "doc_id": "b", "rank": 1}, {"query": "q", "doc_id": "a", "rank": 2}]
    assert sorted_by_score(fm.read_run(put(tmp_path, ranked))) == {"q": ["b", "a"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query_id,qid,doc_id,rating\nx,y,d,1\n", "`query_id` is taken as the topic and not `qid`"),
        ("query,docno,docid,rating\nq,x,y,1\n", "`docno` is taken as the document and not `docid`"),
        ("query,docid,label,rating\nq,d,1,2\n", "`rating` is taken as the grade and not `label`"),
        ("query_id,query,docid,score,rating\nq,star wars,d,9,2\n", "`rating` is taken as the grade and not `score`"),
        ("qid docno docid rel\n1 a b 1\n", "`docno` is taken as the document and not `docid`"),
    ],
)
def test_a_choice_among_columns_is_said(text: str, said: str, tmp_path: Path) -> None:
    qrels = fm.read_qrels(put(tmp_path, text.encode()))
    assert said in " ".join(qrels.notes)
    assert bool(said) == bool(qrels.notes)


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("qrels", b"name,price,colour\nlamp,20,red\n", "has no column for the topic (one of topic, query_id, "),
        ("qrels", b"name,price,colour\nlamp,20,red\n", "its columns are name, price, colour"),
        ("qrels", b"query,price,grade\nlamp,20,1\n", "has no column for the document (one of document, doc, "),
        ("qrels", b"query,docid,rank\nq,d,1\n", "has no column for the grade (one of grade, relevance, "),
        ("run", b"query,docid,rating\nq,d,1\n", "has no column for the score (one of score, sim, similarity"),
        (
            "qrels",
            b"query,docid,rating\nq,d,1\nq,e,high\n",
            ":3: expected a finite number as grade in the column rating",
        ),
        (
            "qrels",
            b"query,docid,rating,rating\nq,d,1,2\n",
            ":1: has two columns of the same name, `rating` and `rating`",
        ),
        ("qrels", b"# x\nqid\tdocid\tRel\trel\nq\td\t1\t2\n", ":2: has two columns of the same name, `Rel` and `rel`"),
        ("run", b"query,docid,rank,rank\nq,d,1,2\n", ":1: has two columns of the same name, `rank` and `rank`"),
        ("qrels", b"query,docid,rating\nq,d,1\nq,e,1,2\n", ":3: expected 3 fields (query, docid, rating), found 4"),
        ("qrels", b'query,docid,rating\nq,d,1\n"q,e,1\nq,f,2\n', ":3: a field that starts with a quote"),
        ("qrels", b'query,docid,rating\n"a\nb",d,1\nq,,2\n', ":4: expected a document, found none"),
        ("qrels", b"query,docid,rating\nq,d,\n", "has no row with a grade"),
        ("run", b"query,docid,score\nq,d,\n", ":2: expected a number as score in the column score, found none"),
        ("qrels", b"star wars\t0\td1\t3\n", "put a first line with the names of the columns above"),
        ("qrels", b"3 qid:1 1:0.5 # a\n2 qid:1 1:0.2\n", ":2: expected `grade qid:TOPIC feature:value ... # DOCUMENT`"),
        ("qrels", b"3 qid:1 # a\nx qid:1 # b\n", ":2: expected `grade qid:TOPIC"),
        (
            "qrels",
            {"judgmentRatings": [{"ratings": []}]},
            "judgmentRatings[0]: expected 'query' with text, found nothing",
        ),
        (
            "qrels",
            {"judgmentRatings": [{"query": "q", "ratings": [{"docId": "d", "rating": "high"}]}]},
            "topic q, document d: expected a finite number as grade, found 'high'",
        ),
        (
            "qrels",
            {"requests": [{"id": "q", "ratings": [{"_index": "i", "rating": 1}]}]},
            "requests[0].ratings[0]: expected '_id' with text, found nothing",
        ),
        ("run", REQUEST, "is a _rank_eval request, which has no ranking"),
        (
            "run",
            {"details": {"q": {"hits": [{"_id": "d"}], "unrated_docs": []}}},
            "details.q.hits[0]: expected 'hit' with an object, found nothing",
        ),
        (
            "qrels",
            {"queries": [{"placeholders": {"$a": "x", "$b": "y"}, "relevant_documents": {"d": {"gain": 1}}}]},
            "queries[0]: expected a placeholder $query with the words of the query, found $a, $b",
        ),
        (
            "qrels",
            {"queries": [{"placeholders": {"$query": "x"}, "relevant_documents": {"d": 1}}]},
            "queries[0]: expected relevant_documents as {document: {'gain': number}} or {gain: [document, ...]}",
        ),
        ("qrels", [{"judgment": 1, "prediction": ""}], "record 1: expected `qid` or `query`"),
        ("qrels", {"queries": [{"query": "q", "ratings": [1]}]}, "queries[0]: expected 'ratings' with an object"),
    ],
)
def test_damaged_files(kind: str, data: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(fm.InputError) as error:
        (fm.read_run if kind == "run" else fm.read_qrels)(put(tmp_path, data))
    assert message in str(error.value)
    assert str(tmp_path / "file") in str(error.value)


def test_a_query_in_two_groups(tmp_path: Path) -> None:
    query = {"placeholders": {"$query": "x"}}
    groups = [{"queries": [query], "relevant_documents": {"d": {"gain": gain}}} for gain in (1, 2)]
    path = put(tmp_path, {"query_groups": groups})
    with pytest.raises(fm.InputError, match=r"query_groups\[1\].*has gain 2, but 1 where the query occurs before"):
        fm.read_qrels(path)
    assert fm.read_qrels(path, lenient=True).to_dict() == {"x": {"d": 1}}


def test_queries_that_differ_in_another_placeholder(tmp_path: Path) -> None:
    def queries(documents: str) -> dict[str, Any]:
        return {
            "queries": [
                {"placeholders": {"$query": "jazz", "$lang": lang}, "relevant_documents": {document: {"gain": 1}}}
                for lang, document in zip(("en", "de"), documents, strict=True)
            ]
        }

    with pytest.raises(
        fm.InputError, match=r"queries\[1\]: query 'jazz' has the placeholders .*\"de\".*, but .*\"en\""
    ):
        fm.read_qrels(put(tmp_path, queries("ab")))
    assert fm.read_qrels(put(tmp_path, queries("ab")), lenient=True).to_dict() == {"jazz": {"a": 1, "b": 1}}
    assert fm.read_qrels(put(tmp_path, queries("aa"))).to_dict() == {"jazz": {"a": 1}}


# -- round trips -----------------------------------------------------------------------------------------------------

# Anything but a zero byte, which no id has, and half of a surrogate pair, which is no text.
IDS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1, max_size=8)
GRADES = st.integers(-2, 12) | st.floats(-1, 5, allow_nan=False).map(lambda value: round(value, 3) + 0.0)
NO_ALL = IDS.filter(lambda id: id != "all")
QRELS = st.dictionaries(NO_ALL, st.dictionaries(IDS, GRADES, min_size=1, max_size=4), min_size=1, max_size=4)
WRITTEN = [pytest.param(format, id=format.name) for format in registry.writable("qrels")]


@given(grades=QRELS)
def test_other_readers_agree_on_csv(grades: dict[str, dict[str, float]]) -> None:
    """Python's csv reads what we write, for TSV too."""
    expected = [
        [topic, id, grade] for topic, found in fm.read_qrels(grades).to_dict().items() for id, grade in found.items()
    ]
    for name, separator in (("csv", ","), ("quepid", ","), ("named-columns", "\t")):
        text = written(fm.read_qrels(grades), name).decode()
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))[1:]
        assert sorted([topic, id, float(grade)] for topic, id, grade in rows) == sorted(expected)


@pytest.mark.long
@pytest.mark.parametrize("format", WRITTEN)
@settings(max_examples=40)
@given(grades=QRELS)
def test_any_judgments_come_back_or_are_refused(
    format: Any, grades: dict[str, dict[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        raw = written(fm.read_qrels(grades), format.name)
    except fm.InputError:
        assert format.name in ("trec", "ltr", "sample-eval", "beir", "rank-eval")
        return
    path = tmp_path_factory.getbasetemp() / "trip"
    path.write_bytes(raw)
    assert registry.recognise(Content(raw), ["qrels"])[0] is format
    assert fm.read_qrels(path).to_dict() == fm.read_qrels(grades).to_dict()


SCORED = st.dictionaries(
    IDS,
    st.dictionaries(IDS, st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)
RUN_FORMATS = [format for format in registry.writable("run") if "scores" in format.carries and format.run_as is None]


@pytest.mark.parametrize("format", [pytest.param(format, id=format.name) for format in RUN_FORMATS])
@settings(max_examples=40)
@given(scores=SCORED)
def test_any_run_comes_back_or_is_refused(
    format: Any, scores: dict[str, dict[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        raw = written(fm.read_run(scores), format.name)
    except fm.InputError:
        assert format.name == "trec"
        return
    path = tmp_path_factory.getbasetemp() / "trip"
    path.write_bytes(raw)
    assert registry.recognise(Content(raw), ["run"])[0] is format
    assert fm.read_run(path).to_dict() == scores


# -- scales ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grades", "said"),
    [
        ([0, 1], ""),
        ([1], ""),
        ([1, 2], ""),
        ([1, 2, 3], ""),
        ([0, 1, 2, 3, 4], ""),
        ([-1, 0, 2, 4], ""),
        ([0, 1.5, 2], ""),
        ([1, 4], ""),
        ([1, 3, 4], "grades go from 1 to 4, and no document has grade 0"),
        ([1, 5, 10], "-m 'P(rel=6)@10'"),
        ([0, 0.5, 1], "here 1 of the 2 above 0"),
        ([0.25, 0.75], "here 0 of the 2 above 0"),
        ([0.5, 2, 3], "here 2 of the 3 above 0"),
    ],
)
def test_the_scale_is_explained_where_it_may_surprise(grades: list[float], said: str) -> None:
    qrels = fm.read_qrels({"q": {f"d{i}": grade for i, grade in enumerate(grades)}})
    found = [note for note in qrels.notes if "Binary measures" in note]
    assert len(found) == bool(said)
    assert said in "".join(found)
    if not found:
        return
    # What the note says is so: with all documents retrieved, P is the share of those from 1 on, and DCG@1 a grade.
    judged = [grade for grade in grades if grade >= 0]
    run = {"q": {f"d{i}": -float(i) for i, grade in enumerate(grades) if grade >= 0}}
    with pytest.warns(fm.FathomsWarning, match="Binary measures"):
        rows = fm.evaluate(qrels, run, [f"P@{len(judged)}", "DCG@1", "P(rel=0.5)@1"]).rows()
    scores = {row[2]: row[3] for row in rows}
    assert scores[f"P@{len(judged)}"] == pytest.approx(sum(grade >= 1 for grade in judged) / len(judged))
    assert scores["DCG@1"] == judged[0]
    assert scores["P(rel=0.5)@1"] == (judged[0] >= 0.5)


def test_the_scale_is_said_once_by_commands(fathoms: Command) -> None:
    Path("ratings.csv").write_text("query,docid,rating\nstar wars,a,10\nstar wars,b,1\nstar wars,c,4\n")
    Path("mine.csv").write_text("query,docid,score\nstar wars,a,2\nstar wars,b,1\n")
    done = fathoms("eval", "ratings.csv", "mine.csv", "-m", "P@2", "-m", "P(rel=6)@2", "--format", "tsv")
    assert done.status == 0
    assert done.err.count("grades go from 1 to 10") == 1
    assert [line.split("\t")[3] for line in done.out.splitlines()[1:]] == ["1.0", "0.5"]


# -- samples ---------------------------------------------------------------------------------------------------------


def test_a_sample_goes_to_sample_eval_and_back(fathoms: Command) -> None:
    size = ("--systems", "4", "--n-topics", "8", "--n-docs", "300", "--depth", "30", "--max-grade", "1")
    fathoms("simulate", "-o", "sim", *size)
    draw = ("--depth", "30", "--sample", "12", "--per-topic", "--design", "depth")
    assert fathoms("pool", "sim/runs", *draw, "-o", "sample.tsv").status == 0
    truth = fm.read_qrels("sim/truth.txt").to_dict()
    rows = [line.split("\t") for line in Path("sample.tsv").read_text().splitlines()[1:]]
    judged = {t: {d: truth[t].get(d, 0) for t2, d, _, _, sampled in rows if t2 == t and sampled == "1"} for t in truth}
    Path("judged.txt").write_bytes(written(fm.read_qrels(judged), "trec"))
    done = fathoms("convert", "judged.txt", "-o", "judged.sample_eval", "--sampled", "sample.tsv")
    assert done.status == 0, done.err
    lines = [line.split() for line in Path("judged.sample_eval").read_text().splitlines()]
    assert {(t, d) for t, _, d, _, _ in lines} == {(row[0], row[1]) for row in rows}
    strata = {(row[0], row[1]): row[2] for row in rows}
    pairs = {(strata[t, d], stratum) for t, _, d, stratum, _ in lines}
    assert len(pairs) == len(set(strata.values()))  # a number for each stratum
    back = fm.read_qrels("judged.sample_eval")
    found = {t: {d: grade for d, grade in ids.items() if grade >= 0} for t, ids in back.to_dict().items()}
    assert found == judged
    # Estimates stand on the strata, and are the same from either file; the judgments may be in the sample's own file.
    tables = [
        fathoms("predict", qrels, "sim/runs", "-m", "P@10", "--sampled", sample, "--format", "tsv", "--quiet").out
        for qrels, sample in (("judged.txt", "sample.tsv"), ("judged.sample_eval", "judged.sample_eval"))
    ]
    numbers = [[line.split("\t") for line in table.splitlines() if "\tsampled\t" in line] for table in tables]
    assert numbers[0]
    for one, other in zip(*numbers, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a == b or float(a) == pytest.approx(float(b), abs=1e-9)


def test_what_sample_eval_cannot_say(fathoms: Command) -> None:
    Path("sample.tsv").write_text("topic\tdocument\tprobability\tsampled\n1\ta\t0.5\t1\n1\tb\t0.25\t0\n")
    Path("judged.txt").write_text("1 0 a 1\n")
    done = fathoms("convert", "judged.txt", "-o", "out.sample_eval", "--sampled", "sample.tsv")
    assert done.status == 2
    assert "one stratum with different chances" in done.err
    Path("sample.tsv").write_text("topic\tdocument\tstratum\tsampled\n1\ta\tx\t1\n1\tb\tx\t1\n")
    done = fathoms("convert", "judged.txt", "-o", "out.sample_eval", "--sampled", "sample.tsv")
    assert "document b was drawn and is not judged in judged.txt" in done.err
    done = fathoms("convert", "judged.txt", "-o", "out.csv", "--sampled", "sample.tsv")
    assert "--sampled is for judgments --to sample-eval" in done.err


# -- what is left out is said; what Excel writes ---------------------------------------------------------------------


def test_queries_without_hits_are_named(tmp_path: Path) -> None:
    hit = {"hit": {"_id": "1", "_score": 1.0}, "rating": 1}
    response = {"details": {"a": {"hits": []}, "b": {"hits": [hit]}}, "failures": {"c": {"error": "boom"}}}
    file = put(tmp_path, json.dumps(response).encode())
    for found in (fm.read_qrels(file), fm.read_run(file)):
        assert found.topics == ["b"]
        assert f"{file}: 1 query failed and left nothing to read: c" in found.notes
        assert f"{file}: 1 query had no hits and left nothing to read: a" in found.notes


@pytest.mark.parametrize("empty", ["null", '""', '" "'])
def test_empty_ratings_are_not_judged_in_json_too(empty: str, tmp_path: Path) -> None:
    rows = ['{"query": "q", "docid": "a", "rating": 1}', f'{{"query": "q", "docid": "b", "rating": {empty}}}']
    for text in ("\n".join(rows), f"[{','.join(rows)}]", f'{{"q": {{"a": 1, "b": {empty}}}}}'):
        file = put(tmp_path, text.encode())
        qrels = fm.read_qrels(file)
        assert (qrels.documents.tolist(), qrels.grades.tolist()) == ([b"a"], [1.0])
        assert qrels.notes == [f"{file}: 1 row without a grade left out: not judged"]
    bad = put(tmp_path, "\n".join([rows[1], rows[0], rows[0].replace("1", '"x"')]).encode())
    with pytest.raises(fm.InputError, match="row 3: topic q, document a: expected a finite number"):
        fm.read_qrels(bad)


def test_tables_from_excel(tmp_path: Path) -> None:
    plain = "query;docid;rating\nq;a;1,5\nq;b;2\n"
    for raw in (
        plain.encode(),
        b"sep=;\n" + plain.encode(),
        b"\xef\xbb\xbfsep=;\r\n" + plain.encode(),
        plain.encode("utf-16"),
        ("sep=;\n" + plain).encode("utf-16"),
        b"sep=\t\n" + plain.replace(";", "\t").replace(",", ".").encode(),
    ):
        qrels = fm.read_qrels(put(tmp_path, raw))
        assert (qrels.topics, qrels.documents.tolist(), qrels.grades.tolist()) == (["q"], [b"a", b"b"], [1.5, 2.0])
        commas = any("decimal commas are read as points: 1,5 as 1.5" in note for note in qrels.notes)
        assert commas == (b"\t" not in raw)
    with pytest.raises(fm.InputError, match=":2: expected a finite number"):
        fm.read_qrels(put(tmp_path, b'query,docid,rating\nq,a,"1,5"\n'))


def test_ids_in_another_encoding_are_said(tmp_path: Path) -> None:
    qrels = fm.read_qrels(put(tmp_path, "query,docid,rating\ncaf\xe9,a,1\n".encode("latin-1")))
    assert any("not valid UTF-8, such as caf\N{REPLACEMENT CHARACTER}" in note for note in qrels.notes)
    assert not fm.read_qrels(put(tmp_path, "query,docid,rating\ncaf\xe9,a,1\n".encode())).notes


def test_lists_of_documents_by_topic(tmp_path: Path) -> None:
    """A run as people keep it: best first."""
    path = tmp_path / "lists.json"
    path.write_text('{"1": ["b", "a", 7], "2": ["c"], "3": []}')
    run = fm.read_run(path)
    assert run.to_dict() == {"1": {"b": 3.0, "a": 2.0, "7": 1.0}, "2": {"c": 1.0}}
    assert fm.evaluate({"1": {"a": 1}, "2": {"c": 0}}, path, "RR")["score"][0] == 0.25
    with pytest.raises(fm.InputError):
        fm.read_qrels(path)
