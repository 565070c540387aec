"""Readers of the environment. Each refuses nonsense and names the variable."""

import os
import secrets
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def refuse(name: str, what: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} {what}")


def text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def boolean(name: str, default: bool) -> bool:
    value = os.environ.get(name, "").strip().lower()
    if value and value not in TRUE | FALSE:
        raise refuse(name, f"must be true or false, not {value!r}.")
    return value in TRUE if value else default


def choice(name: str, default: str, values: list[str]) -> str:
    value = text(name, default).upper()
    if value not in values:
        raise refuse(name, f"must be one of {', '.join(values)}, not {value!r}.")
    return value


def integer(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or not least <= int(value) <= most:
        raise refuse(name, f"must be a whole number from {least} to {most}, not {value!r}.")
    return int(value)


def names(name: str, default: list[str]) -> list[str]:
    value = os.environ.get(name, "")
    return [part.strip() for part in value.split(",") if part.strip()] or default


def url(name: str, default: str) -> str:
    value = text(name, default).rstrip("/")
    try:
        parts = urlsplit(value)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or "@" in parts.netloc or len(value.split()) != 1:
        raise refuse(name, f"must be a URL such as https://meet.example.org, not {value!r}.")
    return value


def hosts_of(url: str) -> list[str]:
    """The host names by which the page at this URL is asked for; on one's own machine, each of that machine's."""
    host = urlsplit(url).hostname or ""
    local = ["127.0.0.1", "localhost", "[::1]"]
    return local if host in ("127.0.0.1", "localhost", "::1") else [f"[{host}]" if ":" in host else host]


def secret(name: str, *, generated: Path | None) -> str:
    """A secret of 32 characters or more. Only a local set-up may have one generated, and then keeps it in a file."""
    value = os.environ.get(name, "")
    if not value and generated:
        return keep(generated / name.lower())
    if not value:
        raise refuse(name, "is required: set it to a long random text, for example from `openssl rand -base64 48`.")
    if len(value) < 32 or len(set(value)) < 10:
        raise refuse(name, "is too easy to guess: it must be random, with 32 characters or more.")
    return value


def optional_secret(name: str) -> str:
    """A secret of 32 characters or more, or none."""
    return secret(name, generated=None) if os.environ.get(name, "") else ""


def keep(path: Path) -> str:
    """The secret in this file, made at first; of several processes that make it at once, one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return path.read_text()
    except FileNotFoundError:
        pass
    mine = path.with_name(f"{path.name}.{os.getpid()}")
    mine.touch(mode=0o600)
    mine.write_text(secrets.token_urlsafe(48))
    try:
        os.link(mine, path)
    except FileExistsError:
        pass
    finally:
        mine.unlink()
    return path.read_text()


def database(name: str) -> dict[str, object] | None:
    """Django's settings for a postgresql:// URL (libpq's form; host may be ?host=/socket/folder), or None if unset."""
    value = os.environ.get(name, "").strip()
    if not value:
        return None
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError as error:
        raise refuse(name, f"is not a URL: {error}.") from None
    query = dict(parse_qsl(parts.query))
    if parts.scheme not in ("postgres", "postgresql") or not parts.path.strip("/"):
        raise refuse(name, "must look like postgresql://user:password@host:5432/database.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or query.pop("user", "")),
        "PASSWORD": unquote(parts.password or query.pop("password", "")),
        "HOST": query.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": query.pop("port", "") or str(port or ""),
        "OPTIONS": query,
    }
