"""A task request is a message that a worker reads once; Celery reads it for its main process and again for the task."""

from typing import Any

from celery.worker.request import Request


class TaskRequest(Request):
    """A task's message, as the worker sees it."""

    def __init__(self, message: Any, **options: Any) -> None:
        super().__init__(message, **options | {"body": message.payload, "decoded": True})
