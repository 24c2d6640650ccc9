"""A local Stellar network: Horizon's API and Stellar RPC over one in-memory ledger.

What it is for: demos, tests and benchmarks of a payroll that must not be able to tell it from the real
network. It is as strict as stellar-core and no kinder: real envelopes and results in XDR, signatures and
thresholds, sequences, fees, reserves and sponsorship, the transaction queue's rules, and on demand every
way in which a network can leave a client without an answer (`sandbox.faults`).

What it may import: the standard library, aiohttp, PyNaCl and stellar_sdk's XDR types and keys. Never
`notifier` or `paylock`: the judge must not learn from the judged.

How it is built: a pure core without input or output (`network.Network` composes `ledger`, `queue`,
`validity`, `apply` and `history`), and a thin aiohttp server over it (`server.Sandbox`, `horizon/`,
`control`).

Its failure story: everything is in memory and dies with the process; a restart is a new network with the same
passphrase and root account. Every shuffled order and random fault comes from one seed. A defect in the
sandbox itself answers 500 and prints a traceback; it never turns into a result code.
"""
