"""How a resource type answers writes and polls: values only.

Every W and L rule that is a provider's own habit is a field here; `styles` holds which
provider has which.
"""

from typing import Literal, Self

import attrs

# async: Azure-AsyncOperation. location: Location of the operation's result. self: the
# resource itself, relative (W5). resource: the resource itself, absolute, and foreign:
# on another host, both beside an async one (W11).
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
    """The answer to a write. state: the provisioningState that it shows, "" for none.
    retry_after: seconds, growing from poll to poll if there are several (W12); none
    sends no header.
    """

    status: int
    monitors: tuple[Monitor, ...] = ()
    retry_after: tuple[int, ...] = ()
    state: str = ""
    body: AnswerBody = "resource"

    @classmethod
    def of(cls, text: str) -> Self:
        """Read `201 A+L 15,30 Creating op`: status first, the others as they occur.

        A word is a monitor, a number Retry-After, `op`, `empty`, `null` or `object` a
        body, anything else the state. Raises ValueError.
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
        """Whether the write begins an operation."""
        has_monitor = "async" in self.monitors or "location" in self.monitors
        return has_monitor or self.state.lower() not in ("", "succeeded")


def _answer(value: str | Answer) -> Answer:
    return Answer.of(value) if isinstance(value, str) else value


@attrs.frozen
class MonitorStyle:
    """What monitors look like.

    place: below `locations` of the subscription, below the group or the resource (both
    go with it, L29), or the resource's own path with a query (W7). paths: of the async
    monitor and of the location, with {id} and {name} or the id behind. shared: both on
    one path, distinguished by a query (W9). signed: with a signature that is another at
    each poll; renewed: whether polls send it: on each, on every other one, or never
    (W10). poll_status: of a running async monitor (W8).
    """

    place: Literal["locations", "group", "resource", "query"] = "locations"
    paths: tuple[str, str] = ("operations", "operationResults")
    shared: bool = False
    signed: bool = True
    renewed: Literal["each", "some", "never"] = "never"
    poll_status: int = 200


@attrs.frozen
class Style:
    """One type's way. create, update, delete: answers, or their text (`Answer.of`).

    done: the state of a resource at rest, "" for types without any. words: what an
    async monitor says while it runs, one after the other, the last for ever (L13).
    report: what it holds beside the status: nothing, a name and times, an id too, or an
    `error` that is none (L24). seconds: how long operations take, instead of the
    server's. polls: they end at this poll, instead of at a time (W25). lingers_seconds:
    how long the state stays busy after the operation's success (W16). keeps_failed:
    whether a failed create leaves a resource (L25).
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

    # Reads and identities.
    readable: bool = True  # W19: False answers GET with 405
    casing: tuple[str, ...] = ()  # W22: how parts of the id come back
    shouts_subscription: bool = False  # W22: upper case, as action groups
    other_id: str = ""  # W22: the id shown, {subscription}, {group}, {name}, {made_up}
    etag: Literal["", "weak", "strong", "bare"] = ""  # H3; bare: without quotes
    etag_in_header: Literal["always", "reads", "never"] = "always"
    etag_in_body: bool = False

    # Refusals.
    envelope: str = "arm"  # W21: one of `envelopes`
    absent: str = ""  # the provider's own code of a 404; "" lets ARM answer it
    absent_delete: int = 204  # or 404 (V5)
    orphan: Literal["ParentResourceNotFound", "ResourceNotFound"] = (
        "ParentResourceNotFound"
    )
    delete_needs_match: bool = False  # DE4
    is_exclusive: bool = False  # W17: one write below a parent at a time
