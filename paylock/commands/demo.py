"""`paylock demo`: the whole of Paylock on this machine, start to end."""

import json
import signal
import sys
from pathlib import Path
from types import FrameType

import click

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave everything running at the end, and say how to look at it.")
@click.option("--stop", is_flag=True, help="Stop and remove what --keep left running; do nothing else.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".demo"),
    show_default=True,
    help="Where everything is written; removed at the end.",
)
def command(keep: bool, stop: bool, directory: Path) -> None:
    """Pay a whole payroll on this machine, start to end.

    Starts a private PostgreSQL, a sandbox of the Stellar network and three pods; imports a payroll of two
    organizations (examples/payroll.csv); kills one of the pods with SIGKILL while it pays; and then judges
    from the network's ledger whether everybody was paid exactly once. No real money and no real network are
    involved.

    The last line is JSON. The exit status is 0 only if nobody was paid twice and nobody payable was missed.
    """
    try:
        from paylock.demo.run import DemoFailed, run_demo, stop_demo, use_clean_environment
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is missing: install paylock[demo], or use make demo"
        ) from error

    for number in _ENDINGS:
        signal.signal(number, _interrupt)
    use_clean_environment()
    try:
        if stop:
            click.echo("stopped and removed" if stop_demo(directory) else "no demo was left running here")
            return
        outcome = run_demo(directory, keep=keep)
    except DemoFailed as failure:
        click.echo(f"the demo failed: {failure}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("interrupted; everything that the demo had started is gone", err=True)
        sys.exit(130)
    click.echo(json.dumps(outcome.figures, separators=(",", ":")))
    sys.exit(0 if outcome.good else 1)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in _ENDINGS:  # the first one tidies up; impatience must not stop that
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
