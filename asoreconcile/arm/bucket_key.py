"""What ARM meters together: kinds of requests, and whose they are. Rules: T1, T2."""

from enum import Enum
from functools import cached_property

import attrs


class OperationClass(Enum):
    """ARM's three kinds of requests; the value is the word in its headers.

    refill_per_second: as Microsoft states it, for one principal (T2).
    """

    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"

    @property
    def refill_per_second(self) -> float:
        """Requests a second that ARM allows once the bucket is empty (T2)."""
        return 25.0 if self is OperationClass.READS else 10.0


_BY_METHOD = {
    "GET": OperationClass.READS,
    "HEAD": OperationClass.READS,
    "DELETE": OperationClass.DELETES,
}


def operation_class(method: str) -> OperationClass:
    """Which bucket a method comes out of:

    PUT, PATCH and POST are writes, HEAD is a read.
    """
    return _BY_METHOD.get(method, OperationClass.WRITES)


def _lower(text: str) -> str:
    return text.lower()


# Each request looks up its gates by several of them, when it goes and when it is over.
@attrs.frozen(cache_hash=True)
class Bucket:
    """What is metered together.

    subscription: "" means requests under the tenant. provider: its namespace, for
    what the provider meters; "" for what ARM does (T1). resource: the path of one, for
    a request and what is refused to this resource alone; "" for all of them.
    """

    subscription: str = attrs.field(converter=_lower)
    operations: OperationClass
    provider: str = attrs.field(default="", converter=_lower)
    resource: str = attrs.field(default="", converter=_lower)

    @cached_property
    def arms(self) -> "Bucket":
        """The bucket of ARM itself that a request comes out of, too."""
        return Bucket(self.subscription, self.operations)

    @cached_property
    def providers(self) -> "Bucket":
        """The bucket of its provider that a request comes out of, too."""
        if not self.resource:
            return self
        return Bucket(self.subscription, self.operations, self.provider)

    def __str__(self) -> str:
        if self.resource:
            return f"{self.operations.value} of {self.resource}"
        whose = f" by {self.provider}" if self.provider else ""
        subscription = self.subscription or "(tenant)"
        return f"{self.operations.value} of subscription {subscription}{whose}"
