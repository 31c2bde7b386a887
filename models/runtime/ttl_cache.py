"""A cache of values that stay valid for a while, so that not every request asks the ledger for them."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class _Kept(NamedTuple, Generic[Value]):
    looked_at: float
    value: Value


class TtlCache(Generic[Key, Value]):
    """Recently seen values, by key, for any number of threads: one thread looks a value up for all that want it.

    After `fresh_s` a value is looked up again. Meanwhile the other threads get the old one until it is `kept_s` old.
    After that, or if there is none, they wait for the look-up and share its outcome. A value that is not found is not
    cached.
    """

    def __init__(
        self, look: Callable[[Key, Value | None], Value | None], *, fresh_s: float, kept_s: float, at_most: int
    ) -> None:
        """`look` gets the key and the old value. `at_most`: values that are kept."""
        self._look = look
        self._fresh_s, self._kept_s, self._at_most = fresh_s, kept_s, at_most
        self._kept: OrderedDict[Key, _Kept[Value]] = OrderedDict()
        self._looks: dict[Key, Future[Value | None]] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        """Return the value of a key; None if there is none. Raises what `look` raises."""
        now = time.monotonic()
        with self._lock:
            kept, under_way = self._kept.get(key), self._looks.get(key)
            if kept is not None and now - kept.looked_at < self._fresh_s:
                return kept.value
            mine: Future[Value | None] = Future()
            if under_way is None:
                self._looks[key] = mine
        if under_way is None:
            self._learn(key, kept, mine)
            return mine.result()
        if kept is not None and now - kept.looked_at < self._kept_s:
            return kept.value
        return under_way.result()

    def _learn(self, key: Key, before: _Kept[Value] | None, told: "Future[Value | None]") -> None:
        looked_at = time.monotonic()
        try:
            value = self._look(key, before.value if before else None)
        except BaseException as error:
            told.set_exception(error)
            raise
        else:
            self._keep(key, None if value is None else _Kept(looked_at, value))
            told.set_result(value)
        finally:
            del self._looks[key]

    def _keep(self, key: Key, kept: _Kept[Value] | None) -> None:
        with self._lock:
            self._kept.pop(key, None)
            if kept is not None:
                self._kept[key] = kept
            if len(self._kept) > self._at_most:
                self._kept.popitem(last=False)
