import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { WaymarkEvent } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { buttonClass } from '../ui/button.tsx'
import { Facts } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { Notice } from '../ui/states.tsx'

/**
 * The event whose drawer is open, as the parameter `event` of the URL. One that is not among the loaded `rows` is read
 * by its id.
 */
export const useOpenEvent = (
  rows: readonly WaymarkEvent[],
): [WaymarkEvent | undefined, open: (event: WaymarkEvent) => void, close: () => void] => {
  const projectId = useProjectId()
  const [{ event: eventId }, set] = useUrlState<'event'>()
  const row = eventId === undefined ? undefined : rows.find((one) => one.eventId === eventId)
  const read = useQuery({
    queryKey: [projectId, 'event', eventId],
    queryFn: async () => {
      const query = { limit: 1, eventId: eventId ?? '' }
      const params = { path: { projectId }, query }
      const { data } = await unwrap(api.GET('/api/projects/{projectId}/events', { params }))
      return data[0] ?? null
    },
    enabled: eventId !== undefined && row === undefined,
  })
  return [
    eventId === undefined ? undefined : (row ?? read.data ?? undefined),
    (event) => set({ event: event.eventId }),
    () => set({ event: '' }, { replace: true }),
  ]
}

/** All fields of an event, in a drawer. */
export const EventDrawer = ({ event, onClose }: { event: WaymarkEvent | undefined; onClose: () => void }) => {
  const projectId = useProjectId()
  return (
    <Modal
      as="sheet"
      open={event !== undefined}
      onClose={onClose}
      title={event?.eventName ?? ''}
      description={event?.eventId}
    >
      {event && (
        <div className="flex flex-col gap-5">
          {event.warnings.map(({ field, message }) => (
            <Notice key={field + message} tone="warning">
              {field}: {message}
            </Notice>
          ))}
          {event.profileId && (
            <div>
              <Link
                to="/p/$projectId/people/$id"
                params={{ projectId, id: event.profileId }}
                className={buttonClass()}
              >
                <Icon name="user" /> Show the person
              </Link>
            </div>
          )}
          <Facts
            rows={[
              ['Time', <Time key="t" at={event.timestamp} />],
              ['Received', <Time key="r" at={event.receivedAt} />],
              ['Visitor', event.visitorId],
              ['User', event.userId],
              ['Session', event.sessionId],
              ['Short link', event.shortLinkCode],
            ]}
          />
          <section>
            <h3 className="mb-2 font-semibold">Properties</h3>
            <Json label="Properties" value={event.properties} />
          </section>
          <section>
            <h3 className="mb-2 font-semibold">Context</h3>
            <Json label="Context" value={event.context} />
          </section>
        </div>
      )}
    </Modal>
  )
}
