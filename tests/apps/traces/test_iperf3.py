"""The JSON of iperf3: `-J`, `--json-stream`, `--get-server-output`, several streams."""

import json

import pytest

import tcpcc as tc


def connected(socket, port):
    return {
        "socket": socket, "local_host": "10.0.0.1", "local_port": port,
        "remote_host": "10.0.0.2", "remote_port": 5201,
    }  # fmt: skip


def stream(socket, second, *, window=True, **more):
    """20 packets of 1448 bytes a second, two retransmissions in the third."""
    told = {
        "socket": socket, "start": float(second), "end": second + 1.0, "seconds": 1.0,
        "bytes": 20 * 1448, "bits_per_second": 231680.0, "omitted": False, "sender": True,
    }  # fmt: skip
    if window:
        told |= {
            "retransmits": 2 * (second == 2), "snd_cwnd": (10 + second) * 1448, "rtt": 40_000,
            "rttvar": 100, "pmtu": 1500,
        }  # fmt: skip
    return told | more


def document(sockets=(5,), seconds=5, **more):
    intervals = [{"streams": [stream(s, k) for s in sockets], "sum": {}} for k in range(seconds)]
    return {
        "start": {
            "connected": [connected(s, 40000 + s) for s in sockets],
            "version": "iperf 3.16",
            "tcp_mss_default": 1448,
        },
        "intervals": intervals,
        "end": {"sender_tcp_congestion": "cubic"},
        **more,
    }


def write(path, told):
    path.write_text(json.dumps(told, indent="\t"))
    return path


@pytest.mark.parametrize("lines", [False, True])
def test_windows_rtts_and_retransmissions_of_iperf3_are_read(tmp_path, lines):
    told = document()
    path = write(tmp_path / "a.json", told)
    if lines:  # --json-stream
        events = [("start", told["start"]), *(("interval", one) for one in told["intervals"])]
        events.append(("end", told["end"]))
        path.write_text("\n".join(json.dumps({"event": e, "data": d}) for e, d in events))
    run = tc.traces.read_tcp_info(path, interval=1)
    assert run.flows == ["10.0.0.1:40005>10.0.0.2:5201"]
    assert run.data["cwnd"].values[:, 0].tolist() == [10, 11, 12, 13, 14]
    assert run.data["rtt"].values[:, 0].tolist() == [0.04] * 5
    assert run.data["retransmitted"].values[:, 0].tolist() == [0, 0, 2, 0, 0]
    assert run.data["delivered"].values[:, 0] == pytest.approx([20] * 5)
    assert float(run.goodput()[0]) == pytest.approx(20 * 1448 * 8)
    assert run.data["packet_size"].values.tolist() == [1500]
    assert run.data["controller"].values.tolist() == ["cubic"]


def test_each_stream_is_a_flow(tmp_path):
    run = tc.traces.read_tcp_info(write(tmp_path / "a.json", document(sockets=(5, 7))))
    assert run.flows == ["10.0.0.1:40005>10.0.0.2:5201", "10.0.0.1:40007>10.0.0.2:5201"]


def test_the_servers_bytes_are_what_was_delivered(tmp_path):
    server = {
        "start": {"connected": [connected(9, 1)]},
        "intervals": [{"streams": [stream(9, k, window=False, bytes=14480)]} for k in range(5)],
    }
    path = write(tmp_path / "a.json", document(server_output_json=server))
    run = tc.traces.read_tcp_info(path, interval=1)
    assert run.data["delivered"].values[:, 0] == pytest.approx([10] * 5)


def test_omitted_intervals_are_left_out(tmp_path):
    told = document()
    warm = {"streams": [stream(5, 0, omitted=True, retransmits=9, bytes=10**9)]}
    told["intervals"].insert(0, warm)
    run = tc.traces.read_tcp_info(write(tmp_path / "a.json", told))
    assert float(run.retransmissions()[0]) == 2
    assert run.data["delivered"].values.sum() == pytest.approx(100)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"start": {}, "error": "unable to connect"}, "iperf3 failed: unable to connect"),
        ({"a": 1}, "not JSON of iperf3: has no list of intervals"),
        (
            {"intervals": [{"streams": [stream(5, 0, window=False)]}]},
            "no stream has snd_cwnd: it was made at the receiver, or is of UDP",
        ),
        ({"intervals": [{"streams": [{"socket": 1, "snd_cwnd": 1}]}]}, "lacks 'bytes'"),
        ({"intervals": [7]}, "damaged JSON of iperf3"),
    ],
)
def test_another_json_is_refused_in_one_line(tmp_path, told, message):
    with pytest.raises(tc.TcpccError, match=f"a.json: .*{message}") as caught:
        tc.traces.read_tcp_info(write(tmp_path / "a.json", told))
    assert "\n" not in str(caught.value)


def test_judge_reads_iperf3(tmp_path):
    judgement = tc.judge(write(tmp_path / "a.json", document()), "cubic-01")
    assert "another path" in repr(judgement)  # an RTT of 40 ms
