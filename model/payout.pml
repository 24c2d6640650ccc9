/* The payout protocol: pods, one database, the network, the ledger. Explored whole by spin; docs/model.md explains how
 * to read it, and design rules are named there by the number they have in docs/guarantee.md.
 *
 * Every option of a `do` below is one step that takes effect at once, as one SQL function does, or one ledger. What a
 * pod knows and the database does not is lost when it crashes. Nothing here has a clock: a lease may run out, an answer be lost, a
 * pod stall at any moment, for ever or not.
 *
 * Slots are counted from the database's own view: the live batch of a channel always has slot 1, slots 0 and below
 * belong to closed batches, `used[c]` is the ledger's sequence in the same count. So a run of the model has no end: any number of
 * batches, failures and retries may follow each other, and the state space is finite all the same.
 */
#ifndef PODS
#define PODS 2
#endif
#ifndef PAYMENTS
#define PAYMENTS 2
#endif
#ifndef ENVELOPES
#define ENVELOPES 3
#endif
#ifndef FOREIGN
#define FOREIGN 1 /* transactions on our channels that are not ours */
#endif
#define CHANNELS 2
#define EVERY ((1 << PAYMENTS) - 1) /* sets of payments are bit masks */

/* -- the database: payroll.payment_batch (the live one of each channel), payment, envelope ------------------------- */
#define NO_BATCH 0
#define CLAIMED 1
#define SIGNED 2
#define QUARANTINED 3
byte batch[CHANNELS];
byte lines[CHANNELS]; /* the payments of the live batch */
byte pending = EVERY;
byte paid = 0;
byte failed = 0; /* all others are in flight */

/* -- envelopes: what the database knows of one, and where it is ---------------------------------------------------- */
#define FREE 0
#define WRITTEN 1 /* committed or at least signed, not sent */
#define SENT 2    /* in the network: the ledger may take it at any time from now on, once or several times, or never */
#define EXPIRED 3 /* its maxTime is before the ledger's close time */
#define APPLIED 4 /* in a ledger, succeeded */
#define REFUSED 5 /* in a ledger as tx_failed: slot used, nobody paid */
typedef Envelope {
    unsigned state : 3;
    bit recorded;  /* the database has it */
    bit invalid;   /* in a ledger with a validity failure: it has not used its slot, and may do so later */
    bit accounted; /* settle_batch was told so */
    bit channel;
    short slot;
    unsigned lines : 2
}
Envelope envelope[ENVELOPES];

/* -- pods: what each remembers ------------------------------------------------------------------------------------- */
#define IDLE 0
#define HOLDS 1  /* has claimed a batch and recorded nothing for it */
#define TRACKS 2 /* knows the batch's envelopes */
typedef Pod {
    unsigned does : 2;
    bit token; /* its claim token is still the batch's */
    bit channel;
    short slot;
    unsigned lines : 2
}
Pod pod[PODS];

/* -- the ledger ---------------------------------------------------------------------------------------------------- */
short used[CHANNELS];
byte credited = 0; /* payments that the ledger has applied */
byte foreign_left = FOREIGN;

/* For stories only: slots as the ledger counts them. Each statement keeps its place, so that a trail fits both ways. */
#ifdef STORY
short first[CHANNELS];
#define SLOT(c, s) (s + first[c])
#define COUNT_SLOT(c) first[c] = first[c] + 1
#else
#define SLOT(c, s) (s)
#define COUNT_SLOT(c) i = i
#endif

byte i; /* scratch, 0 between steps */
#ifdef SYMMETRY
short k;
#endif

#define LIVE(c, e) (envelope[e].state != FREE && envelope[e].channel == c && envelope[e].slot == 1 && envelope[e].recorded)
#define CONSUMED(c, e) (envelope[e].state >= APPLIED && envelope[e].channel == c && envelope[e].slot == 1)

inline forget(p) {
    pod[p].does = IDLE; pod[p].token = 0; pod[p].channel = 0; pod[p].slot = 0; pod[p].lines = 0
}

