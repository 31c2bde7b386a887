"""What all contracts have in common."""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A shape that refuses fields it does not know. Fields carry their sentence beneath them."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
