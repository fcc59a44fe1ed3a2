// Pipelines, settings and sources of this project, for all commands: node_modules/rowmill/docs/configuration.md
import { defineConfig } from 'rowmill';

export default defineConfig({
  pipelines: ['pipeline.ts'],
  // Files that the page of `npm run dev` offers for a first job.
  samples: ['rows.csv'],
});
