"""What the API says of itself, and whether it is true."""

import re
from typing import Any

import pytest
import schemathesis
from apiflask import APIFlask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema_rs import validator_for
from schemathesis import checks

_CHECKS = [
    checks.not_a_server_error,
    *(
        check
        for name in (
            "status_code_conformance",
            "content_type_conformance",
            "response_headers_conformance",
            "response_schema_conformance",
        )
        for check in checks.CHECKS.get_by_names([name])
    ),
]
