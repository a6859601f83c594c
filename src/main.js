#!/usr/bin/env node
// The entry point. When run from source, it caches Node's compiled TypeScript beside the dependencies, so that the next
// start is faster; then it runs the command. This file is JavaScript, because Node would load a compiler for even one
// uncached TypeScript file: 14 MiB, and a tenth of the start time.
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

// Every request creates short-lived records and buffers. With a larger young generation, fewer of them are copied before
// they die; with a larger Buffer pool, fewer are allocated one by one. Not a very large pool, since it stays in memory
// as long as any of its buffers.
// Measured with 32 connections: Get Blob of 4 KiB 61 → 41 µs, Put Blob 180 → 110 µs of CPU.
setFlagsFromString('--min-semi-space-size=16')
setFlagsFromString('--max-semi-space-size=64')
// Socket buffers are outside of the heap but trigger garbage collections; let more of them accumulate. Writing a large
// file over SMB: 1.2 → 0.6 s of garbage collection for 512 MiB.
setFlagsFromString('--heap-growing-percent=300')
Buffer.poolSize = 64 * 1024

if (existsSync(new URL('./program.ts', import.meta.url))) {
  const folder = fileURLToPath(new URL('../node_modules/.cache/lazuli', import.meta.url))
  nodeModule.enableCompileCache(folder)
}

await import('./program.ts')
