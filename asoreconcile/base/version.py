"""The version, read by the build and put into User-Agent and labels."""

__version__ = "0.1.0"
