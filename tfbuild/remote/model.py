"""The servers of one run, checked, and the setup that reaches them."""

from dataclasses import dataclass, field

from tfbuild.engine.base import Setup

EXECUTES = "executes-remotely"
"""A file of this name, among a run's own, tells build.sh that others' compilers do the work."""
_FOLDER = "{setup}"


@dataclass(frozen=True, kw_only=True)
class Remote:
    """Servers that share results or do the work, checked."""

    cache: str = ""
    executor: str = ""
    instance: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Name and value. Secrets."""
    ca: bytes = b""
    client_certificate: bytes = b""
    client_key: bytes = field(default=b"", repr=False)
    read_only: bool = False
    local_fallback: bool = False
    timeout: int | None = None
    """Seconds."""
    platform: tuple[str, ...] = ()
    """"KEY=VALUE", which a worker has to have."""

    @property
    def servers(self) -> dict[str, str]:
        """Return what is used -> its address."""
        named = {"remote cache": self.cache, "remote execution": self.executor}
        return {what: where for what, where in named.items() if where}

    def describe(self) -> dict[str, str]:
        """Return what is used -> its address and in which way; no secret is in it."""
        names = ", ".join(sorted({name for name, _ in self.headers}))
        ways = {
            f"instance {self.instance}": bool(self.instance),
            f"with {names}": bool(names),
            "with a client certificate": bool(self.client_certificate),
            "read only": self.read_only,
        }
        told = "; ".join(way for way, used in ways.items() if used)
        suffix = f" ({told})" if told else ""
        return {what: where + suffix for what, where in self.servers.items()}

    def setup(self) -> Setup:
        """Return what a run needs to reach the servers."""
        files = {
            "remote-ca.pem": self.ca,
            "remote-client.pem": self.client_certificate,
            "remote-client.key": self.client_key,
            EXECUTES: b"yes\n" if self.executor else b"",
        }
        return Setup(
            rc="".join(f"build {_quoted(option)}\n" for option in self._options()),
            files={name: data for name, data in files.items() if data},
            secrets=frozenset(value for _, value in self.headers),
        )

    def _options(self) -> list[str]:
        given = {
            "remote_cache": self.cache,
            "remote_executor": self.executor,
            "remote_instance_name": self.instance,
            "tls_certificate": self.ca and _FOLDER + "/remote-ca.pem",
            "tls_client_certificate": self.client_certificate and _FOLDER + "/remote-client.pem",
            "tls_client_key": self.client_key and _FOLDER + "/remote-client.key",
            "remote_timeout": f"{self.timeout}s" if self.timeout else "",
        }
        return [
            # TensorFlow's own .bazelrc has Bazel print every option of every file.
            "--noannounce_rc",
            *(f"--{name}={value!s}" for name, value in given.items() if value),
            *(f"--remote_header={name}={value}" for name, value in self.headers),
            *(f"--remote_default_exec_properties={pair}" for pair in self.platform),
            *(["--noremote_upload_local_results"] if self.read_only else []),
            *(["--remote_local_fallback"] if self.local_fallback else []),
        ]


def _quoted(option: str) -> str:
    """Return an option as Bazel reads it from a file: in quotes, with backslashes where needed.

    A secret that holds "{setup}" must not be taken for the folder; only paths may.
    """
    name, equals, value = option.partition("=")
    if not equals or (name.startswith("--tls_") and value.startswith(_FOLDER)):
        return option
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace(_FOLDER, "{\\setup}")
    return f'{name}="{escaped}"'
