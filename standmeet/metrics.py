"""/metrics: the queue's figures as Prometheus text, equal from every web process since they come from the tables."""

import ipaddress
import logging
import math
import secrets
from collections.abc import Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from tasks import registry
from tasks.queue import alerts, figures
from tasks.queue.forever import NO_DATABASE
from tasks.queue.states import State

log = logging.getLogger("standmeet.health")
PLAIN = "text/plain; charset=utf-8"
PROXIES = {"Forwarded", "Via", "X-Real-Ip"}
HERE = ("127.0.0.1", "localhost", "[::1]")


class Figures(Collector):
    def collect(self) -> Iterator[Metric]:
        yield from jobs()
        yield from queues()
        yield waits()
        yield from trouble()


def jobs() -> Iterator[Metric]:
    found = figures.jobs()
    kept = GaugeMetricFamily(
        "standmeet_jobs", "Jobs that are kept (done and cancelled 24 h, discarded 7 days)", labels=["kind", "state"]
    )
    retries = GaugeMetricFamily(
        "standmeet_job_retries", "Attempts beyond the first of the jobs that are kept", labels=["kind", "state"]
    )
    kinds = sorted({*registry.kinds(), *(kind for kind, _ in found.count)})
    for kind in kinds:
        for state in State.values:
            kept.add_metric([kind, state], found.count[kind, state])
            retries.add_metric([kind, state], found.retries[kind, state])
    estimated = GaugeMetricFamily(
        "standmeet_jobs_estimated",
        f"1 where a state has {figures.EXACT} jobs or more: they are estimated from a sample then, not counted",
        labels=["state"],
    )
    for state in State.values:
        estimated.add_metric([state], int(state in found.estimated))
    yield from (kept, retries, estimated)


def queues() -> Iterator[Metric]:
    age = GaugeMetricFamily(
        "standmeet_queue_age_seconds", "For how long the oldest due job of a queue has waited", labels=["queue"]
    )
    workers = GaugeMetricFamily(
        "standmeet_workers", "Worker processes that were seen in the last minute", labels=["queue"]
    )
    seen = figures.workers_seen()
    for queue in alerts.queue_ages():
        age.add_metric([queue.queue], queue.waited.total_seconds())
        workers.add_metric([queue.queue], seen.get(queue.queue, 0))
    yield from (age, workers)


def waits() -> Metric:
    found = HistogramMetricFamily(
        "standmeet_wait_seconds",
        "How long calls waited for jobs, of all processes: done, receipt (not in time), capped (64 waited already)",
        labels=["outcome"],
    )
    for outcome, counted in figures.waits().items():
        buckets = [("+Inf" if math.isinf(bound) else repr(bound), float(n)) for bound, n in counted.within]
        found.add_metric([outcome], buckets, counted.seconds)
    return found


def trouble() -> Iterator[Metric]:
    found = GaugeMetricFamily("standmeet_alert", "1 while the panel shows this alert", labels=["name"])
    raised = {alert.name for alert in alerts.alerts()}
    for name in alerts.NAMES:
        found.add_metric([name], int(name in raised))
    yield found


def metrics(request: HttpRequest) -> HttpResponse:
    if settings.METRICS_TOKEN:
        if not has_token(request):
            refused = HttpResponse("Send the METRICS_TOKEN as a bearer token.\n", status=401, content_type=PLAIN)
            refused["WWW-Authenticate"] = 'Bearer realm="metrics"'
            return refused
    elif not is_local(request):
        return HttpResponse(
            "From this machine only. To read it from elsewhere, set METRICS_TOKEN.\n", status=403, content_type=PLAIN
        )
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    figures_now = CollectorRegistry()
    figures_now.register(Figures())
    try:
        return HttpResponse(encode(figures_now), content_type=content_type)
    except NO_DATABASE as error:
        log.warning("no figures: the database does not answer (%s)", str(error).strip())
        return HttpResponse("The database does not answer.\n", status=503, content_type=PLAIN)


def has_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(
        token.strip().encode(), settings.METRICS_TOKEN.encode()
    )


def is_local(request: HttpRequest) -> bool:
    """Whether this machine itself asks: not through a proxy on it, nor a browser that was told a name for it."""
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    proxied = any(name.startswith("X-Forwarded") or name in PROXIES for name in request.headers)
    host, _ = split_domain_port(request.META.get("HTTP_HOST", ""))
    return address.is_loopback and not proxied and host in HERE
