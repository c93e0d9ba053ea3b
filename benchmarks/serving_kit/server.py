"""`tsgen serve` as a process on a free port of the loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

TOKEN = "benchmark"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE = 300.0  # seconds for the engine to load


@dataclass(frozen=True)
class Server:
    """A running server."""

    address: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def memory(self) -> float:
        """Of the process, in MB: what is resident."""
        return float(psutil.Process(self.process.pid).memory_info().rss / 2**20)

    def processor(self) -> float:
        """The seconds of processor time that it has used."""
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)

    def worked(self) -> float:
        """Seconds of processor time that the process has taken."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def errors(self) -> list[str]:
        """The lines of its log that tell of an error in the server."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if json.loads(line)["level"] == "error"]


@contextmanager
def running(
    engine: Path, log: Path, *options: str, environment: Mapping[str, str] = os.environ
) -> Iterator[Server]:
    """Start, wait until it is ready; at the end it must end well."""
    command = [sys.executable, "-m", "tsgen", "serve", str(engine), "--port", "0", *options]
    with log.open("wb") as stream:
        own = {**environment, "TSGEN_TOKEN": TOKEN}
        process = subprocess.Popen(command, stderr=stream, env=own)
    try:
        server = Server(_address(process, log), process, log)
        _wait_ready(server)
        yield server
        process.send_signal(signal.SIGTERM)
        if process.wait(60):
            raise SystemExit(f"the server ended with {process.returncode}: {log.read_text()}")
    finally:
        if process.poll() is None:
            process.kill()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """From the first line of its log."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        for line in log.read_text().splitlines():
            found = json.loads(line) if line.startswith("{") else {}
            if found.get("event") == "listening":
                return str(found["address"])
        time.sleep(0.1)
    raise SystemExit(f"the server did not start: {log.read_text()}")


def _wait_ready(server: Server) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if httpx2.get(f"{server.address}/ready", timeout=60).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    raise SystemExit("the server was not ready in time")
