"""A visitor asks, the owner approves, the mail carries code and link, the code opens a session."""

import re

import pytest
from playwright.sync_api import expect

from requests_app.models import AccessRequest

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_approved_visitor_comes_in_with_the_mailed_code(
    worker, supplier, smtp, submit_request, signed_in, visitor_page, site
) -> None:
    submit_request()

    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    request = AccessRequest.objects.get()
    row = signed_in.get_by_test_id(f"request-row-{request.pk}")
    row.get_by_test_id("request-approve").click()
    code = row.get_by_test_id("request-code").inner_text()
    link = row.get_by_test_id("request-link").get_attribute("href")
    assert link == f"{site}/?code={code}"

    smtp.wait_for(2)
    [mail] = [mail for mail in smtp.mails if mail.envelope_to == ["ana@example.net"]]  # the other one told the owner
    assert code in mail.get_content()
    assert link in mail.get_content()

    visitor_page.goto(link)
    expect(visitor_page.get_by_test_id("inside")).to_have_count(0)
    visitor_page.get_by_test_id("redeem").click()
    expect(visitor_page.get_by_test_id("inside")).to_contain_text("public reader")
    visitor_page.reload()
    expect(visitor_page.get_by_test_id("inside")).to_be_visible()


def test_opening_the_link_does_not_use_the_code_up(worker, supplier, owner, ask, by, site, page, visitor_page) -> None:
    from tasks import registry
    from tasks.perform import perform

    approval = perform(registry.operations()["access_requests.approve"], by, request_id=ask().pk)

    for _ in range(3):
        visitor_page.goto(approval.link)
    page.goto(approval.link)
    page.get_by_test_id("redeem").click()

    expect(page.get_by_test_id("inside")).to_be_visible()


def test_approving_an_unknown_request_is_a_404(supplier, signed_in, site) -> None:
    answer = signed_in.request.post(
        f"{site}/admin/requests/accessrequest/999999/do/access_requests.approve/",
        form={"csrfmiddlewaretoken": csrf(signed_in)},
        headers={"Referer": site},
    )

    assert answer.status == 404
    assert "no access request 999999" in answer.text()


def test_without_a_supplier_the_page_offers_no_access_and_approve_is_refused(
    supplier, ask, signed_in, page, site, visitor_page
) -> None:
    request = ask()
    visitor_page.goto(site)
    expect(visitor_page.get_by_text("Ask for access by mail")).to_be_visible()

    signed_in.goto(f"{site}/admin/accounts/mailsupplier/")
    signed_in.get_by_test_id("supplier-disconnect").click()
    expect(signed_in.get_by_test_id("toast-success")).to_contain_text("Disconnected")

    visitor_page.goto(site)
    expect(visitor_page.get_by_text("Ask for access by mail")).to_have_count(0)
    answer = signed_in.request.post(
        f"{site}/admin/requests/accessrequest/{request.pk}/do/access_requests.approve/",
        form={"csrfmiddlewaretoken": csrf(signed_in)},
        headers={"Referer": site},
    )
    assert answer.status == 400
    assert re.search("connect and verify a mail supplier", answer.text())


def csrf(page) -> str:
    return next(c["value"] for c in page.context.cookies() if c["name"] == "standmeet_csrf")
