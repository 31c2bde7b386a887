"""Write replies as a model may: figures of given results in many formats, some right and some altered."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from turnloom.planner.reply.grounding import Evidence, Grounding, ResultOrigin, check
from turnloom.planner.reply.grounding.said_deeds import ANY

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
CHECK_IN, CHECK_OUT = date(2026, 12, 4), date(2026, 12, 6)
LINK = "https://book.example.com/stay?room=DLX&from=2026-12-04&token=aGk9x7"
PRICES = [Decimal(text) for text in ("412.5", "900", "937.50", "1200", "1250", "1340.25", "2480")]
RESULTS: dict[str, Any] = {
    "rooms": {
        "check_in": str(CHECK_IN),
        "check_out": str(CHECK_OUT),
        "options": [
            {
                "room_type_code": f"R{number}",
                "board_code": "BB",
                "price_total": float(price),
                "currency": "ILS",
                "quota": number,
            }
            for number, price in enumerate(PRICES)
        ],
    },
    "weather": {"days": [{"date": str(CHECK_IN), "t_max_c": 17.4, "precipitation_pct": 35}]},
    "link": {"url": LINK, "expires_at": "2026-11-20T10:42:00Z"},
}
MESSAGE = "A room from 4 to 6 December, for 2 adults"


@dataclass(frozen=True)
class Said:
    """A figure in a reply: its kind, and its spelling."""

    kind: str
    text: str


def refused(text: str, *results: Any, said: str = "", deeds: frozenset[str] = frozenset({ANY})) -> list[str]:
    """Return what must not be said of a text, after what the user has said and some results, and what each has done."""
    given = Evidence(NOW)
    given.add_said(said, "message")
    for number, result in enumerate(results):
        given.add_result(result, ResultOrigin(f"s{number}", deeds=deeds))
    return [found.text for found in check(text, given).violations]


def evidence() -> Evidence:
    """Return the values of the results and of the message."""
    known = Evidence(NOW)
    for step, result in RESULTS.items():
        known.add_result(result, ResultOrigin(step))
    known.add_said(MESSAGE, "message")
    return known


def _grouped(amount: Decimal, group: str, point: str) -> str:
    text = f"{amount:,.2f}" if amount != amount.to_integral_value() else f"{amount:,.0f}"
    return text.translate(str.maketrans({",": group, ".": point}))


_MONEY: list[Callable[[Decimal], str]] = [
    lambda amount: f"₪{_grouped(amount, ',', '.')}",
    lambda amount: f"₪ {_grouped(amount, '', '.')}",
    lambda amount: f"{_grouped(amount, '.', ',')} ILS",
    lambda amount: f"{_grouped(amount, ' ', ',')} ₪",
    lambda amount: f"{_grouped(amount, chr(0x202F), ',')} ILS",
    lambda amount: f"ILS {amount:.2f}",
    lambda amount: f"NIS {_grouped(amount, ',', '.')}",
    lambda amount: f"{_grouped(amount, ',', '.')} shekels",
    lambda amount: f'{_grouped(amount, ",", ".")} ש"ח',
    lambda amount: f"{_grouped(amount, chr(0x2019), '.')} ILS",
    lambda amount: f"price: {_grouped(amount, ',', '.')}",
]
_DATES: list[Callable[[date], str]] = [
    lambda day: day.isoformat(),
    lambda day: f"{day:%d/%m/%Y}" if day.day > 12 else f"{day.day} {day:%B %Y}",
    lambda day: f"{day.day} {day:%B}",
    lambda day: f"{day:%A}, {day:%B} {day.day}",
    lambda day: f"{day:%a} {day.day} {day:%b}",
    lambda day: f"{day:%b} {day.day}, {day.year}",
    lambda day: f"{day.day}. {_GERMAN[day.month - 1]} {day.year}",
    lambda day: f"{day.day} de {_SPANISH[day.month - 1]}",
    lambda day: f"{day.day} {_HEBREW[day.month - 1]}",
    lambda day: f"{day.month}月{day.day}日",
]
_GERMAN = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
_SPANISH = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
]
_HEBREW = [
    "בינואר",
    "בפברואר",
    "במרץ",
    "באפריל",
    "במאי",
    "ביוני",
    "ביולי",
    "באוגוסט",
    "בספטמבר",
    "באוקטובר",
    "בנובמבר",
    "בדצמבר",
]
_SENTENCES = [
    "Good news: two rooms are free for your stay. The first is {money}, the second {money}, from {date} to {date}.",
    "For {date} I found 7 options; the best one costs {money} with breakfast for 2 adults and 1 child.",
    "Das Zimmer kostet {money} vom {date} bis {date}, inklusive Frühstück.",
    "La habitación cuesta {money} del {date} al {date}.",
    "החדר עולה {money} והכניסה היא {arrival}.",
    "Номер стоит {money}, заезд {arrival}.",
    "Book here: {link} (the price of {money} is kept until {time}).",
    "On {date} there is a {percent} chance of rain; the suite is {money}!",
    "- Deluxe: {money}\n- Family: {money}\n\nArrival {arrival}, 2 nights. See {link}.",
    "Your room: {money}. Check-in {arrival}. Anything else? I can hold it until {time}.",
]
_WRITERS: dict[str, Callable[[random.Random], str]] = {
    "money": lambda rng: rng.choice(_MONEY)(rng.choice(PRICES)),
    "date": lambda rng: rng.choice(_DATES)(rng.choice([CHECK_IN, CHECK_OUT])),
    "arrival": lambda rng: rng.choice(_DATES)(CHECK_IN),
    "link": lambda _: LINK,
    "time": lambda rng: rng.choice(["10:42", "10:42 am"]),
    "percent": lambda rng: rng.choice(["35 %", "35%", "35 percent"]),
}
_LIARS: dict[str, Callable[[random.Random], str]] = {
    "money": lambda rng: rng.choice([_other_amount, _other_currency, _in_words])(rng),
    "date": lambda rng: rng.choice([_other_day, _other_year, _other_weekday])(rng),
    "arrival": lambda rng: rng.choice([_other_day, _other_year, _other_weekday])(rng),
    "link": lambda rng: _other_link(rng),  # noqa: PLW0108 - the function is defined below
    "time": lambda rng: f"{rng.choice([h for h in range(24) if h != 10])}:{rng.randrange(60):02}",
    "percent": lambda rng: f"{rng.choice([n for n in range(1, 100) if n not in (35, *range(7))])} %",
}


def reply(rng: random.Random) -> str:
    """Return a reply whose figures all have a source."""
    text, _ = _fill(rng.choice(_SENTENCES), rng, None)
    return text


def altered_reply(rng: random.Random) -> tuple[str, str]:
    """Return a reply with one figure that has no source, and that figure."""
    sentence = rng.choice(_SENTENCES)
    return _fill(sentence, rng, rng.randrange(sentence.count("{")))


def _fill(sentence: str, rng: random.Random, lie_at: int | None) -> tuple[str, str]:
    lie, number = "", 0
    while "{" in sentence:
        before, _, rest = sentence.partition("{")
        kind, _, after = rest.partition("}")
        text = _LIARS[kind](rng) if number == lie_at else _WRITERS[kind](rng)
        lie = text if number == lie_at else lie
        sentence, number = f"{before}{text}{after}", number + 1
    return sentence, lie


def _other_amount(rng: random.Random) -> str:
    amount = rng.choice(PRICES)
    candidates = [
        amount + 1,
        amount * 10,
        amount + Decimal("0.5"),
        amount - 10,
        amount / 2,
        Decimal(rng.randrange(100, 9000)),  # a bare number below 100 is a count
    ]
    known = {*PRICES, Decimal(35), *map(Decimal, range(8)), Decimal("17.4")}
    known |= {sign * first + second for first in PRICES for second in PRICES for sign in (1, -1)}
    return rng.choice(_MONEY)(
        rng.choice([other.quantize(Decimal("0.01")) for other in candidates if other not in known])
    )


def _other_currency(rng: random.Random) -> str:
    amount = _grouped(rng.choice(PRICES), ",", ".")
    return rng.choice([f"€{amount}", f"${amount}", f"{amount} EUR", f"{amount} dollars", f"£{amount}"])


def _in_words(rng: random.Random) -> str:
    return rng.choice(["thirteen hundred shekels", "nine hundred euros", "two thousand euros", "neunhundert Euro"])


def _other_day(rng: random.Random) -> str:
    days = [CHECK_IN + timedelta(days=offset) for offset in (-30, -7, -1, 1, 3, 8, 31, 200)]
    return rng.choice(_DATES)(rng.choice(days))


def _other_year(rng: random.Random) -> str:
    return rng.choice([_DATES[0], _DATES[5], _DATES[6]])(CHECK_IN.replace(year=rng.choice([2025, 2027])))


def _other_weekday(rng: random.Random) -> str:
    return f"{rng.choice(['Monday', 'Tue', 'Thursday'])} {CHECK_IN.day} {CHECK_IN:%B}"


def _other_link(rng: random.Random) -> str:
    place = rng.randrange(len("https://"), len(LINK))
    other = rng.choice("qzj4")
    changed = LINK[:place] + (other if LINK[place].lower() != other else "w") + LINK[place + 1 :]
    return rng.choice([changed, "https://book.example.com/stay", "www.other.example.com", LINK[:-3]])


def raised(text: str, found: Grounding) -> Iterator[str]:
    """Yield forms of a text in each of which the last digits of one sourced figure are raised by seven."""
    for source in found.sources:
        other = re.sub(r"\d+(?=\D*$)", lambda last: str(int(last[0]) + 7).zfill(len(last[0])), source.text)
        if other != source.text:
            yield text.replace(source.text, other, 1)
