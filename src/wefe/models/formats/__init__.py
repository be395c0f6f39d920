"""Readers and writers of vectors, one small module per format.

A reader turns a file (or an object of another library) into a `VectorSource`; `_registry` tells
the formats apart. `wefe.models.load` and `convert` are what users call.
"""
