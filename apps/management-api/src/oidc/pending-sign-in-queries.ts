import { generateToken, hashToken } from '@waymark/domain/account'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'

/** How long a browser may be at the provider, in ms. */
export const SIGN_IN_MS = 10 * 60_000
const FORGET_INTERVAL_MS = 10 * 60_000

/** A sign-in for which a browser is sent to a provider. */
export type Begun = {
  providerId: string
  /** The session to whose user the provider is linked, or whose user proves who they are; null for a sign-in. */
  sessionId: string | null
  reauthenticates: boolean
  codeVerifier: string
  nonce: string
  next: string | null
}

export type Claimed = Omit<Begun, 'providerId'> & {
  /** When the browser was sent to the provider. */
  startedAt: Date
}

const CLAIM = `
  DELETE FROM core.oidc_sign_ins
  WHERE state_hash = $1 AND browser_hash = $2 AND provider_id = $3 AND expires_at > $4
  RETURNING session_id AS "sessionId", reauthenticates, code_verifier AS "codeVerifier", nonce, next,
    expires_at - $5 * interval '1 ms' AS "startedAt"`

/** Sign-ins for which a browser is at a provider. Of the state and the cookie only hashes are stored. */
export const createPendingSignIns = ({ db, clock }: Pick<Platform, 'db' | 'clock'>) => ({
  /** Stores a sign-in. Resolves to the state for the URL and to the token for the cookie of the browser. */
  begin: async (begun: Begun): Promise<{ state: string; browser: string }> => {
    const [state, browser] = [generateToken(), generateToken()]
    await db.prisma.oidcSignIn.create({
      data: {
        ...begun,
        id: uuidv7(),
        stateHash: new Uint8Array(state.hash),
        browserHash: new Uint8Array(browser.hash),
        expiresAt: new Date(clock() + SIGN_IN_MS),
      },
    })
    return { state: state.token, browser: browser.token }
  },

  /**
   * Uses a sign-in up. Undefined when it was used, has expired, belongs to another browser or to another provider, or never
   * existed.
   */
  claim: async (providerId: string, state: string, browser: string): Promise<Claimed | undefined> => {
    const [stateHash, browserHash] = [hashToken(state), hashToken(browser)]
    if (!stateHash || !browserHash) return undefined
    const { rows } = await db.pool.query<Claimed>({
      name: 'claim-oidc-sign-in',
      text: CLAIM,
      values: [stateHash, browserHash, providerId, new Date(clock()), SIGN_IN_MS],
    })
    return rows[0]
  },
})

export type PendingSignIns = ReturnType<typeof createPendingSignIns>

/** Deletes sign-ins that were not finished, and used log-out tokens that have expired. */
export const forgetSignIns = ({ db, clock }: Pick<Platform, 'db' | 'clock'>): Loop =>
  everyMs('forget-oidc-sign-ins', FORGET_INTERVAL_MS, async () => {
    const now = new Date(clock())
    await db.pool.query('DELETE FROM core.oidc_sign_ins WHERE expires_at <= $1', [now])
    await db.pool.query('DELETE FROM core.oidc_logout_tokens WHERE expires_at <= $1', [now])
  })
