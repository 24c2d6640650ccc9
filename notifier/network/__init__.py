"""Asking the Stellar network. One small protocol; `horizon` speaks Horizon's API behind it.

Adapters never raise for what the network says or fails to say: anything unexpected (a reset, garbage, HTML
from a proxy, a missing field) is the value `Unknown`, because "no answer" must never be mistaken for "no".
"""

from notifier.network.protocol import (
    AccountReading,
    ChannelUse,
    ChannelUses,
    InLedger,
    LedgerClose,
    MemoRequired,
    Network,
    NetworkIdentity,
    NotAsked,
    NotFound,
    Queued,
    Rejected,
    TryAgainLater,
    Unknown,
)

__all__ = [
    "AccountReading",
    "ChannelUse",
    "ChannelUses",
    "InLedger",
    "LedgerClose",
    "MemoRequired",
    "Network",
    "NetworkIdentity",
    "NotAsked",
    "NotFound",
    "Queued",
    "Rejected",
    "TryAgainLater",
    "Unknown",
]
