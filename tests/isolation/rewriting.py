"""Changes a function in a copy of the database by replacing text, and insists that the text was there."""

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow


class TextNotFound(Exception):
    """The function does not hold the text (exactly once): it has changed, and what changes it must follow."""


def replace_in_function(connection: psycopg.Connection[TupleRow], function: str, old: str, new: str) -> None:
    """`function` is the name in schema payroll, without parameters. Raises TextNotFound."""
    row = connection.execute(
        "SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p"
        " WHERE p.pronamespace = 'payroll'::regnamespace AND p.proname = %s",
        (function,),
    ).fetchone()
    text = str(row[0]) if row else ""
    if text.count(old) != 1:
        raise TextNotFound(f"{function}: {text.count(old)} times, not once: {old}")
    connection.execute(text.replace(old, new).encode())


def drop_index(connection: psycopg.Connection[TupleRow], name: str) -> None:
    connection.execute(sql.SQL("DROP INDEX payroll.{}").format(sql.Identifier(name)))


def drop_constraint(connection: psycopg.Connection[TupleRow], table: str, name: str) -> None:
    statement = sql.SQL("ALTER TABLE payroll.{} DROP CONSTRAINT {}")
    connection.execute(statement.format(sql.Identifier(table), sql.Identifier(name)))


def drop_trigger(connection: psycopg.Connection[TupleRow], table: str, name: str) -> None:
    connection.execute(
        sql.SQL("DROP TRIGGER {} ON payroll.{}").format(sql.Identifier(name), sql.Identifier(table))
    )
