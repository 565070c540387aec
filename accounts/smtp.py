"""SMTP to the owner's mail supplier. A call is one attempt, and each way in which it can fail has a class."""

import base64
import copy
import logging
import math
import re
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.generator import BytesGenerator
from email.message import EmailMessage
from email.policy import EmailPolicy
from io import BytesIO
from typing import Any

logger = logging.getLogger(__name__)

OVERALL = 2.5  # a call takes at most this many times its `timeout`, whatever the server does
QUIT_WAIT = 1.0  # seconds
CHUNK = 65536
REPLY_BYTES = 65536
SENTENCE = 500  # characters
SECURITY = ("none", "starttls", "tls")
REPLY_LINE = re.compile(rb"(\d{3})(?:([ -])(.*))?\s*", re.DOTALL)
HOST_NAME = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
ADDRESS_HEADERS = ("From", "Sender", "Reply-To", "To", "Cc")
Reply = tuple[int, bytes]
AddressInfo = tuple[Any, Any, int, str, Any]  # a row of getaddrinfo()


class MailTrouble(Exception):
    """str() of it is one sentence for the owner, with the server's reply where there is one."""

    def __init__(self, sentence: str) -> None:
        # A server may answer with anything: no control characters, and no more than can be read.
        words = " ".join("".join(c if c.isprintable() else " " for c in sentence).split())
        super().__init__(words if len(words) <= SENTENCE else words[: SENTENCE - 1] + "…")


class Rejected(MailTrouble):
    """For good: the server refused the connection, the sender, the recipient or the message."""


class LoginRefused(MailTrouble):
    """The server does not take this user and password, or offers no way to give them."""


class TryLater(MailTrouble):
    """Not now: a 4xx reply, no connection, no answer in time, no such host, no trustworthy TLS. Nothing was sent."""


class MayHaveArrived(MailTrouble):
    """The whole message was handed over, and the reply to it never came."""


def _refuse_spaces(name: str, value: str, also: str = "") -> None:
    # What isprintable() refuses includes CR, LF, NUL and lone surrogates: nothing can begin another command.
    if not value or not value.isprintable() or any(c in " " + also for c in value):
        raise ValueError(f"{name} is empty, or holds a character that may not be there: {value!r}")


@dataclass(frozen=True)
class Server:
    host: str
    port: int
    security: str  # "none" | "starttls" | "tls"
    user: str = ""
    password: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        _refuse_spaces("host", self.host)
        if not 0 < self.port < 65536:
            raise ValueError(f"no such port: {self.port}")
        if self.security not in SECURITY:
            raise ValueError(f"security is one of {', '.join(SECURITY)}, not {self.security!r}")


def check(server: Server, *, timeout: float = 10) -> None:
    """Connect, encrypt, log in, say NOOP. `timeout`: seconds for one answer; the call takes 2.5 times that at most."""
    with _conversation(server, timeout) as line:
        line.ask("a NOOP", "NOOP")


def send(server: Server, message: EmailMessage, *, sender: str, recipient: str, timeout: float = 10) -> None:
    """Return once the server has said 250 to the whole message. `timeout` as in check()."""
    _refuse_spaces("sender", sender, also="<>")
    _refuse_spaces("recipient", recipient, also="<>")
    with _conversation(server, timeout) as line:
        line.deliver(message, sender, recipient)


@contextmanager
def _conversation(server: Server, timeout: float) -> Iterator["_Line"]:
    line = _Line(server, timeout)
    try:
        line.open()
        yield line
    finally:
        line.goodbye()


