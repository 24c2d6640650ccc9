"""How to look at a demo that was kept: an environment for the commands, and what to type."""

import shlex
from collections.abc import Sequence

from rich.console import Console

from paylock.demo.place import Place
from paylock.demo.pods import Pod
from paylock.demo.stage import Stage
from paylock.demo.telling import say


def leave_directions(place: Place, stage: Stage, pods: Sequence[Pod], console: Console) -> None:
    """Writes the directory's file `env` and says what can be done with it. `pods` are those that live."""
    variables = {
        "PAYLOCK_DATABASE_URL": stage.clerk_url,
        **stage.pod_variables,
        "PAYLOCK_DEMO_ADMIN_URL": stage.admin_url,
        "PAYLOCK_DEMO_POD_DATABASE_URL": pods[0].database_url,
        "PAYLOCK_DEMO_POD": pods[0].url,
    }
    file = place.directory / "env"
    file.touch(mode=0o600)
    file.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()))
    employer = next(iter(stage.funding_addresses.values()))
    say(
        console,
        f"""
It all goes on running. To look at it, in this folder:

  . {place.shown}/env                       the clerk's database login, the network, the demo's keys
  .venv/bin/paylock run list                what was paid
  .venv/bin/paylock run show 1              to whom, by which transaction, and why not
  .venv/bin/paylock schedule list
  .venv/bin/paylock channel list
  psql "$PAYLOCK_DEMO_ADMIN_URL"            the database, as superuser
  curl "$PAYLOCK_DEMO_POD/metrics"          a pod's metrics
  curl "$PAYLOCK_HORIZON_URL/accounts/{employer}/payments"
  tail -f {place.shown}/logs/pod-*.log      the pods' logs

To end it and to remove everything: make demo-stop
""",
    )
