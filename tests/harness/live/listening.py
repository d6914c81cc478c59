"""Something on this machine that listens, and scripts of pages that try to reach it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self


class Listening:
    """Ports of this machine, and whether anything came."""

    def __init__(self) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("0.0.0.0", 0))
        self.came = threading.Event()
        threading.Thread(target=self._watch, args=(self.tcp.accept,), daemon=True).start()
        threading.Thread(target=self._watch, args=(lambda: self.udp.recv(99),), daemon=True).start()

    @property
    def ports(self) -> tuple[int, int]:
        """Of TCP and UDP."""
        return self.tcp.getsockname()[1], self.udp.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.tcp.close()
        self.udp.close()

    def _watch(self, wait: Callable[[], Any]) -> None:
        with suppress(OSError):
            wait()
            self.came.set()


def sending(tcp: int, udp: int) -> dict[str, str]:
    """Scripts that try to send something to this machine."""
    http, own = f"http://127.0.0.1:{tcp}/", json.dumps(f"ws://127.0.0.1:{tcp}/")
    inner = f"new WebSocket({own}); fetch('{http}', {{ mode: 'no-cors' }})"
    return {
        "fetch": f"fetch('{http}', {{ mode: 'no-cors' }})",
        "localhost": f"fetch('http://localhost:{tcp}/', {{ mode: 'no-cors' }})",
        "socket": f"new WebSocket({own})",
        "picture": f"new Image().src = '{http}'",
        "beacon": f"navigator.sendBeacon('{http}', 'x')",
        "frame": f"document.body.innerHTML = '<iframe src={http}></iframe>'",
        "worker": f"new Worker(URL.createObjectURL(new Blob([{json.dumps(inner)}])))",
        "form": f"document.body.innerHTML = '<form id=f method=post action={http}>'; f.submit()",
        "window": f"window.open('{http}')",
        "redirect": f"location = '{http}'",
        "quic": f"new WebTransport('https://127.0.0.1:{udp}/')",
        "datagrams": "const pc = new RTCPeerConnection({ iceServers: ["
        f"{{ urls: 'stun:127.0.0.1:{udp}' }}, {{ urls: 'turn:127.0.0.1:{tcp}?transport=tcp',"
        "username: 'a', credential: 'b' } ] }); pc.createDataChannel('x');"
        "pc.createOffer().then((offer) => pc.setLocalDescription(offer)); window.pc = pc",
    }
