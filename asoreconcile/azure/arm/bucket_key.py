"""Keys of the rate limits that ARM applies: kind of request, and scope. Rules:
T1, T2.
"""

from enum import Enum
from functools import cached_property

import attrs


class OperationClass(Enum):
    """ARM's three kinds of requests; the value is the word in its headers."""

    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"

    @property
    def refill_per_second(self) -> float:
        """Requests per second for one principal that ARM allows once the bucket is
        empty (T2).
        """
        return 25.0 if self is OperationClass.READS else 10.0


_BY_METHOD = {
    "GET": OperationClass.READS,
    "HEAD": OperationClass.READS,
    "DELETE": OperationClass.DELETES,
}


def operation_class(method: str) -> OperationClass:
    """Return the kind of requests that a method belongs to.

    PUT, PATCH and POST are writes, HEAD is a read.
    """
    return _BY_METHOD.get(method, OperationClass.WRITES)


def _lower(text: str) -> str:
    return text.lower()


# Each request looks up several buckets by them, before it is sent and at its end.
@attrs.frozen(cache_hash=True)
class Bucket:
    """The key of one rate limit.

    subscription: "" for requests outside of a subscription.
    provider: the provider's namespace for a limit of the provider; "" for a limit of
    ARM (T1).
    resource: the path of a resource, for a limit of this resource alone; "" for all
    resources.
    """

    subscription: str = attrs.field(converter=_lower)
    operations: OperationClass
    provider: str = attrs.field(default="", converter=_lower)
    resource: str = attrs.field(default="", converter=_lower)

    @cached_property
    def arms(self) -> "Bucket":
        """The bucket of ARM itself that a request also counts against."""
        return Bucket(self.subscription, self.operations)

    @cached_property
    def providers(self) -> "Bucket":
        """The bucket of the provider that a request also counts against."""
        if not self.resource:
            return self
        return Bucket(self.subscription, self.operations, self.provider)

    def __str__(self) -> str:
        if self.resource:
            return f"{self.operations.value} of {self.resource}"
        whose = f" by {self.provider}" if self.provider else ""
        subscription = self.subscription or "(tenant)"
        return f"{self.operations.value} of subscription {subscription}{whose}"
