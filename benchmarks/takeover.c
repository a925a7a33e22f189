/* The model of takeover.py, written by hand in C: how fast a search of this model can be on one core.

   It searches breadth first, checks the four invariants of each state and the step property of each step, and prints
   the distinct states, the steps (with the initial state, as Holdfast and TLC count), the depth, and the seconds. A
   violation ends it with 1. The compiler gets the scope: -DNODES=3 -DSTREAMS=2 -DEPOCH=3 -DMOVES=4. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define WIDTH(most) ((most) < 2 ? 1 : (most) < 4 ? 2 : (most) < 8 ? 3 : (most) < 16 ? 4 : (most) < 32 ? 5 : 6)

/* A state is one number. A node is its index and one more, since 0 stands for none. */
#define EPOCH_BITS WIDTH(EPOCH)
#define NODE_BITS WIDTH(NODES)
#define MOVES_BITS WIDTH(MOVES)
#define CELLS (NODES * STREAMS)

#define OPENED(s) (s)
#define EPOCH_OF(s) (STREAMS + (s) * EPOCH_BITS)
#define OWNER(s) (EPOCH_OF(STREAMS) + (s) * NODE_BITS)
#define ASSIGNED(s) (OWNER(STREAMS) + (s) * NODE_BITS)
#define OPEN_SENT(n, s) (ASSIGNED(STREAMS) + ((s) * NODES + (n)) * EPOCH_BITS)
#define CLOSE_SENT(n, s) (OPEN_SENT(0, 0) + (CELLS + (s) * NODES + (n)) * EPOCH_BITS)
#define HANDLE(n, s) (OPEN_SENT(0, 0) + (2 * CELLS + (s) * NODES + (n)) * EPOCH_BITS)
#define MOVES_LEFT (OPEN_SENT(0, 0) + 3 * CELLS * EPOCH_BITS)
/* This bit is set in every state, so that 0 can stand for a free place of the table. */
#define PRESENT (MOVES_LEFT + MOVES_BITS)

#if NODES > 31 || EPOCH > 63 || MOVES > 63 || PRESENT > 127
#error "the scope is too large: a state must fit into 127 bits"
#elif PRESENT > 63
typedef unsigned __int128 State;
#else
typedef uint64_t State;
#endif

enum { BATCH = 256, MOST_SUCCESSORS = CELLS * (EPOCH + 7) + NODES };

static State *table, *order;         /* the open-addressing hash set, and all states in the order of their discovery */
static unsigned table_bits = 10;     /* the table has 1 << table_bits places */
static size_t count, room = 1 << 10; /* how many states there are, and how many fit into `order` */
static uint64_t steps = 1;           /* the initial state counts as a step */

static State found[BATCH + MOST_SUCCESSORS]; /* successors that are not looked up yet, with their hashes */
static uint64_t hashes[BATCH + MOST_SUCCESSORS];
static unsigned pending;

static inline unsigned get(State x, unsigned at, unsigned width) { return (unsigned)(x >> at) & ((1u << width) - 1); }

static inline State set(State x, unsigned at, unsigned width, unsigned value) {
    return (x & ~((State)((1u << width) - 1) << at)) | (State)value << at;
}

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void *allocate(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("out of memory");
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE); /* Fewer misses of the TLB; if the system refuses, nothing is lost. */
#endif
    return memory;
}

