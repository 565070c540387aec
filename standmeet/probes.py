"""/healthz and /metrics, which answer before any other middleware: machines ask for them, by whatever address."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from standmeet.health import healthz
from standmeet.metrics import metrics

PAGES: dict[str, Callable[[HttpRequest], HttpResponseBase]] = {"/healthz": healthz, "/metrics": metrics}


@sync_and_async_middleware
def probes(get_response: Any) -> Any:
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            if request.path_info in PAGES:
                return await sync_to_async(answer_probe)(request)
            return await get_response(request)

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        return answer_probe(request) if request.path_info in PAGES else get_response(request)

    return answer


def answer_probe(request: HttpRequest) -> HttpResponseBase:
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    response = PAGES[request.path_info](request)
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response
