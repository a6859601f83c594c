// The names and addresses by which other machines reach this one, for the certificate of `--https auto`.
import { lookup, lookupService } from 'node:dns/promises'
import { isIPv4 } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { setTimeout } from 'node:timers/promises'

export type Machine = {
  readonly name: string
  /** With its domain; undefined if no name service knows it. */
  fullName(): Promise<string | undefined>
  /** Of all networks that it is in. */
  addresses(): readonly string[]
}

/** A start does not wait for a name service that does not answer. */
const LOOKUP_MS_MAX = 1_000

export const THIS_MACHINE: Machine = {
  name: hostname(),
  fullName: () =>
    Promise.race([lookUpFullName(), setTimeout(LOOKUP_MS_MAX, undefined, { ref: false })]),
  addresses: () =>
    Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
      .map(({ address }) => address),
}

async function lookUpFullName(): Promise<string | undefined> {
  try {
    const { address } = await lookup(hostname())
    return (await lookupService(address, 0)).hostname
  } catch {
    // There is no name service, or it does not know this machine.
    return undefined
  }
}

const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/** `hosts`: the addresses that the server listens on. */
export async function machineNames(
  machine: Machine,
  hosts: readonly string[],
): Promise<readonly string[]> {
  const name = machine.name.toLowerCase()
  const fullName = (await machine.fullName())?.toLowerCase()
  const names = [name, ...(fullName?.startsWith(`${name}.`) === true ? [fullName] : [])]
  const isOnAll = hosts.some((host) => /^[0:]+$/.test(host))
  const isOnAllOfIpv4 = isOnAll || hosts.includes('0.0.0.0')
  const addresses = machine
    .addresses()
    .filter((address) => (isIPv4(address) ? isOnAllOfIpv4 : isOnAll))
  return [...names.filter((each) => DNS_NAME.test(each)), ...addresses]
}
