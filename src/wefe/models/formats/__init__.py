"""Readers and writers of vectors, one small module per format.

A reader turns a file (or an object of another library) into a `VectorSource`, which knows its
words and hands out blocks of vectors, selected vectors, or a table that is there already.
`_detect` tells the formats apart; `wefe.models.load` and `convert` are what users call.
"""
