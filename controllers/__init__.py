"""The operator: settings, credentials, and the kinds as data."""

from asoreconcile.base import extras

extras.require_extra("azure", "asoreconcile.azure.controllers")
