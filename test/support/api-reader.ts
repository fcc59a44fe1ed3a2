// Calls the API and checks every response against the contract.
import { expect } from 'vitest';
import type { AnswerOf, ErrorAnswer } from '../../src/contract/route.ts';
import { errorAnswer } from '../../src/contract/route.ts';
import { ROUTES, type RouteName, type Routes } from '../../src/contract/routes.ts';

type Query = Record<string, string | number | boolean | undefined>;

export interface ApiReader {
  read<Name extends RouteName>(name: Name, params?: Query, query?: Query): Promise<AnswerOf<Routes[Name]>>;
  /** Returns the error of a request that must be refused. */
  refusal(name: RouteName, params?: Query, query?: Query): Promise<ErrorAnswer & { status: number }>;
  /** All pages of a list, one after the other. */
  pages<Name extends RouteName>(
    name: Name,
    params: Query,
    query: Query,
    afterEach?: (page: AnswerOf<Routes[Name]>) => Promise<void>,
  ): Promise<AnswerOf<Routes[Name]>[]>;
}

export function apiReader(url: string): ApiReader {
  const ask = async (name: RouteName, params: Query, query: Query): Promise<Response> => {
    const { method, path } = ROUTES[name];
    const address = new URL(
      url + path.replaceAll(/:(\w+)/g, (_, key: string) => encodeURIComponent(params[key]!)),
    );
    for (const [key, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(key, String(value));
    return fetch(address, { method });
  };
  const reader: ApiReader = {
    async read(name, params = {}, query = {}) {
      const response = await ask(name, params, query);
      const body: unknown = await response.json();
      expect(body).not.toHaveProperty('requestId');
      expect(response.status).toBe(ROUTES[name].answer.status);
      const parsed = ROUTES[name].answer.schema!.parse(body);
      // The response has no fields outside the contract.
      expect(parsed).toEqual(body);
      return parsed as never;
    },
    async refusal(name, params = {}, query = {}) {
      const response = await ask(name, params, query);
      const body = errorAnswer.parse(await response.json());
      return { ...body, status: response.status };
    },
    async pages(name, params, query, afterEach) {
      const pages = [];
      let after: string | undefined;
      do {
        const page = (await reader.read(name, params, { ...query, after })) as { next: string | null };
        pages.push(page);
        await afterEach?.(page as never);
        after = page.next ?? undefined;
      } while (after !== undefined && pages.length < 1000);
      return pages as never;
    },
  };
  return reader;
}
