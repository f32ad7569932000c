"""A deadline would be an assertion on noise: the first example of a rule compiles it."""

from hypothesis import settings

settings.register_profile("lewa", deadline=None)
settings.load_profile("lewa")