inline take_tokens(c) { /* a new claim token, or none: every pod that has the old one is fenced */
    for (i : 0 .. PODS - 1) {
        if
        :: pod[i].does != IDLE && pod[i].channel == c -> pod[i].token = 0
        :: else
        fi
    }
    i = 0
}

/* Envelopes of closed batches whose slot is used can never do anything again. */
inline sweep(c) {
    for (i : 0 .. ENVELOPES - 1) {
        if
        :: envelope[i].state != FREE && envelope[i].channel == c && envelope[i].slot <= 0 && envelope[i].slot <= used[c] ->
            envelope[i].state = FREE; envelope[i].recorded = 0; envelope[i].invalid = 0; envelope[i].accounted = 0;
            envelope[i].channel = 0; envelope[i].slot = 0; envelope[i].lines = 0
        :: else
        fi
    }
    i = 0
}

/* The channel's sequence in the database goes up by one: the slot that was 1 is 0 from here on. */
inline advance(c) {
    used[c] = used[c] - 1;
    COUNT_SLOT(c);
    for (i : 0 .. ENVELOPES - 1) {
        if
        :: envelope[i].state != FREE && envelope[i].channel == c -> envelope[i].slot = envelope[i].slot - 1
        :: else
        fi
    }
    for (i : 0 .. PODS - 1) {
        if
        :: pod[i].does != IDLE && pod[i].channel == c ->
            pod[i].slot = pod[i].slot - 1;
            if
            :: pod[i].slot < 0 && pod[i].slot <= used[c] && used[c] >= 0 -> pod[i].slot = 0
            :: else
            fi
        :: else
        fi
    }
    i = 0;
    sweep(c)
}

inline close_batch(c) {
    batch[c] = NO_BATCH; lines[c] = 0;
    take_tokens(c);
    advance(c)
}



/* Two states that differ only in the numbering of pods, envelopes, channels or payments behave alike. With SYMMETRY each step ends by
 * taking one representative of them, so that the checker visits it once. Stories are told without it. */
#ifdef SYMMETRY
#define POD_KEY(n) (((((pod[n].does * 2 + pod[n].token) * 2 + pod[n].channel) * 8 + pod[n].slot + 4) * 4) + pod[n].lines)
#define ENVELOPE_KEY(n) (((((((envelope[n].state * 2 + envelope[n].recorded) * 2 + envelope[n].invalid) * 2 + envelope[n].accounted) * 2 + envelope[n].channel) * 8 + envelope[n].slot + 4) * 4) + envelope[n].lines)
#define SIZE(set) ((set & 1) + (set >> 1))
#define CHANNEL_KEY(c) (((batch[c] * 4) + SIZE(lines[c])) * 8 + used[c] + 4)
#define PAYMENT_KEY(n) (((((((pending >> n) & 1) * 2 + ((paid >> n) & 1)) * 2 + ((failed >> n) & 1)) * 2 + ((credited >> n) & 1)) * 2 + ((lines[0] >> n) & 1)) * 2 + ((lines[1] >> n) & 1))
#define EXCHANGE(set) set = ((set & 1) << 1) | (set >> 1)
#define SWAP(x, y) k = x; x = y; y = k
inline swap_pods(n, m) {
    if
    :: POD_KEY(n) < POD_KEY(m) ->
        SWAP(pod[n].does, pod[m].does); SWAP(pod[n].token, pod[m].token); SWAP(pod[n].channel, pod[m].channel);
        SWAP(pod[n].slot, pod[m].slot); SWAP(pod[n].lines, pod[m].lines)
    :: else
    fi
}
inline swap_envelopes(n, m) {
    if
    :: ENVELOPE_KEY(n) < ENVELOPE_KEY(m) ->
        SWAP(envelope[n].state, envelope[m].state); SWAP(envelope[n].recorded, envelope[m].recorded);
        SWAP(envelope[n].invalid, envelope[m].invalid); SWAP(envelope[n].accounted, envelope[m].accounted);
        SWAP(envelope[n].channel, envelope[m].channel); SWAP(envelope[n].slot, envelope[m].slot);
        SWAP(envelope[n].lines, envelope[m].lines)
    :: else
    fi
}
inline canonical() {
    if
    :: CHANNEL_KEY(0) < CHANNEL_KEY(1) ->
        SWAP(batch[0], batch[1]); SWAP(lines[0], lines[1]); SWAP(used[0], used[1]);
        for (i : 0 .. PODS - 1) { if :: pod[i].does != IDLE -> pod[i].channel = 1 - pod[i].channel :: else fi }
        for (i : 0 .. ENVELOPES - 1) { if :: envelope[i].state != FREE -> envelope[i].channel = 1 - envelope[i].channel :: else fi }
    :: else
    fi;
#if PAYMENTS == 2
    if
    :: PAYMENT_KEY(0) < PAYMENT_KEY(1) ->
        EXCHANGE(pending); EXCHANGE(paid); EXCHANGE(failed); EXCHANGE(credited); EXCHANGE(lines[0]); EXCHANGE(lines[1]);
        for (i : 0 .. PODS - 1) { EXCHANGE(pod[i].lines) }
        for (i : 0 .. ENVELOPES - 1) { EXCHANGE(envelope[i].lines) }
    :: else
    fi;
#endif
    swap_pods(0, 1);
#if PODS == 3
    swap_pods(1, 2); swap_pods(0, 1);
#endif
#if ENVELOPES > 1
    swap_envelopes(0, 1);
#endif
#if ENVELOPES > 2
    swap_envelopes(1, 2); swap_envelopes(0, 1);
#endif
#if ENVELOPES > 3
    swap_envelopes(2, 3); swap_envelopes(1, 2); swap_envelopes(0, 1);
#endif
    i = 0; k = 0
}
#define DONE canonical()
#else
#define DONE skip
#endif

