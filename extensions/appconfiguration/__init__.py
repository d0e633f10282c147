"""Special cases of appconfiguration."""
