// The example projects with their dependencies, as a reader installs them. They share one folder of modules, so that npm
// runs once.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))

/** Folders of examples/, and whether the oldest supported Node runs them: it does not strip types. */
export const EXAMPLE_PROJECTS = [
  { name: 'node-test', runsOnOldNode: false },
  { name: 'vitest', runsOnOldNode: true },
  { name: 'jest', runsOnOldNode: true },
  { name: 'jest-esm', runsOnOldNode: true },
] as const

/** Copies the projects into a new folder, in which npm has to install the dependencies. */
export function copyExampleProjects(folder: string, tarball: string): void {
  const devDependencies: Record<string, string> = {}
  for (const { name } of EXAMPLE_PROJECTS)
    Object.assign(devDependencies, dependenciesOf(join(EXAMPLES, name)), { lazuli: tarball })
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, devDependencies }))
  for (const { name } of EXAMPLE_PROJECTS) {
    cpSync(join(EXAMPLES, name), join(folder, name), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    })
    symlinkSync(join(folder, 'node_modules'), join(folder, name, 'node_modules'))
  }
}

function dependenciesOf(project: string): Readonly<Record<string, string>> {
  const described: unknown = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
  return (described as { readonly devDependencies: Record<string, string> }).devDependencies
}
