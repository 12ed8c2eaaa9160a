import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { placesFile } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGeoDatabase } from './geo-database.ts'

const NOWHERE = { country: null, city: null }

describe('a database of addresses', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-geo-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('tells countries and cities, of both kinds of addresses', async () => {
    const locate = await openGeoDatabase(placesFile)
    expect(locate('203.0.113.7')).toEqual({ country: 'SE', city: 'Linköping' })
    expect(locate('::ffff:203.0.113.7')).toEqual({ country: 'SE', city: 'Linköping' })
    expect(locate('2001:db8::1')).toEqual({ country: 'BR', city: 'Recife' })
  })

  it('tells the country alone where it knows no more', async () => {
    expect((await openGeoDatabase(placesFile))('198.51.100.9')).toEqual({ country: 'JP', city: null })
  })

  it.each([null, '', 'nonsense', '192.0.2.1', '10.0.0.1', '1.2.3.4.5'])('knows nothing of %j', async (ip) => {
    expect((await openGeoDatabase(placesFile))(ip)).toEqual(NOWHERE)
  })

  it('is optional', async () => {
    expect((await openGeoDatabase(''))('203.0.113.7')).toEqual(NOWHERE)
  })

  it('must exist and be of its format when it is named', async () => {
    await expect(openGeoDatabase(path.join(folder, 'missing.mmdb'))).rejects.toThrow()
    await writeFile(path.join(folder, 'text.mmdb'), 'not a database')
    await expect(openGeoDatabase(path.join(folder, 'text.mmdb'))).rejects.toThrow()
  })
})
