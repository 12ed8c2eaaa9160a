import { AppError } from '@waymark/contracts/app-error'
import {
  type IdentifyRequest,
  identifyRequest,
  MAX_IDENTIFY_BODY_BYTES,
  type ProfileRequest,
  profileRequest,
} from '@waymark/contracts/http/identify'
import {
  identify as identifyOperation,
  writeProfile as profileOperation,
} from '@waymark/contracts/http/ingestion-operations'
import { withIntegersAsText } from '@waymark/contracts/number-source'
import { requireValid } from '@waymark/contracts/require-valid'
import { type IdentityKind, memberSize, traitsProblem } from '@waymark/domain/identity'
import { keyRoute, type LimitRequests, type Platform, type Route } from '@waymark/service-kit'
import type { createIdentify, Identify, ProfileWrite } from './identify.ts'
import { wantsSync } from './track-routes.ts'

type Deps = { apiKeys: Platform['apiKeys']; limitRequests: LimitRequests }
type Identifies = ReturnType<typeof createIdentify>

/** 202, also when the identify is only queued. With the sync selector 200, after it is applied. */
export const identifyRoute = ({ identify, ...deps }: Deps & Pick<Identifies, 'identify'>): Route =>
  keyRoute(
    identifyOperation,
    { ...deps, maxBodyBytes: MAX_IDENTIFY_BODY_BYTES, beacons: true },
    async ({ apiKey: { projectId, kind: keyKind }, request, body }) => {
      const mustBeApplied = wantsSync(request)
      const change = parseIdentify(body.value, body.raw)
      const result = await identify({ projectId, keyKind }, change, { mustBeApplied })
      return { status: mustBeApplied ? 200 : 202, body: result }
    },
  )

/** 200 when the traits are stored. */
export const profileRoute = ({ writeProfile, ...deps }: Deps & Pick<Identifies, 'writeProfile'>): Route =>
  keyRoute(
    profileOperation,
    { ...deps, maxBodyBytes: MAX_IDENTIFY_BODY_BYTES },
    async ({ apiKey: { projectId, kind: keyKind }, body }) => ({
      body: await writeProfile({ projectId, keyKind }, parseProfileWrite(body.value, body.raw)),
    }),
  )

/**
 * Reads the body of an identify.
 * @param raw the bytes of the body, in which the size of traits is measured
 * @throws AppError bad_request
 */
export const parseIdentify = (body: unknown, raw: Uint8Array): Identify => {
  const { visitorId, userId, userHash = null, traits }: IdentifyRequest = requireValid(identifyRequest, body)
  return { visitorId, userId, userHash, traits: requireUsable(traits ?? {}, raw) }
}

/**
 * Reads the body of a profile write. With both ids it is for the user.
 * @param raw the bytes of the body, in which the size of traits is measured
 * @throws AppError bad_request
 */
export const parseProfileWrite = (body: unknown, raw: Uint8Array): ProfileWrite => {
  const { userId, visitorId, userHash = null, traits }: ProfileRequest = requireValid(profileRequest, body)
  const person = personIn(userId, visitorId)
  if (!person) throw new AppError('bad_request', 'userId or visitorId is required')
  if (userHash !== null && person.kind !== 'user')
    throw new AppError('bad_request', 'userHash proves a userId, which is missing: send both or neither')
  return { ...person, userHash, traits: requireUsable(traits, raw) }
}

type OptionalId = string | null | undefined
type Person = { kind: IdentityKind; value: string }

const personIn = (userId: OptionalId, visitorId: OptionalId): Person | undefined => {
  if (typeof userId === 'string') return { kind: 'user', value: userId }
  return typeof visitorId === 'string' ? { kind: 'visitor', value: visitorId } : undefined
}

const requireUsable = (traits: Record<string, unknown>, raw: Uint8Array): Record<string, unknown> => {
  const problem = traitsProblem(traits, memberSize(raw, 'traits') ?? 0)
  if (problem) throw new AppError('bad_request', problem)
  return withIntegersAsText(traits)
}
