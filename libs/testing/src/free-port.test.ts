import { expect, it } from 'vitest'
import { freePort } from './free-port.ts'

it('gives no port twice, also before anybody listens on it', async () => {
  const ports = new Set<number>()
  for (let n = 1; n <= 500; n++) expect(ports.add(await freePort()).size).toBe(n)
})
