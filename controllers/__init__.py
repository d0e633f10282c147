"""The operator: its settings and credentials, its kinds, and the parts that reconcile
them.
"""

from asoreconcile.base import extras

extras.require_extra("azure", "asoreconcile.azure.controllers")
