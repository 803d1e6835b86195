"""Coast in fluid, recover in packets: fluid links under the transport's own senders.

:mod:`tcpcc.models.coast.coasting` describes the model.
"""

from tcpcc.models.coast.coasting import simulate

__all__ = ["simulate"]
