"""The root of the exceptions, and the retry that each one asks for.

    AsoreconcileError
    ├── TerminalError      do not retry: only a change of the object helps
    ├── RetryError         retry after a stated time
    └── StoppedError       the process is shutting down; the work is not done. Counts
                           only if the part that meets it is stopping (`is_own_stop`)

Other packages add subclasses (`kube.errors.ApiError` and others). The class decides the
retry; no code matches message texts.
"""

import math
import threading
from typing import Any, TypeVar

E = TypeVar("E", bound=BaseException)


class AsoreconcileError(Exception):
    """Base class of all errors that this project raises on purpose.

    Its subclasses can be copied and pickled, whatever their constructors require.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make the error again, without its constructor."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(cls: type[E], arguments: tuple[Any, ...], state: dict[str, Any]) -> E:
    made = cls.__new__(cls, *arguments)
    made.__dict__.update(state)
    return made


class TerminalError(AsoreconcileError):
    """A failure that only a change of the object can fix; clears the back-off."""


class RetryError(AsoreconcileError):
    """Retry, not before `after_seconds` have passed."""

    def __init__(self, message: str, *, after_seconds: float) -> None:
        """Raises TypeError or ValueError if after_seconds is not a number of
        seconds.
        """
        super().__init__(message)
        check_seconds("after_seconds", after_seconds)
        self.after_seconds = after_seconds


class StoppedError(AsoreconcileError):
    """The process is stopping; the caller must return without recording anything."""


def is_own_stop(error: BaseException, *stopping: threading.Event) -> bool:
    """Return whether an error only says that this part of the process is stopping.

    A StoppedError alone does not: the client of another application may have raised it,
    and ending in silence would end the work for good.
    """
    is_stopping = any(one.is_set() for one in stopping)
    return is_stopping and in_chain(error, StoppedError) is not None


def check_seconds(name: str, value: object) -> None:
    """Check a duration when it is passed in, because a later error would not show its
    origin.

    Raises TypeError if it is not a number, such as a timedelta or True, and ValueError
    for NaN, which does not compare. Pure.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r:.80}: give a number of seconds")
    if math.isnan(value):
        raise ValueError(f"{name} is not a number: give a number of seconds")


def check_number(
    name: str, value: object, *, least: float, above: bool = False
) -> None:
    """Validate a number against a lower limit. Pure.

    Raises TypeError if it is not a number, and ValueError if it is below `least`, or
    equal to `least` although `above` is true.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r:.80}: give a number")
    if math.isnan(value):
        raise ValueError(f"{name} is not a number: give one")
    if not (value > least if above else value >= least):
        wanted = f"more than {least:g}" if above else f"{least:g} or more"
        raise ValueError(f"{name} is {value!r:.80}: give {wanted}")


def check_is(name: str, value: object, *classes: type) -> None:
    """Check the class of an option when it is passed in, rather than fail with a later
    AttributeError.

    Raises TypeError if it is an instance of none of the classes. Pure.
    """
    if not isinstance(value, classes):
        wanted = " or ".join(one.__name__ for one in classes)
        raise TypeError(f"{name} is {value!r:.80}: give {wanted}")


def check_choice(name: str, value: object, *choices: object) -> None:
    """Check that a value is one of a few. Raises ValueError, which names them. Pure."""
    if value not in choices or isinstance(value, bool) != isinstance(choices[0], bool):
        wanted = ", ".join(map(repr, choices))
        raise ValueError(f"{name} is {value!r:.80}: give one of {wanted}")


def check_text(name: str, value: object, *, most: int | None = None) -> None:
    """Check that a value is a string on one line that is not empty. Pure.

    most: the most characters. Raises TypeError or ValueError.
    """
    check_is(name, value, str)
    text = str(value)
    if not text or not text.isprintable():
        raise ValueError(f"{name} is {value!r:.80}: give a text on one line")
    if most is not None and len(text) > most:
        raise ValueError(f"{name} has {len(text)} characters: give {most} at most")


def check_list(name: str, value: object) -> None:
    """Check that a value is a list of strings, not a string. Raises TypeError for a
    string where a list of strings is expected: each letter would count as an item.
    Pure.
    """
    if isinstance(value, str):
        raise TypeError(f"{name} is {value!r:.80}: give a list")


def in_chain(error: BaseException, wanted: type[E] | tuple[type[E], ...]) -> E | None:
    """Return the first error of a class among an error and its causes (`raise ...
    from`).
    """
    link: BaseException | None = error
    seen = set()  # `raise error from error` makes a cycle
    while link is not None and id(link) not in seen:
        if isinstance(link, wanted):
            return link
        seen.add(id(link))
        link = link.__cause__
    return None
