"""The research agent answers from our own documentation, does not fetch forbidden addresses, and takes notes."""

import httpx2
import psycopg

from tests.journeys.following import finished, post
from turnloom.workers.embedded.stack import Stack


def test_a_question_over_our_own_documentation_is_answered(api: httpx2.Client) -> None:
    """The adaptive agent finds the passage, and each figure of the reply points at the search that found it."""
    turn = finished(api, post(api, "How long is a result remembered?", agent="research")["turn_id"])

    found = turn["steps"][0]["result"]["results"][0]
    assert turn["status"] == "succeeded"
    # Either page says it.
    assert found["document"] in {f"turnloom/docs/how-to/{name}.md" for name in ("keep-what-was-said", "add-a-tool")}
    assert turn["reply"]["grounded"]
    assert {(source["step"], source["path"]) for source in turn["reply"]["sources"]} <= {
        ("found", "results[0].passage")
    }


def test_a_plan_cannot_reach_internal_addresses(api: httpx2.Client, stack: Stack) -> None:
    """The worker that fetches pages reaches neither our own API nor the metadata service of a cloud."""
    urls = {"api": f"{stack.url}/healthz", "cloud": "http://169.254.169.254/latest/meta-data/"}
    steps = [{"id": name, "tool": "research.fetch", "args": {"url": url}} for name, url in urls.items()]

    turn = finished(api, post(api, "fetch", agent="research", plan={"steps": steps})["turn_id"])

    failed = {step["id"]: (step["status"], step["error"]["code"]) for step in turn["steps"]}
    assert failed == dict.fromkeys(urls, ("failed", "VALIDATION_ERROR"))


def test_erasure_removes_notes(api: httpx2.Client, stack: Stack) -> None:
    """Erasing a conversation removes its notes."""
    plan = {"steps": [{"id": "n", "tool": "research.note", "args": {"text": "It is old.", "about": "guide"}}]}
    turn = finished(api, post(api, "note it", agent="research", plan=plan)["turn_id"])
    count = "SELECT count(*) FROM research_notes WHERE conversation_id = %s"

    with psycopg.connect(stack.database_url, autocommit=True) as ledger:
        before = ledger.execute(count, [turn["conversation_id"]]).fetchone()
        erased = api.delete(f"/v1/conversations/{turn['conversation_id']}")
        after = ledger.execute(count, [turn["conversation_id"]]).fetchone()

    assert turn["status"] == "succeeded"
    assert erased.status_code == 204
    assert (before, after) == ((1,), (0,))
