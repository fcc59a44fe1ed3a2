#!/usr/bin/env node
// npm create rowmill [folder]: the same as npx rowmill init [folder].
import { readFileSync } from 'node:fs';

const manifest = new URL(import.meta.resolve('rowmill/package.json'));
const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
process.argv.splice(2, 0, 'init');
await import(new URL(bin.rowmill, manifest).href);
