"""Adds up the apps' catalogs, as urls.py adds up their urls."""

import accounts.catalog
import requests_app.catalog
import tasks.catalog
from tasks.declare import Catalog

CATALOG = Catalog.of(tasks.catalog, accounts.catalog, requests_app.catalog)
