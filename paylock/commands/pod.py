"""`paylock pod`: one payout pod, configured by the environment."""

import sys

import click


@click.command("pod")
def command() -> None:
    """Run a payout pod until SIGTERM.

    Configured by environment variables alone. Required: PAYLOCK_DATABASE_URL (a login that is a member of
    payroll_pod), PAYLOCK_HORIZON_URL, PAYLOCK_NETWORK_PASSPHRASE, PAYLOCK_CHANNEL_SEED or …_SEED_FILE, and
    PAYLOCK_FUNDING_SECRETS or …_SECRETS_FILE. All of them: docs/configuration.md.
    """
    from notifier.pod import main

    sys.exit(main([]))
