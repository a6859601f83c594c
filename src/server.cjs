// Lazuli for require('lazuli'). Lazuli is an ES module, which CommonJS can load with import() only. Jest runs tests in a
// context of its own, where Node refuses import(); then it is called in Node's main context. That has two advantages: one
// process loads Lazuli once, however many test files it runs, and fake timers do not reach the server.
'use strict'
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { constants, Script } = require('node:vm')

exports.startServer = async function startServer(options) {
  const { startServer: start } = await load(pathToFileURL(join(__dirname, 'server.js')).href)
  return start(options)
}

async function load(url) {
  try {
    return await import(url)
  } catch (error) {
    if (error?.code !== 'ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING_FLAG') throw error
    return await importInMainContext()(url)
  }
}

/** Node 20.15 has no other way from a context into the main one that loads ES modules. */
function importInMainContext() {
  const { USE_MAIN_CONTEXT_DEFAULT_LOADER: importModuleDynamically } = constants
  return new Script('(url) => import(url)', { importModuleDynamically }).runInThisContext()
}
