"""Replies on a channel, with killed workers, an emptied Redis and a provider that is down: each part goes out once."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import pytest
from redis import Redis

from tests.chaos.disturbances import kill_worker
from tests.chaos.drills import LONG, WITHIN_S, Ground, drilled_stack
from tests.conftest import ALLOWED_HOST
from tests.facts import wait_for
from tests.journeys.telegram_bot import ACCOUNT, TelegramBot, telegram_bot

DELIVERING = ("turn.finished", "delivery.rendered", "delivery.claimed", "delivery.sent")
"""Crash points of a turn whose reply is sent on a channel."""

TAKING_OVER = ("turn.closed", "turn.opened", "message.written", "delivery.sent")
"""Crash points of a conversation that a person takes over: pausing it, a message to it, and what the person writes."""

PEOPLE, MESSAGES = (50, 6) if LONG else (8, 3)


class Line(NamedTuple):
    """A stack with a bot on Telegram."""

    ground: Ground
    bot: TelegramBot

    def write(self, person: int, text: str) -> None:
        """Post a person's message until it is accepted, as Telegram does."""
        update = self.bot.update(person, text)
        wait_for(lambda: self.bot.post(update) == 200, WITHIN_S)

    def posts(self, address: str, body: Any = None) -> bool:
        """Post to the API; False while it is down."""
        try:
            return self.ground.api.post(address, json=body).status_code in (200, 202)
        except httpx2.TransportError:
            return False


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    own = {"TURNLOOM_ALLOWED_HOSTS": f'["{ALLOWED_HOST}"]', "TURNLOOM_BURST_WINDOW_MS": "0"}
    folder = tmp_path_factory.mktemp("delivery")
    with drilled_stack(folder, **own) as ground, telegram_bot(ground.stack, ground.api) as bot:
        yield Line(ground, bot)


@pytest.mark.drill
@pytest.mark.timeout(3 * WITHIN_S)
@pytest.mark.parametrize("point", DELIVERING)
def test_a_worker_dies_at(point: str, line: Line) -> None:
    """The reply goes out at most once. Its status says so where nobody knows whether it did. The next one follows."""
    person = line.bot.new_person()
    line.ground.crash_at.write_text(f"{point}\n")

    line.write(person, "hello")
    wait_for(lambda: not line.ground.crash_at.read_text(), WITHIN_S)
    wait_for(lambda: line.bot.is_settled(person, 1), WITHIN_S)
    line.write(person, "hello again")
    wait_for(lambda: line.bot.is_settled(person, 2), WITHIN_S)

    first, second = line.bot.turns(person)
    unknown = point in ("delivery.claimed", "delivery.sent")
    assert {part["status"] for part in first["deliveries"][:1]} == {"unknown" if unknown else "sent"}
    assert {part["status"] for part in second["deliveries"]} == {"sent"}
    expected = ([] if point == "delivery.claimed" else [first]) + [second]
    assert line.bot.texts(person) == [turn["reply"]["text"] for turn in expected]


@pytest.mark.drill
@pytest.mark.timeout(4 * WITHIN_S)
@pytest.mark.parametrize("point", TAKING_OVER)
def test_a_process_dies_during_a_takeover(point: str, line: Line) -> None:
    """The user gets what the person writes, once, and nothing of the agent. Each turn ends."""
    person = line.bot.new_person()
    conversation = f"/v1/conversations/telegram:{ACCOUNT}:{person}"
    line.write(person, "hello")
    wait_for(lambda: line.bot.is_settled(person, 1), WITHIN_S)
    plan = {"steps": [{"id": "a", "tool": "sim.wait", "args": {"ms": 60_000}}]}
    more = {"conversation_id": conversation.rpartition("/")[2], "message": "go", "plan": plan, "on_busy": "enqueue"}
    wait_for(lambda: line.posts("/v1/turns", more | {"message_id": f"go-{person}"}), WITHIN_S)
    line.ground.crash_at.write_text(f"{point}\n")

    wait_for(lambda: line.posts(f"{conversation}/pause"), WITHIN_S)
    line.write(person, "are you there?")
    said = {"message": "Yes, this is Dana.", "message_id": "d1"}
    wait_for(lambda: line.posts(f"{conversation}/messages", said), WITHIN_S)

    wait_for(lambda: not line.ground.crash_at.read_text(), WITHIN_S)
    wait_for(lambda: len(line.bot.turns(person)) == 4 and line.bot.are_final(person), WITHIN_S)
    turns = line.bot.turns(person)
    assert [turn["status"] for turn in turns] == ["succeeded", "cancelled", "cancelled", "succeeded"]
    assert [(turn["error"] or {}).get("code") for turn in turns] == [None, "paused", "paused", None]
    assert line.bot.texts(person) == [turns[0]["reply"]["text"], "Yes, this is Dana."]
    assert {part["status"] for part in turns[3]["deliveries"]} == {"unknown" if point == "delivery.sent" else "sent"}


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_the_provider_is_down_redis_is_emptied_and_workers_are_killed(line: Line) -> None:
    """Every message is answered, in order, and no part goes out twice."""
    line.bot.is_up.clear()
    people = [line.bot.new_person() for _ in range(PEOPLE)]
    for message in range(MESSAGES):
        for person in people:
            line.write(person, f"hello {message}")
    with Redis.from_url(line.ground.stack.redis_url) as redis:
        redis.flushall()
    for seed in range(3):
        kill_worker(line.ground, random.Random(seed))
    line.bot.is_up.set()

    wait_for(lambda: all(line.bot.is_settled(person, len(line.bot.turns(person)) or 1) for person in people), 300)

    for person in people:
        sent = [turn for turn in line.bot.turns(person) if turn["deliveries"][0]["status"] == "sent"]
        assert line.bot.texts(person) == [turn["reply"]["text"] for turn in sent]
        statuses = {turn["deliveries"][0]["status"] for turn in line.bot.turns(person)}
        assert statuses <= {"sent", "withheld", "unknown"}
