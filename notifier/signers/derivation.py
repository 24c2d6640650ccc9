"""SEP-5: Ed25519 keys of Stellar accounts from one seed, at m/44'/148'/<index>' (SLIP-0010, hardened
only)."""

import hashlib
import hmac
import re
import struct

from stellar_sdk.sep.mnemonic import StellarMnemonic

_HARDENED = 0x8000_0000
_HEX_SEED = re.compile(r"[0-9a-fA-F]+")


class InvalidSeed(ValueError):
    """The seed is neither a BIP-39 mnemonic nor 16 to 64 bytes in hex. The message never repeats it."""


def read_seed(text: str) -> bytes:
    """The BIP-39 seed from a mnemonic (words) or hex digits (16 to 64 bytes). Raises InvalidSeed."""
    text = " ".join(text.split())
    if _HEX_SEED.fullmatch(text):
        if len(text) % 2 or not 32 <= len(text) <= 128:
            raise InvalidSeed("a hex seed must have 32 to 128 hex digits, two per byte")
        return bytes.fromhex(text)
    try:
        return StellarMnemonic("english").to_bip39_seed(text)
    except ValueError:
        raise InvalidSeed("not a BIP-39 mnemonic in English (check the words and their order)") from None


def _child(key: bytes, chain_code: bytes, index: int) -> tuple[bytes, bytes]:
    data = b"\x00" + key + struct.pack(">I", _HARDENED + index)
    digest = hmac.new(chain_code, data, hashlib.sha512).digest()
    return digest[:32], digest[32:]


class AccountKeys:
    """Derives raw 32-byte Ed25519 seeds at m/44'/148'/<index>'."""

    def __init__(self, seed: bytes) -> None:
        digest = hmac.new(b"ed25519 seed", seed, hashlib.sha512).digest()
        key, chain_code = digest[:32], digest[32:]
        for index in (44, 148):
            key, chain_code = _child(key, chain_code, index)
        self._key, self._chain_code = key, chain_code

    def raw_seed(self, index: int) -> bytes:
        """The account's raw Ed25519 seed. `index` is 0 to 2³¹ − 1."""
        if not 0 <= index < _HARDENED:
            raise ValueError(f"key index {index} is out of range")
        return _child(self._key, self._chain_code, index)[0]
