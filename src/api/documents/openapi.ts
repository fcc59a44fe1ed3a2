// The route table as an OpenAPI 3.1 document. Named schemas are listed once, among the components.
import { z } from 'zod';
import { versionedPath } from '../../contract/api-version.ts';
import { mediaTypesOf } from '../../contract/body-media.ts';
import { honoursKey } from '../../contract/idempotency.ts';
import { COMMON_ERRORS, errorAnswer, type Route } from '../../contract/route.ts';
import { ROUTES } from '../../contract/routes.ts';
import { ERROR_REGISTRY, type ErrorCode } from '../../core/errors/error-registry.ts';
import { VERSION } from '../../platform/version.ts';
import { answerHeaders, hasTag, headerParameters, refusalHeaders } from './openapi-headers.ts';

type Schema = Record<string, unknown>;

let made: Schema | null = null;

/**
 * Generated once: it blocks the process for a fifth of a second, and any caller may request it. `path` is the base
 * path of the server, if there is one.
 */
export function openApiDocument(path = ''): Schema {
  made ??= makeDocument();
  return path === '' ? made : { ...made, servers: [{ url: path }] };
}

function makeDocument(): Schema {
  const schemas: Record<string, Schema> = {};
  const paths: Record<string, Record<string, Schema>> = {};
  const error = toSchema(errorAnswer, 'output', schemas);
  for (const [name, route] of Object.entries(ROUTES) as [string, Route][]) {
    const path = versionedPath(route.path).replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = {
      operationId: name,
      summary: route.summary,
      tags: [tagOf(route.path)],
      security: route.access === 'open' ? [] : [{ apiKey: [] }, { session: [] }],
      ...(route.access !== 'open' && { 'x-role': route.access, 'x-scope': route.scope }),
      parameters: [
        ...parameters(route.params, 'path', schemas),
        ...parameters(route.query, 'query', schemas),
        ...headerParameters(route),
      ],
      ...(route.body && { requestBody: requestBody(route, schemas) }),
      ...(route.takesBytes && { requestBody: { required: true, content: BYTES } }),
      responses: { ...success(route, schemas), ...refusals(route, error) },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Rowmill', version: VERSION, license: { name: 'Apache 2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      schemas,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: rmk_<id>_<secret>' },
        session: { type: 'apiKey', in: 'cookie', name: 'rowmill_session' },
      },
    },
  };
}

const BYTES = {
  'application/octet-stream': {
    schema: { type: 'string', contentMediaType: 'application/octet-stream' },
  },
};

function tagOf(path: string): string {
  return path.split('/').find((part) => part !== '' && part !== 'api' && part !== 'v1') ?? 'server';
}

function parameters(
  schema: z.ZodObject | undefined,
  place: 'path' | 'query',
  schemas: Record<string, Schema>,
): Schema[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = toSchema(schema, 'input', schemas) as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, value]) => {
    const list = listIn(schema.shape[name]);
    const { deprecated, description, ...own } = value;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      ...(deprecated === true && { deprecated }),
      schema: list ? toSchema(list, 'input', schemas) : own,
    };
  });
}

/** The array schema of a query parameter that takes a comma-separated text or is repeated. */
function listIn(field: unknown): z.ZodType | null {
  if (field instanceof z.ZodOptional) return listIn(field.unwrap());
  return field instanceof z.ZodPipe && field.out instanceof z.ZodArray ? field.out : null;
}

function requestBody(route: Route, schemas: Record<string, Schema>): Schema {
  const body = toSchema(route.body!, 'input', schemas);
  return {
    required: !route.body!.safeParse({}).success,
    content: {
      'application/json': { schema: body },
      ...(route.upload && {
        'multipart/form-data': {
          schema: {
            type: 'object',
            description: 'The field job comes first, then the part file.',
            properties: { job: body, file: { type: 'string', contentMediaType: 'application/octet-stream' } },
            required: ['file'],
          },
          encoding: { job: { contentType: 'application/json' } },
        },
      }),
    },
  };
}

function success(route: Route, schemas: Record<string, Schema>): Schema {
  const { status, schema, type = 'json', hasRanges } = route.answer;
  const media = {
    json: schema && { 'application/json': { schema: toSchema(schema, 'output', schemas) } },
    bytes: BYTES,
    events: { 'text/event-stream': { schema: { type: 'string' } } },
    text: { 'text/plain': { schema: { type: 'string' } } },
  }[type];
  return {
    [status]: { description: route.summary, headers: answerHeaders(route), ...(media && { content: media }) },
    ...(hasRanges && { 206: { description: 'The requested range.', content: BYTES } }),
    ...(hasTag(route) && { 304: { description: 'The caller already has it (If-None-Match).' } }),
  };
}

/** Error codes that a route can answer with. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = [...COMMON_ERRORS, 'CROSS_SITE', ...(route.errors ?? [])];
  if (route.access !== 'open') codes.push('UNAUTHENTICATED', 'FORBIDDEN');
  if (mediaTypesOf(route).length > 0) codes.push('BODY_TOO_LARGE', 'MEDIA_TYPE_UNSUPPORTED');
  if (route.answer.hasRanges) codes.push('RANGE_UNSATISFIABLE');
  if (honoursKey(route))
    codes.push('IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_IN_USE', 'TOO_MANY_IDEMPOTENCY_KEYS');
  if (route.path.includes(':jobId')) codes.push('JOB_NOT_FOUND');
  return [...new Set(codes)];
}

function refusals(route: Route, error: Schema): Schema {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) {
    const { status } = ERROR_REGISTRY[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.join(', '),
        headers: refusalHeaders(codes),
        content: { 'application/json': { schema: error }, 'application/problem+json': { schema: error } },
      },
    ]),
  );
}

/** JSON Schema, with named parts moved to the components. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, Schema>): Schema {
  const {
    $schema: _,
    $defs = {},
    ...own
  } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
  }) as Schema & { $defs?: Record<string, Schema> };
  for (const [name, definition] of Object.entries($defs))
    schemas[name] ??= pointToComponents(withoutId(definition));
  const id = own.id;
  if (typeof id !== 'string') return pointToComponents(own);
  schemas[id] ??= pointToComponents(withoutId(own));
  return { $ref: `#/components/schemas/${id}` };
}

function withoutId({ id: _, ...rest }: Schema): Schema {
  return rest;
}

function pointToComponents(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Schema;
}
