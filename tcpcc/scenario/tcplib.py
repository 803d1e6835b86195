"""Conversations from tcplib: TELNET, FTP, NNTP and SMTP traffic of 1991.

Source: P. B. Danzig, S. Jamin, "tcplib: A library of TCP internetwork traffic characteristics",
Technical Report USC-CS-91-495, 1991. tcplib consists of tables of distribution functions measured
at the University of Southern California; values between two entries are uniformly distributed. Each
table here has 14 to 30 points of the original (up to 802 points). The error of the distribution
function is at most a few hundredths.

Brakmo and Peterson (JSAC 1995) use it in their protocol TRAFFIC: conversations have exponential
interarrival times; each has one type, its own TCP connection, and parameters drawn from tcplib's
distributions.

Differences from tcplib
    A conversation sends only from the source to the target. The other direction (the echo of a
    TELNET key, FTP's control segments, whose sizes tcplib has) can be a second workload with source
    and target exchanged.
    An item is sent in whole packets. The median TELNET packet has one byte; TELNET therefore has
    packets of 64 bytes, including 40 bytes of header.
    FTP's items follow each other immediately on the conversation's one connection, as in TRAFFIC;
    in FTP each item has its own connection.
"""

from __future__ import annotations

from tcpcc.scenario.distributions import Empirical
from tcpcc.scenario.workload import Conversation

SOURCE = "Danzig, Jamin 1991"

TELNET = Conversation(
    name="telnet",
    share=0.0612,
    size=Empirical(
        [1, 2, 3, 10, 20, 40, 80, 83, 150, 254, 510, 511, 535, 1024],
        [.628, .749, .79, .846, .872, .901, .935, .943, .955, .964, .979, .98, .997, 1],
    ),
    gap=Empirical(
        [0.0006, 0.0011, 0.003, 0.0086, 0.025, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7,
         0.99, 1, 1.5, 2, 3, 5, 10, 20, 60, 240, 1140],
        [0, .008, .033, .045, .056, .081, .125, .179, .285, .428, .533, .599, .687, .741, .796,
         .844, .856, .895, .917, .941, .966, .981, .99, .998, .999, 1],
    ),
    waits=False,
    lasting=Empirical(
        [0.001, 1, 5.1, 10, 20, 40, 58, 60, 90, 180, 300, 600, 1200, 1800, 3000, 3600, 4800, 6900,
         7200],
        [.026, .041, .085, .118, .169, .252, .299, .324, .404, .513, .604, .715, .828, .885, .949,
         .967, .976, .989, 1],
    ),
    packet_size=64,
    header=40,
)  # fmt: skip
"""Typed keys and lines: packet size, time between packets, duration."""

FTP = Conversation(
    name="ftp",
    share=0.0216,
    items=Empirical(
        [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 44, 60, 139, 347],
        [.164, .332, .476, .574, .62, .683, .744, .81, .881, .926, .97, .987, .995, .998, 1],
    ),
    size=Empirical(
        [0, 30, 100, 200, 365, 500, 510, 1010, 1030, 2030, 2540, 2600, 5000, 10000, 20000, 42000,
         65000, 95000, 100000, 200000, 500000, 1050000, 2200000, 3700000, 22050000],
        [.001, .09, .193, .28, .357, .432, .513, .551, .594, .65, .677, .705, .755, .792, .846, .9,
         .925, .939, .954, .97, .989, .996, .998, .999, 1],
    ),
)  # fmt: skip
"""Files: number and size."""

NNTP = Conversation(
    name="nntp",
    share=0.0056,
    items=Empirical(
        [1, 2, 4, 9, 15, 31, 46, 101, 124, 247, 478, 710, 1316, 2155, 3593, 4806],
        [.193, .284, .375, .455, .489, .534, .591, .648, .693, .75, .807, .864, .909, .943, .966,
         1],
    ),
    size=Empirical(
        [288, 453, 600, 736, 946, 1023, 1026, 1262, 1506, 1802, 2220, 2558, 3011, 3583, 4095, 4173,
         4666, 7135, 9104, 22021, 61299],
        [0, .01, .05, .1, .2, .242, .284, .4, .5, .6, .7, .748, .794, .83, .856, .969, .977, .99,
         .997, .999, 1],
    ),
)  # fmt: skip
"""News articles: number and size."""

SMTP = Conversation(
    name="smtp",
    share=0.3798,
    size=Empirical(
        [0, 150, 250, 300, 320, 330, 340, 350, 360, 380, 400, 500, 600, 750, 900, 1200, 1500, 2000,
         2500, 3000, 4050, 5000, 12500, 13500, 26000, 55000, 80000, 450000],
        [0, .024, .056, .094, .138, .181, .241, .302, .362, .432, .468, .523, .563, .621, .688,
         .759, .805, .852, .884, .916, .948, .968, .976, .988, .994, .998, .999, 1],
    ),
)  # fmt: skip
"""Mail: size."""

CONVERSATIONS = (TELNET, FTP, NNTP, SMTP)
"""The four types, with tcplib's shares of all conversations (other types have the rest)."""
