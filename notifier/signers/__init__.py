"""Who signs. A `Signer` signs 32-byte transaction hashes for one account; a `Keyring` finds the signer.

`local` holds keys in this process, from a file or the environment. A vault or an HSM comes behind the same
protocol: `sign` is asynchronous for that reason. Keys are never logged and have no repr.
"""

from notifier.signers.local import InvalidKey, LocalKeyring
from notifier.signers.protocol import KeyMissing, Keyring, Signer

__all__ = ["InvalidKey", "KeyMissing", "Keyring", "LocalKeyring", "Signer"]
