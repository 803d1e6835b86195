"""``python -m tcpcc``: the same as the command ``tcpcc``."""

from tcpcc.cli import main

raise SystemExit(main())
