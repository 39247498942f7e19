"""How faults and their parameters are written."""

import pytest

from chaos.faults import parameters, registry
from chaos.faults.parameters import COUNT, SECONDS, SIGNED_SECONDS, TEXT, choice
from lockd.errors import ConfigError


@pytest.mark.parametrize(
    ("form", "written", "value"),
    [
        (SECONDS, "1m30s", 90.0),
        (SECONDS, 2, 2.0),
        (SECONDS, 0.5, 0.5),
        (SIGNED_SECONDS, "-1h", -3600.0),
        (COUNT, 3, 3),
        (COUNT, "3", 3),
        (TEXT, "any", "any"),
        (choice("one", "two"), "two", "two"),
    ],
)
def test_what_is_understood(form, written, value):
    assert form.parse(written) == value


@pytest.mark.parametrize(
    ("form", "written"),
    [
        (SECONDS, "-1s"),
        (SECONDS, True),
        (SECONDS, float("nan")),
        (SECONDS, "soon"),
        (SIGNED_SECONDS, "--1s"),
        (COUNT, -1),
        (COUNT, 1.5),
        (COUNT, True),
        (TEXT, ""),
        (TEXT, 1),
        (choice("one"), "two"),
    ],
)
def test_what_is_refused(form, written):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        form.parse(written)


@pytest.mark.parametrize("name", sorted(registry.FAULTS))
def test_every_fault_is_made_without_parameters_and_tells_what_it_does(name):
    fault = registry.make(name)
    assert fault.name == name
    assert registry.brief(type(fault)).endswith(".")
    assert parameters.schema(type(fault))["additionalProperties"] is False


def test_an_unknown_fault_is_told_with_what_it_is_like():
    with pytest.raises(ConfigError, match="no fault is named 'kil': did you mean kill"):
        registry.make("kil")


def test_every_mistake_is_told():
    with pytest.raises(ConfigError) as refused:
        registry.make("kill", {"softly": True, "twice": 1})
    assert refused.value.problems == (
        "kill: no parameter is named 'softly': it has none",
        "kill: no parameter is named 'twice': it has none",
    )
