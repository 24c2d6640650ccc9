"""Prints the pages of docs/ that only repeat what a database says, so that they can't say anything else.

`make docs` writes them; a test compares them with a fresh installation.
"""

from collections.abc import Iterator
from pathlib import Path

import psycopg

_PRINTED = "<!-- Printed by `make docs` from the database. Don't edit. -->\n"

_ENTITIES = {
    "schedule": "Pay schedule",
    "run": "Pay run",
    "payment": "Payment",
    "batch": "Payment batch",
    "channel": "Channel account",
}


def states(connection: psycopg.Connection) -> str:
    """docs/states.md: every allowed step, as a diagram and a table for each entity."""
    rows = connection.execute(
        "SELECT entity, from_state, to_state, happens_when FROM payroll.state_transition"
        " ORDER BY entity, from_state, to_state"
    ).fetchall()
    lines = [
        "# States",
        "",
        _PRINTED,
        "The database refuses every other step (SQLSTATE PL003).",
    ]
    for entity, title in _ENTITIES.items():
        steps = [(source, target, when) for owner, source, target, when in rows if owner == entity]
        lines += ["", f"## {title}", "", "```mermaid", "stateDiagram-v2"]
        lines += [f"    {source or '[*]'} --> {target}" for source, target, _ in steps]
        lines += ["```", "", "| from | to | when |", "|---|---|---|"]
        lines += [f"| {source or '(new)'} | {target} | {when} |" for source, target, when in steps]
    return "\n".join(lines) + "\n"


def result_codes(connection: psycopg.Connection) -> str:
    """docs/result-codes.md: the network's codes, their class, and what a clerk reads."""
    rows = connection.execute(
        "SELECT class, code, level, reason FROM payroll.result_code"
        " ORDER BY array_position("
        "ARRAY['payee', 'source', 'same_slot', 'look_first', 'defect', 'success'], class), level, code"
    ).fetchall()
    lines = [
        "# Result codes",
        "",
        _PRINTED,
        "A code that isn't listed counts as `defect`: it is held until a person looks.",
        "",
        "| class | effect |",
        "|---|---|",
        "| payee | that payment fails with this reason; the rest of its batch goes on |",
        "| source | nobody fails; the run waits and goes on by itself when the account is mended |",
        "| same_slot | tried again on the same sequence number with the same payments |",
        "| look_first | the sequence number is used: every hash of the batch is looked up |",
        "| defect | held until a person has looked |",
        "",
        "| class | code | of | in plain words |",
        "|---|---|---|---|",
    ]
    lines += [f"| {kind} | `{code}` | {level} | {reason} |" for kind, code, level, reason in rows]
    return "\n".join(lines) + "\n"


_ROLES = ("payroll_pod", "payroll_operator", "payroll_approver", "payroll_auditor")


def privileges(connection: psycopg.Connection) -> str:
    """docs/privileges.md: which role may execute and read what, from the catalog."""
    functions = connection.execute(
        "SELECT f.oid::regprocedure::text, ARRAY(SELECT r FROM unnest(%s::text[]) AS r"
        " WHERE has_function_privilege(r, f.oid, 'EXECUTE') ORDER BY 1)"
        " FROM pg_proc AS f WHERE f.pronamespace = 'payroll'::regnamespace ORDER BY 1",
        (list(_ROLES),),
    ).fetchall()
    relations = connection.execute(
        "SELECT c.relname, ARRAY(SELECT r FROM unnest(%s::text[]) AS r"
        " WHERE has_table_privilege(r, c.oid, 'SELECT') ORDER BY 1) FROM pg_class AS c"
        " WHERE c.relnamespace = 'payroll'::regnamespace AND c.relkind IN ('r', 'v') ORDER BY 1",
        (list(_ROLES),),
    ).fetchall()
    lines = [
        "# Privileges",
        "",
        _PRINTED,
        "Everything belongs to `payroll_owner`, which can't log in. Nobody else may write a table.",
        "Functions and relations that no role is granted are internal and left out.",
        "",
    ]
    for role in _ROLES:
        lines += [f"## {role}", ""]
        lines += [f"- execute `{name}`" for name in _of(role, functions)]
        lines += [f"- read `payroll.{name}`" for name in _of(role, relations)]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _of(role: str, rows: list[tuple[str, list[str]]]) -> Iterator[str]:
    return (name for name, roles in rows if role in roles)


PAGES = {"states.md": states, "result-codes.md": result_codes, "privileges.md": privileges}


def write_pages(connection: psycopg.Connection, directory: Path) -> None:
    for name, page in PAGES.items():
        (directory / name).write_text(page(connection), encoding="utf-8")


def main() -> None:
    """Writes the pages into docs/ of the checkout, from a private server with a fresh installation."""
    import tempfile

    from paylock.migrate import migrate
    from paylock.postgres_embedded import EmbeddedPostgres

    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedPostgres(Path(directory) / "postgres") as server,
    ):
        migrate(server.url)
        with psycopg.connect(server.url) as connection:
            write_pages(connection, Path(__file__).parent.parent / "docs")


if __name__ == "__main__":
    main()
