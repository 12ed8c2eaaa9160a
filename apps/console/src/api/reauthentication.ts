import type { SecondFactorCode } from './types.ts'

/** How a user proves who they are: with a code of their second factor, their password, or at the provider. */
export type ProofMethod = 'code' | 'password' | 'provider'
type Ask = (method: ProofMethod) => Promise<boolean>

let ask: Ask | undefined
let asking: Promise<boolean> | undefined

/** Sets the dialog that asks users for a proof. Returns a function that removes it. */
export const setAskForProof = (next: Ask): (() => void) => {
  ask = next
  return () => {
    if (ask === next) ask = undefined
  }
}

/** Asks the user to prove who they are, once for requests at the same time. Resolves to whether they did. */
export const askForProof: Ask = (method) => {
  asking ??= (ask?.(method) ?? Promise.resolve(false)).finally(() => {
    asking = undefined
  })
  return asking
}

const PROVED = 'proved'

/** Tells other tabs that the user has proved who they are at the provider. */
export const noteProved = (): void => localStorage.setItem(PROVED, `${Date.now()}`)

/** Calls `callback` when the user proves who they are in another tab. Returns a function that ends this. */
export const onProvedElsewhere = (callback: () => void): (() => void) => {
  const listen = ({ key, newValue }: StorageEvent) => {
    if (key === PROVED && newValue !== null) callback()
  }
  addEventListener('storage', listen)
  return () => removeEventListener('storage', listen)
}

/** What a user has typed, as a code of the authenticator app or a recovery code. */
export const codeBody = (text: string): SecondFactorCode =>
  /^\s*(?:\d\s*){6}$/.test(text) ? { code: text.replaceAll(/\s/g, '') } : { recoveryCode: text }
