"""What spreadsheets put into a cell instead of what a person wrote there."""

import re

from paylock.payroll_file.problems import FieldRefused

_ERROR = re.compile(
    r"#(?:N/A|REF!|NAME\?|VALUE!|DIV/0!|NUM!|NULL!|SPILL!|CALC!|NV|BEZUG!|WERT!|ZAHL!|#*)|Err:[0-9]{3}",
    re.ASCII | re.IGNORECASE,
)
_ROUNDED = re.compile(r"[0-9](?:[.,][0-9]+)?E\+[0-9]+", re.ASCII | re.IGNORECASE)


def refuse_error_value(text: str) -> None:
    """Raises FieldRefused for what a formula shows that failed, and for a column that was too narrow."""
    if text[:1] in ("#", "E", "e") and _ERROR.fullmatch(text):
        raise FieldRefused(f"holds the spreadsheet's error value {text}; mend the formula, or type the value")


def refuse_rounded(text: str) -> None:
    """Raises FieldRefused for a long number that a spreadsheet has shortened: its last digits are lost."""
    if _ROUNDED.fullmatch(text):
        raise FieldRefused(
            f"{text!r} is a number that a spreadsheet has rounded; format the column as text and"
            " paste it again"
        )
