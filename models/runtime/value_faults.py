"""Sentences about values that do not fit their model. The values are never shown: they may be secret."""

from pydantic import ValidationError


def faults_of(error: ValidationError, whole: str = "") -> str:
    """Return in one line which fields are wrong, and how: `user.id: Field required`. `whole` names the value itself."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or whole}: {fault['msg']}" for fault in found)
