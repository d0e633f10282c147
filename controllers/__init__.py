"""The operator: settings, credentials, and the kinds as data."""

from asoreconcile import extras

extras.need("azure", "asoreconcile.controllers")
