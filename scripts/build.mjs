// Builds the published package: compiles JavaScript into dist/, and joins the library's types for both module systems.
import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { joinDeclarations } from './declarations.mjs'

rmSync('dist', { recursive: true, force: true })
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
const types = joinDeclarations('dist/server.d.ts')
for (const file of globSync('dist/**/*.d.ts')) rmSync(file)
for (const file of ['dist/server.d.ts', 'dist/server.d.cts']) writeFileSync(file, types)
chmodSync('dist/main.js', 0o755)
