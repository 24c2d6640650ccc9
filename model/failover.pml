/* A database beside an older copy of itself: a failover that lost commits, a restored backup, a split brain.
 *
 * Database 0 is the first one. At any moment database 1 comes into being as a copy of it, and from then on both go on, in any order
 * and at any speed, or not at all: a failover that lost commits is the case in which database 0 does nothing more after some
 * commits that the copy has not got; a split brain that in which it does. Any pod may call either at any moment, with whatever
 * claim token it remembers.
 *
 * A copy refuses claim_payments and record_envelope until `reconcile` has fenced, read and adopted. The old database can't know
 * that it is old: it goes on, unless somebody reconciles it, too. Slots are the ledger's own numbers here.
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
#ifndef RECONCILES
#define RECONCILES 2 /* how often anybody starts a reconcile, on either database */
#endif
#define CHANNELS 2
#define EVERY ((1 << PAYMENTS) - 1)

/* -- two databases: [database * 2 + channel] or [database] --------------------------------------------------------- */
#define NO_BATCH 0
#define CLAIMED 1
#define SIGNED 2
#define QUARANTINED 3
#define AT(d, c) ((d) * 2 + (c))
byte batch[4];
byte lines[4];
byte sequence[4]; /* channel_account.sequence: the live batch's slot is one more */
byte pending[2] = EVERY;
byte paid[2];
bit ready[2] = 1;     /* the identity that it remembers is the one it has */
bit copied;       /* database 1 exists */

/* -- reconcile ----------------------------------------------------------------------------------------------------- */
#define NOT_RUNNING 0
#define FENCING 1
#define HAS_READ 2
byte reconcile[2];
bit fenced[4];
byte cut[4];      /* the sequence that the fence gave the channel */
byte reconciles_left = RECONCILES;

/* -- envelopes ----------------------------------------------------------------------------------------------------- */
#define FREE 0
#define WRITTEN 1
#define SENT 2
#define EXPIRED 3
#define APPLIED 4
#define REFUSED 5
typedef Envelope {
    unsigned state : 3;
    unsigned known : 2; /* the databases that have it, as bits */
    bit channel;
    unsigned slot : 4;
    unsigned lines : 2
}
Envelope envelope[ENVELOPES];

/* -- pods ---------------------------------------------------------------------------------------------------------- */
#define IDLE 0
#define HOLDS 1
#define TRACKS 2
typedef Pod {
    unsigned does : 2;
    unsigned token : 2; /* the databases for which its claim token is the batch's, as bits */
    bit channel;
    unsigned slot : 4;
    unsigned lines : 2
}
Pod pod[PODS];

/* -- the ledger ---------------------------------------------------------------------------------------------------- */
byte used[CHANNELS];
byte credited;

byte i; /* scratch, 0 between steps */
byte at;

#define BIT(d) (1 << (d))
#define HAS(mask, d) ((mask >> (d)) & 1)
#define ME pod[_pid]
#define MINE(d) AT(d, ME.channel)

#ifndef SYMMETRY
#define DONE skip
#else
/* As in payout.pml: one representative of all states that differ only in numbering. */
#define DONE canonical()
#define POD_KEY(n) (((((pod[n].does * 4 + pod[n].token) * 2 + pod[n].channel) * 16 + pod[n].slot) * 4) + pod[n].lines)
#define ENVELOPE_KEY(n) (((((envelope[n].state * 4 + envelope[n].known) * 2 + envelope[n].channel) * 16 + envelope[n].slot) * 4) + envelope[n].lines)
#define SIZE(set) ((set & 1) + (set >> 1))
#define HALF(d, c) (((((batch[AT(d, c)] * 4 + SIZE(lines[AT(d, c)])) * 8 + sequence[AT(d, c)]) * 2 + fenced[AT(d, c)]) * 8) + cut[AT(d, c)])
#define CHANNEL_KEY(c) (((used[c] * 2048) + HALF(0, c)) * 2048 + HALF(1, c))
#define PART(set, n) ((set >> n) & 1)
#define PAYMENT_KEY(n) ((((((((PART(credited, n) * 2 + PART(pending[0], n)) * 2 + PART(pending[1], n)) * 2 + PART(paid[0], n)) * 2 + PART(paid[1], n)) * 2 \
    + PART(lines[0], n)) * 2 + PART(lines[1], n)) * 2 + PART(lines[2], n)) * 2 + PART(lines[3], n))
