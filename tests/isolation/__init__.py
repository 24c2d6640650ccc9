"""Every interleaving of concurrent sessions, run by PostgreSQL's own isolationtester and judged one by one.

`make isolation` runs all specs and counts; `python -m tests.isolation --guards` takes guards out of a copy of the
database and shows which specs then fail; `--show` prints a spec as isolationtester reads it.

spec         what a spec is, and all orders of its steps
specs/       the specs, by subject, from the words of calls.py and specs/scenarios.py
stage.sql    scenarios and the digest of an outcome; judge.sql: what must hold in the tables after any order
stops        stopping points inside functions, so that orders go between their statements, too
exploring    which orders are still to be run; those that cannot happen are recognized, counted and left out
tester, transcript   run isolationtester and read what it prints
verdict      invariants, refusals, expectations, and serial equivalence: no outcome that no serial order explains
guards, trials       what happens without each guard
"""
