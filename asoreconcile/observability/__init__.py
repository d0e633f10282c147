"""Metrics and OpenTelemetry traces."""
