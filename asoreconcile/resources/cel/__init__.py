"""CEL in CRDs: the engine, and the checks of rules that a schema states."""
