"""Special cases of authorization: Role assignments."""
