/*
 * The triad of STREAM and memset as plain C, to compare the memory steps with.
 *
 * gcc -O3 -DELEMENTS=N memory.c; ./a.out triad|zero ROUNDS [wall] prints the seconds of each round,
 * of CPU time or by the clock on the wall, one a line, when all are over: a round begins where the
 * one before it ended, so that whatever comes between two of them is in one.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];

static clockid_t the_clock = CLOCK_THREAD_CPUTIME_ID;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(the_clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void triad(double factor)
{
	for (size_t i = 0; i < ELEMENTS; i++)
		a[i] = b[i] + factor * c[i];
}

int main(int argc, char **argv)
{
	int zero = argc > 1 && !strcmp(argv[1], "zero");
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	double *ends;

	if (argc > 3 && !strcmp(argv[3], "wall"))
		the_clock = CLOCK_MONOTONIC;
	ends = calloc((size_t)rounds + 1, sizeof(*ends));
	if (!ends)
		return 1;
	/* Whole lines, since two of these may write to the same file. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < ELEMENTS; i++) {
		a[i] = 1.0;
		if (!zero) {
			b[i] = 2.0;
			c[i] = 0.0;
		}
	}
	ends[0] = now_s();
	for (int round = 1; round <= rounds; round++) {
		if (zero)
			memset(a, 0, sizeof(a));
		else
			triad(0.41421356237309515);
		/* The compiler must not see that nobody reads the results. */
		__asm__ volatile("" : : "r"(a) : "memory");
		ends[round] = now_s();
	}
	for (int round = 1; round <= rounds; round++)
		printf("%.9f\n", ends[round] - ends[round - 1]);
	return 0;
}
