"""The documented objects of the Python standard library, found in the running interpreter.

This file is a script for `tsgen.corpus.stdlib`, which runs it in a fresh interpreter and reads the
objects as JSON: there no other package has replaced a standard object by its own. So it imports
nothing but the library that it reads.
"""

import inspect
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

MODULES = tuple(
    """builtins abc argparse array ast asyncio atexit base64 binascii bisect bz2 calendar cmath
    codecs collections collections.abc colorsys concurrent.futures configparser contextlib
    contextvars copy cProfile csv ctypes dataclasses datetime decimal difflib email email.header
    email.message email.mime.multipart email.mime.text email.utils enum faulthandler filecmp
    fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib gzip
    hashlib heapq hmac html html.parser http http.client http.cookies http.server importlib
    importlib.metadata importlib.resources importlib.util inspect io ipaddress itertools json
    keyword linecache locale logging logging.config logging.handlers lzma math mimetypes mmap
    multiprocessing multiprocessing.pool multiprocessing.shared_memory operator os os.path
    pathlib pickle platform plistlib pprint pstats queue random re reprlib sched secrets select
    selectors shelve shlex shutil signal smtplib socket socketserver sqlite3 ssl stat statistics
    string struct subprocess sys tarfile tempfile textwrap threading time timeit tomllib
    traceback tracemalloc types typing unicodedata unittest unittest.mock urllib.error
    urllib.parse urllib.request urllib.robotparser uuid warnings wave weakref webbrowser
    xml.etree.ElementTree zipfile zlib zoneinfo""".split()
)
"""Useful on every platform, quiet on import, and not on their way out of the library."""

WITHOUT_METHODS = frozenset(
    """asyncio ast bz2 codecs collections.abc http.server importlib.metadata importlib.resources
    importlib.util io logging.config logging.handlers lzma select selectors socketserver ssl types
    urllib.error urllib.request zoneinfo""".split()
)
"""Modules whose classes have many methods for those who extend them, much like one another."""

LEAST_WORDS = 3  # a docstring of fewer says no more than the name

_BUILTINS = "builtins"
_WORD = re.compile(r"[A-Za-z]+")
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Of fields of named tuples, of typing's names for other classes, of what is out of use.
_SAYS_NOTHING = re.compile(
    r"Alias for field|A generic version of|Deprecated\b|.*\b[Tt]his \w+ is deprecated", re.S
)
_PLAIN = (type(None), bool, int, float, str, bytes)  # defaults that read the same everywhere


class StdlibObject(NamedTuple):
    """A module, class, function, method or property with a docstring of its own."""

    name: str  # as a program writes it: heapq.merge, collections.Counter.most_common, str.split
    title: str  # the name, and the words of a compound one
    kind: str
    module: str
    text: str  # signature and docstring


class _Found(NamedTuple):
    """A public name and its object in the running interpreter."""

    name: str
    kind: str
    module: str
    value: Any


