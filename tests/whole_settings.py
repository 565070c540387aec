"""The tests' settings with what runs by the clock, as in the product."""

from tests.settings import *  # noqa: F403

CATALOG = "tests.catalog.WHOLE"
