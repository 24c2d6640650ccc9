"""Assets: the native one (XLM) or a code together with its issuer."""

import re

from paylock.payroll_file.addresses import issuer_of, refuse_secret
from paylock.payroll_file.problems import FieldRefused

NATIVE = "XLM"
_CODE = re.compile(r"[A-Za-z0-9]{1,12}", re.ASCII)


def asset_code_of(text: str) -> str | None:
    """The asset's code, or None for the native asset; raises FieldRefused."""
    if not text:
        raise FieldRefused("is empty; write XLM or the asset's code, as USDC")
    if text == NATIVE:
        return None
    if text.casefold() in ("xlm", "native", "lumens"):
        raise FieldRefused(f"{text!r} is not an asset's code; write XLM for the network's own asset")
    refuse_secret(text)
    if ":" in text:
        raise FieldRefused(
            f"{text[:20]!r} holds code and issuer; write the code here and the issuer in its own column"
        )
    if not _CODE.fullmatch(text):
        raise FieldRefused(
            f"{text[:20]!r} is not an asset's code; it has 1 to 12 letters and digits, as USDC"
        )
    return text


def asset_issuer_of(code: str | None, text: str) -> str | None:
    """The issuer that belongs to the code: None for XLM, otherwise a G… address; raises FieldRefused."""
    if code is None:
        if text:
            raise FieldRefused(
                "must be empty for XLM, which nobody issues; or write the asset's code instead of XLM"
            )
        return None
    if not text:
        raise FieldRefused(f"is empty; {code} is only known together with its issuer (G…)")
    return issuer_of(text)
