"""Opening of model files."""

from recognize.model_file import open_model
from recognize.starter.encoders import TOWER_FILE, Weights


def test_models_run_on_one_thread_and_without_overflow() -> None:
    """Int8 sums overflow on older processors unless onnxruntime is asked for precision."""
    options = open_model(Weights().folder / TOWER_FILE).get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    assert options.get_session_config_entry("session.x64quantprecision") == "1"
