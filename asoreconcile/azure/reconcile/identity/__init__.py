"""The Azure resource that an object represents."""
