// Compiles TypeScript to CommonJS, and with it the packages of Azure's SDK that are only published as ES modules.
const ES_MODULES = ['agent-base', 'http-proxy-agent', 'https-proxy-agent', 'proxy-agent-negotiate']

module.exports = {
  preset: 'ts-jest/presets/js-with-ts',
  transformIgnorePatterns: [`/node_modules/(?!(${ES_MODULES.join('|')})/)`],
}
