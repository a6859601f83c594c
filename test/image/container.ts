// A container of an image: processes with a file system, network and process ids of their own, as Docker starts them. The ports
// are therefore those that tools expect, whatever else runs on this machine.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { launch, run, type Ended, type Running } from '../server-process.ts'
import type { Image } from './builder.ts'

export type Container = Running & {
  /** Runs a command inside, like `docker exec`. */
  exec(...command: readonly string[]): Promise<Ended>
  /** Runs a command of this machine in the container's network, like a client of published ports. */
  nearby(...command: readonly [string, ...string[]]): Promise<Ended>
  /** Like `docker stop`. */
  stop(): Promise<Ended>
}

export type ContainerStart = {
  readonly image: Image
  /** A folder of this machine. */
  readonly data: string
  /** Replaces CMD. */
  readonly command?: readonly string[]
  /** Replaces ENTRYPOINT. */
  readonly entrypoint?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Replaces USER; "uid:gid". */
  readonly user?: string
  /** Without write access to anything but /data. */
  readonly isReadOnly?: boolean
}

/** In namespaces of its own: prepares the file system, and becomes the container's first process. */
const START = `
set -e
root=$1 node=$2 data=$3 mode=$4 user=$5; shift 5
ip link set lo up
mount --bind "$root" "$root"
mount --bind "$node" "$root/usr/local/bin/node"
mount --bind "$data" "$root/data"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
[ "$mode" = rw ] || mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" --groups= "$root" "$@"`

const IN_FOLDER = 'cd "$0" && exec "$@"'

export async function startContainer(start: ContainerStart): Promise<Container> {
  const { image, data, isReadOnly = false } = start
  const { config, root } = image
  const user = start.user ?? (config.User === '' ? '0:0' : config.User)
  const env = [...config.Env, ...Object.entries(start.env ?? {}).map((pair) => pair.join('='))]
  const inside = (command: readonly string[]) => [
    'env', '-i', ...env, 'sh', '-c', IN_FOLDER, config.WorkingDir, ...command,
  ] // prettier-ignore
  const command = [...(start.entrypoint ?? config.Entrypoint), ...(start.command ?? config.Cmd)]
  const running = launch({
    program: ['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child'],
    args: [
      'sh', '-c', START, 'start', root, process.execPath, data, isReadOnly ? 'ro' : 'rw', user, ...inside(command),
    ],
  }) // prettier-ignore
  const nsenter = (...args: readonly string[]): Promise<Ended> => {
    return run({ program: ['nsenter'], args: ['--target', firstProcess(running), ...args] })
  }
  const [uid = '0', gid = uid] = user.split(':')
  const asUser = ['--setuid', uid, '--setgid', gid]
  return {
    ...running,
    exec: (...each) => nsenter('--net', '--mount', '--pid', '--root', ...asUser, ...inside(each)),
    nearby: (...each) => nsenter('--net', ...each),
    stop: () => {
      process.kill(Number(firstProcess(running)), 'SIGTERM')
      return running.ended
    },
  }
}

/** Its id outside of the container. */
function firstProcess({ child: { pid } }: Running): string {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  assert(first !== undefined && first !== '', 'the container has ended')
  return first
}