/* -- what a pod does ----------------------------------------------------------------------------------------------- */
#define ME pod[_pid]

/* claim_payments: any set of pending payments (which ones a run has is up to the payroll) and an idle channel's next slot. */
#ifdef NO_ONE_LIVE_BATCH
#define CLAIMABLE (EVERY & ~(paid | failed))
#else
#define CLAIMABLE pending
#endif
#define CLAIM(c, set) \
    d_step { ME.does == IDLE && batch[c] == NO_BATCH && (set & CLAIMABLE) == set -> \
        printf("STEP pod %d: claim_payments: <%d>, slot <%d.%d>\n", _pid, set, c, SLOT(c, 1)); \
        batch[c] = CLAIMED; lines[c] = set; pending = pending & ~set; \
        ME.does = HOLDS; ME.token = 1; ME.channel = c; ME.slot = 1; ME.lines = set; DONE }

/* release_batch: claimed, no envelope yet. The zombie's token is void from here on. */
#define RELEASE(c) \
    d_step { ME.does == HOLDS && ME.token && ME.channel == c && batch[c] == CLAIMED MAY_RELEASE -> \
        printf("STEP pod %d: release_batch: slot <%d.%d> is free, back to pending: <%d>\n", _pid, c, SLOT(c, 1), lines[c]); \
        SPEND_RELEASE; GIVE_BACK(c); DONE }
#define GIVE_BACK(c) \
        pending = pending | lines[c]; batch[c] = NO_BATCH; lines[c] = 0; take_tokens(c)

/* claim_abandoned_batches: a claimed batch is given back, of a signed one the pod gets all envelopes and a new token. */
#ifdef RESCUE_GIVES_SIGNED_BACK
#define GIVEN_BACK(c) (batch[c] == CLAIMED || batch[c] == SIGNED)
#else
#define GIVEN_BACK(c) (batch[c] == CLAIMED)
#endif
#define RESCUE_CLAIMED(c) \
    d_step { ME.does == IDLE && GIVEN_BACK(c) MAY_RESCUE(c) -> \
        printf("STEP pod %d: claim_abandoned_batches: slot <%d.%d> is free, back to pending: <%d>\n", _pid, c, SLOT(c, 1), lines[c]); \
        SPEND_RESCUE(c); GIVE_BACK(c); DONE }
