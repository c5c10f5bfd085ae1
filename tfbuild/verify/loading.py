"""Finds the libraries that a wheel's libraries need, as the loader would after installation."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tfbuild.verify.subject import Subject

_PREFIX = re.compile(r"^[^/]+\.data/(purelib|platlib)/")
_LOADER = re.compile(r"^ld(-linux.*|64)\.so\.\d$")
_FIRST = "tensorflow/python/_pywrap_tensorflow_internal.so"
"""What `import tensorflow` loads before any other large library, from 2.8 to 2.21."""

_TENSORFLOW = re.compile(r"^libtensorflow_(framework|cc)\.so")


@dataclass(frozen=True, kw_only=True)
class Need:
    """A library that another one needs and that the loader will not find in the wheel."""

    user: str
    """Path of the library that needs it."""
    library: str
    """"libfoo.so.1"."""
    elsewhere: str
    """Path of a library of that name in the wheel, where no search path leads to; else ""."""

    @property
    def is_tensorflow(self) -> bool:
        """Whether `import tensorflow` loads it, so that extensions of TensorFlow find it."""
        return bool(_TENSORFLOW.match(self.library))


class Loading:
    """Which library finds which."""

    def __init__(self, subject: Subject) -> None:
        self._libraries = subject.libraries
        self._places = {_installed(name): name for name in subject.libraries}

    @cached_property
    def unresolved(self) -> tuple[Need, ...]:
        """Libraries that must come from the system, or that something else must load first."""
        return tuple(
            Need(user=name, library=needed, elsewhere=self._elsewhere(needed))
            for name, facts in sorted(self._libraries.items())
            for needed in facts.dynamic.needed
            if not _LOADER.match(needed) and self.found(name, needed) is None
        )

    @cached_property
    def loaded_first(self) -> frozenset[str]:
        """Libraries that are there by name once TensorFlow's own first library is loaded."""
        queue = [_FIRST] if _FIRST in self._libraries else []
        seen = set(queue)
        while queue:
            name = queue.pop()
            for needed in self._libraries[name].dynamic.needed:
                found = self.found(name, needed)
                if found is not None and found not in seen:
                    seen.add(found)
                    queue.append(found)
        return frozenset(
            text for name in seen for text in (name.rpartition("/")[2], self._soname(name)) if text
        )

    def found(self, name: str, needed: str) -> str | None:
        """Return the wheel's library that `name` finds under a needed name, None if none."""
        facts = self._libraries[name]
        for folder in self._search[name]:
            path = posixpath.normpath(posixpath.join(folder, needed))
            found = self._places.get(path)
            if found is not None and self._libraries[found].machine == facts.machine:
                return found
        return None

    @cached_property
    def _search(self) -> Mapping[str, tuple[str, ...]]:
        """Folders that are searched for what each library needs.

        A DT_RPATH also serves the libraries that it led to; a DT_RUNPATH does not, and whoever has
        one inherits nothing (ld.so(8)).
        """
        own = {
            name: tuple(_folders(name, facts.dynamic.runpath or facts.dynamic.rpath))
            for name, facts in self._libraries.items()
        }
        search = {name: dict.fromkeys(folders) for name, folders in own.items()}
        passed = {
            name: dict.fromkeys(own[name])
            for name, facts in self._libraries.items()
            if facts.dynamic.rpath
        }
        queue = list(passed)
        while queue:
            name = queue.pop()
            for found in self._children(name, tuple(search[name])):
                heirs = passed.setdefault(found, {})
                if not passed[name].keys() <= heirs.keys():
                    heirs.update(passed[name])
                    search[found].update(passed[name])
                    queue.append(found)
        return {name: tuple(folders) for name, folders in search.items()}

    def _children(self, name: str, folders: tuple[str, ...]) -> Iterator[str]:
        """Yield the libraries that one finds and that inherit from it."""
        for needed in self._libraries[name].dynamic.needed:
            for folder in folders:
                found = self._places.get(posixpath.normpath(posixpath.join(folder, needed)))
                if found is not None and not self._libraries[found].dynamic.runpath:
                    yield found

    def _elsewhere(self, needed: str) -> str:
        by_name = (name for name in self._libraries if name.rpartition("/")[2] == needed)
        by_soname = (name for name in self._libraries if self._soname(name) == needed)
        return next(by_name, next(by_soname, ""))

    def _soname(self, name: str) -> str:
        return self._libraries[name].dynamic.soname


def _installed(name: str) -> str:
    """Return where a member comes to lie below site-packages."""
    return _PREFIX.sub("", name)


def _folders(name: str, paths: tuple[str, ...]) -> Iterator[str]:
    origin = posixpath.dirname(_installed(name)) or "."
    for path in paths:
        expanded = re.sub(r"\$(ORIGIN\b|\{ORIGIN\})", lambda _: origin, path)
        if expanded != path:
            # What leads out of site-packages or to other distributions finds nothing here.
            yield posixpath.normpath(expanded)
