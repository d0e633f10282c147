"""What the kinds of Azure Cosmos DB share."""

from asoreconcile.middleware.factories import code, reclassify

# The account is being made: a Warning, tried again soon.
ACCOUNT_IS_LATE = reclassify(code("BadRequest"))