#define RESCUE_SIGNED(c) \
    d_step { ME.does == IDLE && batch[c] == SIGNED MAY_RESCUE(c) -> \
        printf("STEP pod %d: claim_abandoned_batches: takes over <%d> on slot <%d.%d>, with its envelopes\n", _pid, lines[c], c, SLOT(c, 1)); \
        SPEND_RESCUE(c); take_tokens(c); \
        ME.does = TRACKS; ME.token = 1; ME.channel = c; ME.slot = 1; ME.lines = lines[c]; DONE }

/* record_envelope: the first envelope of the batch, or another one for the same slot (new time bounds, a higher bid). */
#ifdef NO_TOKEN_FENCE
#define MAY_RECORD true
#else
#define MAY_RECORD (ME.token && (batch[ME.channel] == CLAIMED || batch[ME.channel] == SIGNED))
#endif
#define FIRST_FREE(e) (envelope[e].state == FREE && (e == 0 || envelope[0].state != FREE) && (e <= 1 || envelope[1].state != FREE) \
    && (e <= 2 || envelope[2].state != FREE))
#define WRITE(e) \
        envelope[e].channel = ME.channel; envelope[e].slot = ME.slot; envelope[e].lines = ME.lines
#define COMMIT(e) \
        envelope[e].recorded = 1; ME.does = TRACKS; \
        if \
        :: ME.token && batch[ME.channel] == CLAIMED -> batch[ME.channel] = SIGNED \
        :: else \
        fi
#ifdef SEND_THEN_COMMIT
#define RECORD(e) \
    d_step { ME.does != IDLE && FIRST_FREE(e) -> \
        printf("STEP pod %d: signs envelope %d for <%d>, slot <%d.%d>, and sends it at once\n", _pid, e, ME.lines, ME.channel, SLOT(ME.channel, ME.slot)); \
        envelope[e].state = SENT; WRITE(e); DONE } \
    :: d_step { ME.does != IDLE && envelope[e].state != FREE && !envelope[e].recorded && envelope[e].channel == ME.channel \
            && envelope[e].slot == ME.slot && MAY_RECORD -> \
        printf("STEP pod %d: record_envelope: commits envelope %d\n", _pid, e); \
        COMMIT(e); DONE }
#else
#define RECORD(e) \
    d_step { ME.does != IDLE && FIRST_FREE(e) && MAY_RECORD MAY_SIGN(e) -> \
        printf("STEP pod %d: record_envelope: commits envelope %d for <%d>, slot <%d.%d>\n", _pid, e, ME.lines, ME.channel, SLOT(ME.channel, ME.slot)); \
        envelope[e].state = WRITTEN; WRITE(e); COMMIT(e); DONE }
#endif

/* Sends one of the batch's envelopes: the first time, or again after a crash or a takeover. */
#define SEND(e) \
    d_step { ME.does == TRACKS && envelope[e].state == WRITTEN && envelope[e].channel == ME.channel && envelope[e].slot == ME.slot -> \
        printf("STEP pod %d: sends envelope %d\n", _pid, e); \
        envelope[e].state = SENT; DONE }

/* settle_batch. The pod asks for a hash; a node that lags, or has not got it, answers "not found", and nothing happens. */
#define ASKS(c, e) (ME.does == TRACKS && ME.channel == c && ME.slot == 1 && LIVE(c, e) && (batch[c] == SIGNED || batch[c] == QUARANTINED))
#define SETTLE_PAID(c, e) \
    d_step { ASKS(c, e) && envelope[e].state == APPLIED -> \
        printf("STEP pod %d: finds envelope %d in a ledger, succeeded. settle_batch: paid: <%d>\n", _pid, e, lines[c]); \
        SETTLED((lines[c] & credited) == lines[c]); \
        paid = paid | lines[c]; forget(_pid); close_batch(c); DONE }
