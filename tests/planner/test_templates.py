"""Rendering any tenant template ends soon, stays small and reaches nothing outside its inputs."""

import time
from datetime import UTC, datetime

import pytest

from turnloom.planner.templates import Templates, fill

TEMPLATES = Templates()
DATA = {
    "word": "abc",
    "long": "a" * 1_000,
    "steps": [{"result": 1}, {"result": 2}],
    "now": datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
}


def rendered(text: str) -> str:
    return fill(TEMPLATES.read(text)[0], DATA).text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("{{ word }}{{ ' and ' ~ word if word else '' }}", "abc and abc"),
        ("{% for step in steps %}{{ loop.index }}/{{ loop.length }}:{{ step.result }} {% endfor %}", "1/2:1 2/2:2"),
        ("{{ steps | map(attribute='result') | join(', ') }}", "1, 2"),
        ("{{ steps | selectattr('result', 'gt', 1) | list | length }}", "1"),
        ("{{ {'word': word} | tojson }}", '{"word": "abc"}'),
        ("{{ '<b>' | tojson }}", r'"\u003cb\u003e"'),
        ("{{ now.strftime('%A') }} {{ word.upper() }} {{ word | replace('b', '') }}", "Friday ABC ac"),
        ("{{ 2 * 3 + 7 % 4 }} {{ 1.25 | round(1) }} {{ '%.2f' | format(3) }}", "9 1.2 3.00"),
        ("{% set names = {'abc': 'A'} %}{{ names[word] }}", "A"),
        ("{% for n in range(3) if n %}{{ n }}{% else %}none{% endfor %}", "12"),
    ],
)
def test_what_templates_can_do(text: str, written: str) -> None:
    """They may use conditions, loops, a few filters and the methods of plain values."""
    assert rendered(text) == written


@pytest.mark.parametrize(
    "text",
    [
        "{{ word.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ steps.append(1) }}",
        "{{ word | attr('upper') }}",
        "{{ word.nothing }}",
        "{{ nothing }}",
        "{{ cycler('a').next() }}",
        "{{ lipsum(100) }}",
        "{% include 'x' %}",
        "{% import 'x' as x %}",
        "{% extends 'x' %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for step in steps recursive %}{{ loop(steps) }}{% endfor %}",
        "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}",
        "{% for a in steps %}" * 18 + "{% endfor %}" * 18,
        "{% for a in range(999) %}" + "a" * 2_000 + "{% endfor %}",
        "{% for a in range(999) %}{% for b in range(99) %}{{ range(999) | list | sort }}{% endfor %}{% endfor %}",
        "{{ range(10000000) }}",
        "{{ word * 1000000000 }}",
        "{{ 10 ** 10 ** 8 }}",
        "{% set n = 9 %}" + "{% set n = n * n %}" * 60 + "{{ n }}",
        "{% set t = word %}" + "{% set t = t ~ t %}" * 40 + "{{ t | length }}",
        "{% set t = [word, word] %}" + "{% set t = [t, t] %}" * 40 + "{{ t }}",
        "{{ (word, word) + (word, word) }}",
        "{{ word | replace('', long | replace('a', long | replace('a', long))) }}",
        "{{ range(1000) | map('replace', '1', long) | list | join(long) }}",
        "{{ word.ljust(1000000000) }}",
        "{{ word | center(1000000000) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%1000000000d' | format(1) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ 1 | round(-1000000000) }}",
        "{{ long | tojson(indent=1000000000) }}",
        "{{ (" * 5_000,
        "{% if word %}" * 2_000 + "{% endif %}" * 2_000,
        "a" * 70_000,
    ],
)
def test_what_templates_cannot_do(text: str) -> None:
    """They cannot reach behind their inputs, call anything else, or use unbounded time or room."""
    start = time.thread_time()

    with pytest.raises(Exception, match=r".+"):
        rendered(text)

    assert time.thread_time() - start < 3


def test_error_at_reading_names_the_line() -> None:
    """The author of a template learns of a fault before anything is rendered with it."""
    with pytest.raises(ValueError, match="line 2: templates have no Macro"):
        TEMPLATES.read("hello\n{% macro f() %}{% endmacro %}")
