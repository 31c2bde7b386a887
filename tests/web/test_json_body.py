"""Request bodies are read strictly."""

import json
from typing import Any

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from gunicorn.http.errors import InvalidChunkSize

from turnloom.models.runtime.settings import settings

_BAD_BODIES: list[tuple[str, bytes, int, str, str | None]] = [
    ("empty", b"", 400, "not_json", None),
    ("blank", b"  \n", 400, "not_json", None),
    ("not JSON", b'{"message": "hi",}', 400, "not_json", None),
    ("not UTF-8", b'{"message": "\xff"}', 400, "not_utf8", None),
    ("UTF-16", '{"message": "hi"}'.encode("utf-16"), 400, "not_utf8", None),
    ("a byte order mark", b'\xef\xbb\xbf{"message": "hi"}', 400, "not_json", None),
    ("a raw control character", b'{"message": "a\x00b"}', 400, "not_json", None),
    ("NaN", b'{"message": "hi", "metadata": {"x": NaN}}', 400, "not_json", None),
    ("Infinity", b'{"message": "hi", "metadata": {"x": -Infinity}}', 400, "not_json", None),
    ("a duplicate name", b'{"message": "a", "message": "b"}', 400, "duplicate_name", None),
    ("an inner duplicate name", b'{"message": "a", "metadata": {"x": 1, "x": 1}}', 400, "duplicate_name", None),
    ("deep nesting", b'{"message": "a", "metadata": ' + b'{"x":' * 64 + b"1" + b"}" * 65, 400, "too_deep", None),
    ("100,000 brackets", b"[" * 100_000, 400, "too_deep", None),
    ("an open string of quotes", b'{"message": "' + b'\\"' * 60_000 + b"[" * 99, 400, "not_json", None),
    ("a float out of range", b'{"message": "a", "metadata": {"x": 1e999}}', 422, "number_out_of_range", None),
    ("a too large integer", b'{"message": "a", "deadline_ms": 9223372036854775808}', 422, "number_out_of_range", None),
    ("an endless integer", b'{"message": "a", "deadline_ms": ' + b"9" * 9_999 + b"}", 422, "number_out_of_range", None),
    ("NUL", b'{"message": "a\\u0000b"}', 422, "invalid", "message"),
    ("NUL in a name", b'{"message": "a", "metadata": {"x": [{"\\u0000": 1}]}}', 422, "invalid", "metadata.x[0].(name)"),
    ("half a surrogate pair", b'{"message": "a\\ud800b"}', 422, "invalid", "message"),
    ("an array", b"[]", 422, "invalid", None),
    ("null", b"null", 422, "invalid", None),
]

_BAD_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "message", "missing"),
    ({"message": ""}, "message", "string_too_short"),
    ({"message": "x" * 8001}, "message", "string_too_long"),
    ({"message": 7}, "message", "string_type"),
    ({"message": "a", "deadline_ms": "30000"}, "deadline_ms", "int_type"),
    ({"message": "a", "deadline_ms": 30000.0}, "deadline_ms", "int_type"),
    ({"message": "a", "deadline_ms": True}, "deadline_ms", "int_type"),
    ({"message": "a", "deadline_ms": 1}, "deadline_ms", "greater_than_equal"),
    ({"message": "a", "mode": "fast"}, "mode", "literal_error"),
    ({"message": "a", "user": {"timezone": "Mars/Olympus"}}, "user.timezone", "value_error"),
    ({"message": "a", "user": {"nickname": "x"}}, "user.nickname", "extra_forbidden"),
    ({"message": "a", "surprise": 1}, "surprise", "extra_forbidden"),
    ({"message": "a", "conversation_id": "a b"}, "conversation_id", "string_pattern_mismatch"),
    ({"message": "a", "conversation_id": "x" * 129}, "conversation_id", "string_too_long"),
    ({"message": "a", "metadata": []}, "metadata", "dict_type"),
]


@pytest.mark.parametrize(
    ("body", "status", "code", "field"), [case[1:] for case in _BAD_BODIES], ids=[case[0] for case in _BAD_BODIES]
)
def test_bad_body(client: FlaskClient, body: bytes, status: int, code: str, field: str | None) -> None:
    """A malformed body is refused with a problem that says why."""
    answer = client.post("/v1/turns", data=body, content_type="application/json")

    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    assert answer.json is not None
    assert answer.json["code"] == code
    assert answer.json["detail"]
    assert field is None or answer.json["errors"][0]["field"] == field


