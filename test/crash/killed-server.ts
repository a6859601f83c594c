// A server that kills itself at a named point of a request, for killed.test.ts: exactly there, since it is the server that
// counts. It prints the ports of its services.
import { setImmediate } from 'node:timers/promises'
import { POINTS, type Point } from '../../src/control/point.ts'
import { runTestServer } from '../running-server.ts'

export type KillPlan = {
  readonly folder: string
  /** undefined: any point. */
  readonly point: Point | undefined
  /** Which of the requests that reach the point is the last one. */
  readonly nth: number
  /** How many turns of the event loop the server goes on after that. */
  readonly turns: number
}

const plan = JSON.parse(process.argv[2] ?? '') as KillPlan
const server = await runTestServer({ folder: plan.folder, hasSmb: false, silent: true })
let reached = 0
server.control.points.listen({
  reach: (point) => {
    if (plan.point !== undefined && point !== plan.point) return undefined
    reached += 1
    return reached === plan.nth ? kill() : undefined
  },
})
const { blobPort, queuePort, tablePort, filePort } = server
console.log(JSON.stringify({ blobPort, queuePort, tablePort, filePort, points: POINTS.length }))

async function kill(): Promise<void> {
  for (let turn = 0; turn < plan.turns; turn += 1) await setImmediate()
  process.kill(process.pid, 'SIGKILL')
}
