import re

import pytest

import precall
from precall.engines import choose_engine


def test_auto_says_what_it_chose():
    assert choose_engine("auto").name == "cpu"


def test_a_named_engine_is_that_engine():
    assert choose_engine("reference").name == "reference"
    assert choose_engine("cpu").name == "cpu"


def test_an_unknown_engine_is_refused():
    message = "engine='warp' is unknown; choose from 'auto', 'cpu', 'reference'."
    with pytest.raises(precall.InputError, match=f"^{re.escape(message)}$"):
        choose_engine("warp")
