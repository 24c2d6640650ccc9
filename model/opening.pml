/* claim_due_schedules: who opens the run of an occurrence? Any number of sessions, of pods or of pg_cron, one schedule with two dates.
 * A session reads that a date is due; later, in the same transaction, it inserts the run and its payments and moves the
 * schedule on. The lock (FOR UPDATE SKIP LOCKED) and UNIQUE (schedule_id, nominal_date) can be taken out one by one.
 */
#ifndef SESSIONS
#define SESSIONS 3
#endif
#define DATES 2
#define NOTHING 9
byte next_date;        /* pay_schedule.next_nominal_date */
bit locked;
byte opened[DATES];    /* runs of each date */
byte seen[SESSIONS] = NOTHING;

#ifdef NO_LOCK
#define MAY_LOOK true
#else
#define MAY_LOOK (!locked)
#endif
#ifdef RUN_NOT_UNIQUE
#define REFUSED false
#else
#define REFUSED (opened[seen[_pid]] > 0)
#endif

active [SESSIONS] proctype Session()
{
end:
    do
    :: d_step { seen[_pid] == NOTHING && next_date < DATES && MAY_LOOK ->
        printf("STEP session %d: claim_due_schedules: date %d is due\n", _pid, next_date);
        seen[_pid] = next_date; locked = 1 }
    :: d_step { seen[_pid] != NOTHING && REFUSED ->
        printf("STEP session %d: UNIQUE (schedule_id, nominal_date) refuses a second run of date %d\n", _pid, seen[_pid]);
        seen[_pid] = NOTHING; locked = 0 }
    :: d_step { seen[_pid] != NOTHING && !REFUSED ->
        printf("STEP session %d: opens the run of date %d with a payment for each payee, and moves the schedule on\n", _pid, seen[_pid]);
        opened[seen[_pid]] = opened[seen[_pid]] + 1;
        assert(opened[seen[_pid]] <= 1); /* one run per occurrence */
        next_date = (seen[_pid] + 1 > next_date -> seen[_pid] + 1 : next_date);
        seen[_pid] = NOTHING; locked = 0 }
    :: d_step { seen[_pid] != NOTHING ->
        printf("STEP session %d: dies; its transaction is rolled back\n", _pid);
        seen[_pid] = NOTHING; locked = 0 }
    od
}
