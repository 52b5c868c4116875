import pytest

from tests.training.starter.world import features_of, study_of, wide_collection, write_collection
from training.starter import protocol
from training.starter.protocol import StudyCollection
from training.starter.study import Study


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> StudyCollection:
    return write_collection(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def study(collection: StudyCollection) -> Study:
    return study_of(collection, features_of(collection, noise=0.1))


@pytest.fixture(scope="session")
def wide() -> Study:
    """A study of 160 species, some set aside, with sixty photos for tuning."""
    found = wide_collection()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "N_TUNING", 60)
        assert len(found.tuning) == 60
    return study_of(found, features_of(found, noise=0.12))
