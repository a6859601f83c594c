// Builds the published package: compiles JavaScript into dist/, with the console's page as browsers load it, and joins the
// library's types for both module systems.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { joinDeclarations } from './declarations.mjs'

rmSync('dist', { recursive: true, force: true })
// The page comes first: it only uses types of the server's modules, which the second run writes over.
for (const project of ['src/console/page/tsconfig.build.json', 'tsconfig.build.json']) {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', project], {
    stdio: 'inherit',
  })
}
for (const file of globSync('src/console/{page,browse}/**/*.{css,svg}')) {
  cpSync(file, file.replace(/^src/, 'dist'))
}
const types = joinDeclarations('dist/server.d.ts')
for (const file of globSync('dist/**/*.d.ts')) rmSync(file)
for (const file of ['dist/server.d.ts', 'dist/server.d.cts']) writeFileSync(file, types)
chmodSync('dist/main.js', 0o755)
