"""Record the traces in data/ anew: ``python tests/apps/traces/record.py FOLDER``.

Linux' Reno sends for 6 s between two namespaces, as in `experiments.kernel`: needs root, tcpdump
and ss. aioquic sends over the loopback, through a bottleneck in this process: needs
``pip install aioquic``. Then compare the numbers of drops and retransmissions, which are printed,
with those at the top of test_imported.py.
"""

from __future__ import annotations

import asyncio
import csv
import datetime
import gzip
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RATE, DELAY = 2e6, 0.02  # bit/s; s, one way
KERNEL_BUFFER, QUIC_BUFFER = 8, 10  # packets
DURATION, BYTES = 6.0, 300_000


def compress(source: Path, target: Path) -> None:
    with source.open("rb") as file, gzip.GzipFile(target, "wb", mtime=0) as out:
        shutil.copyfileobj(file, out)


# Linux


def watch_sockets(path: Any, file: Path, until: float) -> None:
    """Write the time and the output of ``ss -tin`` every 60 ms."""
    with path.near.inside(), file.open("w") as out:
        while time.monotonic() < until:
            told = subprocess.run(["ss", "-tinH"], capture_output=True, text=True, check=True)
            out.write(f"{time.time():.9f}\n" + told.stdout)
            out.flush()
            time.sleep(0.05)


def record_kernel(folder: Path, scratch: Path) -> None:
    """Write kernel_sender.pcap.gz, kernel_receiver.pcap.gz, kernel_ss.txt.gz and
    kernel_tcp_info.csv.gz, of the same connection."""
    from experiments.kernel import hosts
    from experiments.kernel.path import Path as KernelPath

    path = KernelPath(RATE, DELAY, KERNEL_BUFFER, [0.0])
    captures = []
    for name, host in (("sender", path.near), ("receiver", path.far)):
        with host.inside():
            options = ("-U", "-i", "path", "-s", "96", "-w", scratch / f"{name}.pcap")
            words = ["tcpdump", *options, "tcp"]
            captures.append(subprocess.Popen(words, stderr=subprocess.DEVNULL))
    time.sleep(1)  # until they listen
    text = scratch / "ss.txt"
    until = time.monotonic() + DURATION
    watch = multiprocessing.get_context("fork").Process(
        target=watch_sockets, args=(path, text, until)
    )
    watch.start()
    begin, rows = hosts.run(path, ["reno"], [0.0], DURATION)
    watch.join()
    time.sleep(1)  # until they have read their last packets
    for capture in captures:
        capture.terminate()
        capture.wait()
    path.close()
    with (scratch / "tcp_info.csv").open("w", newline="") as file:
        table = csv.writer(file)
        names = ("snd_cwnd", "snd_ssthresh", "rtt", "total_retrans", "delivered")
        table.writerow(["time", *(f"tcpi_{name}" for name in names)])
        for at, _, *told in rows:
            table.writerow([f"{at - begin:.6f}", *(int(x) for x in told)])
    for name in ("sender.pcap", "receiver.pcap", "ss.txt", "tcp_info.csv"):
        compress(scratch / name, folder / f"kernel_{name}.gz")
    print("kernel:", dict(zip(hosts.FIELDS, rows[-1][2:], strict=True)))


# aioquic


class Bottleneck(asyncio.DatagramProtocol):
    """Carries datagrams between a server and the client that sends first.

    Datagrams of the server pass `RATE` and a buffer of `QUIC_BUFFER` packets; both ways take
    `DELAY`.

    Args:
        server: address of the server.

    Attributes:
        drops: datagrams that found the buffer full.
    """

    def __init__(self, server: tuple[str, int]) -> None:
        self.server, self.client, self.drops = server, server, 0
        self._leave: list[float] = []  # when packets leave the link, s of the loop's clock

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        loop = asyncio.get_running_loop()
        now, leaves = loop.time(), loop.time()
        to = self.server
        if address == self.server:
            to = self.client
            self._leave = [leaves for leaves in self._leave if leaves > now]
            if len(self._leave) >= QUIC_BUFFER:
                self.drops += 1
                return
            leaves = max([now, *self._leave]) + 8 * (len(data) + 28) / RATE
            self._leave.append(leaves)
        else:
            self.client = address
        loop.call_at(leaves + DELAY, self._transport.sendto, data, to)


def certificate(folder: Path) -> tuple[Path, Path]:
    """Files with a certificate that signs itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now.replace(year=9999))
    files = folder / "cert.pem", folder / "key.pem"
    pem, raw = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    files[0].write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    files[1].write_bytes(key.private_bytes(pem, raw, serialization.NoEncryption()))
    return files


async def record_quic(folder: Path, scratch: Path, control: str, port: int) -> None:
    """Write aioquic_CONTROL.qlog.gz of the server, which sends, and aioquic_CONTROL_client."""
    import ssl

    from aioquic.asyncio import connect, serve
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.logger import QuicFileLogger

    logs = {end: scratch / f"{control}_{end}" for end in ("server", "client")}
    for log in logs.values():
        log.mkdir()
    server = QuicConfiguration(
        is_client=False, alpn_protocols=["trace"], congestion_control_algorithm=control,
        quic_logger=QuicFileLogger(str(logs["server"])),
    )  # fmt: skip
    server.load_cert_chain(*certificate(scratch))
    client = QuicConfiguration(
        alpn_protocols=["trace"], verify_mode=ssl.CERT_NONE, congestion_control_algorithm=control,
        quic_logger=QuicFileLogger(str(logs["client"])),
    )  # fmt: skip

    def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(BYTES))
        writer.write_eof()

    listening = await serve("127.0.0.1", port, configuration=server, stream_handler=send)
    loop = asyncio.get_running_loop()
    transport, bottleneck = await loop.create_datagram_endpoint(
        lambda: Bottleneck(("127.0.0.1", port)), local_addr=("127.0.0.1", port + 1)
    )
    async with connect("127.0.0.1", port + 1, configuration=client) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"send")
        assert len(await reader.read()) == BYTES
    await asyncio.sleep(1)  # both ends write their logs when they have closed
    listening.close()
    transport.close()
    for end, name in (("server", ""), ("client", "_client")):
        (log,) = logs[end].glob("*.qlog")
        compress(log, folder / f"aioquic_{control}{name}.qlog.gz")
    print(f"aioquic, {control}: {bottleneck.drops} drops")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for k, control in enumerate(("reno", "cubic")):
            asyncio.run(record_quic(folder, Path(scratch), control, 24433 + 2 * k))
        record_kernel(folder, Path(scratch))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
