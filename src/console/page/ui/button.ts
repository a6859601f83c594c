// Buttons: with a text, with an icon only, and the ones that copy or run something that takes time.
import { messageOf } from '../api/call.ts'
import { html, useRef, useState, type ComponentChildren, type VNode } from '../library.ts'
import { Icon, type IconName } from './icon.ts'
import { toast } from './toast.ts'

type ButtonProps = {
  readonly icon?: IconName
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  readonly isDisabled?: boolean
  /** For a button that is on or off. */
  readonly isPressed?: boolean
  /** What a button without a text does; also shown when the mouse is over it. */
  readonly label?: string
  readonly type?: 'button' | 'submit'
  readonly onClick?: (event: Event) => unknown
  readonly children?: ComponentChildren
}

export function Button(props: ButtonProps): VNode {
  const { icon, kind = 'plain', isDisabled, isPressed, label, type = 'button', onClick } = props
  const isIconOnly = props.children === undefined
  return html`<button
    type=${type}
    class=${`button ${kind}${isIconOnly ? ' icon-only' : ''}`}
    disabled=${isDisabled === true}
    aria-pressed=${isPressed === undefined ? undefined : String(isPressed)}
    aria-label=${label}
    title=${label}
    onClick=${onClick}
  >
    ${icon && html`<${Icon} name=${icon} />`}${props.children}
  </button>`
}

type ActionProps = Omit<ButtonProps, 'onClick' | 'type'> & {
  /** Said in a toast when it has been done. */
  readonly done?: string
  run(): Promise<unknown>
}

/** Can't be clicked again while it runs; its failure is said in a toast. */
export function ActionButton({ run, done, isDisabled, ...props }: ActionProps): VNode {
  const [isRunning, setRunning] = useState(false)
  const onClick = async (): Promise<void> => {
    setRunning(true)
    try {
      await run()
      if (done !== undefined) toast(done)
    } catch (error) {
      toast(messageOf(error), 'error')
    } finally {
      setRunning(false)
    }
  }
  return html`<${Button}
    ...${props}
    isDisabled=${isDisabled === true || isRunning}
    onClick=${onClick}
  />`
}

type CopyProps = {
  /** Or a function that fetches it. */
  readonly text: string | (() => Promise<string>)
  readonly label: string
  /** Without it, the button has only an icon. */
  readonly children?: ComponentChildren
  readonly kind?: ButtonProps['kind']
}

const SHOWN_MS = 1_500

export function CopyButton({ text, label, children, kind = 'quiet' }: CopyProps): VNode {
  const [isCopied, setCopied] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const onClick = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text())
      setCopied(true)
      clearTimeout(timer.current)
      timer.current = setTimeout(() => setCopied(false), SHOWN_MS)
      toast('Copied')
    } catch (error) {
      toast(messageOf(error), 'error')
    }
  }
  const icon: IconName = isCopied ? 'done' : 'copy'
  return html`<${Button} icon=${icon} kind=${kind} label=${label} onClick=${onClick}
    >${children}<//
  >`
}
