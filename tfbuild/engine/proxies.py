"""The proxies that stand between a build and the world."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
"""Variables that programs look for; some of them in lower case only, some in upper case only."""
RECORDED_NOWHERE = frozenset(
    name for one in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY") for name in (one, one.lower())
)
"""Build arguments that every image builder knows by itself, and keeps out of image and history.

Source: https://docs.docker.com/reference/dockerfile/#predefined-args. ALL_PROXY is among them in
newer releases only.
"""
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1", re.IGNORECASE)
# Docker's word for each in the `proxies` of its config.json.
_DOCKER_KEYS = {
    "httpProxy": "HTTP_PROXY",
    "httpsProxy": "HTTPS_PROXY",
    "allProxy": "ALL_PROXY",
    "noProxy": "NO_PROXY",
}


def of_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy variables of an environment, each in both cases."""
    found = {name: environment.get(name.lower()) or environment.get(name) for name in NAMES}
    return _both_cases(found)


def of_docker(config: Mapping[str, object], address: str) -> dict[str, str]:
    """Return the variables that Docker's config.json has for the daemon at an address.

    Args:
        config: what is in config.json.
        address: the daemon's, like "unix:///var/run/docker.sock".
    """
    proxies = config.get("proxies")
    one = (proxies.get(address) or proxies.get("default")) if isinstance(proxies, dict) else None
    if not isinstance(one, dict):
        return {}
    return _both_cases({name: str(one.get(key) or "") for key, name in _DOCKER_KEYS.items()})


def on_loopback(variables: Mapping[str, str]) -> frozenset[str]:
    """Return the names of variables whose proxy is on this machine: no container reaches it."""
    return frozenset(
        name
        for name, value in variables.items()
        if name.upper() != "NO_PROXY" and _LOOPBACK.fullmatch(_host(value))
    )


def credentials(variables: Mapping[str, str]) -> frozenset[str]:
    """Return what stands before the @ of proxies: names with passwords, which no log may hold."""
    found = (value.rpartition("://")[2].rpartition("@")[0] for value in variables.values())
    return frozenset(text for text in found if ":" in text)


def _both_cases(found: Mapping[str, str | None]) -> dict[str, str]:
    return {
        spelt: value for name, value in found.items() if value for spelt in (name, name.lower())
    }


def _host(value: str) -> str:
    try:
        return urlsplit(value if "://" in value else f"http://{value}").hostname or ""
    except ValueError:
        return ""
