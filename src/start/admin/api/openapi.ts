// The description of the API as OpenAPI 3.1, made from the table of routes.
import type { ApiRoute } from './route.ts'
import type { JsonSchema } from './schema.ts'

export function openApiOf(routes: readonly ApiRoute[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = `/api/${route.path}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lazuli: see and steer a server',
      version,
      description:
        'Where other machines can reach the port, requests need a token, and methods other than GET need --control.',
    },
    paths,
    components: {
      schemas: { Error: ERROR },
      responses: {
        Error: { description: 'What is wrong, in a sentence.', content: json(ERROR_REF) },
      },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{}, { token: [] }],
  }
}

const ERROR: JsonSchema = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        field: { type: 'string', description: 'The field that is wrong, if it is one.' },
        message: { type: 'string' },
      },
      required: ['message'],
    },
  },
  required: ['error'],
}

const ERROR_REF = { $ref: '#/components/schemas/Error' }

function operationOf(route: ApiRoute): object {
  const { method, path, description, query, body, answer, streams, status } = route
  return {
    operationId: operationId(method, path),
    description,
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name, in: 'path', required: true, schema: { type: 'string' },
      })),
      ...Object.entries(query).map(([name, { json: { description: about, ...schema } }]) => ({
        name, in: 'query', ...(about !== undefined && { description: about }), schema,
      })),
    ],
    ...(body !== undefined && {
      requestBody: { required: isRequired(body.json), content: json(body.json) },
    }),
    ...(streams === 'content' && method !== 'GET' && method !== 'DELETE' && {
      requestBody: { required: false, content: ANY },
    }),
    responses: {
      [status]:
        answer !== undefined
          ? { description: 'Done', content: json(answer.json) }
          : streams === 'content'
            ? { description: "The service's own answer, with its own status", content: ANY }
            : { description: 'Events', content: { 'text/event-stream': { schema: { type: 'string' } } } },
      default: { $ref: '#/components/responses/Error' },
    },
  } // prettier-ignore
}

const ANY = { '*/*': { schema: {} } }

/** An empty body counts as an empty object. */
function isRequired({ required = [], anyOf = [] }: JsonSchema): boolean {
  return required.length > 0 || anyOf.some(isRequired)
}

function json(schema: object): object {
  return { 'application/json': { schema } }
}

/** `POST barriers/{id}/release` is postBarriersIdRelease. */
function operationId(method: string, path: string): string {
  const words = path.split(/\W+/).filter((word) => word !== '')
  return (
    method.toLowerCase() +
    words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  )
}