/* tx_failed: each payment by its own operation's code; `final` fails, the others are pending again. */
#define SETTLE_FAILED(c, e, final) \
    d_step { ASKS(c, e) && envelope[e].state == REFUSED && (lines[c] & final) == final -> \
        printf("STEP pod %d: finds envelope %d in a ledger, failed. settle_batch: failed: <%d>, back to pending: <%d>\n", \
            _pid, e, final, lines[c] & ~final); \
        SETTLED(CONSUMED_BY_NONE_OR_REFUSED(c)); \
        failed = failed | final; pending = pending | (lines[c] & ~final); forget(_pid); close_batch(c); DONE }
/* In a ledger, its own slot unused by it. The node that is asked for the channel's sequence may lag, too. */
#define NOTE_UNUSED(c, e) \
    d_step { ASKS(c, e) && envelope[e].invalid && !envelope[e].accounted -> \
        printf("STEP pod %d: finds envelope %d in a ledger, invalid. settle_batch: the batch stays open\n", _pid, e); \
        envelope[e].accounted = 1; DONE }
#ifdef UNUSED_COUNTS_AS_USED
#define NOBODY_WAS_PAID(c, e) true
#elif defined(SISTERS_NOT_ACCOUNTED_FOR)
#define NOBODY_WAS_PAID(c, e) (used[c] >= 1)
#elif defined(SLOT_USER_NOT_READ)
#define NOBODY_WAS_PAID(c, e) (used[c] >= 1 && !UNACCOUNTED(c, e, 0) && !UNACCOUNTED(c, e, 1) && !UNACCOUNTED(c, e, 2))
#else
#define NOBODY_WAS_PAID(c, e) (used[c] >= 1 && !OURS(c, 0) && !OURS(c, 1) && !OURS(c, 2))
#endif
#define UNACCOUNTED(c, e, f) (f < ENVELOPES && f != e && LIVE(c, f) && !envelope[f].accounted)
#define SETTLE_UNUSED(c, e) \
    d_step { ASKS(c, e) && envelope[e].invalid && NOBODY_WAS_PAID(c, e) -> \
        printf("STEP pod %d: finds envelope %d in a ledger, invalid, and reads the channel's sequence. settle_batch: back to pending: <%d>\n", \
            _pid, e, lines[c]); \
        SETTLED(CONSUMED_BY_NONE_OR_REFUSED(c)); \
        pending = pending | lines[c]; forget(_pid); close_batch(c); DONE }
/* The slot is used and the transaction that did it is not ours. */
#define QUARANTINE(c) \
    d_step { ME.does == TRACKS && ME.channel == c && ME.slot == 1 && batch[c] == SIGNED && used[c] >= 1 && !OURS(c, 0) && !OURS(c, 1) && !OURS(c, 2) -> \
        printf("STEP pod %d: finds a foreign transaction on the slot. quarantine_batch: channel %d stops, <%d> waits for a person\n", \
            _pid, c, lines[c]); \
        batch[c] = QUARANTINED; take_tokens(c); forget(_pid); DONE }
#define CRASH \
    d_step { ME.does != IDLE MAY_CRASH -> \
        printf("STEP pod %d: crashes or drops the batch: forgets all it knew\n", _pid); \
        SPEND_CRASH; forget(_pid); DONE }
#ifdef NOT_FOUND_IS_FAILURE
#define TIMEOUT(c, e) \
    :: d_step { ME.does == TRACKS && ME.channel == c && ME.slot == 1 && batch[c] == SIGNED && LIVE(c, e) && envelope[e].state == SENT -> \
        printf("STEP pod %d: hears \"not found\" for envelope %d and takes it for a failure: back to pending: <%d>\n", _pid, e, lines[c]); \
        pending = pending | lines[c]; forget(_pid); close_batch(c); DONE }
#else
#define TIMEOUT(c, e)
#endif

