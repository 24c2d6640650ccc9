"""Every interleaving of concurrent sessions, run by PostgreSQL's own isolationtester and judged one by one.

`make isolation` runs all specs and counts; `python -m tests.isolation --guards` takes guards out of a copy of
the database and shows which specs then fail; `--show` prints a spec as isolationtester reads it.

spec         what a spec is, and all orders of its steps
specs/       the specs, by subject, from the words of calls.py and specs/scenarios.py
stage.sql    scenarios and the digest of an outcome; judge.sql: what must hold in the tables
stops        stopping points inside functions, so that orders go between statements, too
exploring    which orders are still to be run; those that can't happen are recognized and counted
tester, transcript   run isolationtester and read what it prints
verdict      invariants, refusals, expectations, serial equivalence: no outcome without a serial order
guards, trials       what happens without each guard
"""
