"""The local Stellar network, seen through stellar-sdk as its client."""
