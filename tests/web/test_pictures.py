"""Turns are drawn, as SVG and as Mermaid source."""

import xml.etree.ElementTree as ET
from uuid import UUID

from flask.testing import FlaskClient

from tests.factories import claim_turn, record_plan, step


def test_a_turn_is_drawn_as_it_is_now(client: FlaskClient) -> None:
    """The picture has each step with its state: `queued` if it waits for a worker, `pending` if for other steps."""
    accepted = client.post("/v1/turns", json={"message": "hi"}).get_json()
    turn = claim_turn(UUID(accepted["turn_id"]))
    assert turn is not None
    record_plan(turn, step("a"), step("b", "a"))

    drawn = client.get(accepted["links"]["self"] + "/graph.svg")
    source = client.get(accepted["links"]["self"] + "/graph.mmd")

    assert (drawn.status_code, drawn.content_type) == (200, "image/svg+xml; charset=utf-8")
    root = ET.fromstring(drawn.text)
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")][1:]
    assert titles == ["a: sim.wait, queued", "b: sim.wait, pending"]
    assert "1 pending, 1 queued" in drawn.text
    assert source.content_type == "text/plain; charset=utf-8"
    assert source.text.splitlines()[:4] == [
        "flowchart TD",
        '  s0["a: sim.wait (queued)"]',
        '  s1["b: sim.wait (pending)"]',
        "  s0 --> s1",
    ]


def test_a_picture_may_run_and_load_nothing(client: FlaskClient) -> None:
    """A browser that opens the picture by itself runs no script of it and loads nothing."""
    accepted = client.post("/v1/turns", json={"message": "hi"}).get_json()

    drawn = client.get(accepted["links"]["self"] + "/graph.svg")

    policy = drawn.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert drawn.headers["Cache-Control"] == "no-store"
    assert drawn.headers["X-Content-Type-Options"] == "nosniff"
