#!/usr/bin/env python3
"""Runs schedload and its peers on the same work, in turn, and prints how they compare.

Ours and the peer alternate (A B A B ...), so that a drift of the machine meets both; the first pair
warms up and is discarded. What is compared is the ratio within each pair, ours divided by the
peer's: its median, and its lowest and highest value. Must not know: how schedload works inside.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import memory
import schbench
from tools import Failure, Sample, compile_c, progress, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIN_PAIRS = 10
# How long round trips over sockets are counted.
SOCKETS_S = 3


@dataclasses.dataclass(frozen=True)
class Measure:
    """One row of a table: a field of Sample, how it is called, how its values are printed."""

    field: str
    name: str
    show: Callable[[float], str]


@dataclasses.dataclass(frozen=True)
class Case:
    """The same work for both: command lines, and how to read the peer's own time."""

    name: str
    about: str
    ours: list[str]
    peer: list[str]
    peer_time: str
    own_name: str
    # Operations that the own time is divided by.
    n_ops: int = 1
    # A metric of ours in 1/s: the own time is that of one, not the elapsed time.
    rate: str = ""
    # A C program of this directory that is the peer.
    source: str = ""


def seconds(value: float) -> str:
    return f"{value:.3f} s" if value >= 0.1 else f"{value * 1e3:.3f} ms"


def round_trip(value: float) -> str:
    return f"{value * 1e6:.3f} us"


def count(value: float) -> str:
    return f"{value:,.0f}"


def few(value: float) -> str:
    return f"{value:.3f}"


