"""`paylock migrate`: install or upgrade the database, check it, or print the SQL."""

import sys

import click

from paylock.cli import database_option
from paylock.install_script import install_script
from paylock.migrate import AppliedMigrationChanged, DatabaseIsNewer, Plan, check, migrate
from paylock.sql_files import SqlTreeBroken, read_tree


def _dump(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(install_script(read_tree(), whole=True), nl=False)
        ctx.exit()


@click.command("migrate")
@database_option
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if something is to do.")
@click.option(
    "--dump-sql",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_dump,
    help="Print the whole installation as one psql script, and do nothing else.",
)
def command(database_url: str, only_check: bool) -> None:
    """Install Paylock in a database, or bring it up to date.

    Migrations that were applied are never applied again; functions are replaced when their text changed.
    Connect as a superuser, as the database's owner with CREATEROLE, or as a member of payroll_owner; not
    through a pooler in transaction mode. Two runs at once are safe: the second waits.
    """
    try:
        if only_check:
            plan = check(database_url)
            _say(plan, "to apply")
            sys.exit(0 if plan.up_to_date else 1)
        plan = migrate(database_url, report=click.echo)
        _say(plan, "applied")
    except (AppliedMigrationChanged, DatabaseIsNewer, SqlTreeBroken) as error:
        raise click.ClickException(str(error)) from error


def _say(plan: Plan, verb: str) -> None:
    for name in plan.removed:
        click.echo(f"{name} is no longer shipped: drop its function when no old pod runs any more")
    if plan.up_to_date:
        click.echo("the database is up to date")
    else:
        click.echo(f"{verb}: {len(plan.migrations)} migrations, {len(plan.changed)} other files")
