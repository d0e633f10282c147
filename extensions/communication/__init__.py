"""Special cases of communication."""
