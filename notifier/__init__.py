"""The payout pod: wake, claim, sign, commit, submit, settle.

The modules follow the money: `wakeups` → `database` → `envelope` → `network` → `settlement`; `signers`
holds the keys and `pod` composes the jobs. This package imports nothing of `paylock` or `sandbox`.

Failure story. Python keeps no business state between two calls: every decision that moves a state is made by
an SQL function, and money is guarded by the ledger's own rule that one sequence number of a channel account
is consumed at most once. A pod may therefore be killed, stopped or cut off at any line: a batch without an
envelope is released, a batch with one is taken over by another pod, which asks the ledger what happened.
"""
