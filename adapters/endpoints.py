"""Endpoints of hosted models: package, address and API key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from adapters.contract import Fatal
from adapters.secrets import masked

DISTRIBUTION = "vlm-web-eval"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's API, or a server of the user's that speaks its protocol."""

    provider: str
    """The provider's name, under which its prices are listed."""
    url: str
    """The base URL."""
    custom_url: str | None
    """The base URL if the user gave one."""
    is_official: bool
    """True for the provider's own API, whose prices are known."""
    key: str
    """The API key, "" for a server of the user's that needs none."""
    is_default: bool = False
    """True for the address that a provider publishes for its own models. At others that belong to
    it, a name may be one that the user gave to a deployment."""
    recorded_as: str = ""
    """Name to record instead of the address; "" for the address itself."""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def address(self) -> str | None:
        """The address if the user gave one, without what may be secret in it."""
        return public(self.custom_url) if self.custom_url else None

    def facts(self, model: str, settings: Mapping[str, object]) -> dict[str, Any]:
        """Return the fields of `ModelInfo` that follow from where a model is hosted.

        At another address than the provider's own the price is unknown; on the user's own machine
        or network, calls are assumed to be free.
        """
        shown = self.recorded_as or self.address
        return {
            "name": f"{self.provider}:{model}",
            "model": model,
            "provider": self.provider,
            "endpoint": shown,
            "weights_known": self.is_default,
            "billed": self.is_official or not is_private(self.url),
            "assumed_free": not self.is_official and is_private(self.url),
            "price_ref": model if self.is_official else None,
            "settings": {**masked(settings), "endpoint": shown},
        }


def find_endpoint(
    provider: str,
    *,
    base_url: str | None,
    api_key: str | None,
    default: str,
    hosts: Sequence[str],
    url_variable: str,
    key_variables: Sequence[str],
    needs_key: bool = True,
) -> Endpoint:
    """Return the endpoint from the arguments, else from environment variables.

    `default` is the provider's own address and `hosts` are its own domains, the only ones that need
    a key (unless `needs_key` is false). Raises `Fatal` for a missing key or an invalid address.
    """
    custom_url = base_url_from(base_url, url_variable)
    url = custom_url or default
    host = urlsplit(url).hostname or ""
    is_official = custom_url is None or any(
        host == domain or host.endswith(f".{domain}") for domain in hosts
    )
    key = find_key(api_key, key_variables, needed=is_official and needs_key)
    is_default = urlsplit(url)[:2] == urlsplit(default)[:2]
    return Endpoint(provider, url, custom_url, is_official, key, is_default)


def check_headers_in(*variables: str) -> None:
    """Raise `Fatal` for an environment variable that an SDK sends as a header and that cannot be
    one."""
    for variable in variables:
        if not re.fullmatch(r"[ -~\t\r\n]*", os.environ.get(variable, "")):
            raise Fatal(f"{variable} in the environment contains characters that no header has")


def need_package(module: str, package: str) -> None:
    """Raise `Fatal` with the line that installs a package, unless its module can be imported."""
    try:
        installed = find_spec(module) is not None
    except ModuleNotFoundError:
        installed = False
    if not installed:
        raise Fatal(
            f"the package '{package}' is missing: pip install '{package}' "
            f"(or reinstall {DISTRIBUTION}, which brings it)"
        )


def need_model(model: str, example: str) -> str:
    """Return the model's name. Raises `Fatal` with an example if it is empty."""
    if not model:
        raise Fatal(f"which model? name it like {example}")
    return model


def find_key(api_key: str | None, variables: Sequence[str], *, needed: bool = True) -> str:
    """Return the key given, or the first of the environment variables that is set; never printed.

    Raises `Fatal` naming the variables if a key is needed and missing, and for a value that cannot
    be a key (an HTTP library would print it in its error).
    """
    value = (api_key or "").strip()
    for variable in variables:
        value = value or os.environ.get(variable, "").strip()
    if not value and needed:
        raise Fatal(f"no API key: set the environment variable {' or '.join(variables)}")
    if not re.fullmatch(r"[!-~]*", value):
        raise Fatal(
            f"the key in {variables[0]} contains whitespace or characters that no API key has"
        )
    return value


def base_url_from(base_url: str | None, variable: str) -> str | None:
    """Return the base URL given or in the environment.

    Raises `Fatal` if it is not an http address, and for a query, which may hold a secret and would
    end up in the middle of the addresses that are called.
    """
    url = base_url or os.environ.get(variable) or None
    if url is None:
        return None
    named = "the base URL" if base_url else f"{variable} in the environment"
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise Fatal(f"{named} is not a valid URL") from None
    if not sound:
        raise Fatal(f"{named} must begin with http:// or https://: {public(url)}")
    if "?" in url or "#" in url:
        raise Fatal(f"{named} must end with its path: {public(url)}, without '?' and '#'")
    return url


def public(url: str) -> str:
    """Return the URL without user, password and query, which may be secrets."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_private(url: str) -> bool:
    """Return whether an address is on this machine or a private network.

    >>> is_private("http://localhost:8000/v1"), is_private("https://api.example.com/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        local_domains = (".local", ".internal", ".lan", ".localhost")
        return "." not in host or host.endswith(local_domains)
