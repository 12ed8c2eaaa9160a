"""Makes calls of each kind with Segment's client for Python: program.py URL KEY RUN CALLS"""

import sys

from segment.analytics.client import Client

url, key, run, calls = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
client = Client(key, host=url)
for n in range(calls):
    user, visitor = f"{run}-user-{n}", f"{run}-visitor-{n}"
    numbers = {"run": run, "n": n}
    client.track(event="sdk_track", anonymous_id=visitor, properties=numbers)
    client.page(anonymous_id=visitor, name="Sale", properties=numbers)
    client.screen(anonymous_id=visitor, name="Sale", properties=numbers)
    client.identify(user_id=user, anonymous_id=visitor, traits={"n": n})
    client.group(user_id=user, group_id="acme", traits=numbers)
    client.alias(previous_id=f"{run}-previous-{n}", user_id=user)
client.flush()
client.shutdown()
