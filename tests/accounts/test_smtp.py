import datetime
import ipaddress
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from accounts.smtp import LoginRefused, MailTrouble, MayHaveArrived, Rejected, Server, TryLater, check, send
from tests.ports import free_port
from tests.smtpd import SmtpServer, Stage

STAGES: tuple[Stage, ...] = ("connect", "mail", "rcpt", "data", "dot")


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


def at(smtp: SmtpServer, security: str = "none", user: str = "", password: str = "") -> Server:
    return Server(smtp.host, smtp.port, security, user, password)


def letter(body: str = "Your code is\n\ninv-abc234\n", to: str = "mara@example.org") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "owner@example.org", to
    message["Subject"], message["Message-ID"] = "Zugang für 马拉", "<approval-7@standmeet>"
    message.set_content(body)
    return message


def mail(
    server: Server,
    message: EmailMessage | None = None,
    *,
    sender: str = "owner@example.org",
    recipient: str = "mara@example.org",
    timeout: float = 2,
) -> None:
    send(server, message or letter(), sender=sender, recipient=recipient, timeout=timeout)


# What arrives


def test_a_mail_arrives_as_it_was_written(smtp: SmtpServer) -> None:
    body = "Grüße, 马拉\n\n.a dot\n..two dots\n.\nFrom here on\n" + "long " * 400 + "\n"
    message = letter(body)
    message["Bcc"] = "hidden@example.org"

    mail(at(smtp), message)

    [got] = smtp.wait_for(1)
    assert (got.envelope_from, got.envelope_to) == ("owner@example.org", ["mara@example.org"])
    assert (got["Subject"], got["Message-ID"]) == ("Zugang für 马拉", "<approval-7@standmeet>")
    assert got.text == body
    assert got["Bcc"] is None
    assert got.raw.isascii()
    assert message["Bcc"] == "hidden@example.org"


def test_dots_are_doubled_on_the_wire_and_a_lone_carriage_return_ends_no_line_of_its_own(smtp: SmtpServer) -> None:
    message = letter("plain\n.dot\n")
    message.set_payload("one\r.\rtwo\n.\r\n\nthree")

    mail(at(smtp), message)

    assert smtp.wait_for(1)[0].raw.endswith(b"\r\n\r\none\r\n.\r\ntwo\r\n.\r\n\r\nthree\r\n")
    assert smtp.attempts == 1


def test_check_connects_and_sends_nothing(smtp: SmtpServer) -> None:
    check(at(smtp))

    assert (smtp.connections, smtp.attempts, smtp.mails) == (1, 0, [])


@pytest.mark.parametrize("user", ["owner", "ownér@example.org"])
def test_a_login_is_made_and_may_hold_letters_beyond_ascii(user: str) -> None:
    with SmtpServer({user: "påss wörd"}) as smtp:
        check(at(smtp, "none", user, "påss wörd"))
        mail(at(smtp, "none", user, "påss wörd"))

        assert len(smtp.wait_for(1)) == 1


def test_a_trouble_after_the_250_is_no_trouble(smtp: SmtpServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "accounts.smtp")
    smtp.cut("quit")

    mail(at(smtp))

    assert len(smtp.mails) == 1
    assert "closed the connection" in caplog.text


# Refusals


@pytest.mark.parametrize("stage", STAGES)
def test_a_5xx_reply_is_a_rejection_in_the_words_of_the_server(smtp: SmtpServer, stage: Stage) -> None:
    smtp.fail(550, at=stage, text="5.7.1 Not from you")

    with pytest.raises(Rejected, match=r"refused the .+: 550 5\.7\.1 Not from you$"):
        mail(at(smtp))

    assert smtp.mails == []


@pytest.mark.parametrize("stage", [*STAGES, "ehlo"])
@pytest.mark.parametrize("code", [451, 421])
def test_a_4xx_reply_means_try_later(smtp: SmtpServer, stage: Stage, code: int) -> None:
    smtp.fail(code, at=stage)

    with pytest.raises(TryLater, match=rf"at present: {code} 4\.3\.\d .*later$"):
        mail(at(smtp))

    assert smtp.mails == []
    mail(at(smtp))
    assert len(smtp.mails) == 1


def test_a_server_that_greets_with_554_rejects(smtp: SmtpServer) -> None:
    smtp.fail(554, at="connect", text="No SMTP service here")

    with pytest.raises(Rejected, match="refused the connection: 554 No SMTP service here"):
        check(at(smtp))


def test_a_server_that_knows_only_helo_takes_mail(smtp: SmtpServer) -> None:
    smtp.fail(502, at="ehlo", text="What is EHLO?")

    mail(at(smtp))

    assert len(smtp.mails) == 1


