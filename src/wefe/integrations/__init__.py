"""Adapters to other tools: each module imports its tool only when you use it."""
