"""Periodic work of the tests, in a catalog of its own: any other test's worker must not begin it."""

from dataclasses import replace
from datetime import timedelta

from tasks.declare import Periodic, periodic_kind
from tests.catalog import WHOLE

HOUR = timedelta(hours=1)
TICK = periodic_kind("probe.tick", "tests.probe.handlers.tick")
FAILS = periodic_kind("probe.fails", "tests.probe.handlers.tick_and_fail")
HANGS = periodic_kind("probe.hangs", "tests.probe.handlers.tick_and_hang")
WORKS = (
    Periodic("probe.tick", HOUR, TICK, "Tick"),
    Periodic("probe.fails", 24 * HOUR, FAILS, "Tick, and fail"),
    Periodic("probe.hangs", 24 * HOUR, HANGS, "Tick, and hang"),
)
CATALOG = replace(WHOLE, kinds=(*WHOLE.kinds, TICK, FAILS, HANGS), periodic=WORKS)
ONE = replace(CATALOG, periodic=WORKS[:1])
