"""The senders of a running Linux kernel beside ours, on the same paths.

`cases` says which; `path` and `hosts` run the kernel's, `record` keeps them as data, `compare` runs
ours and holds the two together.
"""
