"""A folder with one .eml file for each mail, named by when it came."""

import email
import email.policy
import itertools
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import lru_cache
from pathlib import Path

ID = re.compile(r"[0-9]{1,20}-[0-9]{1,9}")


@dataclass(frozen=True)
class Mail:
    id: str
    to: str
    sender: str
    subject: str
    date: datetime
    text: str
    is_html: bool  # then `text` is its source
    attachments: tuple[str, ...]
    message_id: str


class Folder:
    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)  # mails hold codes and phrases
        self.path = path
        self._numbers = itertools.count()

    def store(self, sender: str, recipients: list[str], content: bytes) -> None:
        name = f"{time.time_ns()}-{next(self._numbers)}"
        head = f"X-Envelope-From: {sender}\r\nX-Envelope-To: {', '.join(recipients)}\r\n"
        part = self.path / f"{name}.part"
        part.write_bytes(head.encode(errors="surrogateescape") + content)
        part.rename(self.path / f"{name}.eml")  # a reader never sees half a mail

    def mails(self) -> list[Mail]:
        """Newest first."""
        paths = [path for path in self.path.glob("*.eml") if ID.fullmatch(path.stem)]
        paths.sort(key=lambda path: [int(part) for part in path.stem.split("-")], reverse=True)
        return [read(path) for path in paths]

    def mail(self, id: str) -> Mail | None:
        path = self.path / f"{id}.eml"
        return read(path) if ID.fullmatch(id) and path.is_file() else None


@lru_cache(maxsize=500)
def read(path: Path) -> Mail:
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    text, is_html = body(message)
    return Mail(
        id=path.stem,
        to=header(message, "X-Envelope-To") or header(message, "To"),
        sender=header(message, "From") or header(message, "X-Envelope-From"),
        subject=header(message, "Subject"),
        date=date(message) or datetime.fromtimestamp(int(path.stem.split("-")[0]) / 1e9, UTC),
        text=text,
        is_html=is_html,
        attachments=tuple(attachments(message)),
        message_id=header(message, "Message-ID"),
    )


# A mail may be malformed in ways that the email package answers with nearly any exception, but the page shows it.


def header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message[name] or "").split())
    except Exception:
        return "(unreadable)"


def date(message: EmailMessage) -> datetime | None:
    try:
        when: datetime = message["Date"].datetime
        return when.astimezone(UTC)
    except Exception:
        return None


def body(message: EmailMessage) -> tuple[str, bool]:
    try:
        part = message.get_body(("plain", "html"))
        if part is None:
            return "", False
        text = str(part.get_content()).replace("\r\n", "\n")
        return text, part.get_content_subtype() == "html"
    except Exception:
        return message.as_bytes().decode(errors="replace"), False


def attachments(message: EmailMessage) -> list[str]:
    try:
        return [part.get_filename() or "unnamed" for part in message.iter_attachments()]
    except Exception:
        return []
