/* The bottleneck between two TUN devices: reads whole IP packets from one, writes them to the other.
 *
 * path NEAR FAR RATE DELAY BUFFER MARK LOSS SEED UNTIL LOG EXTRA...
 *   NEAR, FAR  file descriptors (non-blocking), one packet per read and write
 *   RATE       bit/s, of both directions
 *   DELAY      s, one way
 *   BUFFER     packets from near to far, with the one in transmission; the reverse is unlimited
 *   MARK       ECN: packets waiting, without the one in transmission, above which an arrival is
 *              marked; -1 for never
 *   LOSS       probability that a packet from near to far is lost
 *   SEED       of these losses
 *   UNTIL      end, s of CLOCK_MONOTONIC
 *   LOG        file for the results: int64 number of records, the records, and the lateness of each
 *              forwarded packet (float, s)
 *   EXTRA...   s, additional delay of the ACKs of each connection, which the far port tells
 *
 * Two threads on two CPUs share the work. The first sleeps until something is due. In a kernel without
 * preemption it may wait for the CPU for tens of milliseconds, while another process is in a system
 * call; the second looks every LOOK s whether something was left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_PORT = 5000, TCP = 6, MTU = 1500, SLOTS = 1 << 13, MOST = 10, MOST_PACKETS = 1 << 22 };
enum { FORWARDED, MARKED, FULL, LOST };
static const double SPIN = 60e-6; /* s; a sleep ends up to this much late */
static const double LOOK = 0.2e-3;
static const int PRIORITY = 50; /* of SCHED_FIFO */

struct packet {
	double due;
	int size;
	unsigned char bytes[MTU];
};

struct queue { /* packets on their way, in the order of their arrival at the other end */
	struct packet *slots;
	uint64_t head, tail;
	int target;
};

struct record { /* a data packet from near to far */
	double time; /* s of CLOCK_MONOTONIC */
	uint32_t sequence;
	uint16_t connection, payload; /* bytes */
	uint16_t waiting, fate;       /* packets in the buffer when it arrives */
};

struct list { /* memory that exists before the first packet: to grow takes milliseconds */
	char *items;
	size_t count;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void stop(const char *what)
{
	perror(what);
	exit(1);
}

static void *memory(size_t size)
{
	void *at = malloc(size);

	if (!at)
		stop("memory");
	return at;
}

static void append(struct list *l, const void *item, size_t size)
{
	if (l->count == MOST_PACKETS) {
		fprintf(stderr, "more than %d packets\n", MOST_PACKETS);
		exit(1);
	}
	memcpy(l->items + l->count++ * size, item, size);
}

static uint16_t word(const unsigned char *at)
{
	return at[0] << 8 | at[1];
}

/* SplitMix64, in [0, 1). */
static double uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Congestion experienced (RFC 3168), if the packet is ECN-capable; the checksum as in RFC 1624. */
static int mark(unsigned char *ip)
{
	uint16_t before = word(ip), after = before | 3;
	uint32_t sum = (uint16_t)~word(ip + 10) + (uint16_t)~before + after;

	if (!(before & 3))
		return 0;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	ip[1] = after;
	ip[10] = sum >> 8;
	ip[11] = sum;
	return 1;
}

static void put(struct queue *q, double due, const unsigned char *bytes, int size)
{
	struct packet *p = &q->slots[q->tail++ % SLOTS];

	if (q->tail - q->head > SLOTS) {
		fprintf(stderr, "more than %d packets on the path\n", SLOTS);
		exit(1);
	}
	p->due = due;
	p->size = size;
	memcpy(p->bytes, bytes, size);
}

static double rate, delay, loss, extra[MOST];
static _Atomic double until;
static int near, far, buffer, threshold, connections;
static struct queue queues[1 + MOST]; /* to the far host; to the near host, for each connection */
static struct list records, late;
static uint64_t seed;
static atomic_flag taken = ATOMIC_FLAG_INIT; /* by the thread that forwards packets */

static void forth(unsigned char *bytes, int size)
{
	static double leaves[SLOTS]; /* departures of the packets in the buffer */
	static uint64_t oldest, newest;
	const unsigned char *tcp = bytes + 4 * (bytes[0] & 15);
	struct record r = {.time = now(), .fate = FORWARDED};
	double begins;

	while (oldest < newest && leaves[oldest % SLOTS] <= r.time)
		oldest++;
	r.waiting = newest - oldest;
	r.connection = word(tcp + 2) - FIRST_PORT;
	r.sequence = (uint32_t)word(tcp + 4) << 16 | word(tcp + 6);
	if (bytes[9] == TCP)
		r.payload = size - (tcp - bytes) - 4 * (tcp[12] >> 4);
	if (loss > 0 && uniform(&seed) < loss)
		r.fate = LOST;
	else if (r.waiting >= buffer)
		r.fate = FULL;
	else if (threshold >= 0 && r.waiting - 1 > threshold && mark(bytes))
		r.fate = MARKED;
	if (r.payload)
		append(&records, &r, sizeof r);
	if (r.fate == LOST || r.fate == FULL)
		return;
	begins = oldest < newest ? leaves[(newest - 1) % SLOTS] : r.time;
	leaves[newest % SLOTS] = begins + 8 * size / rate;
	put(&queues[0], leaves[newest++ % SLOTS] + delay, bytes, size);
}

static void home(const unsigned char *bytes, int size)
{
	static double free_at;
	int k = word(bytes + 4 * (bytes[0] & 15)) - FIRST_PORT;
	double t = now();

	free_at = (free_at > t ? free_at : t) + 8 * size / rate;
	put(&queues[1 + k], free_at + delay + extra[k], bytes, size);
}

/* Forward what is due and take what has arrived; the time at which the next packet is due. */
static double serve(void)
{
	unsigned char bytes[MTU];
	int size;

	for (;;) {
		struct queue *next = 0;
		double due = until, t = now();

		if (t >= until)
			return until;
		for (int k = 0; k <= connections; k++) {
			struct queue *q = &queues[k];

			if (q->head < q->tail && q->slots[q->head % SLOTS].due < due) {
				next = q;
				due = q->slots[q->head % SLOTS].due;
			}
		}
		if (next && due <= t) {
			struct packet *p = &next->slots[next->head++ % SLOTS];

			append(&late, &(float){t - due}, sizeof(float));
			if (write(next->target, p->bytes, p->size) != p->size)
				stop("write");
		} else if ((size = read(near, bytes, MTU)) > 0) {
			forth(bytes, size);
		} else if (size == 0 || (size = read(far, bytes, MTU)) == 0) {
			until = t; /* sockets have an end */
		} else if (size > 0) {
			home(bytes, size);
		} else if (errno == EAGAIN) {
			return due;
		} else {
			stop("read");
		}
	}
}

static void settle(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) ||
	    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){PRIORITY}))
		perror("path: no real-time priority"); /* it runs, but later */
}

