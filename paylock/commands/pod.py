"""`paylock pod`: one payout pod, configured by the environment."""

import sys

import click


@click.command("pod")
def command() -> None:
    """Run a payout pod until SIGTERM.

    Configured by environment variables alone: PAYLOCK_DATABASE_URL, PAYLOCK_HORIZON_URL and
    PAYLOCK_NETWORK_PASSPHRASE are required; see docs/configuration.md.
    """
    from notifier.pod import main

    sys.exit(main([]))
