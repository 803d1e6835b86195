"""Slow-start rules that any controller can take, one file each."""

from tcpcc.slow_start.contract import STANDARD, StartUp, composed
from tcpcc.slow_start.hystart import hystart
from tcpcc.slow_start.hystart_plus import hystart_plus
from tcpcc.slow_start.limited import limited

START_UPS = {rule.name: rule for rule in (STANDARD, limited, hystart, hystart_plus)}

__all__ = ["START_UPS", "StartUp", "composed"]
