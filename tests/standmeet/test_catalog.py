"""What the product's catalog declares, as the panel and an AI client show it."""

import re

import pytest
from django.urls import reverse

from standmeet.catalog import CATALOG

SECRET = re.compile(r"(password|secret|token|phrase|^code$|hash)(?!_id$)", re.I)  # an id gives nothing away
CARRIED = [*((k.name, k.args, k.serves) for k in CATALOG.kinds), *((e.name, e.data, e.serves) for e in CATALOG.events)]


@pytest.mark.parametrize(("name", "carried"), [(name, carried) for name, carried, _ in CARRIED])
def test_no_secret_travels_in_a_job_or_an_event(name: str, carried: type) -> None:
    assert [field for field in carried.__dataclass_fields__ if SECRET.search(field)] == []


@pytest.mark.parametrize("serves", {serves for *_, serves in CARRIED if serves})
def test_what_a_job_or_an_event_serves_has_a_page(serves: object) -> None:
    assert reverse(serves.page, args=[41] if serves.field else []).startswith("/admin/")
