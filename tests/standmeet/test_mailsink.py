import http.client
import json
import re
import signal
import smtplib
import subprocess
import sys
from collections.abc import Iterator
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


class Sink:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "standmeet.mailsink", "--smtp-port", "0", "--http-port", "0", "--folder", folder],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        ready = re.fullmatch(r"smtp=127\.0\.0\.1:(\d+) http=http://127\.0\.0\.1:(\d+)\n", line)
        assert ready, line
        self.smtp_port, self.http_port = int(ready[1]), int(ready[2])

    def take(self, message: EmailMessage | bytes, to: str = "mara@example.org") -> None:
        content = message if isinstance(message, bytes) else message.as_bytes(policy=SMTP)
        with smtplib.SMTP("127.0.0.1", self.smtp_port, timeout=5) as smtp:
            smtp.sendmail("owner@example.org", to, content)

    def get(self, path: str, host: str = "localhost", method: str = "GET") -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=5)
        connection.request(method, path, headers={"Host": host})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response, text

    def mails(self) -> list[dict[str, str]]:
        return json.loads(self.get("/mails.json")[1])

    def end(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(by)
        said, _ = self.process.communicate(timeout=10)
        return self.process.returncode, said


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sink]:
    sink = Sink(tmp_path_factory.mktemp("sink") / "mail")
    yield sink
    sink.end()


@pytest.fixture
def sink(running: Sink) -> Sink:
    """One process for all tests; what it shows is what its folder holds."""
    for path in running.folder.iterdir():
        path.unlink()
    return running


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Sink]:
    """One for a test that ends it."""
    sink = Sink(tmp_path / "mail")
    yield sink
    if sink.process.returncode is None:
        sink.end()


def letter(subject: str = "Your code", text: str = "inv-abc234\n") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "StandMeet <owner@example.org>", "Mara <mara@example.org>"
    message["Subject"], message["Message-ID"] = subject, "<approval-7@standmeet>"
    message["Date"] = "Mon, 30 Nov 2026 10:00:00 +0100"
    message.set_content(text)
    return message


def test_a_mail_is_kept_as_a_file_and_told_as_json(sink: Sink) -> None:
    sink.take(letter("Grüße, 马拉", "Your code is\n\ninv-abc234\n"))

    [mail] = sink.mails()
    id = mail.pop("id")
    assert mail == {
        "to": "mara@example.org",
        "from": "StandMeet <owner@example.org>",
        "subject": "Grüße, 马拉",
        "date": "2026-11-30T09:00:00+00:00",
        "text": "Your code is\n\ninv-abc234\n",
        "message_id": "<approval-7@standmeet>",
    }
    assert b"inv-abc234" in (sink.folder / f"{id}.eml").read_bytes()


def test_the_newest_mail_comes_first_and_those_of_an_earlier_run_are_there_too(mortal: Sink) -> None:
    mortal.take(letter("first"))
    mortal.take(letter("second"))
    assert mortal.end()[0] == 0

    again = Sink(mortal.folder)
    again.take(letter("third"))

    assert [mail["subject"] for mail in again.mails()] == ["third", "second", "first"]
    assert again.end()[0] == 0


def test_the_page_lists_the_mails_and_shows_one_with_its_link(sink: Sink) -> None:
    assert "No mail yet" in sink.get("/")[1]
    sink.take(letter(text="Open https://example.org/?code=inv-abc234&x=1.\n"))

    listed = sink.get("/")[1]
    [path] = re.findall(r'href="(/mail/[^"]+)"', listed)
    shown = sink.get(path)[1]

    assert "Your code" in listed
    assert '<a href="https://example.org/?code=inv-abc234&amp;x=1" rel=' in shown
    assert "</a>.\n</pre>" in shown


def test_a_hostile_mail_is_text(sink: Sink) -> None:
    message = letter(HOSTILE, f"{HOSTILE} javascript:alert(3) https://x.y/{HOSTILE}\n")
    message.replace_header("Message-ID", HOSTILE)
    message.add_attachment(b"x", maintype="text", subtype="html", filename=HOSTILE)
    sink.take(message)

    pages = [sink.get("/")[1], sink.get(f"/mail/{sink.mails()[0]['id']}")[1]]

    for page in pages:
        assert "&lt;script&gt;" in page
        assert not re.search(r"<script|<img|<[^>]*(onerror|javascript:)", page)


def test_html_is_shown_as_source_and_never_as_itself(sink: Sink) -> None:
    message = letter()
    message.set_content("<h1>Hello</h1><script>alert(1)</script>", subtype="html")
    sink.take(message)

    shown = sink.get(f"/mail/{sink.mails()[0]['id']}")[1]

    assert "no plain text" in shown
    assert "&lt;h1&gt;Hello&lt;/h1&gt;&lt;script&gt;" in shown


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no header at all",
        b"Subject: =?nonsense?b?!!!?=\r\nDate: never\r\nFrom: \xff\xfe<\r\n\r\n\xff\xfe body",
        b"Content-Type: text/plain; charset=no-such-charset\r\n\r\nbody",
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--y\r\n\r\nbody",
        b"Content-Transfer-Encoding: base64\r\n\r\n%%%%",
        b'To: "unclosed <a@b\r\nMessage-ID: <<>>[\r\n\r\nbody',
    ],
)
def test_a_malformed_mail_is_shown_all_the_same(sink: Sink, content: bytes) -> None:
    sink.take(content)
    sink.take(letter())

    assert [mail["to"] for mail in sink.mails()] == ["mara@example.org"] * 2
    assert [sink.get(f"/mail/{mail['id']}")[0].status for mail in sink.mails()] == [200, 200]
    assert sink.get("/")[0].status == 200


@pytest.mark.parametrize("path", ["/", "/style.css", "/mails.json", "/mail/1-1", "/nothing"])
def test_every_answer_forbids_all_but_the_sheet_of_style(sink: Sink, path: str) -> None:
    headers = sink.get(path)[0].headers

    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'; ")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/nothing", "/mail/1-1", "/mail/../../etc/passwd", "/mail/%2e%2e%2fx", "/mail/"])
def test_what_is_not_there_is_not_found(sink: Sink, path: str) -> None:
    (sink.folder.parent / "x.eml").write_text("Subject: outside\n\n")

    assert sink.get(path)[0].status == 404


def test_a_head_has_no_body_and_a_post_is_refused(sink: Sink) -> None:
    assert sink.get("/", method="HEAD")[1] == ""
    assert sink.get("/", method="POST")[0].status == 501


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "["])
def test_a_page_under_another_name_reads_nothing(sink: Sink, host: str) -> None:
    sink.take(letter())

    response, text = sink.get("/mails.json", host=host)

    assert response.status == 421
    assert "inv-" not in text


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_and_without_a_word_also_in_mid_conversation(mortal: Sink, by: signal.Signals) -> None:
    mortal.take(letter())
    with smtplib.SMTP("127.0.0.1", mortal.smtp_port, timeout=5) as smtp:
        smtp.ehlo()

        assert mortal.end(by) == (0, "")


def test_a_port_that_is_taken_is_told_in_one_line(sink: Sink, tmp_path: Path) -> None:
    second = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "standmeet.mailsink", "--smtp-port", str(sink.smtp_port), "--folder", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=10,
    )

    assert second.returncode == 1
    assert re.fullmatch(r"mailsink: .*address already in use.*\n", second.stderr)
