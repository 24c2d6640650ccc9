"""The main job on one machine: a private PostgreSQL, a sandbox network, three pods, one of them killed.

It plays the parts that people play elsewhere: the DBA who installs the database, the SRE who runs pods and
loses one, the clerk who imports a payroll. It uses the commands and functions that they use.

`judge` decides from the ledger alone whether everybody was paid exactly once; it knows neither our tables nor
our pods, and is what the tests of the whole system use too.

May import `paylock`, and starts `notifier` and `sandbox` as processes; nothing imports it but its command and
the tests. Its failure story: all state is in one directory and all processes are its children; however it
ends, a guard process ends them and removes the directory.
"""