@pytest.mark.parametrize(("body", "field", "code"), _BAD_FIELDS, ids=lambda value: str(value)[:40])
def test_bad_field(client: FlaskClient, body: dict[str, Any], field: str, code: str) -> None:
    """The problem names the wrong field and says what is wrong with it."""
    answer = client.post("/v1/turns", json=body)

    assert answer.status_code == 422
    assert answer.json is not None
    (error,) = answer.json["errors"]
    assert (error["field"], error["code"]) == (field, code)


def test_value_is_not_echoed(client: FlaskClient) -> None:
    """A problem never repeats the value, which may be a secret."""
    secret = "hunter2-hunter2"
    body = {"message": [secret], "mode": secret, "user": {"timezone": secret, "locale": secret}, "deadline_ms": secret}

    answer = client.post("/v1/turns", json=body)

    assert answer.status_code == 422
    assert answer.json is not None
    assert len(answer.json["errors"]) == 5
    assert secret not in answer.text


@pytest.mark.parametrize("chunked", [False, True])
def test_body_too_large(client: FlaskClient, chunked: bool) -> None:
    """A body over the limit is refused, even if it does not state its length."""
    body = json.dumps({"message": "a", "metadata": {"x": "y" * settings().api_max_body_bytes}}).encode()
    told = {"wsgi.input_terminated": True, "CONTENT_LENGTH": ""} if chunked else {}

    answer = client.post("/v1/turns", data=body, content_type="application/json", environ_overrides=told)

    assert answer.status_code == 413
    assert answer.json is not None
    assert answer.json["code"] == "too_large"


def test_a_body_that_cannot_be_read_to_its_end(own_app: APIFlask, client: FlaskClient) -> None:
    """One that ends too early and one that is wrong in its chunks get the same sentence: docs/reference/ has one."""

    def wrong() -> str:
        raise InvalidChunkSize(b"x")

    own_app.add_url_rule("/wrong", view_func=wrong)
    told = {"wsgi.input_terminated": True, "CONTENT_LENGTH": "100"}

    short = client.post("/v1/turns", data=b"{}", content_type="application/json", environ_overrides=told)
    answers = [short, own_app.test_client().get("/wrong")]

    assert [(each.status_code, each.get_json()["code"]) for each in answers] == [(400, "unreadable_body")] * 2
    assert len({each.get_json()["detail"] for each in answers}) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": ""},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
    ids=str,
)
def test_other_media_types(client: FlaskClient, headers: dict[str, str]) -> None:
    """Only application/json in UTF-8 is read."""
    answer = client.post("/v1/turns", data=b'{"message": "hi"}', headers=headers)

    assert answer.status_code == 415
    assert answer.json is not None
    assert answer.json["code"] == "unsupported_media_type"


def test_deepest_body_is_read(client: FlaskClient) -> None:
    """64 levels are accepted; brackets inside strings do not count."""
    body = b'{"message": "[[[[[[[[[", "metadata": ' + b'{"[{":' * 63 + b"1" + b"}" * 64

    answer = client.post("/v1/turns", data=body, content_type="application/json")

    assert answer.status_code == 202


def test_surrogate_pair_is_a_character(client: FlaskClient) -> None:
    """A character outside the basic plane may be written as an escaped pair; an escaped backslash may precede u0000."""
    body = rb'{"message": "\ud83d\ude00 \\u0000"}'

    answer = client.post("/v1/turns", data=body, content_type="application/json")

    assert answer.status_code == 202


@pytest.mark.parametrize("query", ["wait=31", "wait=-1", "wait=nan", "wait=soon", "pause=1"])
def test_bad_query(client: FlaskClient, query: str) -> None:
    """A wrong or unknown query parameter is refused."""
    answer = client.post(f"/v1/turns?{query}", json={"message": "hi"})

    assert answer.status_code == 422
    assert answer.json is not None
    assert answer.json["errors"][0]["field"] in ("wait", "pause")
