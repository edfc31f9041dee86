/* Round trips over socketpairs and nothing else: the peer of `oltp --load none`.
 *
 * `sockets PAIRS SECONDS`: two processes with a thread of each pair, which write and read 64 bytes
 * there and 256 back. Prints the time that 20 round trips took, all pairs together, so that more
 * pairs take less of it.
 *
 * Each way has a socketpair of its own, as in `oltp`. In a blocking read on a socket that goes both
 * ways a thread is also woken when the other side reads what it has written (net/unix/af_unix.c,
 * unix_write_space, v6.12). From a halted CPU that hides a part of the next wakeup, and it costs a
 * switch that databases do not have: they poll, and sleep on. Must not know: schedload.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { ASK = 64, ANSWER = 256, TOGETHER = 20 };

static double until;

struct pair {
	int there[2];
	int back[2];
	long trips;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *serve(void *arg)
{
	struct pair *pair = arg;
	char buffer[ANSWER] = "";

	while (read(pair->there[1], buffer, ASK) == ASK)
		if (write(pair->back[0], buffer, ANSWER) != ANSWER)
			break;
	return NULL;
}

static void *ask(void *arg)
{
	struct pair *pair = arg;
	char buffer[ANSWER] = "";

	/* As schedload, which reads the clock at each message. */
	while (now() < until) {
		if (write(pair->there[0], buffer, ASK) != ASK)
			abort();
		if (read(pair->back[1], buffer, ANSWER) != ANSWER)
			abort();
		pair->trips++;
	}
	return NULL;
}

static void all(struct pair *pairs, int n, void *(*body)(void *))
{
	pthread_t *threads = calloc(n, sizeof(*threads));

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, body, &pairs[i]))
			abort();
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0;
	struct pair *pairs = calloc(n > 0 ? n : 1, sizeof(*pairs));
	double begin, took;
	long trips = 0;
	pid_t server;

	if (n < 1 || atof(argv[2]) <= 0) {
		fprintf(stderr, "usage: sockets PAIRS SECONDS\n");
		return 2;
	}
	for (int i = 0; i < n; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i].there) ||
		    socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i].back))
			abort();
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < n; i++)
			close(pairs[i].there[0]);
		all(pairs, n, serve);
		return 0;
	}
	for (int i = 0; i < n; i++)
		close(pairs[i].there[1]);
	begin = now();
	until = begin + atof(argv[2]);
	all(pairs, n, ask);
	took = now() - begin;
	for (int i = 0; i < n; i++) {
		close(pairs[i].there[0]);
		trips += pairs[i].trips;
	}
	waitpid(server, NULL, 0);
	printf("%.12f\n", took * TOGETHER / trips);
	return 0;
}
