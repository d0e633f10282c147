"""The operator: settings, credentials, and the kinds as data."""

from asoreconcile.base import extras

extras.need("azure", "asoreconcile.azure.controllers")
