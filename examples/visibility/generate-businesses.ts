/**
 * Generates a seeded world for the visibility example: businesses with a website, the questions that people ask about
 * a trade in a city, and the businesses that each model names in its answer. The stand-in service answers from this
 * world, and tests compare scores with it.
 */
import { writeFile } from 'node:fs/promises';
import { seededDraw } from '../seeded-draw.ts';

export interface Business {
  slug: string;
  name: string;
  trade: string;
  city: string;
  /** `gone`: its website answers 404. `mute`: its page does not describe the business. */
  site: 'open' | 'gone' | 'mute';
}

export interface World {
  seed: number;
  businesses: readonly Business[];
  /** Businesses by trade and city. */
  neighbours(trade: string, city: string): readonly Business[];
}

const TRADES = ['bakery', 'dentist', 'florist', 'plumber', 'optician', 'bike shop', 'law firm', 'hair salon'];
const CITIES = ['Hamburg', 'Köln', 'Lyon', 'Porto', 'Kraków', 'Malmö', 'Graz', 'Leeds', 'Ghent', 'Turku'];
const NAMES = ['Anker', 'Birke', 'Corona', 'Delta', 'Esprit', 'Falke', 'Gloria', 'Helios', 'Iris', 'Juno'];
const GONE_RATE = 0.04;
const MUTE_RATE = 0.03;

const QUESTIONS: readonly ((trade: string, city: string) => string)[] = [
  (trade, city) => `Which ${trade} in ${city} would you recommend?`,
  (trade, city) => `I am new in ${city} and need a ${trade}. Where should I go?`,
  (trade, city) => `What is the best rated ${trade} in ${city}?`,
  (trade, city) => `Is there a ${trade} in ${city} that is good and not expensive?`,
];

export function generateWorld({ count, seed }: { count: number; seed: number }): World {
  // Enough districts that a trade in a place has about five businesses, whatever the total.
  const districts = Math.ceil(count / (5 * TRADES.length * CITIES.length));
  const businesses = Array.from({ length: count }, (_, n): Business => {
    const pick = <T>(what: string, values: readonly T[]): T =>
      values[Math.floor(seededDraw(seed, what, n) * values.length)]!;
    const trade = pick('trade', TRADES);
    const district = Math.floor(seededDraw(seed, 'district', n) * districts);
    const city = `${pick('city', CITIES)}${district === 0 ? '' : ` ${district + 1}`}`;
    const fate = seededDraw(seed, 'site', n);
    return {
      slug: `site-${n}`,
      name: `${pick('name', NAMES)} ${n} ${trade}`,
      trade,
      city,
      site: fate < GONE_RATE ? 'gone' : fate < GONE_RATE + MUTE_RATE ? 'mute' : 'open',
    };
  });
  const places = new Map<string, Business[]>();
  for (const each of businesses) {
    const place = `${each.trade}|${each.city}`;
    places.set(place, [...(places.get(place) ?? []), each]);
  }
  return { seed, businesses, neighbours: (trade, city) => places.get(`${trade}|${city}`) ?? [] };
}

export function questionsAbout(trade: string, city: string, count: number): string[] {
  return QUESTIONS.slice(0, count).map((write) => write(trade, city));
}

/**
 * Names in a model's answer, best first: some of the businesses in the place, in an order that depends on the model.
 */
export function namedBy(
  world: World,
  model: string,
  question: string,
  trade: string,
  city: string,
): string[] {
  return world
    .neighbours(trade, city)
    .map(({ name }) => ({ name, liking: seededDraw(world.seed, model, question, name) }))
    .filter(({ liking }) => liking > 0.4)
    .sort((a, b) => b.liking - a.liking)
    .map(({ name }) => name);
}

/**
 * The expected score, from 0 (never named) to 100 (always named first): the mean of 1/rank over all answers. Null if
 * there is no score.
 */
export function trueScore(
  world: World,
  { name, trade, city, site }: Business,
  models: readonly string[],
  questionCount: number,
): number | null {
  if (site !== 'open') return null;
  const points = models.flatMap((model) =>
    questionsAbout(trade, city, questionCount).map((question) => {
      const rank = namedBy(world, model, question, trade, city).indexOf(name) + 1;
      return rank === 0 ? 0 : Math.round(1000 / rank);
    }),
  );
  return Math.round(points.reduce((sum, each) => sum + each, 0) / points.length) / 10;
}

export async function writeWebsites(path: string, world: World, baseUrl: string): Promise<void> {
  const lines = world.businesses.map(({ slug }) => `${baseUrl}/sites/${slug}`);
  await writeFile(path, `website\n${lines.join('\n')}\n`);
}
