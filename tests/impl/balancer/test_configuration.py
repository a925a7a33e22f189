"""The configuration of the balancer: defaults, clamped and refused values, dynamic changes."""

from __future__ import annotations

import math

import pytest

from impl.balancer.batches import BatchLimits
from impl.balancer.configuration import (
    PREFIX,
    ConfigurationError,
    Value,
    after_change,
    check_limits,
    checked,
    configured,
)
from impl.balancer.goals import MIB, GoalSettings
from impl.balancer.resources import topic_partition


def test_the_defaults() -> None:
    """The table of the keys."""
    found = configured({})

    assert found.round.goals == (GoalSettings("NW_IN"), GoalSettings("NW_OUT"))
    assert (found.detect_interval_ms, found.delay_ms, found.execution_interval_ms) == (60_000, 60_000, 5_000)
    assert found.limits == BatchLimits(50, 0.5, 10)
    assert (found.excluded_brokers, found.excluded_topics) == (frozenset(), frozenset())


def test_keys_have_a_prefix_or_none() -> None:
    """Each key reaches its setting. Lists are lists or text with commas."""
    settings: dict[str, Value] = {
        "network.in.usage.distribution.detect.threshold": 5,
        "network.out.usage.distribution.detect.threshold": "6",
        "network.in.trivial.change.ratio": 0.1,
        "network.out.trivial.change.ratio": 0.2,
        "network.in.distribution.detect.avg.deviation": 0.3,
        "network.out.distribution.detect.avg.deviation": 0.4,
        "execution.concurrency": 7,
        "execution.interval.ms": 8,
        "anomaly.detect.interval.ms": 9,
        "metrics.delay.ms": 10,
        "exclude.broker.ids": "1, 2",
        "exclude.topics": ["a", "b"],
        "goals": "kafka.autobalancer.goals.NetworkOutUsageDistributionGoal,NetworkInUsageDistributionGoal",
        "consumer.poll.timeout": 1000,
    }
    found = configured(settings)

    assert found.round.goals == (GoalSettings("NW_OUT", 0.4, 6, 0.2), GoalSettings("NW_IN", 0.3, 5, 0.1))
    assert (found.limits.concurrency, found.execution_interval_ms) == (7, 8)
    assert (found.detect_interval_ms, found.delay_ms) == (9, 10)
    assert (sorted(found.excluded_brokers), sorted(found.excluded_topics)) == ([1, 2], ["a", "b"])
    assert configured({PREFIX + key: value for key, value in settings.items()}) == found


def test_a_dynamic_change_moves_the_span() -> None:
    """AB-26, AB-58, D-04. The span jumps from 100 MiB to 1 GiB, except in safe mode or if the bandwidth is set."""

    def span(settings: dict[str, Value], *, safe: bool = False) -> float:
        return configured(settings, safe=safe).round.goals[0].span / MIB

    assert span({}) == 100
    assert span(after_change({})) == 1024
    assert span(after_change({}, safe=True), safe=True) == 100
    assert span(after_change({"s3.network.baseline.bandwidth": 5 * MIB})) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"execution.concurrency": -1}, "execution.concurrency is -1; expected a number of at least 0"),
        ({"execution.concurrency": "many"}, "execution.concurrency is many; expected a number of at least 0"),
        ({"execution.concurrency": math.nan}, "execution.concurrency is nan; expected a number of at least 0"),
        ({"metrics.delay.ms": 0}, "metrics.delay.ms is 0; expected a number of at least 1"),
        (
            {"network.in.trivial.change.ratio": 1.1},
            "network.in.trivial.change.ratio is 1.1; expected a number of at least 0 and at most 1",
        ),
        ({"goals": "CpuGoal"}, "goals has CpuGoal; expected some of NetworkInUsageDistributionGoal, Network"),
        ({"goals": "NetworkInUsageDistributionGoal," * 2}, "goals has NetworkInUsageDistributionGoal twice; expected"),
        ({"exclude.broker.ids": "one"}, "exclude.broker.ids is one; expected a number of at least 0"),
        ({"cruise.control": 1}, "unknown key cruise.control; expected one of anomaly.detect.interval.ms, "),
    ],
)
def test_a_refused_value_has_one_line(settings: dict[str, Value], message: str) -> None:
    """The line names the key, the value and what is expected."""
    with pytest.raises(ConfigurationError) as caught:
        configured(settings)

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (GoalSettings("NW_IN", span=0.9), "NW_IN: span is 0.9; expected at least 1 byte per second"),
        (GoalSettings("NW_IN", span=-5.0), "NW_IN: span is -5.0; expected at least 1 byte per second"),
        (GoalSettings("NW_IN", deviation=1.1), "NW_IN: deviation is 1.1; expected a number from 0 to 1"),
        (GoalSettings("NW_IN", deviation=-0.1), "NW_IN: deviation is -0.1; expected a number from 0 to 1"),
    ],
)
def test_the_safe_mode_refuses_what_parity_takes(settings: GoalSettings, message: str) -> None:
    """Parity clamps the deviation and takes any span."""
    with pytest.raises(ConfigurationError) as caught:
        checked(settings, safe=True)

    assert str(caught.value) == message
    assert 0 <= checked(settings, safe=False).deviation <= 1
    assert checked(settings, safe=False).span == settings.span


@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.parametrize("name", ["deviation", "threshold", "trivial", "span", "limit"])
def test_nan_is_refused(name: str, safe: bool) -> None:
    """In both modes: AutoMQ's configuration takes no NaN either."""
    settings = GoalSettings("NW_IN", **{name: math.nan})
    with pytest.raises(ConfigurationError, match=rf"^NW_IN: {name} is nan; expected a finite number$"):
        checked(settings, safe=safe)


@pytest.mark.parametrize("capacity", [None, 0.0, -1.0, math.nan])
def test_a_capacity_goal_needs_a_capacity(capacity: float | None) -> None:
    """Above 0, since the score divides by it."""
    with pytest.raises(ConfigurationError, match=rf"^CAPACITY_IN: capacity is {capacity}; expected a number above 0$"):
        checked(GoalSettings("CAPACITY_IN", capacity=capacity), safe=False)


def test_the_safe_mode_refuses_a_concurrency_of_0() -> None:
    """AB-51. In parity it does not disable the execution."""
    with pytest.raises(ConfigurationError, match=r"^execution.concurrency is 0; expected at least 1$"):
        configured({"execution.concurrency": 0}, safe=True)
    with pytest.raises(ConfigurationError):
        check_limits(BatchLimits(0))
    assert configured({"execution.concurrency": 0}).limits.concurrency == 0


@pytest.mark.parametrize("name", ["t", "-1", "t-", "t-x", "t-1.5", "t-²", ""])
def test_a_name_without_a_number_names_no_partition(name: str) -> None:
    """The message shows a right one."""
    with pytest.raises(ValueError, match=r"names no partition; write its topic, a dash and its number, such as t-0$"):
        topic_partition(name)


def test_a_topic_may_have_dashes() -> None:
    """The number stands behind the last one."""
    assert topic_partition("a-b-07") == ("a-b", 7)
