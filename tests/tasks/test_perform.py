import io
import json

import pytest
from django.core.management import CommandError, call_command

from tasks import registry
from tasks.errors import BadInput, NotAllowed
from tasks.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)


def op(*words: str) -> object:
    out = io.StringIO()
    call_command("op", *words, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "id is needed"),
        ({"request_id": "x"}, "id must be a whole number"),
        ({"request_id": "9" * 30}, "id must be a whole number"),
        ({"request_id": True}, "id must be a whole number"),
        ({"request_id": "1", "note": "x"}, "note is not an input"),
    ],
)
def test_input_is_checked_by_name(by, given, said) -> None:
    with pytest.raises(BadInput, match=said):
        perform(registry.operations()["access_requests.approve"], by, **given)


def test_a_caller_without_the_permission_is_refused_in_words(visitor) -> None:
    with pytest.raises(NotAllowed, match="You may not do this: approve a request"):
        perform(registry.operations()["access_requests.approve"], visitor, request_id=1)


def test_an_operation_runs_from_the_shell(owner, supplier, ask) -> None:
    request = ask()

    approval = op("access_requests.approve", "--id", str(request.pk))

    assert isinstance(approval, dict)
    assert approval["mail"]["state"] == "sending"
    assert approval["code"].startswith("inv-")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "There is no operation 'nope'"),
        (["access_requests.approve"], "id is needed"),
        (["access_requests.approve", "--id"], "--id has no value"),
        (["access_requests.approve", "41"], "'41' is not an input"),
        (["access_requests.approve", "--id", "41"], "connect and verify a mail supplier"),
        (["--as", "nobody@example.org", "access_requests.approve", "--id", "41"], "There is no owner nobody"),
    ],
)
def test_the_shell_says_what_is_wrong(owner, words, said) -> None:
    with pytest.raises(CommandError, match=said):
        op(*words)


def test_without_a_name_the_shell_lists_the_operations(capsys) -> None:
    call_command("op")

    assert "access_requests.approve" in capsys.readouterr().out
