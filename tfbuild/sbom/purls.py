"""Package URLs: the names by which scanners know software."""

from packageurl import PackageURL
from packageurl.contrib import url2purl

from tfbuild.sbom.repositories import Repository

# A mirror keeps the original's address at the end of its own.
_HOSTS = ("github.com", "gitlab.com")


def of_repository(one: Repository) -> PackageURL:
    """Return the package URL of an external repository."""
    if one.package:
        return PackageURL("pypi", name=one.package, version=one.version or None)
    for url in one.urls:
        found = _at_host(url, one.commit)
        if found is not None:
            return found
    return generic(one.name, one.version, one.urls[0] if one.urls else "", one.sha256, one.commit)


def of_source(kind: str, url: str, ref: str, commit: str, sha256: str) -> PackageURL:
    """Return the package URL of the TensorFlow tree: a record's `Source`."""
    # A folder of the user's is no release, and its name may tell about the user.
    found = None if kind == "local" else _at_host(url, commit or ref)
    if found is not None:
        return found
    return generic("tensorflow", commit or ref, url, sha256, commit if kind == "git" else "")


def generic(name: str, version: str, url: str, sha256: str, commit: str = "") -> PackageURL:
    """Return a package URL that holds the address itself."""
    qualifiers = {
        "download_url": "" if commit else url,
        "vcs_url": f"git+{url}@{commit}" if commit and url else "",
        "checksum": f"sha256:{sha256}" if sha256 else "",
    }
    told = {key: text for key, text in qualifiers.items() if text}
    return PackageURL("generic", name=name, version=version or None, qualifiers=told)


def _at_host(url: str, commit: str) -> PackageURL | None:
    for host in _HOSTS:
        _, found, rest = url.partition(f"/{host}/")
        if found:
            address = f"https://{host}/{rest.removesuffix('.git')}"
            guess = url2purl.get_purl(address)  # type: ignore[no-untyped-call]
            if guess is not None and guess.type != "generic" and guess.namespace:
                version = commit or guess.version
                return PackageURL(guess.type, guess.namespace, guess.name, version)
    return None
