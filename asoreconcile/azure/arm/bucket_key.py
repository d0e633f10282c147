"""Which requests ARM counts together: by kind of request and by subscription or
resource. Rules: T1, T2.
"""

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
    """The class of a method:

    PUT, PATCH and POST are writes, HEAD is a read.
    """
    return _BY_METHOD.get(method, OperationClass.WRITES)


def _lower(text: str) -> str:
    return text.lower()


# Each request looks up several buckets by them, before it is sent and at its end.
@attrs.frozen(cache_hash=True)
class Bucket:
    """The requests that share one limit.

    subscription: "" means requests under the tenant. provider: its namespace, for the
    provider's limits; "" for ARM's (T1). resource: the path of one resource, for a
    request and for refusals of this resource alone; "" for all.
    """

    subscription: str = attrs.field(converter=_lower)
    operations: OperationClass
    provider: str = attrs.field(default="", converter=_lower)
    resource: str = attrs.field(default="", converter=_lower)

    @cached_property
    def arms(self) -> "Bucket":
        """ARM's own bucket for the request."""
        return Bucket(self.subscription, self.operations)

    @cached_property
    def providers(self) -> "Bucket":
        """The provider's bucket for the request."""
        if not self.resource:
            return self
        return Bucket(self.subscription, self.operations, self.provider)

    def __str__(self) -> str:
        if self.resource:
            return f"{self.operations.value} of {self.resource}"
        whose = f" by {self.provider}" if self.provider else ""
        subscription = self.subscription or "(tenant)"
        return f"{self.operations.value} of subscription {subscription}{whose}"
