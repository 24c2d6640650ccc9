"""Keys held in this process."""

from collections.abc import Iterable

from stellar_sdk import Keypair
from stellar_sdk.exceptions import Ed25519SecretSeedInvalidError

from notifier.signers.derivation import AccountKeys, InvalidSeed, read_seed
from notifier.signers.protocol import KeyMissing, Signer


class InvalidKey(ValueError):
    """A key was given that isn't one. The message says which, never what it is."""


class LocalSigner:
    """Signs with a key pair in memory."""

    __slots__ = ("_keypair",)

    def __init__(self, keypair: Keypair) -> None:
        self._keypair = keypair

    @property
    def address(self) -> str:
        return self._keypair.public_key

    async def sign(self, digest: bytes) -> bytes:
        return self._keypair.sign(digest)

    def __repr__(self) -> str:
        return f"LocalSigner({self.address})"


class LocalKeyring:
    """Channel keys derived from one seed, funding keys from secrets.

    Raises InvalidKey for a seed that is neither mnemonic nor hex, or a secret that isn't an S… key.
    """

    def __init__(self, channel_seed: str, funding_secrets: Iterable[str]) -> None:
        try:
            self._channel_keys = AccountKeys(read_seed(channel_seed))
        except InvalidSeed as error:
            raise InvalidKey(f"channel seed: {error}") from None
        self._channels: dict[int, LocalSigner] = {}
        self._funding: dict[str, LocalSigner] = {}
        for position, secret in enumerate(funding_secrets, start=1):
            try:
                keypair = Keypair.from_secret(secret)
            except (Ed25519SecretSeedInvalidError, ValueError):
                raise InvalidKey(f"funding secret number {position} is not a secret key (S…)") from None
            self._funding[keypair.public_key] = LocalSigner(keypair)
        if not self._funding:
            raise InvalidKey("no funding secret was given")

    @property
    def funding_addresses(self) -> tuple[str, ...]:
        """The accounts that this keyring can pay from."""
        return tuple(self._funding)

    def channel(self, key_index: int, address: str) -> Signer:
        signer = self._channels.get(key_index)
        if signer is None:
            signer = LocalSigner(Keypair.from_raw_ed25519_seed(self._channel_keys.raw_seed(key_index)))
            self._channels[key_index] = signer
        if signer.address != address:
            raise KeyMissing(
                f"the channel seed derives {signer.address} at index {key_index}, but the channel is"
                f" {address}: this is another seed than the one the channel was made with"
            )
        return signer

    def funding(self, address: str) -> Signer:
        try:
            return self._funding[address]
        except KeyError:
            raise KeyMissing(f"no secret was given for funding account {address}") from None

    def __repr__(self) -> str:
        return f"LocalKeyring(funding={list(self._funding)})"