#define EXCHANGE(set) set = ((set & 1) << 1) | (set >> 1)
#define SWAP(x, y) i = x; x = y; y = i
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
        SWAP(envelope[n].state, envelope[m].state); SWAP(envelope[n].known, envelope[m].known);
        SWAP(envelope[n].channel, envelope[m].channel); SWAP(envelope[n].slot, envelope[m].slot);
        SWAP(envelope[n].lines, envelope[m].lines)
    :: else
    fi
}
#define SWAP_CHANNELS(table) SWAP(table[0], table[1]); SWAP(table[2], table[3])
inline canonical() {
    if
    :: CHANNEL_KEY(0) < CHANNEL_KEY(1) ->
        SWAP_CHANNELS(batch); SWAP_CHANNELS(lines); SWAP_CHANNELS(sequence); SWAP_CHANNELS(fenced); SWAP_CHANNELS(cut);
        SWAP(used[0], used[1]);
        for (i : 0 .. PODS - 1) { if :: pod[i].does != IDLE -> pod[i].channel = 1 - pod[i].channel :: else fi }
        for (i : 0 .. ENVELOPES - 1) { if :: envelope[i].state != FREE -> envelope[i].channel = 1 - envelope[i].channel :: else fi }
    :: else
    fi;
#if PAYMENTS == 2
    if
    :: PAYMENT_KEY(0) < PAYMENT_KEY(1) ->
        EXCHANGE(pending[0]); EXCHANGE(pending[1]); EXCHANGE(paid[0]); EXCHANGE(paid[1]); EXCHANGE(credited);
        EXCHANGE(lines[0]); EXCHANGE(lines[1]); EXCHANGE(lines[2]); EXCHANGE(lines[3]);
        for (i : 0 .. PODS - 1) { EXCHANGE(pod[i].lines) }
        for (i : 0 .. ENVELOPES - 1) { EXCHANGE(envelope[i].lines) }
    :: else
    fi;
#endif
    swap_pods(0, 1);
#if ENVELOPES > 1
    swap_envelopes(0, 1);
#endif
#if ENVELOPES > 2
    swap_envelopes(1, 2); swap_envelopes(0, 1);
#endif
    i = 0
}
#endif

inline forget(p) {
    pod[p].does = IDLE; pod[p].token = 0; pod[p].channel = 0; pod[p].slot = 0; pod[p].lines = 0
}
inline take_tokens(d, c) {
    for (i : 0 .. PODS - 1) {
        if
        :: pod[i].does != IDLE && pod[i].channel == c -> pod[i].token = pod[i].token & (3 - BIT(d))
        :: else
        fi
    }
    i = 0
}

#ifdef NO_IDENTITY_CHECK
#define PAYS(d) (d == 0 || copied)
#else
#define PAYS(d) (ready[d] && (d == 0 || copied))
#endif

/* -- what a pod does, with database d ------------------------------------------------------------------------------ */
#define CLAIM(d, c, set) \
    d_step { ME.does == IDLE && PAYS(d) && batch[AT(d, c)] == NO_BATCH && (set & pending[d]) == set -> \
        printf("STEP pod %d: database %d: claim_payments: <%d>, slot <%d.%d>\n", _pid, d, set, c, sequence[AT(d, c)] + 1); \
        batch[AT(d, c)] = CLAIMED; lines[AT(d, c)] = set; pending[d] = pending[d] & ~set; \
        ME.does = HOLDS; ME.token = BIT(d); ME.channel = c; ME.slot = sequence[AT(d, c)] + 1; ME.lines = set; DONE }
/* release_batch, or claim_abandoned_batches for a batch without an envelope. */
#define GIVE_BACK(d, c) \
    d_step { ME.does == IDLE && batch[AT(d, c)] == CLAIMED -> \
        printf("STEP pod %d: database %d: claim_abandoned_batches: slot <%d.%d> is free, back to pending: <%d>\n", \
            _pid, d, c, sequence[AT(d, c)] + 1, lines[AT(d, c)]); \
        pending[d] = pending[d] | lines[AT(d, c)]; batch[AT(d, c)] = NO_BATCH; lines[AT(d, c)] = 0; take_tokens(d, c); DONE }
