"""Comparison of the senders of a running Linux kernel with ours, on the same paths.

`cases` defines the scenarios; `path` and `hosts` run the kernel's senders, `record` stores their
runs as data, and `compare` runs ours and compares both.
"""
