"""The pod's table of result codes says what the database's says."""

from notifier.result_codes import CLASS_OF, CodeClass
from tests.database_server import Database

IN_THE_DATABASE = {
    CodeClass.RAISE_BID: "same_slot",
    CodeClass.NEW_BOUNDS: "same_slot",
    CodeClass.SEND_AGAIN: "same_slot",
}


def test_both_tables_list_the_same_codes_in_the_same_classes(database: Database) -> None:
    with database.connect() as connection:
        rows = connection.execute(
            "SELECT code, class FROM payroll.result_code WHERE level <> 'check'"
        ).fetchall()
    ours = {code: IN_THE_DATABASE.get(kind, kind.value) for code, kind in CLASS_OF.items()}
    assert dict(rows) == ours
