"""Special cases of cognitiveservices."""
