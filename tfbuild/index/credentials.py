"""Who uploads: environment, netrc, keyring. Never the command line, which every user can read."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tfbuild.errors import UsageError

TOKEN_USER = "__token__"  # noqa: S105 - a user, not a password
"""The user name that PyPI-like servers expect with a token for a password."""
_PAIRS = (
    ("TFBUILD_INDEX_USERNAME", "TFBUILD_INDEX_PASSWORD"),
    ("TWINE_USERNAME", "TWINE_PASSWORD"),
)
HOW = (
    "Set TFBUILD_INDEX_USERNAME and TFBUILD_INDEX_PASSWORD (or TWINE_USERNAME and TWINE_PASSWORD), "
    "add the host to ~/.netrc, or store the password with `keyring set URL USER`."
)


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """A user and a password; printing it does not show the password."""

    user: str
    password: str = field(repr=False)
    source: str
    """Where they came from, for messages: "TFBUILD_INDEX_PASSWORD", "netrc", "keyring"."""

    def __post_init__(self) -> None:
        """Refuse what HTTP basic authentication cannot carry, before a server misreads it."""
        for text in (self.user, self.password):
            if not text.isprintable() or not _is_latin1(text):
                raise UsageError(
                    f"The user or the password from {self.source} cannot be sent.",
                    why="It holds a line break, a control character, or a letter beyond Latin-1.",
                    do="A secret that was read from a file often ends in a line break: remove it.",
                )


def find(url: str, environ: Mapping[str, str] | None = None) -> Credentials | None:
    """Return the credentials for an index URL, or None when nothing knows any.

    Raises:
        UsageError: a user is set, but no password is found.
    """
    environ = os.environ if environ is None else environ
    for user_name, password_name in _PAIRS:
        user, password = environ.get(user_name), environ.get(password_name)
        if password:
            return Credentials(user=user or TOKEN_USER, password=password, source=password_name)
        if user:
            return _of_user(url, user, user_name)
    return _from_netrc(url) or _from_keyring(url, None)


def _is_latin1(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _of_user(url: str, user: str, source: str) -> Credentials:
    for found in (_from_netrc(url), _from_keyring(url, user)):
        if found is not None and found.user == user:
            return found
    raise UsageError(
        f"{source} is set, but there is no password for {user!r} at {url}.",
        why="Neither the environment, nor netrc, nor the keyring has one.",
        do=HOW,
    )


def _from_netrc(url: str) -> Credentials | None:
    from requests.utils import get_netrc_auth

    found = get_netrc_auth(url)
    if not found or not found[0] or not found[1]:
        return None
    return Credentials(user=found[0], password=found[1], source="netrc")


def _from_keyring(url: str, user: str | None) -> Credentials | None:
    """Ask the desktop's keyring; a machine without one has no answer, which is no error."""
    try:
        import keyring
        import keyring.errors
    except ImportError:  # twine leaves it out on some architectures
        return None
    try:
        found = keyring.get_credential(url, user)
    except (keyring.errors.KeyringError, RuntimeError, OSError):
        return None
    if found is None or not found.password:
        return None
    return Credentials(user=found.username, password=found.password, source="keyring")
