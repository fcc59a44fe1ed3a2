// Builds the page into dist/web. Addresses inside are relative, so it works under any path; the server writes that path
// into the page when it serves it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import type { Route } from '../src/contract/route.ts';
import { ROUTES } from '../src/contract/routes.ts';

/** Compresses each file at build time, so the server need not do it per request. */
function compress(): Plugin {
  let folder = '';
  return {
    name: 'compress',
    apply: 'build',
    configResolved(config) {
      folder = join(config.root, config.build.outDir, 'assets');
    },
    closeBundle() {
      for (const name of readdirSync(folder).filter((file) => /\.(js|css)$/.test(file))) {
        const bytes = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

/**
 * The route table reduced to the parts that the client of the page needs: paths, names, kinds of answers and access.
 * The server validates requests and answers, so the page leaves out their schemas; building them took more than half of
 * its start-up time.
 */
function leaveOutSchemas(): Plugin {
  const plain = (route: Route) => {
    const { method, path, access, scope, idempotency, query, body, answer } = route;
    return {
      method,
      path,
      access,
      scope,
      ...(idempotency && { idempotency }),
      ...(query && {
        query: { shape: Object.fromEntries(Object.keys(query.shape).map((name) => [name, 1])) },
      }),
      ...(body && { body: 1 }),
      answer: {
        status: answer.status,
        ...(answer.type && { type: answer.type }),
        schema: answer.schema && 1,
      },
    };
  };
  const routes = Object.entries(ROUTES as Record<string, Route>).map(([name, route]) => [name, plain(route)]);
  return {
    name: 'leave-out-schemas',
    load(id) {
      if (!id.endsWith('/src/contract/routes.ts')) return null;
      return {
        code: `export const ROUTES = ${JSON.stringify(Object.fromEntries(routes))};`,
        moduleType: 'js',
      };
    },
  };
}

/**
 * Code that most screens share is bundled into one file per kind: dozens of small files would queue for connections.
 */
const MENU_PARTS =
  /[\\/](@floating-ui|@radix-ui[\\/]react-(menu|dropdown-menu|popper|popover|roving-focus|arrow|use-size)[\\/]|components[\\/]menu\.tsx)/;
const DIALOG_PARTS =
  /[\\/](@radix-ui[\\/]react-(dialog|focus-scope|focus-guards)|react-remove-scroll|react-remove-scroll-bar|aria-hidden|use-sidecar|use-callback-ref|react-style-singleton|tslib)[\\/]/;
const BASE_PARTS =
  /[\\/]node_modules[\\/](react|react-dom|scheduler|use-sync-external-store|clsx|tailwind-merge|eventsource-parser|get-nonce|radix-ui|@radix-ui[\\/](?!react-tabs)[a-z-]+|@tanstack[\\/](react-router|router-core|history|react-store|store|react-query|query-core))[\\/]|[\\/]src[\\/](client|contract|core)[\\/]|vite[\\/]preload-helper/;
const OWN_PARTS = /[\\/]web[\\/](lib|components[\\/](?!dialog|confirm|form-dialog|shown-once|time-chart))/;
const GROUPS = [
  { name: 'menu', test: MENU_PARTS, priority: 4 },
  { name: 'modal', test: DIALOG_PARTS, priority: 3 },
  { name: 'base', test: BASE_PARTS, priority: 2 },
  { name: 'parts', test: OWN_PARTS, priority: 1 },
  { name: 'icons', test: /[\\/]lucide-react[\\/]/, minShareCount: 2 },
];

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [leaveOutSchemas(), react(), tailwind(), compress()],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { includeDependenciesRecursively: false, groups: GROUPS } } },
    // React and the router are on every screen.
    chunkSizeWarningLimit: 600,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:4180' } },
});
