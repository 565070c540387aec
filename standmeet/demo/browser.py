"""What a browser does with a page, for the demo's story: follow, fill in a form, press its button, poll."""

from html.parser import HTMLParser
from urllib.parse import urljoin

import requests

from standmeet.demo.processes import DemoFailed


class Form:
    def __init__(self, attrs: dict[str, str | None]) -> None:
        self.attrs = attrs
        self.fields: dict[str, str] = {}
        self.button = ""


class Page(HTMLParser):
    """Its forms, its elements by data-testid, and what is to be polled."""

    def __init__(self, url: str, html: str) -> None:
        super().__init__()
        self.url, self.html = url, html
        self.forms: list[Form] = []
        self.tested: list[tuple[str, dict[str, str | None]]] = []
        self.poll_url = ""
        self.polled: list[tuple[str, str]] = []
        self.open: Form | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if testid := values.get("data-testid"):
            self.tested.append((testid, values))
        if tag == "form":
            self.open = Form(values)
            self.forms.append(self.open)
        elif values.get("id") == "rows-poll":
            self.poll_url = values.get("hx-get") or ""
        elif values.get("class") == "live-row":
            self.polled.append((values["name"] or "", values["value"] or ""))
        elif tag in ("input", "textarea") and self.open and values.get("name"):
            self.open.fields[values["name"] or ""] = values.get("value") or ""
        elif tag == "button" and self.open:
            self.open.button = values.get("data-testid") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.open = None

    def form(self, action: str) -> Form:
        for form in self.forms:
            if action in (form.attrs.get("action") or self.url):
                return form
        raise DemoFailed(f"{self.url} has no form for {action}.")

    def element(self, testid: str) -> dict[str, str | None] | None:
        return next((attrs for name, attrs in self.tested if name == testid), None)


class Browser:
    def __init__(self) -> None:
        self.session = requests.Session()

    def open(self, url: str, **options: object) -> Page:
        return self.page(self.session.get(url, timeout=30, **options))  # type: ignore[arg-type]

    def submit(self, page: Page, action: str, *, htmx: bool = False, **typed: str) -> Page:
        """Press a form's button, as the browser does or as htmx does on a page with scripts."""
        form = page.form(action)
        url = urljoin(page.url, form.attrs.get("action") or "")
        headers = {"Referer": page.url, **({"HX-Request": "true"} if htmx else {})}
        return self.page(self.session.post(url, data={**form.fields, **typed}, headers=headers, timeout=60))

    def page(self, response: requests.Response) -> Page:
        if response.status_code >= 400:
            raise DemoFailed(f"{response.url} answered {response.status_code}:\n{response.text[:500]}")
        return Page(response.url, response.text)
