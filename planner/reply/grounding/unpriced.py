"""Amounts for which a result names no currency beside them: they are in the one that it names elsewhere, if any."""

from dataclasses import dataclass, field
from decimal import Decimal

from turnloom.planner.reply.grounding.places import UNSTATED, EvidencePlace, Places


@dataclass(slots=True)
class UnpricedNumbers:
    """The numbers of a result without a currency of their own, and the currencies that it names."""

    codes: set[str] = field(default_factory=set)
    _numbers: list[tuple[Decimal, EvidencePlace, bool | None]] = field(default_factory=list)
    """The numbers, and whether their fields are named like money; None for a small one beside amounts."""

    def add(self, value: Decimal, place: EvidencePlace, *, is_money: bool | None) -> None:
        """Keep a number until all of the result is read."""
        self._numbers.append((value, place, is_money))

    def settle(self, places: Places) -> None:
        """Give the numbers the currencies of the result. One with decimals is likely an amount, whatever its field."""
        is_named = any(is_money for _, _, is_money in self._numbers)
        codes = sorted(self.codes) or [UNSTATED]
        for value, place, is_money in self._numbers:
            for code in codes:
                places.put(("money", value, code), place)
                is_likely = "." in str(value) or (code == UNSTATED and not is_named)
                if is_money or (is_money is False and is_likely):
                    places.add_operand(value, code, place)