def stdlib_objects() -> list[StdlibObject]:
    """All documented objects, module by module in alphabetical order, each object once.

    An object that is public in several modules is named after the one that defines it; a method
    is named after the most general public class that has it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that will leave the library one day
        modules = list(_modules())
        members = _distinct(m for module in modules for m in _members(module))
        found = [*modules, *members, *_class_members(members)]
        objects = _without_copies(each for each in map(_described, found) if each is not None)
    place = {module: number for number, module in enumerate(MODULES)}
    return sorted(objects, key=lambda each: (place[each.module], each.name))


def _modules() -> Iterator[_Found]:
    """The listed modules that this interpreter has."""
    for name in MODULES:
        try:
            yield _Found(name, "module", name, import_module(name))
        except ImportError:
            continue  # built without it, or of another version


def _members(module: _Found) -> Iterator[_Found]:
    """The public names of a module; without `__all__`, those that the module itself defines."""
    homes = {module.name, f"_{module.name}"}
    listed = getattr(module.value, "__all__", None)
    for name in sorted(listed or vars(module.value)):
        value = getattr(module.value, name, None)
        its_own = module.name == _BUILTINS or getattr(value, "__module__", None) in homes
        if (listed or its_own) and name[0] != "_" and not isinstance(value, ModuleType):
            dotted = name if module.name == _BUILTINS else f"{module.name}.{name}"
            yield _Found(dotted, _kind(value), module.name, value)


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return "class"
    return "function" if inspect.isroutine(value) else "object"


def _distinct(members: Iterable[_Found]) -> list[_Found]:
    """Each object under one name: a built-in one, else that of its own module, else the first."""
    first: dict[int, _Found] = {}
    for member in sorted(members, key=_rank):
        first.setdefault(_identity(member.value), member)
    return list(first.values())


def _rank(member: _Found) -> tuple[bool, bool]:
    value = member.value
    is_elsewhere = member.module not in (_BUILTINS, getattr(value, "__module__", None))
    return is_elsewhere, getattr(value, "__name__", "") != member.name.rpartition(".")[2]


def _identity(value: Any) -> int:
    """Equal for two bound methods of one function, which are made anew when they are asked for."""
    return id(getattr(value, "__func__", value))


def _class_members(members: Iterable[_Found]) -> Iterator[_Found]:
    """Public methods and properties; inherited ones only where their own class is not public."""
    classes = [each for each in members if each.kind == "class" and not _rank(each)[1]]
    public = {each.value for each in classes}
    shown = [each for each in classes if each.module not in WITHOUT_METHODS]
    for each in sorted(shown, key=lambda each: (len(each.value.__mro__), len(each.name))):
        for name, kind, owner, value in inspect.classify_class_attrs(each.value):
            if name[0] != "_" and kind != "data" and (owner is each.value or owner not in public):
                kind = "property" if kind == "property" else "method"
                yield _Found(f"{each.name}.{name}", kind, each.module, value)


def _without_copies(objects: Iterable[StdlibObject]) -> Iterator[StdlibObject]:
    """The first of those with the same last name and the same text, as bytes and bytearray have."""
    seen = set()
    for each in objects:
        key = each.name.rpartition(".")[2], each.text
        if key not in seen:
            seen.add(key)
            yield each


def _described(found: _Found) -> StdlibObject | None:
    """The object with its text, or None if no one wrote a docstring for it."""
    name = found.name.rpartition(".")[2]
    docstring = _docstring(found.value, name)
    if not docstring:
        return None
    title = f"{found.name} ({words})" if (words := _words_of(name)) else found.name
    # The text does not repeat the name: title → text pairs would teach a model to look for it.
    text = f"{_signature(found.value)}\n{docstring}".lstrip()
    return StdlibObject(found.name, title, found.kind, found.module, text)


def _docstring(value: Any, name: str) -> str:
    """The docstring that was written for this object; for a class also that of `__init__`."""
    if not inspect.isclass(value):
        inherited = not inspect.isroutine(value) and value.__doc__ == type(value).__doc__
        return "" if inherited else _real(value.__doc__, name)
    own = value.__doc__ if "__doc__" in vars(value) else None  # else a base's
    init = vars(value).get("__init__")
    parts = [_real(own, name), _real(init.__doc__, name) if init else ""]
    return "\n\n".join(filter(None, parts))


def _real(docstring: Any, name: str) -> str:
    """The docstring, or nothing if it says no more than the name and the signature."""
    if not isinstance(docstring, str) or _SAYS_NOTHING.match(docstring):
        return ""
    text = inspect.cleandoc(docstring)
    is_signature = text.startswith(f"{name}(") and text.endswith(")") and "\n" not in text
    is_inherited = docstring == object.__init__.__doc__
    enough = len(_WORD.findall(text)) >= LEAST_WORDS
    return text if enough and not is_signature and not is_inherited else ""


def _words_of(name: str) -> str:
    """`most common` for most_common, `Thread Pool Executor`; nothing for a name of one word."""
    parts = _NAME_PART.findall(name)
    return " ".join(parts) if len(parts) > 1 else ""


def _signature(value: Any) -> str:
    """`(iterable, key=None)`, or nothing where the interpreter does not know it."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return ""
    try:
        signature = inspect.signature(getattr(value, "__func__", value))
    except (TypeError, ValueError):
        return ""
    parameters = [_shown(p) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    empty = inspect.Signature.empty
    return str(signature.replace(parameters=parameters, return_annotation=empty))


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    """Drop a parameter's annotation, and a default that depends on the machine."""
    empty = inspect.Parameter.empty
    default = parameter.default
    if default is not empty and (not isinstance(default, _PLAIN) or _is_path(default)):
        default = _Name(getattr(default, "__name__", "..."))
    return parameter.replace(annotation=empty, default=default)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 1 and Path(value).is_absolute()


class _Name(str):
    """A default value that is printed as a name, without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


if __name__ == "__main__":
    sys.stdout.write(json.dumps(stdlib_objects()))
