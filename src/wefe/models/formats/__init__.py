"""Readers and writers of vectors, one small module per format; `_registry` lists them."""
