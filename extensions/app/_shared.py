"""What the kinds of Container Apps share."""

from asoreconcile.middleware.factories import code, reclassify

# The environment comes late: a Warning, tried again soon.
ENVIRONMENT_IS_LATE = reclassify(code("ManagedEnvironmentNotProvisioned"))
