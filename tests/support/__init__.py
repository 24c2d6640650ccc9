"""Set-up that several kinds of tests share: a company on the sandbox's ledger and in the database, pods, a
judge."""
