import zoneinfo
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone


class OwnersTimeZone:
    """Times are shown in the signed-in owner's zone, and in UTC to everybody else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        zone = request.user.time_zone if request.path.startswith("/admin/") and request.user.is_authenticated else ""
        with timezone.override(zoneinfo.ZoneInfo(zone) if zone in zoneinfo.available_timezones() else None):
            return self.get_response(request)
