"""Mails as HTML and as JSON. Whatever comes from a mail passes through escape()."""

import re
from html import escape

from standmeet.mailsink.folder import Mail

LINK = re.compile(r"(https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}])")


def as_json(mail: Mail) -> dict[str, str]:
    return {
        "id": mail.id,
        "to": mail.to,
        "from": mail.sender,
        "subject": mail.subject,
        "date": mail.date.isoformat(),
        "text": mail.text,
        "message_id": mail.message_id,
    }


def inbox(mails: list[Mail]) -> str:
    rows = "".join(
        f'<li><a href="/mail/{mail.id}"><span class="to">{escape(mail.to)}</span>{when(mail)}'
        f'<span class="subject">{escape(mail.subject) or "(no subject)"}</span>'
        f'<span class="start">{escape(mail.text[:200])}</span></a></li>'
        for mail in mails
    )
    count = f"{len(mails)} mail{'' if len(mails) == 1 else 's'}"
    content = (
        f'<ol class="mails">{rows}</ol>' if mails else '<p class="none">No mail yet. It shows here as it comes.</p>'
    )
    return page("Mail", f"<header><h1>Mail</h1><p>{count}. Nothing here left this machine.</p></header>{content}", "5")


def one(mail: Mail) -> str:
    facts = [("From", mail.sender), ("To", mail.to), ("Message-ID", mail.message_id)]
    facts += [("Attached", name) for name in mail.attachments]
    rows = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts if value)
    note = '<p class="note">This mail has no plain text. Below is the source of its HTML.</p>' if mail.is_html else ""
    return page(
        mail.subject or "(no subject)",
        f'<nav><a href="/">All mail</a></nav><article><h1>{escape(mail.subject) or "(no subject)"}</h1>'
        f"<dl>{rows}<dt>Date</dt><dd>{when(mail)}</dd></dl>{note}<pre>{with_links(mail.text)}</pre></article>",
    )


def missing() -> str:
    return page("No such mail", '<nav><a href="/">All mail</a></nav><p class="none">There is no such mail.</p>')


def when(mail: Mail) -> str:
    local = mail.date.astimezone()
    return f'<time datetime="{mail.date.isoformat()}">{local.day} {local:%b %H:%M}</time>'


def with_links(text: str) -> str:
    pieces = LINK.split(text)
    for n, piece in enumerate(pieces):
        safe = escape(piece)
        pieces[n] = f'<a href="{safe}" rel="noreferrer noopener">{safe}</a>' if n % 2 else safe
    return "".join(pieces)


def page(title: str, content: str, refresh: str = "") -> str:
    again = f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">{again}<title>{escape(title)}</title>'
        f'<link rel="stylesheet" href="/style.css"></head><body><main>{content}</main></body></html>'
    )
