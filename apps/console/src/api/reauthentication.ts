import type { SecondFactorCode } from './types.ts'

/** How a user proves who they are: with a code of their second factor, or with their password. */
export type ProofMethod = 'code' | 'password'
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

/** What a user has typed, as a code of the authenticator app or a recovery code. */
export const codeBody = (text: string): SecondFactorCode =>
  /^\s*(?:\d\s*){6}$/.test(text) ? { code: text.replaceAll(/\s/g, '') } : { recoveryCode: text }
