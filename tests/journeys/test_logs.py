"""Logs say what happened and never contain what people wrote, even if an error quotes it."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import psycopg
from psycopg import sql

from tests.facts import wait_for
from tests.journeys.following import finished, post
from turnloom.workers.embedded.stack import Stack

MESSAGE, NAME, EMAIL, PASSWORD, KEY, ARGUMENT = (
    f"planted-{kind}-correct-horse" for kind in ("message", "name", "email", "password", "key", "argument")
)
PLANTED = (MESSAGE, NAME, EMAIL, PASSWORD, KEY, ARGUMENT)
WHO = {"name": NAME, "email": f"{EMAIL}@example.com"}


def test_no_log_has_what_people_wrote(api: httpx2.Client, stack: Stack) -> None:
    """Successful requests, refusals, and errors of the database in any process log none of the planted texts."""
    steps = [{"id": "e", "tool": "sim.echo", "args": {"value": ARGUMENT}}]
    turn = {"message": MESSAGE, "user": {"id": "planted", **WHO}, "agent": "generic"}
    assert finished(api, post(api, **turn, plan={"steps": steps})["turn_id"])["status"] == "succeeded"
    for status, path, body in (
        (200, "/v1/users/planted", WHO),
        (200, "/v1/users/planted/accounts/caldav", {"secret": {"password": PASSWORD}}),
        (422, "/v1/users/planted/accounts/caldav", {"secret": PASSWORD}),
        (422, "/v1/users/planted", {**WHO, "timezone": ARGUMENT}),
    ):
        assert api.put(path, json=body).status_code == status
    api.get("/v1/turns", headers={"Authorization": f"Bearer {KEY}"})
    api.post("/v1/turns", content=f'{{"message": "{MESSAGE}')
    api.post("/v1/turns", json={**turn, "plan": {"steps": [{"id": "x", "tool": ARGUMENT, "args": {NAME: MESSAGE}}]}})

    with refused_by_the_database(stack, "users", "name", NAME):
        assert api.put("/v1/users/planted", json=WHO).status_code == 500
    with refused_by_the_database(stack, "turns", "message", MESSAGE):
        assert api.post("/v1/turns", json=turn).status_code >= 500
    with refused_by_the_database(stack, "steps", "result", ARGUMENT):
        accepted = post(api, "go", agent="generic", plan={"steps": steps})
        wait_for(lambda: logs_of(stack).count("CheckViolation (SQLSTATE 23514)") >= 2, 20)
    finished(api, accepted["turn_id"], 30)

    assert {text for text in PLANTED if text in logs_of(stack)} == set()


@contextmanager
def refused_by_the_database(stack: Stack, table: str, column: str, planted: str) -> Iterator[None]:
    """Make Postgres refuse a value while the block runs; its error quotes the whole row."""
    names = {"table": sql.Identifier(table), "column": sql.Identifier(column), "text": sql.Literal(f"%{planted}%")}
    rule = "ALTER TABLE {table} ADD CONSTRAINT planted CHECK ({column}::text NOT LIKE {text}) NOT VALID"
    with psycopg.connect(stack.servers.owner_url, autocommit=True) as owner:
        owner.execute(sql.SQL(rule).format(**names))
        try:
            yield
        finally:
            owner.execute(sql.SQL("ALTER TABLE {table} DROP CONSTRAINT planted").format(**names))


def logs_of(stack: Stack) -> str:
    """Return the logs of all processes, including Postgres and Valkey."""
    return "\n".join(path.read_text("utf-8", "replace") for path in stack.servers.home.logs.iterdir())
