// CORS rules are read at the same time as the operation runs. Neither may hide the outcome of the other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createControl } from '../../control/control.ts'
import { StorageError } from '../../storage/shared/error.ts'
import {
  DEFAULT_SERVICE_PROPERTIES,
  type ServiceProperties,
} from '../../storage/shared/service/service-properties.ts'
import type { Exchange } from '../protocol/exchange.ts'
import { parseRequestHead } from '../protocol/request-head.ts'
import { errorAnswer } from './error-answer.ts'
import { tableOf, type Answer, type Operation } from './operation.ts'
import { handlerOf, type Front } from './serve.ts'

const CORS_PROPERTIES: ServiceProperties = {
  ...DEFAULT_SERVICE_PROPERTIES,
  cors: [
    {
      allowedOrigins: ['http://a.example'],
      allowedMethods: ['GET'],
      allowedHeaders: [],
      exposedHeaders: [],
      maxAgeInSeconds: 0,
    },
  ],
}

type Parts = {
  readonly run: () => Promise<Answer>
  readonly properties: () => Promise<ServiceProperties>
}

/** Answers an anonymous GET of a public blob; returns the status and the headers. */
async function answerOf({ run, properties }: Parts): Promise<[number, readonly string[]]> {
  const operation: Operation<undefined> = {
    name: 'Get Blob',
    methods: ['GET'],
    level: 'object',
    permission: { resourceType: 'o', accountSas: 'r', serviceSas: 'r', anonymous: 'blob' },
    writes: false,
    run,
  }
  const accounts = { get: () => ({ name: 'a', keys: [] }), names: () => ['a'] }
  const front: Front<undefined> = {
    name: 'blob',
    serverHeader: 'Test',
    table: tableOf([operation], () => 'object'),
    service: undefined,
    errorAnswer,
    accounts,
    pathStyleOnly: true,
    acceptsHost: () => true,
    strictVersion: false,
    loose: false,
    world: () => ({
      accounts,
      nowMs: 0,
      wallNowMs: 0,
      accessPolicy: () => Promise.resolve(undefined),
      publicAccess: () => Promise.resolve('blob'),
    }),
    properties,
    watching: createControl({ clock: Date.now, journal: undefined, decodeHead: parseRequestHead })
      .watching,
    observe: () => undefined,
    logFault: () => undefined,
  }
  const head = parseRequestHead('GET /a/c/b HTTP/1.1\r\nHost: a\r\nx-ms-version: 2021-12-02\r\n')
  let answer: [number, readonly string[]] | undefined
  const exchange = {
    head,
    body: { lengthBytes: undefined },
    gone: false,
    admit: () => undefined,
    answer: (status: number, lists: readonly (readonly string[])[]) => {
      answer = [status, lists.flat()]
    },
  } as unknown as Exchange
  await handlerOf(front).handle(exchange)
  assert(answer !== undefined, 'every request is answered')
  return answer
}

const found = () => Promise.resolve({ status: 200, headers: [] })
const notFound = () => Promise.reject(new StorageError('BlobNotFound'))
const unreadable = () => Promise.reject(new Error('the store is gone'))

test('the rules are read while the operation runs', async () => {
  // Only rules that were requested before the operation ran arrive.
  let resolve: (properties: ServiceProperties) => void = () => undefined
  let hasRun = false
  const [status, headers] = await answerOf({
    run: async () => {
      hasRun = true
      resolve(CORS_PROPERTIES)
      return { status: 200, headers: [] }
    },
    properties: () =>
      hasRun
        ? Promise.resolve(DEFAULT_SERVICE_PROPERTIES)
        : new Promise((settle) => (resolve = settle)),
  })
  assert.equal(status, 200)
  assert(headers.includes('Vary'))
})

test('an error has the headers of the rules too', async () => {
  const properties = () => Promise.resolve(CORS_PROPERTIES)
  const [status, headers] = await answerOf({ run: notFound, properties })
  assert.equal(status, 404)
  assert(headers.includes('Vary'))
})

test('an error is answered even if the rules cannot be read, and no rejection is left unhandled', async () => {
  const [status, headers] = await answerOf({ run: notFound, properties: unreadable })
  assert.equal(status, 404)
  assert(!headers.includes('Vary'))
})

test('an answer whose rules cannot be read is an error', async () => {
  assert.equal((await answerOf({ run: found, properties: unreadable }))[0], 500)
})
