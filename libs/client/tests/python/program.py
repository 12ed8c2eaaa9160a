"""Uses the installed package: ADDRESS KEY. The proxy at the address refuses one request and loses one answer."""

import asyncio
import sys

from waymark_client import ApiError, connect
from waymark_client.api.coupons import redeem_coupon
from waymark_client.api.decisions import decide
from waymark_client.api.ingestion import track_events
from waymark_client.models import DecideBody, RedeemCouponBody, TrackEventsBodyType0

address, key = sys.argv[1:]


def refused(call) -> ApiError:
    try:
        call()
    except ApiError as error:
        return error
    raise AssertionError("nothing was refused")


with connect(address, key) as client:
    tracked = track_events.sync(client=client, body=TrackEventsBodyType0(event_name="python", user_id="ann"))
    assert tracked.accepted == 1, tracked
    answer = decide.sync(client=client, body=DecideBody(user_id="ann"))
    assert answer.decisions == [], answer
    unknown = RedeemCouponBody(code="NOPE", user_id="ann")
    error = refused(lambda: redeem_coupon.sync(client=client, body=unknown))
    assert (error.status, error.operation) == (404, "POST /api/v1/coupons/redeem"), error
    assert error.request_id, error
    invalid = refused(lambda: decide.sync(client=client, body=DecideBody()))
    assert (invalid.status, invalid.body["error"]) == (400, "visitorId or userId is required"), invalid


async def decide_later() -> None:
    async with connect(address, key) as client:
        answer = await decide.asyncio(client=client, body=DecideBody(user_id="ann"))
        assert answer.decisions == [], answer


asyncio.run(decide_later())
