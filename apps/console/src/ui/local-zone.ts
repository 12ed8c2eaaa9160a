/** A time zone that a browser reports, or UTC for one that is none: Chrome reports `Etc/Unknown` where it finds none. */
export const knownZone = (zone: string | undefined): string => {
  if (!zone || zone === 'Etc/Unknown') return 'UTC'
  try {
    new Intl.DateTimeFormat(undefined, { timeZone: zone }).format()
    return zone
  } catch {
    return 'UTC'
  }
}

/** The user's IANA time zone. */
export const localZone = (): string => knownZone(new Intl.DateTimeFormat().resolvedOptions().timeZone)