static inline uint64_t hash(State x) {
#if PRESENT > 63
    uint64_t mixed = (uint64_t)x ^ (uint64_t)(x >> 64) * 0xC2B2AE3D27D4EB4Full;
#else
    uint64_t mixed = x;
#endif
    mixed = (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15ull;
    return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9ull;
}

static void check_invariants(State x) {
    for (unsigned s = 0; s < STREAMS; s++) {
        unsigned opened = get(x, OPENED(s), 1), owner = get(x, OWNER(s), NODE_BITS);
        unsigned epoch = get(x, EPOCH_OF(s), EPOCH_BITS), writers = 0;
        for (unsigned n = 0; n < NODES; n++) {
            unsigned handle = get(x, HANDLE(n, s), EPOCH_BITS), closed = get(x, CLOSE_SENT(n, s), EPOCH_BITS);
            writers += handle > 0;
            if (handle > 0 && !(opened && owner == n + 1 && epoch == handle)) fail("violated: handles_are_current");
            if (closed > get(x, OPEN_SENT(n, s), EPOCH_BITS) || closed > epoch) fail("violated: closes_follow_opens");
        }
        if (writers > 1) fail("violated: one_writer");
        if (opened && owner == 0) fail("violated: opened_has_owner");
    }
}

static inline void reach(State from, State to) {
    for (unsigned s = 0; s < STREAMS; s++)
        if (get(to, EPOCH_OF(s), EPOCH_BITS) < get(from, EPOCH_OF(s), EPOCH_BITS)) fail("violated: epochs_grow");
    uint64_t hashed = hash(to);
    /* Places are random, so most are not in a cache: fetch them while other successors are computed. */
    __builtin_prefetch(&table[hashed >> (64 - table_bits)]);
    hashes[pending] = hashed;
    found[pending++] = to;
}

static void expand(State x) {
    unsigned moves = get(x, MOVES_LEFT, MOVES_BITS);
    for (unsigned s = 0; s < STREAMS; s++) {
        unsigned opened = get(x, OPENED(s), 1), epoch = get(x, EPOCH_OF(s), EPOCH_BITS);
        unsigned owner = get(x, OWNER(s), NODE_BITS), assigned = get(x, ASSIGNED(s), NODE_BITS);
        for (unsigned n = 0; n < NODES; n++) {
            unsigned open_sent = get(x, OPEN_SENT(n, s), EPOCH_BITS), handle = get(x, HANDLE(n, s), EPOCH_BITS);
            unsigned close_sent = get(x, CLOSE_SENT(n, s), EPOCH_BITS);
            if (assigned != n + 1 && moves > 0) /* move */
                reach(x, set(set(x, ASSIGNED(s), NODE_BITS, n + 1), MOVES_LEFT, MOVES_BITS, moves - 1));
            if (assigned == n + 1 && handle == 0) /* send_open */
                for (unsigned e = (epoch > open_sent ? epoch : open_sent) + 1; e <= EPOCH; e++)
                    reach(x, set(x, OPEN_SENT(n, s), EPOCH_BITS, e));
            if (open_sent > 0 && epoch <= open_sent && (epoch == open_sent ? owner == n + 1 : !opened)) {
                State next = set(x, EPOCH_OF(s), EPOCH_BITS, open_sent);
                next = set(set(next, OWNER(s), NODE_BITS, n + 1), OPENED(s), 1, 1);
                reach(x, next); /* receive_open, and the node does not hear the answer */
                if (open_sent > close_sent && handle == 0) reach(x, set(next, HANDLE(n, s), EPOCH_BITS, open_sent));
            }
            if (handle > 0 && assigned != n + 1) /* send_close */
                reach(x, set(set(x, CLOSE_SENT(n, s), EPOCH_BITS, handle), HANDLE(n, s), EPOCH_BITS, 0));
            if (close_sent > 0 && epoch == close_sent && owner == n + 1) /* receive_close */
                reach(x, set(x, OPENED(s), 1, 0));
            if (opened && owner == n + 1 && handle == 0 && epoch > close_sent) /* recover */
                reach(x, set(x, CLOSE_SENT(n, s), EPOCH_BITS, epoch));
        }
    }
    for (unsigned n = 0; n < NODES; n++) { /* crash */
        State next = x;
        for (unsigned s = 0; s < STREAMS; s++) next = set(next, HANDLE(n, s), EPOCH_BITS, 0);
        if (next != x) reach(x, next);
    }
}

/* Make the table twice as large. The place is the upper bits of the hash, so both tables are passed through once. */
static void grow_table(void) {
    State *old = table;
    size_t places = (size_t)1 << table_bits++;
    table = allocate(2 * places * sizeof(State));
    for (size_t place = 0; place < places; place++)
        if (old[place]) {
            size_t at = hash(old[place]) >> (64 - table_bits);
            while (table[at]) at = (at + 1) & (2 * places - 1);
            table[at] = old[place];
        }
    munmap(old, places * sizeof(State));
}

static void grow_order(void) {
    State *larger = allocate(2 * room * sizeof(State));
    for (size_t i = 0; i < count; i++) larger[i] = order[i];
    munmap(order, room * sizeof(State));
    order = larger;
    room *= 2;
}

/* Look all pending successors up, and store the new ones. */
static void insert(void) {
    while ((count + pending) * 5 > ((size_t)3 << table_bits)) grow_table();
    while (count + pending > room) grow_order();
    size_t mask = ((size_t)1 << table_bits) - 1;
    for (unsigned i = 0; i < pending; i++) {
        size_t place = hashes[i] >> (64 - table_bits);
        while (table[place] && table[place] != found[i]) place = (place + 1) & mask;
        if (!table[place]) {
            table[place] = order[count++] = found[i];
            check_invariants(found[i]);
        }
    }
    steps += pending;
    pending = 0;
}

int main(void) {
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    table = allocate(sizeof(State) << table_bits);
    order = allocate(room * sizeof(State));
    found[0] = set((State)1 << PRESENT, MOVES_LEFT, MOVES_BITS, MOVES);
    hashes[0] = hash(found[0]);
    pending = 1;
    insert();
    steps = 1;
    unsigned depth = 0;
    for (size_t next = 0, level = count; next < count; level = count, depth++) {
        while (next < level) {
            expand(order[next++]);
            if (pending >= BATCH) insert();
        }
        insert();
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds = (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) * 1e-9;
    /* The last level has no new successors, so the loop has counted one level too many. */
    printf("%zu %llu %u %.6f\n", count, (unsigned long long)steps, depth - 1, seconds);
    return 0;
}