#define TAKE_OVER(d, c) \
    d_step { ME.does == IDLE && batch[AT(d, c)] == SIGNED -> \
        printf("STEP pod %d: database %d: claim_abandoned_batches: takes over <%d> on slot <%d.%d>, with its envelopes\n", \
            _pid, d, lines[AT(d, c)], c, sequence[AT(d, c)] + 1); \
        take_tokens(d, c); \
        ME.does = TRACKS; ME.token = BIT(d); ME.channel = c; ME.slot = sequence[AT(d, c)] + 1; ME.lines = lines[AT(d, c)]; DONE }
#define FIRST_FREE(e) (envelope[e].state == FREE && (e == 0 || envelope[0].state != FREE) && (e <= 1 || envelope[1].state != FREE) \
    && (e <= 2 || envelope[2].state != FREE))
#define RECORD(d, e) \
    d_step { ME.does != IDLE && FIRST_FREE(e) && PAYS(d) && HAS(ME.token, d) && (batch[MINE(d)] == CLAIMED || batch[MINE(d)] == SIGNED) -> \
        printf("STEP pod %d: database %d: record_envelope: commits envelope %d for <%d>, slot <%d.%d>\n", \
            _pid, d, e, ME.lines, ME.channel, ME.slot); \
        envelope[e].state = WRITTEN; envelope[e].known = BIT(d); envelope[e].channel = ME.channel; envelope[e].slot = ME.slot; \
        envelope[e].lines = ME.lines; ME.does = TRACKS; batch[MINE(d)] = SIGNED; DONE }
#define SEND(e) \
    d_step { ME.does == TRACKS && envelope[e].state == WRITTEN && envelope[e].channel == ME.channel && envelope[e].slot == ME.slot -> \
        printf("STEP pod %d: sends envelope %d\n", _pid, e); \
        envelope[e].state = SENT; DONE }
/* settle_batch stays allowed on a copy. */
#define ASKS(d, e) (ME.does == TRACKS && envelope[e].channel == ME.channel && envelope[e].slot == ME.slot && HAS(envelope[e].known, d) \
    && (batch[MINE(d)] == SIGNED || batch[MINE(d)] == QUARANTINED) && sequence[MINE(d)] + 1 == ME.slot)
#define SETTLE_PAID(d, e) \
    d_step { ASKS(d, e) && envelope[e].state == APPLIED -> \
        printf("STEP pod %d: finds envelope %d in a ledger, succeeded. database %d: settle_batch: paid: <%d>\n", \
            _pid, e, d, lines[MINE(d)]); \
        assert((lines[MINE(d)] & credited) == lines[MINE(d)]); \
        paid[d] = paid[d] | lines[MINE(d)]; CLOSE(d) }
#define SETTLE_FAILED(d, e) \
    d_step { ASKS(d, e) && envelope[e].state == REFUSED -> \
        printf("STEP pod %d: finds envelope %d in a ledger, failed. database %d: settle_batch: back to pending: <%d>\n", \
            _pid, e, d, lines[MINE(d)]); \
        pending[d] = pending[d] | lines[MINE(d)]; CLOSE(d) }
#define CLOSE(d) \
        batch[MINE(d)] = NO_BATCH; lines[MINE(d)] = 0; sequence[MINE(d)] = ME.slot; at = ME.channel; take_tokens(d, at); at = 0; \
        if :: ME.token == 0 -> forget(_pid) :: else fi; DONE
/* The slot is used, and by none of the envelopes that this database knows. */
#define QUARANTINE(d) \
    d_step { ME.does == TRACKS && batch[MINE(d)] == SIGNED && sequence[MINE(d)] + 1 == ME.slot && used[ME.channel] >= ME.slot \
            && !OURS(d, 0) && !OURS(d, 1) && !OURS(d, 2) -> \
        printf("STEP pod %d: finds a foreign transaction on the slot. database %d: quarantine_batch: channel %d stops, <%d> waits\n", \
            _pid, d, ME.channel, lines[MINE(d)]); \
        batch[MINE(d)] = QUARANTINED; at = ME.channel; take_tokens(d, at); at = 0; \
        if :: ME.token == 0 -> forget(_pid) :: else fi; DONE }
