"""Profile names and their loaders."""

import pytest

from data.errors import ConfigError
from recognize.encoders.profiles import LOADERS, load_encoders
from recognize.settings import PROFILES


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r'Unknown profile "big"\. Expected one of starter, general, paper, best'):
        load_encoders("big")


def test_every_profile_has_a_loader() -> None:
    assert tuple(LOADERS) == PROFILES
