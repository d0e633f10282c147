"""State of the whole process, which is restored after each test.

Otherwise the result of a test would depend on earlier tests in the same worker.
Commands that run in a test set up their process: logging, the interpreter's switch
interval.
"""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_OF_PYTEST = "PYTEST_CURRENT_TEST"


@contextmanager
def kept() -> Iterator[None]:
    """Restore the state when the block ends."""
    levels, handlers = _levels(), list(logging.root.handlers)
    interval, path, folder = sys.getswitchinterval(), list(sys.path), Path.cwd()
    environment = _environment()
    signals = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    for name, level in _levels().items():
        if level != (before := levels.get(name, logging.NOTSET)):
            logging.getLogger(name).setLevel(before)
    for handler in logging.root.handlers[:]:
        if handler not in handlers:
            logging.root.removeHandler(handler)
    sys.path[:] = path
    if sys.getswitchinterval() != interval:
        sys.setswitchinterval(interval)
    if Path.cwd() != folder:
        os.chdir(folder)
    if (changed := _environment()) != environment:
        for name in changed.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
    for number, action in signals.items():
        if signal.getsignal(number) is not action:
            signal.signal(number, action)


def _levels() -> dict[str, int]:
    """Return the levels of all loggers, by name."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    return {one.name: one.level for one in loggers if isinstance(one, logging.Logger)}


def _environment() -> dict[str, str]:
    return {name: v for name, v in os.environ.items() if name != _OF_PYTEST}
