"""Benchmarks: `make bench` runs them all, prints each figure beside its target, writes bench/results/*.json.

Targets are ratios within one run, save where a time or a size itself is the promise.
May import paylock, notifier, sandbox and tests. tests/sql/test_plans.py imports its population; nothing else.
"""
