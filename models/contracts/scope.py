"""A scope is a right that a key to the API has."""

from typing import Literal, get_args

Scope = Literal[
    "turns:write",
    "turns:read",
    "plans:submit",
    "approvals:decide",
    "conversations:write",
    "users:read",
    "users:write",
    "operations:read",
    "operations:write",
    "replays:write",
    "admin",
]
"""The rights of a key. `turns:write` posts messages, `turns:read` reads turns and conversations,
`plans:submit` posts ready plans, `approvals:decide` approves and rejects calls that wait for it,
`conversations:write` takes conversations over: it pauses and resumes them, and writes in place of the agent,
`users:read` reads the directory of users, `users:write` changes it, their grants and accounts,
`operations:read` reads what belongs to no tenant or to all: queues, workers, rates, errors; it is for operators, and
shows the tenant's dead letters, `operations:write` decides these or sends them again,
`replays:write` replays recorded conversations and reads the reports,
`admin` reads across conversations of the tenant."""

SCOPES: tuple[Scope, ...] = get_args(Scope)
