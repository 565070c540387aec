"""The admin's first page."""

import pytest

from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("may_see", [True, False])
def test_alerts_of_the_tasks_are_shown_to_those_who_may_see_tasks(client, django_user_model, may_see) -> None:
    user = django_user_model.objects.create_user("ann@example.org", PASSWORD, is_staff=True, is_superuser=may_see)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    page = client.get("/admin/").content.decode()

    assert ('data-name="no_worker"' in page) == may_see
