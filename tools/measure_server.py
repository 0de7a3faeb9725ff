#!/usr/bin/env python3
"""Takes the figures of docs/web.md: rates, latencies and memory of `orrery serve` on this machine.

usage: tools/measure_server.py PROGRAM [SECONDS]

SECONDS (10) is how long each load lasts. The rate of estimates needs wrk (Debian's package). The
load comes from this machine, so that it and the server share its cores.
"""

import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SMALL = b'{"model": "llama-3-8b", "gpu": "h100-sxm"}'
LUA = """
local n = 0
request = function()
  n = n + 1
  local body = string.format('{"model": "llama-3-8b", "gpu": "h100-sxm", "isl": %d}', 64 + n % 8000)
  return wrk.format("POST", "/api/v1/estimate", {["Content-Type"] = "application/json"}, body)
end
"""


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--max-connections", "12000"],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/", self.process.stdout.readline()).group(1))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, verb, body):
        """The milliseconds of one question on a connection of its own."""
        began = time.perf_counter()
        with self.connect() as s:
            s.sendall(head(verb, len(body)) + body)
            reply = b""
            while part := s.recv(65536):
                reply += part
        if not reply.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(reply[:200])
        return 1e3 * (time.perf_counter() - began)

    def memory(self):
        """MiB of the server and its workers."""
        kib = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                status = open(f"/proc/{pid}/status").read()
            except OSError:
                continue
            parent = re.search(r"^PPid:\s+(\d+)", status, re.M).group(1)
            if str(self.process.pid) in (pid, parent):
                kib += int((re.search(r"^VmRSS:\s+(\d+)", status, re.M) or [0, 0])[1])
        return kib / 1024

    def end(self):
        self.process.terminate()
        self.process.wait()


def head(verb, length):
    return (f"POST /api/v1/{verb} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n").encode()


def others(server, count=60):
    times = [server.ask("estimate", SMALL) for _ in range(count)]
    return (f"others: median {statistics.median(times):.0f} ms, slowest of {count} "
            f"{max(times):.0f} ms; {server.memory():.0f} MiB")


def in_background(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def rate(server, seconds, connections=64):
    if not shutil.which("wrk"):
        return "wrk is not installed"
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(LUA)
        script.flush()
        out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s",
                              script.name, f"http://127.0.0.1:{server.port}/"],
                             capture_output=True, text=True, check=True).stdout
    per_second = re.search(r"Requests/sec:\s+([\d.]+)", out)[1]
    median, tail = (re.search(rf"{p}%\s+(\S+)", out)[1] for p in (50, 99))
    return f"{per_second} a second; P50 {median}, P99 {tail}"


def beside_a_simulation(server, seconds):
    million = b'{"model": "llama-3-8b", "gpu": "h100-sxm", "rate": 20, "requests": 1000000}'

    def simulate():
        try:
            server.ask("simulate", million)
        except (OSError, RuntimeError):
            pass  # the server ended first

    thread = in_background(simulate)
    figures = rate(server, seconds)
    return figures + ("" if thread.is_alive() else " (the simulation ended before)")


def half_requests(server, count=10000):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []

    def open_all():
        for _ in range(min(count, hard - 200)):
            held.append(server.connect())
            held[-1].sendall(b"POST /api/v1/estimate HTTP/1.1\r\nHost: loc")

    thread = in_background(open_all)
    figures = others(server)
    thread.join()
    figures += f"; {len(held)} opened, then {others(server)}"
    for s in held:
        s.close()
    return figures


def gigabytes(server, count=50):
    part = b"x" * (1 << 20)

    def send():
        try:
            with server.connect() as s:
                s.sendall(head("run", 1 << 30))
                for _ in range(1024):
                    s.sendall(part)
        except OSError:
            pass  # it was refused

    threads = [in_background(send) for _ in range(count)]
    figures = others(server)
    for t in threads:
        t.join()
    return figures


def byte_by_byte(server, count=500, seconds=8):
    clients = [server.connect() for _ in range(count)]
    body = head("estimate", len(SMALL)) + SMALL

    def send():
        for byte in body:
            for s in clients:
                try:
                    s.sendall(bytes([byte]))
                except OSError:
                    pass
            time.sleep(seconds / len(body))

    thread = in_background(send)
    figures = others(server)
    thread.join()
    for s in clients:
        s.close()
    return figures


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    seconds = int(sys.argv[2]) if len(sys.argv) == 3 else 10
    print(f"cores {os.cpu_count()}, load before {os.getloadavg()[0]:.1f}", flush=True)
    for name, take in (
            ("estimates, 64 connections", lambda s: rate(s, seconds)),
            ("the same beside a simulation of a million requests",
             lambda s: beside_a_simulation(s, seconds)),
            ("half requests on 10,000 connections", half_requests),
            ("50 bodies of 1 GB at once", gigabytes),
            ("500 bodies byte by byte", byte_by_byte)):
        server = Server(sys.argv[1])
        try:
            server.ask("estimate", SMALL)
            print(f"{name}: {take(server)}", flush=True)
        finally:
            server.end()


if __name__ == "__main__":
    main()
