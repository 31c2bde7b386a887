"""Errors are problem documents."""

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from turnloom.models.contracts.problem import Problem


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/turns/", 404, "not_found"),
        ("PUT", "/v1/turns", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("GET", "/docs/assets/../../secret", 404, "not_found"),
    ],
)
def test_problem_of_a_wrong_address(client: FlaskClient, method: str, path: str, status: int, code: str) -> None:
    """A wrong address or method gets a problem document like any other error."""
    answer = client.open(path, method=method)

    problem = Problem.model_validate(answer.get_json())
    assert answer.content_type == "application/problem+json"
    assert (answer.status_code, problem.status, problem.code) == (status, status, code)
    assert len(problem.trace_id) == 32
    assert ("Allow" in answer.headers) == (status == 405)


def test_unforeseen_error(own_app: APIFlask, caplog: pytest.LogCaptureFixture) -> None:
    """An unforeseen error is a 500 that does not show the cause. The log has the cause under the same trace id."""

    def broken() -> str:
        raise RuntimeError("the secret cause")

    own_app.add_url_rule("/broken", view_func=broken)

    answer = own_app.test_client().get("/broken")

    assert answer.status_code == 500
    assert answer.get_json()["code"] == "internal_error"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.get_json()["trace_id"] in caplog.text
    assert "the secret cause" in caplog.text
