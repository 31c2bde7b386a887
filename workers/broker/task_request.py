"""A message as a worker sees it: read once, for its main process and for the task, where Celery reads it for each."""

from typing import Any

from celery.worker.request import Request


class TaskRequest(Request):
    """A message of a task."""

    def __init__(self, message: Any, **options: Any) -> None:
        super().__init__(message, **options | {"body": message.payload, "decoded": True})