def cases(n_loops: int) -> list[Case]:
    """All cases; n_loops is the number of round trips of the pipe ones."""
    time_line = r"^Time: ([0-9.]+)$"
    total_line = r"Total time: ([0-9.]+) \[sec\]"
    found = []
    for flags, about in [
        ("-p -T", "threads, pipes"),
        ("-p -P", "processes, pipes"),
        ("-T", "threads, sockets"),
        ("-P", "processes, sockets"),
    ]:
        args = f"-g 10 -f 20 -l 1000 {flags}".split()
        found.append(
            Case(
                name=f"hackbench {flags}",
                about=f"hackbench's work: {about}, 400 tasks",
                ours=["schedload-hackbench", *args],
                peer=["hackbench", *args],
                peer_time=time_line,
                own_name="elapsed, as reported",
            )
        )
    for form, flags in [("threads", ["-T"]), ("processes", [])]:
        ours = f"run pingpong --kind pipe --bytes 4 --loops {n_loops} --as {form}".split()
        found.append(
            Case(
                name=f"pipe {form}",
                about=f"two {form} that wake each other through pipes, {n_loops} round trips",
                ours=["schedload", *ours],
                peer=["perf", "bench", "sched", "pipe", "-l", str(n_loops), *flags],
                peer_time=total_line,
                own_name="round trip, as reported",
                n_ops=n_loops,
            )
        )
    for n_pairs in (1, 4, 16):
        ours = f"run oltp --load none --instances 1 --threads {n_pairs} --duration {SOCKETS_S}s"
        found.append(
            Case(
                name=f"oltp without work, {n_pairs} pairs",
                about="round trips over socketpairs between two processes, as transactions of 20 "
                "with row locks and commits that nobody waits for, against the round trips alone",
                ours=["schedload", *ours.split()],
                peer=["sockets", str(n_pairs), str(SOCKETS_S)],
                peer_time=r"^([0-9.]+)$",
                own_name="time for each round trip of all pairs",
                n_ops=20,
                rate="transactions_per_s",
                source="sockets.c",
            )
        )
    # Each group has 40 descriptors in one process; both tools stop at the hard limit.
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = most_files == resource.RLIM_INFINITY
    groups = 500 if unlimited else min(500, (most_files - 40) // 40)
    args = f"-g {groups} -f 20 -T -l 1".split()
    found.append(
        Case(
            name=f"start {groups * 40} threads",
            about=f"what it costs to make {groups * 40} threads and end them: one message each way",
            ours=["schedload-hackbench", *args],
            peer=["hackbench", *args],
            peer_time=time_line,
            own_name="elapsed, as reported",
        )
    )
    return found


def run_ours(case: Case, binaries: pathlib.Path, limit_s: float) -> Sample:
    with tempfile.TemporaryDirectory() as directory:
        report = pathlib.Path(directory) / "report.json"

        def read_own(_text: str) -> float:
            key = case.rate or "elapsed_s"
            try:
                of_run = json.loads(report.read_text())["runs"][0]
                own = of_run["metrics"][key]["value"] if case.rate else of_run[key]
            except (OSError, ValueError, LookupError) as error:
                raise Failure(f"no {key} of runs[0] in the report of {case.ours[0]}") from error
            if not isinstance(own, (int, float)) or own <= 0:
                raise Failure(f"{key} of runs[0] of {case.ours[0]} is {own}")
            return (1 / own if case.rate else own) / case.n_ops

        argv = [str(binaries / case.ours[0]), *case.ours[1:], "--json", str(report)]
        return run(argv, read_own, limit_s)


def run_peer(case: Case, directory: pathlib.Path, limit_s: float) -> Sample:
    program = directory / case.peer[0]
    if case.source and not program.exists():
        compile_c(pathlib.Path(__file__).with_name(case.source), program, ["-O2", "-pthread"])
    if not case.source and shutil.which(case.peer[0]) is None:
        raise Failure(f"{case.peer[0]} was not found: scripts/setup bench-peers installs it")

    def read_own(text: str) -> float:
        match = re.search(case.peer_time, text, re.MULTILINE)
        if match is None:
            raise Failure(f"{case.peer[0]} printed no line like {case.peer_time}")
        return float(match.group(1)) / case.n_ops

    argv = [str(program), *case.peer[1:]] if case.source else case.peer
    return run(argv, read_own, limit_s)


def run_pairs(case: Case, options: argparse.Namespace) -> list[tuple[Sample, Sample]]:
    """All pairs but the first, which warms up."""
    pairs = []
    with tempfile.TemporaryDirectory() as directory:
        for pair in range(options.pairs + 1):
            progress(f"{case.name}: pair {pair} of {options.pairs}")
            ours = run_ours(case, options.binaries, options.limit)
            pairs.append((ours, run_peer(case, pathlib.Path(directory), options.limit)))
    progress("")
    return pairs[1:]


def table(case: Case, pairs: list[tuple[Sample, Sample]]) -> list[str]:
    """The rows of a Markdown table, one for each measure."""
    show_own = round_trip if case.n_ops > 1 else seconds
    measures = [
        Measure("own_s", case.own_name, show_own),
        Measure("wall_s", "whole process, start to end", seconds),
        Measure("cpu_s", "CPU time, user and system", seconds),
        Measure("switches", "context switches", count),
    ]
    if case.rate:
        # Both have the same time for as much work as they can: totals say nothing.
        pairs = [(each_trip(ours), each_trip(peer)) for ours, peer in pairs]
        measures = [
            measures[0],
            Measure("cpu_s", "CPU time for each of them", round_trip),
            Measure("switches", "context switches for each of them", few),
        ]
    lines = [
        "| measure | ours, median | peer, median | ratio of medians | ratio in pairs, median "
        "| lowest | highest |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for measure in measures:
        ours = [getattr(pair[0], measure.field) for pair in pairs]
        peer = [getattr(pair[1], measure.field) for pair in pairs]
        middles = [statistics.median(ours), statistics.median(peer)]
        cells = [measure.name, *map(measure.show, middles), ratio(*middles)]
        if all(value > 0 for value in peer):
            ratios = [a / b for a, b in zip(ours, peer)]
            cells += [f"{f(ratios):.3f}" for f in (statistics.median, min, max)]
        else:
            cells += ["unknown: the peer's is 0"] * 3
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def each_trip(sample: Sample) -> Sample:
    """What one round trip of a fixed time took of CPU time and switches."""
    trips = SOCKETS_S / sample.own_s
    return dataclasses.replace(
        sample, cpu_s=sample.cpu_s / trips, switches=sample.switches / trips
    )


def ratio(ours: float, peer: float) -> str:
    return f"{ours / peer:.3f}" if peer > 0 else "unknown: the peer's is 0"


def read_fact(path: str) -> str:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError as error:
        return f"unknown: {path}: {error.strerror}"


def first_line(argv: list[str], contains: str = "") -> str:
    """The first line that a command prints and that contains a text."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown: {error}"
    lines = (done.stdout + done.stderr).splitlines()
    return next((line for line in lines if line.strip() and contains in line), "unknown")


def cpu_model() -> str:
    models = re.findall(r"^model name\s*: (.*)$", read_fact("/proc/cpuinfo"), re.MULTILINE)
    return models[0] if models else "unknown: no model name in /proc/cpuinfo"


def virtualisation() -> str:
    if shutil.which("systemd-detect-virt"):
        kinds = ["vm", "container"]
        return ", ".join(f"{k}: {first_line(['systemd-detect-virt', f'--{k}'])}" for k in kinds)
    if re.search(r"^flags\s*:.*\bhypervisor\b", read_fact("/proc/cpuinfo"), re.MULTILINE):
        return f"a virtual machine ({read_fact('/sys/class/dmi/id/product_name')})"
    return "none seen: no hypervisor flag in /proc/cpuinfo"


def machine(binaries: pathlib.Path) -> list[str]:
    cpu = "/sys/devices/system/cpu"
    clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    facts = {
        "CPU": cpu_model(),
        "CPUs": f"{os.cpu_count()} online, {len(os.sched_getaffinity(0))} usable here",
        "NUMA nodes": read_fact("/sys/devices/system/node/online"),
        "kernel": f"{os.uname().release} {os.uname().machine}",
        "sched_ext": read_fact("/sys/kernel/sched_ext/state"),
        "governor": read_fact(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "virtualisation": virtualisation(),
        "clocksource": read_fact(clock),
        "load before": read_fact("/proc/loadavg"),
        "schedload": first_line([str(binaries / "schedload"), "--version"]),
        "hackbench": first_line(["hackbench", "--help"], contains=" V "),
        "perf": first_line(["perf", "--version"]),
    }
    return ["| machine | |", "|---|---|", *(f"| {key} | {facts[key]} |" for key in facts)]


def section(case: Case, options: argparse.Namespace) -> tuple[list[str], bool]:
    """What is to be said about one case, and whether it could be run."""
    lines = [
        f"## {case.name}",
        "",
        f"{case.about[0].upper()}{case.about[1:]}.",
        "",
        f"- ours: `{' '.join(case.ours)}`",
        f"- peer: `{' '.join(case.peer)}`",
        "",
    ]
    try:
        pairs = run_pairs(case, options)
    except Failure as failure:
        progress("")
        return [*lines, f"Not compared: {failure}.", ""], False
    return [*lines, *table(case, pairs), ""], True


SECTIONS = {Case: section, memory.Case: memory.section, schbench.Case: schbench.section}


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compares schedload with its peers")
    parser.add_argument("--pairs", type=int, default=MIN_PAIRS, help="measured pairs (default 10)")
    parser.add_argument("-n", type=int, default=100_000, help="round trips of the pipe cases")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one run may take")
    parser.add_argument("--out", type=pathlib.Path, help="directory for a dated Markdown file")
    parser.add_argument(
        "--binaries", type=pathlib.Path, default=ROOT / "target/release", help="where ours are"
    )
    options = parser.parse_args()
    if options.pairs < MIN_PAIRS:
        parser.error(f"--pairs {options.pairs}: fewer than {MIN_PAIRS} say nothing")
    if options.n < 1:
        parser.error(f"-n {options.n}: at least one round trip")
    return options


def main() -> int:
    options = parse_options()
    every = [*cases(options.n), *memory.cases(), *schbench.cases()]
    chosen = [case for case in every if options.only in case.name]
    if not chosen:
        names = ", ".join(case.name for case in every)
        print(f"no case has `{options.only}` in its name; there are: {names}", file=sys.stderr)
        return 2
    today = datetime.date.today().isoformat()
    document = [
        f"# schedload and its peers, {today}",
        "",
        f"{options.pairs} pairs, ours and the peer in turn, after one that is discarded. A ratio "
        "is ours divided by the peer's: below 1, schedload takes less; of bytes/s, above 1, it is "
        "faster.",
        "",
        *machine(options.binaries),
        "",
    ]
    print("\n".join(document), flush=True)
    n_failed = 0
    for case in chosen:
        lines, compared = SECTIONS[type(case)](case, options)
        print("\n".join(lines), flush=True)
        document += lines
        n_failed += not compared
    if options.out:
        host = re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / f"{today}-{host}-peers.md"
        path.write_text("\n".join(document))
        print(f"written to {path}", file=sys.stderr)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
