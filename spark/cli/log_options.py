"""The options of a campaign that say which recorded logs are judged, and by what: those of ``holdfast conform``."""

from __future__ import annotations

from typing import Annotated

import attrs
from cyclopts import Parameter

from holdfast.ir.errors import UsageError
from spark.campaign.config import LogCollection


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class LogSettings:
    """Which logs a campaign judges.

    Parameters
    ----------
    place
        Where the logs lie, one file each: a folder, or s3://BUCKET/PREFIX.
    model
        The model that judges them: a name that `holdfast models` lists, or a file.
    map
        A YAML file that says how to read a foreign log, or the name of one in models/mappings.
    """

    place: Annotated[str | None, Parameter(name="--in")] = None
    model: Annotated[str | None, Parameter(name="--model")] = None
    map: Annotated[str | None, Parameter(name="--map")] = None

    def options(self, s3: str | None) -> LogCollection:
        """The options as the configuration keeps them. Raises UsageError if a place or a model is missing."""
        if self.place is None:
            raise UsageError("--target log needs --in; name the folder of the logs, or s3://BUCKET/PREFIX")
        if self.model is None:
            raise UsageError("--target log needs --model; name the model that judges the logs")
        return LogCollection(place=self.place, s3=s3, model=self.model, map=self.map)

    @property
    def given(self) -> dict[str, object]:
        """The values by option; None if not given."""
        return {"--in": self.place, "--model": self.model, "--map": self.map}


NO_LOGS = LogSettings()
