"""Prices of language models come from prices.yaml and from TURNLOOM_LLM_PRICES, which takes precedence."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import Field, TypeAdapter

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.turn import Usage
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.yaml_text import read_yaml

_SHIPPED = Path(__file__).with_name("prices.yaml")
_VERSION = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_MILLION = 1_000_000


class LlmPrice(Contract):
    """The price of a language model, in US dollars per million tokens."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Price of prompt tokens that the endpoint had cached; if absent, the price of the others."""
    completion: float = Field(ge=0, allow_inf_nan=False)


_PRICES: TypeAdapter[dict[str, LlmPrice]] = TypeAdapter(dict[str, LlmPrice])


def cost_of(model: str, usage: Usage) -> float | None:
    """Return the cost of a call; None if the model's price is not known."""
    price = find_price(model, _prices(settings().llm_prices))
    if price is None:
        return None
    cached = price.prompt if price.cached is None else price.cached
    fresh_tokens = usage.prompt_tokens - usage.cached_tokens
    spent = fresh_tokens * price.prompt + usage.cached_tokens * cached + usage.completion_tokens * price.completion
    return spent / _MILLION


def find_price(model: str, prices: Mapping[str, LlmPrice]) -> LlmPrice | None:
    """Return the price under a model's name, its name without a version, or the longest matching pattern."""
    beginnings = (name for name in prices if name.endswith("*") and model.startswith(name[:-1]))
    names = (model, _VERSION.sub("", model), max(beginnings, key=len, default=""))
    return next((prices[name] for name in names if name in prices), None)


@lru_cache
def _prices(given: str | None) -> Mapping[str, LlmPrice]:
    """Return the prices. If the given ones cannot be read, return the shipped ones: no turn fails for that."""
    try:
        return load_prices(given)
    except (OSError, ValueError) as error:
        log.error("prices.unreadable", error=str(error))
        return load_prices(None)


def load_prices(given: str | None) -> Mapping[str, LlmPrice]:
    """Return the shipped prices, overridden by a JSON object, or by a YAML or JSON file given by its path.

    Raises:
        ValueError: `given` is neither.
        OSError: there is no such file.
    """
    prices = _read(_SHIPPED.read_text("utf-8"))
    if given is None:
        return prices
    return prices | _read(given if given.lstrip().startswith("{") else Path(given).read_text("utf-8"))


def _read(text: str) -> dict[str, LlmPrice]:
    try:
        return _PRICES.validate_python(read_yaml(text))
    except yaml.YAMLError as error:
        raise ValueError(f"prices are neither JSON nor YAML: {error}") from error