#ifdef RESIGN_ON_A_NEW_SLOT
#define FOLLOW(c) \
    :: d_step { ME.does == TRACKS && ME.channel == c && ME.token && batch[c] == SIGNED && used[c] == ME.slot -> \
        advance(c); ME.slot = 1; \
        printf("STEP pod %d: loads the channel account and follows its sequence: <%d> has slot <%d.%d> from now on\n", \
            _pid, ME.lines, c, SLOT(c, 1)); DONE }
#else
#define FOLLOW(c)
#endif

#define OURS(c, e) (e < ENVELOPES && CONSUMED(c, e))
#define PAID_BY(c, e) (e < ENVELOPES && CONSUMED(c, e) && envelope[e].state == APPLIED)
#define CONSUMED_BY_NONE_OR_REFUSED(c) (used[c] >= 1 && !PAID_BY(c, 0) && !PAID_BY(c, 1) && !PAID_BY(c, 2))
/* "No batch is closed without evidence": left out when the question is only whether money can leave twice. */
#ifdef ONLY_THE_MONEY
#define SETTLED(truth) skip
#else
#define SETTLED(truth) assert(truth)
#endif

/* With LIVENESS: does every payment end? Only if trouble does: a pod that crashes for ever, or a ledger that never takes anything, pays
 * nobody. So each trouble may happen a limited number of times, at the worst moment, and then the network delivers and a pod works. */
#ifdef LIVENESS
#ifndef TROUBLES
#define TROUBLES 1
#endif
byte crashes_left = TROUBLES;
byte releases_left = TROUBLES;
byte takeovers_left = TROUBLES; /* of a batch whose pod lives, but stalled past its lease */
byte lost_left = TROUBLES;      /* envelopes that expire, or get into a ledger as invalid */
byte refused_left = TROUBLES;
#define SPEND(what) what = what - 1
#define MAY_RELEASE && releases_left > 0
#define SPEND_RELEASE SPEND(releases_left)
#define HELD_BY(n, c) (n < PODS && pod[n].does != IDLE && pod[n].channel == c && pod[n].token)
#define ABANDONED(c) (!HELD_BY(0, c) && !HELD_BY(1, c))
#ifdef NOBODY_RESCUES
#define MAY_RESCUE(c) && false
#else
#define MAY_RESCUE(c) && (ABANDONED(c) || takeovers_left > 0)
#endif
#define SPEND_RESCUE(c) if :: ABANDONED(c) :: else -> SPEND(takeovers_left) fi
#define STILL_GOOD(f) (f < ENVELOPES && LIVE(ME.channel, f) && envelope[f].state != EXPIRED && !(envelope[f].invalid && envelope[f].state == SENT))
#define MAY_SIGN(e) && !STILL_GOOD(0) && !STILL_GOOD(1) && !STILL_GOOD(2)
#define MAY_CRASH && (!ME.token || crashes_left > 0)
#define SPEND_CRASH if :: ME.token -> SPEND(crashes_left) :: else fi
#define MAY_LOSE && lost_left > 0
#define SPEND_LOST SPEND(lost_left)
#define MAY_REFUSE && refused_left > 0
#define SPEND_REFUSED SPEND(refused_left)
#define WAITING(c) ((batch[c] == QUARANTINED) * lines[c])
#define ENDED ((paid | failed | WAITING(0) | WAITING(1)) == EVERY)
ltl every_payment_ends { <> (ENDED) }
#else
#define MAY_RELEASE
#define SPEND_RELEASE skip
#define MAY_RESCUE(c)
#define SPEND_RESCUE(c) skip
#define MAY_SIGN(e)
#define MAY_CRASH
#define SPEND_CRASH skip
#define MAY_LOSE
#define SPEND_LOST skip
#define MAY_REFUSE
#define SPEND_REFUSED skip
#endif

#define ABOUT_CHANNEL(c) \
    :: CLAIM(c, 1) :: CLAIM(c, 2) :: CLAIM(c, 3) \
    :: RELEASE(c) \
    :: RESCUE_CLAIMED(c) :: RESCUE_SIGNED(c) \
    :: QUARANTINE(c) \
    FOLLOW(c)
