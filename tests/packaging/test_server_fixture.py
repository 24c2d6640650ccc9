from tests.database_server import Server


def test_the_chosen_server_takes_connections(postgres_server: Server) -> None:
    with postgres_server.connect() as connection:
        row = connection.execute("SELECT current_setting('server_version_num')::integer").fetchone()
    assert row is not None
    assert row[0] >= 150000
