"""Amounts: exact decimals with a point, at most seven places, never guessed and never rounded."""

import re
from decimal import Decimal

from paylock.payroll_file.problems import FieldRefused

LARGEST = Decimal("922337203685.4775807")
PLACES = 7
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:[ '’_\u00a0\u202f\u2009][0-9]{3})+(?:[.,][0-9]+)?")
_EXPONENT = re.compile(r"[+-]?[0-9.,]+[eE][+-]?[0-9]+")


def amount_of(text: str) -> Decimal:
    """The amount, greater than zero and at most LARGEST; raises FieldRefused with what to do."""
    if not _PLAIN.fullmatch(text):
        raise FieldRefused(_why_not(text))
    places = len(text.partition(".")[2])
    if places > PLACES:
        raise FieldRefused(f"{text!r} has {places} decimals; the ledger keeps {PLACES}: round it yourself")
    amount = Decimal(text)
    if amount == 0:
        raise FieldRefused("is zero; delete the row if this person is not paid")
    if amount > LARGEST:
        raise FieldRefused(f"{text!r} is more than the ledger can hold ({LARGEST})")
    return amount


def _why_not(text: str) -> str:
    if not text:
        return "is empty; write the amount, or delete the row if this person is not paid"
    if any(character.isdigit() and not character.isascii() for character in text):
        return f"{text!r} is not written with the digits 0 to 9; write them so"
    if text.startswith("-") or (text.startswith("(") and text.endswith(")")):
        return f"{text!r} is negative; a payroll pays, it never takes back"
    if _EXPONENT.fullmatch(text):
        return f"{text!r} is in scientific notation; format the column as a plain number and write all digits"
    if (
        text.count(",") > 1
        or text.count(".") > 1
        or ("," in text and "." in text)
        or _GROUPED.fullmatch(text)
    ):
        return f"{text!r} has thousands separators; write the number without them, as 1234.56"
    if "," in text:
        return (
            f"{text!r} has a comma, which may be a decimal comma or a thousands separator; "
            "write the number with a decimal point and nothing else, as 1234.56"
        )
    if text.startswith("."):
        return f"{text!r} has no digit before the point; write 0{text}"
    if text.endswith("."):
        return f"{text!r} has no digit after the point; write {text[:-1]}"
    return f"{text!r} is not a number; write digits and a decimal point only, as 1234.56"