def test_a_noop_that_is_refused_fails_the_check(smtp: SmtpServer) -> None:
    smtp.fail(500, at="noop")

    with pytest.raises(Rejected, match="a NOOP: 500"):
        check(at(smtp))


# The login


@pytest.mark.parametrize("call", [check, mail])
def test_a_wrong_password_is_a_refused_login(call: Callable[[Server], None]) -> None:
    with SmtpServer({"owner": "right"}) as smtp:
        with pytest.raises(LoginRefused, match=r"refused the login: 535 5\.7\.8"):
            call(at(smtp, "none", "owner", "wrong"))

        assert smtp.attempts == 0


@pytest.mark.parametrize(("code", "trouble"), [(534, LoginRefused), (535, LoginRefused), (454, TryLater)])
def test_the_code_tells_a_refused_login_from_one_to_try_later(code: int, trouble: type[MailTrouble]) -> None:
    with SmtpServer({"owner": "right"}) as smtp:
        smtp.fail(code, at="auth")

        with pytest.raises(trouble, match=f"the login.*{code}"):
            check(at(smtp, "none", "owner", "right"))


def test_a_535_at_any_stage_is_a_refused_login(smtp: SmtpServer) -> None:
    smtp.fail(535, at="mail")

    with pytest.raises(LoginRefused, match="535"):
        mail(at(smtp))


def test_a_login_that_is_not_offered_is_refused(smtp: SmtpServer) -> None:
    with pytest.raises(LoginRefused, match="offers no login"):
        check(at(smtp, "none", "owner", "right"))


def test_a_password_is_in_no_text_about_a_server() -> None:
    assert "secret" not in repr(Server("mail.example.org", 587, "starttls", "owner", "secret"))


# Lost


@pytest.mark.parametrize("stage", ["connect", "ehlo", "mail", "rcpt", "before_dot"])
def test_a_connection_lost_before_the_final_dot_means_try_later(smtp: SmtpServer, stage: Stage) -> None:
    smtp.cut(stage)

    with pytest.raises(TryLater, match="closed the connection"):
        mail(at(smtp))


def test_a_connection_lost_within_the_message_means_try_later(smtp: SmtpServer) -> None:
    smtp.cut("in_body")

    with pytest.raises(TryLater, match=r"closed the connection \(the message\)"):
        mail(at(smtp), _large(), timeout=5)


def _large() -> EmailMessage:
    message = letter()
    message.set_payload(("x" * 900 + "\n") * 12000)
    return message


@pytest.mark.parametrize("keep", [False, True])
def test_a_connection_lost_after_the_final_dot_may_mean_that_it_arrived(smtp: SmtpServer, keep: bool) -> None:
    smtp.cut("after_dot", keep=keep)

    with pytest.raises(MayHaveArrived, match=r"may have arrived: .* closed the connection"):
        mail(at(smtp))

    assert len(smtp.mails) == keep


def test_nonsense_after_the_final_dot_may_mean_that_it_arrived(smtp: SmtpServer) -> None:
    smtp.say(b"Segmentation fault", at="dot")

    with pytest.raises(MayHaveArrived, match="answered Segmentation fault"):
        mail(at(smtp))


def test_a_port_where_nobody_listens_means_try_later() -> None:
    port = free_port()

    with pytest.raises(TryLater, match=rf"no connection to 127\.0\.0\.1:{port}: Connection refused"):
        check(Server("127.0.0.1", port, "none"))


@pytest.mark.parametrize("host", ["nobody.invalid", "mail..example.org", "x" * 70 + ".example.org"])
def test_a_host_that_does_not_exist_means_try_later(host: str) -> None:
    with pytest.raises(TryLater, match=f"no connection to {host}:25"):
        check(Server(host, 25, "none"), timeout=2)


# Slow


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


@pytest.mark.parametrize("stage", ["connect", "ehlo", "mail", "rcpt", "data"])
def test_a_server_that_hangs_before_the_final_dot_means_try_later(smtp: SmtpServer, stage: Stage) -> None:
    smtp.hang(30, at=stage)

    with within(1), pytest.raises(TryLater, match="in time"):
        mail(at(smtp), timeout=0.2)

    assert smtp.mails == []


def test_a_server_that_hangs_after_the_final_dot_may_have_the_mail(smtp: SmtpServer) -> None:
    smtp.hang(30, at="dot", keep=True)

    with within(1), pytest.raises(MayHaveArrived, match="did not answer in time"):
        mail(at(smtp), timeout=0.2)

    assert len(smtp.mails) == 1


