"""The main job over HTTP: a visitor asks, the owner approves, the mail arrives, the visitor comes in."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import requests

from standmeet.demo.browser import Browser, Page
from standmeet.demo.processes import DemoFailed
from tasks.queue.completion import Done, wait

PATIENCE = 30.0


@dataclass(frozen=True)
class Places:
    web: str
    mails: str
    email: str
    password: str


def tell(step: str, said: str) -> None:
    print(f"  {step:<16} {said}", flush=True)  # noqa: T201


def ms(since: float) -> str:
    return f"{(time.perf_counter() - since) * 1000:.0f} ms"


def until(ask: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := ask()):
        if time.monotonic() > end:
            raise DemoFailed(f"Not within {PATIENCE:.0f} s: {what}.")
        time.sleep(0.02)
    return found


def play(places: Places) -> None:
    visitor, owner = Browser(), Browser()
    name = f"Ana {time.strftime('%H:%M:%S')}"

    start = time.perf_counter()
    form = visitor.open(places.web)
    asked = {"name": name, "email": "ana@example.net", "message": "May I read your notes?"}
    received = visitor.submit(form, "/ask/", **asked)
    if not received.element("request-received"):
        raise DemoFailed("The page did not say that the request is received.")
    tell("submitted", f"{name} asks for access: received after {ms(start)}")

    signed_in = sign_in(owner, places)
    requests_page = owner.open(urljoin(signed_in.url, "/admin/requests/accessrequest/"))
    start = time.perf_counter()
    approved, row, job_id = approve(owner, requests_page, name)
    tell("approved", f"the code is issued and the answer is here in {ms(start)}; the chip says sending")
    answer = wait([job_id], PATIENCE)
    if not isinstance(answer, Done) or answer.states[job_id] != "completed":
        raise DemoFailed(f"Job {job_id} did not complete: {answer}")
    tell("job completed", f"job {job_id}, {ms(start)} after the click")
    mail = until(lambda: mail_with(places, approved), "the mail arrives")
    tell("mail received", f"“{mail['subject']}” for {mail['to']}, {ms(start)} after the click")
    chip = until(lambda: chip_says_sent(owner, requests_page, row), "the chip says sent")
    tell("chip says sent", f"as the page's poll shows it, {ms(start)} after the click")
    if chip["status"] != "replied":
        raise DemoFailed(f"The mail is sent, but the request is {chip['status']}.")
    tell("request replied", "its status follows the mail")
    come_in(visitor, mail, approved)
    tell("code redeemed", "the link showed a page, one click, and the visitor is in")


def sign_in(owner: Browser, places: Places) -> Page:
    login = owner.open(urljoin(places.web, "/admin/"))
    return owner.submit(login, "/admin/login/", username=places.email, password=places.password)


def approve(owner: Browser, page: Page, name: str) -> tuple[str, int, int]:
    """Click Approve in the row of this visitor: the code, the row, and the job that the chip names."""
    found = [form for form in page.forms if form.button == "request-approve"]
    rows = [int((form.attrs.get("action") or "").split("/")[4]) for form in found]
    if not rows or name not in page.html:
        raise DemoFailed("The new request is not in the list with an Approve button.")
    newest = max(rows)
    answer = owner.submit(page, f"/{newest}/do/access_requests.approve/", htmx=True)
    chip = answer.element("request-mail-state")
    if not chip or chip["data-state"] not in ("sending", "sent"):
        raise DemoFailed(f"Approve did not answer with a chip: {answer.html[:300]}")
    code = answer.html.partition('data-testid="request-code">')[2].partition("<")[0]
    return code, newest, int(chip["data-job-id"] or 0)


def mail_with(places: Places, code: str) -> dict[str, Any] | None:
    mails = requests.get(f"{places.mails}/mails.json", timeout=10).json()
    return next((mail for mail in mails if code in mail["text"]), None)


def chip_says_sent(owner: Browser, page: Page, row: int) -> dict[str, Any] | None:
    """One poll, as the page makes it."""
    polled = owner.open(urljoin(page.url, "rows/"), params={"row": f"{row}:"})
    chip, status = polled.element("request-mail-state"), polled.element("request-status")
    if not chip or not status or chip["data-state"] != "sent":
        return None
    return {"status": status["data-status"]}


def come_in(visitor: Browser, mail: dict[str, Any], code: str) -> None:
    link = next((word for word in mail["text"].split() if word.endswith(f"?code={code}")), None)
    if link is None:
        raise DemoFailed("The mail has no link.")
    offered = visitor.open(link)
    inside = visitor.submit(offered, "/redeem/")
    if not inside.element("inside"):
        raise DemoFailed("The code did not let the visitor in.")
