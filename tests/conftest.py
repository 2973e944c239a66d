"""What holds for all tests: hypothesis has no deadline, and in CI it tries the same each time."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "local", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
