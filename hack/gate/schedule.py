"""Runs stages, two at a time where each of them leaves a core idle.

Stages start in their order. After a failure no further stage starts, and those that
run go on to their end. Each stage is a group of processes; an interrupted run ends the
groups that it started.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Self

from gate import results

LOGS = Path("dist", "ci")
# How many stages run at once that leave a core idle.
AT_ONCE = 2
# How long an interrupted stage may take to end before it is killed.
END_SECONDS = 20.0
# Python handles a signal that comes just before a thread waits after the wait.
_LOOK_SECONDS = 0.5
# Ctrl-C raises an exception anyway.
_INTERRUPTS = (signal.SIGTERM, signal.SIGHUP)
Environment = Mapping[str, str]


@dataclass(frozen=True)
class Stage:
    """One stage.

    command: words of the command. about: the subject, for the list of stages. quiet: if
    true, its output is printed only if it fails. tool: if true, it only fetches or
    builds a program that tests skip without, so its failure is a skip. shares: if true,
    it leaves a core idle, and may run at the same time as another such stage. more:
    variables of its environment. needs: returns why the stage cannot run here, or
    variables that it needs.
    """

    name: str
    command: tuple[str, ...]
    about: str
    quiet: bool = False
    tool: bool = False
    shares: bool = False
    more: Environment = field(default_factory=dict)
    needs: Callable[[Path], str | Environment] | None = None


@dataclass
class Done:
    """The end of a stage. skipped: why it did not run. failed: its exit code, or 0."""

    skipped: str = ""
    failed: int = 0
    seconds: float = 0.0


class Turn:
    """The turn of one stage: its output as it comes, and its end.

    done: None until the stage ends, and for a stage that never runs.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.done: Done | None = None
        self.process: subprocess.Popen[str] | None = None
        self._output: SimpleQueue[str | None] = SimpleQueue()

    @property
    def has_failed(self) -> bool:
        """Return whether the stage ran and failed."""
        return self.done is not None and self.done.failed != 0

    def line(self) -> str:
        """Return the stage's line of the table."""
        if self.done is None:
            return f"{self.stage.name:<12}         -  not run"
        outcome = "passed"
        if self.done.skipped:
            outcome = f"SKIPPED: {self.done.skipped}"
        elif self.done.failed:
            outcome = f"FAILED (exit code {self.done.failed})"
        return f"{self.stage.name:<12} {self.done.seconds:7.1f} s  {outcome}"

    def say(self, text: str) -> None:
        """Add output."""
        self._output.put(text)

    def end(self, done: Done | None) -> None:
        """Say that no more output comes."""
        self.done = done
        self._output.put(None)

    def output(self) -> Iterator[str]:
        """Yield the output. Blocks until the stage ends or will not run."""
        while True:
            try:
                text = self._output.get(timeout=_LOOK_SECONDS)
            except Empty:
                continue
            if text is None:
                return
            yield text


class Schedule:
    """The turns of a run. Use as a context manager: its end ends all that still runs.

    The main thread enters the block and prints; each stage has a thread of its own.
    """

    def __init__(self, stages: Sequence[Stage], root: Path, found: Path) -> None:
        """found: the folder of results of pytest; each stage gets a folder in it."""
        self.turns = [Turn(stage) for stage in stages]
        self._root = root
        self._found = found
        self._changed = threading.Condition()
        self._running: list[Turn] = []
        self._is_closed = False  # no further stage starts
        self._is_interrupted = False  # a stage that started starts no process
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in _INTERRUPTS:
            self._handlers[number] = signal.signal(number, _interrupted)
        return self

    def __exit__(self, *exc: object) -> None:
        for number in _INTERRUPTS:
            signal.signal(number, signal.SIG_IGN)
        self._end_all()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def start(self) -> None:
        """Start the stages in their order, in a thread. Called once, in the block."""
        threading.Thread(target=self._start_all, daemon=True).start()

    def _start_all(self) -> None:
        for turn in self.turns:
            with self._changed:
                while not (self._is_closed or self._has_place(turn.stage)):
                    self._changed.wait()
                if self._is_closed:
                    turn.end(None)
                    continue
                self._running.append(turn)
            turn.say(f"==> {turn.stage.name}: {turn.stage.about}\n")
            threading.Thread(target=self._run, args=(turn,), daemon=True).start()

    def _has_place(self, stage: Stage) -> bool:
        others = [turn.stage for turn in self._running]
        if not others:
            return True
        return len(others) < AT_ONCE and all(one.shares for one in [stage, *others])

    def _run(self, turn: Turn) -> None:
        began = time.monotonic()
        done = Done(failed=1)  # of a stage that raises
        try:
            done = self._done(turn)
        finally:
            done.seconds = time.monotonic() - began
            with self._changed:
                self._running.remove(turn)
                self._is_closed |= bool(done.failed)
                self._changed.notify_all()
            turn.end(done)

    def _done(self, turn: Turn) -> Done:
        """Run a stage, and return its end."""
        stage = turn.stage
        log = self._root / LOGS / f"{stage.name}.log"
        with log.open("w") as kept:
            needed = stage.needs(self._root) if stage.needs else {}
            if isinstance(needed, str):
                return Done(skipped=needed)
            process = self._process(turn, needed)
            if process is None:
                return Done(failed=1)
            with process:
                assert process.stdout is not None
                for line in process.stdout:
                    kept.write(line)
                    if not stage.quiet:
                        turn.say(line)
        code = process.returncode
        if code and stage.tool:
            return Done(skipped=last_line(log.read_text()))
        if code and stage.quiet:
            turn.say(log.read_text())
        return Done(failed=code)

    def _process(
        self, turn: Turn, needed: Environment
    ) -> "subprocess.Popen[str] | None":
        """Start a stage's process, unless the run was interrupted."""
        stage = turn.stage
        found = self._found / stage.name
        found.mkdir(exist_ok=True)
        more = {**stage.more, **needed, results.FOLDER_VARIABLE: str(found)}
        with self._changed:
            if not self._is_interrupted:
                turn.process = subprocess.Popen(
                    [self._root / stage.command[0], *stage.command[1:]],
                    cwd=self._root,
                    env={**os.environ, **more},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    process_group=0,
                )
        return turn.process

    def _end_all(self) -> None:
        """End the stages that run, with their children. Blocks until they ended."""
        with self._changed:
            self._is_closed = self._is_interrupted = True
            self._changed.notify_all()
            for number in (signal.SIGTERM, signal.SIGKILL):
                for turn in self._running:
                    if turn.process is not None:
                        with suppress(ProcessLookupError):
                            os.killpg(turn.process.pid, number)
                if self._changed.wait_for(lambda: not self._running, END_SECONDS):
                    return


def _interrupted(number: int, _frame: FrameType | None) -> None:
    """Leave the block of the schedule, in the main thread."""
    sys.exit(128 + number)


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return ([line for line in text.splitlines() if line.strip()] or ["no reason"])[-1]
