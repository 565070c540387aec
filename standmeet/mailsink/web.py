"""Its page: a list, one mail, the same as JSON."""

import json
import socketserver
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from standmeet.mailsink import pages
from standmeet.mailsink.folder import Folder

NAMES = ("127.0.0.1", "localhost")
STYLE = Path(__file__).with_name("style.css")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Web(socketserver.ThreadingTCPServer):
    """Not http.server's own server, which asks DNS for the name of its address before it listens."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], folder: Folder) -> None:
        self.folder = folder
        super().__init__(address, Handler)


class Handler(BaseHTTPRequestHandler):
    server: Web
    server_version = "mailsink"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        status, kind, content = self.answer()
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": f"{kind}; charset=utf-8"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET

    def answer(self) -> tuple[int, str, bytes]:
        # A page elsewhere whose name is made to lead here (DNS rebinding) may not read these mails.
        if self.headers.get("Host", "").partition(":")[0] not in NAMES:
            return 421, "text/plain", b"This page answers at 127.0.0.1 and localhost only.\n"
        folder, path = self.server.folder, self.path.partition("?")[0]
        if path == "/":
            return 200, "text/html", pages.inbox(folder.mails()).encode(errors="replace")
        if path == "/mails.json":
            mails = [pages.as_json(mail) for mail in folder.mails()]
            return 200, "application/json", json.dumps(mails, indent=1).encode()
        if path == "/style.css":
            return 200, "text/css", STYLE.read_bytes()
        if path.startswith("/mail/") and (mail := folder.mail(path.removeprefix("/mail/"))):
            return 200, "text/html", pages.one(mail).encode(errors="replace")
        return 404, "text/html", pages.missing().encode()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the demo's terminal belongs to others."""
