"""A client that repeats requests where that is safe, and raises errors of the API."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import time
import uuid
from dataclasses import dataclass
from typing import Any

import httpx

from ._operations import REPEATABLE, WITH_EVENTS, WITH_IDEMPOTENCY_KEY
from .client import AuthenticatedClient

__all__ = ["ApiError", "FieldProblem", "connect"]

_FIRST_WAIT_SECONDS = 0.5
# Statuses of servers and proxies that were not able to handle a request.
_UNAVAILABLE = {502, 503, 504}


@dataclass(frozen=True)
class FieldProblem:
    """What is wrong with one field of a request."""

    field: str
    message: str


class ApiError(Exception):
    """An answer of the API with a status of 400 or more."""

    def __init__(self, request: httpx.Request, response: httpx.Response) -> None:
        try:
            body = response.json()
        except ValueError:
            body = response.text
        details = body if isinstance(body, dict) else {}
        self.status: int = response.status_code
        self.operation: str = f"{request.method} {request.url.path}"
        #: The parsed JSON of the answer, or its text.
        self.body: Any = body
        self.problems: list[FieldProblem] = [
            FieldProblem(str(one.get("field", "")), str(one.get("message", "")))
            for one in details.get("errors") or []
            if isinstance(one, dict)
        ]
        #: A code such as `reauthentication_required`, if the API gives one.
        self.code: str | None = details.get("code")
        #: When to try again, if the API says so.
        self.retry_after_seconds: float | None = _retry_after(response)
        #: Identifies the request in the logs of the server.
        self.request_id: str | None = response.headers.get("X-Request-Id")
        reason = details.get("error") or response.reason_phrase
        super().__init__(f"{self.operation} answered {self.status}: {reason}")


def connect(
    base_url: str,
    token: str,
    *,
    attempts: int = 3,
    max_wait_seconds: float = 60,
    timeout_seconds: float = 30,
) -> AuthenticatedClient:
    """Creates a client for the generated operations, which raises `ApiError`.

    :param token: an API key or a personal access token
    :param attempts: how often a request is sent again after the first time
    :param max_wait_seconds: the longest wait that is accepted; a longer `Retry-After` ends the attempts
    """
    return AuthenticatedClient(
        base_url=base_url,
        token=token,
        timeout=httpx.Timeout(timeout_seconds),
        httpx_args={"transport": _Transport(attempts, max_wait_seconds)},
    )


class _Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Sends a request again when that is safe.

    An answer of 429 always is, because nothing was done. After a broken connection or 502, 503 or 504 it is unknown what
    was done, so only requests are repeated that change nothing more the second time.
    """

    def __init__(self, attempts: int, max_wait_seconds: float) -> None:
        self._attempts = attempts
        self._max_wait_seconds = max_wait_seconds
        self._sync = httpx.HTTPTransport()
        self._async = httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        request = _with_ids(request)
        for attempt in range(self._attempts + 1):
            outcome = None
            try:
                outcome = self._sync.handle_request(request)
                outcome.read()
            except httpx.TransportError:
                if attempt == self._attempts or not _is_repeatable(request):
                    raise
            wait = self._wait(request, outcome, attempt)
            if outcome is not None and wait is None:
                return _checked(request, outcome)
            time.sleep(wait or 0)
        raise AssertionError("unreachable")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        request = _with_ids(request)
        for attempt in range(self._attempts + 1):
            outcome = None
            try:
                outcome = await self._async.handle_async_request(request)
                await outcome.aread()
            except httpx.TransportError:
                if attempt == self._attempts or not _is_repeatable(request):
                    raise
            wait = self._wait(request, outcome, attempt)
            if outcome is not None and wait is None:
                return _checked(request, outcome)
            await asyncio.sleep(wait or 0)
        raise AssertionError("unreachable")

    def _wait(self, request: httpx.Request, response: httpx.Response | None, attempt: int) -> float | None:
        """How long to wait before the request is sent again, in seconds. None: it is not."""
        backoff = _FIRST_WAIT_SECONDS * 2**attempt * (0.5 + random.random() / 2)
        if response is None:
            return backoff
        status = response.status_code
        may_repeat = status == 429 or (status in _UNAVAILABLE and _is_repeatable(request))
        if attempt == self._attempts or not may_repeat:
            return None
        stated = _retry_after(response)
        wait = backoff if stated is None else stated
        return wait if wait <= self._max_wait_seconds else None

    def close(self) -> None:
        self._sync.close()

    async def aclose(self) -> None:
        await self._async.aclose()


def _checked(request: httpx.Request, response: httpx.Response) -> httpx.Response:
    if response.status_code >= 400:
        raise ApiError(request, response)
    return response


def _retry_after(response: httpx.Response) -> float | None:
    """`Retry-After` in seconds: seconds or a date."""
    header = response.headers.get("Retry-After")
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


def _matches(request: httpx.Request, operations: tuple[tuple[str, str], ...]) -> bool:
    """Whether the request is for one of the operations, whose paths have parameters in braces."""
    parts = request.url.path.strip("/").split("/")
    for method, path in operations:
        wanted = path.strip("/").split("/")
        if request.method != method or len(parts) < len(wanted):
            continue
        # The address of the installation may have a path of its own.
        own = parts[len(parts) - len(wanted) :]
        if all(part == one or one.startswith("{") for part, one in zip(own, wanted)):
            return True
    return False


def _is_repeatable(request: httpx.Request) -> bool:
    return request.method in ("GET", "HEAD", "PUT", "DELETE") or _matches(request, REPEATABLE)


def _with_ids(request: httpx.Request) -> httpx.Request:
    """The request with an id for each event that has none, and with an `Idempotency-Key` where one is taken."""
    if _matches(request, WITH_IDEMPOTENCY_KEY):
        request.headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
    if not _matches(request, WITH_EVENTS):
        return request
    try:
        body = json.loads(request.content)
    except ValueError:
        return request
    if not isinstance(body, dict):
        return request
    events = body["events"] if isinstance(body.get("events"), list) else [body]
    for event in events:
        if isinstance(event, dict) and event.get("eventId") is None:
            event["eventId"] = str(uuid.uuid4())
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    return httpx.Request(
        request.method,
        request.url,
        headers=headers,
        content=json.dumps(body).encode(),
        extensions=request.extensions,
    )
