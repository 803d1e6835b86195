"""How plain Python rules become machine code, and random streams. Knows no TCP."""
