/** A change that needs approvals: what a proposal of it says. */
export type Proposable = {
  decision: string
  /** When to apply it, as the value of a local date-time input. */
  at?: string | undefined
} & ({ change: object } | { restore: number } | { resume: { environment: string; reason: string } })

type Open = (change: Proposable) => void

let open: Open | undefined

/** Sets the dialog that proposes changes. Returns a function that removes it. */
export const setOpenProposal = (next: Open): (() => void) => {
  open = next
  return () => {
    if (open === next) open = undefined
  }
}

/** Asks the user whether to propose a change that was refused because it needs approvals. */
export const openProposal: Open = (change) => open?.(change)
