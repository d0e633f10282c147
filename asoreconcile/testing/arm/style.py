"""The way in which a resource type answers writes and polls, as values.

Each W and L rule that is a habit of one provider is a field here. `styles` lists which
provider has which.
"""

from typing import Literal, Self

import attrs

# async: Azure-AsyncOperation. location: Location of the operation's result. self: the
# resource itself, relative (W5). resource: the resource itself, absolute. foreign: the
# resource on another host. The last two come together with an async one (W11).
Monitor = Literal["async", "location", "self", "resource", "foreign"]
AnswerBody = Literal["resource", "operation", "empty", "null", "object"]
_MONITORS: dict[str, Monitor] = {
    "A": "async",
    "L": "location",
    "self": "self",
    "resource": "resource",
    "foreign": "foreign",
}
_BODIES: dict[str, AnswerBody] = {
    "op": "operation",
    "empty": "empty",
    "null": "null",
    "object": "object",
}


@attrs.frozen
class Answer:
    """The answer to a write.

    monitors: kinds of URLs for polling.
    retry_after: seconds. If there are several, they are sent with one poll after the
    other (W12). If there are none, the header is not sent.
    state: the provisioningState in the body; "" if there is none.
    """

    status: int
    monitors: tuple[Monitor, ...] = ()
    retry_after: tuple[int, ...] = ()
    state: str = ""
    body: AnswerBody = "resource"

    @classmethod
    def of(cls, text: str) -> Self:
        """Read `201 A+L 15,30 Creating op`: the status, then other words in any order.

        A word is a monitor, a number is Retry-After, `op`, `empty`, `null` or `object`
        is a body, and anything else is the state. Raises ValueError.
        """
        status, *words = text.split()
        answer = cls(int(status))
        for word in words:
            names = word.split("+")
            if names[0] in _MONITORS:
                monitors = tuple(_MONITORS[name] for name in names)
                answer = attrs.evolve(answer, monitors=monitors)
            elif word[0].isdigit():
                seconds = tuple(int(part) for part in word.split(","))
                answer = attrs.evolve(answer, retry_after=seconds)
            elif word in _BODIES:
                answer = attrs.evolve(answer, body=_BODIES[word])
            else:
                answer = attrs.evolve(answer, state=word)
        return answer

    @property
    def is_slow(self) -> bool:
        """Return whether the write begins an operation."""
        has_monitor = "async" in self.monitors or "location" in self.monitors
        return has_monitor or self.state.lower() not in ("", "succeeded")


def _answer(value: str | Answer) -> Answer:
    return Answer.of(value) if isinstance(value, str) else value


@attrs.frozen
class MonitorStyle:
    """The URLs and statuses of monitors.

    place: below `locations` of the subscription, below the group or the resource (and
    deleted with it, L29), or the resource's own path with a query (W7).
    paths: paths of the async monitor and of the location, with {id} and {name}, or with
    the id at the end.
    shared: whether both have one path and differ by a query (W9).
    signed: whether URLs have a signature, which changes with each poll.
    renewed: whether polls send the URL: each poll, every other poll, or never (W10).
    poll_status: status of a running async monitor (W8).
    """

    place: Literal["locations", "group", "resource", "query"] = "locations"
    paths: tuple[str, str] = ("operations", "operationResults")
    shared: bool = False
    signed: bool = True
    renewed: Literal["each", "some", "never"] = "never"
    poll_status: int = 200


@attrs.frozen
class Style:
    """The behaviour of one resource type.

    create, update, delete: answers, or their text (`Answer.of`).
    done: state of a resource without a running operation; "" for types without states.
    words: statuses of a running async monitor, one after the other; the last one is
    repeated (L13).
    report: further contents of an async monitor: none, a name and times, also an id, or
    an `error` although there is none (L24).
    seconds: duration of operations, in place of the server's.
    polls: number of the poll at which operations end, in place of a duration (W25).
    lingers_seconds: time for which the state looks busy after the operation's success
    (W16).
    keeps_failed: whether a failed create leaves a resource (L25).
    """

    create: Answer = attrs.field(converter=_answer)
    update: Answer = attrs.field(converter=_answer)
    delete: Answer = attrs.field(converter=_answer)
    monitors: MonitorStyle = MonitorStyle()
    done: str = "Succeeded"
    words: tuple[str, ...] = ("InProgress",)
    report: Literal["status", "name", "id", "error"] = "status"
    seconds: float | None = None
    polls: int | None = None
    lingers_seconds: float = 0.0
    keeps_failed: bool = True

    # Fields about reads and ids.
    readable: bool = True  # W19: if false, GET answers 405
    casing: tuple[str, ...] = ()  # W22: spelling of parts of the id in answers
    shouts_subscription: bool = False  # W22: in upper case, as for action groups
    other_id: str = ""  # W22: id in answers: {subscription}, {group}, {name}, {made_up}
    etag: Literal["", "weak", "strong", "bare"] = ""  # H3; bare: without quotes
    etag_in_header: Literal["always", "reads", "never"] = "always"
    etag_in_body: bool = False

    # Fields about refusals.
    envelope: str = "arm"  # W21: one of `envelopes`
    absent: str = ""  # the provider's code of a 404; if "", ARM answers
    absent_delete: int = 204  # or 404 (V5)
    orphan: Literal["ParentResourceNotFound", "ResourceNotFound"] = (
        "ParentResourceNotFound"
    )
    delete_needs_match: bool = False  # DE4
    is_exclusive: bool = False  # W17: one write below a parent at a time
