import { describe, expect, it } from 'vitest'
import { knownZone } from './local-zone.ts'

describe('knownZone', () => {
  it.each(['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires'])('keeps %s', (zone) => {
    expect(knownZone(zone)).toBe(zone)
  })

  it.each(['Etc/Unknown', 'Mars/Olympus', '', undefined])('is UTC for %j', (zone) => {
    expect(knownZone(zone)).toBe('UTC')
  })
})
