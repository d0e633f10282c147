"""Special cases of redhatopenshift."""
