"""A write is shown to webhooks before it is stored: to which, and what they answer."""