static void *second(void *unused)
{
	settle(0);
	while (now() < until) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 1e9 * LOOK}, 0);
		if (!atomic_flag_test_and_set(&taken)) {
			serve();
			atomic_flag_clear(&taken);
		}
	}
	return unused;
}

static void first(void)
{
	settle(sysconf(_SC_NPROCESSORS_ONLN) > 1);
	while (now() < until) {
		struct pollfd fds[2] = {{near, POLLIN, 0}, {far, POLLIN, 0}};
		double rest;

		if (atomic_flag_test_and_set(&taken))
			continue;
		rest = serve() - now() - SPIN;
		atomic_flag_clear(&taken);
		if (rest > 0)
			ppoll(fds, 2, &(struct timespec){rest, 1e9 * (rest - (long)rest)}, 0);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	connections = argc - 11;
	if (connections < 1 || connections > MOST) {
		fprintf(stderr, "path NEAR FAR RATE DELAY BUFFER MARK LOSS SEED UNTIL LOG EXTRA...\n");
		return 2;
	}
	near = atoi(argv[1]), far = atoi(argv[2]);
	rate = atof(argv[3]), delay = atof(argv[4]);
	buffer = atoi(argv[5]), threshold = atoi(argv[6]);
	loss = atof(argv[7]), seed = strtoull(argv[8], 0, 10);
	until = atof(argv[9]);
	records.items = memory(MOST_PACKETS * sizeof(struct record));
	late.items = memory(MOST_PACKETS * sizeof(float));
	for (int k = 0; k <= connections; k++) {
		queues[k].slots = memory(SLOTS * sizeof(struct packet));
		queues[k].target = k ? near : far;
		if (k)
			extra[k - 1] = atof(argv[10 + k]);
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("path: memory is not locked");
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1 && pthread_create(&thread, 0, second, 0))
		stop("thread");
	first();
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		pthread_join(thread, 0);

	FILE *file = fopen(argv[10], "wb");
	int64_t count = records.count;

	if (!file || fwrite(&count, sizeof count, 1, file) != 1 ||
	    fwrite(records.items, sizeof(struct record), count, file) != records.count ||
	    fwrite(late.items, sizeof(float), late.count, file) != late.count || fclose(file))
		stop(argv[10]);
	return 0;
}
