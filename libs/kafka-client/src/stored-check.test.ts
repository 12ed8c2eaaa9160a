import { createMemoryLog, eventually } from '@waymark/testing/unit'
import kafkajs from 'kafkajs'
import { expect, it } from 'vitest'
import type { KafkaClient } from './clients.ts'
import { createStoredCheck } from './stored-check.ts'

/** A check against a broker whose partition 0 ends at one offset after another. */
const setUp = (...ends: (number | 'down')[]) => {
  const log = createMemoryLog()
  let asked = 0
  const newClient = (): KafkaClient => {
    const kafka = new kafkajs.Kafka({ brokers: ['none.invalid:1'] })
    const admin = kafka.admin()
    admin.connect = async () => {}
    admin.disconnect = async () => {}
    admin.fetchTopicOffsets = async () => {
      const end = ends[asked++]
      if (end === 'down' || end === undefined) throw new Error('no broker')
      return [{ partition: 0, offset: `${end}`, high: `${end}`, low: '0' }]
    }
    kafka.admin = () => admin
    return { kafka, connectionMs: 1_000, closeAll: () => {} }
  }
  const check = createStoredCheck(newClient, log)
  const store = (count: number) =>
    check.check(
      't',
      [{ topicName: 't', partition: 0, errorCode: 0, baseOffset: '100' }],
      new Map([[0, count]]),
    )
  return { log, check, store, asked: () => asked }
}

const isRefused = ({ requireRight }: { requireRight: () => void }): boolean => {
  try {
    requireRight()
    return false
  } catch {
    return true
  }
}

it('accepts a batch whose records all have an offset, and asks only once', async () => {
  const { log, check, store, asked } = setUp(150, 0)
  store(50)
  await eventually('the offsets are read', () => asked() === 1)
  store(50)
  check.requireRight()
  expect(asked()).toBe(1)
  expect(log.lines).toEqual([])
})

it('refuses further records after a batch that was stored as one record', async () => {
  const { log, check, store } = setUp(101)
  store(50)
  await eventually('records are refused', () => isRefused(check))
  expect(log.lines).toMatchObject([{ level: 'error', details: { topic: 't', partitions: [0] } }])
})

it('checks the next batch when no broker answers, or when it has one record', async () => {
  const { check, store, asked } = setUp('down', 101)
  store(1)
  expect(asked()).toBe(0)
  store(50)
  await eventually('the offsets are read', () => asked() === 1)
  check.requireRight()
  await eventually('records are refused', () => {
    store(50)
    return isRefused(check)
  })
})
