#!/usr/bin/env node
// The entry point. From source, it runs itself again with the Node of the dependencies if the installed one cannot run
// TypeScript, and caches Node's compiled TypeScript beside the dependencies, so that the next start is faster; then it
// runs the command. This file is JavaScript, because Node would load a compiler for even one uncached TypeScript file:
// 14 MiB, and a tenth of the start time.
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const isSource = existsSync(new URL('./program.ts', import.meta.url))

if (isSource && !process.features.typescript) {
  const { runWithBundledNode } = await import('./bundled-node.js')
  runWithBundledNode()
} else {
  // Socket buffers are outside of the heap but trigger garbage collections; let more of them accumulate. Writing a large
  // file over SMB: 1.2 → 0.6 s of garbage collection for 512 MiB.
  setFlagsFromString('--heap-growing-percent=300')
  if (isSource) {
    const folder = fileURLToPath(new URL('../node_modules/.cache/lazuli', import.meta.url))
    nodeModule.enableCompileCache(folder)
  }
  await import('./program.ts')
}
