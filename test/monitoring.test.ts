// The dashboard and the alert rules in examples/ name metrics and labels that servers have, and the rules do what they say.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'
import { METRICS, type Metric } from '../src/start/admin/metric-table.ts'
import { runTestServer } from './running-server.ts'

const EXAMPLES = fileURLToPath(new URL('../examples/', import.meta.url))
const ROWS: ReadonlyMap<string, Metric> = new Map<string, Metric>(Object.entries(METRICS))

/** The parts of a histogram have names of their own. */
function metricOf(name: string): Metric | undefined {
  return ROWS.get(name) ?? ROWS.get(name.replace(/_(bucket|sum|count)$/, ''))
}

/** Those that Prometheus adds. */
const TARGET_LABELS = ['job', 'instance']

function checkExpression(text: string): void {
  const names = text.match(/\b(lazuli|process)_\w+/g) ?? []
  for (const name of names) assert(metricOf(name), `${name} in ${text}`)
  for (const [, name = '', inside = ''] of text.matchAll(
    /\b(lazuli_\w+|process_\w+)\{([^}]*)\}/g,
  )) {
    const labels = [...inside.matchAll(/(\w+) *[=!]/g)].map(([, label = '']) => label)
    for (const label of labels) checkLabel(label, [name], text)
  }
  for (const [, list = ''] of text.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list.split(',')) checkLabel(label.trim(), names, text)
}

function checkLabel(label: string, names: readonly string[], text: string): void {
  const known = [...TARGET_LABELS, ...names.flatMap((name) => metricOf(name)?.labels ?? [])]
  assert(known.includes(label), `the label ${label} in ${text}`)
}

type Panel = { readonly targets?: readonly { readonly expr: string }[] }

function dashboardExpressions(): readonly string[] {
  const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
    readFileSync(`${EXAMPLES}grafana/lazuli.json`, 'utf8'),
  )
  return dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}

test('the dashboard shows what there is', () => {
  const expressions = dashboardExpressions()
  expressions.forEach(checkExpression)
  const shown = expressions.join('\n')
  const missing = [...ROWS.keys()].filter((name) => !shown.includes(name))
  assert.deepEqual(missing, ['lazuli_count_is_lower_bound', 'process_start_time_seconds'])
})

test('the alert rules ask for what there is', () => {
  const text = readFileSync(`${EXAMPLES}prometheus/rules.yaml`, 'utf8')
  const rules = text.split('- alert: ').slice(1)
  assert(rules.length > 10)
  for (const rule of rules) {
    const [, expression = ''] = /expr: ([^]*?)\n {8}(?:for|labels):/.exec(rule) ?? []
    assert.notEqual(expression, '', rule)
    checkExpression(expression)
  }
})

test('a server has every metric of the table, and no other', async () => {
  const server = await runTestServer({ silent: true, onDisk: true })
  const { text } = await server.metrics.expose()
  await server.close()
  const exposed = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type]) => {
    assert.equal(ROWS.get(name)?.type, type, name)
    return name
  })
  const missing = [...ROWS.keys()].filter((name) => !exposed.includes(name))
  for (const name of missing)
    assert.match(ROWS.get(name)?.only ?? '', /--store|after a backup/, name)
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

describe('promtool', { skip: !hasPromtool && 'there is no promtool' }, () => {
  const promtool = (...args: string[]): string =>
    execFileSync('promtool', args, { cwd: `${EXAMPLES}prometheus`, encoding: 'utf8' })

  test('accepts the configuration and the rules', () => {
    assert.match(promtool('check', 'config', 'prometheus.yaml'), /rules found/)
  })

  test('understands the dashboard', () => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-dashboard-'))
    const rules = dashboardExpressions().map((expr, at) => ({
      record: `panel_${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
    }))
    // JSON is YAML.
    const text = JSON.stringify({ groups: [{ name: 'dashboard', rules }] })
    writeFileSync(join(folder, 'rules.yaml'), text)
    assert.match(promtool('check', 'rules', join(folder, 'rules.yaml')), /SUCCESS/)
    rmSync(folder, { recursive: true })
  })

  test('sees alerts fire when they should', () => {
    assert.match(promtool('test', 'rules', 'rules-test.yaml'), /SUCCESS/)
  })
})
