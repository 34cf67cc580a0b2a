"""What the package shows: names, docstrings, examples."""

from __future__ import annotations

import inspect
import re

import pytest

import robustmds as rm

PUBLIC = {
    **{name: getattr(rm, name) for name in rm.__all__},
    **{f"methods.{name}": getattr(rm.methods, name) for name in rm.methods.__all__},
    **{
        f"{module.__name__.removeprefix('robustmds.')}.{name}": thing
        for module in (rm.datasets, rm.theory)
        for name, thing in vars(module).items()
        if inspect.isfunction(thing) and thing.__module__ == module.__name__ and not name.startswith("_")
    },
}
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)}
SETTINGS = {type(method()).__name__: method for method in rm.METHODS.values()}


def test_the_names_of_the_design_are_there():
    assert {
        "robust_mds",
        "RobustMDS",
        "Result",
        "Status",
        "Pairs",
        "METHODS",
        "methods",
        "datasets",
        "theory",
        "align",
    } <= set(rm.__all__)
    assert list(rm.METHODS)[0] == "auto"  # noqa: RUF015 - an order
    assert re.fullmatch(r"\d+\.\d+\.\d+", rm.__version__)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'robustmds' has no attribute 'robust_msd'"):
        rm.robust_msd  # noqa: B018 - looked up


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_documented(name):
    assert inspect.isdatadescriptor(PUBLIC[name]) or inspect.getdoc(PUBLIC[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_explains_every_parameter_and_shows_an_example(name):
    text = inspect.getdoc(FUNCTIONS[name])
    for parameter in inspect.signature(FUNCTIONS[name]).parameters:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)* : ", text, re.MULTILINE), parameter
    assert "\nExamples\n--------\n>>> " in text


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_frozen_documented_and_named(name):
    method = SETTINGS[name]()
    text = inspect.getdoc(SETTINGS[name])
    for parameter in inspect.signature(SETTINGS[name]).parameters:
        assert re.search(rf"^{parameter} : ", text, re.MULTILINE), parameter
        with pytest.raises(AttributeError):
            setattr(method, parameter, None)
    assert rm.METHODS[method.name] is SETTINGS[name]
    assert hash(method) == hash(SETTINGS[name]())
    assert method.summary


@pytest.mark.parametrize("status", rm.Status)
def test_the_value_of_a_status_is_a_sentence(status):
    assert re.fullmatch(r"[A-Z].*\.", status.value)
