"""Where a user and a password come from."""

from pathlib import Path

import pytest

from tfbuild.errors import UsageError
from tfbuild.index import credentials
from tfbuild.index.credentials import Credentials

URL = "https://pypi.lab:8443/upload/"


@pytest.fixture(autouse=True)
def _nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    import keyring

    monkeypatch.setattr(keyring, "get_credential", lambda *_: None)


def write_netrc(tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine pypi.lab login ned password fromnetrc\n")
    (tmp_path / "netrc").chmod(0o600)


def test_nothing_known_is_no_error() -> None:
    assert credentials.find(URL, {}) is None


def test_our_own_variables_come_before_those_of_twine() -> None:
    twine = {"TWINE_USERNAME": "tom", "TWINE_PASSWORD": "t"}
    ours = {"TFBUILD_INDEX_USERNAME": "ann", "TFBUILD_INDEX_PASSWORD": "a"}
    found = credentials.find(URL, {**twine, **ours})
    assert found == Credentials(user="ann", password="a", source="TFBUILD_INDEX_PASSWORD")
    assert credentials.find(URL, twine) == Credentials(
        user="tom", password="t", source="TWINE_PASSWORD"
    )


def test_a_password_alone_is_a_token() -> None:
    found = credentials.find(URL, {"TFBUILD_INDEX_PASSWORD": "pypi-x"})
    assert found is not None
    assert found.user == "__token__"


def test_netrc_serves_its_host_only(tmp_path: Path) -> None:
    write_netrc(tmp_path)
    assert credentials.find(URL, {}) == Credentials(
        user="ned", password="fromnetrc", source="netrc"
    )
    assert credentials.find("https://other.lab/", {}) is None


def test_a_user_without_password_takes_only_a_password_of_that_user(tmp_path: Path) -> None:
    write_netrc(tmp_path)
    found = credentials.find(URL, {"TFBUILD_INDEX_USERNAME": "ned"})
    assert found is not None
    assert found.password == "fromnetrc"
    with pytest.raises(UsageError, match="no password for 'ann'"):
        credentials.find(URL, {"TFBUILD_INDEX_USERNAME": "ann"})


def test_the_keyring_is_asked_last(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.credentials import SimpleCredential

    monkeypatch.setattr(keyring, "get_credential", lambda *_: SimpleCredential("kim", "k"))
    assert credentials.find(URL, {}) == Credentials(user="kim", password="k", source="keyring")


def test_printing_does_not_show_the_password() -> None:
    assert "s3cret" not in repr(Credentials(user="ann", password="s3cret", source="x"))


@pytest.mark.parametrize("password", ["s3cret\n", "s3\x00cret", "s3cret€"])
def test_what_http_cannot_carry_is_refused_unsaid(password: str) -> None:
    with pytest.raises(UsageError, match="cannot be sent") as caught:
        credentials.find(URL, {"TFBUILD_INDEX_PASSWORD": password})
    assert "s3" not in str(caught.value)
