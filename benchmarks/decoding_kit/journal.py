"""What a long run has measured so far, so that it can go on where it was interrupted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Journal:
    """Measured values by name, each written down as soon as it is known."""

    def __init__(self, path: Path, setting: dict[str, Any], resume: bool) -> None:
        """Goes on with the file at `path` if told to and if it is of the same `setting`."""
        self._path, self._known = path, dict[str, Any]()
        lines = path.read_text().splitlines() if resume and path.exists() else []
        entries = [json.loads(line) for line in lines if line.endswith("}")]  # no half line
        if entries and entries[0] == setting:
            self._known = {entry["name"]: entry["value"] for entry in entries[1:]}
            print(f"going on after {len(self._known)} measurements in {path}")
        path.parent.mkdir(parents=True, exist_ok=True)
        known = [{"name": name, "value": value} for name, value in self._known.items()]
        path.write_text("".join(json.dumps(entry) + "\n" for entry in [setting, *known]))

    def once(self, name: str, measure: Callable[[], Any]) -> Any:
        """The value of that name, measured now unless it is known."""
        if name not in self._known:
            entry = json.dumps({"name": name, "value": measure()})
            with self._path.open("a") as file:
                file.write(entry + "\n")
            self._known[name] = json.loads(entry)["value"]
        return self._known[name]
