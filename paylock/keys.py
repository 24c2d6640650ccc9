"""Keys from the environment, as pods read them: the channel seed and the funding accounts' secrets."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stellar_sdk import Keypair
from stellar_sdk.exceptions import Ed25519SecretSeedInvalidError

from notifier.signers.derivation import AccountKeys, InvalidSeed, read_seed


class KeysNotGiven(Exception):
    """A key is missing or isn't one. The message names the variable, never its content."""


@dataclass(frozen=True, slots=True)
class Keys:
    """funding: by address. channel(i) derives m/44'/148'/i' of the channel seed (SEP-5)."""

    funding: Mapping[str, Keypair] = field(repr=False)
    _channels: AccountKeys = field(repr=False)

    def channel(self, key_index: int) -> Keypair:
        return Keypair.from_raw_ed25519_seed(self._channels.raw_seed(key_index))


def keys_from_environment(environment: Mapping[str, str] = os.environ) -> Keys:
    """Raises KeysNotGiven."""
    seed = _secret(environment, "PAYLOCK_CHANNEL_SEED")
    secrets = _secret(environment, "PAYLOCK_FUNDING_SECRETS").replace(",", " ").split()
    try:
        channels = AccountKeys(read_seed(seed))
    except InvalidSeed as error:
        raise KeysNotGiven(f"PAYLOCK_CHANNEL_SEED: {error}") from None
    funding = {}
    for position, secret in enumerate(secrets, start=1):
        try:
            keypair = Keypair.from_secret(secret)
        except (Ed25519SecretSeedInvalidError, ValueError):
            raise KeysNotGiven(
                f"PAYLOCK_FUNDING_SECRETS: number {position} is not a secret key (S…)"
            ) from None
        funding[keypair.public_key] = keypair
    return Keys(funding, channels)


def _secret(environment: Mapping[str, str], name: str) -> str:
    direct, path = environment.get(name, "").strip(), environment.get(f"{name}_FILE", "").strip()
    if bool(direct) == bool(path):
        raise KeysNotGiven(f"give {'only one' if direct else 'one'} of {name} and {name}_FILE")
    if direct:
        return direct
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise KeysNotGiven(f"{name}_FILE can't be read: {type(error).__name__}") from None
