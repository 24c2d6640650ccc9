# Two commands for newcomers: `make demo` and `make test`. They need git, make and Python 3.11 or newer, nothing else.
# PYTHON=… chooses the interpreter; KEEP=1 leaves the demo running; TESTS=… names what to test.

PY = .venv/bin/python
TESTS ?= tests

.PHONY: help docs chaos demo demo-stop test check isolation model bench lint lock install-sql venv venv-dev clean

help:
	@echo 'make demo         pay a whole payroll on this machine, start to end (KEEP=1: leave it running)'
	@echo 'make demo-stop    end a demo that KEEP=1 left running, and remove its files'
	@echo 'make test         lint, types and all tests (TESTS=tests/sql for a part)'
	@echo 'make isolation    all interleavings of concurrent sessions (needs isolationtester)'
	@echo 'make model        explore the protocol whole, and with each guard taken out (needs spin and gcc)'
	@echo 'make chaos        random disasters, judged by the ledger (ROUNDS=10, SEED=…)'
	@echo 'make bench        speed and memory, as ratios within one run'
	@echo 'make lint         ruff, mypy, squawk'
	@echo 'make install-sql  write db/install.sql again after a change in db/'
	@echo 'make docs         print the pages of docs/ that repeat the database again'
	@echo 'make lock         pin the packages again (needs uv; UPGRADE=1 takes newer ones)'
	@echo 'make clean        remove .venv and everything that was generated'

venv:
	@PYTHON="$(PYTHON)" scripts/venv requirements.txt

venv-dev:
	@PYTHON="$(PYTHON)" scripts/venv requirements-dev.txt

demo: venv
	@.venv/bin/paylock demo $(if $(KEEP),--keep)

demo-stop: venv
	@.venv/bin/paylock demo --stop

test: lint check

check: venv-dev
	$(PY) -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup --ignore=tests/chaos $(TESTS)

chaos: venv-dev
	PAYLOCK_TEST_CHAOS_ROUNDS=$(or $(ROUNDS),1) PAYLOCK_TEST_CHAOS_SEED=$(or $(SEED),0) $(PY) -m pytest tests/chaos -s

isolation: venv-dev
	$(PY) -m tests.isolation

model: venv
	$(PY) -m model $(if $(QUICK),--quick)

bench: venv-dev
	$(PY) -m bench

lint: venv-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy $(wildcard notifier paylock sandbox tests bench model)
	.venv/bin/squawk $(wildcard db/migrations/*.sql)

docs: venv
	$(PY) -m paylock.documents

install-sql: venv
	$(PY) -m paylock.install_script

lock: venv-dev
	@PATH="$(CURDIR)/.venv/bin:$$PATH" scripts/lock $(if $(UPGRADE),--upgrade)

clean:
	@if [ -x .venv/bin/paylock ] && [ -d .demo ]; then .venv/bin/paylock demo --stop; fi
	rm -rf .venv .demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
