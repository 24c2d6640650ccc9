"""The operator's command line: install the database, import payrolls, look after runs, channels and pods.

May import `notifier` and `sandbox` only inside the two commands that start them. Nothing imports this package
but its own command line and the tests.
"""

__version__ = "0.1.0"
