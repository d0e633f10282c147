"""Code that the kinds of Service Bus share."""

API_VERSION = "2021-11-01"
