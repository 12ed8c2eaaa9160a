import { describe, expect, it } from 'vitest'
import { isConnectionError, isDataError, isTransient } from './sql-errors.ts'

const withCode = (code: string, more: object = {}) => Object.assign(new Error('failed'), { code, ...more })

const prismaError = (code: string, cause: object) =>
  withCode(code, { meta: { modelName: 'User', driverAdapterError: { name: 'DriverAdapterError', cause } } })

describe('transient errors', () => {
  it.each([
    ['connection failure', '08006'],
    ['serialization failure', '40001'],
    ['deadlock', '40P01'],
    ['disk full', '53100'],
    ['too many connections', '53300'],
    ['statement timeout', '57014'],
    ['shutdown', '57P01'],
    ['starting up', '57P03'],
    ['lock timeout', '55P03'],
    ['a replica that takes no writes', '25006'],
    ['idle in transaction timeout', '25P03'],
    ['refused', 'ECONNREFUSED'],
    ['reset', 'ECONNRESET'],
    ['no answer', 'ETIMEDOUT'],
    ['broken pipe', 'EPIPE'],
    ['no such host', 'ENOTFOUND'],
    ['name server away', 'EAI_AGAIN'],
    ['no free port', 'EADDRNOTAVAIL'],
    ['no free file descriptor', 'EMFILE'],
    ['no memory for sockets', 'ENOBUFS'],
    ['no free file descriptor of the system', 'ENFILE'],
    ['network away', 'ENETDOWN'],
    ['TLS broke', 'EPROTO'],
    ['a TLS alert', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'],
    ['TLS in time', 'ERR_TLS_HANDSHAKE_TIMEOUT'],
    ['host away', 'EHOSTDOWN'],
    ['closed by this process', 'ERR_STREAM_DESTROYED'],
    ['ended by this process', 'ERR_STREAM_WRITE_AFTER_END'],
    ['socket closed', 'ERR_SOCKET_CLOSED'],
    ['closed before its end', 'ERR_STREAM_PREMATURE_CLOSE'],
  ])('%s (%s)', (_, code) => {
    expect(isTransient(withCode(code))).toBe(true)
    expect(isDataError(withCode(code))).toBe(false)
  })

  it.each([
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'timeout exceeded when trying to connect',
    'timeout expired',
    'Query read timeout',
    'Cannot use a pool after calling end on the pool',
    'There was an error establishing an SSL connection',
    'Received unexpected commandComplete message from backend.',
  ])('pg says "%s"', (message) => {
    expect(isTransient(new Error(message))).toBe(true)
    expect(isConnectionError(new Error(message))).toBe(true)
  })

  it('wrapped in a cause or an AggregateError', () => {
    expect(isTransient(new Error('storing failed', { cause: withCode('40001') }))).toBe(true)
    expect(isTransient(new AggregateError([withCode('ECONNREFUSED')]))).toBe(true)
  })

  it('as wrapped by Prisma', () => {
    expect(isTransient(prismaError('P1001', { kind: 'DatabaseNotReachable' }))).toBe(true)
    expect(isTransient(prismaError('P2010', { kind: 'ConnectionClosed' }))).toBe(true)
    expect(isTransient(prismaError('P1011', { kind: 'TlsConnectionError' }))).toBe(true)
    expect(
      isTransient(prismaError('P2039', { kind: 'postgres', originalCode: '57014', code: '57014' })),
    ).toBe(true)
    expect(isTransient(withCode('P2028'))).toBe(true)
  })

  it('a missing partition, unlike a violated check', () => {
    const missing = withCode('23514', { routine: 'ExecFindPartition' })
    expect(isTransient(missing)).toBe(true)
    expect(isDataError(missing)).toBe(false)
    const violated = withCode('23514', { routine: 'ExecConstraints', constraint: 'users_email_lower_case' })
    expect(isTransient(violated)).toBe(false)
    expect(isDataError(violated)).toBe(true)
  })
})

describe('data errors', () => {
  it.each([
    ['a NUL character', '22021'],
    ['not JSON', '22P02'],
    ['duplicate', '23505'],
    ['missing value', '23502'],
    ['a value over a limit', '54000'],
  ])('%s (%s)', (_, code) => {
    expect(isDataError(withCode(code))).toBe(true)
    expect(isTransient(withCode(code))).toBe(false)
  })

  it('as wrapped by Prisma', () => {
    const duplicate = prismaError('P2002', { kind: 'UniqueConstraintViolation', originalCode: '23505' })
    expect(isDataError(duplicate)).toBe(true)
    expect(isTransient(duplicate)).toBe(false)
  })
})

it.each([
  [new Error('a bug')],
  [withCode('42P01')],
  [withCode('28P01')],
  [withCode('ERR_INVALID_ARG_TYPE')],
  [prismaError('P2025', {})],
  ['a string'],
  [null],
  [undefined],
])('%s is neither', (error) => {
  expect(isTransient(error)).toBe(false)
  expect(isDataError(error)).toBe(false)
  expect(isConnectionError(error)).toBe(false)
})

it('a deadlock leaves the connection usable, a shutdown does not', () => {
  expect(isConnectionError(withCode('40P01'))).toBe(false)
  expect(isConnectionError(withCode('57014'))).toBe(false)
  expect(isConnectionError(withCode('57P01'))).toBe(true)
})

it('does not follow a circular chain of causes', () => {
  const error = new Error('first')
  error.cause = error
  expect(isTransient(error)).toBe(false)
})
