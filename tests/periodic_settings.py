"""The tests' settings for workers that begin one periodic work, or all of the tests'."""

import os

from tests.settings import *  # noqa: F403

CATALOG = f"tests.probe.periodic.{os.environ.get('PROBE_CATALOG', 'ONE')}"