def test_the_reply_to_the_message_is_waited_for_longer_than_any_other(smtp: SmtpServer) -> None:
    smtp.hang(0.5, at="dot")

    mail(at(smtp), timeout=0.3)

    assert len(smtp.mails) == 1


def test_a_server_that_hangs_at_quit_holds_nobody_up(smtp: SmtpServer) -> None:
    smtp.hang(30, at="quit")

    with within(1):
        mail(at(smtp), timeout=0.2)

    assert len(smtp.mails) == 1


@pytest.mark.parametrize("stage", ["connect", "mail", "dot"])
def test_a_server_that_drips_is_given_up_at_the_deadline(smtp: SmtpServer, stage: Stage) -> None:
    smtp.drip(0.2, at=stage)

    with within(1), pytest.raises(MayHaveArrived if stage == "dot" else TryLater, match="in time"):
        mail(at(smtp), timeout=0.3)


def test_a_server_that_reads_nothing_is_given_up() -> None:
    then = (b"250 x\r\n", b"250 x\r\n", b"250 x\r\n", b"354 go\r\n")
    late = pytest.raises(TryLater, match=r"did not answer in time \(the message\)")

    with _answering(b"220 x\r\n", then) as server, within(2), late:
        mail(server, _large(), timeout=0.5)


def test_a_look_up_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(30) and [])

    with within(1), pytest.raises(TryLater, match="no answer in time"):
        check(Server("slow.example.org", 25, "none"), timeout=0.2)

    over.set()


# Strange


@contextmanager
def _answering(first: bytes, then: tuple[bytes, ...] = ()) -> Iterator[Server]:
    """A port that says `first`, and one of `then` after each line that it reads."""

    def serve() -> None:
        with listener.accept()[0] as peer, peer.makefile("rb") as lines:
            peer.sendall(first)
            for answer in then:
                lines.readline()
                peer.sendall(answer)
            over.wait(10)

    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Server("127.0.0.1", listener.getsockname()[1], "none")
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    "said",
    [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\r\n", b"2200 x\r\n", b"\x15\x03\x01\x00\n"],
)
def test_a_port_that_speaks_something_else_means_try_later(said: bytes) -> None:
    with _answering(said) as server, pytest.raises(TryLater, match="does not answer like a mail server"):
        check(server, timeout=0.3)


def test_a_port_that_waits_for_tls_is_named_as_the_likely_cause() -> None:
    with _answering(b"") as server, pytest.raises(TryLater, match="Perhaps this port wants TLS from the start"):
        check(server, timeout=0.2)


def test_an_answer_to_data_other_than_354_sends_no_message(smtp: SmtpServer) -> None:
    smtp.say(b"250 OK", at="data")

    with pytest.raises(TryLater, match=r"\(the message\): 250 OK"):
        mail(at(smtp))


@pytest.mark.parametrize(
    "text", ["x" * 60000, "\n".join(["many lines"] * 5000), b"\xff\xfe\x00\x1b[31m\tcaf\xe9", "‮" * 900]
)
def test_a_huge_or_unreadable_reply_makes_one_readable_sentence(smtp: SmtpServer, text: str | bytes) -> None:
    smtp.fail(550, text=text)

    with pytest.raises(Rejected) as caught:
        mail(at(smtp))

    sentence = str(caught.value)
    assert "refused the recipient mara@example.org: 550" in sentence
    assert len(sentence) <= 500
    assert sentence.isprintable()


def test_the_lines_of_a_reply_are_read_as_one(smtp: SmtpServer) -> None:
    smtp.fail(550, text="5.7.1 Go away.\n5.7.1 See https://example.org/why")

    with pytest.raises(Rejected, match=r"550 5\.7\.1 Go away\. 5\.7\.1 See https://example\.org/why$"):
        mail(at(smtp))


@pytest.mark.parametrize(("answer", "trouble"), [(b"550-no", Rejected), (b"250-yes", TryLater), (b"?", TryLater)])
def test_a_reply_without_end_is_cut_off(smtp: SmtpServer, answer: bytes, trouble: type[MailTrouble]) -> None:
    smtp.say(answer, at="rcpt", endless=True)

    with within(2), pytest.raises(trouble):
        mail(at(smtp))


# Letters beyond ASCII


@pytest.mark.parametrize("address", ["mära@example.org", "mara@bücher.example", "马拉@例子.测试"])
def test_an_address_beyond_ascii_is_written_as_it_is_where_the_server_can(smtp: SmtpServer, address: str) -> None:
    mail(at(smtp), letter(to=address), recipient=address)

    [got] = smtp.wait_for(1)
    assert got.envelope_to == [address]
    assert f"To: {address}\r\n".encode() in got.raw


