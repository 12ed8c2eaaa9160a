import { postHogCapture, postHogConfig } from '@waymark/contracts/http/posthog-protocol'
import { postHogKeyIn } from '@waymark/domain/posthog-protocol'
import { type Route, route } from '@waymark/service-kit'
import { allowUnlessUnknown, type MessageDeps, messageRoute } from '../client-messages/message-route.ts'
import { postHogMessages } from './posthog-messages.ts'

type Deps = MessageDeps & { clock: () => number }

/** The routes of PostHog's protocol that take events. `/batch` is a route of Segment's protocol as well. */
export const postHogProtocolRoutes = ({ clock, ...deps }: Deps): Route[] => [
  ...[postHogCapture.path, '/e', '/i/v0/e'].map((path) =>
    messageRoute({ ...postHogCapture, path }, deps, {
      messagesOf: (body) => postHogMessages(body, clock()),
      keyIn: postHogKeyIn,
      success: SUCCESS,
      unlabelled: true,
    }),
  ),
  configRoute(deps),
]

const SUCCESS = { status: 1 }

/** What the browser SDK asks before it sends. It then loads no script from this host, and records no sessions. */
const configRoute = ({ apiKeys }: Pick<Deps, 'apiKeys'>): Route =>
  route(postHogConfig, async (request) => {
    await allowUnlessUnknown(apiKeys, request, request.params.key ?? '', { inUrl: true })
    return {
      headers: { 'Cache-Control': 'private, max-age=120' },
      body: {
        supportedCompression: ['gzip-js', 'base64'],
        hasFeatureFlags: true,
        sessionRecording: false,
        surveys: false,
        heatmaps: false,
        capturePerformance: false,
        autocapture_opt_out: false,
        autocaptureExceptions: false,
        captureDeadClicks: false,
        defaultIdentifiedOnly: true,
        elementsChainAsString: true,
        siteApps: [],
        toolbarParams: {},
        isAuthenticated: false,
      },
    }
  })
