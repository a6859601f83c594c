// Asks for the admin token where other machines can reach the port. It stays in this tab.
import { token, useToken } from './api/token.ts'
import { html, useState, type VNode } from './library.ts'
import { Button } from './ui/button.ts'
import { Dialog } from './ui/dialog.ts'
import { Field } from './ui/field.ts'

export function TokenDialog(): VNode {
  const [text, setText] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    if (text.trim() !== '') useToken(text.trim())
  }
  return html`<${Dialog} title="This server asks for a token" onClose=${() => undefined}>
    <form onSubmit=${submit}>
      <p>
        It is the value of <code>--controlToken</code>, or the one that the server printed when it
        started. It stays in this tab.
      </p>
      ${token.value !== undefined && html`<p class="failure" role="alert">That was not the token of this server.</p>`}
      <${Field} label="Token" type="password" value=${text} onChange=${setText} isRequired />
      <footer><${Button} kind="primary" type="submit">Continue<//></footer>
    </form>
  <//>`
}
