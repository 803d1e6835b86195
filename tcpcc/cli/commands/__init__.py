"""The verbs of the command: each module has `arguments(parser)` and `run(options)`."""
