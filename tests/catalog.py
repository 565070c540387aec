from dataclasses import replace

import accounts.catalog
import requests_app.catalog
import tasks.catalog
import tests.probe.catalog
from tasks.declare import Catalog

WHOLE = Catalog.of(tasks.catalog, accounts.catalog, requests_app.catalog, tests.probe.catalog)
# Without what runs by the clock: a worker would begin it under tests that look at something else.
CATALOG = replace(WHOLE, periodic=())