#define OURS(d, e) (e < ENVELOPES && envelope[e].state >= APPLIED && envelope[e].channel == ME.channel && envelope[e].slot == ME.slot \
    && HAS(envelope[e].known, d))
#define CRASH \
    d_step { ME.does != IDLE -> \
        printf("STEP pod %d: crashes or drops the batch: forgets all it knew\n", _pid); \
        forget(_pid); DONE }

#define WITH(d) \
    :: CLAIM(d, 0, 1) :: CLAIM(d, 0, 2) :: CLAIM(d, 0, 3) :: CLAIM(d, 1, 1) :: CLAIM(d, 1, 2) :: CLAIM(d, 1, 3) \
    :: GIVE_BACK(d, 0) :: GIVE_BACK(d, 1) :: TAKE_OVER(d, 0) :: TAKE_OVER(d, 1) \
    :: QUARANTINE(d) \
    :: RECORD(d, 0) :: SETTLE_PAID(d, 0) :: SETTLE_FAILED(d, 0) \
    WITH_SECOND(d) WITH_THIRD(d)
#if ENVELOPES > 1
#define WITH_SECOND(d) :: RECORD(d, 1) :: SETTLE_PAID(d, 1) :: SETTLE_FAILED(d, 1)
#else
#define WITH_SECOND(d)
#endif
#if ENVELOPES > 2
#define WITH_THIRD(d) :: RECORD(d, 2) :: SETTLE_PAID(d, 2) :: SETTLE_FAILED(d, 2)
#else
#define WITH_THIRD(d)
#endif

active [PODS] proctype Notifier()
{
end:
    do
    WITH(0)
    WITH(1)
    :: SEND(0)
#if ENVELOPES > 1
    :: SEND(1)
#endif
#if ENVELOPES > 2
    :: SEND(2)
#endif
    :: CRASH
    od
}

#define IT envelope[_pid - PODS]
#define NUMBER (_pid - PODS)
active [ENVELOPES] proctype Network()
{
end:
    do
    :: d_step { IT.state == SENT && IT.slot == used[IT.channel] + 1 ->
        printf("STEP ledger: applies envelope %d: pays <%d>, slot <%d.%d> is used\n", NUMBER, IT.lines, IT.channel, IT.slot);
        assert((IT.lines & credited) == 0); /* nobody is paid twice */
        credited = credited | IT.lines; IT.state = APPLIED; used[IT.channel] = IT.slot; DONE }
    :: d_step { IT.state == SENT && IT.slot == used[IT.channel] + 1 ->
        printf("STEP ledger: applies envelope %d and it fails: nobody is paid, slot <%d.%d> is used\n", NUMBER, IT.channel, IT.slot);
        IT.state = REFUSED; used[IT.channel] = IT.slot; DONE }
    od
}

/* -- paylock reconcile, on database d ------------------------------------------------------------------------------ */
#define RECONCILE(d) \
    :: d_step { copied && reconciles_left > 0 -> /* again after an interruption, too: it begins from the start */ \
        printf("STEP operator: starts reconcile on database %d: it refuses to pay from here on\n", d); \
        reconciles_left = reconciles_left - 1; ready[d] = 0; reconcile[d] = FENCING; \
        fenced[AT(d, 0)] = 0; fenced[AT(d, 1)] = 0; cut[AT(d, 0)] = 0; cut[AT(d, 1)] = 0; DONE } \
    :: FENCE(d, 0) :: FENCE(d, 1) \
    :: READ(d) \
    :: ADOPT(d)
/* Two that reconcile at once may each win some of the channels. Whoever reads first checks that each channel still stands at its own
 * cut, as of one ledger; if not, somebody fenced later, and it starts again. */
