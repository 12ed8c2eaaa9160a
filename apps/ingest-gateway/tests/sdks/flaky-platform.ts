import { type Constellation, startStandalone } from '@waymark/testing'
import { expect } from 'vitest'
import { type FlakyProxy, startFlakyProxy } from './flaky-proxy.ts'
import { expectMerged, expectStoredOnce } from './stored-calls.ts'

/** A platform that SDKs reach by proxies which lose an answer and refuse a request. */
export type FlakyPlatform = {
  waymark: Constellation
  startProxy(): Promise<FlakyProxy>
  /** Expects that the proxy did both, and that all calls of the SDK `name` are stored once. */
  expectAll(proxy: FlakyProxy, name: string): Promise<void>
  stop(): Promise<void>
}

export const startFlakyPlatform = async (): Promise<FlakyPlatform> => {
  const waymark = await startStandalone()
  const url = (await waymark.request('/healthz')).url.replace('/healthz', '')
  const proxies: FlakyProxy[] = []
  return {
    waymark,
    startProxy: async () => {
      const proxy = await startFlakyProxy(url)
      proxies.push(proxy)
      return proxy
    },
    expectAll: async (proxy, name) => {
      expect(proxy.faults).toEqual(['lose the answer', '503'])
      await expectStoredOnce(waymark, name)
      await expectMerged(waymark, name)
    },
    stop: async () => {
      for (const proxy of proxies) proxy.stop()
      await waymark.stop()
    },
  }
}
