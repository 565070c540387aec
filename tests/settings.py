"""The product's settings with a catalog that declares kinds of the tests, and a table for what their handlers did."""

from standmeet.settings import *  # noqa: F403
from standmeet.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.probe"]
CATALOG = "tests.catalog.CATALOG"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
