"""Run by generated-clients.test.ts, beside the package that openapi-python-client makes as waymark_client."""

import importlib
import json
import pkgutil
import sys

import waymark_client
from waymark_client import AuthenticatedClient
from waymark_client.api.event_definitions import create_event_definition
from waymark_client.api.events import list_events
from waymark_client.api.ingestion import track_events
from waymark_client.models import (
    CreateEventDefinitionBody,
    CreateEventDefinitionBodySchema,
    TrackEventsBodyType0,
    TrackEventsBodyType0PropertiesType0,
    TrackEventsSync,
)

for module in pkgutil.walk_packages(waymark_client.__path__, "waymark_client."):
    importlib.import_module(module.name)

base_url, api_key, project_id = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=api_key, raise_on_unexpected_status=True)

properties = TrackEventsBodyType0PropertiesType0.from_dict({"a": 1})
event = TrackEventsBodyType0(event_name="sent_by_python", visitor_id="visitor-py", properties=properties)
tracked = track_events.sync(client=client, body=event, sync=TrackEventsSync.VALUE_0)

definition = CreateEventDefinitionBody(
    name="defined_by_python", schema=CreateEventDefinitionBodySchema.from_dict({"type": "object"})
)
created = create_event_definition.sync(project_id, client=client, body=definition)
listed = list_events.sync(project_id, client=client, visitor_id="visitor-py")

print(
    json.dumps(
        {
            "accepted": tracked.accepted,
            "created": created.name,
            "listed": [
                {"eventName": event.event_name, "properties": event.properties.to_dict()}
                for event in listed.data
            ],
        }
    )
)
