"""Compilation of plain Python rules to machine code, and random streams. Independent of TCP."""
