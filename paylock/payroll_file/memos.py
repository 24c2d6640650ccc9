"""Memos: typed, exact, and never beside a muxed address."""

import re

from paylock.payroll_file.addresses import refuse_secret
from paylock.payroll_file.problems import FieldRefused
from paylock.payroll_file.spreadsheet_damage import refuse_rounded

TYPES = ("none", "text", "id", "hash", "return")
TEXT_BYTES = 28
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_HASH = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_ODD_SPACES = "\u00a0\u2007\u202f\u2009\u200b"


def memo_type_of(text: str, memo: str) -> str:
    """One of TYPES; an empty type is 'none' when the memo is empty too; raises FieldRefused."""
    if not text:
        if memo:
            raise FieldRefused("is empty although there is a memo; write text, id, hash or return")
        return "none"
    kind = text.casefold()
    if kind not in TYPES:
        raise FieldRefused(f"{text[:20]!r} is not a kind of memo; write none, text, id, hash or return")
    return kind


def memo_of(kind: str, memo: str, destination: str) -> str | None:
    """The memo's value as it is stored (hashes in small letters), or None for 'none'; raises FieldRefused."""
    if kind == "none":
        if memo:
            raise FieldRefused("must be empty when memo_type is none; or write the memo's type")
        return None
    if destination.startswith("M"):
        raise FieldRefused("must be empty: a muxed address (M…) carries its own id; empty memo_type and memo")
    if not memo:
        raise FieldRefused(f"is empty although memo_type is {kind}; write the memo, or empty memo_type")
    refuse_secret(memo)
    if kind == "text":
        return _text(memo)
    if kind == "id":
        return _id(memo)
    if not _HASH.fullmatch(memo):
        raise FieldRefused(f"of type {kind} must be 64 hexadecimal digits; it has {len(memo)} characters")
    return memo.lower()


def _text(memo: str) -> str:
    refuse_rounded(memo)
    for position, character in enumerate(memo, start=1):
        if character in _ODD_SPACES:
            raise FieldRefused(
                f"has an invisible or non-breaking space at character {position}; memos are compared exactly:"
                " write a normal space or none"
            )
    size = len(memo.encode())
    if size > TEXT_BYTES:
        raise FieldRefused(
            f"is {size} bytes long, the ledger holds {TEXT_BYTES} (an accented letter counts 2 or more)"
        )
    return memo


def _id(memo: str) -> str:
    if not _DIGITS.fullmatch(memo):
        hint = (
            " (a spreadsheet has turned it into a rounded number: format the column as text and paste it"
            " again)"
        )
        raise FieldRefused(
            f"{memo[:30]!r} is not a memo id, which has digits only"
            + (hint if re.search(r"[eE.,]", memo) else "")
        )
    if int(memo) > 2**64 - 1:
        raise FieldRefused(f"{memo[:30]!r} is more than a memo id can hold (18446744073709551615)")
    if memo != str(int(memo)):
        raise FieldRefused(
            f"{memo[:30]!r} has zeros in front, which a memo id can't keep; use type text, or remove them"
        )
    return memo
