// docs/metrics.md: every metric, read from the table of metrics.
import { METRICS, type Metric } from '../../src/start/admin/metric-table.ts'

const INTRODUCTION = `# Metrics

<!-- Written by \`npm run docs\` from the table of metrics in src/start/admin/metric-table.ts. -->

\`GET /metrics\` of the admin port (10010), in the format of Prometheus. Nobody has to authenticate: keep the port on loopback or in a private network. If
Prometheus names the server by a host name, start the server with \`--allowedHosts NAME\`.

- [examples/prometheus/prometheus.yaml](../examples/prometheus/prometheus.yaml) scrapes a server.
- [examples/prometheus/rules.yaml](../examples/prometheus/rules.yaml) has alerts, which \`promtool test rules\` checks with
  [rules-test.yaml](../examples/prometheus/rules-test.yaml).
- [examples/grafana/lazuli.json](../examples/grafana/lazuli.json) is a dashboard: in Grafana, "New", "Import".

[What to watch](operations.md#what-to-watch) says what they mean for whoever runs a server. Counters begin at 0 when the server starts.
`

export function metricsPage(): string {
  const rows: readonly (readonly [string, Metric])[] = Object.entries(METRICS)
  const groups = [...new Set(rows.map(([, { group }]) => group))]
  return [
    INTRODUCTION,
    ...groups.map((group) =>
      section(
        group,
        rows.filter(([, metric]) => metric.group === group),
      ),
    ),
  ].join('\n')
}

function section(group: string, rows: readonly (readonly [string, Metric])[]): string {
  return [
    `## ${group}\n`,
    '| metric | type | labels | |',
    '|---|---|---|---|',
    ...rows.map(([name, metric]) => line(name, metric)),
    '',
  ].join('\n')
}

function line(name: string, { type, labels, help, only }: Metric): string {
  const whose = only === undefined ? '' : ` Only on ${only}.`
  const cells = [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(' '),
    `${help}.${whose}`,
  ]
  return `| ${cells.join(' | ')} |`
}
