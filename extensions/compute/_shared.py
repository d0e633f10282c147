"""Code that the kinds of Compute share."""

from asoreconcile.azure.middleware.factories import code, reclassify

# Quota: it may be raised, or freed by others. A Warning, retried soon.
QUOTA_MAY_GROW = reclassify(code("OperationNotAllowed"))
