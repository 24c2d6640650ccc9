"""docs/ pages that repeat the database say what a fresh installation says."""

from pathlib import Path

import pytest

from paylock.documents import PAGES
from tests.database_server import Database

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_printed_page_equals_what_the_database_says(database: Database, name: str) -> None:
    with database.connect() as connection:
        assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](connection), "run: make docs"
