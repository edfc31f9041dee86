"""schedload-schbench beside schbench: the same command line, the same lines, the same numbers?

schbench is in no distribution: where none is on PATH there is nothing to compare. Its numbers vary
from run to run, so that what is asked is whether the middle of ours is one that it gives itself:
within its own lowest and highest. Must not know: how schedload works inside.
"""

import argparse
import dataclasses
import pathlib
import re
import shutil
import statistics

from tools import Failure, progress, run

# How long each run is.
RUN_S = 5
# KiB of matrices and multiplications in a request: schbench's own, short ones, long ones.
REQUESTS = ((256, 5), (16, 1), (1024, 10))
# schbench never writes its first two matrices. They are the kernel's one page of zeros then, which
# other caches and TLB entries hold than the footprint that was asked for, and this costs other time
# (AMD EPYC, 1 MiB: 5.1 ms for a multiplication, 3.9 ms with pages). With this glibc's malloc writes
# them.
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.perturb=85"}
# A block of its lines and the percentile in it, or the line that has the number alone.
MEASURES = {
    "wakeup p50, us": ("Wakeup Latencies", "50.0th"),
    "wakeup p99, us": ("Wakeup Latencies", "99.0th"),
    "request p50, us": ("Request Latencies", "50.0th"),
    "request p99, us": ("Request Latencies", "99.0th"),
    "average rps": ("average rps", ""),
}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    flags: list[str]


def cases() -> list[Case]:
    def case(kib: int, n: int) -> Case:
        flags = f"-m 1 -t 2 -F {kib} -n {n}"
        return Case(f"schbench {flags}", f"{flags} -r {RUN_S}".split())

    return [case(kib, n) for kib, n in REQUESTS]


def numbers(text: str) -> dict[str, float]:
    """Those of the last blocks, which are of the whole run."""

    def number(block: str, row: str) -> float:
        at = text.rfind(block)
        # A block is its line and the rows under it, which begin with a tab.
        rows = re.compile(r".*\n?(?:\t.*\n?)*").match(text, max(at, 0))
        pattern = rf"^\t[* ] {re.escape(row)}: (\d+)" if row else r"^average rps: ([0-9.]+)"
        match = re.search(pattern, rows.group() if rows else "", re.MULTILINE)
        if at < 0 or match is None:
            raise Failure(f"no {row or 'number'} of `{block}` among its lines")
        return float(match.group(1))

    return {name: number(*place) for name, place in MEASURES.items()}


def measured(argv: list[str], limit_s: float, **environment: str) -> dict[str, float]:
    found: dict[str, float] = {}

    def read(text: str) -> float:
        found.update(numbers(text))
        return found["average rps"]

    run(argv, read, limit_s, **environment)
    return found


def section(case: Case, options: argparse.Namespace) -> tuple[list[str], bool]:
    """What is to be said about one case, and whether it could be run if it can be at all."""
    lines = [f"## {case.name}", ""]
    if shutil.which("schbench") is None:
        return [*lines, "Skipped: there is no schbench on PATH.", ""], True
    program = str(options.binaries / "schedload-schbench")
    pairs = []
    try:
        for pair in range(options.pairs + 1):
            progress(f"{case.name}: pair {pair} of {options.pairs}")
            ours = measured([program, *case.flags], options.limit)
            theirs = measured(["schbench", *case.flags], options.limit, **ENVIRONMENT)
            pairs.append((ours, theirs))
    except Failure as failure:
        progress("")
        return [*lines, f"Not compared: {failure}.", ""], False
    progress("")
    shown = pathlib.Path(program).name
    setting = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
    lines += [f"`{' '.join(case.flags)}`, of `{shown}` and of `{setting} schbench`.", ""]
    return [*lines, *table(pairs[1:]), ""], True


def table(pairs: list[tuple[dict[str, float], dict[str, float]]]) -> list[str]:
    lines = [
        "| measure | ours, median (lowest to highest) | peer, median (lowest to highest) "
        "| ratio in pairs, median | lowest | highest | ours within the peer's spread |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for name in MEASURES:
        ours, theirs = ([pair[which][name] for pair in pairs] for which in (0, 1))
        cells = [name, *(spread(values) for values in (ours, theirs))]
        if min(theirs) > 0:
            ratios = [a / b for a, b in zip(ours, theirs)]
            cells += [f"{f(ratios):.3f}" for f in (statistics.median, min, max)]
        else:
            cells += ["unknown: the peer's is 0"] * 3
        within = min(theirs) <= statistics.median(ours) <= max(theirs)
        lines.append(f"| {' | '.join([*cells, 'yes' if within else 'no'])} |")
    return lines


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"
