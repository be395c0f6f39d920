"""Integrations with other tools; each module imports its tool only when you use it."""
