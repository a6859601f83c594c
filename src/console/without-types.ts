// In a clone, the modules of the page are TypeScript: their types are replaced by spaces when a browser asks for them. The
// published package has JavaScript, and never loads this.
import type { stripTypeScriptTypes } from 'node:module'

export async function withoutTypes(text: string): Promise<string> {
  // Versions of Node for which only the package is meant do not have it.
  const nodeModule: { readonly stripTypeScriptTypes?: typeof stripTypeScriptTypes } =
    await import('node:module')
  if (nodeModule.stripTypeScriptTypes === undefined)
    throw new Error('the sources of the console need Node 24')
  const { emitWarning } = process
  // Node warns once that the function may change, which tells users nothing.
  process.emitWarning = () => undefined
  try {
    return nodeModule.stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}
