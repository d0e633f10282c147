"""Code that the kinds of Azure Cosmos DB share."""

from asoreconcile.azure.middleware.factories import code, reclassify

# The account is being created: a Warning, retried soon.
ACCOUNT_IS_LATE = reclassify(code("BadRequest"))
