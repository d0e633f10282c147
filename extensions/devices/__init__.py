"""Special cases of devices."""
