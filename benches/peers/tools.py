"""Running a tool to its end, and what that took.

Must not know: which tools there are, what is compared.
"""

import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable


class Failure(Exception):
    """A tool could not be run or did not say what it should."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """What one run of a tool took."""

    own_s: float  # The time the tool itself reports for the work.
    wall_s: float  # From its start to its end, its children's included.
    cpu_s: float  # User and system time of all its processes.
    switches: float  # Voluntary and involuntary, of all its processes.


def run(
    argv: list[str], read_own: Callable[[str], float], limit_s: float, **environment: str
) -> Sample:
    """Runs a command to its end, with this in its environment; its resources are from wait4."""
    shown = " ".join(argv)
    with tempfile.TemporaryFile("w+") as output:
        begin = time.perf_counter()
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C", **environment},
                start_new_session=True,
            )
        except OSError as error:
            raise Failure(f"{argv[0]} did not start: {error.strerror}") from error
        too_long = threading.Event()

        def end_it() -> None:
            too_long.set()
            os.killpg(child.pid, signal.SIGKILL)

        alarm = threading.Timer(limit_s, end_it)
        alarm.start()
        try:
            # Not reaped yet, so that the alarm never finds another process in its place.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            alarm.cancel()
            alarm.join()
            wall_s = time.perf_counter() - begin
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if too_long.is_set():
        raise Failure(f"`{shown}` took longer than {limit_s:.0f} s and was killed")
    if child.returncode != 0:
        last = (text.strip().splitlines() or ["no output"])[-1]
        raise Failure(f"`{shown}` ended with {child.returncode}: {last}")
    return Sample(
        own_s=read_own(text),
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        switches=usage.ru_nvcsw + usage.ru_nivcsw,
    )


def compile_c(source: pathlib.Path, program: pathlib.Path, flags: list[str]) -> None:
    if shutil.which("gcc") is None:
        raise Failure("gcc was not found: scripts/setup bench-peers installs it")
    argv = ["gcc", *flags, str(source), "-o", str(program)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"gcc ended with {done.returncode}: {done.stderr.strip()[-200:]}")


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
