"""Keno's pages, settings and API."""

__version__ = "0.2.0"
