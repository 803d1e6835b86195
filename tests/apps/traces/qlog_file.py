"""qlogs made by hand."""

import json


def header(number=1):
    return {"packet_type": "1RTT", "packet_number": number}


def event(at, name, **data):
    return {"time": at, "name": name, "data": data}


def sent(number, at, category="quic", **more):
    return event(at, f"{category}:packet_sent", **{"header": header(number), **more})


def acked_ranges(at, *ranges, category="quic"):
    frame = {"frame_type": "ack", "acked_ranges": list(ranges)}
    return event(at, f"{category}:packet_received", header=header(), frames=[frame])


def acked(low, high, at, category="quic"):
    return acked_ranges(at, [low, high] if high > low else [low], category=category)


def text_of(*traces):
    return json.dumps({"qlog_version": "0.3", "traces": list(traces)})


def write(path, *traces):
    path.write_text(text_of(*traces))
    return path


def write_sequence(path, events, **trace):
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}
    path.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in [head, *events]))
    return path
