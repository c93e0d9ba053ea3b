"""What is known by a name: systems, term weights, query writers, backbones and corpus formats.

A registry knows three kinds of entries: those in our own files, those of installed packages (their
entry points), and those that a program registers while it runs. A file or package is imported when
its entry is first asked for, so that a light entry does not pay for a heavy one's libraries.
"""

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import getsourcefile
from pathlib import Path
from pkgutil import iter_modules
from sys import modules
from typing import Any, Generic, Protocol, TypeVar

from tsgen.errors import ConfigError, nearest


class Named(Protocol):
    """Anything a registry can hold: it says under which name it wants to be found."""

    @property
    def name(self) -> str:
        """The name that users write in settings and commands."""
        ...


T = TypeVar("T", bound=Named)
OURS = ("tsgen", "builtins")


class Registry(Generic[T]):
    """Entries of one kind by their names.

    Args:
        kind: What an entry is called in messages, such as "system".
        group: The group of entry points in which installed packages name theirs.
        homes: The module that registers each entry of ours when it is imported.
        folder: A package of ours whose files register one entry each: `dense_dot.py` registers
            `dense-dot`. Files whose names begin with an underscore, or that `homes` names, do not.
    """

    def __init__(
        self, kind: str, group: str, homes: Mapping[str, str] | None = None, folder: str = ""
    ) -> None:
        self.kind, self.group = kind, group
        self._homes, self._folder = dict(homes or {}), folder
        self._entries: dict[str, T] = {}

    def register(self, entry: T) -> T:
        """Add an entry under its name, in place of an earlier one; returns the entry."""
        self._entries[entry.name] = entry
        return entry

    def names(self) -> list[str]:
        """All names in alphabetical order; nothing is imported to find them."""
        return sorted({*self._entries, *self._our_homes(), *self._installed()})

    def get(self, name: str) -> T:
        """Return the entry of that name; a `ConfigError` names the nearest known one."""
        if name not in self.names():
            raise ConfigError(f"unknown {self.kind} {name!r}; {nearest(name, self.names())}")
        if name not in self._entries:
            self._import(name)
        return self._entries[name]

    def all(self) -> list[T]:
        """Every entry, imported, in the order of the names."""
        return [self.get(name) for name in self.names()]

    def code_version(self, name: str) -> str:
        """A hash of the code behind an entry that is not ours, or "" for ours.

        It belongs in the cache key of whatever the entry makes: with changed code, what an earlier
        version made must not be taken for its work. Our own code changes the key by the version of
        this package.
        """
        return self.key(self.get(name)).get(self.kind, "")

    def key(self, entry: T) -> dict[str, str]:
        """What a cache key must say of an entry, registered or not: its `code_version`, if any."""
        version = source_hash([value for value in _values(entry) if callable(value)])
        return {self.kind: version} if version else {}

    def _our_homes(self) -> dict[str, str]:
        if not self._folder:
            return self._homes
        files = [m.name for m in iter_modules(import_module(self._folder).__path__)]
        homes = {f.replace("_", "-"): f"{self._folder}.{f}" for f in files if f[0] != "_"}
        return {n: home for n, home in homes.items() if home not in self._homes.values()} | (
            self._homes
        )

    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def _import(self, name: str) -> None:
        home = self._our_homes().get(name)
        if home is not None:
            import_module(home)
        else:
            point = self._installed()[name]
            self._entries[name] = self._loaded(point)
        if name not in self._entries:
            raise ConfigError(f"{home}: does not register the {self.kind} {name!r} it is named for")

    def _loaded(self, point: EntryPoint) -> T:
        try:
            entry: T = point.load()
        except Exception as error:  # a stranger's code: whatever it raises, say whose it is
            raise ConfigError(
                f"the {self.kind} {point.name!r} of the installed package "
                f"{point.dist.name if point.dist else point.module!r} cannot be loaded: {error!r}. "
                "Correct or uninstall that package."
            ) from error
        if getattr(entry, "name", None) != point.name:
            raise ConfigError(
                f"the entry point {point.name!r} of the group {self.group!r} leads to "
                f"{entry!r:.80}; expected a {self.kind} with the name {point.name!r}"
            )
        return entry


def _values(entry: object) -> list[Any]:
    """The values of an entry's attributes, and its class."""
    names = [*getattr(type(entry), "__dataclass_fields__", ()), *getattr(entry, "__dict__", ())]
    return [type(entry), *(getattr(entry, name, None) for name in dict.fromkeys(names))]


def source_hash(made_by: Sequence[Callable[..., Any]]) -> str:
    """Hash the source around functions and classes of someone else's; "" if all are ours."""
    named = [one.func if isinstance(one, partial) else one for one in made_by]
    foreign = [one for one in named if one.__module__.partition(".")[0] not in OURS]
    sources = dict.fromkeys(source for one in foreign for source in _sources(one))
    return sha256(b"\0".join(sources)).hexdigest() if foreign else ""


def _sources(made_by: Callable[..., Any]) -> Iterator[bytes]:
    """Every file of the top-level package, or the module's file, or what was typed by hand."""
    folders = getattr(modules.get(made_by.__module__.partition(".")[0]), "__path__", None)
    if folders:
        files = sorted(file for folder in folders for file in Path(folder).rglob("*.py"))
        yield from (file.read_bytes() for file in files)
        return
    try:
        yield Path(getsourcefile(made_by) or "").read_bytes()
    except (OSError, TypeError):
        code = getattr(made_by, "__code__", None)
        yield repr(made_by).encode() if code is None else marshal.dumps(code)
