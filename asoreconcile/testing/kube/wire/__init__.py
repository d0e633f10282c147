"""The wire formats: bodies are read, answers and refusals written, webhooks called.

This folder looks up no objects and knows no kinds or rules.
"""
