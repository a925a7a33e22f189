/* The model of takeover.py, written again by hand for Spin. Actions and properties have its names and stand in its
   order. spin.py gives the scope: -DNODES=3 -DSTREAMS=2 -DEPOCH=3 -DMOVES=4.

   One process takes all steps. To draw the arguments of an action in a loop would add a state for each choice, so the
   options of the process are written out by macros, one for each action and its arguments. */

#if NODES > 4 || STREAMS > 2 || EPOCH > 3
#error "takeover.pml has 4 nodes, 2 streams and 3 epochs at most; add to its macros for a larger scope"
#endif

#define NONE NODES /* no node */
#define AT(n, s) [(s) * NODES + (n)]

bool opened[STREAMS];
byte epoch[STREAMS];
byte owner[STREAMS] = NONE;
byte assigned[STREAMS] = NONE;
byte open_sent[NODES * STREAMS];
byte close_sent[NODES * STREAMS];
byte handle[NODES * STREAMS];
byte moves_left = MOVES;

/* Actions */

#define MOVE(n, s) \
    :: d_step { assigned[s] != n && moves_left > 0 -> assigned[s] = n; moves_left-- }

#define SEND_OPEN(n, s, e) \
    :: d_step { assigned[s] == n && handle AT(n, s) == 0 && e > epoch[s] && e > open_sent AT(n, s) -> \
        open_sent AT(n, s) = e }

#define OPEN_ARRIVES(n, s) \
    open_sent AT(n, s) > 0 && epoch[s] <= open_sent AT(n, s) && \
    ((epoch[s] == open_sent AT(n, s) && owner[s] == n) || (epoch[s] != open_sent AT(n, s) && !opened[s]))

/* EpochsGrow, INV-04: no other action assigns an epoch. */
#define STORE_OPEN(n, s) \
    assert(open_sent AT(n, s) >= epoch[s]); epoch[s] = open_sent AT(n, s); owner[s] = n; opened[s] = true

#define RECEIVE_OPEN(n, s) \
    :: d_step { OPEN_ARRIVES(n, s) -> STORE_OPEN(n, s) } \
    :: d_step { OPEN_ARRIVES(n, s) && open_sent AT(n, s) > close_sent AT(n, s) && handle AT(n, s) == 0 -> \
        STORE_OPEN(n, s); handle AT(n, s) = open_sent AT(n, s) }

#define SEND_CLOSE(n, s) \
    :: d_step { handle AT(n, s) > 0 && assigned[s] != n -> \
        close_sent AT(n, s) = handle AT(n, s); handle AT(n, s) = 0 }

#define RECEIVE_CLOSE(n, s) \
    :: d_step { close_sent AT(n, s) > 0 && epoch[s] == close_sent AT(n, s) && owner[s] == n -> opened[s] = false }

#if STREAMS > 1
#define CRASH(n) \
    :: d_step { handle AT(n, 0) > 0 || handle AT(n, 1) > 0 -> handle AT(n, 0) = 0; handle AT(n, 1) = 0 }
#else
#define CRASH(n) \
    :: d_step { handle AT(n, 0) > 0 -> handle AT(n, 0) = 0 }
#endif

#define RECOVER(n, s) \
    :: d_step { opened[s] && owner[s] == n && handle AT(n, s) == 0 && epoch[s] > close_sent AT(n, s) -> \
        close_sent AT(n, s) = epoch[s] }

/* Scopes */

#if EPOCH > 2
#define SEND_OPENS(n, s) SEND_OPEN(n, s, 1) SEND_OPEN(n, s, 2) SEND_OPEN(n, s, 3)
#elif EPOCH > 1
#define SEND_OPENS(n, s) SEND_OPEN(n, s, 1) SEND_OPEN(n, s, 2)
#else
#define SEND_OPENS(n, s) SEND_OPEN(n, s, 1)
#endif

#define STEPS_WITH(n, s) \
    MOVE(n, s) SEND_OPENS(n, s) RECEIVE_OPEN(n, s) SEND_CLOSE(n, s) RECEIVE_CLOSE(n, s) RECOVER(n, s)

#if STREAMS > 1
#define STEPS_OF(n) STEPS_WITH(n, 0) STEPS_WITH(n, 1) CRASH(n)
#define EACH_STREAM(property) (property(0) && property(1))
#else
#define STEPS_OF(n) STEPS_WITH(n, 0) CRASH(n)
#define EACH_STREAM(property) (property(0))
#endif

#if NODES > 3
#define STEPS STEPS_OF(0) STEPS_OF(1) STEPS_OF(2) STEPS_OF(3)
#define EACH_NODE(property, s) (property(0, s) && property(1, s) && property(2, s) && property(3, s))
#define WRITERS(s) (WRITES(0, s) + WRITES(1, s) + WRITES(2, s) + WRITES(3, s))
#elif NODES > 2
#define STEPS STEPS_OF(0) STEPS_OF(1) STEPS_OF(2)
#define EACH_NODE(property, s) (property(0, s) && property(1, s) && property(2, s))
#define WRITERS(s) (WRITES(0, s) + WRITES(1, s) + WRITES(2, s))
#elif NODES > 1
#define STEPS STEPS_OF(0) STEPS_OF(1)
#define EACH_NODE(property, s) (property(0, s) && property(1, s))
#define WRITERS(s) (WRITES(0, s) + WRITES(1, s))
#else
#define STEPS STEPS_OF(0)
#define EACH_NODE(property, s) (property(0, s))
#define WRITERS(s) (WRITES(0, s))
#endif

active proctype Takeover() {
    do
    STEPS
    od
}

/* Properties */

#define WRITES(n, s) (handle AT(n, s) > 0)
#define ONE_WRITER(s) (WRITERS(s) <= 1)
#define HANDLE_IS_CURRENT(n, s) \
    (handle AT(n, s) == 0 || (opened[s] && owner[s] == n && epoch[s] == handle AT(n, s)))
#define HANDLES_ARE_CURRENT(s) EACH_NODE(HANDLE_IS_CURRENT, s)
#define OPENED_HAS_OWNER(s) (!opened[s] || owner[s] != NONE)
#define CLOSE_FOLLOWS_OPEN(n, s) (close_sent AT(n, s) <= open_sent AT(n, s) && close_sent AT(n, s) <= epoch[s])
#define CLOSES_FOLLOW_OPENS(s) EACH_NODE(CLOSE_FOLLOWS_OPEN, s)

/* While the invariants hold, this process has no step, and so adds neither states nor steps. */
active proctype Invariants() {
    if
    :: d_step { !EACH_STREAM(ONE_WRITER) -> assert(EACH_STREAM(ONE_WRITER)) }
    :: d_step { !EACH_STREAM(HANDLES_ARE_CURRENT) -> assert(EACH_STREAM(HANDLES_ARE_CURRENT)) }
    :: d_step { !EACH_STREAM(OPENED_HAS_OWNER) -> assert(EACH_STREAM(OPENED_HAS_OWNER)) }
    :: d_step { !EACH_STREAM(CLOSES_FOLLOW_OPENS) -> assert(EACH_STREAM(CLOSES_FOLLOW_OPENS)) }
    fi
}
