"""CEL: CRDs' validation rules and webhooks' match conditions, checked and evaluated."""
