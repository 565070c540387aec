"""An SMTP server on loopback for tests, real (aiosmtpd) and with the faults of real ones to order.

    with SmtpServer() as smtp:
        smtp.fail(451, times=2)                 # the next two mails; times=None: until heal()
        ...
        assert smtp.wait_for(1)[0].envelope_to == ["mara@example.org"]

A fault waits at a stage of the conversation and fires on whoever reaches that stage next. Faults of one stage fire in
the order in which they were made.
"""

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import Any, Literal, Self, get_args

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

Stage = Literal["connect", "ehlo", "starttls", "auth", "mail", "rcpt", "data", "body", "dot", "noop", "quit"]
WORDS = {
    421: "4.3.2 Closing, try again later",
    451: "4.3.0 Try again later",
    535: "5.7.8 Authentication credentials invalid",
    550: "5.1.1 No such user",
}


class Mail(EmailMessage):
    envelope_from: str
    envelope_to: list[str]
    raw: bytes

    @property
    def text(self) -> str:
        """The plain body, with \\n however it travelled."""
        body = self.get_body(("plain",))
        return body.get_content().replace("\r\n", "\n") if body else ""


@dataclass
class Fault:
    at: Stage
    times: int | None  # None: until heal()
    seconds: float = 0  # waited first
    say: bytes = b""  # instead of the true answer
    endless: bool = False  # said again and again
    every: float = 0  # from here on, seconds between one byte and the next
    cut: bool = False
    keep: bool = False  # at the dot: the mail counts as received all the same


class SmtpServer:
    """`users` makes a login necessary. `tls` is offered as STARTTLS, or spoken from the start where `implicit`."""

    def __init__(
        self,
        users: dict[str, str] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        implicit: bool = False,
        smtputf8: bool = True,
        port: int = 0,
    ) -> None:
        self.host, self.port = "127.0.0.1", port
        self.users, self.tls, self.implicit, self.smtputf8 = users or {}, tls, implicit, smtputf8
        self.mails: list[Mail] = []
        self.connections = 0
        self.attempts = 0  # MAIL commands, whatever became of them
        self._faults: list[Fault] = []
        self._changed = threading.Condition()
        self._ready: Future[None] = Future()
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._run, name="smtpd", daemon=True)
        self.open: set[_Conversation] = set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        self._thread.start()
        self._ready.result(10)

    def stop(self) -> None:
        self._stop()
        self._thread.join(10)

    # Faults

    def fail(self, code: int, times: int | None = 1, at: Stage | None = None, text: str | bytes | None = None) -> None:
        """Answer with `code`; by default to AUTH if it is 535, else to RCPT. The lines of `text` make a long reply."""
        words = WORDS.get(code, "As the test wants it") if text is None else text
        *more, last = (words.encode() if isinstance(words, str) else words).split(b"\n")
        say = b"".join(b"%d-%s\r\n" % (code, line) for line in more) + b"%d %s" % (code, last)
        self.say(say, at or ("auth" if code == 535 else "rcpt"), times)

    def say(self, answer: bytes, at: Stage, times: int | None = 1, *, endless: bool = False) -> None:
        """Any bytes at all instead of the true answer."""
        self._add(Fault(at, times, say=answer, endless=endless))

    def hang(self, seconds: float, at: Stage = "dot", times: int | None = 1, *, keep: bool = False) -> None:
        """Wait, then go on as if nothing had been. A client that goes away meanwhile sent a mail only with `keep`."""
        self._add(Fault(at, times, seconds=seconds, keep=keep))

    def drip(self, every: float, at: Stage = "connect", times: int | None = 1) -> None:
        """One byte every so many seconds, for the rest of the connection."""
        self._add(Fault(at, times, every=every))

    def cut(
        self,
        where: Literal["before_dot", "in_body", "after_dot"] | Stage,
        times: int | None = 1,
        *,
        keep: bool = False,
    ) -> None:
        """Drop the connection without a word: instead of the 354 (before_dot), after the first line of the message
        (in_body; a client notices only if its message is larger than the buffers between: 8 MB will do), after the
        whole message (after_dot; with `keep` it was received nevertheless), or at any stage."""
        names: dict[str, Stage] = {"before_dot": "data", "in_body": "body", "after_dot": "dot"}
        self._add(Fault(names.get(where, where), times, cut=True, keep=keep))  # type: ignore[arg-type]

    def heal(self) -> None:
        with self._changed:
            self._faults.clear()

    def _add(self, fault: Fault) -> None:
        with self._changed:
            self._faults.append(fault)

    def due(self, stage: Stage) -> Fault | None:
        with self._changed:
            fault = next((f for f in self._faults if f.at == stage), None)
            if fault and fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
            return fault

    # What was seen

    def wait_for(self, n: int, timeout: float = 5) -> list[Mail]:
        """At least `n` mails, all of them."""
        self.wait_until(lambda: len(self.mails) >= n, timeout)
        return list(self.mails)

    def wait_for_attempts(self, n: int, timeout: float = 5) -> None:
        self.wait_until(lambda: self.attempts >= n, timeout)

    def wait_until(self, condition: Callable[[], bool], timeout: float = 5) -> None:
        """`condition` is asked again after everything that this server notes."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                seen = f"{self.connections} connections, {self.attempts} attempts, {len(self.mails)} mails"
                raise AssertionError(f"not within {timeout} s; there were {seen}")

    def note(self, *, connection: bool = False, attempt: bool = False, mail: Mail | None = None) -> None:
        with self._changed:
            self.connections += connection
            self.attempts += attempt
            if mail:
                self.mails.append(mail)
            self._changed.notify_all()

    # Its thread

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as failure:
            self._ready.set_exception(failure)

    async def _serve(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        context = self.tls if self.implicit else None
        server = await loop.create_server(lambda: _Conversation(self), self.host, self.port, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        self._stop = lambda: loop.is_closed() or loop.call_soon_threadsafe(stop.set)
        self._ready.set_result(None)
        await stop.wait()
        server.close()
        for conversation in list(self.open):
            conversation.drop()
        await server.wait_closed()
        while self.open:
            await asyncio.sleep(0)


class _Handler:
    """aiosmtpd's hook for a whole message."""

    async def handle_DATA(self, talk: "_Conversation", session: Session, envelope: Envelope) -> bytes:
        raw = bytes(envelope.original_content or b"")
        mail = BytesParser(Mail, policy=default).parsebytes(raw)
        mail.envelope_from, mail.envelope_to, mail.raw = envelope.mail_from or "", list(envelope.rcpt_tos), raw
        fault = talk.smtp.due("dot")
        keep = fault is not None and fault.keep
        if keep:
            talk.smtp.note(mail=mail)
        instead = await talk.suffer(fault)
        if not keep and not instead:
            talk.smtp.note(mail=mail)
        return instead or b"250 OK"


