"""The bounds of all foreign text that the operator reads, by source.

Azure's own limits, rounded up, or several times what is usual. Strings of a spec that
are not listed here have no bound; they meet no pattern that can be slow
(`base.patterns`).
"""

from asoreconcile.base.foreign_text import NAME as _NAME
from asoreconcile.base.foreign_text import LengthBound

PERSONS_ANNOTATION = LengthBound("an annotation", 4 << 10)
"""The value of an annotation that people write."""

RECORD = LengthBound("a record of the operator", 32 << 10)
"""The value of an annotation that operators write. A resume token with two monitors has
7.8 kB.
"""

ALLOWED_LIST = LengthBound("a list of what a Namespace may write", 64 << 10)
"""The value of `allowed-scopes` or `allowed-types`."""

ARM_ID = LengthBound("an ARM id", 2 << 10)
"""An ARM id, or a path of Azure's API."""

NAME = _NAME
"""The name of a resource, or of a type: one segment of an ARM id."""

LOCATION = LengthBound("a location", 128)
"""The location of a resource."""

FOREIGN_MESSAGE = LengthBound("a message", 16 << 10)
"""The text of a condition, or of an error of Azure, Graph or a sign-in."""

ANSWER_VALUE_BYTES = 256 << 20
"""Memory that the values of one answer of Azure may take (`base.json_size`)."""

CREDENTIAL = LengthBound("a value of a credential", 256 << 10)
"""One value of a Secret that holds a credential, such as a certificate."""

SCALAR = LengthBound("a value", 256 << 10)
"""A scalar of YAML text that a command reads, if its type follows from a pattern."""
