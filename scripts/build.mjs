// Builds the published package: compiles the program into dist/, and joins the library's types for both module
// systems.
import { chmodSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { compileInto } from './compile.mjs'
import { joinDeclarations } from './declarations.mjs'

rmSync('dist', { recursive: true, force: true })
compileInto('dist')
const types = joinDeclarations('dist/server.d.ts')
for (const file of globSync('dist/**/*.d.ts')) rmSync(file)
for (const file of ['dist/server.d.ts', 'dist/server.d.cts']) writeFileSync(file, types)
chmodSync('dist/main.js', 0o755)
