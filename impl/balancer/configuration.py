"""The configuration of the balancer, by the keys of AutoMQ (AB-25, AB-26, AB-58).

Keys may stand with the prefix ``autobalancer.controller.`` or without. In parity, a value is refused or clamped where
AutoMQ does so. The safe mode refuses more: a span below 1, a deviation outside 0 to 1, a concurrency below 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from impl.balancer.batches import BatchLimits
from impl.balancer.execution import INTERVAL_MS
from impl.balancer.goals import DEVIATION, MIB, SPAN, THRESHOLD, TRIVIAL, GoalSettings
from impl.balancer.rounds import RoundConfiguration
from impl.balancer.schedule import INTERVAL_MS as DETECT_INTERVAL_MS
from impl.balancer.taking import DELAY_MS

PREFIX = "autobalancer.controller."
BANDWIDTH = "s3.network.baseline.bandwidth"
DEFAULT_BANDWIDTH = 1024.0 * MIB
"""The default of the bandwidth. The span is this only if the key is present (AB-26)."""
GOALS = {"NetworkInUsageDistributionGoal": "NW_IN", "NetworkOutUsageDistributionGoal": "NW_OUT"}

Value = str | float | Sequence[str | float]


class ConfigurationError(ValueError):
    """A value that the balancer refuses. The text has one line: the key, the value, and the expected values."""


class NumberKey(msgspec.Struct, frozen=True):
    """The numbers that a key takes: from ``low`` to ``high``, and its default."""

    default: float
    low: float = 0.0
    high: float = math.inf


NUMBERS = {
    "anomaly.detect.interval.ms": NumberKey(DETECT_INTERVAL_MS),
    "metrics.delay.ms": NumberKey(DELAY_MS, low=1),
    "network.in.usage.distribution.detect.threshold": NumberKey(THRESHOLD),
    "network.out.usage.distribution.detect.threshold": NumberKey(THRESHOLD),
    "network.in.trivial.change.ratio": NumberKey(TRIVIAL, high=1.0),
    "network.out.trivial.change.ratio": NumberKey(TRIVIAL, high=1.0),
    # ``checked`` looks at these two: AutoMQ clamps the deviation, and takes any bandwidth.
    "network.in.distribution.detect.avg.deviation": NumberKey(DEVIATION, low=-math.inf),
    "network.out.distribution.detect.avg.deviation": NumberKey(DEVIATION, low=-math.inf),
    BANDWIDTH: NumberKey(SPAN, low=-math.inf),
    "execution.concurrency": NumberKey(BatchLimits().concurrency),
    "execution.interval.ms": NumberKey(INTERVAL_MS),
}
LISTS = ("goals", "exclude.broker.ids", "exclude.topics")
ELSEWHERE = (
    *("enable", "topic.num.partitions", "topic.retention.ms", "consumer.poll.timeout", "consumer.retry.backoff.ms"),
    *("consumer.client.id", "autobalancer.reporter.metrics.reporting.interval.ms"),
)
"""The keys of the metrics topic, its reader and its writers. Planning does not read them."""


class BalancerConfiguration(msgspec.Struct, frozen=True):
    """The configuration of planning and execution. Times are in milliseconds."""

    round: RoundConfiguration
    limits: BatchLimits
    detect_interval_ms: int
    delay_ms: int
    execution_interval_ms: int
    excluded_brokers: frozenset[int]
    excluded_topics: frozenset[str]


def configured(settings: Mapping[str, Value], *, safe: bool = False) -> BalancerConfiguration:
    """The configuration from the settings of an operator, by key. Raises ConfigurationError."""
    given = {short(key): value for key, value in settings.items()}
    numbers = {key: _number(key, given.get(key, kind.default)) for key, kind in NUMBERS.items()}
    limits = BatchLimits(int(numbers["execution.concurrency"]))
    if safe:
        check_limits(limits)
    return BalancerConfiguration(
        round=RoundConfiguration(tuple(_goal(name, numbers, safe=safe) for name in _goals(given)), safe),
        limits=limits,
        detect_interval_ms=int(numbers["anomaly.detect.interval.ms"]),
        delay_ms=int(numbers["metrics.delay.ms"]),
        execution_interval_ms=int(numbers["execution.interval.ms"]),
        excluded_brokers=frozenset(int(_number("exclude.broker.ids", each)) for each in _list(given, LISTS[1])),
        excluded_topics=frozenset(_list(given, LISTS[2])),
    )


def after_change(settings: Mapping[str, Value], *, safe: bool = False) -> dict[str, Value]:
    """The settings as a dynamic change of any key hands them to the goals (AB-58).

    AutoMQ hands over all keys with their defaults. So the span jumps to 1 GiB/s unless the bandwidth is set (D-04). The
    safe mode hands over the settings as they are.
    """
    return dict(settings) if safe else {BANDWIDTH: DEFAULT_BANDWIDTH, **settings}


def checked(settings: GoalSettings, *, safe: bool) -> GoalSettings:
    """The settings of a goal with the deviation between 0 and 1 (AB-25). Raises ConfigurationError.

    The safe mode refuses another deviation and a span below 1, instead of clamping or taking it.
    """
    values = {"deviation": settings.deviation, "threshold": settings.threshold, "trivial": settings.trivial}
    for name, value in {**values, "span": settings.span, "limit": settings.limit}.items():
        if not math.isfinite(value):
            raise ConfigurationError(f"{settings.goal}: {name} is {value}; expected a finite number")
    if settings.goal.startswith("CAPACITY") and not (settings.capacity is not None and settings.capacity > 0):
        raise ConfigurationError(f"{settings.goal}: capacity is {settings.capacity}; expected a number above 0")
    if safe and not 0 <= settings.deviation <= 1:
        raise ConfigurationError(f"{settings.goal}: deviation is {settings.deviation}; expected a number from 0 to 1")
    if safe and not settings.span >= 1:
        raise ConfigurationError(f"{settings.goal}: span is {settings.span}; expected at least 1 byte per second")
    return replace(settings, deviation=max(0.0, min(1.0, settings.deviation)))


def check_limits(limits: BatchLimits) -> None:
    """Check the limits of a batch as the safe mode does. Raises ConfigurationError."""
    if limits.concurrency < 1:
        raise ConfigurationError(f"execution.concurrency is {limits.concurrency}; expected at least 1")


def short(key: str) -> str:
    """A key without its prefix. Raises ConfigurationError for a key that the balancer lacks."""
    found = key.removeprefix(PREFIX)
    known = (*NUMBERS, *LISTS, *ELSEWHERE)
    if found not in known:
        raise ConfigurationError(f"unknown key {key}; expected one of {', '.join(known)}")
    return found


def _goal(name: str, numbers: Mapping[str, float], *, safe: bool) -> GoalSettings:
    way = {"NW_IN": "in", "NW_OUT": "out"}[name]
    settings = GoalSettings(
        name,
        deviation=numbers[f"network.{way}.distribution.detect.avg.deviation"],
        threshold=numbers[f"network.{way}.usage.distribution.detect.threshold"],
        trivial=numbers[f"network.{way}.trivial.change.ratio"],
        span=numbers[BANDWIDTH],
    )
    return checked(settings, safe=safe)


def _goals(given: Mapping[str, Value]) -> list[str]:
    """The names of the goals, which the key lists by their classes, with packages or without."""
    classes = _list(given, "goals") if "goals" in given else list(GOALS)
    names = [each.rpartition(".")[2] for each in classes]
    for name in names:
        if name not in GOALS:
            raise ConfigurationError(f"goals has {name}; expected some of {', '.join(GOALS)}")
        if names.count(name) > 1:
            raise ConfigurationError(f"goals has {name} twice; expected each goal once")
    return [GOALS[name] for name in names]


def _list(given: Mapping[str, Value], key: str) -> list[str]:
    """A list, which may be text with commas."""
    value = given.get(key, "")
    parts = str(value).split(",") if isinstance(value, str | float | int) else map(str, value)
    return [each.strip() for each in parts if each.strip()]


def _number(key: str, value: Value) -> float:
    kind = NUMBERS.get(key, NumberKey(0))
    try:
        number = float(value) if isinstance(value, str | float | int) else math.nan
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and kind.low <= number <= kind.high):
        high = "" if math.isinf(kind.high) else f" and at most {kind.high:g}"
        low = "" if math.isinf(kind.low) else f" of at least {kind.low:g}"
        raise ConfigurationError(f"{key} is {value}; expected a number{low}{high}")
    return number
