"""`paylock sandbox`: a local Stellar network. Its options are the sandbox's own."""

import sys

import click


@click.command(
    "sandbox",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Serve a local Stellar network over Horizon's API, for tests and demos."""
    from sandbox.server import main

    sys.exit(main(list(arguments)))