class _Line(smtplib.SMTP):
    """smtplib's commands, held to one deadline and to replies of bounded size: smtplib itself grants its time-out to
    every byte of a reply anew, and keeps as many lines as a server cares to send."""

    def __init__(self, server: Server, timeout: float) -> None:
        super().__init__(local_hostname="localhost")  # any name, else smtplib asks DNS for ours, without a limit
        self.server = server
        self.where = f"{server.host}:{server.port}"
        self.patience = timeout
        self.deadline = time.monotonic() + OVERALL * timeout
        self.what = "the connection"
        self.unread = b""

    # Bytes and time

    def _allow(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(self.patience, left)

    @contextmanager
    def _step(self) -> Iterator[socket.socket]:
        """The socket, for one thing that may block. Its failure is told in words and ends the connection."""
        try:
            if self.sock is None:
                raise ConnectionError
            self.sock.settimeout(self._allow())
            yield self.sock
        except OSError as failure:
            self.close()
            raise TryLater(self._in_words(failure)) from failure

    def _in_words(self, failure: OSError) -> str:
        match failure:
            case TimeoutError() if self.what == "the connection" and self.server.security != "tls":
                return f"{self.where} sent no greeting in time. Perhaps this port wants TLS from the start."
            case TimeoutError():
                return f"{self.where} did not answer in time ({self.what})."
            case ssl.SSLCertVerificationError():
                return f"The certificate of {self.where} could not be verified: {failure.verify_message}"
            case ssl.SSLError(reason="WRONG_VERSION_NUMBER" | "RECORD_LAYER_FAILURE"):
                return f"{self.where} does not speak TLS. Perhaps this port wants STARTTLS."
            case ssl.SSLError():
                return f"TLS with {self.where} failed: {(failure.reason or str(failure)).replace('_', ' ').lower()}"
        return f"{self.where} closed the connection ({self.what})."

    def send(self, s: str | bytes) -> None:
        rest = memoryview(s.encode(self.command_encoding) if isinstance(s, str) else s)
        while rest:
            with self._step() as sock:
                rest = rest[sock.send(rest[:CHUNK]) :]

    def getreply(self) -> Reply:
        """Code and text; code 0 and the line itself where it is not SMTP."""
        said: list[bytes] = []
        size = 0
        while True:
            line = self._readline()
            match = REPLY_LINE.fullmatch(line)
            if not match:
                return 0, line
            said.append((match[3] or b"").strip())
            size += len(line)
            if size >= REPLY_BYTES:
                self.close()  # it may go on for ever; what has been said is answer enough
            if match[2] != b"-" or self.sock is None:
                return int(match[1]), b"\n".join(said)

    def _readline(self) -> bytes:
        while b"\n" not in self.unread and len(self.unread) < REPLY_BYTES:
            with self._step() as sock:
                got = sock.recv(4096)
                if not got:
                    raise ConnectionError
                self.unread += got
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    # The connection

    def open(self) -> None:
        self._dial()
        if self.server.security == "tls":
            self._encrypt()
        self._judge(self.getreply(), (220,))
        self._greet()
        if self.server.security == "starttls":
            if not self.has_extn("starttls"):
                raise TryLater(f"{self.where} does not offer STARTTLS.")
            self.ask("STARTTLS", "STARTTLS", accept=(220,), refused=TryLater)
            self.unread = b""  # RFC 3207: what came in clear text behind the reply may be somebody else's
            self._encrypt()
            self._greet()
        if self.server.user:
            self._sign_in()

    def _dial(self) -> None:
        trouble: OSError = OSError("it has no address")
        try:
            for family, kind, proto, _, address in self._addresses():
                sock = socket.socket(family, kind, proto)
                try:
                    sock.settimeout(self._allow())
                    sock.connect(address)
                except OSError as failure:
                    sock.close()
                    trouble = failure
                else:
                    self.sock = sock
                    return
        except OSError as failure:
            trouble = failure
        why = trouble.strerror or str(trouble) or "no answer in time"
        raise TryLater(f"There is no connection to {self.where}: {why}.") from trouble

    def _addresses(self) -> list[AddressInfo]:
        found: list[list[AddressInfo] | OSError] = []

        def look() -> None:
            try:
                found.append(socket.getaddrinfo(self.server.host, self.server.port, type=socket.SOCK_STREAM))
            except OSError as failure:
                found.append(failure)
            except UnicodeError:  # an empty or an overlong label
                found.append(OSError("that is not the name of a host"))

        # getaddrinfo() knows no time-out: when it takes too long it is left behind in its thread.
        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        thread.join(self._allow())
        if not found:
            raise TimeoutError
        if isinstance(found[0], OSError):
            raise found[0]
        return found[0]

    def _encrypt(self) -> None:
        self.what = "the TLS handshake"
        with self._step() as sock:
            self.sock = ssl.create_default_context().wrap_socket(sock, server_hostname=self.server.host)

    def _greet(self) -> None:
        self.what = "our EHLO"
        self.local_hostname = self._own_name()
        reply = self.ehlo()
        if 500 <= reply[0] < 600:
            reply = self.helo()
        self._judge(reply, (250,))

    def _own_name(self) -> str:
        name = socket.gethostname()
        if HOST_NAME.fullmatch(name):
            return name
        with self._step() as sock:
            address = sock.getsockname()[0].partition("%")[0]
        return f"[IPv6:{address}]" if ":" in address else f"[{address}]"

    def _sign_in(self) -> None:
        # Not smtplib's login(): it fails on a password beyond ASCII, and gives a wrong one once for each mechanism.
        self.what = "the login"
        offered = self.esmtp_features.get("auth", "").upper().split()
        user, password = self.server.user.encode(), self.server.password.encode()
        if "PLAIN" in offered:
            reply = self.docmd("AUTH", "PLAIN " + _base64(b"\0" + user + b"\0" + password))
        elif "LOGIN" in offered:
            reply = self.docmd("AUTH", "LOGIN")
            for word in (user, password):
                reply = self.docmd(_base64(word)) if reply[0] == 334 else reply
        else:
            raise LoginRefused(f"{self.where} offers no login by password on this connection.")
        self._judge(reply, (235,), LoginRefused)

    def goodbye(self) -> None:
        """QUIT, briefly: its failure takes nothing back of what was said before."""
        if self.sock is None:
            return
        self.patience = min(self.patience, QUIT_WAIT)
        try:
            self.docmd("QUIT")
        except MailTrouble as trouble:
            logger.debug("after QUIT: %s", trouble)
        finally:
            self.close()

    # The mail

    def ask(
        self,
        what: str,
        command: str,
        args: str = "",
        *,
        accept: tuple[int, ...] = (250,),
        refused: type[MailTrouble] = Rejected,
    ) -> None:
        self.what = what
        self._judge(self.docmd(command, args), accept, refused)

    def _judge(self, reply: Reply, accept: tuple[int, ...], refused: type[MailTrouble] = Rejected) -> None:
        code, text = reply
        if code in accept:
            return
        said = f"{code or ''} {text.decode(errors='replace')}"
        if code == 535:
            raise LoginRefused(f"{self.where} refused {self.what}: {said}")
        if 500 <= code < 600:
            raise refused(f"{self.where} refused {self.what}: {said}")
        if 400 <= code < 500:
            raise TryLater(f"{self.where} does not take {self.what} at present: {said}")
        raise TryLater(f"{self.where} does not answer like a mail server ({self.what}): {said}")

    def deliver(self, message: EmailMessage, sender: str, recipient: str) -> None:
        beyond = [address for address in (sender, recipient) if not address.isascii()]
        utf8 = self.has_extn("smtputf8") and bool(beyond or _beyond_ascii(message))
        if beyond and not utf8:
            raise Rejected(f"{self.where} takes no address with letters beyond ASCII, such as {beyond[0]}.")
        data = _as_sent(message, utf8)
        options = f" SIZE={len(data)}" if self.has_extn("size") else ""
        if utf8:
            options += " BODY=8BITMIME SMTPUTF8"
            self.command_encoding = "utf-8"
        self.ask(f"the sender {sender}", "MAIL", f"FROM:<{sender}>{options}")
        self.ask(f"the recipient {recipient}", "RCPT", f"TO:<{recipient}>", accept=(250, 251, 252))
        self.ask("the message", "DATA", accept=(354,))
        # When this fails, some of the final dot's line has not left: the server cannot have taken the message.
        self.send(data + b".\r\n")
        self._judge(self._verdict(), (250,))

    def _verdict(self) -> Reply:
        self.patience = math.inf  # to give up here is to know nothing, so all the time that is left is waited
        try:
            reply = self.getreply()
        except TryLater as trouble:
            raise MayHaveArrived(f"The message was sent and may have arrived: {trouble}") from trouble
        if reply[0] == 250 or 400 <= reply[0] < 600:
            return reply
        said = f"{reply[0] or ''} {reply[1].decode(errors='replace')}"
        raise MayHaveArrived(f"The message was sent and may have arrived: {self.where} answered {said}")


def _base64(words: bytes) -> str:
    return base64.b64encode(words).decode()


def _beyond_ascii(message: EmailMessage) -> bool:
    headers = [header for name in ADDRESS_HEADERS for header in message.get_all(name, [])]
    return any(not a.addr_spec.isascii() for header in headers for a in getattr(header, "addresses", ()))


def _as_sent(message: EmailMessage, utf8: bool) -> bytes:
    """CRLF lines with their dots doubled, and 7-bit unless `utf8`: every server takes that."""
    seen = copy.copy(message)
    del seen["Bcc"]
    written = BytesIO()
    policy = EmailPolicy(linesep="\r\n", utf8=utf8, cte_type="8bit" if utf8 else "7bit")
    BytesGenerator(written, policy=policy).flatten(seen)
    # A lone CR or LF would be the end of a line to some servers and not to others (SMTP smuggling).
    lines = re.sub(rb"\r\n|\r|\n", b"\r\n", written.getvalue())
    lines = re.sub(rb"(?m)^\.", b"..", lines)
    return lines if lines.endswith(b"\r\n") else lines + b"\r\n"
