"""Proxies: of the environment, of Docker's config.json, on loopback."""

import pytest

from tfbuild.engine import proxies

BUSY = "http://proxy.example:3128"


def test_each_is_spelt_both_ways() -> None:
    """curl reads `http_proxy` only, other programs HTTP_PROXY only."""
    given = {"http_proxy": BUSY, "HTTPS_PROXY": BUSY, "NO_PROXY": ".example", "PATH": "/bin"}
    assert proxies.of_environment(given) == {
        **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"), BUSY),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), ".example"),
    }


def test_names_with_passwords_are_secrets() -> None:
    given = {"http_proxy": "http://me:p@ss@host:1", "ALL_PROXY": "you:word@host", "no_proxy": "x"}
    assert proxies.credentials(given) == {"me:p@ss", "you:word"}
    assert proxies.credentials({"http_proxy": BUSY}) == frozenset()


def test_an_empty_one_is_none() -> None:
    assert proxies.of_environment({"HTTP_PROXY": "", "all_proxy": ""}) == {}


# As https://docs.docker.com/engine/cli/proxy/ has it.
CONFIG = {
    "proxies": {
        "default": {"httpProxy": BUSY, "noProxy": "*.test.example.com,.example.org,127.0.0.0/8"},
        "tcp://docker-daemon1.example.com": {"httpsProxy": "http://other.example:3129"},
    }
}


def test_docker_has_some_for_all_daemons_and_some_for_one() -> None:
    everywhere = proxies.of_docker(CONFIG, "unix:///var/run/docker.sock")
    assert everywhere["http_proxy"] == everywhere["HTTP_PROXY"] == BUSY
    assert everywhere["no_proxy"].startswith("*.test")
    one = proxies.of_docker(CONFIG, "tcp://docker-daemon1.example.com")
    assert set(one) == {"HTTPS_PROXY", "https_proxy"}


@pytest.mark.parametrize("config", [{}, {"proxies": None}, {"proxies": {"default": []}}])
def test_docker_without_proxies(config: dict[str, object]) -> None:
    assert proxies.of_docker(config, "unix:///x") == {}


@pytest.mark.parametrize(
    "value",
    ["http://localhost:3128", "127.0.0.1:3128", "http://u:p@127.1.2.3:1", "socks5://[::1]:1080"],
)
def test_a_proxy_on_loopback_is_told(value: str) -> None:
    assert proxies.on_loopback({"HTTPS_PROXY": value}) == {"HTTPS_PROXY"}


@pytest.mark.parametrize("value", [BUSY, "http://127.0.0.1.example:1", "[nonsense"])
def test_another_proxy_is_not(value: str) -> None:
    assert not proxies.on_loopback({"HTTPS_PROXY": value})


def test_exceptions_name_loopback_rightly() -> None:
    assert not proxies.on_loopback({"NO_PROXY": "localhost", "no_proxy": "127.0.0.1"})
