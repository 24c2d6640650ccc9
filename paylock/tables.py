"""How tables and sentences for people write amounts, assets, moments and counts."""

from datetime import datetime
from decimal import Decimal


def amount_text(amount: Decimal | str) -> str:
    """An exact amount, grouped by thin spaces, with at least two decimals: 1 234 567.50."""
    whole, _, decimals = format(Decimal(amount), "f").partition(".")
    return f"{int(whole):,}".replace(",", "\u2009") + "." + decimals.rstrip("0").ljust(2, "0")


def asset_text(asset: str) -> str:
    """'XLM', or the code with a shortened issuer: USDC (GA5Z…KZVN)."""
    code, _, issuer = asset.partition(":")
    return f"{code} ({short_address(issuer)})" if issuer else code


def short_address(address: str) -> str:
    """The first and last four characters of a Stellar address."""
    return f"{address[:4]}…{address[-4:]}"


def moment_text(moment: datetime | None) -> str:
    """A moment to the second with its offset from UTC; a dash for none."""
    return "–" if moment is None else moment.isoformat(sep=" ", timespec="seconds")


def counted(number: int, noun: str) -> str:
    """'1 row', '2 rows'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
