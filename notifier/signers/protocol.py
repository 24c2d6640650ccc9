"""What the pod asks of whoever holds the keys."""

from typing import Protocol


class KeyMissing(Exception):
    """No key for this account: the pod was not given it, or the seed derives another address."""


class Signer(Protocol):
    """Signs for one account."""

    @property
    def address(self) -> str:
        """The account's G… address."""

    async def sign(self, digest: bytes) -> bytes:
        """The 64-byte Ed25519 signature over a 32-byte transaction hash."""


class Keyring(Protocol):
    """Finds the signer of an account."""

    def channel(self, key_index: int, address: str) -> Signer:
        """The signer of the channel account derived at `key_index`. Raises KeyMissing if that isn't
        `address`."""

    def funding(self, address: str) -> Signer:
        """The signer of a funding account. Raises KeyMissing."""
