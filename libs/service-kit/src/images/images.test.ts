import { runAsWork } from '@waymark/domain/fairness'
import { afterEach, describe, expect, it } from 'vitest'
import { createImages, type Images } from './images.ts'

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47])

describe('images', () => {
  let images: Images
  afterEach(() => images.close())

  it('are drawn outside of this thread, so that it answers others meanwhile', async () => {
    images = createImages({ deadlineMs: 60_000 })
    const [widest, ticks] = [images.qrCode('p', 'https://shop.example/s/sale', 2_048), { count: 0 }]
    const ticking = setInterval(() => ticks.count++, 1)
    const image = await widest
    clearInterval(ticking)
    expect(image.subarray(0, 4)).toEqual(PNG)
    expect(image.readUInt32BE(16)).toBe(2_048)
    expect(ticks.count).toBeGreaterThan(0)
  })

  it('of a tenant beyond its queue are refused, and those of another are drawn', async () => {
    images = createImages({ deadlineMs: 60_000 })
    const draw = (tenantId: string) =>
      runAsWork({ tenantId, projectId: 'p' }, () => images.qrCode('p', 'https://shop.example/', 64))
    const many = Array.from({ length: 30 }, () => draw('busy').catch((error: Error) => error))
    expect(await draw('other')).toBeInstanceOf(Buffer)
    const refused = (await Promise.all(many)).filter((one) => one instanceof Error)
    expect(refused).toHaveLength(9)
    expect(refused[0]).toMatchObject({ code: 'rate_limited', details: { retryAfterSeconds: 1 } })
  })
})
