import accounts.catalog
import requests_app.catalog
import tasks.catalog
import tests.probe.catalog
from tasks.declare import Catalog

CATALOG = Catalog.of(accounts.catalog, requests_app.catalog, tasks.catalog, tests.probe.catalog)