@pytest.mark.parametrize("which", ["sender", "recipient"])
def test_an_address_beyond_ascii_is_rejected_where_the_server_cannot(which: str) -> None:
    with SmtpServer(smtputf8=False) as smtp:
        with pytest.raises(Rejected, match="takes no address with letters beyond ASCII, such as mära@example.org"):
            mail(at(smtp), **{which: "mära@example.org"})

        assert smtp.attempts == 0


@pytest.mark.parametrize("smtputf8", [False, True])
def test_a_visitors_address_beyond_ascii_in_a_header_stops_no_mail(smtputf8: bool) -> None:
    message = letter()
    message["Reply-To"] = "mära@example.org"

    with SmtpServer(smtputf8=smtputf8) as smtp:
        mail(at(smtp), message)

        assert (b"Reply-To: m\xc3\xa4ra@example.org" in smtp.mails[0].raw) == smtputf8


# Injection


@pytest.mark.parametrize(
    "address", ["", "a@b.c\r\nRCPT TO:<d@e.f>", "a@b.c\n", "a@b.c> SIZE=1", "a b@c.d", "a\0@b.c", "\udcff@b.c"]
)
@pytest.mark.parametrize("which", ["sender", "recipient"])
def test_an_address_that_would_begin_a_command_of_its_own_is_refused(
    smtp: SmtpServer, which: str, address: str
) -> None:
    with pytest.raises(ValueError, match=f"{which} is empty, or holds"):
        mail(at(smtp), **{which: address})

    assert smtp.connections == 0


@pytest.mark.parametrize(
    ("host", "port", "security"),
    [
        ("", 25, "none"),
        ("a\r\nb", 25, "none"),
        ("a b", 25, "none"),
        ("a", 0, "none"),
        ("a", 65536, "tls"),
        ("a", 25, "ssl"),
    ],
)
def test_a_server_that_cannot_be_is_refused(host: str, port: int, security: str) -> None:
    with pytest.raises(ValueError, match="host is empty|no such port|security is one of"):
        Server(host, port, security)


# TLS


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For 127.0.0.1, signed by itself, with its key in the same file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM) + secret)
    return path


def _context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture(params=["tls", "starttls"])
def safe(request: pytest.FixtureRequest, certificate: Path) -> Iterator[tuple[SmtpServer, str]]:
    with SmtpServer({"owner": "right"}, tls=_context(certificate), implicit=request.param == "tls") as server:
        yield server, request.param


def test_a_mail_goes_over_tls_that_is_trusted(
    safe: tuple[SmtpServer, str], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smtp, security = safe
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    mail(at(smtp, security, "owner", "right"))

    assert len(smtp.wait_for(1)) == 1


def test_a_certificate_that_nobody_vouches_for_means_try_later_and_no_password(safe: tuple[SmtpServer, str]) -> None:
    smtp, security = safe

    with pytest.raises(TryLater, match="could not be verified: self-signed certificate"):
        mail(at(smtp, security, "owner", "right"))

    assert smtp.attempts == 0


def test_a_certificate_for_another_host_means_try_later(
    safe: tuple[SmtpServer, str], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smtp, security = safe
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    with pytest.raises(TryLater, match="could not be verified: Hostname mismatch"):
        check(Server("localhost", smtp.port, security, "owner", "right"))


def test_starttls_that_is_not_offered_means_try_later(smtp: SmtpServer) -> None:
    with pytest.raises(TryLater, match="does not offer STARTTLS"):
        check(at(smtp, "starttls"))


def test_a_refused_starttls_means_try_later_and_no_password(certificate: Path) -> None:
    with SmtpServer({"owner": "right"}, tls=_context(certificate)) as smtp:
        smtp.fail(502, at="starttls")

        with pytest.raises(TryLater, match="refused STARTTLS: 502"):
            mail(at(smtp, "starttls", "owner", "right"))

        assert smtp.attempts == 0


def test_tls_at_a_port_that_begins_in_clear_text_is_named_as_the_likely_cause(smtp: SmtpServer) -> None:
    with pytest.raises(TryLater, match="does not speak TLS. Perhaps this port wants STARTTLS"):
        check(at(smtp, "tls"))


def test_a_handshake_that_hangs_is_given_up() -> None:
    with _answering(b"") as server, within(1), pytest.raises(TryLater, match="in time .the TLS handshake"):
        check(Server(server.host, server.port, "tls"), timeout=0.2)
