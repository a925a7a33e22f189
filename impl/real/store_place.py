"""The object store of a cluster: moto's server, which the driver starts, or a bucket that is there already."""

from __future__ import annotations

import importlib.util
import os

import msgspec

from impl.real.children import Children
from impl.real.listening import HOST
from impl.real.problems import ClusterError
from impl.real.starts import StoreServerStart
from impl.store.interface import List, ObjectPage
from impl.store.s3_boto import BotoStore, create_bucket, credentials, fault_of

BUCKET = "holdfast"
"""The bucket in moto's server, and the default of ``--bucket``."""
_NOBODY = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nobody", "AWS_REGION": "us-east-1"}
"""Credentials for moto's server, which takes any."""


class StorePlace(msgspec.Struct, frozen=True):
    """``endpoint``: a URL; None for Amazon S3 or for moto's server. ``own``: whether the driver starts that server."""

    endpoint: str | None
    bucket: str
    own: bool


def environment_of(place: StorePlace) -> dict[str, str]:
    """The environment of the processes: that of the driver, and the credentials for the store.

    Raises ModuleNotFoundError if moto is needed and not installed.
    """
    if place.own:
        if importlib.util.find_spec("moto") is None:
            raise ModuleNotFoundError("moto", name="moto")
        found = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {**found, **_NOBODY}
    return {**os.environ, **credentials(), "AWS_EC2_METADATA_DISABLED": "true"}


async def open_place(place: StorePlace, children: Children, environment: dict[str, str]) -> str | None:
    """Start moto's server with an empty bucket, or check the bucket. Returns the endpoint. Raises ClusterError."""
    # This process reads the bucket, too.
    os.environ.update({name: value for name, value in environment.items() if name.startswith("AWS_")})
    if place.own:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
            os.environ.pop(name, None)
        child = await children.start(StoreServerStart(name="store", driver=os.getpid()))
        endpoint = f"http://{HOST}:{child.port}"
        create_bucket(place.bucket, endpoint)
        return endpoint
    fault = fault_of(place.bucket, place.endpoint)
    if fault:
        raise ClusterError(fault)
    return place.endpoint


def check_empty(bucket: str, endpoint: str | None) -> None:
    """Raise ClusterError unless a bucket is empty: the keys of a run would mix with what is there."""
    page = BotoStore(bucket, endpoint).execute(List(""))
    if not isinstance(page, ObjectPage) or page.entries:
        raise ClusterError(f"bucket {bucket}: it is not empty, and a run needs one of its own; name an empty bucket")
