-- The network's result codes, each with one class. Source: stellar-core's XDR, named as Horizon names them.
--   payee    final for that payment: it fails with this reason, the rest of the batch goes on
--   source   the funding or channel account must be mended: nothing fails, the run waits and goes on by itself
--   same_slot  try again on the same slot with the same payments
--   look_first the slot may be used, perhaps by us: look up every hash of the slot
--   defect   ours, or unknown to us: held, a person looks. Every code that isn't listed counts as this.
CREATE TABLE payroll.result_code (
    code text PRIMARY KEY,
    level text NOT NULL CHECK (level IN ('operation', 'transaction', 'check')),
    class text NOT NULL CHECK (class IN ('success', 'payee', 'source', 'same_slot', 'look_first', 'defect')),
    reason text NOT NULL                    -- plain words for a clerk
);

INSERT INTO payroll.result_code (code, level, class, reason) VALUES
    ('op_success', 'operation', 'success', 'Nothing is wrong with this payment.'),
    ('op_no_destination', 'operation', 'payee', 'The payee''s account does not exist on the network. Ask the payee to open it, or correct the address.'),
    ('op_no_trust', 'operation', 'payee', 'The payee''s account does not accept this asset yet. Ask the payee to add a trustline for it.'),
    ('op_line_full', 'operation', 'payee', 'The payee''s account can''t hold that much of this asset. Ask the payee to raise the trustline''s limit.'),
    ('op_not_authorized', 'operation', 'payee', 'The asset''s issuer has not authorized the payee''s account. Ask the payee or the issuer.'),
    ('op_no_issuer', 'operation', 'payee', 'The asset''s issuer does not exist. Check the asset in the payroll file.'),
    ('memo_required', 'check', 'payee', 'The payee''s account demands a memo and the payroll file has none. Ask the payee for the memo.'),
    ('op_underfunded', 'operation', 'source', 'The funding account does not hold enough of the asset. Fund it; the run goes on by itself.'),
    ('op_src_no_trust', 'operation', 'source', 'The funding account has no trustline for the asset. Add it; the run goes on by itself.'),
    ('op_src_not_authorized', 'operation', 'source', 'The asset''s issuer has not authorized the funding account.'),
    ('op_no_source_account', 'operation', 'source', 'The funding account does not exist on the network.'),
    ('tx_insufficient_balance', 'transaction', 'source', 'The funding account can''t pay the network fee. Send it XLM.'),
    ('tx_bad_auth', 'transaction', 'source', 'The signatures do not meet the accounts'' thresholds. Check the keys and signers.'),
    ('tx_bad_auth_extra', 'transaction', 'source', 'There is a signature too many. Check the keys and signers.'),
    ('tx_no_source_account', 'transaction', 'source', 'The channel or funding account does not exist on the network.'),
    ('tx_insufficient_fee', 'transaction', 'same_slot', 'The fee bid was too low for the moment; it is raised within the cap.'),
    ('tx_too_late', 'transaction', 'same_slot', 'The transaction''s time ran out before a ledger took it; it is signed anew for the same slot.'),
    ('tx_internal_error', 'transaction', 'same_slot', 'The network had an error of its own.'),
    ('tx_bad_seq', 'transaction', 'look_first', 'The slot is used; its transaction is looked up.'),
    ('op_malformed', 'operation', 'defect', 'The payment is not well formed. This is a defect; a person must look.'),
    ('op_bad_auth', 'operation', 'defect', 'The payment''s signatures are wrong. A person must look at the keys.'),
    ('tx_missing_operation', 'transaction', 'defect', 'The transaction has no operation. This is a defect; a person must look.'),
    ('tx_malformed', 'transaction', 'defect', 'The transaction is not well formed. This is a defect; a person must look.'),
    ('tx_too_early', 'transaction', 'defect', 'The transaction is not valid yet. This is a defect; a person must look.'),
    ('tx_success', 'transaction', 'success', 'The transaction succeeded.');