#ifdef CUT_NOT_CHECKED
#define STANDS(d, c) true
#else
#define STANDS(d, c) (used[c] == cut[AT(d, c)])
#endif
#ifdef NO_LEDGER_FENCE
#define BUMP(c) used[c]
#else
#define BUMP(c) used[c] + 1
#endif
#ifdef READ_BEFORE_FENCE
#define MAY_FENCE(d) (reconcile[d] == HAS_READ)
#define MAY_READ(d) (reconcile[d] == FENCING)
#define MAY_ADOPT(d) (reconcile[d] == HAS_READ && fenced[AT(d, 0)] && fenced[AT(d, 1)])
#else
#define MAY_FENCE(d) (reconcile[d] == FENCING)
#ifdef FENCE_ONE_CHANNEL
#define MAY_READ(d) (reconcile[d] == FENCING && (fenced[AT(d, 0)] || fenced[AT(d, 1)]))
#else
#define MAY_READ(d) (reconcile[d] == FENCING && fenced[AT(d, 0)] && fenced[AT(d, 1)] && STANDS(d, 0) && STANDS(d, 1))
#endif
#ifdef ADOPT_WITHOUT_READING
#define MAY_ADOPT(d) (reconcile[d] == FENCING && fenced[AT(d, 0)] && fenced[AT(d, 1)])
#else
#define MAY_ADOPT(d) (reconcile[d] == HAS_READ)
#endif
#endif
/* One BumpSequence, seen in a ledger: no envelope with a slot up to there can be applied any more, whoever signed it or will. */
#define FENCE(d, c) \
    d_step { MAY_FENCE(d) && !fenced[AT(d, c)] -> \
        printf("STEP operator: database %d: fences channel %d: the ledger has its sequence at %d now\n", d, c, BUMP(c)); \
        used[c] = BUMP(c); fenced[AT(d, c)] = 1; cut[AT(d, c)] = used[c]; DONE }
/* What the ledger has is paid, whether this database knew the hash or not. */
#define READ(d) \
    d_step { MAY_READ(d) -> \
        printf("STEP operator: database %d: reads the ledger: paid: <%d>\n", d, credited); \
        reconcile[d] = HAS_READ; paid[d] = credited; pending[d] = EVERY & ~credited; \
        batch[AT(d, 0)] = NO_BATCH; batch[AT(d, 1)] = NO_BATCH; lines[AT(d, 0)] = 0; lines[AT(d, 1)] = 0; \
        take_tokens(d, 0); take_tokens(d, 1); DONE }
#ifdef ADOPT_FOLLOWS_THE_ACCOUNT
#define CONTINUES_AT(d, c) used[c]
#else
#define CONTINUES_AT(d, c) cut[AT(d, c)]
#endif
#define ADOPT(d) \
    d_step { MAY_ADOPT(d) -> \
        printf("STEP operator: database %d: adopts its identity and pays from slots <0.%d> and <1.%d> on\n", d, \
            CONTINUES_AT(d, 0) + 1, CONTINUES_AT(d, 1) + 1); \
        sequence[AT(d, 0)] = CONTINUES_AT(d, 0); sequence[AT(d, 1)] = CONTINUES_AT(d, 1); \
        if \
        :: batch[AT(d, 0)] != NO_BATCH || batch[AT(d, 1)] != NO_BATCH -> /* only when nothing was read */ \
            pending[d] = pending[d] | lines[AT(d, 0)] | lines[AT(d, 1)]; \
            batch[AT(d, 0)] = NO_BATCH; batch[AT(d, 1)] = NO_BATCH; lines[AT(d, 0)] = 0; lines[AT(d, 1)] = 0; \
            take_tokens(d, 0); take_tokens(d, 1) \
        :: else \
        fi; \
        fenced[AT(d, 0)] = 0; fenced[AT(d, 1)] = 0; cut[AT(d, 0)] = 0; cut[AT(d, 1)] = 0; \
        reconcile[d] = NOT_RUNNING; ready[d] = 1; DONE }

/* -- the copy ------------------------------------------------------------------------------------------------------ */
#define COPY(of) of[2] = of[0]; of[3] = of[1]
active proctype Operator()
{
end:
    do
    :: d_step { !copied ->
        printf("STEP operator: database 1 comes into being as a copy of database 0\n");
        copied = 1; COPY(batch); COPY(lines); COPY(sequence); pending[1] = pending[0]; paid[1] = paid[0]; ready[1] = 0;
        for (i : 0 .. PODS - 1) { pod[i].token = pod[i].token | (pod[i].token << 1) }
        for (i : 0 .. ENVELOPES - 1) { envelope[i].known = envelope[i].known | (envelope[i].known << 1) }
        i = 0; DONE }
    RECONCILE(0)
    RECONCILE(1)
    od
}
