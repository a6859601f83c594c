#!/usr/bin/env node
// The program. From source, what Node makes of the TypeScript is kept beside the dependencies, so that the
// next start need not make it again; then the command runs.
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'

if (import.meta.url.endsWith('.ts')) {
  const folder = fileURLToPath(new URL('../node_modules/.cache/lazuli', import.meta.url))
  nodeModule.enableCompileCache(folder)
}

await import('./program.ts')
