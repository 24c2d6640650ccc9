"""Assets: native lumens (None) or a code with its issuer."""

from typing import NamedTuple

from stellar_sdk import xdr

from sandbox.strkeys import account_address


class Credit(NamedTuple):
    """An issued asset. `code` is the code as in the envelope: 4 or 12 bytes, padded with zeros."""

    code: bytes
    issuer: bytes

    @property
    def name(self) -> str:
        """The code without its padding."""
        return self.code.rstrip(b"\0").decode("ascii", "replace")

    @property
    def kind(self) -> str:
        """Horizon's asset_type."""
        return "credit_alphanum4" if len(self.code) == 4 else "credit_alphanum12"


Asset = Credit | None


def asset_from_xdr(asset: xdr.Asset | xdr.ChangeTrustAsset | xdr.TrustLineAsset) -> Asset:
    """The value of an XDR asset. NotImplementedError for pool shares."""
    if asset.type == xdr.AssetType.ASSET_TYPE_NATIVE:
        return None
    if asset.alpha_num4 is not None:
        issuer = asset.alpha_num4.issuer.account_id.ed25519
        assert issuer is not None
        return Credit(asset.alpha_num4.asset_code.asset_code4, issuer.uint256)
    if asset.alpha_num12 is not None:
        issuer = asset.alpha_num12.issuer.account_id.ed25519
        assert issuer is not None
        return Credit(asset.alpha_num12.asset_code.asset_code12, issuer.uint256)
    raise NotImplementedError("liquidity pool shares")


def is_valid(asset: Asset) -> bool:
    """stellar-core's isAssetValid: letters and digits, padded on the right, twelve only if more than four."""
    if asset is None:
        return True
    name = asset.code.rstrip(b"\0")
    if not name or not name.isalnum():
        return False
    return len(asset.code) == 4 or len(name) > 4


def to_xdr(asset: Asset) -> bytes:
    """The asset as XDR."""
    if asset is None:
        return b"\0\0\0\0"
    kind = 1 if len(asset.code) == 4 else 2
    return kind.to_bytes(4, "big") + asset.code + b"\0\0\0\0" + asset.issuer


def canonical(asset: Asset) -> str:
    """'native' or 'CODE:GISSUER'."""
    return "native" if asset is None else f"{asset.name}:{account_address(asset.issuer)}"


def fields(asset: Asset, prefix: str = "") -> dict[str, str]:
    """Horizon's asset_type, asset_code and asset_issuer, each with a prefix."""
    if asset is None:
        return {f"{prefix}asset_type": "native"}
    return {
        f"{prefix}asset_type": asset.kind,
        f"{prefix}asset_code": asset.name,
        f"{prefix}asset_issuer": account_address(asset.issuer),
    }
