// Loaded first by a process whose machine has a wrong clock: CLOCK_AHEAD_MS says by how much.
const aheadMs = Number(process.env.CLOCK_AHEAD_MS)

const RightDate = Date

globalThis.Date = new Proxy(RightDate, {
  construct: (target, args: unknown[]) =>
    Reflect.construct(target, args.length === 0 ? [RightDate.now() + aheadMs] : args) as object,
  get: (target, name, receiver) =>
    name === 'now'
      ? () => RightDate.now() + aheadMs
      : (Reflect.get(target, name, receiver) as unknown),
})
