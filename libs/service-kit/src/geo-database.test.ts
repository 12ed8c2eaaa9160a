import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createMemoryLog, eventually, placesFile } from '@waymark/testing/unit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGeoDatabase } from './geo-database.ts'
import { createScope } from './scope.ts'

const NOWHERE = { country: null, city: null }

describe('a database of addresses', () => {
  const log = createMemoryLog()
  const scope = createScope(log)
  const opened = (file: string) => openGeoDatabase(file, { log, scope, checkEveryMs: 10 })
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-geo-'))
  })
  afterAll(async () => {
    await scope.dispose()
    await rm(folder, { recursive: true })
  })

  it('returns country and city of IPv4 and IPv6 addresses', async () => {
    const locate = await opened(placesFile)
    expect(locate('203.0.113.7')).toEqual({ country: 'SE', city: 'Linköping' })
    expect(locate('::ffff:203.0.113.7')).toEqual({ country: 'SE', city: 'Linköping' })
    expect(locate('2001:db8::1')).toEqual({ country: 'BR', city: 'Recife' })
  })

  it('returns only the country if it has no city', async () => {
    expect((await opened(placesFile))('198.51.100.9')).toEqual({ country: 'JP', city: null })
  })

  it.each([null, '', 'nonsense', '192.0.2.1', '10.0.0.1', '1.2.3.4.5'])(
    'returns nothing for %j',
    async (ip) => {
      expect((await opened(placesFile))(ip)).toEqual(NOWHERE)
    },
  )

  it('is optional', async () => {
    expect((await opened(''))('203.0.113.7')).toEqual(NOWHERE)
  })

  it('must exist and have the right format if it is configured', async () => {
    await expect(opened(path.join(folder, 'missing.mmdb'))).rejects.toThrow()
    await writeFile(path.join(folder, 'text.mmdb'), 'not a database')
    await expect(opened(path.join(folder, 'text.mmdb'))).rejects.toThrow()
  })
  it('keeps the loaded data while its file is incomplete, and then loads the complete file', async () => {
    const places = await readFile(placesFile)
    const replacement = Buffer.from(places.toString('latin1').replaceAll('SE', 'NO'), 'latin1')
    const file = path.join(folder, 'replaced.mmdb')
    await writeFile(file, places)
    const locate = await opened(file)

    await writeFile(file, replacement.subarray(0, replacement.length / 2))
    await eventually('a warning', () => log.lines.some(({ level }) => level === 'warn'))
    expect(locate('203.0.113.7')).toEqual({ country: 'SE', city: 'Linköping' })

    await writeFile(file, replacement)
    await eventually('the new places', () => locate('203.0.113.7').country === 'NO')
    expect(locate('198.51.100.9')).toEqual({ country: 'JP', city: null })
  })
})