class _Conversation(SMTP):
    def __init__(self, smtp: SmtpServer) -> None:
        super().__init__(
            _Handler(),
            hostname="localhost",
            enable_SMTPUTF8=smtp.smtputf8,
            tls_context=None if smtp.implicit else smtp.tls,
            auth_require_tls=not smtp.users,  # offered only where it can be used
            authenticator=self._known,
            loop=asyncio.get_running_loop(),
        )
        self._auth_required = bool(smtp.users)  # the argument of that name warns where there is no TLS
        self.smtp = smtp
        self._greeted = False
        self._every = 0.0
        for command, method in self._smtp_methods.items():
            stage = "ehlo" if command == "HELO" else command.lower()
            if stage in get_args(Stage):
                self._smtp_methods[command] = self._troubled(stage, method)

    def _troubled(self, stage: Stage, method: Callable[[str], Awaitable[None]]) -> Callable[[str], Awaitable[None]]:
        async def command(arg: str) -> None:
            if stage == "mail":
                self.smtp.note(attempt=True)
            instead = await self.suffer(self.smtp.due(stage))
            if instead:
                await self.push(instead)
            elif stage == "data" and (fault := self.smtp.due("body")):
                await self.push("354 Go on")
                await self._reader.read(1)
                await self.suffer(fault)
            else:
                await method(arg)

        return command

    async def suffer(self, fault: Fault | None) -> bytes:
        """What to answer instead of the truth, if anything."""
        if not fault:
            return b""
        self._every = fault.every or self._every
        await asyncio.sleep(fault.seconds)
        if fault.cut:
            self.drop()
            raise asyncio.CancelledError
        while fault.endless:
            await self.push(fault.say)
        return fault.say

    async def push(self, status: Any) -> None:
        if not self._greeted:
            self._greeted = True
            status = await self.suffer(self.smtp.due("connect")) or status
        line = status.encode() if isinstance(status, str) else status
        if self._every:
            for byte in line:
                self._writer.write(bytes([byte]))
                await asyncio.sleep(self._every)
            line = b""
        await super().push(line)
        if status[:3] in ("421", b"421") and self.transport:
            self.transport.close()

    def _known(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, login: Any) -> AuthResult:
        assert isinstance(login, LoginPassword)
        good = self.smtp.users.get(login.login.decode()) == login.password.decode()
        return AuthResult(success=good, handled=False, auth_data=login)

    async def _handle_client(self) -> None:
        try:
            await super()._handle_client()
        except ConnectionError:  # the client went away in the middle of an answer
            self.drop()

    def connection_made(self, transport: Any) -> None:
        if self not in self.smtp.open:  # STARTTLS makes it a second time
            self.smtp.open.add(self)
            self.smtp.note(connection=True)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.smtp.open.discard(self)
        super().connection_lost(error)

    def drop(self) -> None:
        if self.transport:
            self.transport.abort()
