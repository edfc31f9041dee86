"""Memory bandwidth beside its peers: STREAM's triad in C, memset in C and in perf bench.

All are timed by the clock on the wall, since that is what schedload and perf report, from the begin
of the first round to the end of the last one. A peer of two threads is two processes at once, their
rates summed; each begins when it has touched its memory, so that their times overlap but for some
ms. They are of one session, as ours is: where the kernel groups tasks by session (sched_autogroup),
two would get twice our share of a CPU that others want.
Must not know: how schedload works inside.
"""

import argparse
import dataclasses
import functools
import json
import pathlib
import re
import shutil
import statistics
import tempfile
from collections.abc import Callable

from tools import Failure, compile_c, progress, run

SOURCE = pathlib.Path(__file__).with_name("memory.c")
MIB = 1 << 20
# How long each tool is to measure.
RUN_S = 3
TWICE = '"$@" & first=$!; "$@" & second=$!; wait "$first" && wait "$second"'
# Rounds of the pair that is discarded, from which the others' number follows.
FIRST_ROUNDS = 50
PERF_NOTE = (
    "perf's memset writes the number of the round, not zeros (tools/perf/bench/mem-functions.c, "
    "do_memset, v6.1), and there are CPUs on which zeros are faster: see the case with C's memset"
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A metric of ours, and a peer's way to move so many bytes in each of a number of rounds."""

    name: str
    about: str
    ours: list[str]
    metric: str
    n_threads: int
    # Of one thread in one round.
    round_bytes: int
    # The command of the peer for a directory to build in and a number of rounds.
    peer: Callable[[pathlib.Path, int], list[str]]
    # Bytes per second of all of them from what they printed.
    read_peer: Callable[[str], float]


def array_bytes() -> int:
    """Four times the last level cache, or 128 MiB where the kernel does not say."""
    found = []
    for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        match = re.fullmatch(r"(\d+)K\s*", path.read_text())
        found += [int(match.group(1)) << 10] if match else []
    return max(4 * max(found, default=32 * MIB), 4 * MIB) // MIB * MIB


def c_rate(n_threads: int, round_bytes: int, text: str) -> float:
    """Of the C programs: all their bytes by the time of one."""
    try:
        rounds = [float(line) for line in text.split()]
        return n_threads * round_bytes * len(rounds) / sum(rounds)
    except (ValueError, ZeroDivisionError) as error:
        raise Failure(f"the C program printed no times: {error}") from error


def perf_rate(text: str) -> float:
    """The simple format's numbers; there is a comment above each."""
    found = re.findall(r"^\s*([0-9.]+)\s*$", text, re.MULTILINE)
    if not found:
        raise Failure("perf printed no line with a number of bytes/s alone")
    return sum(map(float, found))


@functools.cache
def build(directory: pathlib.Path, n_elements: int) -> pathlib.Path:
    program = directory / f"memory-peer-{n_elements}"
    compile_c(SOURCE, program, ["-O3", f"-DELEMENTS={n_elements}"])
    return program


def cases() -> list[Case]:
    size = array_bytes()
    mib = size // MIB

    def in_c(kernel: str) -> Callable[[pathlib.Path, int], list[str]]:
        return lambda directory, n: [str(build(directory, size // 8)), kernel, str(n), "wall"]

    def perf(_directory: pathlib.Path, n: int) -> list[str]:
        return f"perf bench -f simple mem memset -f default -s {mib}MB -l {n}".split()

    found = []
    for n_threads in (1, 2):
        threads = f"{n_threads} thread{'s' if n_threads > 1 else ''}"
        stream = f"run stream --threads {n_threads} --bytes {mib}MiB --duration {RUN_S}s"
        zero = (
            f"run numa02 --threads {n_threads} --per-thread {mib}MiB --time {RUN_S}s "
            "--access zero --allow-single-node"
        )
        arrays = f"arrays of {mib} MiB, {threads}"
        found += [
            Case(
                name=f"stream triad, {threads}",
                about=f"triad on {arrays}, against C by gcc -O3; ours does the other kernels too",
                ours=["schedload", *stream.split()],
                metric="triad_bytes_per_s",
                n_threads=n_threads,
                round_bytes=3 * size,
                peer=in_c("triad"),
                read_peer=functools.partial(c_rate, n_threads, 3 * size),
            ),
            Case(
                name=f"zero, C memset, {threads}",
                about=f"zero-store sweeps of {arrays}, against memset of zeros in C",
                ours=["schedload", *zero.split()],
                metric="memory_bytes_per_s",
                n_threads=n_threads,
                round_bytes=size,
                peer=in_c("zero"),
                read_peer=functools.partial(c_rate, n_threads, size),
            ),
            Case(
                name=f"zero, perf memset, {threads}",
                about=f"zero-store sweeps of {arrays}, against perf's memset; {PERF_NOTE}",
                ours=["schedload", *zero.split()],
                metric="memory_bytes_per_s",
                n_threads=n_threads,
                round_bytes=size,
                peer=perf,
                read_peer=perf_rate,
            ),
        ]
    return found


def run_ours(case: Case, binaries: pathlib.Path, limit_s: float) -> tuple[float, float]:
    """Our bytes/s and the sampler's share of the CPUs' time."""
    with tempfile.TemporaryDirectory() as directory:
        report = pathlib.Path(directory) / "report.json"
        argv = [str(binaries / case.ours[0]), *case.ours[1:], "--json", str(report)]
        run(argv, lambda _text: 0.0, limit_s)
        try:
            metrics = json.loads(report.read_text())["runs"][0]["metrics"]
            return float(metrics[case.metric]["value"]), float(metrics["sampler_share"]["value"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise Failure(f"no {case.metric} or sampler_share in the report") from error


def run_peers(argv: list[str], case: Case, limit_s: float) -> float:
    """The summed bytes/s of one peer or two at once, as many as ours has threads."""
    if shutil.which(argv[0]) is None:
        raise Failure(f"{argv[0]} was not found: scripts/setup bench-peers installs it")
    all_at_once = ["sh", "-c", TWICE, "sh", *argv] if case.n_threads == 2 else argv
    return run(all_at_once, case.read_peer, limit_s).own_s


def section(case: Case, options: argparse.Namespace) -> tuple[list[str], bool]:
    """What is to be said about one case, and whether it could be run."""
    lines = [f"## {case.name}", "", f"{case.about[0].upper()}{case.about[1:]}.", ""]
    pairs, shares = [], []
    n_rounds = FIRST_ROUNDS
    try:
        with tempfile.TemporaryDirectory() as name:
            for pair in range(options.pairs + 1):
                progress(f"{case.name}: pair {pair} of {options.pairs}")
                ours, share = run_ours(case, options.binaries, options.limit)
                argv = case.peer(pathlib.Path(name), n_rounds)
                theirs = run_peers(argv, case, options.limit)
                pairs.append((ours, theirs))
                shares.append(share)
                if pair == 0:
                    of_one = theirs / case.n_threads
                    n_rounds = max(FIRST_ROUNDS, int(RUN_S * of_one / case.round_bytes))
    except Failure as failure:
        progress("")
        return [*lines, f"Not compared: {failure}.", ""], False
    progress("")
    at_once = f", {case.n_threads} at once" if case.n_threads > 1 else ""
    shown = " ".join([pathlib.Path(argv[0]).name, *argv[1:]])
    lines += [f"- ours: `{' '.join(case.ours)}`", f"- peer: `{shown}`{at_once}", ""]
    return [*lines, *table(case.metric, pairs[1:]), "", *sampler(shares[1:]), ""], True


def table(metric: str, pairs: list[tuple[float, float]]) -> list[str]:
    columns = [[pair[which] / 1e9 for pair in pairs] for which in (0, 1)]
    ratios = [ours / theirs for ours, theirs in pairs]
    cells = [
        f"{metric}, GB/s",
        *(f"{statistics.median(it):.2f} ({min(it):.2f} to {max(it):.2f})" for it in columns),
        *(f"{f(ratios):.3f}" for f in (statistics.median, min, max)),
    ]
    return [
        "| measure | ours, median (range) | peer, median (range) | ratio in pairs, median "
        "| lowest | highest |",
        "|---|---:|---:|---:|---:|---:|",
        f"| {' | '.join(cells)} |",
    ]


def sampler(shares: list[float]) -> list[str]:
    """Its cost is what it took from the CPUs: there is no run without it to compare with."""
    middle, most = (100 * f(shares) for f in (statistics.median, max))
    return [
        f"The residency sampler, as ours reports it: {middle:.4f} % of the CPUs' time in the "
        f"window (highest {most:.4f} %)."
    ]
