/**
 * A stand-in for the websites and for models with the OpenAI interface: `GET /sites/<slug>` and `POST
 * /v1/chat/completions`, with token usage. Each model is a separate provider that limits its callers, fails and can be
 * down. It understands the two prompts of the pipeline, and answers them from the world.
 */
import type { IncomingMessage } from 'node:http';
import { type StandIn, type StandInCall, type StandInOptions, startStandIn } from '../stand-in-server.ts';
import { type Business, namedBy, questionsAbout, type World } from './generate-businesses.ts';

export interface ModelService extends StandIn {
  /** Tokens of all answers so far, which the provider bills. */
  billedTokens(): number;
}

const MAX_QUESTIONS = 10;

export async function startModelService(world: World, options: StandInOptions): Promise<ModelService> {
  let billed = 0;
  const sites = new Map(world.businesses.map((business) => [business.slug, business]));
  /** Trade and city of each question. */
  const topics = new Map<string, { trade: string; city: string }>();
  for (const { trade, city } of world.businesses)
    for (const question of questionsAbout(trade, city, MAX_QUESTIONS)) topics.set(question, { trade, city });

  function completion(model: string, prompt: string): unknown {
    const content = reply(model, prompt);
    const usage = { prompt_tokens: tokensOf(prompt), completion_tokens: tokensOf(content) };
    const total_tokens = usage.prompt_tokens + usage.completion_tokens;
    billed += total_tokens;
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    return { object: 'chat.completion', model, choices, usage: { ...usage, total_tokens } };
  }

  function reply(model: string, prompt: string): string {
    const asked = /^Write (\d+) questions .* looks for an? (.+) in (.+) could ask/.exec(prompt);
    if (asked) return questionsAbout(asked[2]!, asked[3]!, Number(asked[1])).join('\n');
    const question = prompt.split('\n')[0]!;
    const topic = topics.get(question);
    const names = topic ? namedBy(world, model, question, topic.trade, topic.city) : [];
    if (names.length === 0) return 'I do not know any.';
    return `I would try these:\n${names.map((name, index) => `${index + 1}. ${name}`).join('\n')}`;
  }

  const service = await startStandIn(
    options,
    (request, body) => routeSite(sites, request) ?? routeChat(body),
  );

  function routeChat(body: Buffer): StandInCall | null {
    const { model, messages } = parse(body) as { model?: unknown; messages?: { content?: unknown }[] };
    const prompt = messages?.[0]?.content;
    if (typeof model !== 'string' || typeof prompt !== 'string') return null;
    return {
      provider: model,
      subject: prompt,
      answer: () => ({ status: 200, body: completion(model, prompt) }),
    };
  }

  return { ...service, billedTokens: () => billed };
}

function routeSite(
  sites: ReadonlyMap<string, Business>,
  { method, url = '' }: IncomingMessage,
): StandInCall | null {
  const slug = /^\/sites\/([\w-]+)$/.exec(url)?.[1];
  if (method !== 'GET' || slug === undefined) return null;
  const business = sites.get(slug);
  const answer = (): ReturnType<StandInCall['answer']> => {
    if (!business || business.site === 'gone') return { status: 404, body: { error: 'no such page' } };
    const { name, trade, city } = business;
    const about = { '@type': 'LocalBusiness', name, description: trade, address: { addressLocality: city } };
    const data = business.site === 'mute' ? '' : JSON.stringify(about);
    const script = data === '' ? '' : `<script type="application/ld+json">${data}</script>`;
    const page = `<!doctype html><title>Welcome</title>${script}<h1>Welcome</h1>`;
    return { status: 200, body: page, type: 'text/html; charset=utf-8' };
  };
  return { provider: 'websites', subject: slug, isFree: true, answer };
}

function parse(body: Buffer): object {
  try {
    return Object(JSON.parse(body.toString())) as object;
  } catch {
    return {};
  }
}

/** About four characters per token. */
function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}
