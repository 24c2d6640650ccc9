"""Stellar RPC (JSON-RPC 2.0) over the same network: what an account's payments need, no contracts."""
