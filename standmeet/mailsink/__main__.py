"""The demo's mail server: it takes every mail, delivers none, and shows them all on a page.

    python -m standmeet.mailsink --smtp-port 0 --http-port 0 --folder DIR

prints one line when it is ready, `smtp=127.0.0.1:PORT http=http://127.0.0.1:PORT`, and runs until SIGTERM or Ctrl-C.
"""

import argparse
import asyncio
import signal
import sys
import threading
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session

from standmeet.mailsink.folder import Folder
from standmeet.mailsink.web import Web

HOST = "127.0.0.1"


class Intake:
    """aiosmtpd's hook for a whole message."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        try:
            self.folder.store(envelope.mail_from or "", envelope.rcpt_tos, bytes(envelope.original_content or b""))
        except OSError as failure:
            return f"452 4.3.1 Not stored: {failure.strerror}"
        return "250 OK"


async def run(folder: Folder, smtp_port: int, http_port: int) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    smtp = await loop.create_server(
        lambda: SMTP(Intake(folder), hostname="localhost", enable_SMTPUTF8=True, loop=loop), HOST, smtp_port
    )
    with Web((HOST, http_port), folder) as web:
        threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        ports = smtp.sockets[0].getsockname()[1], web.server_address[1]
        print("smtp={0}:{1} http=http://{0}:{2}".format(HOST, *ports), flush=True)  # noqa: T201
        await stop.wait()
        smtp.close()
        await asyncio.to_thread(web.shutdown)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m standmeet.mailsink")
    parser.add_argument("--smtp-port", type=int, default=0)
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    try:
        asyncio.run(run(Folder(asked.folder), asked.smtp_port, asked.http_port))
    except OSError as failure:
        sys.exit(f"mailsink: {failure}")


main()
