"""Addresses: 32 raw bytes inside the ledger, G… and M… strings at its edges (SEP-23)."""

import base64
import struct
from functools import lru_cache
from typing import NamedTuple

_ACCOUNT = 6 << 3
_MUXED = 12 << 3
_PRE_AUTH = 19 << 3
_HASH_X = 23 << 3
_SIGNED_PAYLOAD = 15 << 3
_BALANCE = 1 << 3


class InvalidAddress(ValueError):
    """The text is no address of the kind asked for."""


def _crc16(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc


def _encode(version: int, payload: bytes) -> str:
    body = bytes([version]) + payload
    return base64.b32encode(body + struct.pack("<H", _crc16(body))).decode().rstrip("=")


def _decode(version: int, text: str) -> bytes:
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError as error:
        raise InvalidAddress(text) from error
    payload = raw[1:-2]
    if len(raw) < 3 or raw[0] != version or _encode(version, payload) != text:
        raise InvalidAddress(text)
    return payload


@lru_cache(maxsize=1 << 17)
def account_address(key: bytes) -> str:
    """G… for 32 raw bytes."""
    return _encode(_ACCOUNT, key)


@lru_cache(maxsize=1 << 16)
def account_key(address: str) -> bytes:
    """32 raw bytes for G…; InvalidAddress if it is anything else."""
    payload = _decode(_ACCOUNT, address)
    if len(payload) != 32:
        raise InvalidAddress(address)
    return payload


def muxed_address(key: bytes, muxed_id: int) -> str:
    """M… for an account and an id."""
    return _encode(_MUXED, key + struct.pack(">Q", muxed_id))


def pre_auth_address(digest: bytes) -> str:
    """T… for the hash of a pre-authorized transaction."""
    return _encode(_PRE_AUTH, digest)


def hash_x_address(digest: bytes) -> str:
    """X… for the hash of a preimage."""
    return _encode(_HASH_X, digest)


def signed_payload_address(key: bytes, payload: bytes) -> str:
    """P… for a key that must sign a payload."""
    padding = b"\0" * (-len(payload) % 4)
    return _encode(_SIGNED_PAYLOAD, key + struct.pack(">I", len(payload)) + payload + padding)


def balance_address(balance_id: bytes) -> str:
    """B… for the 32-byte hash of a claimable balance."""
    return _encode(_BALANCE, b"\0" + balance_id)


class Party(NamedTuple):
    """An account as a transaction names it: perhaps with a multiplexed id."""

    account: bytes
    muxed_id: int | None = None

    @property
    def address(self) -> str:
        """G…, without the id."""
        return account_address(self.account)

    @property
    def muxed(self) -> str | None:
        """M… if there is an id."""
        return None if self.muxed_id is None else muxed_address(self.account, self.muxed_id)