#define ABOUT_ENVELOPE(e) \
    :: RECORD(e) \
    :: SEND(e) \
    ABOUT_BOTH(0, e) ABOUT_BOTH(1, e)
#define ABOUT_BOTH(c, e) \
    :: SETTLE_PAID(c, e) \
    :: SETTLE_FAILED(c, e, 0) :: SETTLE_FAILED(c, e, 1) :: SETTLE_FAILED(c, e, 2) :: SETTLE_FAILED(c, e, 3) \
    :: NOTE_UNUSED(c, e) :: SETTLE_UNUSED(c, e) \
    TIMEOUT(c, e)

active [PODS] proctype Notifier()
{
end:
    do
    ABOUT_CHANNEL(0)
    ABOUT_CHANNEL(1)
    ABOUT_ENVELOPE(0)
#if ENVELOPES > 1
    ABOUT_ENVELOPE(1)
#endif
#if ENVELOPES > 2
    ABOUT_ENVELOPE(2)
#endif
    :: CRASH
#ifdef LIVENESS
    :: d_step { _pid == 1 && crashes_left > 0 ->
        printf("STEP pod %d: dies and never comes back\n", _pid);
        SPEND(crashes_left); forget(_pid) } -> break
#endif
    od
}

/* -- the network and the ledger: what may become of one envelope --------------------------------------------------- */
#define IT envelope[_pid - PODS]
#define NUMBER (_pid - PODS)
#ifdef LEDGER_TAKES_NOTHING_AGAIN
#define FLYING (IT.state == SENT && !IT.invalid)
#else
#define FLYING (IT.state == SENT)
#endif
#define NEXT (IT.slot == used[IT.channel] + 1)
active [ENVELOPES] proctype Network()
{
    byte c;
end:
    do
    :: d_step { FLYING && NEXT ->
        printf("STEP ledger: applies envelope %d: pays <%d>, slot <%d.%d> is used\n", NUMBER, IT.lines, IT.channel, SLOT(IT.channel, IT.slot));
        assert((IT.lines & credited) == 0); /* nobody is paid twice */
        credited = credited | IT.lines;
        IT.state = APPLIED; c = IT.channel; used[c] = used[c] + 1; sweep(c); c = 0; DONE }
    :: d_step { FLYING && NEXT MAY_REFUSE ->
        printf("STEP ledger: applies envelope %d and it fails: nobody is paid, slot <%d.%d> is used\n", NUMBER, IT.channel, SLOT(IT.channel, IT.slot));
        SPEND_REFUSED; IT.state = REFUSED; c = IT.channel; used[c] = used[c] + 1; sweep(c); c = 0; DONE }
    :: d_step { IT.state == SENT && !IT.invalid MAY_LOSE ->
        printf("STEP ledger: takes envelope %d as invalid: nobody is paid, slot <%d.%d> is not used by it\n", NUMBER, IT.channel, SLOT(IT.channel, IT.slot));
        SPEND_LOST; IT.invalid = 1; DONE }
    :: d_step { (IT.state == WRITTEN || IT.state == SENT) && IT.recorded && !IT.invalid MAY_LOSE ->
        printf("STEP ledger: closes after envelope %d's time bound: it can't be applied any more\n", NUMBER);
        SPEND_LOST; IT.state = EXPIRED; DONE }
    od
}

/* -- somebody else who has a channel's key ------------------------------------------------------------------------- */
active [CHANNELS] proctype Foreigner()
{
end:
    do
    :: d_step { foreign_left > 0 && used[_pid - PODS - ENVELOPES] <= 1 ->
        printf("STEP foreigner: uses slot <%d.%d>\n", _pid - PODS - ENVELOPES, SLOT(_pid - PODS - ENVELOPES, used[_pid - PODS - ENVELOPES] + 1));
        foreign_left = foreign_left - 1;
        used[_pid - PODS - ENVELOPES] = used[_pid - PODS - ENVELOPES] + 1; sweep(_pid - PODS - ENVELOPES); DONE }
    od
}
