"""Code that the kinds of Container Apps share."""

from asoreconcile.azure.middleware.factories import code, reclassify

# The environment is not ready yet: a Warning, retried soon.
ENVIRONMENT_IS_LATE = reclassify(code("ManagedEnvironmentNotProvisioned"))
