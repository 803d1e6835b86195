"""Loss recovery, chosen per flow; every controller names a default.

The choice changes results: one NewReno flow at 100 Mb/s delivers 98 Mb/s with one recovery and 20
with another. A result therefore names its loss recovery. Each recovery is one file; importing the
package registers all of them.
"""

from importlib import import_module
from pkgutil import iter_modules

from tcpcc.engine.subset import trusted
from tcpcc.transport.recovery.loss_recovery import RECOVERIES, Recovery

with trusted():
    for _module in iter_modules(__path__):
        import_module(f"{__name__}.{_module.name}")

__all__ = ["RECOVERIES", "Recovery"]
