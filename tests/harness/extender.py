"""An extender that does as it is told: in a process of its own (`python -m tests.harness.extender`), or in a thread.

It answers in the words of kube-scheduler's extender API: `filter` leaves the nodes that `only` names (None: all),
`prioritize` gives what `scores` say, `bind` agrees, `preempt` leaves `only` too. `behaviour` says how it goes wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from component.clock import SystemClock

if TYPE_CHECKING:
    import ssl

CLOCK = SystemClock()


class ExtenderServer(ThreadingHTTPServer):
    """The extender.

    Attributes:
        behaviour: `honest`; `hangs` (no answer), `trickles` (a byte now and then), `fails` (500), `gibberish`, `error`
            (its own), `empty` (an object without nodes), `lies` (names a node that it was not asked about),
            `contradicts` (gives scores beyond the range).
        only: The nodes that it lets pass.
        scores: Node -> score.
        seen: (verb, arguments, headers) of each request.
    """

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = "honest"
        self.only: list[str] | None = None
        self.scores: dict[str, int] = {}
        self.seen: list[tuple[str, Any, dict[str, str]]] = []
        self.ended = threading.Event()
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_port}"

    def verbs(self) -> list[str]:
        return [verb for verb, _, _ in self.seen]

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Whoever asked has gone: nothing to tell."""

    def answer(self, verb: str, args: Any) -> Any:
        names = args.get("nodenames") or [
            each["metadata"]["name"] for each in (args.get("nodes") or {}).get("items", ())
        ]
        match self.behaviour:
            case "gibberish":
                return "these are no nodes"
            case "empty":
                return {}
            case "error":
                return {"error": "no licence left"}
            case "lies":
                names = ["atlantis", *names]
        if verb == "filter":
            passed = [name for name in names if self.only is None or name in (*self.only, "atlantis")]
            failed = {name: "no licence" for name in names if name not in passed}
            return {"nodenames": passed, "failedNodes": failed}
        if verb == "prioritize":
            score = 11 if self.behaviour == "contradicts" else 0
            return [{"host": name, "score": self.scores.get(name, score)} for name in names]
        if verb == "preempt":
            told = args.get("nodeNameToMetaVictims") or args.get("nodeNameToVictims")
            left = {
                name: {"pods": [{"uid": each.get("uid") or each["metadata"]["uid"]} for each in victims["pods"]]}
                for name, victims in told.items()
                if self.only is None or name in self.only
            }
            if self.behaviour == "lies":
                left = {"atlantis": {"pods": []}}
            return {"nodeNameToMetaVictims": left}
        return {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ExtenderServer

    def do_POST(self) -> None:
        server = self.server
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.rpartition("/")[2]
        if verb == "behave":
            for name, value in args.items():
                setattr(server, name, value)
            self._send(200, {})
            return
        server.seen.append((verb, args, dict(self.headers.items())))
        if server.behaviour == "hangs":
            server.ended.wait(600.0)
        elif server.behaviour == "trickles":
            while not CLOCK.wait(server.ended, 0.05):
                self.wfile.write(b"H")
                self.wfile.flush()
        elif server.behaviour == "fails":
            self._send(500, {})
        else:
            self._send(200, server.answer(verb, args))

    def do_GET(self) -> None:
        self._send(200, self.server.seen)

    def _send(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests tell what matters."""


class ExtenderProcess:
    """One in a process of its own."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.extender"], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def behave(self, behaviour: str, **more: Any) -> None:
        self._ask("/behave", {"behaviour": behaviour, **more})

    def seen(self) -> list[tuple[str, Any, dict[str, str]]]:
        return [tuple(each) for each in self._ask("/seen", None)]

    def _ask(self, path: str, document: Any) -> Any:
        data = None if document is None else json.dumps(document).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data), timeout=30) as answer:  # noqa: S310
            return json.loads(answer.read())


if __name__ == "__main__":
    made = ExtenderServer()
    print(made.url, flush=True)  # noqa: T201 - for who started it
    made.serve_forever()
