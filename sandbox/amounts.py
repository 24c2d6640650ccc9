"""Amounts: integer stroops inside, strings with seven decimals at the edges."""

STROOPS = 10_000_000
MAX_AMOUNT = (1 << 63) - 1


def to_text(stroops: int) -> str:
    """'12.5000000' for 125000000 stroops."""
    return f"{stroops // STROOPS}.{stroops % STROOPS:07d}"


def to_stroops(text: str) -> int:
    """125000000 for '12.5'. ValueError for anything but digits with at most seven decimals."""
    whole, _, fraction = text.partition(".")
    if (
        not (whole.isascii() and whole.isdigit())
        or len(fraction) > 7
        or (fraction and not fraction.isdigit())
    ):
        raise ValueError(f"not an amount: {text!r}")
    return int(whole) * STROOPS + int(fraction.ljust(7, "0"))
