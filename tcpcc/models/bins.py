"""What both models add up for each flow and each recorded link in an interval of the record."""

from tcpcc.engine.jit import accessor, record_dtype

FLOW_BIN = record_dtype(
    {
        "cwnd": float, "ssthresh": float, "rtt": float, "sent": float, "retransmitted": float,
        "delivered": float, "dropped": float,
    }
)  # fmt: skip
LINK_BIN = record_dtype(
    {
        "waiting": float, "queue_max": float, "busy": float, "sent_bits": float,
        "arrived": float, "drops": float, "marks": float,
    }
)  # fmt: skip

flow_bin_at = accessor(FLOW_BIN)
link_bin_at = accessor(LINK_BIN)
